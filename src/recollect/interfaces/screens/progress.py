"""The progress line of long work: what is done, how far it is, how long it will take."""

from __future__ import annotations

import sys
import time

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import style

if TYPE_CHECKING:
    from ...archive.steps_files import FileProgress
    from ...context import Progress

_BAR = 20
_SHORTEST_ESTIMATE = 2.0
"""Seconds before an estimate is worth showing."""

_WORK = {
    "words": "indexing words",
    "meaning": "making vectors",
    "questions": "asking questions",
}
"""What the work is called on the screen; the name of a file stands for reading it."""

KEPT = {
    "import": "What was read is kept; `recollect import` reads the rest.",
    "init": "The memory is kept; `recollect init` continues.",
    "rebuild": "What was indexed is kept; `recollect rebuild` finishes it.",
    "episode build": "The episodes so far are kept; `recollect episode build` makes the rest.",
    "session import": "The messages so far are kept; the same command reads the rest.",
    "consolidate": "Nothing was changed.",
    "eval": "Nothing was changed.",
    "backup": "No copy was written.",
    "demo": "Its temporary project is deleted.",
}
"""What is left of a command that Ctrl-C stopped."""


class ProgressLine:
    """Prints progress on one line, overwriting the last one."""

    def __init__(self) -> None:
        self._began = time.monotonic()
        self._shown = False

    def show(self, progress: Progress | FileProgress) -> None:
        """Show how far the work is."""
        number, of = getattr(progress, "number", 1), getattr(progress, "of", 1)
        part = min(progress.done / max(progress.total, 1), 1.0)
        whole = (number - 1 + part) / max(of, 1)
        line = render_progress(progress, whole, time.monotonic() - self._began)
        self._shown = whole < 1
        end = "\r\033[K" if whole >= 1 else ""
        print(f"\r\033[K{line}", end=end, file=sys.stderr, flush=True)

    def clear(self) -> None:
        """Remove the line, so that what follows begins on an empty one."""
        if self._shown:
            print("\r\033[K", end="", file=sys.stderr, flush=True)
            self._shown = False


def render_progress(progress: Progress | FileProgress, whole: float, seconds: float) -> str:
    """Return a bar, the percentage, the time that is left, counts and the current item."""
    number, of = getattr(progress, "number", 1), getattr(progress, "of", 1)
    filled = round(whole * _BAR)
    parts = [f"{'█' * filled}{'░' * (_BAR - filled)} {whole:4.0%}"]
    if seconds >= _SHORTEST_ESTIMATE and 0 < whole < 1:
        parts.append(f"{_format_seconds(seconds * (1 - whole) / whole)} left")
    if of > 1:
        parts.append(f"{number} of {of}")
    if progress.messages:
        parts.append(f"{progress.messages} new")
    start = "  ".join(parts)
    room = max(style.terminal_width() - len(start) - 3, 10)
    path = display.format_line(_WORK.get(progress.path, progress.path))
    # The end of a path is the informative part.
    shown = path if len(path) <= room else "…" + path[1 - room :]
    return f"{start}  {shown}"


def _format_seconds(seconds: float) -> str:
    if seconds < 90:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 5400 else f"{seconds / 3600:.1f} h"
