"""Stamps: whether files are as they were at the last look, by one `stat` each.

Before every turn it is all that most memories need, so it reads no content, starts no process and
imports next to nothing. What a change means is for `tree` to find out.
"""

from __future__ import annotations

import os
from collections.abc import Iterable
from stat import S_ISDIR

Look = tuple[str, str]
"""A path, and the stamp that it had at the last look."""

DIRECTORY = "directory"
"""The stamp of a directory, and its content: it is there."""


def stamp_of(status: os.stat_result) -> str:
    """Size and times: a file that is written, replaced or set back to an older time gets others."""
    if S_ISDIR(status.st_mode):
        return DIRECTORY
    return f"{status.st_size}-{status.st_ctime_ns}-{status.st_mtime_ns}"


def stamp_with_index(stamp: str, index: str) -> str:
    """The stamp of what was not found at its path: it rests on all that git knows of, too."""
    return f"{stamp}|{index}"


def find_changed(root: str, looks: Iterable[Look]) -> set[Look]:
    """Those of the looks that no longer hold below this directory.

    Where a link leads does not matter here: nothing is read.
    """
    below = root.rstrip(os.sep) + os.sep
    index: str | None = None
    gone: set[Look] = set()
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
    """Changes with every commit, checkout and rename that git knows of; empty outside git."""
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
    """The git directory that a `.git` file of a linked worktree points to."""
    if not os.path.isfile(entry):
        return entry
    try:
        with open(entry, encoding="utf-8", errors="replace") as file:
            line = file.readline(4096)
    except OSError:
        return entry
    return os.path.join(os.path.dirname(entry), line.removeprefix("gitdir:").strip())
