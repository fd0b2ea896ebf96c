"""Seal the rows of an SQLite store as they are written, and find those that were changed since.

Temporary triggers of the connection do it, whatever statement writes a row; the file itself holds
no trigger. A row that was changed from outside is never sealed again: its old seal must fit first.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import apsw

from ..fast_typing import Any
from ..text import seals

_NAMED = 5


def install(connection: apsw.Connection) -> None:
    """Make a connection seal what it writes from now on."""
    connection.execute("PRAGMA temp_store = MEMORY")
    _define(connection)
    for table, columns in _sealed_tables(connection):
        new, old = (", ".join(f"{row}.{name}" for name in columns) for row in ("NEW", "OLD"))
        sets = f"UPDATE {table} SET seal = make_seal({new}) WHERE rowid = NEW.rowid"
        connection.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS seal_new_{table} AFTER INSERT ON main.{table} "
            f"BEGIN {sets}; END; "
            f"CREATE TEMP TRIGGER IF NOT EXISTS seal_changed_{table} "
            f"AFTER UPDATE OF {', '.join(columns)} ON main.{table} "
            f"WHEN OLD.seal = '' OR OLD.seal = make_seal({old}) BEGIN {sets}; END"
        )


def seal_all(connection: apsw.Connection) -> None:
    """Seal the rows that have no seal yet, after an upgrade."""
    _define(connection)
    for table, columns in _sealed_tables(connection):
        connection.execute(
            f"UPDATE {table} SET seal = make_seal({', '.join(columns)}) WHERE seal = ''"
        )


def find_altered(connection: apsw.Connection) -> Iterator[str]:
    """Yield a sentence for each table with rows that were changed from outside."""
    _define(connection)
    for table, columns in seals.COLUMNS.items():
        key = "address" if table == "documents" else "id"
        rows = connection.execute(
            f"SELECT CAST({key} AS BLOB) FROM {table} WHERE seal <> '' AND seal <> "
            f"make_seal({', '.join(f'CAST({name} AS BLOB)' for name in columns)})"
        )
        yield from _told(table, [row[0].decode(errors="replace") for row in rows])
    rows = connection.execute(
        "SELECT CAST(session AS BLOB), seq FROM messages WHERE digest <> make_digest(CAST(body AS "
        'BLOB)) AND body <> \'{"role":"\' || role || \'","content":"[forgotten]"}\''
    )
    names = [f"{row[0].decode(errors='replace')}/messages/{row[1]}" for row in rows]
    yield from _told("messages", names)


def _sealed_tables(connection: apsw.Connection) -> list[tuple[str, Sequence[str]]]:
    """Return the tables with seals; a store of an earlier version has none."""
    sealed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%seal TEXT%'"
    there = {row[0] for row in connection.execute(sealed)}
    return [(table, columns) for table, columns in seals.COLUMNS.items() if table in there]


def _told(table: str, names: list[str]) -> Iterator[str]:
    if names:
        what = "1 record was" if len(names) == 1 else f"{len(names)} records were"
        more = ", …" if len(names) > _NAMED else ""
        yield (
            f"{table}: {what} changed by something else than Recollect, and set aside: "
            f"{', '.join(names[:_NAMED])}{more}; `recollect recover` takes them from a backup"
        )


def _define(connection: apsw.Connection) -> None:
    for name, function in (("make_seal", _seal), ("make_digest", _digest)):
        connection.create_scalar_function(
            name, function, deterministic=True, flags=apsw.SQLITE_INNOCUOUS
        )


def _seal(*values: Any) -> str | None:
    try:
        return seals.make_seal(
            *(value.decode() if isinstance(value, bytes) else value for value in values)
        )
    except UnicodeDecodeError:
        return None  # reported as such


def _digest(*bodies: Any) -> str | None:
    from hashlib import sha256

    try:
        return sha256(bodies[0].decode().encode()).hexdigest()
    except UnicodeDecodeError:
        return None
