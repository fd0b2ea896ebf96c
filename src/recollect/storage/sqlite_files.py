"""The files of an SQLite store: ownership, permissions, errors and copies.

It uses `lstat` and never opens a store: closing any other descriptor of the file would drop
SQLite's locks.
"""

from __future__ import annotations

import os
import stat
import time

import apsw

from ..errors import (
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from ..fast_typing import TYPE_CHECKING, Any, Protocol
from ..text import seals
from . import migrations

_ROOM = 32 * 1024
"""The most that SQLite needs at once: a part of the WAL index."""

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
        "nothing was changed; `recollect recover` keeps the file and saves all that can be read",
    ),
)


def translate_error(error: apsw.Error, where: str) -> StoreError:
    """Translate an SQLite error into ours."""
    if isinstance(error, (apsw.IOError, apsw.CantOpenError)) and _is_full(where):
        # There is no room for the WAL and its index either.
        error = apsw.FullError()
    for kind, make, what, advice in _TRANSLATIONS:
        if isinstance(error, kind):
            return make(what, where=where, hint=advice)
    return StoreError(f"SQLite says: {error}", where=where, hint="run: recollect doctor")


def _is_full(path: str) -> bool:
    """Check whether the disk of a path is full."""
    try:
        disk = os.statvfs(os.path.dirname(path) or ".")
    except OSError:
        return False
    return disk.f_bavail * disk.f_frsize < _ROOM or (disk.f_files > 0 and disk.f_favail == 0)


MOST_LOG = 64 << 20
"""Bytes to which SQLite cuts the write-ahead log when it begins again."""

_SMALLEST = 512
"""Bytes of the smallest page, and so of the smallest database. SQLite makes a new database of an
empty file, which is right, but also of a file with one byte of another text."""

_BESIDE = ("-wal", "-shm", "-journal")

if TYPE_CHECKING:

    class Registry(Protocol):
        """The stores that this user made or adopted."""

        trusting: bool
        """Whether every store on this machine is the user's."""

        def make_folder(self, path: str) -> None:
            """Make the private directory of a store."""

        def hide_from_git(self, path: str) -> None:
            """Make git ignore a directory that was made by hand for a copy of a store."""

        def knows(self, id: str, path: str) -> bool:
            """Check whether the store with this id, found at this path, is the user's own."""

        def note(self, id: str, path: str) -> None:
            """Record that the store with this id is the user's own."""

        def had_one_at(self, path: str) -> bool:
            """Check whether a store of the user's own was at this path."""


def file_identity(path: str, registry: Registry | None = None) -> tuple[int, int] | None:
    """Return device and inode of the file at a path, None without one; raise StoreForeign unless it
    is the user's own regular file."""
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


def replaced_error(path: str) -> StoreError:
    """Return the error for a store whose file is another one than when it was opened."""
    return StoreError(
        "the store's file was replaced or removed while it was in use",
        where=path,
        hint="open it again; nothing was written to the old file",
    )


def beside_identity(path: str) -> tuple[int, ...]:
    """Return the inodes of the WAL and its index, 0 for one that does not exist."""
    found = []
    for ending in ("-wal", "-shm"):
        try:
            found.append(os.lstat(path + ending).st_ino)
        except OSError:
            found.append(0)
    return tuple(found)


def check_files(path: str, registry: Registry | None) -> None:
    """Refuse a path prepared by another user, before SQLite opens anything there."""
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
        f"the store's file {what}: it could be a trap",
        where=path,
        hint="remove it, or make it your own; nothing was changed",
    )


def unknown_store_error(path: str) -> StoreForeign:
    """Return the error for a store that this user neither made nor adopted."""
    return StoreForeign(
        "this store was not made by you on this machine: what it says could be a trap",
        where=path,
        hint="if it is yours (a backup, a copied project), run: recollect adopt --trust; to look "
        "at it with care, run: recollect adopt; else remove it",
    )


def make_private(path: str) -> None:
    """Make a store readable by its owner only; a copy or checkout may have been readable by all."""
    for name in (path, *(path + ending for ending in _BESIDE)):
        if os.path.exists(name):
            os.chmod(name, 0o600)


def check_schema(connection: apsw.Connection, path: str) -> None:
    """Refuse triggers and views, which would run with our rights, except our own by their text."""
    found: Any = connection.execute(
        "SELECT type, CAST(name AS BLOB), CAST(sql AS BLOB) FROM sqlite_schema "
        "WHERE type IN ('trigger', 'view')"
    ).fetchall()
    own = migrations.read_triggers() if found else b""
    strange = [one for one in found if one[0] != "trigger" or one[2] + b";" not in own]
    if strange:
        kind, name = strange[0][0], strange[0][1].decode(errors="replace")
        raise StoreForeign(
            f"this store holds a {kind} that Recollect did not make: {name!r}",
            where=path,
            hint="remove the store, and do not trust where it came from; nothing was changed",
        )


_OWN = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE | apsw.SQLITE_OPEN_NOMUTEX
"""A connection that only one thread uses, and that takes no lock for each call: a search by words
takes 7 % less."""


def open_connection(path: str) -> apsw.Connection:
    """Open the file for this thread alone, read-only if it cannot be written."""
    folder = os.path.dirname(path) or "."
    if not os.path.exists(path) or (_can_write(path) and _can_write(folder)):
        return apsw.Connection(path, _OWN)
    return open_read_only(path)


def open_read_only(path: str) -> apsw.Connection:
    """Open a file that cannot be written, or that has no room next to it."""
    from urllib.parse import quote

    # Without a WAL to read, SQLite has nothing to write next to the file.
    log = f"{path}-wal"
    still = not (os.path.exists(log) and os.path.getsize(log))
    address = f"file:{quote(os.path.abspath(path))}?mode=ro" + ("&immutable=1" if still else "")
    return apsw.Connection(address, apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI)


def _can_write(path: str) -> bool:
    return os.access(path, os.W_OK, effective_ids=os.access in os.supports_effective_ids)


def refuse_existing(target: str) -> None:
    """Raise Refused if the target exists, even as a dangling link."""
    if os.path.lexists(target):
        raise _exists(target)


def _exists(target: str) -> Refused:
    return Refused("the backup's target exists already", where=target, hint="name a new file")


def copy_store(source: apsw.Connection, path: str, target: str) -> int:
    """Copy the store at `path` with SQLite's backup, check the copy, then rename it."""
    refuse_existing(target)
    partial = f"{target}.{os.urandom(4).hex()}.partial"
    try:
        into = apsw.Connection(partial)
    except apsw.Error as error:
        raise translate_error(error, target) from error
    try:
        os.chmod(partial, 0o600)
        # In one step: with WAL this reads one snapshot and blocks no writer.
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
    """Link instead of rename, which would replace a file made meanwhile."""
    try:
        os.link(partial, target)
    except FileExistsError:
        raise
    except OSError:
        # A disk without hard links: reserve the name, then replace it.
        os.close(os.open(target, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
        os.replace(partial, target)


def _sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)


# ---------------------------------------------------------------- opening and upgrading


def is_on_disk(path: str) -> bool:
    """Check whether a file is on a disk of this machine, which has a device number of its own;
    False for file systems of the network and of the kernel."""
    if not hasattr(os, "major"):
        return True  # Windows
    return bool(os.major(os.stat(os.path.dirname(path) or ".").st_dev))


def is_wal_on_disk(connection: apsw.Connection, path: str) -> bool:
    """Check whether the journal can stay as it is: WAL, on a disk of this machine."""
    return bool(connection.pragma("journal_mode") != "delete" and is_on_disk(path))


def define_seal(connection: apsw.Connection) -> None:
    """Define the functions of seals, also the one of `seals.seal_form`: once for a connection,
    because defining one again makes SQLite prepare every statement again."""
    functions: dict[str, Any] = {"make_seal": seals.make_seal, "digest": seals.digest_utf8}
    for name, function in functions.items():
        connection.create_scalar_function(
            name, function, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )


def is_empty(connection: apsw.Connection) -> bool:
    """Check whether a database has no tables."""
    return not connection.execute("SELECT count(*) FROM sqlite_schema").get


def check_version(connection: apsw.Connection, path: str) -> None:
    """Raise if a newer version wrote the store, maybe while this process ran."""
    version = connection.execute("PRAGMA user_version").get  # `pragma()` prepares it each time
    if version > migrations.LATEST:
        raise StoreNewer(
            f"a newer Recollect wrote this store (schema {version}, this one knows "
            f"{migrations.LATEST})",
            where=path,
            hint="upgrade this one (pip install . in its newest source), and restart what still "
            "runs",
        )


def no_members_error(path: str) -> Refused:
    """Return the error for listing the members of a store in a file."""
    return Refused(
        "a store in a file has no members",
        where=path,
        hint="set RECOLLECT_DATABASE to the address of a PostgreSQL server",
    )


def unwritable_error(path: str, error: OSError) -> StoreReadOnly:
    """Return the error for a directory that cannot be made or written."""
    return StoreReadOnly(
        f"a directory that the store needs cannot be made or written: {error.strerror}",
        where=str(error.filename or path),
        hint="check the permissions of the directory above it",
    )


def foreign_store_error(path: str) -> StoreForeign:
    """Return the error for an SQLite database that is not a store."""
    return StoreForeign(
        "this file is an SQLite database, but not a Recollect store",
        where=path,
        hint="move it away, or point --project to another directory; nothing was changed",
    )


def upgrade_backup_path(path: str, version: int) -> str:
    """Return a new path for the backup before an upgrade, and remove leftovers of killed ones."""
    folder = os.path.join(os.path.dirname(path), "backups")
    os.makedirs(folder, mode=0o700, exist_ok=True)
    for name in os.listdir(folder):
        # Left over from a killed upgrade: the lock ensures that no other copy is being written.
        if name.startswith("schema") and ".partial" in name:
            os.unlink(os.path.join(folder, name))
    return os.path.join(folder, f"schema{version}-{time.time_ns()}.db")
