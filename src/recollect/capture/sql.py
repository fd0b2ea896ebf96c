"""What the user typed, session by session."""

from __future__ import annotations

from ..fast_typing import NamedTuple
from ..storage.database import Tx


class TypedRow(NamedTuple):
    """A message that the user typed."""

    seq: int
    body: str
    at: int


def typed(tx: Tx, session: str, first: int, limit: int) -> list[TypedRow]:
    """Return messages of a session that the user typed, from a sequence number on."""
    rows = tx.run(
        "SELECT seq, body, at FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND role = 'user' AND label = 'user' ORDER BY seq LIMIT :limit",
        {"session": session, "first": first, "limit": limit},
    )
    return [TypedRow(*row) for row in rows]


def last_read(tx: Tx, session: str) -> int:
    """Return the sequence number up to which a session was searched for repetitions."""
    row = tx.one(
        "SELECT value FROM state WHERE space = :space AND key = :key",
        {"key": f"repetition {session}"},
    )
    return int(row[0]) if row else 0


def note_read(tx: Tx, session: str, seq: int, now: int) -> None:
    """Remember up to which message a session was searched."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :seq, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
        {"key": f"repetition {session}", "seq": str(seq), "now": now},
    )
