"""Stamps: check by one `stat` each whether files are unchanged since the last check.

This runs before every turn, so it reads no content, starts no process and imports almost nothing.
`working_tree_io` reads changed files.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from stat import S_ISDIR

FileStamp = tuple[str, str]
"""A path, and its stamp at the last check."""

DIRECTORY = "directory"
"""The stamp of a directory, which has no content of its own."""


def stamp_of(status: os.stat_result) -> str:
    """Return size and times: they change when a file is written, replaced or reset to an older
    time."""
    if S_ISDIR(status.st_mode):
        return DIRECTORY
    return f"{status.st_size}-{status.st_ctime_ns}-{status.st_mtime_ns}"


def stamp_with_index(stamp: str, index: str) -> str:
    """Return the stamp of a lost claim, which also depends on everything git tracks."""
    return f"{stamp}|{index}"


def find_changed(root: str, looks: Iterable[FileStamp]) -> set[FileStamp]:
    """Return the looks that no longer hold below this directory.

    Links need not be checked: nothing is read.
    """
    below = root.rstrip(os.sep) + os.sep
    index: str | None = None
    gone: set[FileStamp] = set()
    for look in looks:
        path, stamp = look
        try:
            now = stamp_of(os.stat(below + path))
        except (OSError, ValueError):
            now = ""
        if stamp == now != "":
            continue
        if "|" in stamp:
            index = index_stamp(root) if index is None else index
            if stamp == stamp_with_index(now, index):
                continue
        gone.add(look)
    return gone


def index_stamp(root: str) -> str:
    """Return a stamp that changes with every commit, checkout and rename; empty outside git."""
    folder = root
    while True:
        entry = os.path.join(folder, ".git")
        for index in (os.path.join(entry, "index"), os.path.join(_linked(entry), "index")):
            try:
                status = os.stat(index)
            except OSError:
                continue
            return f"{status.st_size}-{status.st_mtime_ns}"
        if os.path.dirname(folder) == folder or os.path.exists(entry):
            return ""
        folder = os.path.dirname(folder)


def _linked(entry: str) -> str:
    """Return the git directory of a linked worktree's `.git` file."""
    if not os.path.isfile(entry):
        return entry
    try:
        with open(entry, encoding="utf-8", errors="replace") as file:
            line = file.readline(4096)
    except OSError:
        return entry
    return os.path.join(os.path.dirname(entry), line.removeprefix("gitdir:").strip())
