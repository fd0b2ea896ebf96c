"""Print results as text: the dispatch by command, tables, and the screens of the store itself.

Each screen is a function of an operation's result that returns plain lines, fit for a pipe.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Sequence
from types import ModuleType

from ...fast_typing import TYPE_CHECKING
from ...text import display

if TYPE_CHECKING:
    from typing import TextIO

    from ...maintenance.steps import Adopted, Diagnosis, Stats

_MODULES = {
    **dict.fromkeys(("session", "record"), "sessions"),
    **dict.fromkeys(("init", "plugin", "import", "capture"), "agents"),
    **dict.fromkeys(("memory", "jobs"), "autonomous"),
    "review": "review",
    **dict.fromkeys(("stats", "backup", "adopt", "doctor"), "results"),
    **dict.fromkeys(
        (
            *("episode", "learnings", "consolidate", "procedure", "pattern", "link", "links"),
            *("notes", "continuity", "task", "ledger", "handoff", "promote", "audit", "event"),
        ),
        "work",
    ),
}
"""The module with the screen of a command, by its first word; all others are in `memories`."""


def show(command: str, result: object) -> str:
    """Return the result of a command as text."""
    return display.escape_invisible(load_screen(command)(result))


def load_screen(command: str) -> Callable[..., str]:
    """Return the screen of a command, loading its module."""
    name = f"{__package__}.{_MODULES.get(command.partition(' ')[0], 'memories')}"
    __import__(name)  # `importlib` would cost a command half a millisecond
    module: ModuleType = sys.modules[name]
    screens: dict[str, Callable[..., str]] = module.SCREENS
    return screens[command]


def terminal_width() -> int:
    """Return the number of columns of the terminal; 100 without one."""
    try:
        return os.get_terminal_size().columns or 100
    except OSError:
        return 100


def can_redraw(stream: TextIO | None) -> bool:
    """Check whether a stream is a terminal that can overwrite a line."""
    return bool(stream and stream.isatty() and os.environ.get("TERM") != "dumb")


def wants_colour(stream: TextIO | None) -> bool:
    """Check whether to print colours: a terminal, and no NO_COLOR."""
    return can_redraw(stream) and not os.environ.get("NO_COLOR")


def render_table(heads: Sequence[str], rows: Iterable[Sequence[str]], whole: bool = False) -> str:
    """Return aligned columns; at a terminal the last one is cut to its width unless `whole`."""
    cells = [list(heads), *([display.format_line(cell) for cell in row] for row in rows)]
    widths = [
        max(map(display.cell_width, column)) for column in list(zip(*cells, strict=True))[:-1]
    ]
    cut = sys.stdout.isatty() and not whole
    room = max(terminal_width() - sum(widths) - 2 * len(widths), 30) if cut else 0
    lines = []
    for row in cells:
        start = "".join(
            cell + " " * (width - display.cell_width(cell) + 2)
            for cell, width in zip(row, widths, strict=False)
        )
        lines.append((start + display.format_line(row[-1], room)).rstrip())
    return "\n".join(lines)


def render_redacted(types: Sequence[str]) -> list[str]:
    """Return a line with the types of secrets that were redacted, each once; none without."""
    return [f"  redacted: {', '.join(dict.fromkeys(types))}"] if types else []


def _render_stats(stats: Stats) -> str:
    memories = display.format_count(stats.memories, "memory", "memories")
    lines = [f"{memories}, about {display.format_count(stats.tokens, 'token')}"]
    for name in ("by_kind", "by_layer", "by_status"):
        found = getattr(stats, name)
        if found:
            counts = ", ".join(f"{key} {found[key]}" for key in sorted(found))
            lines.append(f"  {name[3:]:<7} {counts}")
    if stats.by_age:
        ages = ", ".join(f"{name} {number}" for name, number in stats.by_age.items())
        lines.append(f"  age     {ages}")
        lines.append(f"  never recalled {stats.never_recalled}, stale claims {stats.stale}")
    messages = display.format_count(stats.messages, "message")
    lines.append(f"{messages} in {display.format_count(stats.sessions, 'session')}")
    if stats.documents:
        counts = ", ".join(f"{key} {number}" for key, number in sorted(stats.documents.items()))
        lines.append(f"documents: {counts}")
    if stats.embedded or stats.unembedded:
        missing = f", {stats.unembedded} missing" if stats.unembedded else ""
        vectors = display.format_count(stats.embedded, "vector")
        lines.append(f"search by meaning: {vectors}{missing}")
    for one in stats.in_time:
        judged = one.followed + one.ignored
        result = f", followed {one.followed} of {judged}" if judged else ""
        lines.append(f"in time, {one.moment}: {one.shown} shown at {one.chances} chances{result}")
    if stats.consolidation:
        lines.append(f"consolidation: {stats.consolidation}")
    if stats.autonomous:
        lines.append(f"autonomous memory: {stats.autonomous}")
    project, user = _format_size(stats.project_bytes), _format_size(stats.user_bytes)
    lines.append(f"on disk: project {project}, user {user}")
    return "\n".join(lines)


def _format_size(number: int) -> str:
    for unit in ("bytes", "KB", "MB"):
        if number < 1000:
            return f"{number:.0f} {unit}"
        number //= 1000
    return f"{number} GB"


def _render_adopted(done: Adopted) -> str:
    content = f"{done.memories} memories, {done.sessions} sessions"
    if done.trusted:
        return f"adopted {done.path} ({content})"
    return (
        f"adopted {done.path} in quarantine ({content})\n"
        "review: recollect list --status quarantined   confirm one: recollect confirm ID"
    )


def _render_diagnosis(diagnosis: Diagnosis) -> str:
    lines = []
    for check in diagnosis.checks:
        first, *more = display.escape_invisible(check.detail).splitlines() or [""]
        lines.append(f"{'ok  ' if check.ok else 'BAD '} {check.name}: {first}")
        lines += [f"       {line}" for line in more]
    failed = sum(not check.ok for check in diagnosis.checks)
    lines.append("no problems found" if diagnosis.ok else f"{failed} of the checks failed")
    return "\n".join(lines)


SCREENS: dict[str, Callable[..., str]] = {
    "stats": _render_stats,
    "backup": lambda done: f"wrote {done.path} ({_format_size(done.bytes)})",
    "adopt": _render_adopted,
    "doctor": _render_diagnosis,
}
