"""What a long session costs: appending by its length, preparing a prompt by its window.

python -m bench.sessions              1,000, 10,000 and 100,000 messages
python -m bench.sessions --million    a million as well (takes minutes and some gigabytes)

Every number is a ratio to the session of 1,000 messages in the same run: the work is the same at
each length if the ratio stays near 1. Processor time of this process, so that the disk and other
processes do not disturb it. It says nothing about how good a summary is.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterator, Sequence
from statistics import median
from tempfile import TemporaryDirectory

import recollect
from recollect.archive import steps as archive_steps
from recollect.archive.operations import build_session
from recollect.types.records import Message, ToolCall

from .foundation import opened
from .yardstick import Notes, Ratio, line, own_time, report

SHORTEST = 1_000
CONTEXT = 32_000
BATCH = 500
SESSION = "long"


def turn(notes: Notes, at: int) -> list[Message]:
    """Four messages: a request, a call, its result, an answer."""
    path = f"src/part{at % 97}.py"
    call = ToolCall(f"call-{at}", "Read", json.dumps({"file_path": path}))
    return [
        Message("user", f"{notes.note()} and then look at {path}, part {at}"),
        Message("assistant", "", (call,)),
        Message("tool", " ".join(notes.words(60)), call_id=call.id),
        Message("assistant", notes.note()),
    ]


def grow(memory: recollect.Recollect, notes: Notes, first: int, last: int) -> None:
    """Append turns, a few hundred messages in a transaction; the window follows, as it would."""
    per_batch = BATCH // 4
    for start in range(first, last, per_batch):
        turns = range(start, min(start + per_batch, last))
        batch = [message for at in turns for message in turn(notes, at)]
        now = memory.context.clock()
        ready = [archive_steps.prepare(archive_steps.Incoming(message), now) for message in batch]
        new = build_session(memory.context, SESSION)
        memory.context.project_space.write(
            lambda tx, new=new, ready=ready, now=now: archive_steps.record(tx, new, ready, now)  # type: ignore[misc]
        )
        memory.prepare(SESSION, CONTEXT)


def append_cost(memory: recollect.Recollect, notes: Notes, at: int) -> float:
    """Processor time of one durable append, the median of many."""
    texts = [notes.note() for _ in range(60)]
    return median(own_time(lambda text=text: memory.record(SESSION, text)) for text in texts)  # type: ignore[misc]


def prepare_cost(memory: recollect.Recollect) -> float:
    """Processor time of preparing a prompt: the median of many, for the same window."""
    memory.sessions.trim(SESSION, CONTEXT // 4)
    return median(own_time(lambda: memory.prepare(SESSION, CONTEXT)) for _ in range(15))


def measures(lengths: Sequence[int] = (SHORTEST, 10_000, 100_000)) -> Iterator[Ratio]:
    """Appending and preparing at each length, as ratios to the shortest."""
    notes = Notes()
    first: tuple[float, float] | None = None
    done = 0
    with TemporaryDirectory() as folder, opened(folder) as memory:
        for length in lengths:
            grow(memory, notes, done, length // 4)
            done = length // 4
            cost = append_cost(memory, notes, done), prepare_cost(memory)
            first = first or cost
            for name, here, start, most in (
                ("append one message", cost[0], first[0], 2.0),
                ("prepare a prompt", cost[1], first[1], 2.0),
            ):
                what = f"{name}, session of {length:,}"
                yield line(what, here * 1000, start * 1000, "ms", ("at most", most))


def main() -> int:
    if "--million" in sys.argv:
        return report(measures((SHORTEST, 10_000, 100_000, 1_000_000)))
    return report(measures())


if __name__ == "__main__":
    sys.exit(main())
