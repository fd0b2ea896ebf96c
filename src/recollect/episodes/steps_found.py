"""Say by which line an episode was found, when what is shown of it has none of the words."""

from __future__ import annotations

from collections.abc import Sequence

from ..storage.database import Tx
from ..text import display
from . import sql

LONGEST_LINE = 160
"""Characters shown of the line that an episode was found by."""


def describe(tx: Tx, id: str, text: str, words: Sequence[str]) -> str:
    """Return the text of an episode, with its line that holds most of these words."""
    from . import steps

    row = sql.get(tx, id)
    lines = steps.searchable(row).split("\n") if row else [""]
    counted = [(sum(word in line.casefold() for word in words), line) for line in lines]
    count, best = max(counted, key=lambda one: one[0])
    if not count:
        return text
    return f"{text}; in it: {display.shorten(display.cut_snippet(best, words), LONGEST_LINE)}"
