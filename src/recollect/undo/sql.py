"""Undo records, and the columns of rows that an undo reads and restores by their keys."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..storage.database import Tx, placeholders
from ..types.records import Json, SafeText

KEYS: Mapping[str, tuple[str, ...]] = {
    "memories": ("id",),
    "episodes": ("id",),
    "procedures": ("id",),
    "links": ("source", "relation", "target"),
}
"""The tables whose rows can be taken back, and what their rows are named by."""


class UndoRecord(NamedTuple):
    """A record of something that can be taken back once."""

    id: str
    operation: str
    body: str
    status: str
    at: int


def insert(tx: Tx, id: str, operation: str, body: SafeText, now: int) -> None:
    """Save how to undo an operation."""
    tx.run(
        "INSERT INTO undos (space, id, operation, body, status, at) "
        "VALUES (:space, :id, :operation, :body, 'applied', :now)",
        {"id": id, "operation": operation, "body": body, "now": now},
    )


def find_latest(tx: Tx, operation: str) -> UndoRecord | None:
    """Return the last record of an operation that was not undone yet; held until the commit."""
    row = tx.one(
        "SELECT id, operation, body, status, at FROM undos WHERE space = :space "
        "AND operation = :operation AND status = 'applied' ORDER BY at DESC, id LIMIT 1 "
        + tx.for_update,
        {"operation": operation},
    )
    return UndoRecord(*row) if row else None


def find_last(tx: Tx) -> UndoRecord | None:
    """Return the last record of any operation that was not undone yet."""
    row = tx.one(
        "SELECT id, operation, body, status, at FROM undos WHERE space = :space "
        "AND status = 'applied' ORDER BY at DESC, id LIMIT 1"
    )
    return UndoRecord(*row) if row else None


def mark_undone(tx: Tx, id: str) -> None:
    """Mark a record as undone."""
    tx.run("UPDATE undos SET status = 'undone' WHERE space = :space AND id = :id", {"id": id})


# ---------------------------------------------------------------- rows


def read_columns(
    tx: Tx, table: str, key: Sequence[str], names: Sequence[str]
) -> dict[str, Json] | None:
    """Return the values of these columns of a row; None without the row."""
    chosen = ", ".join(names)
    row = tx.one(f"SELECT {chosen} FROM {table} WHERE {_where(table)}", _named(table, key))
    return dict(zip(names, row, strict=True)) if row else None


def set_columns(tx: Tx, table: str, key: Sequence[str], held: Mapping[str, Json]) -> None:
    """Set these columns of a row."""
    sets = ", ".join(f"{name} = :{name}" for name in held)
    tx.run(f"UPDATE {table} SET {sets} WHERE {_where(table)}", {**held, **_named(table, key)})


def count_after(tx: Tx, table: str, at: int) -> int:
    """Count the rows of a table that are newer than a time, excluding manifests."""
    row = tx.one(
        f"SELECT count(*) FROM {table} WHERE space = :space AND at > :at AND kind <> 'manifest'",
        {"at": at},
    )
    return int(row[0]) if row else 0


def find_with_status(tx: Tx, table: str, statuses: Sequence[str]) -> dict[str, str]:
    """Return the ids of the rows with one of these statuses, each with its own."""
    names, params = placeholders("status", statuses)
    rows = tx.run(
        f"SELECT id, status FROM {table} WHERE space = :space AND status IN ({names}) ORDER BY id",
        params,
    )
    return {row[0]: row[1] for row in rows}


def remove(tx: Tx, table: str, key: Sequence[str]) -> None:
    """Delete a row that was not there before."""
    tx.run(f"DELETE FROM {table} WHERE {_where(table)}", _named(table, key))


def _where(table: str) -> str:
    return "space = :space" + "".join(f" AND {name} = :key_{name}" for name in KEYS[table])


def _named(table: str, key: Sequence[str]) -> dict[str, str]:
    return {f"key_{name}": value for name, value in zip(KEYS[table], key, strict=True)}
