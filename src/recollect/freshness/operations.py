"""Looking at the code that memories speak of."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..context import Opened
from . import steps


class Looking(Opened):
    """The working tree, and whether what is remembered of it still holds."""

    def _tree(self) -> steps.Tree:
        """A new look at the working tree."""
        from .working_tree_io import WorkTree

        return WorkTree(self._top)

    def _freshness(self, ids: Sequence[str]) -> dict[str, steps.Fresh]:
        """Which of these memories still hold, as far as they speak of the code."""
        return steps.check(self._project_space, self._changed, self._tree, ids, self._clock())

    def _changed(self, looks: Iterable[steps.Look]) -> set[steps.Look]:
        from . import stamps_io

        return stamps_io.changed(self._top, looks)
