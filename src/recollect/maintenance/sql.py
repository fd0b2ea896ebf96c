"""Quarantine a store that was made elsewhere before it is used."""

from __future__ import annotations

from ..storage.database import Row, Tx

_LABELLED = ("memories", "memory_revisions", "documents", "episodes", "procedures", "links")
_IN_FORCE = ("memories", "documents", "episodes", "procedures")


def memory_vocabulary(tx: Tx) -> list[Row]:
    """Return every combination of kind, layer, status, priority, origin and label of memories and
    their earlier revisions."""
    chosen = "SELECT kind, layer, status, priority, origin, label"
    return tx.run(
        f"{chosen} FROM memories WHERE space = :space UNION "
        f"{chosen} FROM memory_revisions WHERE space = :space"
    )


def memory_ids(tx: Tx) -> list[str]:
    """Return the ids of all memories."""
    return [row[0] for row in tx.run("SELECT id FROM memories WHERE space = :space")]


def quarantine(tx: Tx) -> None:
    """Label everything as imported, and take it out of use.

    The origin of messages is part of their hash chain and stays.
    """
    for table in _LABELLED:
        tx.run(f"UPDATE {table} SET origin = 'import', label = 'import' WHERE space = :space")
    for table in _IN_FORCE:
        tx.run(
            f"UPDATE {table} SET status = 'quarantined' "
            "WHERE space = :space AND status IN ('active', 'proposed')"
        )
    for table in ("sessions", "messages", "entries"):
        tx.run(f"UPDATE {table} SET label = 'import' WHERE space = :space")
    tx.run(
        "UPDATE entries SET status = 'quarantined' WHERE space = :space "
        "AND source <> 'message' AND status IN ('active', 'proposed')"
    )
    for table in ("jobs", "observations", "findings"):
        tx.run(f"DELETE FROM {table} WHERE space = :space")
