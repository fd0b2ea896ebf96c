"""The log of gates, consolidations and their like: appended, shown, never read for control."""

from __future__ import annotations

from typing import NamedTuple

from ..storage.database import Tx
from ..storage.rows import columns, values
from ..types.records import SafeText


class EventRow(NamedTuple):
    """An event: `subject` is what it is about, `payload` JSON."""

    id: str
    subject: str
    trace: SafeText
    agent: SafeText
    phase: SafeText
    type: SafeText
    payload: SafeText
    at: int


_COLUMNS = EventRow._fields


def append(tx: Tx, row: EventRow) -> None:
    """Write an event."""
    tx.run(
        f"INSERT INTO events (space, {columns(_COLUMNS)}) VALUES (:space, {values(_COLUMNS)})",
        row._asdict(),
    )


def of_subject(tx: Tx, subject: str, limit: int) -> list[EventRow]:
    """The last events about something, oldest first."""
    rows = tx.run(
        f"SELECT {columns(_COLUMNS)} FROM events WHERE space = :space AND subject = :subject "
        "ORDER BY at DESC, id DESC LIMIT :limit",
        {"subject": subject, "limit": limit},
    )
    return [EventRow(*row) for row in reversed(rows)]
