"""A turn's briefing against one recall of the same question, in a store of a hundred thousand."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from tempfile import TemporaryDirectory

from .foundation import fill, opened
from .yardstick import Notes, Ratio, line, own_time, paired


def measures(count: int = 100_000) -> Iterator[Ratio]:
    """What the user-prompt hook asks for: the stable block is there already."""
    notes = Notes()
    with TemporaryDirectory() as folder, opened(folder) as memory:
        fill(memory, count, notes)
        questions = [notes.question() for _ in range(30)]
        memory.briefing(session="s")

        def brief() -> float:
            brief_me = partial(memory.briefing, "s")
            return own_time(lambda: [brief_me(query=text) for text in questions])

        def ask() -> float:
            return own_time(lambda: [memory.recall(text) for text in questions])

        brief()
        mine, yardstick = paired(brief, ask, 5)
    each = 1000 / len(questions)
    name = f"turn briefing at {count:,} memories, against one recall"
    yield line(name, mine * each, yardstick * each, "ms CPU", ("at most", 3.0))
