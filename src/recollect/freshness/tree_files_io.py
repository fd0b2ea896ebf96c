"""Read the files of a working tree. No path or symlink is followed out of its root."""

from __future__ import annotations

import os
import stat

from . import stamps_io
from .stamps_io import DIRECTORY

LARGEST_READ = 2_000_000
"""A larger file is compared as a whole, not searched."""


class TreeFiles:
    """The files below a root. It caches folders and texts, so make a new one for every check.

    `root` is a real path: the target of a link outside is not part of it.
    """

    def __init__(self, root: str) -> None:
        self.root = root
        self._below = self.root.rstrip(os.sep) + os.sep
        self._folders: dict[str, str] = {}
        self._texts: dict[str, str] = {}

    def inside(self, path: str) -> str:
        """Return the path relative to the root, with `/`; empty if it leaves the root."""
        full = os.path.normpath(os.path.join(self.root, path))
        if not path or "\0" in path or not full.startswith(self._below):
            return ""
        return full[len(self._below) :].replace(os.sep, "/")

    def stamp(self, path: str) -> str:
        """Return size and times of a file: while they are the same, so is its content. Empty
        without a file."""
        status = self.status(path)
        return stamps_io.stamp_of(status) if status else ""

    def blob(self, path: str) -> str:
        """Return the git hash of a file's content, or `directory`; empty for neither."""
        content = self._content(path)
        if content is not None:
            from hashlib import sha1  # only here: it loads OpenSSL

            return sha1(b"blob %d\0" % len(content) + content).hexdigest()
        return DIRECTORY if self.stamp(path) == DIRECTORY else ""

    def text(self, path: str) -> str:
        """Return a file as text; empty if it is binary or too large."""
        if path not in self._texts:
            self._texts[path] = _decoded(self._content(path) or b"")
        return self._texts[path]

    def _content(self, path: str) -> bytes | None:
        place, status = self._find(self.inside(path))
        if status is None or not stat.S_ISREG(status.st_mode):
            return None
        try:
            with open(place, "rb") as file:
                return file.read()
        except OSError:
            return None

    def status(self, path: str) -> os.stat_result | None:
        """Return the status of a file or directory; None without one."""
        return self.look(self.inside(path))

    def look(self, inside: str) -> os.stat_result | None:
        """Return the same for a path that is relative to the root, as `inside` returns it."""
        _, status = self._find(inside)
        wanted = status and (stat.S_ISREG(status.st_mode) or stat.S_ISDIR(status.st_mode))
        return status if wanted else None

    def _find(self, inside: str) -> tuple[str, os.stat_result | None]:
        """Return the real path of a file and its status; no status without a file, or if a symlink
        in it leaves the root."""
        folder, _, name = inside.rpartition("/")
        real = self._folders.get(folder)
        if real is None:
            real = self._folders[folder] = self._find_folder(folder)
        if not name or not real:
            return "", None
        full = real + name
        try:
            status = os.lstat(full)
            if not stat.S_ISLNK(status.st_mode):
                return full, status
            full = os.path.realpath(full)
            return (full, os.stat(full)) if full.startswith(self._below) else ("", None)
        except (OSError, ValueError):
            return "", None

    def _find_folder(self, folder: str) -> str:
        """Return the real path of a folder, with a separator at its end; empty if there is none, or
        if it leaves the root."""
        top, _, below = folder.partition("/")
        if below and top not in self._folders:
            self._folders[top] = self._find_folder(top)
        full = os.path.join(self.root, folder)
        if (below and not self._folders[top]) or not os.path.isdir(full):
            return ""  # without the top folder there is none below it
        real = os.path.realpath(full).rstrip(os.sep) + os.sep
        return real if real.startswith(self._below) else ""


def _decoded(content: bytes) -> str:
    if len(content) > LARGEST_READ or b"\0" in content[:8000]:
        return ""
    return content.decode("utf-8", "replace")
