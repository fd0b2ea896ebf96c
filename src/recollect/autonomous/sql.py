"""The ledger of model calls, and the sessions that wait for phase 1."""

from __future__ import annotations

from ..fast_typing import NamedTuple
from ..storage.database import Tx, list_columns


class SpendRow(NamedTuple):
    """One call of a model."""

    id: str
    role: str
    model: str
    purpose: str
    input_tokens: int
    output_tokens: int
    at: int


class WaitingSession(NamedTuple):
    """A session that has grown since it was processed; `last` is its last message."""

    id: str
    last: int
    last_active: int


def insert_call(tx: Tx, row: SpendRow) -> None:
    """Store a call in the ledger before it is made."""
    tx.insert("spend", list_columns(SpendRow._fields), [row])


def correct_call(tx: Tx, id: str, input_tokens: int, output_tokens: int) -> None:
    """Store the actual token counts of a call."""
    tx.run(
        "UPDATE spend SET input_tokens = :given, output_tokens = :answered "
        "WHERE space = :space AND id = :id",
        {"id": id, "given": input_tokens, "answered": output_tokens},
    )


def sum_since(tx: Tx, since: int) -> tuple[int, int]:
    """Return the number of calls since a time, and their tokens."""
    row = tx.one(
        "SELECT count(*), coalesce(sum(input_tokens + output_tokens), 0) FROM spend "
        "WHERE space = :space AND at >= :since",
        {"since": since},
    )
    return (int(row[0]), int(row[1])) if row else (0, 0)


def list_calls(tx: Tx, limit: int) -> list[SpendRow]:
    """Return the latest calls, newest first."""
    rows = tx.run(
        f"SELECT {list_columns(SpendRow._fields)} FROM spend "
        "WHERE space = :space ORDER BY at DESC, id LIMIT :limit",
        {"limit": limit},
    )
    return [SpendRow(*row) for row in rows]


def waiting_sessions(
    tx: Tx, kind: str, since: int, until: int, active_since: int, limit: int
) -> list[WaitingSession]:
    """Return sessions last active between two times that have new messages since their job was
    last queued, the latest first; without those that are still active."""
    rows = tx.run(
        "SELECT s.id, s.next_seq - 1, s.last_active FROM sessions s "
        "LEFT JOIN jobs j ON j.space = s.space AND j.kind = :kind AND j.subject = s.id "
        "WHERE s.space = :space AND s.last_active >= :since AND s.last_active <= :until "
        "AND s.next_seq - 1 > coalesce(j.input_watermark, 0) "
        "AND (s.status = 'ended' OR s.last_active < :active) "
        "ORDER BY s.last_active DESC, s.id LIMIT :limit",
        {"kind": kind, "since": since, "until": until, "active": active_since, "limit": limit},
    )
    return [WaitingSession(row[0], int(row[1]), int(row[2])) for row in rows]
