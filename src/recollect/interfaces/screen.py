"""The terminal: how wide it is."""

from __future__ import annotations

import os


def columns() -> int:
    """How many columns the terminal has; 100 when there is none."""
    try:
        return os.get_terminal_size().columns or 100
    except OSError:
        return 100
