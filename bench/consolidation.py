"""Consolidation of many episodes: how its time and memory grow.

`python -m bench.consolidation` plans for 2,500, 5,000 and 10,000 episodes in memory, by words and
then by words and meaning, and prints seconds of processor time, the growth against n log n, and
the most memory that was in use.

`python -m bench.consolidation stored` fills a store with 100,000 memories and 10,000 episodes,
consolidates it, and then again and again with a few new episodes and memories: processor time and
the most resident memory of each run, which is a process of its own. It takes some minutes.
"""

from __future__ import annotations

import json
import os
import random
import resource
import subprocess
import sys
import tracemalloc
from collections.abc import Iterator
from math import log
from tempfile import TemporaryDirectory
from time import process_time, time

import recollect
from recollect.context import new_id
from recollect.episodes import steps as episodes_steps
from recollect.episodes.records import Action, Episode, ErrorSeen, to_json
from recollect.index import sql as index_sql
from recollect.index.embedders_io import StaticEmbedder
from recollect.lessons import plan
from recollect.lessons import steps_input as lessons_steps_input
from recollect.memory import sql as memory_sql
from recollect.memory import steps as memory_steps
from recollect.memory import steps_revisions as memory_steps_revisions
from recollect.storage.database import Tx
from recollect.types.records import KINDS

from .yardstick import EnglishNotes, Ratio, line, report

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
            words = plan.vocabulary(told)
            vectors = dict(zip(words, embedder.embed(list(words.values())), strict=True))
        assert plan.plan(told, (), 10**15, vectors=vectors).steps

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


# ---------------------------------------------------------------- a store

MEMORIES, EPISODES = 100_000, 10_000
NEW = (0, 10, 40)
MOST_MEGABYTES, MOST_SECONDS, MOST_RATIO = 200, 6.0, 3.0
DAY = 86_400_000_000
_RUN = "import bench.consolidation as one; one.run_once({})"


def run_once(most: int = lessons_steps_input.MOST) -> None:
    """Consolidate the store of this process once, and print what that took."""
    lessons_steps_input.MOST = most
    before = process_time()
    with recollect.open(os.environ["BENCH_PROJECT"], origin="user") as memory:
        done = memory.lessons.consolidate()
    found = {
        "cpu": process_time() - before,
        "megabytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        "changes": len(done.lines),
        "episodes": done.episodes,
        "note": done.note,
    }
    print(json.dumps(found))


def stored() -> Iterator[Ratio]:
    """Runs over a large store: one of all that is new, and those after a few new things."""
    with TemporaryDirectory() as folder:
        large = _Store(f"{folder}/large", MEMORIES, EPISODES)
        first = large.consolidated()
        name = f"consolidating {MEMORIES:,} memories and {EPISODES:,} episodes"
        bound = ("at most", 1.0)
        yield line(f"{name}, all new", first["megabytes"], MOST_MEGABYTES, "MB", bound)
        large.consolidated(MEMORIES)  # all that is left at once, which is not how it is used
        found = first
        for new in NEW:
            found = large.with_new(new)
            yield line(f"{name}, {new} new", found["cpu"], MOST_SECONDS, "s CPU", bound)
            yield line(f"{name}, {new} new", found["megabytes"], MOST_MEGABYTES, "MB", bound)
        small = _Store(f"{folder}/small", MEMORIES // 100, EPISODES // 100)
        small.consolidated(MEMORIES)
        for new in NEW:  # the same runs: each looks again at what the one before it wrote
            least = small.with_new(new)["cpu"]
        more = ("at most", MOST_RATIO)
        yield line(f"{NEW[-1]} new: a hundred times the store", found["cpu"], least, "s CPU", more)


class _Store:
    """A store with old memories and episodes; each run of consolidation is a process."""

    def __init__(self, folder: str, memories: int, count: int) -> None:
        self.project = f"{folder}/project"
        os.makedirs(self.project)
        variables = {"RECOLLECT_HOME": f"{folder}/home", "HOME": folder}
        self.environment = {**os.environ, **variables, "BENCH_PROJECT": self.project}
        self.notes, self.told, self.start = EnglishNotes(), episodes(count + sum(NEW)), count
        self._write(self.told[:count], memories, old=True)

    def _write(self, told: list[Episode], memories: int, old: bool = False) -> None:
        with recollect.open(self.project, environment=self.environment, origin="user") as memory:
            _fill(memory, self.notes, told, memories, old)

    def with_new(self, count: int) -> dict[str, float]:
        """Return the cost of the last run after so many new memories and episodes."""
        self._write(self.told[self.start : self.start + count], count)
        self.start += count
        while (found := self.consolidated())["note"]:
            pass
        return found

    def consolidated(self, most: int = lessons_steps_input.MOST) -> dict[str, float]:
        """Consolidate in a process of its own; return its processor time and memory."""
        command = [sys.executable, "-c", _RUN.format(most)]
        answer = subprocess.run(
            command, env=self.environment, check=True, stdout=subprocess.PIPE, text=True
        )
        print(answer.stdout, end="", file=sys.stderr, flush=True)
        found: dict[str, float] = json.loads(answer.stdout)
        return found


def _fill(
    memory: recollect.Recollect,
    notes: EnglishNotes,
    told: list[Episode],
    count: int,
    old: bool = False,
) -> None:
    """Write memories and episodes of now, or `old` ones of the last year and three weeks."""
    now = int(time() * 1_000_000)
    kinds = [kind for kind in KINDS if kind != "policy"]

    def some(tx: Tx, numbers: range) -> None:
        entries = []
        for number in numbers:
            at = now - 350 * DAY * (count - number) // count if old else now
            draft = memory_steps.Draft(notes.note(), kinds[number % len(kinds)])
            try:
                ready = memory_steps.prepare(draft, "user", at, new_id("m"))
            except recollect.Refused:
                continue  # among so many words in any order there is a passing state of a task
            if memory_sql.insert(tx, ready.row):
                entries.append((memory_steps_revisions.make_entry(ready.memory), ready.words))
        index_sql.insert_entries(tx, entries)

    def happened(tx: Tx, numbers: range) -> None:
        for number in numbers:
            one = told[number]
            at = now - 21 * DAY * (len(told) - number) // len(told) if old else now
            steps = tuple(
                Action(step, "edit", f"src/module{step}/{one.goal.split()[-1]}.py", "pass")
                for step in range(20)
            )
            given = to_json(one._replace(at=at, actions=steps))
            row, _ = episodes_steps.prepare_row(given, "user", "user", now - DAY if old else now)
            episodes_steps.store_episode(tx, row)

    space = memory.context.project_space
    for start in range(0, count, 1_000):
        space.write(lambda tx, s=start: some(tx, range(s, min(s + 1_000, count))))  # type: ignore[misc]
    for start in range(0, len(told), 1_000):
        space.write(
            lambda tx, s=start: happened(tx, range(s, min(s + 1_000, len(told))))  # type: ignore[misc]
        )


if __name__ == "__main__":
    sys.exit(report(stored() if "stored" in sys.argv else measures()))
