"""What changes in a store that somebody else made, before it is used: nothing in it is in force."""

from __future__ import annotations

from ..storage.database import Row, Tx

_LABELLED = ("memories", "documents", "episodes", "procedures", "links")
_IN_FORCE = ("memories", "documents", "episodes", "procedures")


def memory_vocabulary(tx: Tx) -> list[Row]:
    """Every combination of kind, layer, status, priority, origin and label that memories have."""
    return tx.run(
        "SELECT DISTINCT kind, layer, status, priority, origin, label FROM memories "
        "WHERE space = :space"
    )


def memory_ids(tx: Tx) -> list[str]:
    """The ids of all versions of all memories."""
    return [row[0] for row in tx.run("SELECT id FROM memories WHERE space = :space")]


def quarantine(tx: Tx) -> None:
    """Everything counts as imported; what was in force is kept, but out of use. The origin of
    messages is part of their chain and stays."""
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
