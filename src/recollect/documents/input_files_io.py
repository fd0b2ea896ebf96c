"""Read files that the user names: a text, or JSON records. They are read, never executed."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Iterator

from ..errors import InvalidInput
from ..types.records import Json

LARGEST_FILE = 50_000_000


def read_text(path: str, largest: int = LARGEST_FILE, inside: str = "") -> str:
    """Return the text of a file; for a folder, of the file `inside` it."""
    place = os.path.abspath(os.path.expanduser(path))
    if inside and os.path.isdir(place):
        place = os.path.join(place, inside)
    try:
        with open(place, encoding="utf-8") as file:
            text = file.read(largest + 1)
    except (OSError, UnicodeDecodeError) as error:
        why = getattr(error, "strerror", "") or error
        raise InvalidInput(f"the file cannot be read: {why}", where=path) from error
    if len(text) > largest:
        raise InvalidInput(f"the file has more than {largest:,} characters", where=path)
    return text


def read_json_objects(path: str) -> list[Json]:
    """Return the JSON objects in a file (one or a list); for a folder, of all its files."""
    return [record for file in _files(path) for record in _records(file)]


def read_json_lines(path: str) -> list[dict[str, Json]]:
    """Return the JSON objects in the lines of a file; `-` is the standard input."""
    text = sys.stdin.read(LARGEST_FILE + 1) if path == "-" else read_text(path)
    if len(text) > LARGEST_FILE:
        raise InvalidInput(f"the input has more than {LARGEST_FILE:,} characters", where=path)
    found: list[dict[str, Json]] = []
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"line {number} is not JSON: {error}", where=path) from error
        if not isinstance(item, dict):
            raise InvalidInput(f"line {number} is not a JSON object", where=path)
        found.append(item)
    return found


def _files(path: str) -> Iterator[str]:
    place = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(place):
        yield place
        return
    for folder, _, names in sorted(os.walk(place)):
        # An index lists records, it holds none.
        for name in sorted(set(names) - {"index.json"}):
            if name.endswith(".json"):
                yield os.path.join(folder, name)


def _records(file: str) -> list[Json]:
    try:
        found = json.loads(read_text(file))
    except ValueError as error:
        raise InvalidInput(f"the file is not JSON: {error}", where=file) from error
    return found if isinstance(found, list) else [found]
