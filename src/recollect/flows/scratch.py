"""Scratch: notes under a key, for the work at hand. They are documents like any other."""

from __future__ import annotations

from functools import partial

from ..core import secret_names, secrets, terms, urls
from ..db.database import Tx
from ..errors import NotFound
from ..store import documents, search, state
from ..store.rows import readable
from ..types import FOREVER, Document
from . import index

TYPE = "scratch"


def address_of(key: str) -> str:
    """Keys are names, not paths."""
    return f"memory://scratch/{urls.check_key(key)}"


def store(tx: Tx, key: str, text: str, origin: str, now: int, once: str = "") -> Document:
    """Write a value; the one before it stays in history. The same `once` writes only once."""
    address = secret_names.checked_path(address_of(key), "name")
    write, clean = f"store {address} {once}", secrets.safe(text)
    if once and state.written(tx, write, clean) and (there := documents.get(tx, address)):
        return there
    documents.get(tx, address, hold=True)
    documents.close(tx, address, now)
    title = secrets.safe(key)
    row = documents.DocumentRow(
        address=address,
        revision=documents.last_revision(tx, address) + 1,
        type=TYPE,
        title=title,
        text=clean,
        fields=secrets.scrub_json({}).text,
        layer="session",
        owner=secrets.safe(""),
        status="active",
        origin=origin,
        label=origin,
        sources=secrets.scrub_json([]).text,
        valid_from=now,
        valid_to=FOREVER,
    )
    documents.insert(tx, row)
    stored = retrieve(tx, key)
    index.put_document(tx, stored)
    if once:
        state.note_write(tx, write, "store", address, now, clean)
    return stored


def retrieve(tx: Tx, key: str) -> Document:
    """The value under a key."""
    document = documents.get(tx, address_of(key))
    if document is None:
        raise NotFound(
            f"nothing is stored under {key!r}",
            where=address_of(key),
            hint="`recollect scratch list` shows the keys"
            + ("; a memory is hidden with `recollect archive`" if key.startswith("m-") else ""),
        )
    return document


def listing(tx: Tx, limit: int) -> list[Document]:
    """All values, by key."""
    return documents.listing(tx, TYPE, limit)


def delete(tx: Tx, key: str, now: int) -> Document:
    """End a value: it is no longer found; its history stays in the store."""
    document = retrieve(tx, key)
    documents.close(tx, document.address, now)
    search.remove(tx, "document", document.address)
    return document


def find(tx: Tx, query: str, limit: int) -> list[Document]:
    """Values that hold words of the query, best first."""
    asked = terms.query_stems(query)
    found = search.candidates(tx, asked, limit, {"source": ("document",), "kind": (TYPE,)})
    hits = [readable(partial(documents.get, tx, item.ref)) for item in found]
    return [document for document in hits if document is not None]
