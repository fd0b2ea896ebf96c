"""`python -m bench.transcripts FOLDER`: what the readers make of real transcripts, and the price.

For each file: the agent that was recognised, messages, calls, results, records skipped as
bookkeeping and as damage, and the time of reading relative to parsing the same bytes with `json`
alone. Every file is read twice, and once in pieces from mark to mark: all must tell the same.
"""

from __future__ import annotations

import json
import os
import sys
from collections import Counter
from collections.abc import Iterator
from time import process_time

from recollect.agents import registry
from recollect.agents.transcripts.reader_io import (
    CursorMark,
    SkippedRecord,
    TranscriptEntry,
    TranscriptItem,
)
from recollect.errors import RecollectError

_COLUMNS = "{:<12}{:>9}{:>7}{:>8}{:>9}{:>9}{:>8}  {}"
_ENDINGS = (".jsonl", ".json", ".md", ".zst", ".db")


def main() -> int:
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    print(
        _COLUMNS.format("agent", "messages", "calls", "results", "skipped", "damaged", "x json", "")
    )
    good = True
    totals: Counter[str] = Counter()
    for path in files(sys.argv[1]):
        try:
            good &= _line(path, totals)
        except RecollectError as error:
            print(f"{path}: {error}", file=sys.stderr)
            good = False
    print(_COLUMNS.format("all", *(totals[name] for name in _COUNTED), "", ""))
    return 0 if good else 1


_COUNTED = ("messages", "calls", "results", "skipped", "damaged")


def _line(path: str, totals: Counter[str]) -> bool:
    host = registry.detect_transcript(path)
    start = process_time()
    items = list(registry.load_transcripts(host).read(path))
    took = process_time() - start
    told = Counter(_kinds(items))
    totals.update(told)
    ratio = f"{took / yard:.2f}" if (yard := _parsing(path)) else "-"
    name = os.path.basename(path)
    print(_COLUMNS.format(host, *(told[one] for one in _COUNTED), ratio, name[-60:]))
    again = list(registry.load_transcripts(host).read(path))
    same = items == again and _keys(items) == _keys(_in_pieces(host, path))
    if not same:
        print(f"{path}: a second reading tells something else", file=sys.stderr)
    if len(set(_keys(items))) != len(_keys(items)):
        print(f"{path}: a key stands for two messages", file=sys.stderr)
        same = False
    return same


def _kinds(items: list[TranscriptItem]) -> Iterator[str]:
    for item in items:
        if isinstance(item, TranscriptEntry):
            yield "messages"
            yield from ["calls"] * len(item.message.calls)
            if item.message.role == "tool":
                yield "results"
        elif isinstance(item, SkippedRecord):
            yield "skipped" if item.expected else "damaged"


def _keys(items: list[TranscriptItem]) -> list[str]:
    return [item.message.key for item in items if isinstance(item, TranscriptEntry)]


def _in_pieces(host: str, path: str) -> list[TranscriptItem]:
    """The items read up to each mark, and on from there as if for the first time."""
    told: list[TranscriptItem] = []
    cursor = None
    while True:
        piece: list[TranscriptItem] = []
        for item in registry.load_transcripts(host).read(path, cursor):
            if isinstance(item, CursorMark):
                cursor = json.loads(json.dumps(item.cursor))
                break
            piece.append(item)
        told += piece
        if not piece:
            return told


def _parsing(path: str) -> float:
    """The time that `json` needs for the lines of a file, or for the file as one document."""
    if not path.endswith((".jsonl", ".json")):
        return 0.0
    with open(path, "rb") as stream:
        start = process_time()
        for line in stream:
            try:
                json.loads(line)
            except ValueError:
                break
        else:
            return process_time() - start
        stream.seek(0)
        start = process_time()
        json.loads(stream.read())
        return process_time() - start


def files(folder: str) -> Iterator[str]:
    """Every transcript below a folder, in one order."""
    for base, folders, names in os.walk(folder):
        folders.sort()
        for name in sorted(names):
            if name.endswith(_ENDINGS) and not name.startswith("MANIFEST"):
                yield os.path.join(base, name)


if __name__ == "__main__":
    sys.exit(main())
