"""The terminal: how wide it is, and whether more than plain lines can be shown there."""

from __future__ import annotations

import os

from ...fast_typing import Any


def columns() -> int:
    """How many columns the terminal has; 100 when there is none."""
    try:
        return os.get_terminal_size().columns or 100
    except OSError:
        return 100


def draws(stream: Any) -> bool:
    """Whether a person looks at it, at a terminal where lines can be written over."""
    return bool(stream and stream.isatty() and os.environ.get("TERM") != "dumb")


def colours(stream: Any) -> bool:
    """Whether colour is wanted there: `NO_COLOR` says that it is not."""
    return draws(stream) and not os.environ.get("NO_COLOR")
