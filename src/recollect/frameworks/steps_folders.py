"""Values under keys in folders, stored as documents for other frameworks.

A change closes one revision of the document and opens the next; a removed value is closed, not
erased. Values are never part of a briefing, and their label is `agent` at most.
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


class Owner(NamedTuple):
    """The framework that records belong to, the origin of the caller, and the time."""

    framework: str
    origin: str
    now: int

    @property
    def type(self) -> str:
        """Return the type of the documents that hold its values."""
        return f"kept:{self.framework}"

    @property
    def state_key(self) -> str:
        return f"shelf {self.framework}"  # written by every version so far


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


def put_values(tx: Tx, owner: Owner, puts: Sequence[PutValue]) -> None:
    """Store or remove values."""
    label, now = trust.least_trusted((owner.origin, "agent")), owner.now
    turn, soonest = lock_records(tx, owner)
    for item in puts:
        address = _make_address(owner, item.folder, item.key)
        current = documents_sql.get_document(tx, address, hold=True)
        if current:
            _remove(tx, address, now)
        if item.value is None:
            continue
        turn += current is None
        before = current.fields if current and not _is_expired(current, now) else {}
        fields = {"created": now, "turn": turn, **before, "vectors": item.vectors}
        fields |= {"life": item.life, "expires": now + item.life if item.life else FOREVER}
        soonest = min(soonest, fields["expires"])
        row = documents_sql.DocumentRow(
            address=redaction.check_path(address),
            revision=documents_sql.last_revision(tx, address) + 1,
            type=owner.type,
            title=redaction.redact(item.key),
            text=redaction.redact_json(item.value).text,
            fields=redaction.redact_json(fields).text,
            layer="project",
            owner=redaction.check_path(_encode_folder(item.folder)),
            status="active",
            origin=label,
            label=label,
            sources=redaction.redact("[]"),
            valid_from=now,
            valid_to=FOREVER,
        )
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
    _set_state(tx, owner, turn, soonest)


def _remove(tx: Tx, address: str, now: int) -> None:
    documents_sql.close_document(tx, address, now)
    index_sql.remove_entry(tx, "document", address)


def get_value(tx: Tx, owner: Owner, folder: Folder, key: str) -> StoredValue | None:
    """Return the value with a key; None if there is none or it expired."""
    document = documents_sql.get_document(tx, _make_address(owner, folder, key))
    return None if document is None or _is_expired(document, owner.now) else _load_value(document)


def list_below(tx: Tx, owner: Owner, folder: Folder) -> list[StoredValue]:
    """Return the values in a folder and its subfolders, newest first."""
    found = documents_sql.list_below(tx, owner.type, _encode_folder(folder))
    return [_load_value(document) for document in found if not _is_expired(document, owner.now)]


def list_last(tx: Tx, owner: Owner, folder: Folder, limit: int) -> list[StoredValue]:
    """Return the values with the highest keys in a folder, highest first."""
    found = documents_sql.list_last(tx, owner.type, _encode_folder(folder), limit)
    return [_load_value(document) for document in found]


def list_folders(tx: Tx, owner: Owner, folder: Folder = ()) -> list[tuple[Folder, int]]:
    """Return the folders that hold a value with the time of their last write."""
    named = documents_sql.list_owners(tx, owner.type, _encode_folder(folder))
    return [(_decode_folder(name), at) for name, at in named]


def clear_folder(tx: Tx, owner: Owner, folder: Folder) -> None:
    """Remove all values in a folder and its subfolders; none of them may be indexed."""
    documents_sql.close_below(tx, owner.type, _encode_folder(folder), owner.now)


def find_matches(tx: Tx, owner: Owner, query: str) -> dict[str, float]:
    """Return the addresses of values that contain words of a query, with scores."""
    asked = terms.query_terms(query)
    if not asked:
        return {}
    wanted = list(dict.fromkeys([*asked, *terms.stem_all(asked)]))
    kinds = {"source": ("document",), "kind": (owner.type,)}
    return {
        item.ref: item.score for item in index_sql.find_candidates(tx, wanted, _MOST_MATCHES, kinds)
    }


def renew_values(tx: Tx, owner: Owner, addresses: Sequence[str]) -> None:
    """Restart the lifetime of values that were read."""
    for address in addresses:
        document = documents_sql.get_document(tx, address, hold=True)
        if document and document.fields.get("life"):
            fields = {**document.fields, "expires": owner.now + int(document.fields["life"])}
            documents_sql.set_fields(tx, address, redaction.redact_json(fields).text)


def remove_expired(tx: Tx, owner: Owner) -> int:
    """Remove expired values and return their number."""
    turn, _ = lock_records(tx, owner)
    every = documents_sql.list_below(tx, owner.type, "")
    expired = [item for item in every if _is_expired(item, owner.now)]
    for document in expired:
        _remove(tx, document.address, owner.now)
    left = (item.fields["expires"] for item in every if not _is_expired(item, owner.now))
    _set_state(tx, owner, turn, min(left, default=FOREVER))
    return len(expired)


def lock_records(tx: Tx, owner: Owner) -> tuple[int, int]:
    """Lock a framework's records until the commit; return their number and the earliest expiry.

    Writers that read first take this lock before reading.
    """
    turn, soonest = json.loads(storage_sql.lock_value(tx, owner.state_key, _NEW, owner.now))
    return int(turn), int(soonest)


def may_have_expired(tx: Tx, owner: Owner) -> bool:
    """Check whether a value of the framework may have expired."""
    return bool(json.loads(storage_sql.get_value(tx, owner.state_key) or _NEW)[1] <= owner.now)


# ---------------------------------------------------------------- as documents


def _set_state(tx: Tx, owner: Owner, turn: int, soonest: int) -> None:
    state = redaction.redact_json([turn, soonest]).text
    storage_sql.set_value(tx, owner.state_key, state, owner.now)


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


def _make_address(owner: Owner, folder: Folder, key: str) -> str:
    path = f"{_encode_folder(folder)}{_encode_label(key)}"
    if len(path) > _LONGEST:
        path = f"{path[:_LONGEST]}~{messages.text_digest(path)[:24]}"
    return f"memory://kept/{owner.framework}/{path}"
