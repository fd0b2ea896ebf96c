"""Read the messages that the user typed in a session."""

from __future__ import annotations

from ..fast_typing import NamedTuple
from ..storage.database import Tx


class TypedRow(NamedTuple):
    """A message that the user typed."""

    seq: int
    body: str
    at: int


def list_typed(tx: Tx, session: str, first: int, limit: int) -> list[TypedRow]:
    """Return messages of a session that the user typed, from a sequence number on."""
    rows = tx.run(
        "SELECT seq, body, at FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND role = 'user' AND label = 'user' ORDER BY seq LIMIT :limit",
        {"session": session, "first": first, "limit": limit},
    )
    return [TypedRow(*row) for row in rows]
