"""Looking at the code that memories speak of."""

from collections.abc import Iterable, Sequence

from .. import flows
from .opened import Opened


class Looking(Opened):
    """The working tree, and whether what is remembered of it still holds."""

    def _tree(self) -> "flows.freshness.Tree":
        """A new look at the working tree."""
        from ..worktree.tree import WorkTree

        return WorkTree(self._top)

    def _freshness(self, ids: Sequence[str]) -> "dict[str, flows.freshness.Fresh]":
        """Which of these memories still hold, as far as they speak of the code."""
        return flows.freshness.check(
            self._project_space, self._changed, self._tree, ids, self._clock()
        )

    def _changed(self, looks: "Iterable[flows.freshness.Look]") -> "set[flows.freshness.Look]":
        from ..worktree import stamps

        return stamps.changed(self._top, looks)
