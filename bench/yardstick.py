"""How measurements are made: paired runs, medians, and texts that look like notes."""

from __future__ import annotations

import os
import re
import resource
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Sequence
from random import Random
from statistics import median
from typing import NamedTuple


class Ratio(NamedTuple):
    """One line of the table: ours against the yardstick, with the bound it is held to."""

    name: str
    ours: float
    yardstick: float
    unit: str
    ratio: float
    bound: str
    holds: bool


def line(name: str, ours: float, yardstick: float, unit: str, bound: tuple[str, float]) -> Ratio:
    """Compare; the bound is ("at most", 4.0) or ("at least", 0.7)."""
    ratio = ours / yardstick
    holds = ratio <= bound[1] if bound[0] == "at most" else ratio >= bound[1]
    return Ratio(name, ours, yardstick, unit, ratio, f"{bound[0]} {bound[1]:g}", holds)


def table(lines: Sequence[Ratio]) -> str:
    """The lines as a Markdown table."""
    rows = ["| what | ours | yardstick | ratio | bound | |", "|---|---|---|---|---|---|"]
    rows += [
        f"| {item.name} | {item.ours:,.2f} {item.unit} | {item.yardstick:,.2f} {item.unit} "
        f"| {item.ratio:.2f} | {item.bound} | {'holds' if item.holds else 'DOES NOT HOLD'} |"
        for item in lines
    ]
    return "\n".join(rows)


def report(lines: Iterable[Ratio]) -> int:
    """Tell each line as it comes, then print the table; 1 when a bound does not hold."""
    told = []
    for item in lines:
        told.append(item)
        print(f"{item.name}: {item.ratio:.2f}", file=sys.stderr, flush=True)
    print(table(told))
    return 0 if all(item.holds for item in told) else 1


def paired(one: Callable[[], float], other: Callable[[], float], pairs: int) -> tuple[float, float]:
    """The medians of two measurements that take turns, so that a slow spell hits both."""
    first: list[float] = []
    second: list[float] = []
    for place in range(pairs):
        order = (one, first), (other, second)
        for measure, results in order if place % 2 else reversed(order):
            results.append(measure())
    return median(first), median(second)


def wall(work: Callable[[], object]) -> float:
    """Seconds that passed."""
    began = time.perf_counter()
    work()
    return time.perf_counter() - began


def own_time(work: Callable[[], object]) -> float:
    """Seconds of processor time that this process spent: other processes do not disturb it."""
    began = time.process_time()
    work()
    return time.process_time() - began


def processor_milliseconds(
    command: Sequence[str], environment: dict[str, str], given: str = os.devnull
) -> float:
    """User and system time of a whole process, with a file on its standard input."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    with open(given, "rb") as file:
        subprocess.run(command, env=environment, check=True, stdin=file, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return 1000 * (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


class Notes:
    """Texts of a made-up project: common words are common, and each note has a few rare ones."""

    def __init__(self, seed: int = 7) -> None:
        self._random = Random(seed)
        self._words = self._vocabulary()

    def _vocabulary(self) -> list[str]:
        letters = "ghjklmnprstvwz"
        return [
            "".join(
                self._random.choice(letters) + self._random.choice("aeiou")
                for _ in range(self._random.randrange(1, 4))
            )
            + str(number % 7 or "")
            for number in range(20_000)
        ]

    def words(self, count: int) -> list[str]:
        size = len(self._words)
        return [self._words[int(size * self._random.random() ** 3)] for _ in range(count)]

    def note(self) -> str:
        return " ".join(self.words(self._random.randrange(8, 25)))

    def question(self) -> str:
        """Five words of a note, as somebody would ask for it: common ones are among them."""
        return " ".join(self.words(5))


class EnglishNotes(Notes):
    """The same with words that the embedder knows: those of Python's own language reference, the
    most common first, and numbered names as a project has them. A question is about a note that
    there is: four of its words, and another one."""

    def _vocabulary(self) -> list[str]:
        from collections import Counter
        from pydoc_data.topics import topics

        self._told: list[list[str]] = []
        text = " ".join(topics[name] for name in sorted(topics))
        found = Counter(re.findall(r"[a-z]{3,}", text.lower()))
        common = [word for word, _ in found.most_common()]
        names = [f"{word}_{number}" for number in range(4) for word in common]
        return [*common, *names][:20_000]

    def note(self) -> str:
        told = self.words(self._random.randrange(8, 25))
        if self._random.random() < 0.01:
            self._told.append(told)
        return " ".join(told)

    def question(self) -> str:
        told = self._random.choice(self._told)
        return " ".join([*self._random.sample(told, 4), *self.words(1)])
