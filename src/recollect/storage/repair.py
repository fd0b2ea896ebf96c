"""Recover a damaged SQLite file.

`save_all_readable` reads it row by row into a new store: a page that cannot be read costs the rows
in it and no others. The damaged file is kept.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping, Sequence
from operator import ne
from typing import Any, NamedTuple

import apsw

from ..errors import NotFound
from ..text import seals
from . import migrations, sql, sqlite, sqlite_health
from .backup import list_backups, list_columns_of, remove_backups, rewrite_store, rotate_backups
from .database import TABLES

__all__ = ["list_backups", "list_columns_of", "remove_backups", "rewrite_store", "rotate_backups"]

_FURTHEST = 2**24
"""The last row number to try when the table cannot say its own."""

_MOST_FAILURES = 5_000
"""Reads of a table that may fail before the rest of it is given up: its root is gone."""


class Salvage(NamedTuple):
    """By table: rows saved from a damaged store, gaps (altered rows, and stretches that cannot be
    read), and rows taken from elsewhere."""

    saved: Mapping[str, int]
    lost: Mapping[str, int]
    restored: Mapping[str, int]


def save_all_readable(
    damaged: str, target: str, backups: Sequence[str], merged: Sequence[str] = ()
) -> Salvage:
    """Write all readable rows of a damaged store to a new one. Rows that are missing come from the
    backups, the newest first; rows of `merged` stores are always added."""
    into = apsw.Connection(target)
    os.chmod(target, 0o600)
    saved: dict[str, int] = {}
    lost: dict[str, int] = {}
    restored: dict[str, int] = {}
    try:
        into.pragma("journal_mode", "delete")
        into.execute(migrations.read_fresh())
        source = _DamagedStore(damaged, backups)
        into.execute("BEGIN")
        for table in ("spaces", *TABLES):
            columns = _columns(into, table)
            bad = 0
            for row in source.read(table, columns):
                if row is None or _is_altered(table, columns, row):
                    bad += 1
                else:
                    saved[table] = saved.get(table, 0) + _insert(into, table, columns, row)
            if bad:
                lost[table] = bad
            for other in (*merged, *(backups if bad or source.is_guessed else ())):
                more = _restore(into, table, columns, other)
                restored[table] = restored.get(table, 0) + more
        if source.is_guessed and not saved.get("spaces") and not restored.get("spaces"):
            raise NotFound(
                "the list of tables cannot be read, and nothing else either",
                where=damaged,
                hint="recollect recover --backup FILE takes everything from a backup",
            )
        _mark_incomplete(into)
        into.execute("COMMIT")
        into.pragma("application_id", sqlite.APPLICATION_ID)
        into.pragma("user_version", migrations.LATEST)
        source.close()
    finally:
        into.close()
    return Salvage(saved, lost, {table: count for table, count in restored.items() if count})


class _DamagedStore:
    """Reads a damaged file. If its list of tables is damaged, each table is read from a copy in
    memory, whose first page names that table only."""

    def __init__(self, path: str, backups: Sequence[str]) -> None:
        self._connection: apsw.Connection | None = None
        self.is_guessed = False
        self._image, self._tables = b"", _make_tables(migrations.LATEST)
        try:
            connection = _open(path)
            version = connection.pragma("user_version")
            if 0 < version <= migrations.LATEST:
                self._tables = _make_tables(version)
            if _same_tables(_read_schema(connection), self._tables):
                self._connection = connection
                return
            connection.close()
        except NotFound:
            pass
        self.is_guessed = True
        self._image = _read_image(path)
        found = _read_schema(_open_image(self._image))
        others = [_read_schema(apsw.Connection(one)) for one in backups]
        self._roots = {
            name: _find_root(name, (found, *others)) or root
            for name, (root, _) in self._tables.items()
        }

    def read(self, table: str, columns: Sequence[str]) -> Iterator[Any]:
        """Yield the rows of a table, and None for each stretch of it that cannot be read."""
        if self._connection:
            yield from _rows(self._connection, table, columns)
        elif table in self._tables:
            root, sql = self._roots[table], self._tables[table][1]
            if root * _page_size(self._image) > len(self._image):
                yield None  # the file was cut off before the table
            else:
                image = _name_one_table(self._image, table, root, sql)
                yield from _rows(_open_image(image), table, columns)

    def close(self) -> None:
        if self._connection:
            self._connection.close()


Tables = Mapping[str, tuple[int, str]]
"""The first page of each table, and the statement that makes it."""


def _make_tables(version: int) -> Tables:
    """Return the tables that a schema version has, with the first pages that they have in a new
    store."""
    fresh = apsw.Connection(":memory:")
    fresh.pragma("page_size", sqlite.PAGE_SIZE)
    migrations.define_functions(fresh)
    fresh.execute("\n".join(migrations.pending_scripts(0, "sqlite")[:version]))
    return _read_schema(fresh)


def _read_schema(connection: apsw.Connection) -> Tables:
    found: dict[str, tuple[int, str]] = {}
    try:
        connection.pragma("writable_schema", 1)  # a table that cannot be understood is left out
        rows = connection.execute(
            "SELECT name, rootpage, sql FROM sqlite_schema WHERE type = 'table'"
        )
        for name, root, sql in rows:
            found[str(name)] = (int(root), str(sql))
    except (apsw.Error, UnicodeDecodeError, ValueError, TypeError):
        return found  # as far as it can be read
    finally:
        connection.pragma("writable_schema", 0)
    return found


def _same_tables(found: Tables, wanted: Tables) -> bool:
    return found.keys() == wanted.keys() and all(found[at][1] == wanted[at][1] for at in found)


def _find_root(table: str, schemas: Sequence[Tables]) -> int:
    """Return the first page of a table; one letter of its name may be wrong."""
    for schema in schemas:
        if table in schema:
            return schema[table][0]
        for name, (root, _) in schema.items():
            if len(name) == len(table) and sum(map(ne, name, table)) == 1:
                return root
    return 0


def _read_image(path: str) -> bytes:
    """Return the bytes of a store, including its WAL if SQLite can read it."""
    try:
        connection = apsw.Connection(path)
        image = connection.serialize("main")
        connection.close()
    except apsw.Error:
        image = b""
    if not image:
        with open(path, "rb") as file:  # SQLite cannot open it, so it has no locks on it
            image = file.read()
    head = bytearray(image[:100].ljust(100, b"\0"))
    size = _page_size(image)
    head[:28] = b"SQLite format 3\0" + size.to_bytes(2, "big") + b"\1\1\0\x40\x20\x20" + bytes(4)
    head[28:40] = (len(image) // size).to_bytes(4, "big") + bytes(8)
    head[44:60] = (4).to_bytes(4, "big") + bytes(8) + (1).to_bytes(4, "big")
    head[92:96] = head[24:28]
    return bytes(head) + image[100:]


def _page_size(image: bytes) -> int:
    size = int.from_bytes(image[16:18], "big")
    return size if size in (4096, 8192) else sqlite.PAGE_SIZE


def _open_image(image: bytes) -> apsw.Connection:
    connection = apsw.Connection(":memory:")
    connection.deserialize("main", image)
    connection.pragma("cell_size_check", 1)
    return connection


def _name_one_table(image: bytes, table: str, root: int, sql: str) -> bytes:
    """Return an image whose first page is replaced: it names one table, at its first page."""
    size = _page_size(image)
    fresh = apsw.Connection(":memory:")
    fresh.execute(sql)
    if "WITHOUT ROWID" not in sql:  # without keys, whose indexes may be damaged too
        created = fresh.execute(
            "SELECT name, type, dflt_value, pk FROM pragma_table_info(?)", (table,)
        ).fetchall()
        columns = ", ".join(
            f"{name} {type} {'PRIMARY KEY' if pk and type == 'INTEGER' and alone else ''} "
            f"{'' if default is None else f'DEFAULT {default}'}"
            for alone in (sum(bool(row[3]) for row in created) == 1,)
            for name, type, default, pk in created
        )
        sql = f"CREATE TABLE {table} ({columns})"
    fresh = apsw.Connection(":memory:")
    fresh.pragma("page_size", size)
    fresh.execute(sql)
    fresh.pragma("writable_schema", 1)
    fresh.execute("UPDATE sqlite_schema SET rootpage = ?", (root,))
    page = bytearray(fresh.serialize("main")[:size])
    page[28:32] = (len(image) // size).to_bytes(4, "big")
    return bytes(page) + image[size:]


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


def _columns(connection: apsw.Connection, table: str) -> list[str]:
    rows = connection.execute("SELECT name FROM pragma_table_info(?)", (table,))
    return [str(row[0]) for row in rows]


def _rows(source: apsw.Connection, table: str, columns: Sequence[str]) -> Iterator[Any]:
    """Yield the rows of a table, and None for each stretch of it that cannot be read."""
    present = _columns(source, table)
    if not present:
        return
    # A version without seals has none; an empty one in a later version is not Recollect's.
    absent = {"seal": "NULL"}
    chosen = ", ".join(name if name in present else absent.get(name, "''") for name in columns)
    try:
        last = source.execute(f"SELECT max(rowid) FROM {table}").get or 0
    except apsw.CorruptError:
        last = _FURTHEST
    except apsw.SQLError:  # a table without row numbers: from both ends up to the damage
        keys = TABLES[table]
        for order in ("", " DESC"):
            try:
                yield from source.execute(
                    f"SELECT {chosen} FROM {table} ORDER BY "
                    + ", ".join(f"{key}{order}" for key in ("space", *keys))
                )
            except (apsw.CorruptError, apsw.IOError, UnicodeDecodeError):
                yield None
            else:
                return
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
    values = dict(zip(columns, row, strict=True))
    return values["seal"] not in (None, seals.make_seal(*[values[name] for name in sealed]))


def _insert(into: apsw.Connection, table: str, columns: Sequence[str], row: Sequence[Any]) -> int:
    marks = ", ".join("?" for _ in columns)
    into.execute(
        f"INSERT OR IGNORE INTO {table} ({', '.join(columns)}) VALUES ({marks})",
        tuple(
            "" if value is None and name == "seal" else value
            for name, value in zip(columns, row, strict=True)
        ),
    )
    return into.changes()


def _restore(into: apsw.Connection, table: str, columns: Sequence[str], backup: str) -> int:
    """Add the missing rows from a backup, except those that were forgotten."""
    try:
        source = _open(backup)
    except NotFound:
        return 0
    erased = {row[0] for row in into.execute("SELECT ref FROM tombstones")}
    key = "address" if table == "documents" else "id" if "id" in columns else ""
    count = 0
    try:
        for row in _rows(source, table, columns):
            is_erased = key and row and row[columns.index(key)] in erased
            if row is not None and not is_erased and not _is_altered(table, columns, row):
                count += _insert(into, table, columns, row)
    finally:
        source.close()
    return count


def _mark_incomplete(into: apsw.Connection) -> None:
    """Request that words and vectors are rebuilt before the next search, and count memories."""
    into.execute(
        "INSERT OR REPLACE INTO state (space, key, value, updated) "
        "SELECT id, 'words', 'missing', 0 FROM spaces"
    )
    into.execute(sql.COUNT_MEMORIES.format(space="space"))
    sqlite_health.seal_all(into)
