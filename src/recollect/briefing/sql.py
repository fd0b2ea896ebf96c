"""State of briefings: values prepared for later moments, and the chances of each session."""

from __future__ import annotations

from collections.abc import Iterable

from ..storage import sql as storage_sql
from ..storage.database import Tx


def list_values(tx: Tx, prefix: str) -> list[tuple[str, str]]:
    """Return the keys in state that begin with a prefix and their values, the latest first."""
    rows = tx.run(
        "SELECT key, value FROM state WHERE space = :space AND key >= :low AND key < :high "
        "ORDER BY updated DESC, key",
        {"low": prefix, "high": prefix + "\U0010ffff"},
    )
    return [(row[0], row[1]) for row in rows]


def remove_values(tx: Tx, keys: Iterable[str]) -> None:
    """Remove values from state."""
    tx.many(
        "DELETE FROM state WHERE space = :space AND key = :key",
        [{"space": tx.space, "key": key} for key in keys],
    )


WATCHED = "watched programs"
"""The key in state of the programs to look for before a command runs."""

PART_COMMANDS = "part commands"
"""The key in state of the commands for a part of the project."""


def get_prepared(tx: Tx, name: str) -> str:
    """Return a value that the last session start prepared for later moments; empty if none did."""
    return storage_sql.get_value(tx, name) or ""
