"""`python -m bench.imports FOLDER`: what importing real transcripts costs, and that it is lossless.

The yardstick is parsing the same files with `json` and inserting the same texts into a raw FTS5
table, in one transaction; a second line shows it with a transaction for each session. An import has
one for every thousand messages, so that it can be broken off. The stems and clues of words are
remembered, and the first import of a process has none to remember: it is measured in new processes,
as a user waits for it, and with all that the background process does afterwards. Everything is
imported three times, the last time without the cursors, and only the first may change anything:
each message of the readers is in the archive once, and the archive proves itself.

With `--large SIZE`, a transcript of so many megabytes is made up and imported by a process of its
own, and the most memory that it took is shown; it may not be more than a fixed amount.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from functools import partial
from statistics import median

import apsw

import recollect
from recollect.agents import registry, steps_reading
from recollect.agents.transcripts.reader_io import TranscriptEntry
from recollect.text import messages as text_messages
from recollect.types.reports import ImportedTranscript

from .yardstick import Ratio, line, own_time, paired, table

BOUND, FIRST_BOUND, WHOLE_BOUND = 5.0, 9.0, 16.0
PAIRS, PROCESSES = 5, 5
MOST_MEMORY = 200_000
"""Kilobytes that a transcript may take, however large it is."""


def measures(folder: str) -> list[Ratio]:
    """Import against the yardsticks, in processor time."""

    # A worker is a new process, and has no words to remember.
    steps_reading.WORTH_PROCESSES = sys.maxsize

    def ours() -> float:
        def work() -> None:
            with _open(place) as memory:
                memory.import_transcripts(folder)

        with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place:
            return own_time(work)

    ours()
    texts = _texts(folder)
    together = [[text for session in texts for text in session]]
    found = []
    for name, written in (
        ("later import of a process, with lessons, without vectors", together),
        ("the same against a transaction for each session", texts),
    ):
        yardstick = partial(_yardstick, folder, written)
        spent, yard = paired(ours, partial(own_time, yardstick), PAIRS)
        found.append(line(name, 1000 * spent, 1000 * yard, "ms", ("at most", BOUND)))
    return [*_new_processes(folder, together), *found]


def _new_processes(folder: str, texts: list[list[str]]) -> Iterator[Ratio]:
    """Measure a first import in a new process, with one and with all processors, and the yardstick
    in turns with it.

    As from the command line, it leaves lessons, episodes and vectors to a background process: a
    line of its own adds what that spends. The import of the package is not counted, nor is its
    compilation, which the installation does: the first process compiles, and the median is told.
    """
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as compiled:
        environment = {**os.environ, "PYTHONPYCACHEPREFIX": compiled}
        environment.pop("PYTHONDONTWRITEBYTECODE", None)
        run = partial(_in_new_process, folder, environment)
        raw = partial(own_time, partial(_yardstick, folder, texts))
        turns = [((run(1), run(0)), raw()) for _ in range(PROCESSES)]
    yard = 1000 * median(spent for _, spent in turns)
    pairs = [pair for pair, _ in turns]
    for place, name in enumerate(("one processor", "all processors")):
        spent = median(pair[place][0] for pair in pairs)
        title = f"first import, as far as it is waited for, {name}"
        yield line(title, 1000 * spent, yard, "ms", ("at most", FIRST_BOUND))
    whole = median(alone[0] + alone[2] for alone, _ in pairs)
    title = "first import with lessons, episodes and vectors of the background, one processor"
    yield line(title, 1000 * whole, yard, "ms", ("at most", WHOLE_BOUND))
    alone, several = (median(pair[place][1] for pair in pairs) for place in (0, 1))
    title = "first import, all processors to one, in wall time"
    yield line(title, 1000 * several, 1000 * alone, "ms", ("at most", 1.0))


def _in_new_process(
    folder: str, environment: Mapping[str, str], processors: int
) -> tuple[float, float, float]:
    """Return the CPU and wall seconds of a first import, and the CPU seconds of its background."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place:
        command = [sys.executable, "-c", _FIRST, place, folder, str(processors)]
        told = subprocess.run(
            command, check=True, capture_output=True, text=True, env=environment
        ).stdout
    spent, waited, later = map(float, told.split())
    return spent, waited, later


def _open(place: str, embedder: str = "off") -> recollect.Recollect:
    # Without vectors, which the yardstick has not either.
    home = {"HOME": place, "RECOLLECT_HOME": os.path.join(place, "home")}
    settings = {**home, "RECOLLECT_EMBEDDER": embedder}
    return recollect.open(place, environment=settings, origin="user")


def _texts(folder: str) -> list[list[str]]:
    """The texts of all messages by session; proves that nothing is lost and nothing is doubled."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place, _open(place) as memory:
        first = memory.import_transcripts(folder)
        assert not [item.error for item in first.transcripts if item.error]
        kept = [
            memory.sessions.show(session.id, 1, 1_000_000).messages
            for session in memory.sessions.list(limit=100_000)
        ]
        told = _told(first.transcripts)
        assert {stored.message.key for one in kept for stored in one} == told
        assert sum(map(len, kept)) == len(told) == first.messages
        again = memory.import_transcripts(folder)
        memory.context.project_space.write(
            lambda tx: tx.run("DELETE FROM cursors WHERE space = :space")
        )
        anew = memory.import_transcripts(folder)
        assert (again.messages, anew.messages, anew.known) == (0, 0, first.messages + first.known)
        assert memory.store.stats().messages == first.messages
        memory.verify(archive=True)
        print(
            f"{first.messages} messages of {first.sessions} sessions in {len(first.transcripts)} "
            f"transcripts, {first.known} known; twice more: the same",
            file=sys.stderr,
        )
        return [[text_messages.searchable_text(stored.message) for stored in one] for one in kept]


def _told(transcripts: Iterable[ImportedTranscript]) -> set[str]:
    """The keys of all messages that the readers tell of."""
    return {
        item.message.key
        for transcript in transcripts
        for item in registry.load_transcripts(transcript.host).read(transcript.path)
        if isinstance(item, TranscriptEntry)
    }


def _yardstick(folder: str, texts: list[list[str]]) -> None:
    for base, _, names in os.walk(folder):
        for name in names:
            with open(os.path.join(base, name), "rb") as file:
                for raw in file:
                    try:
                        json.loads(raw)
                    except ValueError:
                        continue
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place:
        connection = apsw.Connection(os.path.join(place, "yard.db"))
        connection.pragma("journal_mode", "wal")
        connection.execute("CREATE VIRTUAL TABLE yard USING fts5(text)")
        for session in texts:
            connection.execute("BEGIN")
            connection.executemany("INSERT INTO yard VALUES (?)", ((text,) for text in session))
            connection.execute("COMMIT")
        connection.close()


_FIRST = """
import os, sys, time
from bench import imports
from recollect.agents.operations import catch_up
if int(sys.argv[3]):
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
imports.steps_reading.WORTH_PROCESSES = 0
began = time.perf_counter()
with imports._open(sys.argv[1], "static") as memory:
    memory.context.start_background = lambda root: None
    before = sum(os.times()[:4])
    memory.import_transcripts(sys.argv[2])
    waited = time.perf_counter() - began
    between = sum(os.times()[:4])
    catch_up(memory.context)
print(between - before, waited, sum(os.times()[:4]) - between)
"""

_CHILD = """
import resource, sys
from bench import imports
with imports._open(sys.argv[1]) as memory:
    memory.import_transcripts(sys.argv[1])
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
with imports._open(sys.argv[1]) as memory:
    done = memory.import_transcripts(sys.argv[2])
print(done.messages, before, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def large(megabytes: int) -> bool:
    """Whether the import of a transcript of this size takes no more memory than it may."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place:
        path = os.path.join(place, "large.jsonl")
        with open(path, "w", encoding="utf-8") as file:
            number = 0
            while file.tell() < megabytes * 1_000_000:
                text = " ".join(f"word{(number * 31 + place_) % 5_000}" for place_ in range(4_000))
                about = {"type": "user", "uuid": f"u{number}", "sessionId": "s", "cwd": place}
                said = {"role": "user", "content": f"{number}: {text}"}
                file.write(json.dumps({**about, "message": said}) + "\n")
                number += 1
        home = os.path.join(place, "project")
        os.mkdir(home)
        command = [sys.executable, "-c", _CHILD, home, path]
        told = subprocess.run(command, check=True, capture_output=True, text=True).stdout
        messages, before, most = map(int, told.split())
        print(
            f"{megabytes} MB, {messages} messages: {most / 1000:.0f} MB of memory at most, "
            f"{(most - before) / 1000:.0f} MB more than without"
        )
        assert messages == number
        return most - before < MOST_MEMORY


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--large":
        return 0 if large(int(sys.argv[2])) else 1
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = measures(sys.argv[1])
    print(table(found))
    return 0 if all(item.holds for item in found) else 1


if __name__ == "__main__":
    sys.exit(main())
