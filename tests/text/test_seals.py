"""The seals of many rows are those of each."""

from __future__ import annotations

from recollect.memory.sql import MemoryRow
from recollect.memory.steps import Draft, prepare
from recollect.text import seals

TEXTS = (
    "The build needs JDK 21",
    "Cover at least 80% of the lines, %s and %d included",
    "Die Prüfung läuft nächtlich",
    "Two lines\nof one statement",
)


def test_many_memories_have_the_seals_that_each_would_have() -> None:
    drafts = [
        Draft(text, kind, subject=subject)
        for text in TEXTS
        for kind in ("fact", "reference")
        for subject in ("", "100 %", "Größe")
    ]
    rows = [prepare(draft, "user", 1, f"m-{place}").row for place, draft in enumerate(drafts)]
    names = MemoryRow._fields
    alone = [
        seals.make_seal(*[getattr(row, name) for name in seals.COLUMNS["memories"]]) for row in rows
    ]
    assert len(rows) > 20
    assert seals.seal_rows("memories", names, rows) == alone
    assert seals.seal_rows("memories", names, rows[:3]) == alone[:3]
