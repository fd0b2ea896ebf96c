"""Documents: texts at `memory://` addresses, each change a new revision.

Notes, continuity, checkpoints, ledgers, handoffs, task artifacts and scratch differ in
address and fields, not in storage.
"""

from __future__ import annotations

from ..fast_typing import NamedTuple
from ..storage.database import Row, Tx, list_columns, list_parameters, load_json
from ..types.records import FOREVER, Document, SafeText

_COLUMNS = Document._fields

_SELECT = f"SELECT {list_columns(_COLUMNS)} FROM documents WHERE space = :space"


class DocumentRow(NamedTuple):
    """A document as it is written."""

    address: SafeText
    revision: int
    type: str
    title: SafeText
    text: SafeText
    fields: SafeText
    layer: str
    owner: SafeText
    status: str
    origin: str
    label: str
    sources: SafeText
    valid_from: int
    valid_to: int


def get_document(tx: Tx, address: str, hold: bool = False) -> Document | None:
    """The open revision at an address; with `hold`, nobody else changes it before the commit."""
    row = tx.one(
        f"{_SELECT} AND address = :address AND valid_to = {FOREVER} "
        + (tx.for_update if hold else ""),
        {"address": address},
    )
    return _document(row) if row else None


def insert_document(tx: Tx, row: DocumentRow) -> None:
    """Write an open revision."""
    tx.run(
        f"INSERT INTO documents (space, {list_columns(_COLUMNS)}) "
        f"VALUES (:space, {list_parameters(_COLUMNS)})",
        row._asdict(),
    )


def close_document(tx: Tx, address: str, now: int) -> bool:
    """End the open revision; false when there is none."""
    row = tx.one(
        "UPDATE documents SET valid_to = :now WHERE space = :space AND address = :address "
        f"AND valid_to = {FOREVER} RETURNING revision",
        {"address": address, "now": now},
    )
    return row is not None


def list_documents(tx: Tx, type: str, limit: int, owner: str = "") -> list[Document]:
    """Open documents of a type, by address."""
    mine = "AND owner = :owner " if owner else ""
    rows = tx.run(
        f"{_SELECT} AND type = :type AND valid_to = {FOREVER} {mine}ORDER BY address LIMIT :limit",
        {"type": type, "owner": owner, "limit": limit},
    )
    return [_document(row) for row in rows]


def list_below(tx: Tx, type: str, lead: str) -> list[Document]:
    """Open documents of a type whose owner begins so; exactly so, not by a pattern."""
    rows = tx.run(
        f"{_SELECT} AND type = :type AND valid_to = {FOREVER} "
        "AND substr(owner, 1, :length) = :lead ORDER BY valid_from DESC, address",
        {"type": type, "lead": lead, "length": len(lead)},
    )
    return [_document(row) for row in rows]


def list_last(tx: Tx, type: str, owner: str, limit: int) -> list[Document]:
    """The open documents of an owner with the highest addresses, the highest first."""
    rows = tx.run(
        f"{_SELECT} AND type = :type AND owner = :owner AND valid_to = {FOREVER} "
        "ORDER BY address DESC LIMIT :limit",
        {"type": type, "owner": owner, "limit": limit},
    )
    return [_document(row) for row in rows]


def close_below(tx: Tx, type: str, lead: str, now: int) -> None:
    """End every open document of a type whose owner begins so."""
    tx.run(
        "UPDATE documents SET valid_to = :now WHERE space = :space AND type = :type "
        f"AND valid_to = {FOREVER} AND substr(owner, 1, :length) = :lead",
        {"type": type, "lead": lead, "length": len(lead), "now": now},
    )


def list_owners(tx: Tx, type: str, lead: str = "") -> list[tuple[str, int]]:
    """Whose open documents of a type there are, and when each was written to last."""
    rows = tx.run(
        "SELECT owner, max(valid_from) FROM documents WHERE space = :space AND type = :type "
        f"AND valid_to = {FOREVER} AND substr(owner, 1, :length) = :lead "
        "GROUP BY owner ORDER BY owner",
        {"type": type, "lead": lead, "length": len(lead)},
    )
    return [(row[0], int(row[1])) for row in rows]


def set_fields(tx: Tx, address: str, fields: SafeText) -> None:
    """Change what is noted beside the open revision at an address, not its text."""
    tx.run(
        "UPDATE documents SET fields = :fields WHERE space = :space AND address = :address "
        f"AND valid_to = {FOREVER}",
        {"address": address, "fields": fields},
    )


def last_revision(tx: Tx, address: str) -> int:
    """The highest revision ever written at an address; 0 when there is none."""
    row = tx.one(
        "SELECT coalesce(max(revision), 0) FROM documents "
        "WHERE space = :space AND address = :address",
        {"address": address},
    )
    return int(row[0]) if row else 0


def count_by_type(tx: Tx) -> list[Row]:
    """Type and how many open documents have it."""
    return tx.run(
        f"SELECT type, count(*) FROM documents WHERE space = :space AND valid_to = {FOREVER} "
        "GROUP BY type ORDER BY type"
    )


def _document(row: Row) -> Document:
    document = Document(*row)
    return document._replace(fields=load_json(row[5]), sources=load_json(row[11]))


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


_COLUMNS_EVENTS = EventRow._fields


def append_event(tx: Tx, row: EventRow) -> None:
    """Write an event."""
    tx.run(
        f"INSERT INTO events (space, {list_columns(_COLUMNS_EVENTS)}) "
        f"VALUES (:space, {list_parameters(_COLUMNS_EVENTS)})",
        row._asdict(),
    )


def list_events(tx: Tx, subject: str, limit: int) -> list[EventRow]:
    """The last events about something, oldest first."""
    rows = tx.run(
        f"SELECT {list_columns(_COLUMNS_EVENTS)} FROM events "
        "WHERE space = :space AND subject = :subject "
        "ORDER BY at DESC, id DESC LIMIT :limit",
        {"subject": subject, "limit": limit},
    )
    return [EventRow(*row) for row in reversed(rows)]
