"""Small values of the system itself, and the keys of writes that were done already."""

from __future__ import annotations

from ..db.database import Tx
from ..types import SafeText


def get(tx: Tx, key: str) -> str | None:
    """One value."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :key", {"key": key})
    return row[0] if row else None


def put(tx: Tx, key: str, value: SafeText, now: int) -> None:
    """Set one value."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :value, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
        {"key": key, "value": value, "now": now},
    )


def remove(tx: Tx, key: str) -> None:
    """Drop one value."""
    tx.run("DELETE FROM state WHERE space = :space AND key = :key", {"key": key})


def written(tx: Tx, key: str) -> str | None:
    """The record that an earlier write with this idempotency key made."""
    row = tx.one("SELECT ref FROM writes WHERE space = :space AND key = :key", {"key": key})
    return row[0] if row else None


def note_write(tx: Tx, key: str, operation: str, ref: str, now: int) -> bool:
    """Remember what a write made; false when the key was used before."""
    row = tx.one(
        "INSERT INTO writes (space, key, operation, ref, at) "
        "VALUES (:space, :key, :operation, :ref, :now) "
        "ON CONFLICT (space, key) DO NOTHING RETURNING key",
        {"key": key, "operation": operation, "ref": ref, "now": now},
    )
    return row is not None
