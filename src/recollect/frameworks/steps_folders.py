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
from ..secrets import names, redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import digests, terms
from ..types import trust
from ..types.records import FOREVER, Document, Json

Folder = tuple[str, ...]
_LONGEST = 300
_MOST_MATCHES = 1_000
_NEW = redaction.safe(f"[0,{FOREVER}]")
"""How many keys came so far, and the soonest that something is over."""


class Put(NamedTuple):
    """A value to keep; None takes away what is there. `words` is what it is found by, `vectors`
    what it is near to, `life` how many microseconds it lives after it was last asked for."""

    folder: Folder
    key: str
    value: Json
    words: str = ""
    vectors: Sequence[Sequence[float]] = ()
    life: int = 0


class Kept(NamedTuple):
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


def put(tx: Tx, shelf: str, puts: Sequence[Put], origin: str, now: int) -> None:
    """Keep values, each at its place."""
    label = trust.least((origin, "agent"))
    turn, soonest = hold(tx, shelf, now)
    for item in puts:
        address = _address(shelf, item)
        there = documents_sql.get(tx, address, hold=True)
        if there:
            documents_sql.close(tx, address, now)
            index_sql.remove(tx, "document", address)
        if item.value is None:
            continue
        turn += there is None
        revision = documents_sql.last_revision(tx, address) + 1
        before = there.fields if there and not _is_over(there, now) else {}
        fields = {"created": now, "turn": turn, **before, "vectors": item.vectors}
        fields |= {"life": item.life, "expires": now + item.life if item.life else FOREVER}
        soonest = min(soonest, fields["expires"])
        row = _row(shelf, address, item, label, now)
        row = row._replace(revision=revision, fields=redaction.scrub_json(fields).text)
        documents_sql.insert(tx, row)
        if item.words:
            entry = index_sql.Entry(
                "document", address, row.type, "project", "", "active", label, 0, now
            )
            index_steps.add(tx, entry, item.words)
    _set_state(tx, shelf, turn, soonest, now)


def get(tx: Tx, shelf: str, folder: Folder, key: str, now: int) -> Kept | None:
    """The value at a place."""
    document = documents_sql.get(tx, _address(shelf, Put(folder, key, None)))
    return None if document is None or _is_over(document, now) else _kept(document)


def below(tx: Tx, shelf: str, folder: Folder, now: int) -> list[Kept]:
    """The values in a folder and in those inside of it, the newest first."""
    found = documents_sql.below(tx, _type(shelf), _lead(folder))
    return [_kept(document) for document in found if not _is_over(document, now)]


def last(tx: Tx, shelf: str, folder: Folder, limit: int) -> list[Kept]:
    """The values in a folder with the highest keys, the highest first."""
    found = documents_sql.last(tx, _type(shelf), _lead(folder), limit)
    return [_kept(document) for document in found]


def folders(tx: Tx, shelf: str, folder: Folder) -> list[tuple[Folder, int]]:
    """The folders that hold a value, and when each was written to last."""
    named = documents_sql.owners(tx, _type(shelf), _lead(folder))
    return [(_folder(owner), at) for owner, at in named]


def clear(tx: Tx, shelf: str, folder: Folder, now: int) -> None:
    """Take away all values in a folder and in those inside of it; none of them is indexed."""
    documents_sql.close_below(tx, _type(shelf), _lead(folder), now)


def matches(tx: Tx, shelf: str, query: str) -> dict[str, float]:
    """The addresses of values that hold words of a query, with how well they match."""
    asked = terms.query_terms(query)
    if not asked:
        return {}
    wanted = list(dict.fromkeys([*asked, *terms.stems(asked)]))
    kinds = {"source": ("document",), "kind": (_type(shelf),)}
    return {item.ref: item.score for item in index_sql.candidates(tx, wanted, _MOST_MATCHES, kinds)}


def touch(tx: Tx, addresses: Sequence[str], now: int) -> None:
    """Values that were asked for live on from now."""
    for address in addresses:
        document = documents_sql.get(tx, address, hold=True)
        if document and document.fields.get("life"):
            fields = {**document.fields, "expires": now + int(document.fields["life"])}
            documents_sql.set_fields(tx, address, redaction.scrub_json(fields).text)


def sweep(tx: Tx, shelf: str, now: int) -> int:
    """Take away what is over; gives how many there were."""
    turn, _ = hold(tx, shelf, now)
    every = documents_sql.below(tx, _type(shelf), "")
    over = [item for item in every if _is_over(item, now)]
    for document in over:
        documents_sql.close(tx, document.address, now)
        index_sql.remove(tx, "document", document.address)
    left = (item.fields["expires"] for item in every if not _is_over(item, now))
    _set_state(tx, shelf, turn, min(left, default=FOREVER), now)
    return len(over)


def hold(tx: Tx, shelf: str, now: int) -> tuple[int, int]:
    """Have the shelf to oneself until the commit: whoever looks before it puts waits here first.
    Gives how many keys it ever had, and the soonest that something on it is over."""
    turn, soonest = json.loads(storage_sql.hold(tx, _state(shelf), _NEW, now))
    return int(turn), int(soonest)


def is_due(tx: Tx, shelf: str, now: int) -> bool:
    """Whether something on the shelf may be over."""
    return bool(json.loads(storage_sql.get(tx, _state(shelf)) or _NEW)[1] <= now)


# ---------------------------------------------------------------- as documents


def _type(shelf: str) -> str:
    return f"kept:{shelf}"


def _state(shelf: str) -> str:
    return f"shelf {shelf}"


def _set_state(tx: Tx, shelf: str, turn: int, soonest: int, now: int) -> None:
    storage_sql.put(tx, _state(shelf), redaction.scrub_json([turn, soonest]).text, now)


def _is_over(document: Document, now: int) -> bool:
    return bool(document.fields["expires"] <= now)


def _kept(document: Document) -> Kept:
    noted = document.fields
    return Kept(
        _folder(document.owner),
        document.title,
        json.loads(document.text),
        int(noted["created"]),
        document.valid_from,
        int(noted["turn"]),
        int(noted["life"]),
        noted["vectors"],
        document.address,
    )


def _lead(folder: Folder) -> str:
    """A folder as the owner of documents: no other folder's begins so, but those inside of it."""
    return "".join(f"{_spelled(label)}/" for label in folder)


def _folder(lead: str) -> Folder:
    from urllib.parse import unquote

    return tuple(unquote(part, errors="surrogatepass") for part in lead.split("/")[:-1])


def _spelled(label: str) -> str:
    from urllib.parse import quote

    return quote(names.checked_name(label, "name"), safe="", errors="surrogatepass")


def _address(shelf: str, item: Put) -> str:
    path = f"{_lead(item.folder)}{_spelled(item.key)}"
    if len(path) > _LONGEST:
        path = f"{path[:_LONGEST]}~{digests.text_digest(path)[:24]}"
    return f"memory://kept/{shelf}/{path}"


def _row(shelf: str, address: str, item: Put, label: str, now: int) -> documents_sql.DocumentRow:
    return documents_sql.DocumentRow(
        address=names.checked_path(address, "name"),
        revision=1,
        type=_type(shelf),
        title=redaction.safe(item.key),
        text=redaction.scrub_json(item.value).text,
        fields=redaction.safe("{}"),
        layer="project",
        owner=names.checked_path(_lead(item.folder), "name"),
        status="active",
        origin=label,
        label=label,
        sources=redaction.safe("[]"),
        valid_from=now,
        valid_to=FOREVER,
    )
