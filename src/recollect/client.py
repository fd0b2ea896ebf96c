"""Recollect: the one object with every operation."""

from __future__ import annotations

from . import validation
from .archive.operations import Sessions
from .briefing.operations_task import Briefings
from .lessons.operations import Experience
from .maintenance.operations import Upkeep
from .operation_table import OPERATIONS
from .procedures.operations import Procedures
from .recall.operations_evaluate import Evaluation
from .window.operations import Windows
from .work.operations import Work
from .work.operations_scratch import Scratch


class Recollect(
    Briefings, Experience, Procedures, Work, Sessions, Windows, Scratch, Evaluation, Upkeep
):
    """A project's memory together with the user's. Made by `recollect.open()`."""

    def __enter__(self) -> Recollect:
        return self


validation.guard(Recollect, OPERATIONS.values())
