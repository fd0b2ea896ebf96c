"""Copies of a store: backups that rotate, the backup of a PostgreSQL space, and the copy that is
made when the WAL is removed under a running process.

A PostgreSQL space is copied row by row into a new SQLite file: one snapshot, written to a private
file next to the target, checked, then renamed. The word index is copied, vectors are not.
"""

from __future__ import annotations

import os
import time
from collections.abc import Sequence

import apsw

from ..errors import StoreError
from . import sqlite_files
from .database import EMBEDDED, TABLES, Database, Tx
from .sqlite import SqliteDatabase
from .sqlite_files import refuse_existing

KEPT = 3
"""Automatic backups of a store."""

_ENTRY = "id, source, ref, kind, layer, owner, status, label, seq, part, at"
INTERVAL = 86_400
_TRIES = 20
_AUTOMATIC = "auto-"


def backup_folder(path: str) -> str:
    """Return the folder for the backups of a store."""
    return os.path.join(os.path.dirname(path), "backups")


def list_backups(path: str) -> list[str]:
    """Return the backups that Recollect made of a store by itself, newest first."""
    folder = backup_folder(path)
    try:
        names = os.listdir(folder)
    except OSError:
        return []
    found = [os.path.join(folder, name) for name in names if name.endswith(".db")]
    return sorted(found, key=lambda name: (os.path.getmtime(name), name), reverse=True)


def make_backup(path: str, source: apsw.Connection, name: str) -> str:
    """Write a backup of a store into its folder; return the path."""
    folder = backup_folder(path)
    os.makedirs(folder, mode=0o700, exist_ok=True)
    target = os.path.join(folder, f"{name}{time.time_ns()}.db")
    sqlite_files.copy_store(source, path, target)
    return target


def rotate_backups(path: str, interval: float = INTERVAL) -> str:
    """Make today's backup of a store if there is none, and remove the oldest; return its path."""
    if not path or not os.path.exists(path):
        return ""
    automatic = [one for one in list_backups(path) if os.path.basename(one).startswith(_AUTOMATIC)]
    if automatic and time.time() - os.path.getmtime(automatic[0]) < interval:
        return ""
    source = sqlite_files.open_connection(path)
    try:
        made = make_backup(path, source, _AUTOMATIC)
    finally:
        source.close()
    for old in automatic[KEPT - 1 :]:
        os.unlink(old)
    return made


def rewrite_store(path: str) -> bool:
    """Write all pages of a store anew and empty its WAL; return whether another process prevents
    it.

    secure_delete overwrites deleted cells, but SQLite leaves copies of cells in the gaps of pages
    that it balances, and FTS5 keeps the first word of a page in its own index, and some words of
    deleted rows until it merges: 10 of 100 erased words were found there.
    """
    connection = sqlite_files.open_connection(path)
    try:
        for _ in range(_TRIES):
            try:
                connection.execute("INSERT INTO words (words) VALUES ('rebuild')")
                connection.execute("VACUUM")
                row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
            except apsw.BusyError:
                time.sleep(0.05)
                continue
            if not (row and row[0][0]):
                return False
        return True
    finally:
        connection.close()


def remove_backups(path: str) -> int:
    """Remove all copies of a store that Recollect made by itself; return their number."""
    folder = os.path.join(os.path.dirname(path), "damaged")
    kept = [os.path.join(place, name) for place, _, names in os.walk(folder) for name in names]
    found = [*list_backups(path), *kept]
    for one in found:
        os.unlink(one)
    return len(found)


def save_lost_wal(connection: apsw.Connection, path: str, outcome: str) -> StoreError:
    """Copy the store as a connection sees it whose WAL was removed; return the error to raise."""
    try:
        saved = f"everything up to now is in {make_backup(path, connection, 'rescued-')}"
    except (apsw.Error, OSError, StoreError) as error:
        saved = f"a copy could not be made: {error}"
    return StoreError(
        f"the store's -wal or -shm file was removed or replaced while it was in use; {outcome}",
        where=path,
        hint=f"{saved}. Stop the other processes of this store, then run: recollect recover",
    )


def list_columns_of(tables: Sequence[str], type: str = "") -> dict[str, list[str]]:
    """Return the columns of tables, or those of a type; they are the same in both engines."""
    return SqliteDatabase("", "project").read(
        lambda tx: {
            table: [
                row[1]
                for row in tx.run(f"PRAGMA table_info({table})")
                if not type or (row[2] == type and row[1] != "space")
            ]
            for table in tables
        }
    )


# ---------------------------------------------------------------- PostgreSQL


def copy_space(source: Database, target: str) -> int:
    """Copy every row of a PostgreSQL space to a new SQLite store; return its size in bytes."""
    refuse_existing(target)
    partial = f"{target}.{os.urandom(4).hex()}.partial"
    copy = SqliteDatabase(partial, "project")
    try:
        source.read(lambda origin: copy.write(lambda into: _copy(origin, into)))
        copy.close()
        size = SqliteDatabase(partial, "project").backup(target)
    finally:
        for leftover in (partial, f"{partial}-wal", f"{partial}-shm"):
            if os.path.exists(leftover):
                os.unlink(leftover)
    return size


def _copy(origin: Tx, into: Tx) -> None:
    for table, key in TABLES.items():
        columns = [row[1] for row in into.run(f"PRAGMA table_info({table})")]
        names = ", ".join(name for name in columns if name not in ("space", "seal"))
        altered = origin.altered(table) if "seal" in columns else "1 = 0"
        rows = origin.run(f"SELECT {names}, {altered} FROM {table} WHERE space = :space")
        into.insert(table, names, [row[:-1] for row in rows])
        # All rows are sealed now; one that was changed from outside must not be.
        for row in [row for row in rows if row[-1]]:
            into.run(
                f"UPDATE {table} SET seal = 'altered' WHERE space = :space"
                + "".join(f" AND {name} = :{name}" for name in key),
                dict(zip(names.split(", "), row, strict=False)),
            )
    fields = _ENTRY.split(", ")
    for row in origin.run(f"SELECT {_ENTRY}, stems FROM entries WHERE space = :space"):
        into.run(
            f"INSERT INTO entries (space, {_ENTRY}) "
            f"VALUES (:space, {', '.join(f':{name}' for name in fields)})",
            dict(zip(fields, row, strict=False)),
        )
        into.add_words([(row[0], row[-1])])
    facets = origin.run("SELECT entry, name, value FROM facets WHERE space = :space")
    into.insert("facets", "entry, name, value", facets)
    # SQLite stores vectors in another way: they are made again.
    into.run(
        f"INSERT INTO unembedded (entry, space) SELECT id, space FROM entries WHERE {EMBEDDED}"
    )
