"""Scratch: notes under a key, for the work at hand. They are documents like any other."""

from __future__ import annotations

from functools import partial

from ..errors import NotFound
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx, read_or_none
from ..text import addresses, terms
from ..types.records import FOREVER, Document
from . import continuity, sql

SCRATCH = "scratch"


def scratch_address(key: str) -> str:
    """Keys are names, not paths."""
    return f"memory://scratch/{addresses.check_key(key)}"


def store_scratch(tx: Tx, key: str, text: str, origin: str, now: int, once: str = "") -> Document:
    """Write a value; the one before it stays in history. The same `once` writes only once."""
    address = redaction.check_path(scratch_address(key), "name")
    write, clean = f"store {address} {once}", redaction.redact(text)
    if (
        once
        and storage_sql.find_write(tx, write, clean)
        and (there := sql.get_document(tx, address))
    ):
        return there
    sql.get_document(tx, address, hold=True)
    sql.close_document(tx, address, now)
    title = redaction.redact(key)
    row = sql.DocumentRow(
        address=address,
        revision=sql.last_revision(tx, address) + 1,
        type=SCRATCH,
        title=title,
        text=clean,
        fields=redaction.redact_json({}).text,
        layer="session",
        owner=redaction.redact(""),
        status="active",
        origin=origin,
        label=origin,
        sources=redaction.redact_json([]).text,
        valid_from=now,
        valid_to=FOREVER,
    )
    sql.insert_document(tx, row)
    stored = get_scratch(tx, key)
    index_document(tx, stored)
    if once:
        storage_sql.record_write(tx, write, "store", address, now, clean)
    return stored


def get_scratch(tx: Tx, key: str) -> Document:
    """The value under a key."""
    document = sql.get_document(tx, scratch_address(key))
    if document is None:
        raise NotFound(
            f"nothing is stored under {key!r}",
            where=scratch_address(key),
            hint="`recollect scratch list` shows the keys"
            + ("; a memory is hidden with `recollect hide`" if key.startswith("m-") else ""),
        )
    return document


def list_scratch(tx: Tx, limit: int) -> list[Document]:
    """All values, by key."""
    return sql.list_documents(tx, SCRATCH, limit)


def delete_scratch(tx: Tx, key: str, now: int) -> Document:
    """End a value: it is no longer found; its history stays in the store."""
    document = get_scratch(tx, key)
    sql.close_document(tx, document.address, now)
    index_sql.remove_entry(tx, "document", document.address)
    return document


def search_scratch(tx: Tx, query: str, limit: int) -> list[Document]:
    """Values that hold words of the query, best first."""
    asked = terms.query_stems(query)
    found = index_sql.find_candidates(
        tx, asked, limit, {"source": ("document",), "kind": (SCRATCH,)}
    )
    hits = [read_or_none(partial(sql.get_document, tx, item.ref)) for item in found]
    return [document for document in hits if document is not None]


_CHECKPOINTS = "memory://scratch/session_progress"

"""Where the checkpoints of `window.steps` lie."""


def document_entry(kept: Document) -> tuple[index_sql.IndexEntry, str] | None:
    """What a document is found by: its title and its text. A page that we made from memories and
    messages is found by what a person wrote into it, if anything: the others are there already."""
    text = _hand_written(kept) if is_generated(kept) else f"{kept.title}\n{kept.text}"
    if not text.strip():
        return None
    entry = index_sql.IndexEntry(
        "document",
        kept.address,
        kept.type,
        kept.layer,
        kept.owner,
        kept.status,
        kept.label,
        0,
        kept.valid_from,
    )
    return entry, text


def is_generated(kept: Document) -> bool:
    """Whether a document is a page that we made."""
    return kept.type == "continuity" or kept.address.startswith(_CHECKPOINTS)


def _hand_written(kept: Document) -> str:
    if kept.type != "continuity":
        return ""
    written = continuity.parse_continuity(kept.text)
    return "\n".join([*written.relevant, *written.avoid, *written.more])


def index_document(tx: Tx, kept: Document) -> None:
    """Make a document findable by its words of now."""
    found = document_entry(kept)
    if found:
        index_steps.reindex_text(tx, *found)
    else:
        index_sql.remove_entry(tx, "document", kept.address)
