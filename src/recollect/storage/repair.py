"""Backups that rotate, and what to do when a file is damaged or removed under a running process.

`save_all_readable` reads a damaged SQLite file row by row into a new store: a page that cannot be
read costs the rows in it and no others. The damaged file is kept.
"""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import apsw

from ..errors import NotFound, StoreError
from ..text import seals
from . import migrate, sqlite_files, sqlite_health

KEPT = 3
"""Automatic backups of a store."""

_FURTHEST = 2**24
"""The last row number to try when the table cannot say its own."""

_MOST_FAILURES = 5_000
"""Reads of a table that may fail before the rest of it is given up: its root is gone."""

INTERVAL = 86_400
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


def truncate_wal(path: str) -> bool:
    """Write the WAL of a store back and empty it; return whether a reader prevents it."""
    connection = sqlite_files.open_connection(path)
    try:
        row = connection.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()
        return bool(row and row[0][0])
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


# ---------------------------------------------------------------- recover


class Salvage(NamedTuple):
    """By table: rows saved from a damaged store, gaps (altered rows, and stretches that cannot be
    read), and rows taken from elsewhere."""

    saved: Mapping[str, int]
    lost: Mapping[str, int]
    restored: Mapping[str, int]


def save_all_readable(
    damaged: str, target: str, backups: Sequence[str], merged: Sequence[str] = ()
) -> Salvage:
    """Write all rows of a damaged store that can be read to a new one. What is missing in a table
    comes from the backups, the newest first; rows of `merged` stores are added in any case."""
    into = apsw.Connection(target)
    os.chmod(target, 0o600)
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    restored: dict[str, int] = {}
    try:
        into.pragma("journal_mode", "delete")
        for script in migrate.pending_scripts(0, "sqlite"):
            into.execute(script)
        source = _open(damaged)
        into.execute("BEGIN")
        for table in _tables(into):
            columns = _columns(into, table)
            bad = 0
            for row in _rows(source, table, columns):
                if row is None or _is_altered(table, columns, row):
                    bad += 1
                else:
                    saved[table] = saved.get(table, 0) + _insert(into, table, columns, row)
            if bad:
                lost[table] = bad
            for other in (*merged, *(backups if bad else ())):
                more = _restore(into, table, columns, other)
                restored[table] = restored.get(table, 0) + more
        _mark_incomplete(into)
        into.execute("COMMIT")
        into.pragma("application_id", source.pragma("application_id"))
        into.pragma("user_version", migrate.LATEST)
        source.close()
    finally:
        into.close()
    return Salvage(saved, lost, {table: count for table, count in restored.items() if count})


def _open(path: str) -> apsw.Connection:
    try:
        connection = apsw.Connection(path)
        connection.pragma("cell_size_check", 1)
        connection.execute("SELECT count(*) FROM sqlite_schema").fetchall()
    except apsw.Error as error:
        raise NotFound(
            f"the list of tables cannot be read ({error}), so nothing else can",
            where=path,
            hint="recollect recover --backup FILE takes everything from a backup",
        ) from error
    return connection


def _tables(connection: apsw.Connection) -> list[str]:
    from .backup import TABLES

    return ["spaces", *TABLES]


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [str(row[0]) for row in rows]


def _rows(source: apsw.Connection, table: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a table, and None for each stretch of it that cannot be read."""
    there = _columns(source, table)
    if not there:
        return
    chosen = ", ".join(name if name in there else "''" for name in columns)
    try:
        last = source.execute(f"SELECT max(rowid) FROM {table}").get or 0
    except apsw.CorruptError:
        last = _FURTHEST
    except apsw.SQLError:  # a table without row numbers is derived
        try:
            yield from source.execute(f"SELECT {chosen} FROM {table}").fetchall()
        except (apsw.CorruptError, UnicodeDecodeError):
            yield None
        return
    ranges = [(0, int(last))]
    tries, failed = _MOST_FAILURES, -2
    while ranges and tries:
        low, high = ranges.pop()
        try:
            yield from source.execute(
                f"SELECT {chosen} FROM {table} WHERE rowid BETWEEN ? AND ?", (low, high)
            ).fetchall()
        except (apsw.CorruptError, apsw.IOError, UnicodeDecodeError):
            tries -= 1
            if low == high:
                if low != failed + 1:
                    yield None
                failed = low
            else:
                middle = (low + high) // 2
                ranges += ((middle + 1, high), (low, middle))


def _is_altered(table: str, columns: Sequence[str], row: Sequence[Any]) -> bool:
    sealed = seals.COLUMNS.get(table)
    if not sealed:
        return False
    held = dict(zip(columns, row, strict=True))
    seal = held["seal"]
    return bool(seal) and seal != seals.make_seal(*[held[name] for name in sealed])


def _insert(into: apsw.Connection, table: str, columns: Sequence[str], row: Sequence[Any]) -> int:
    marks = ", ".join("?" for _ in columns)
    into.execute(
        f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})", tuple(row)
    )
    return into.changes()


def _restore(into: apsw.Connection, table: str, columns: Sequence[str], backup: str) -> int:
    """Take the rows from a backup that are missing; those that were forgotten stay away."""
    try:
        source = _open(backup)
    except NotFound:
        return 0
    erased = {row[0] for row in into.execute("SELECT ref FROM tombstones")}
    key = "address" if table == "documents" else "id" if "id" in columns else ""
    count = 0
    try:
        for row in _rows(source, table, columns):
            if row is None or _is_altered(table, columns, row):
                continue
            if key and row[columns.index(key)] in erased:
                continue
            count += _insert(into, table, columns, row)
    finally:
        source.close()
    return count


def _mark_incomplete(into: apsw.Connection) -> None:
    """Request that words and vectors are rebuilt before the next search."""
    into.execute(
        "INSERT OR REPLACE INTO state (space, key, value, updated) "
        "SELECT id, 'words', 'missing', 0 FROM spaces"
    )
    sqlite_health.seal_all(into)


def list_columns_of(tables: Sequence[str]) -> dict[str, list[str]]:
    """Return the columns of tables, which are the same in both engines."""
    from . import sqlite

    return sqlite.SqliteDatabase("", "project").read(
        lambda tx: {
            table: [row[1] for row in tx.run(f"PRAGMA table_info({table})")] for table in tables
        }
    )
