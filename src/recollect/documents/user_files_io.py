"""Read and write files that the user names or edits: texts, JSON, exports. None is executed."""

from __future__ import annotations

import json
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Mapping

from ..errors import InvalidInput, Refused
from ..fast_typing import TYPE_CHECKING
from ..project import PrivateFile
from ..types.records import Json

if TYPE_CHECKING:
    from typing import TextIO

LARGEST_FILE = 50_000_000
_LARGEST_MEMORY = 32 * 1024 * 1024
_MEMORY_ENDINGS = (".json", ".jsonl", ".md", ".mdc", ".markdown")


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


def read_own(path: str, largest: int = 200_000) -> str | None:
    """Return the text of a file that we wrote and the user may edit; None if it is
    missing, unreadable or not a regular file. A symbolic link is not followed: it could point to a
    file outside the project."""
    try:
        if not path or not stat.S_ISREG(os.lstat(path).st_mode):
            return None
        with open(path, encoding="utf-8") as file:
            return file.read(largest)
    except (OSError, UnicodeDecodeError):
        return None


def read_json_objects(path: str) -> list[Json]:
    """Return the JSON objects in a file (one or a list); for a folder, of all its files."""
    return [record for file in _files(path) for record in _records(file)]


def read_json_lines(path: str) -> dict[int, dict[str, Json]]:
    """Return the JSON objects in a file by their lines; `-` is the standard input."""
    text = sys.stdin.read(LARGEST_FILE + 1) if path == "-" else read_text(path)
    if len(text) > LARGEST_FILE:
        raise InvalidInput(f"the input has more than {LARGEST_FILE:,} characters", where=path)
    found: dict[int, dict[str, Json]] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            item = json.loads(line)
        except ValueError as error:
            raise InvalidInput(f"line {number} is not JSON: {error}", where=path) from error
        if not isinstance(item, dict):
            raise InvalidInput(f"line {number} is not a JSON object", where=path)
        found[number] = item
    return found


def _files(path: str) -> Iterator[str]:
    place = os.path.abspath(os.path.expanduser(path))
    if not os.path.isdir(place):
        yield place
        return
    for folder, _, names in sorted(os.walk(place)):
        # index.json lists the records and contains none.
        for name in sorted(set(names) - {"index.json"}):
            if name.endswith(".json"):
                yield os.path.join(folder, name)


def _records(file: str) -> list[Json]:
    try:
        found = json.loads(read_text(file))
    except ValueError as error:
        raise InvalidInput(f"the file is not JSON: {error}", where=file) from error
    return found if isinstance(found, list) else [found]


# ---------------------------------------------------------------- exports, other tools' memory


def write_lines(path: str, lines: Iterable[str]) -> int:
    """Write lines to a new private file; return their number."""
    whole = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(whole):
        raise Refused("the file exists already", where=whole, hint="name a new file")
    count = 0
    with PrivateFile(whole, errors="surrogatepass") as file:
        for line in lines:
            file.write(line)
            count += 1
    return count


def write_files(folder: str, files: Mapping[str, str]) -> tuple[str, ...]:
    """Write files below a folder; an existing one is never overwritten."""
    whole = os.path.abspath(os.path.expanduser(folder))
    paths = [os.path.join(whole, name) for name in files]
    for path in paths:
        if not os.path.normpath(path).startswith(os.path.join(whole, "")) or "\0" in path:
            raise Refused("a record's name would leave the folder", where=path)
        if os.path.lexists(path):
            raise Refused("the file exists already", where=path, hint="name another folder")
    for path, text in zip(paths, files.values(), strict=True):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        write_lines(path, [text])
    return tuple(paths)


def open_text(path: str) -> TextIO:
    """Open an export for reading."""
    return open(path, encoding="utf-8", errors="surrogatepass", newline="\n")


def is_export(path: str) -> bool:
    """Check whether a file is an export of Recollect."""
    with open(path, "rb") as file:
        return file.read(13) == b'{"recollect":'


def list_memory_files(path: str) -> list[str]:
    """Return the file, or the files below a folder that may hold memory, in order."""
    if os.path.isfile(path):
        return [path]
    found = [
        os.path.join(place, name)
        for place, _, names in os.walk(path)
        for name in names
        if name.endswith(_MEMORY_ENDINGS)
    ]
    return sorted(file for file in found if os.path.isfile(file) and not os.path.islink(file))


def read_memory_file(path: str) -> str:
    """Return the text of a file, with replacement characters for invalid bytes."""
    if os.path.getsize(path) > _LARGEST_MEMORY:
        raise InvalidInput("the file is too large to be memory", where=path)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
