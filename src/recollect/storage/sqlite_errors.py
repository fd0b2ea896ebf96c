"""What SQLite's errors mean to us, and the way out of each."""

from __future__ import annotations

import os

import apsw

from ..errors import StoreBusy, StoreCorrupt, StoreError, StoreForeign, StoreFull, StoreReadOnly

_ROOM = 32 * 1024
"""What SQLite needs at once, at most: a part of its index of the log."""

_TRANSLATIONS: tuple[tuple[type[apsw.Error], type[StoreError], str, str], ...] = (
    (
        apsw.BusyError,
        StoreBusy,
        "other processes kept the store locked",
        "try again, or give RECOLLECT_LOCK_WAIT more seconds",
    ),
    (
        apsw.FullError,
        StoreFull,
        "no space left on the device; nothing of this write was kept",
        "free some space; what was acknowledged before is safe",
    ),
    (
        apsw.ReadOnlyError,
        StoreReadOnly,
        "the store cannot be written",
        "check the permissions of the file and of its directory",
    ),
    (
        apsw.CantOpenError,
        StoreReadOnly,
        "the store cannot be opened or created",
        "check that the directory exists and can be written",
    ),
    (
        apsw.NotADBError,
        StoreForeign,
        "the file in the store's place is not a database",
        "move it away; Recollect does not touch it",
    ),
    (
        apsw.CorruptError,
        StoreCorrupt,
        "the store is damaged",
        "keep the file, restore a copy made by `recollect backup`; nothing was changed",
    ),
)


def translated(error: apsw.Error, where: str) -> StoreError:
    """Our error for the engine's."""
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)) and _is_full(where):
        # What SQLite needs beside the file, its log and the index of that, has no room either.
        error = apsw.FullError()
    for kind, make, what, advice in _TRANSLATIONS:
        if isinstance(error, kind):
            return make(what, where=where, hint=advice)
    return StoreError(f"SQLite says: {error}", where=where, hint="run: recollect doctor")


def _is_full(path: str) -> bool:
    """Whether nothing more can be written where the file lies."""
    try:
        disk = os.statvfs(os.path.dirname(path) or ".")
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files > 0 and disk.f_favail == 0)
