"""Erase a text in the files that Recollect renders and logs."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence

_LARGEST = 64 * 1024 * 1024


def erase_texts(folders: Iterable[str], texts: Sequence[str], mark: str, apply: bool) -> list[str]:
    """Replace texts in all files of these folders but databases; return the changed files."""
    wanted = [text.encode() for text in texts]
    changed = []
    for folder in folders:
        for place, _, names in os.walk(folder):
            for name in names:
                path = os.path.join(place, name)
                if ".db" in name or os.path.islink(path) or os.path.getsize(path) > _LARGEST:
                    continue
                with open(path, "rb") as file:
                    before = file.read()
                after = before
                for text in wanted:
                    after = after.replace(text, mark.encode())
                if after != before:
                    changed.append(path)
                    if apply:
                        _replace(path, after)
    return changed


def _replace(path: str, content: bytes) -> None:
    """Write a file in place of another, with its permissions."""
    beside = f"{path}.{os.urandom(4).hex()}.new"
    handle = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.stat(path).st_mode & 0o777)
    with os.fdopen(handle, "wb") as file:
        file.write(content)
        file.flush()
        os.fsync(file.fileno())
    os.replace(beside, path)
