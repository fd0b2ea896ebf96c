"""Work memory: notes, continuity, ledgers and handoffs, each a document at its address.

What they hold is decided in `work.notes` and `work.ledgers`. A document keeps its history: a
new text closes the one before it. It does not know files; the app renders them.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..documents import sql as documents_sql
from ..errors import Conflict, InvalidInput, NotFound
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import steps_visible as memory_steps_visible
from ..secrets import names, redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import FOREVER, Document, Json
from . import ledgers
from . import notes as work_notes

NOTES, CONTINUITY = "memory://notes", "memory://continuity"
_CONTENTS = "handoff "
"""The key of what a handoff's files held when it was given."""


class Written(NamedTuple):
    """A document to be written."""

    address: str
    type: str
    title: str
    text: str
    fields: Mapping[str, Json] = {}
    layer: str = "project"
    owner: str = ""


class NotesShown(NamedTuple):
    """NOTES.md: what it says, its text and its file, the rules it breaks, and whether somebody had
    edited the file since it was written."""

    notes: work_notes.Notes
    text: str
    path: str
    findings: tuple[work_notes.Finding, ...] = ()
    edited: bool = False

    @property
    def ok(self) -> bool:
        return not self.findings


class Given(NamedTuple):
    """A handoff as it stands; `moved` says how the tree has moved since it was written."""

    id: str
    handoff: Mapping[str, Json]
    accepted: bool
    moved: str = ""

    @property
    def address(self) -> str:
        return f"memory://handoff/{self.id}"


def write(tx: Tx, new: Written, origin: str, now: int, label: str = "") -> Document:
    """Put a document at its address; the same text and fields again change nothing."""
    held = documents_sql.get(tx, new.address, hold=True)
    row = documents_sql.DocumentRow(
        address=names.checked_path(new.address, "name"),
        revision=documents_sql.last_revision(tx, new.address) + 1,
        type=new.type,
        title=redaction.safe(new.title),
        text=redaction.safe(new.text),
        fields=redaction.scrub_json(dict(new.fields)).text,
        layer=new.layer,
        owner=names.checked_name(new.owner, "owner"),
        status="active",
        origin=origin,
        label=label or origin,
        sources=redaction.scrub_json([]).text,
        valid_from=max(now, held.valid_from + 1) if held else now,
        valid_to=FOREVER,
    )
    if held and (held.text, held.fields) == (row.text, json.loads(row.fields)):
        return held
    documents_sql.close(tx, new.address, row.valid_from)
    documents_sql.insert(tx, row)
    written = existing(tx, new.address)
    index_steps.put_document(tx, written)
    return written


def existing(tx: Tx, address: str, hint: str = "") -> Document:
    """The document at an address, or NotFound."""
    document = documents_sql.get(tx, address)
    if document is None:
        raise NotFound("there is nothing at this address", where=address, hint=hint)
    return document


def close(tx: Tx, address: str, now: int) -> bool:
    """End a document: it is no longer found; its history stays."""
    index_sql.remove(tx, "document", address)
    return documents_sql.close(tx, address, now)


# ---------------------------------------------------------------- notes


def read_notes(tx: Tx, on_file: str | None) -> tuple[str, bool]:
    """The text of NOTES.md, and whether its file was edited since we wrote it."""
    held = documents_sql.get(tx, NOTES)
    kept = held.text if held else ""
    return (kept if on_file is None else on_file), is_edited(tx, NOTES, on_file)


def is_edited(tx: Tx, address: str, on_file: str | None) -> bool:
    """Whether the file of a document is another one than we wrote."""
    held = documents_sql.get(tx, address)
    return on_file is not None and on_file != (held.text if held else "")


def write_notes(tx: Tx, text: str, origin: str, now: int, label: str = "") -> Document:
    return write(tx, Written(NOTES, "notes", "Notes", text), origin, now, label)


def is_done(tx: Tx, notes: work_notes.Notes) -> bool:
    """Check whether the objective of the notes is a task that is complete."""
    try:
        slug = addresses.slugify(notes.objective)
    except InvalidInput:
        return False  # no task has such a name
    return memory_steps_visible.is_complete(tx, slug)


def shown_notes(text: str, path: str, edited: bool) -> NotesShown:
    """What NOTES.md says, also when it breaks its rules."""
    found = tuple(work_notes.lint(text))
    return NotesShown(work_notes.parse_notes(text), text, path, found, edited)


def changed_notes(
    old: work_notes.Notes,
    objective: str,
    phase: str,
    blockers: Sequence[str],
    pending: Sequence[str],
) -> work_notes.Notes:
    """The notes with what is given in the place of what they said; `none` empties a list."""
    return work_notes.Notes(
        objective or old.objective,
        phase or old.phase,
        _listed(blockers, old.blockers),
        _listed(pending, old.pending),
    )


def _listed(given: Sequence[str], before: tuple[str, ...]) -> tuple[str, ...]:
    return before if not given else tuple(one for one in given if one.casefold() != "none")


# ---------------------------------------------------------------- ledgers and handoffs


def ledger(tx: Tx, agent: str) -> Mapping[str, Json]:
    """Where an agent stands, as JSON."""
    address = f"memory://ledger/{addresses.check_key(agent)}"
    fields = existing(tx, address, "an agent writes its own with `recollect ledger`").fields
    return ledgers.ledger_to_json(ledgers.ledger_from_json(fields))


def write_ledger(tx: Tx, agent: str, given: Json, origin: str, now: int) -> Mapping[str, Json]:
    """Write down where an agent stands; all that is given comes back."""
    held = ledgers.ledger_from_json(given)
    if held.agent_id not in ("", agent):
        raise InvalidInput(
            f"this is the ledger of {held.agent_id}, not of {agent}", where="ledger.agent_id"
        )
    body = ledgers.ledger_to_json(held._replace(agent_id=agent))
    address = f"memory://ledger/{addresses.check_key(agent)}"
    write(tx, Written(address, "ledger", agent, _text(body), body, owner=agent), origin, now)
    return ledger(tx, agent)


def checked_handoff(given: Json) -> ledgers.Handoff:
    """The handoff in a JSON object, or the error that says what it lacks."""
    handoff = ledgers.handoff_from_json(given)
    if not handoff.to_agent or not handoff.what_was_done:
        raise InvalidInput("a handoff says to whom, and what was done", where="handoff")
    return handoff


def give(
    tx: Tx, handoff: ledgers.Handoff, tree: ledgers.TreeState, id: str, origin: str, now: int
) -> Given:
    """Hand something over; the same id again is refused, unless it says the same. What its files
    hold is noted beside it, so that the receiver can be told what changed."""
    name = addresses.check_key(handoff.id or id)
    body = ledgers.handoff_to_json(handoff._replace(id=name))
    address = f"memory://handoff/{name}"
    held = documents_sql.get(tx, address)
    if held and held.fields != json.loads(redaction.scrub_json(body).text):
        raise Conflict("there is another handoff with this id", where=address)
    title = f"{handoff.from_agent} to {handoff.to_agent}: {handoff.what_was_done}"
    write(
        tx,
        Written(address, "handoff", title, _text(body), body, owner=handoff.to_agent),
        origin,
        now,
    )
    if held is None:
        # As pairs: a path such as `password.py` in front of a digest would look like a secret.
        pairs = [[path, digest] for path, digest in tree.contents.items()]
        storage_sql.put(tx, _CONTENTS + name, redaction.scrub_json(pairs).text, now)
    return handed(tx, name)


def artifacts_of(tx: Tx, name: str) -> tuple[str, ...]:
    """The files of a handoff."""
    document = existing(
        tx,
        f"memory://handoff/{addresses.check_key(name)}",
        "`recollect handoff list` shows what there is",
    )
    return ledgers.handoff_from_json(document.fields).artifacts


def accept(tx: Tx, name: str, agent: str, tree: ledgers.TreeState, origin: str, now: int) -> Given:
    """The receiver takes a handoff, and is told if the tree has moved since it was written."""
    address = f"memory://handoff/{addresses.check_key(name)}"
    document = existing(tx, address)
    handoff = ledgers.handoff_from_json(document.fields)
    if agent and agent != handoff.to_agent:
        raise Conflict(f"this handoff is for {handoff.to_agent}, not for {agent}", where=address)
    if not handoff.accepted_at:
        body = ledgers.handoff_to_json(handoff._replace(accepted_at=now))
        label = trust.least((document.label, origin))
        new = Written(address, "handoff", document.title, _text(body), body, owner=document.owner)
        write(tx, new, origin, now, label)
    then = dict(json.loads(storage_sql.get(tx, _CONTENTS + name) or "[]"))
    moved = ledgers.moved_since(handoff, then, tree)
    return handed(tx, name)._replace(moved=str(moved) if moved else "")


def handed(tx: Tx, name: str) -> Given:
    """One handoff."""
    return _given(existing(tx, f"memory://handoff/{addresses.check_key(name)}"))


def handoffs(tx: Tx, to: str, limit: int) -> list[Given]:
    """Handoffs, those to one agent or all."""
    return [_given(one) for one in documents_sql.listing(tx, "handoff", limit, to)]


def _given(document: Document) -> Given:
    handoff = ledgers.handoff_from_json(document.fields)
    name = document.address.removeprefix("memory://handoff/")
    return Given(name, ledgers.handoff_to_json(handoff), bool(handoff.accepted_at))


def _text(body: Mapping[str, Json]) -> str:
    return json.dumps(body, ensure_ascii=False, indent=2)
