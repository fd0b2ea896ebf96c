"""Scratch: notes under a key, for the work at hand. They are documents like any other."""

from __future__ import annotations

from functools import partial

from ..errors import NotFound
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import names, redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..storage.rows import readable
from ..text import addresses, terms
from ..types.records import FOREVER, Document
from . import sql

TYPE = "scratch"


def address_of(key: str) -> str:
    """Keys are names, not paths."""
    return f"memory://scratch/{addresses.check_key(key)}"


def store(tx: Tx, key: str, text: str, origin: str, now: int, once: str = "") -> Document:
    """Write a value; the one before it stays in history. The same `once` writes only once."""
    address = names.checked_path(address_of(key), "name")
    write, clean = f"store {address} {once}", redaction.safe(text)
    if once and storage_sql.written(tx, write, clean) and (there := sql.get(tx, address)):
        return there
    sql.get(tx, address, hold=True)
    sql.close(tx, address, now)
    title = redaction.safe(key)
    row = sql.DocumentRow(
        address=address,
        revision=sql.last_revision(tx, address) + 1,
        type=TYPE,
        title=title,
        text=clean,
        fields=redaction.scrub_json({}).text,
        layer="session",
        owner=redaction.safe(""),
        status="active",
        origin=origin,
        label=origin,
        sources=redaction.scrub_json([]).text,
        valid_from=now,
        valid_to=FOREVER,
    )
    sql.insert(tx, row)
    stored = retrieve(tx, key)
    index_steps.put_document(tx, stored)
    if once:
        storage_sql.note_write(tx, write, "store", address, now, clean)
    return stored


def retrieve(tx: Tx, key: str) -> Document:
    """The value under a key."""
    document = sql.get(tx, address_of(key))
    if document is None:
        raise NotFound(
            f"nothing is stored under {key!r}",
            where=address_of(key),
            hint="`recollect scratch list` shows the keys"
            + ("; a memory is hidden with `recollect hide`" if key.startswith("m-") else ""),
        )
    return document


def listing(tx: Tx, limit: int) -> list[Document]:
    """All values, by key."""
    return sql.listing(tx, TYPE, limit)


def delete(tx: Tx, key: str, now: int) -> Document:
    """End a value: it is no longer found; its history stays in the store."""
    document = retrieve(tx, key)
    sql.close(tx, document.address, now)
    index_sql.remove(tx, "document", document.address)
    return document


def find(tx: Tx, query: str, limit: int) -> list[Document]:
    """Values that hold words of the query, best first."""
    asked = terms.query_stems(query)
    found = index_sql.candidates(tx, asked, limit, {"source": ("document",), "kind": (TYPE,)})
    hits = [readable(partial(sql.get, tx, item.ref)) for item in found]
    return [document for document in hits if document is not None]
