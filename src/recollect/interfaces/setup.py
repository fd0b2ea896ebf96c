"""`recollect init` with a person in front of it: show what would change for agents, and ask."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping
from typing import Any

from ..text import display


def connect(given: Mapping[str, Any], run: Callable[[dict[str, Any]], Any]) -> Any:
    """Run `init`; warn before anything is written, and ask unless `--yes` was given.

    `run` does it with some arguments changed."""
    if given.get("yes"):
        _warn(run({"print": True}))
        return run({})._replace(warning="")
    done = run({})
    if given.get("check") or given.get("print") or not _is_attended():
        return done
    return _asked(done, run)._replace(warning="")


def _is_attended() -> bool:
    """Check whether a person can read a question and answer it."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _warn(done: Any) -> None:
    if done.warning:
        print("\n".join(warning(done)), flush=True)


def warning(done: Any) -> list[str]:
    """Return the lines that warn of a program that may not stay where it is."""
    first, *more = display.visible(done.warning).splitlines() or [""]
    return [f"warning: {first}", *(f"  {line}" for line in more)] if first else []


def _asked(done: Any, run: Callable[[dict[str, Any]], Any]) -> Any:
    """Return the result after the person agreed to what was planned."""
    waiting = [change for change in done.changes if change.pending]
    more: dict[str, Any] = {}
    _warn(done)
    if waiting:
        print("\n".join(difference(change) for change in waiting))
        number = display.counted(len(waiting), "file")
        if _agrees(f"Change {number} as shown? A backup is kept. [y/N] "):
            more["yes"] = True
    number = display.counted(done.past, "past conversation")
    if done.past and _agrees(f"Import {number} of this project? [y/N] "):
        more["import_"] = True
    declined = bool(waiting) and "yes" not in more
    # What was made a moment ago is still what this command did.
    last = run(more)._replace(created=done.created) if more else done
    return last._replace(declined=declined)


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
    return "\n".join(display.visible(line) for line in lines)
