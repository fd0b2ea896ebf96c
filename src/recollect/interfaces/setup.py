"""`recollect init` with a person in front of it: show what would change for agents, and ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..core import render


def asked(done: Any, given: Mapping[str, Any], again: Callable[[dict[str, Any]], Any]) -> Any:
    """The result, after the person agreed to what was planned; unchanged if there is nobody."""
    looking = given.get("check") or given.get("print")
    if looking or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return done
    waiting = [change for change in done.changes if change.pending]
    more: dict[str, Any] = {}
    declined = False
    if waiting and not done.applied:
        print("\n".join(difference(change) for change in waiting))
        number = render.counted(len(waiting), "file")
        if _agrees(f"Change {number} as shown? A backup is kept. [y/N] "):
            more["yes"] = True
        else:
            declined = True
    number = render.counted(done.past, "past conversation")
    if done.past and _agrees(f"Import {number} of this project? [y/N] "):
        more["import_"] = True
    if not more:
        return done._replace(declined=declined)
    last = again(more)._replace(declined=declined)
    # What was made or written a moment ago is still what this command did.
    if done.applied:
        last = last._replace(changes=done.changes, applied=True)
    return last._replace(created=done.created)


def _agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def difference(change: Any) -> str:
    """What would change in a file, as a unified diff that is safe to show."""
    from difflib import unified_diff

    lines = unified_diff(
        change.before.splitlines(),
        change.after.splitlines(),
        f"{change.path} (now)",
        f"{change.path} ({change.agent}, {change.what})",
        lineterm="",
        n=2,
    )
    return "\n".join(render.visible(line) for line in lines)
