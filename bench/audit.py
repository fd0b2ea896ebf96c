"""`python -m bench.audit [COUNT]`: the time and memory of an audit of a large store (300,000
memories), against a tenth of it: the work may grow like n log n.

The store is written row by row without a word index, which an audit does not read.
"""

from __future__ import annotations

import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from math import log
from tempfile import TemporaryDirectory
from time import process_time, time_ns

import recollect
from recollect.context import new_id
from recollect.freshness import sql as freshness_sql
from recollect.freshness import steps as freshness_steps
from recollect.memory import sql as memory_sql
from recollect.memory import steps as memory_steps
from recollect.storage.database import Tx

from .texts import Sentences
from .yardstick import Ratio, line, report

MOST_GROWTH = 2.0


def fill(memory: recollect.Recollect, count: int) -> None:
    """Write memories with their claims about files."""
    texts, now = Sentences(), time_ns() // 1000

    def write(tx: Tx) -> None:
        for number in range(count):
            text = f"{texts.next()} ({number})"
            draft = memory_steps.Draft(text=text, kind="fact")
            ready = memory_steps.prepare(draft, "user", now, new_id("m"))
            memory_sql.insert(tx, ready.row)
            if number % 100:
                continue
            pinned = enumerate(freshness_steps.pin_claims(memory.context, text, ()))
            rows = [freshness_sql.make_row(ready.row.id, at, one) for at, one in pinned]
            freshness_sql.replace_claims(tx, ready.row.id, rows, now)

    memory.context.project_space.write(write)


def audit_once(folder: str) -> None:
    """Audit the store of a folder; print CPU seconds, megabytes and the number of findings."""
    before = process_time()
    with recollect.open(folder, origin="user") as memory:
        found = memory.work.audit()
    print(
        process_time() - before,
        resource.getrusage(resource.RUSAGE_SELF).ru_maxrss // 1024,
        sum(len(part) for part in found),
    )


def measures(count: int) -> Iterator[Ratio]:
    """The time of each size, against what n log n allows after the smallest."""
    first = 0.0
    with TemporaryDirectory() as folder:
        os.environ["RECOLLECT_HOME"] = f"{folder}/home"
        for size in (count // 10, count):
            place = f"{folder}/{size}"
            os.makedirs(place)
            began = process_time()
            with recollect.open(place, origin="user") as memory:
                fill(memory, size)
            spent = process_time() - began
            print(f"{size:,} memories written in {spent:.0f} s of CPU", file=sys.stderr, flush=True)
            told = subprocess.run(
                [sys.executable, "-m", "bench.audit", "--once", place],
                capture_output=True, text=True, check=True,
            ).stdout.split()  # fmt: skip
            seconds, unit = float(told[0]), size * log(size)
            first = first or seconds / unit
            name = f"audit of {size:,} memories ({told[1]} MB, {told[2]} findings), against n log n"
            yield line(name, seconds, first * unit, "s CPU", ("at most", MOST_GROWTH))


def main() -> int:
    if sys.argv[1:2] == ["--once"]:
        audit_once(sys.argv[2])
        return 0
    return report(measures(int(sys.argv[1]) if sys.argv[1:] else 300_000))


if __name__ == "__main__":
    sys.exit(main())
