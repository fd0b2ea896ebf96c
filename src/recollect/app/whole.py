"""Recollect: the one object with every operation."""

from __future__ import annotations

from . import OPERATIONS, checks
from .briefings import Briefings
from .evaluation import Evaluation
from .experience import Experience
from .procedures import Procedures
from .scratch import Scratch
from .sessions import Sessions
from .upkeep import Upkeep
from .windows import Windows
from .work import Work


class Recollect(
    Briefings, Experience, Procedures, Work, Sessions, Windows, Scratch, Evaluation, Upkeep
):
    """A project's memory together with the user's. Made by `recollect.open()`."""

    def __enter__(self) -> Recollect:
        return self


checks.guard(Recollect, OPERATIONS.values())
