"""Eight processes that write to one store as fast as they can: how fair it is, how long one waits.

python -m bench writers

Each learns and records in turn, for some seconds. What a process waits is the time of its longest
single write; where there are fewer processors than processes, waiting for one is part of it.
"""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from tempfile import TemporaryDirectory

from .foundation import opened
from .yardstick import Ratio, line

WRITERS = 8
SECONDS = 8
_WRITER = """
import sys, time
import recollect

project, name, seconds = sys.argv[1], sys.argv[2], float(sys.argv[3])
writes, longest = 0, 0.0
with recollect.open(project) as memory:
    memory.record(name, "ready")
    print("ready", flush=True)
    sys.stdin.readline()
    began = before = time.monotonic()
    while before - began < seconds:
        if writes % 2:
            memory.record(name, f"message {writes} of {name}")
        else:
            memory.learn(f"fact {writes} of {name} is worth keeping")
        writes += 1
        now = time.monotonic()
        before, longest = now, max(longest, now - before)
print(writes, longest)
"""


def measures() -> Iterator[Ratio]:
    with TemporaryDirectory() as folder:
        with opened(folder) as memory:
            memory.agents.init()
        environment = {**os.environ, "RECOLLECT_HOME": f"{folder}/home"}
        writers = [
            subprocess.Popen(
                [sys.executable, "-c", _WRITER, folder, f"writer-{number}", str(SECONDS)],
                env=environment,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                text=True,
            )
            for number in range(WRITERS)
        ]
        for writer in writers:
            assert writer.stdout and writer.stdout.readline() == "ready\n"
        for writer in writers:
            assert writer.stdin
            writer.stdin.write("go\n")
            writer.stdin.flush()
        told = [writer.communicate()[0].split() for writer in writers]
    writes = [int(count) for count, _ in told]
    longest = max(float(wait) for _, wait in told)
    name = f"the slowest of {WRITERS} writers, against the fastest"
    yield line(name, min(writes), max(writes), "writes", ("at least", 1 / 3))
    name = f"the longest wait of {WRITERS} writers ({sum(writes):,} writes), against a second"
    yield line(name, longest, 1.0, "s", ("at most", 1.0))
