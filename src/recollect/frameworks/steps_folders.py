"""Values under keys in folders, stored as documents for other frameworks.

A change ends one revision of the document and begins the next; a removed value is ended, not
erased. Values are never part of a briefing and are trusted as an agent's at most.
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
"""The number of keys so far, and the earliest expiry."""


class PutValue(NamedTuple):
    """A value to store; None removes it.

    words: the text it is found by
    vectors: its embeddings
    life: microseconds until it expires after the last read; 0 for never
    """

    folder: Folder
    key: str
    value: Json
    words: str = ""
    vectors: Sequence[Sequence[float]] = ()
    life: int = 0


class StoredValue(NamedTuple):
    """A stored value. `turn` is the number of its key in the order of creation."""

    folder: Folder
    key: str
    value: Json
    created: int
    updated: int
    turn: int
    life: int
    vectors: Sequence[Sequence[float]]
    address: str


def put_values(tx: Tx, framework: str, puts: Sequence[PutValue], origin: str, now: int) -> None:
    """Store or remove values."""
    label = trust.least_trusted((origin, "agent"))
    turn, soonest = lock_records(tx, framework, now)
    for item in puts:
        address = _make_address(framework, item)
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
        row = _make_row(framework, address, item, label, now)
        row = row._replace(revision=revision, fields=redaction.redact_json(fields).text)
        documents_sql.insert_document(tx, row)
        if item.words:
            entry = index_sql.IndexEntry(
                source="document",
                ref=address,
                kind=row.type,
                layer="project",
                owner="",
                status="active",
                label=label,
                seq=0,
                at=now,
            )
            index_steps.index_text(tx, entry, item.words)
    _set_state(tx, framework, turn, soonest, now)


def get_value(tx: Tx, framework: str, folder: Folder, key: str, now: int) -> StoredValue | None:
    """Return the value with a key; None if there is none or it expired."""
    document = documents_sql.get_document(tx, _make_address(framework, PutValue(folder, key, None)))
    return None if document is None or _is_expired(document, now) else _load_value(document)


def list_below(tx: Tx, framework: str, folder: Folder, now: int) -> list[StoredValue]:
    """Return the values in a folder and its subfolders, newest first."""
    found = documents_sql.list_below(tx, _document_type(framework), _encode_folder(folder))
    return [_load_value(document) for document in found if not _is_expired(document, now)]


def list_last(tx: Tx, framework: str, folder: Folder, limit: int) -> list[StoredValue]:
    """Return the values with the highest keys in a folder, highest first."""
    found = documents_sql.list_last(tx, _document_type(framework), _encode_folder(folder), limit)
    return [_load_value(document) for document in found]


def list_folders(tx: Tx, framework: str, folder: Folder) -> list[tuple[Folder, int]]:
    """Return the folders that hold a value with the time of their last write."""
    named = documents_sql.list_owners(tx, _document_type(framework), _encode_folder(folder))
    return [(_decode_folder(owner), at) for owner, at in named]


def clear_folder(tx: Tx, framework: str, folder: Folder, now: int) -> None:
    """Remove all values in a folder and its subfolders; none of them may be indexed."""
    documents_sql.close_below(tx, _document_type(framework), _encode_folder(folder), now)


def find_matches(tx: Tx, framework: str, query: str) -> dict[str, float]:
    """Return the addresses of values that contain words of a query, with scores."""
    asked = terms.query_terms(query)
    if not asked:
        return {}
    wanted = list(dict.fromkeys([*asked, *terms.stem_all(asked)]))
    kinds = {"source": ("document",), "kind": (_document_type(framework),)}
    return {
        item.ref: item.score for item in index_sql.find_candidates(tx, wanted, _MOST_MATCHES, kinds)
    }


def renew_values(tx: Tx, addresses: Sequence[str], now: int) -> None:
    """Restart the lifetime of values."""
    for address in addresses:
        document = documents_sql.get_document(tx, address, hold=True)
        if document and document.fields.get("life"):
            fields = {**document.fields, "expires": now + int(document.fields["life"])}
            documents_sql.set_fields(tx, address, redaction.redact_json(fields).text)


def remove_expired(tx: Tx, framework: str, now: int) -> int:
    """Remove expired values and return their number."""
    turn, _ = lock_records(tx, framework, now)
    every = documents_sql.list_below(tx, _document_type(framework), "")
    over = [item for item in every if _is_expired(item, now)]
    for document in over:
        documents_sql.close_document(tx, document.address, now)
        index_sql.remove_entry(tx, "document", document.address)
    left = (item.fields["expires"] for item in every if not _is_expired(item, now))
    _set_state(tx, framework, turn, min(left, default=FOREVER), now)
    return len(over)


def lock_records(tx: Tx, framework: str, now: int) -> tuple[int, int]:
    """Lock a framework's records until the commit; return their number and the earliest expiry.

    Writers that read first take this lock before reading.
    """
    turn, soonest = json.loads(storage_sql.lock_value(tx, _state_key(framework), _NEW, now))
    return int(turn), int(soonest)


def may_have_expired(tx: Tx, framework: str, now: int) -> bool:
    """Check whether a value of the framework may have expired."""
    return bool(json.loads(storage_sql.get_value(tx, _state_key(framework)) or _NEW)[1] <= now)


# ---------------------------------------------------------------- as documents


def _document_type(framework: str) -> str:
    return f"kept:{framework}"


def _state_key(framework: str) -> str:
    return f"shelf {framework}"  # written by every version so far


def _set_state(tx: Tx, framework: str, turn: int, soonest: int, now: int) -> None:
    storage_sql.set_value(
        tx, _state_key(framework), redaction.redact_json([turn, soonest]).text, now
    )


def _is_expired(document: Document, now: int) -> bool:
    return bool(document.fields["expires"] <= now)


def _load_value(document: Document) -> StoredValue:
    fields = document.fields
    return StoredValue(
        folder=_decode_folder(document.owner),
        key=document.title,
        value=json.loads(document.text),
        created=int(fields["created"]),
        updated=document.valid_from,
        turn=int(fields["turn"]),
        life=int(fields["life"]),
        vectors=fields["vectors"],
        address=document.address,
    )


def _encode_folder(folder: Folder) -> str:
    """Return a folder as the owner of documents; only its subfolders share this prefix."""
    return "".join(f"{_encode_label(label)}/" for label in folder)


def _decode_folder(lead: str) -> Folder:
    from urllib.parse import unquote

    return tuple(unquote(part, errors="surrogatepass") for part in lead.split("/")[:-1])


def _encode_label(label: str) -> str:
    from urllib.parse import quote

    return quote(redaction.check_name(label, "name"), safe="", errors="surrogatepass")


def _make_address(framework: str, item: PutValue) -> str:
    path = f"{_encode_folder(item.folder)}{_encode_label(item.key)}"
    if len(path) > _LONGEST:
        path = f"{path[:_LONGEST]}~{messages.text_digest(path)[:24]}"
    return f"memory://kept/{framework}/{path}"


def _make_row(
    framework: str, address: str, item: PutValue, label: str, now: int
) -> documents_sql.DocumentRow:
    return documents_sql.DocumentRow(
        address=redaction.check_path(address),
        revision=1,
        type=_document_type(framework),
        title=redaction.redact(item.key),
        text=redaction.redact_json(item.value).text,
        fields=redaction.redact("{}"),
        layer="project",
        owner=redaction.check_path(_encode_folder(item.folder)),
        status="active",
        origin=label,
        label=label,
        sources=redaction.redact("[]"),
        valid_from=now,
        valid_to=FOREVER,
    )
