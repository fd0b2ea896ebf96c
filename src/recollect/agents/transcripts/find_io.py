"""Finds transcript files on this machine: lists folders, looks at the first records of a file.

It knows folders and files, not what any agent writes into them. What cannot be read is passed
over: a folder of somebody else is no reason to fail.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping

from ...types.records import Json
from .reader_io import LONGEST_LINE, Transcript, open_file, record_of

_HEAD = 256 * 1024


def names(folder: str) -> list[str]:
    """What is in a folder, sorted; nothing if there is none."""
    try:
        return sorted(os.listdir(folder))
    except OSError:
        return []


def files(folder: str, *endings: str) -> Iterator[str]:
    """All files below a folder with one of the endings, sorted within each folder."""
    for base, folders, found in os.walk(folder):
        folders.sort()
        for name in sorted(found):
            if name.endswith(endings):
                yield os.path.join(base, name)


def stays(path: str, root: str) -> bool:
    """Whether a file below a root is really there: a repository can bring a link to anywhere."""
    return os.path.realpath(path).startswith(os.path.join(os.path.realpath(root), ""))


def within(path: str, roots: tuple[str, ...]) -> bool:
    """Whether a directory is one of the roots or below one; without roots, always."""
    return not roots or any(
        path == root or path.startswith(root.rstrip("/") + "/") for root in roots
    )


def head(path: str) -> Iterator[dict[str, Json]]:
    """The first records of a JSON Lines file, each whole: a prompt with a picture in it is long."""
    try:
        with open_file(path) as stream:
            while stream.tell() < _HEAD and (line := stream.readline(LONGEST_LINE)):
                try:
                    yield record_of(line)
                except ValueError:
                    continue
    except OSError:
        return


def transcript(host: str, path: str, session: str = "", cwd: str = "") -> Transcript:
    """The file as a transcript, with its size and time."""
    try:
        about = os.stat(path)
    except OSError:
        return Transcript(host, path, session, cwd)
    return Transcript(host, path, session, cwd, about.st_size, about.st_mtime_ns // 1000)


def first(record: Mapping[str, Json], *keys: str) -> str:
    """The first of the keys that holds a text."""
    return next((value for key in keys if isinstance(value := record.get(key), str) and value), "")
