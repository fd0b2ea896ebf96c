"""The files of an SQLite store: whose they must be, whether they can be written, how one is copied.

It looks with `lstat` and opens nothing that is a store: closing any other descriptor of the file
would drop SQLite's locks. It does not know what is in the tables.
"""

from __future__ import annotations

import os
import stat

import apsw

from ..errors import (
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreReadOnly,
)
from ..fast_typing import TYPE_CHECKING, Any, Protocol

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


def translate_error(error: apsw.Error, where: str) -> StoreError:
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


_SMALLEST = 512

"""Bytes of the smallest page, and so of the smallest database. SQLite makes a new one of an empty
file, which is right, and also of a file of one byte, which somebody wrote."""

_BESIDE = ("-wal", "-shm", "-journal")

if TYPE_CHECKING:

    class Registry(Protocol):
        """Which stores this user made or took over, and how their place is made."""

        trusting: bool
        """Whether every store on this machine is the user's."""

        def make_folder(self, path: str) -> None:
            """Make the private directory of a store."""

        def knows(self, id: str, path: str) -> bool:
            """Whether the store with this id, found at this path, is the user's own."""

        def note(self, id: str, path: str) -> None:
            """Remember that the store with this id is the user's own."""

        def had_one_at(self, path: str) -> bool:
            """Whether a store of the user's own was at this path."""


def file_identity(path: str, registry: Registry | None = None) -> tuple[int, int] | None:
    """Which file stands at the path, none for a missing one; what is not the user's own plain
    file is refused."""
    try:
        found = os.lstat(path)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise StoreError(
            f"the store cannot be reached: {error.strerror}",
            where=path,
            hint="check the permissions of the directories above it",
        ) from error
    if not stat.S_ISREG(found.st_mode):
        raise _not_ours("is a symbolic link or no file at all", path)
    if found.st_nlink > 1:
        raise _not_ours("has a second name elsewhere (a hard link)", path)
    trusting = registry is not None and registry.trusting
    if hasattr(os, "geteuid") and found.st_uid != os.geteuid() and not trusting:
        raise _not_ours("belongs to another user", path)
    return found.st_dev, found.st_ino


def check_files(path: str, registry: Registry | None) -> None:
    """Refuse a place that somebody else prepared, before SQLite opens anything there."""
    for ending in _BESIDE:
        file_identity(path + ending, registry)
    if file_identity(path, registry) is None:
        return
    size = os.path.getsize(path)
    if size < _SMALLEST and registry and registry.had_one_at(path):
        raise StoreCorrupt(
            f"the store's file is {'cut off' if size else 'empty'}, but there was a store in it",
            where=path,
            hint="restore a copy made by `recollect backup`, or remove the file to begin anew",
        )
    if 0 < size < _SMALLEST:
        raise translate_error(apsw.NotADBError(), path)


def _not_ours(what: str, path: str) -> StoreForeign:
    return StoreForeign(
        f"the store's file {what}: it could be somebody's trap",
        where=path,
        hint="remove it, or make it your own; nothing was changed",
    )


def unknown_store_error(path: str) -> StoreForeign:
    """The error for a store that this user neither made nor took over."""
    return StoreForeign(
        "this store was not made by you on this machine: what it says could be somebody's trap",
        where=path,
        hint="if it is yours (a backup, a copied project), run: recollect adopt --trust; to look "
        "at it with care, run: recollect adopt; else remove it",
    )


def make_private(path: str) -> None:
    """Only its owner reads a store; a copy or a checkout may have been open to all."""
    for name in (path, *(path + ending for ending in _BESIDE)):
        if os.path.exists(name):
            os.chmod(name, 0o600)


def check_schema(connection: apsw.Connection, path: str) -> None:
    """Triggers and views run with our rights; we make none."""
    strange: Any = connection.execute(
        "SELECT type, CAST(name AS BLOB) FROM sqlite_schema "
        "WHERE type IN ('trigger', 'view') LIMIT 1"
    ).fetchall()
    if strange:
        kind, name = strange[0][0], strange[0][1].decode(errors="replace")
        raise StoreForeign(
            f"this store holds a {kind} that Recollect did not make: {name!r}",
            where=path,
            hint="remove the store, and do not trust where it came from; nothing was changed",
        )


def open_connection(path: str) -> apsw.Connection:
    """Open the file, read-only when it cannot be written."""
    folder = os.path.dirname(path) or "."
    if not os.path.exists(path) or (_can_write(path) and _can_write(folder)):
        return apsw.Connection(path)
    return open_read_only(path)


def open_read_only(path: str) -> apsw.Connection:
    """Open a file that cannot be written, or that has no room beside it."""
    from urllib.parse import quote

    # Without a log to be read there is nothing that SQLite would have to write beside the file.
    log = f"{path}-wal"
    still = not (os.path.exists(log) and os.path.getsize(log))
    address = f"file:{quote(os.path.abspath(path))}?mode=ro" + ("&immutable=1" if still else "")
    return apsw.Connection(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _can_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def refuse_existing(target: str) -> None:
    """A backup never takes the place of something else, not even of a dangling link."""
    if os.path.lexists(target):
        raise _exists(target)


def _exists(target: str) -> Refused:
    return Refused("the backup's target exists already", where=target, hint="name a new file")


def copy_store(source: apsw.Connection, path: str, target: str) -> int:
    """A whole copy of the store at `path` by SQLite's own backup, checked, then given its name."""
    refuse_existing(target)
    partial = f"{target}.{os.urandom(4).hex()}.partial"
    try:
        into = apsw.Connection(partial)
    except apsw.Error as error:
        raise translate_error(error, target) from error
    try:
        os.chmod(partial, 0o600)
        # In one step: with WAL it reads one snapshot and keeps no writer waiting.
        with into.backup("main", source, "main") as progress:
            progress.step()
        into.pragma("journal_mode", "delete")
        if into.pragma("quick_check") != "ok":
            raise StoreCorrupt("the copy failed its check", where=partial)
        into.close()
        _give_name(partial, target)
        _sync_directory(os.path.dirname(os.path.abspath(target)))
        return os.path.getsize(target)
    except FileExistsError as error:
        raise _exists(target) from error
    except (apsw.CorruptError, apsw.NotADBError) as error:
        raise translate_error(error, path) from error
    except apsw.Error as error:
        raise translate_error(error, target) from error
    finally:
        into.close()
        if os.path.exists(partial):
            os.unlink(partial)


def _give_name(partial: str, target: str) -> None:
    """Not a rename, which would replace what somebody else has put there meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links: take the name, then put the copy in its place.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(partial, target)


def _sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
