"""Undo records, and the columns of any row, read and written by its key (`TABLES`)."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..storage.database import TABLES, Tx, list_columns, placeholders
from ..types.records import FOREVER, Json, SafeText

_MUTABLE_COLUMNS: Mapping[str, tuple[str, ...]] = {
    "procedures": ("successes", "failures", "last_used", "status", "valid_to"),
    "links": ("reason", "valid_to"),
    "documents": ("valid_to",),
}
"""The columns that a change of an open row may alter."""


class UndoRecord(NamedTuple):
    """The data to undo an operation, once."""

    id: str
    operation: str
    body: str
    status: str
    at: int


def insert(tx: Tx, id: str, operation: str, body: SafeText, now: int) -> None:
    """Save how to undo an operation."""
    row = UndoRecord(id, operation, body, "applied", now)
    tx.insert("undos", list_columns(UndoRecord._fields), [row])


def find_latest(tx: Tx, operation: str = "", id: str = "", hold: bool = True) -> UndoRecord | None:
    """Return the last record that was not undone yet: of this operation, and naming this id, if
    they are given.

    hold: lock it until the commit
    """
    chosen = "AND operation = :operation " if operation else ""
    chosen += "AND replace(body, :id, '') <> body " if id else ""
    row = tx.one(
        "SELECT id, operation, body, status, at FROM undos WHERE space = :space "
        f"AND status = 'applied' {chosen}ORDER BY at DESC, id LIMIT 1 "
        + (tx.for_update if hold else ""),
        {"operation": operation, "id": id},
    )
    return UndoRecord(*row) if row else None


def mark_undone(tx: Tx, id: str) -> None:
    """Mark a record as undone."""
    tx.run("UPDATE undos SET status = 'undone' WHERE space = :space AND id = :id", {"id": id})


# ---------------------------------------------------------------- rows


def read_columns(
    tx: Tx, table: str, key: Sequence[Json], names: Sequence[str]
) -> dict[str, Json] | None:
    """Return the values of these columns of a row; None without the row."""
    chosen = ", ".join(names)
    row = tx.one(f"SELECT {chosen} FROM {table} WHERE {_where(table)}", _named(table, key))
    return dict(zip(names, row, strict=True)) if row else None


def read_open(
    tx: Tx, table: str, column: str, value: str
) -> list[tuple[tuple[Json, ...], dict[str, Json]]]:
    """Return key and mutable columns of the open rows with this value in a column."""
    key, names = TABLES[table], _MUTABLE_COLUMNS[table]
    rows = tx.run(
        f"SELECT {', '.join((*key, *names))} FROM {table} WHERE space = :space "
        f"AND {column} = :value AND valid_to = {FOREVER}",
        {"value": value},
    )
    found = [dict(zip((*key, *names), row, strict=True)) for row in rows]
    return [
        (tuple(row[name] for name in key), {name: row[name] for name in names}) for row in found
    ]


def set_columns(tx: Tx, table: str, key: Sequence[Json], values: Mapping[str, Json]) -> None:
    """Set these columns of a row."""
    sets = ", ".join(f"{name} = :{name}" for name in values)
    tx.run(f"UPDATE {table} SET {sets} WHERE {_where(table)}", {**values, **_named(table, key)})


def count_after(tx: Tx, table: str, at: int) -> int:
    """Count the rows of a table that are newer than a time, without those of kind `manifest`."""
    row = tx.one(
        f"SELECT count(*) FROM {table} WHERE space = :space AND at > :at AND kind <> 'manifest'",
        {"at": at},
    )
    return int(row[0]) if row else 0


def find_with_status(tx: Tx, table: str, statuses: Sequence[str]) -> dict[str, str]:
    """Return ids and statuses of the rows with one of these statuses."""
    names, params = placeholders("status", statuses)
    rows = tx.run(
        f"SELECT id, status FROM {table} WHERE space = :space AND status IN ({names}) ORDER BY id",
        params,
    )
    return {row[0]: row[1] for row in rows}


def remove(tx: Tx, table: str, key: Sequence[Json]) -> None:
    """Delete a row that the operation had created."""
    tx.run(f"DELETE FROM {table} WHERE {_where(table)}", _named(table, key))


def _where(table: str) -> str:
    return "space = :space" + "".join(f" AND {name} = :key_{name}" for name in TABLES[table])


def _named(table: str, key: Sequence[Json]) -> dict[str, Json]:
    return {f"key_{name}": value for name, value in zip(TABLES[table], key, strict=True)}
