"""Looking at the code that memories speak of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import partial

from ..context import Context
from ..types.records import Json
from . import steps


def working_tree(context: Context) -> steps.Tree:
    """A new look at the working tree."""
    from .working_tree_io import WorkTree

    return WorkTree(context.top)


def check_freshness(context: Context, ids: Sequence[str]) -> dict[str, steps.Fresh]:
    """Which of these memories still hold, as far as they speak of the code."""
    return steps.check(
        context.project_space,
        partial(_changed_files, context),
        partial(working_tree, context),
        ids,
        context.clock(),
    )


def _changed_files(context: Context, looks: Iterable[steps.Look]) -> set[steps.Look]:
    from . import stamps_io

    return stamps_io.changed(context.top, looks)


def pin_claims(context: Context, text: str, citations: Sequence[Json]) -> list[steps.Known]:
    """What a text says of the code, with what the code looks like now."""
    found = steps.found(text, citations)
    return working_tree(context).pin(found) if found else []
