"""Documents: texts at `memory://` addresses, each change a new revision; and the event log.

Notes, continuity, checkpoints, ledgers, handoffs, task artifacts and scratch differ in address and
fields, not in storage. Events (gates, consolidations) are a log for people: no decision reads them.
"""

from __future__ import annotations

from ..fast_typing import NamedTuple
from ..storage.database import Row, Tx, list_columns, list_shown, load_json
from ..types.records import FOREVER, Document, SafeText

_COLUMNS = Document._fields


def _list_open(tx: Tx, where: str, **given: object) -> list[Document]:
    """Return the open revisions that match a WHERE condition, which may end in ORDER BY … LIMIT."""
    return [_document(row) for row in tx.run(_select_open(tx, where), given)]


def _select_open(tx: Tx, where: str) -> str:
    return (
        f"SELECT {list_shown(tx, 'documents', _COLUMNS)} FROM documents "
        f"WHERE space = :space AND valid_to = {FOREVER} AND {where}"
    )


def _document(row: Row) -> Document:
    raw = Document._make(row)
    return raw._replace(fields=load_json(str(raw.fields)), sources=load_json(str(raw.sources)))


class DocumentRow(NamedTuple):
    """A document as it is written to the table."""

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
    """Return the open revision at an address; with `hold`, lock it until the commit."""
    locked = tx.for_update if hold else ""
    # `one` raises for a row that cannot be decoded; lists leave it out.
    row = tx.one(_select_open(tx, f"address = :address {locked}"), {"address": address})
    return _document(row) if row else None


def insert_document(tx: Tx, row: DocumentRow) -> None:
    """Insert an open revision."""
    tx.insert("documents", list_columns(_COLUMNS), [row])


def close_document(tx: Tx, address: str, now: int) -> bool:
    """Close the open revision; return false without one."""
    row = tx.one(
        "UPDATE documents SET valid_to = :now WHERE space = :space AND address = :address "
        f"AND valid_to = {FOREVER} RETURNING revision",
        {"address": address, "now": now},
    )
    return row is not None


def list_documents(tx: Tx, type: str, limit: int, owner: str = "") -> list[Document]:
    """List the open documents of a type, by address."""
    mine = "AND owner = :owner " if owner else ""
    where = f"type = :type {mine}ORDER BY address LIMIT :limit"
    return _list_open(tx, where, type=type, owner=owner, limit=limit)


def list_below(tx: Tx, type: str, lead: str) -> list[Document]:
    """List the open documents of a type whose owner has a literal prefix, newest first."""
    where = "type = :type AND substr(owner, 1, :length) = :lead ORDER BY valid_from DESC, address"
    return _list_open(tx, where, type=type, lead=lead, length=len(lead))


def list_last(tx: Tx, type: str, owner: str, limit: int) -> list[Document]:
    """List the open documents of an owner with the highest addresses, highest first."""
    where = "type = :type AND owner = :owner ORDER BY address DESC LIMIT :limit"
    return _list_open(tx, where, type=type, owner=owner, limit=limit)


def close_below(tx: Tx, type: str, lead: str, now: int) -> None:
    """Close all open documents of a type whose owner has a literal prefix."""
    tx.run(
        "UPDATE documents SET valid_to = :now WHERE space = :space AND type = :type "
        f"AND valid_to = {FOREVER} AND substr(owner, 1, :length) = :lead",
        {"type": type, "lead": lead, "length": len(lead), "now": now},
    )


def list_owners(tx: Tx, type: str, lead: str = "") -> list[tuple[str, int]]:
    """List the owners of open documents of a type, and when each was last written."""
    rows = tx.run(
        "SELECT owner, max(valid_from) FROM documents WHERE space = :space AND type = :type "
        f"AND valid_to = {FOREVER} AND substr(owner, 1, :length) = :lead "
        "GROUP BY owner ORDER BY owner",
        {"type": type, "lead": lead, "length": len(lead)},
    )
    return [(row[0], int(row[1])) for row in rows]


def set_fields(tx: Tx, address: str, fields: SafeText) -> None:
    """Update the fields of the open revision at an address, not its text."""
    tx.run(
        "UPDATE documents SET fields = :fields WHERE space = :space AND address = :address "
        f"AND valid_to = {FOREVER}",
        {"address": address, "fields": fields},
    )


def had_text(tx: Tx, address: str, text: str) -> bool:
    """Check whether any revision at an address has this text."""
    row = tx.one(
        "SELECT 1 FROM documents WHERE space = :space AND address = :address AND text = :text "
        "LIMIT 1",
        {"address": address, "text": text},
    )
    return row is not None


def last_revision(tx: Tx, address: str) -> int:
    """Return the highest revision ever written at an address; 0 without one."""
    row = tx.one(
        "SELECT coalesce(max(revision), 0) FROM documents "
        "WHERE space = :space AND address = :address",
        {"address": address},
    )
    return int(row[0]) if row else 0


def count_by_type(tx: Tx) -> list[Row]:
    """Count the open documents by type."""
    return tx.run(
        f"SELECT type, count(*) FROM documents WHERE space = :space AND valid_to = {FOREVER} "
        "GROUP BY type ORDER BY type"
    )


class EventRow(NamedTuple):
    """An event about `subject`; `payload` is JSON."""

    id: str
    subject: str
    trace: SafeText
    agent: SafeText
    phase: SafeText
    type: SafeText
    payload: SafeText
    at: int


_EVENT_COLUMNS = EventRow._fields


def append_event(tx: Tx, row: EventRow) -> None:
    """Append an event."""
    tx.insert("events", list_columns(_EVENT_COLUMNS), [row])


def list_events(tx: Tx, subject: str, limit: int) -> list[EventRow]:
    """List the last events about a subject, oldest first."""
    rows = tx.run(
        f"SELECT {list_columns(_EVENT_COLUMNS)} FROM events "
        "WHERE space = :space AND subject = :subject ORDER BY at DESC, id DESC LIMIT :limit",
        {"subject": subject, "limit": limit},
    )
    return [EventRow._make(row) for row in reversed(rows)]
