"""The windows of sessions: the first message of each, its state as JSON, and its summary."""

from __future__ import annotations

from ..storage.database import Tx
from ..types.records import SafeText


def get(tx: Tx, session: str) -> str:
    """Return the stored state; empty if the window was never moved."""
    row = tx.one(
        "SELECT state FROM windows WHERE space = :space AND session = :session",
        {"session": session},
    )
    return row[0] if row else ""


def put(
    tx: Tx, session: str, window_from: int, state: SafeText, summary: SafeText, now: int
) -> None:
    """Store the state of a window; the caller holds the lock of the session's row."""
    tx.run(
        "INSERT INTO windows (space, session, window_from, state, summary, updated) "
        "VALUES (:space, :session, :window_from, :state, :summary, :now) "
        "ON CONFLICT (space, session) DO UPDATE SET window_from = excluded.window_from, "
        "state = excluded.state, summary = excluded.summary, updated = excluded.updated",
        {
            "session": session,
            "window_from": window_from,
            "state": state,
            "summary": summary,
            "now": now,
        },
    )
