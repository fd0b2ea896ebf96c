"""`recollect init` with a person in front of it: show what would change for agents, and ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..core import render


def asked(done: Any, given: Mapping[str, Any], again: Callable[[dict[str, Any]], Any]) -> Any:
    """The result, after the person agreed to what was planned; unchanged if there is nobody."""
    waiting = [change for change in done.changes if change.pending]
    decided = done.applied or given.get("check") or given.get("print")
    if decided or not waiting or not (sys.stdin.isatty() and sys.stdout.isatty()):
        return done
    print("\n".join(difference(change) for change in waiting))
    try:
        answer = input(f"Change {len(waiting)} files as shown? A backup is kept. [y/N] ")
    except EOFError:
        answer = ""
    return again({"yes": True}) if answer.strip().lower() in ("y", "yes") else done


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
