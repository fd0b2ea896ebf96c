"""Consolidation of many episodes: how its time and memory grow.

`python -m bench.consolidation` plans for 2,500, 5,000 and 10,000 episodes in memory, by words and
then by words and meaning, and prints seconds of processor time, the growth against n log n, and
the most memory that was in use.
"""

from __future__ import annotations

import random
import sys
import tracemalloc
from collections.abc import Iterator
from math import log
from time import process_time

from recollect.core import distill
from recollect.core.episodes import Episode, ErrorSeen
from recollect.embed import StaticEmbedder

from .yardstick import Ratio, line, report

SIZES = (2_500, 5_000, 10_000)
MOST_GROWTH = 1.5
"""How much worse than n log n it may come out, noise included."""

_VERBS = ("add", "fix", "rename", "speed up", "document", "test", "remove", "split")


def episodes(count: int) -> list[Episode]:
    """Tasks as they come: many sorts, each with some variations, some with resolved errors."""
    chance = random.Random(count)
    nouns = [f"{one}{two}" for one in "abcdefghij" for two in ("form", "export", "parser", "queue")]
    sorts = [
        (chance.choice(_VERBS), chance.choice(nouns), chance.choice(nouns), number)
        for number in range(count // 8)
    ]
    made = []
    for number in range(count):
        verb, one, other, kind = chance.choice(sorts)
        errors: tuple[ErrorSeen, ...] = ()
        if number % 3 == 0:
            errors = (ErrorSeen("TypeError", f"{one} has no field {other}{kind}", f"add {other}"),)
        made.append(
            Episode(
                id=f"e-{number}",
                at=number,
                goal=f"{verb} the {one} of {other} module{kind} {chance.choice(nouns)}",
                artifacts=(f"src/{one}/{other}{kind}.py",),
                outcome=chance.choice(("success", "success", "partial", "unknown")),
                session=f"s-{number}",
                label="agent",
                errors=errors,
            )
        )
    return made


def measure(count: int, embedder: StaticEmbedder | None) -> tuple[float, int]:
    """Seconds of processor time for a plan, and the most memory while it was made, in MB."""
    told = episodes(count)

    def work() -> None:
        vectors = None
        if embedder:
            words = distill.vocabulary(told)
            vectors = dict(zip(words, embedder.embed(list(words.values())), strict=True))
        assert distill.plan(told, (), 10**15, vectors=vectors).steps

    start = process_time()
    work()
    spent = process_time() - start
    tracemalloc.start()
    work()
    most = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    return spent, most // 1_000_000


def measures() -> Iterator[Ratio]:
    """The time of each size, against what n log n allows after the smallest."""
    for embedder in (None, StaticEmbedder()):
        how = "words and meaning" if embedder else "words"
        first = 0.0
        for count in SIZES:
            seconds, megabytes = measure(count, embedder)
            unit = count * log(count)
            first = first or seconds / unit
            name = f"consolidating {count:,} episodes by {how} ({megabytes} MB), against n log n"
            yield line(name, seconds, first * unit, "s CPU", ("at most", MOST_GROWTH))


if __name__ == "__main__":
    sys.exit(report(measures()))
