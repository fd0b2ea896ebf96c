"""Only memories: what a command or a hook that searches needs, and a third of the imports."""

from __future__ import annotations

from . import checks
from .memories import Memories


class Quick(Memories):
    """Learn, recall, show and list."""


checks.guard(Quick, ("learn", "recall", "show", "list"))
