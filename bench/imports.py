"""`python -m bench.imports FOLDER`: what importing real transcripts costs, and that it is lossless.

The yardstick is parsing the same files with `json` and inserting the same texts into a raw FTS5
table. Everything is imported twice, and the second time must change nothing. With `--large SIZE`, a
transcript of so many megabytes is made up and imported, and the memory that it took is shown.
"""

from __future__ import annotations

import json
import os
import resource
import sys
import tempfile

import apsw

import recollect
from recollect import core

from .yardstick import Ratio, line, own_time, paired, table

BOUND = 5.0
PAIRS = 3


def measure(folder: str) -> Ratio:
    """Import against the yardstick, in processor time."""
    texts = _texts(folder)

    def ours() -> float:
        with (
            tempfile.TemporaryDirectory(prefix="recollect-bench-") as place,
            _open(place) as memory,
        ):
            return own_time(lambda: memory.import_transcripts(folder))

    spent, yard = paired(ours, lambda: own_time(lambda: _yardstick(folder, texts)), PAIRS)
    return line("import of transcripts", 1000 * spent, 1000 * yard, "ms", ("at most", BOUND))


def _open(place: str) -> recollect.Recollect:
    variables = {"HOME": place, "RECOLLECT_HOME": os.path.join(place, "home")}
    return recollect.open(place, environment=variables)


def _texts(folder: str) -> list[str]:
    """The texts of all messages; also proves that a second import changes nothing."""
    with tempfile.TemporaryDirectory(prefix="recollect-bench-") as place, _open(place) as memory:
        first = memory.import_transcripts(folder)
        second = memory.import_transcripts(folder)
        assert (second.messages, memory.stats().messages) == (0, first.messages)
        memory.verify(archive=True)
        print(
            f"{first.messages} messages of {first.sessions} sessions, {first.known} known, "
            f"{len(first.captured)} captured",
            file=sys.stderr,
        )
        return [
            core.messages.text_of(stored.message)
            for session in memory.sessions(limit=10_000)
            for stored in memory.session(session.id, 1, 100_000).messages
        ]


def _yardstick(folder: str, texts: list[str]) -> None:
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
        connection.execute("CREATE VIRTUAL TABLE yard USING fts5(text); BEGIN")
        connection.executemany("INSERT INTO yard VALUES (?)", ((text,) for text in texts))
        connection.execute("COMMIT")
        connection.close()


def large(megabytes: int) -> None:
    """A transcript of this size, and how much the process grew while it was read."""
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
        before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        with _open(place) as memory:
            done = memory.import_transcripts(path)
        grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
        print(f"{megabytes} MB, {done.messages} messages: {grown / 1000:.0f} MB of memory")
        assert done.messages == number


def main() -> int:
    if len(sys.argv) == 3 and sys.argv[1] == "--large":
        large(int(sys.argv[2]))
        return 0
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    found = measure(sys.argv[1])
    print(table([found]))
    return 0 if found.holds else 1


if __name__ == "__main__":
    sys.exit(main())
