"""Only memories: what a command or a hook that searches needs, and a third of the imports."""

from __future__ import annotations

from . import validation
from .memory.operations import Memories


class Quick(Memories):
    """Learn, recall, show and list."""


validation.guard(Quick, ("learn", "recall", "show", "list"))
