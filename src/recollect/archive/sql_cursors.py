"""How far each transcript was read, and which hook events were answered already.

It does not know what a position means, or what an event was about.
"""

from __future__ import annotations

from ..storage.database import Tx
from ..types.records import SafeText


def get(tx: Tx, source: str) -> str | None:
    """Where reading a transcript was left, as JSON."""
    row = tx.one(
        "SELECT position FROM cursors WHERE space = :space AND source = :source",
        {"source": source},
    )
    return row[0] if row else None


def put(tx: Tx, source: SafeText, position: SafeText, now: int) -> None:
    """Remember where to go on."""
    tx.run(
        "INSERT INTO cursors (space, source, position, updated) "
        "VALUES (:space, :source, :position, :now) ON CONFLICT (space, source) "
        "DO UPDATE SET position = excluded.position, updated = excluded.updated",
        {"source": source, "position": position, "now": now},
    )


def claim(tx: Tx, subject: str, mark: str, now: int, window: int) -> bool:
    """Whether this mark is new for its subject: false when the same came within the window.

    What came later than now came before the clock was set back."""
    row = tx.one(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :mark, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated "
        "WHERE state.value <> excluded.value OR state.updated < :before OR state.updated > :after "
        "RETURNING key",
        {"key": subject, "mark": mark, "now": now, "before": now - window, "after": now + window},
    )
    return row is not None


def hold(tx: Tx, now: int) -> None:
    """Until the commit nobody else imports into this space: two that bring copies of one message,
    in a conversation and in its fork, must not both find it missing."""
    if tx.for_update:  # otherwise there is one writer anyway
        tx.run(
            "INSERT INTO state (space, key, value, updated) VALUES (:space, 'imports', '1', :now) "
            "ON CONFLICT (space, key) DO UPDATE SET updated = excluded.updated",
            {"now": now},
        )
