"""Shelves: values in folders, under keys, as other frameworks keep and ask for them.

A value is a document like any other: a change ends one revision and begins the next, and what was
taken away is ended, not erased. A shelf is never read for a briefing, and whoever puts something
there is an agent at best: it is data, not the user's word. It knows no framework.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ..documents import sql as documents_sql
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages, terms
from ..types import trust
from ..types.records import FOREVER, Document, Json

Folder = tuple[str, ...]
_LONGEST = 300
_MOST_MATCHES = 1_000
_NEW = redaction.redact(f"[0,{FOREVER}]")
"""How many keys came so far, and the soonest that something is over."""


class PutValue(NamedTuple):
    """A value to keep; None takes away what is there. `words` is what it is found by, `vectors`
    what it is near to, `life` how many microseconds it lives after it was last asked for."""

    folder: Folder
    key: str
    value: Json
    words: str = ""
    vectors: Sequence[Sequence[float]] = ()
    life: int = 0


class StoredValue(NamedTuple):
    """A value as it is kept. `turn` says in which order new keys came."""

    folder: Folder
    key: str
    value: Json
    created: int
    updated: int
    turn: int
    life: int
    vectors: Sequence[Sequence[float]]
    address: str


def put_values(tx: Tx, shelf: str, puts: Sequence[PutValue], origin: str, now: int) -> None:
    """Keep values, each at its place."""
    label = trust.least_trusted((origin, "agent"))
    turn, soonest = lock_shelf(tx, shelf, now)
    for item in puts:
        address = _make_address(shelf, item)
        there = documents_sql.get_document(tx, address, hold=True)
        if there:
            documents_sql.close_document(tx, address, now)
            index_sql.remove_entry(tx, "document", address)
        if item.value is None:
            continue
        turn += there is None
        revision = documents_sql.last_revision(tx, address) + 1
        before = there.fields if there and not _is_expired(there, now) else {}
        fields = {"created": now, "turn": turn, **before, "vectors": item.vectors}
        fields |= {"life": item.life, "expires": now + item.life if item.life else FOREVER}
        soonest = min(soonest, fields["expires"])
        row = _make_row(shelf, address, item, label, now)
        row = row._replace(revision=revision, fields=redaction.redact_json(fields).text)
        documents_sql.insert_document(tx, row)
        if item.words:
            entry = index_sql.IndexEntry(
                "document", address, row.type, "project", "", "active", label, 0, now
            )
            index_steps.index_text(tx, entry, item.words)
    _set_state(tx, shelf, turn, soonest, now)


def get_value(tx: Tx, shelf: str, folder: Folder, key: str, now: int) -> StoredValue | None:
    """The value at a place."""
    document = documents_sql.get_document(tx, _make_address(shelf, PutValue(folder, key, None)))
    return None if document is None or _is_expired(document, now) else _load_value(document)


def list_below(tx: Tx, shelf: str, folder: Folder, now: int) -> list[StoredValue]:
    """The values in a folder and in those inside of it, the newest first."""
    found = documents_sql.list_below(tx, _document_type(shelf), _encode_folder(folder))
    return [_load_value(document) for document in found if not _is_expired(document, now)]


def list_last(tx: Tx, shelf: str, folder: Folder, limit: int) -> list[StoredValue]:
    """The values in a folder with the highest keys, the highest first."""
    found = documents_sql.list_last(tx, _document_type(shelf), _encode_folder(folder), limit)
    return [_load_value(document) for document in found]


def list_folders(tx: Tx, shelf: str, folder: Folder) -> list[tuple[Folder, int]]:
    """The folders that hold a value, and when each was written to last."""
    named = documents_sql.list_owners(tx, _document_type(shelf), _encode_folder(folder))
    return [(_decode_folder(owner), at) for owner, at in named]


def clear_folder(tx: Tx, shelf: str, folder: Folder, now: int) -> None:
    """Take away all values in a folder and in those inside of it; none of them is indexed."""
    documents_sql.close_below(tx, _document_type(shelf), _encode_folder(folder), now)


def find_matches(tx: Tx, shelf: str, query: str) -> dict[str, float]:
    """The addresses of values that hold words of a query, with how well they match."""
    asked = terms.query_terms(query)
    if not asked:
        return {}
    wanted = list(dict.fromkeys([*asked, *terms.stem_all(asked)]))
    kinds = {"source": ("document",), "kind": (_document_type(shelf),)}
    return {
        item.ref: item.score for item in index_sql.find_candidates(tx, wanted, _MOST_MATCHES, kinds)
    }


def renew_values(tx: Tx, addresses: Sequence[str], now: int) -> None:
    """Values that were asked for live on from now."""
    for address in addresses:
        document = documents_sql.get_document(tx, address, hold=True)
        if document and document.fields.get("life"):
            fields = {**document.fields, "expires": now + int(document.fields["life"])}
            documents_sql.set_fields(tx, address, redaction.redact_json(fields).text)


def remove_expired(tx: Tx, shelf: str, now: int) -> int:
    """Take away what is over; gives how many there were."""
    turn, _ = lock_shelf(tx, shelf, now)
    every = documents_sql.list_below(tx, _document_type(shelf), "")
    over = [item for item in every if _is_expired(item, now)]
    for document in over:
        documents_sql.close_document(tx, document.address, now)
        index_sql.remove_entry(tx, "document", document.address)
    left = (item.fields["expires"] for item in every if not _is_expired(item, now))
    _set_state(tx, shelf, turn, min(left, default=FOREVER), now)
    return len(over)


def lock_shelf(tx: Tx, shelf: str, now: int) -> tuple[int, int]:
    """Have the shelf to oneself until the commit: whoever looks before it puts waits here first.
    Gives how many keys it ever had, and the soonest that something on it is over."""
    turn, soonest = json.loads(storage_sql.lock_value(tx, _state_key(shelf), _NEW, now))
    return int(turn), int(soonest)


def may_have_expired(tx: Tx, shelf: str, now: int) -> bool:
    """Whether something on the shelf may be over."""
    return bool(json.loads(storage_sql.get_value(tx, _state_key(shelf)) or _NEW)[1] <= now)


# ---------------------------------------------------------------- as documents


def _document_type(shelf: str) -> str:
    return f"kept:{shelf}"


def _state_key(shelf: str) -> str:
    return f"shelf {shelf}"


def _set_state(tx: Tx, shelf: str, turn: int, soonest: int, now: int) -> None:
    storage_sql.set_value(tx, _state_key(shelf), redaction.redact_json([turn, soonest]).text, now)


def _is_expired(document: Document, now: int) -> bool:
    return bool(document.fields["expires"] <= now)


def _load_value(document: Document) -> StoredValue:
    noted = document.fields
    return StoredValue(
        _decode_folder(document.owner),
        document.title,
        json.loads(document.text),
        int(noted["created"]),
        document.valid_from,
        int(noted["turn"]),
        int(noted["life"]),
        noted["vectors"],
        document.address,
    )


def _encode_folder(folder: Folder) -> str:
    """A folder as the owner of documents: no other folder's begins so, but those inside of it."""
    return "".join(f"{_encode_label(label)}/" for label in folder)


def _decode_folder(lead: str) -> Folder:
    from urllib.parse import unquote

    return tuple(unquote(part, errors="surrogatepass") for part in lead.split("/")[:-1])


def _encode_label(label: str) -> str:
    from urllib.parse import quote

    return quote(redaction.check_name(label, "name"), safe="", errors="surrogatepass")


def _make_address(shelf: str, item: PutValue) -> str:
    path = f"{_encode_folder(item.folder)}{_encode_label(item.key)}"
    if len(path) > _LONGEST:
        path = f"{path[:_LONGEST]}~{messages.text_digest(path)[:24]}"
    return f"memory://kept/{shelf}/{path}"


def _make_row(
    shelf: str, address: str, item: PutValue, label: str, now: int
) -> documents_sql.DocumentRow:
    return documents_sql.DocumentRow(
        address=redaction.check_path(address, "name"),
        revision=1,
        type=_document_type(shelf),
        title=redaction.redact(item.key),
        text=redaction.redact_json(item.value).text,
        fields=redaction.redact("{}"),
        layer="project",
        owner=redaction.check_path(_encode_folder(item.folder), "name"),
        status="active",
        origin=label,
        label=label,
        sources=redaction.redact("[]"),
        valid_from=now,
        valid_to=FOREVER,
    )
