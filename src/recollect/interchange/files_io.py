"""Read and write the files of an export."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from typing import TextIO

from ..errors import InvalidInput, Refused

_LARGEST = 32 * 1024 * 1024
_ENDINGS = (".json", ".jsonl", ".md", ".mdc", ".markdown")


def write_lines(path: str, lines: Iterable[str]) -> int:
    """Write lines to a new private file; return their number."""
    whole = os.path.abspath(os.path.expanduser(path))
    if os.path.lexists(whole):
        raise Refused("the file exists already", where=whole, hint="name a new file")
    partial = f"{whole}.{os.urandom(4).hex()}.partial"
    handle = os.open(partial, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    count = 0
    try:
        with os.fdopen(handle, "w", encoding="utf-8", errors="surrogatepass", newline="\n") as file:
            for line in lines:
                file.write(line)
                count += 1
            file.flush()
            os.fsync(file.fileno())
        os.replace(partial, whole)
    finally:
        if os.path.exists(partial):
            os.unlink(partial)
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


def list_files(path: str) -> list[str]:
    """Return the file, or the files below a folder that may hold memory, in order."""
    if os.path.isfile(path):
        return [path]
    found = [
        os.path.join(place, name)
        for place, _, names in os.walk(path)
        for name in names
        if name.endswith(_ENDINGS)
    ]
    return sorted(one for one in found if os.path.isfile(one) and not os.path.islink(one))


def read_text(path: str) -> str:
    """Return the text of a file."""
    if os.path.getsize(path) > _LARGEST:
        raise InvalidInput("the file is too large to be memory", where=path)
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read()
