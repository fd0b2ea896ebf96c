"""A disk that can lose power: a VFS that writes down every write and every sync, and the states in
which a machine could come up again after a power cut at any moment.

A synced write is on the disk. A write that was not synced may be there, be missing, or be torn at a
sector's edge, whatever order they were made in.
"""

from __future__ import annotations

import os
from pathlib import Path
from random import Random
from typing import Any, NamedTuple

import apsw

SECTOR = 512


class Op(NamedTuple):
    """One thing that reached the disk's cache; `ack` marks a promise made to a caller."""

    file: str
    what: str
    offset: int = 0
    data: bytes = b""


class RecordingFile(apsw.VFSFile):
    def __init__(self, log: list[Op], name: Any, flags: Any) -> None:
        self._log = log
        self._name = os.path.basename(name.filename() if hasattr(name, "filename") else name)
        super().__init__("", name, flags)

    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(data, offset)
        self._log.append(Op(self._name, "write", offset, bytes(data)))

    def xTruncate(self, size: int) -> None:
        super().xTruncate(size)
        self._log.append(Op(self._name, "truncate", size))

    def xSync(self, flags: int) -> None:
        super().xSync(flags)
        self._log.append(Op(self._name, "sync"))


class RecordingVFS(apsw.VFS):
    """SQLite's own VFS, with every change written down in `log`."""

    def __init__(self, name: str) -> None:
        self.log: list[Op] = []
        super().__init__(name, "")

    def xOpen(self, name: Any, flags: Any) -> RecordingFile:
        return RecordingFile(self.log, name, flags)

    def xDelete(self, name: str, sync: bool) -> None:
        super().xDelete(name, sync)
        self.log.append(Op(os.path.basename(name), "delete"))


def state_after_power_cut(log: list[Op], cut: int, random: Random) -> dict[str, bytearray]:
    """The files as the disk may hold them when power fails after `cut` operations."""
    last_sync: dict[str, int] = {}
    for place in range(cut):
        if log[place].what in ("sync", "delete"):
            last_sync[log[place].file] = place
    files: dict[str, bytearray] = {}
    for place in range(cut):
        op = log[place]
        if op.what in ("sync", "ack"):
            continue
        if op.what == "delete":
            files.pop(op.file, None)
            continue
        content = files.setdefault(op.file, bytearray())
        durable = place < last_sync.get(op.file, -1)
        _apply(content, op, "kept" if durable else random.choice(("kept", "lost", "torn")), random)
    return files


def _apply(content: bytearray, op: Op, fate: str, random: Random) -> None:
    if fate == "lost":
        return
    if op.what == "truncate":
        del content[op.offset :]
        return
    data = op.data
    if fate == "torn":
        data = data[: SECTOR * random.randrange(len(data) // SECTOR + 1)]
    if len(content) < op.offset:
        content.extend(bytes(op.offset - len(content)))
    content[op.offset : op.offset + len(data)] = data


def write_files(files: dict[str, bytearray], folder: Path) -> None:
    """Lay the files out as the machine finds them when it comes up."""
    folder.mkdir()
    for name, content in files.items():
        (folder / name).write_bytes(content)
