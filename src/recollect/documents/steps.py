"""Write and index documents; the scratch store (values under keys) and the page CONTINUITY.md."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from functools import partial

from ..errors import NotFound
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx, read_or_none
from ..text import addresses, terms
from ..text.display import quote_data, shorten
from ..types.records import FOREVER, ORIGINS, Document, Json
from . import sql

_CHECKPOINTS = "memory://scratch/session_progress"
"""The address prefix of the checkpoints that `window.steps` writes."""


class NewDocument(NamedTuple):
    """A document to write; secrets are removed when it becomes a row."""

    address: str
    type: str
    title: str
    text: str
    fields: Mapping[str, Json] = {}
    layer: str = "project"
    owner: str = ""


def write_revision(
    tx: Tx, new: NewDocument, origin: str, now: int, label: str = "", if_changed: bool = False
) -> bool:
    """Write the next revision at an address and close the current one; return whether it did.

    if_changed: write nothing if text and fields are the same, and the label is no better
    """
    current = sql.get_document(tx, new.address, hold=True)
    text, fields = redaction.redact(new.text), redaction.redact_json(dict(new.fields)).text
    if if_changed and current and (current.text, current.fields) == (text, json.loads(fields)):
        is_confirmed = ORIGINS.index(label or origin) < ORIGINS.index(current.label)
        if not is_confirmed:
            return False
    row = sql.DocumentRow(
        address=redaction.check_path(new.address),
        revision=sql.last_revision(tx, new.address) + 1,
        type=new.type,
        title=redaction.redact(new.title),
        text=text,
        fields=fields,
        layer=new.layer,
        owner=redaction.check_name(new.owner, "owner"),
        status="active",
        origin=origin,
        label=label or origin,
        sources=redaction.redact_json([]).text,
        valid_from=max(now, current.valid_from + 1) if current else now,
        valid_to=FOREVER,
    )
    sql.close_document(tx, new.address, row.valid_from)
    sql.insert_document(tx, row)
    return True


def document_entry(kept: Document) -> tuple[index_sql.IndexEntry, str] | None:
    """Return the index entry of a document and the text to index; None for no text. Of a generated
    page only the hand-written parts are indexed: the rest is indexed at its source."""
    text = _hand_written(kept) if is_generated(kept) else f"{kept.title}\n{kept.text}"
    if not text.strip():
        return None
    entry = index_sql.IndexEntry(
        source="document",
        ref=kept.address,
        kind=kept.type,
        layer=kept.layer,
        owner=kept.owner,
        status=kept.status,
        label=kept.label,
        seq=0,
        at=kept.valid_from,
    )
    return entry, text


def is_generated(kept: Document) -> bool:
    """Check whether a document is a generated page."""
    return kept.type == "continuity" or kept.address.startswith(_CHECKPOINTS)


def _hand_written(kept: Document) -> str:
    if kept.type != "continuity":
        return ""
    written = parse_continuity(kept.text)
    return "\n".join([*written.relevant, *written.avoid, *written.more])


def index_document(tx: Tx, kept: Document) -> None:
    """Index the current text of a document, or remove it from the index."""
    found = document_entry(kept)
    if found:
        index_steps.reindex_text(tx, *found)
    else:
        index_sql.remove_entry(tx, "document", kept.address)


def follow_undo(tx: Tx, address: str) -> None:
    """Update the index after a change of a document was undone."""
    if kept := sql.get_document(tx, address):
        index_document(tx, kept)
    else:
        index_sql.remove_entry(tx, "document", address)


# ---------------------------------------------------------------- scratch

SCRATCH = "scratch"


def scratch_address(key: str) -> str:
    """Return the address of a key; raise InvalidInput if it is a path and not a name."""
    return f"memory://scratch/{addresses.check_key(key)}"


def store_scratch(tx: Tx, key: str, text: str, origin: str, now: int, once: str = "") -> Document:
    """Write a value; earlier values stay in history.

    once: an idempotency key: the same value is not written again under it
    """
    address = redaction.check_path(scratch_address(key))
    write, clean = f"store {address} {once}", redaction.redact(text)
    if (
        once
        and storage_sql.find_write(tx, write, clean)
        and (current := sql.get_document(tx, address))
    ):
        return current
    write_revision(tx, NewDocument(address, SCRATCH, key, text, layer="session"), origin, now)
    stored = get_scratch(tx, key)
    index_document(tx, stored)
    if once:
        storage_sql.record_write(tx, write, "store", address, now, clean)
    return stored


def find_scratch(tx: Tx, key: str) -> Document | None:
    """Return the value under a key; None without one."""
    return sql.get_document(tx, scratch_address(key))


def get_scratch(tx: Tx, key: str) -> Document:
    """Return the value under a key; raise NotFound without one."""
    document = find_scratch(tx, key)
    if document is None:
        raise NotFound(
            f"nothing is stored under {key!r}",
            where=scratch_address(key),
            hint="`recollect scratch list` shows the keys"
            + ("; a memory is hidden with `recollect hide`" if key.startswith("m-") else ""),
        )
    return document


def blank_scratch(key: str) -> Document:
    """Return an empty document for a key without a value."""
    return Document(
        address=scratch_address(key),
        revision=0,
        type=SCRATCH,
        title=key,
        text="",
        fields={},
        layer="session",
        owner="",
        status="active",
        origin="system",
        label="system",
        sources=(),
        valid_from=0,
        valid_to=0,
    )


def list_scratch(tx: Tx, limit: int) -> list[Document]:
    """List all values, by key."""
    return sql.list_documents(tx, SCRATCH, limit)


def delete_scratch(tx: Tx, key: str, now: int) -> Document:
    """Delete a value; its history stays in the store."""
    document = get_scratch(tx, key)
    sql.close_document(tx, document.address, now)
    index_sql.remove_entry(tx, "document", document.address)
    return document


def search_scratch(tx: Tx, query: str, limit: int) -> list[Document]:
    """Return the values that match words of the query, best first."""
    asked = terms.query_stems(query)
    found = index_sql.find_candidates(
        tx, asked, limit, {"source": ("document",), "kind": (SCRATCH,)}
    )
    hits = [read_or_none(partial(sql.get_document, tx, item.ref)) for item in found]
    return [document for document in hits if document is not None]


# ---------------------------------------------------------------- CONTINUITY.md
# The page refers to memories by id and never repeats them; lines that a person added stay.

LONGEST_TITLE = 120
_BULLET = r"\s*(?:[-*+]|\d+[.)])\s+"


class HandWritten(NamedTuple):
    """The hand-written parts of CONTINUITY.md: the current work, lines without an id in the two
    lists, and additional sections."""

    doing: str = ""
    relevant: tuple[str, ...] = ()
    avoid: tuple[str, ...] = ()
    more: tuple[str, ...] = ()


NOW, RELEVANT = "Right now", "Relevant Memories (Auto-Retrieved)"
AVOID = "Mistakes to Avoid (From Learnings)"


def parse_continuity(text: str) -> HandWritten:
    """Parse the hand-written parts of CONTINUITY.md; lines with an id are generated again."""
    doing, more = "", []
    lists: dict[str, list[str]] = {RELEVANT: [], AVOID: []}
    for part in re.split(r"^(?=## )", text, flags=re.MULTILINE)[1:]:
        heading, _, body = part[3:].partition("\n")
        lines = [line.strip() for line in body.splitlines() if line.strip()]
        if heading.strip() == NOW:
            doing = " ".join(lines).removeprefix("nothing")
        elif heading.strip() in lists:
            own = (re.sub(_BULLET, "", line) for line in lines)
            lists[heading.strip()] += [line for line in own if not line.startswith("[")]
        else:
            more.append(part.strip())
    return HandWritten(doing, tuple(lists[RELEVANT]), tuple(lists[AVOID]), tuple(more))


class Reference(NamedTuple):
    """A record by its id and title. `by` is the author unless it is the user; the title is then
    quoted as data."""

    id: str
    title: str
    by: str = ""


def render_continuity(
    doing: str,
    relevant: Iterable[Reference] = (),
    avoid: Iterable[Reference] = (),
    by_hand: HandWritten = HandWritten(),  # noqa: B008 - it cannot change
) -> str:
    """Render CONTINUITY.md: the current work, and relevant records by id, each once."""
    mistakes = {one.id: one for one in avoid}
    memories = {one.id: one for one in relevant if one.id not in mistakes}
    parts = [f"# Continuity\n\n## {NOW}\n{' '.join(doing.split()) or 'nothing'}"]
    for heading, listed, own in (
        (RELEVANT, memories, by_hand.relevant),
        (AVOID, mistakes, by_hand.avoid),
    ):
        lines = [f"- [{one.id}] {_render_reference(one)}".rstrip() for one in listed.values()]
        lines += [f"- {line}" for line in own]
        if lines:
            parts.append("\n".join((f"## {heading}", *lines)))
    return "\n\n".join((*parts, *by_hand.more)) + "\n"


def _render_reference(one: Reference) -> str:
    title = shorten(" ".join(one.title.split()), LONGEST_TITLE)
    return f"by {one.by}: {quote_data(title)}" if one.by else title


def find_references(text: str) -> tuple[str, ...]:
    """Return the ids that a CONTINUITY.md refers to."""
    found = re.findall(r"^- \[([^\]\n]+)\]", text, re.MULTILINE)
    return tuple(dict.fromkeys(found))
