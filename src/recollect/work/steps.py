"""Work memory: notes, continuity, ledgers and handoffs, each a document at its address.

A document keeps its history: a new text closes the one before it. The operations render the files.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..errors import Conflict, InvalidInput, NotFound
from ..fast_typing import NamedTuple
from ..injections import sql as injections_sql
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_visible as memory_steps_visible
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import UNTRUSTED_ORIGINS, Document, Json
from . import audit, records
from . import notes as work_notes

NOTES, CONTINUITY = "memory://notes", "memory://continuity"

_CONTENTS = "handoff "
"""The key prefix of the digests of a handoff's files when it was given."""


class ShownNotes(NamedTuple):
    """NOTES.md: its content, text and file, the rules it breaks, and whether the file was edited
    since it was written."""

    notes: work_notes.Notes
    text: str
    path: str
    findings: tuple[work_notes.Finding, ...] = ()
    edited: bool = False
    unseen: str = ""
    """Why agents are not shown it; empty if they are."""

    @property
    def ok(self) -> bool:
        return not self.findings


class ShownHandoff(NamedTuple):
    """A handoff; `moved` describes the changes of the tree since it was given."""

    id: str
    handoff: Mapping[str, Json]
    accepted: bool
    moved: str = ""

    @property
    def address(self) -> str:
        return f"memory://handoff/{self.id}"


def write_document(
    tx: Tx, new: documents_steps.NewDocument, origin: str, now: int, label: str = ""
) -> Document:
    """Write a document at its address; the same text and fields again change nothing."""
    changed = documents_steps.write_revision(tx, new, origin, now, label, if_changed=True)
    written = get_document(tx, new.address)
    if changed:
        documents_steps.index_document(tx, written)
    return written


def get_document(
    tx: Tx, address: str, hint: str = "", missing: str = "there is nothing at this address"
) -> Document:
    """Return the document at an address; raise NotFound with the message `missing`."""
    document = documents_sql.get_document(tx, address)
    if document is None:
        raise NotFound(missing, where=address, hint=hint)
    return document


# ---------------------------------------------------------------- notes


def read_notes(tx: Tx, on_file: str | None) -> tuple[str, bool]:
    """Return the text of NOTES.md, and whether its file was edited since we wrote it."""
    document = documents_sql.get_document(tx, NOTES)
    if on_file is not None and is_edited(tx, NOTES, document, on_file):
        return on_file, True
    return (document.text if document else ""), False


def is_edited(tx: Tx, address: str, document: Document | None, on_file: str | None) -> bool:
    """Check whether the file of a document, read at its address, was edited since we wrote it.

    On a server another machine may have changed the document: the file here is an earlier revision.
    """
    if on_file is None or on_file == (document.text if document else ""):
        return False
    return not (tx.is_remote and documents_sql.had_text(tx, address, on_file))


def is_continuity_edited(tx: Tx, on_file: str | None) -> bool:
    """Check whether CONTINUITY.md was edited since we wrote it."""
    return is_edited(tx, CONTINUITY, documents_sql.get_document(tx, CONTINUITY), on_file)


def write_notes(tx: Tx, text: str, origin: str, now: int) -> Document:
    """Write the document of NOTES.md."""
    return write_document(
        tx, documents_steps.NewDocument(NOTES, "notes", "Notes", text), origin, now
    )


def find_task_of(notes: work_notes.Notes) -> str:
    """Return the name that a task with the objective of the notes has; empty if it has none."""
    try:
        return addresses.slugify(notes.objective)
    except InvalidInput:
        return ""


def is_objective_complete(tx: Tx, notes: work_notes.Notes) -> bool:
    """Check whether the objective of the notes is a completed task."""
    slug = find_task_of(notes)
    return bool(slug) and memory_steps_visible.is_complete(tx, slug)


def why_unseen(tx: Tx, document: Document | None, on_file: str | None = None) -> str:
    """Return why agents are not shown the notes; empty if they are, or if there are none. Anyone
    may have edited the file."""
    if document is None:
        return ""
    if is_objective_complete(tx, work_notes.parse_notes(document.text)):
        return "the task is complete. The next one: recollect notes set OBJECTIVE"
    if document.label in UNTRUSTED_ORIGINS or is_edited(tx, NOTES, document, on_file):
        return "edited outside of Recollect. Confirm it: recollect notes set"
    return ""


def show_notes(text: str, path: str, edited: bool) -> ShownNotes:
    """Parse and lint NOTES.md."""
    found = tuple(work_notes.lint_notes(text))
    return ShownNotes(
        notes=work_notes.parse_notes(text), text=text, path=path, findings=found, edited=edited
    )


def change_notes(
    old: work_notes.Notes,
    objective: str,
    phase: str,
    blockers: Sequence[str],
    pending: Sequence[str],
) -> work_notes.Notes:
    """Return the notes with the given parts replaced; `none` empties a part. Another objective
    begins without the phase and the lists of the old one."""
    objective = "" if objective.casefold() == "none" else objective or old.objective
    if old.objective and objective.casefold().split() != old.objective.casefold().split():
        old = work_notes.Notes()
    return work_notes.Notes(
        objective,
        phase or old.phase,
        _replace_list(blockers, old.blockers),
        _replace_list(pending, old.pending),
    )


def _replace_list(given: Sequence[str], before: tuple[str, ...]) -> tuple[str, ...]:
    return before if not given else tuple(one for one in given if one.casefold() != "none")


# ---------------------------------------------------------------- ledgers and handoffs


def read_ledger(tx: Tx, agent: str) -> Mapping[str, Json]:
    """Return the ledger of an agent as JSON."""
    address = f"memory://ledger/{addresses.check_key(agent)}"
    fields = get_document(tx, address, "an agent writes its own with `recollect ledger`").fields
    return records.LEDGER.dump(records.LEDGER.load(fields))


def write_ledger(tx: Tx, agent: str, given: Json, origin: str, now: int) -> Mapping[str, Json]:
    """Write the ledger of an agent; return it as stored."""
    ledger = records.LEDGER.load(given)
    if ledger.agent_id not in ("", agent):
        raise InvalidInput(
            f"this is the ledger of {ledger.agent_id}, not of {agent}", where="ledger.agent_id"
        )
    body = records.LEDGER.dump(ledger._replace(agent_id=agent))
    address = f"memory://ledger/{addresses.check_key(agent)}"
    write_document(tx, _new_record(address, "ledger", agent, body, agent), origin, now)
    return read_ledger(tx, agent)


def check_handoff(given: Json) -> records.Handoff:
    """Parse a handoff from a JSON object; raise InvalidInput if a part is missing."""
    handoff = records.HANDOFF.load(given)
    if not handoff.to_agent or not handoff.what_was_done:
        raise InvalidInput("a handoff needs to_agent and what_was_done", where="handoff")
    return handoff


def give_handoff(
    tx: Tx, handoff: records.Handoff, tree: records.TreeState, id: str, origin: str, now: int
) -> ShownHandoff:
    """Store a handoff; another one with the same id is refused.

    The digests of its files are stored with it, to report changes to the receiver.
    """
    name = addresses.check_key(handoff.id or id)
    body = records.HANDOFF.dump(handoff._replace(id=name))
    address = f"memory://handoff/{name}"
    current = documents_sql.get_document(tx, address)
    if current and current.fields != json.loads(redaction.redact_json(body).text):
        raise Conflict("another handoff has this id", where=address)
    title = f"{handoff.from_agent} to {handoff.to_agent}: {handoff.what_was_done}"
    new = _new_record(address, "handoff", title, body, handoff.to_agent)
    write_document(tx, new, origin, now)
    if current is None:
        # Stored as pairs: `"password.py": "<digest>"` would look like a secret.
        pairs = [[path, digest] for path, digest in tree.contents.items()]
        storage_sql.set_value(tx, _CONTENTS + name, redaction.redact_json(pairs).text, now)
    return get_handoff(tx, name)


def get_artifacts(tx: Tx, name: str) -> tuple[str, ...]:
    """Return the files of a handoff."""
    document = get_document(
        tx,
        f"memory://handoff/{addresses.check_key(name)}",
        "`recollect handoff list` lists them",
        "there is no such handoff",
    )
    return records.HANDOFF.load(document.fields).artifacts


def accept_handoff(
    tx: Tx, name: str, agent: str, tree: records.TreeState, origin: str, now: int
) -> ShownHandoff:
    """Accept a handoff for its receiver, and report changes of the tree since it was given."""
    address = f"memory://handoff/{addresses.check_key(name)}"
    document = get_document(tx, address)
    handoff = records.HANDOFF.load(document.fields)
    if agent and agent != handoff.to_agent:
        raise Conflict(f"this handoff is for {handoff.to_agent}, not for {agent}", where=address)
    if not handoff.accepted_at:
        body = records.HANDOFF.dump(handoff._replace(accepted_at=now))
        label = trust.least_trusted((document.label, origin))
        new = _new_record(address, "handoff", document.title, body, document.owner)
        write_document(tx, new, origin, now, label)
    then = dict(json.loads(storage_sql.get_value(tx, _CONTENTS + name) or "[]"))
    moved = records.moved_since(handoff, then, tree)
    return get_handoff(tx, name)._replace(moved=str(moved) if moved else "")


def get_handoff(tx: Tx, name: str) -> ShownHandoff:
    """Return one handoff."""
    return _show_document(get_document(tx, f"memory://handoff/{addresses.check_key(name)}"))


def list_handoffs(tx: Tx, to: str, limit: int) -> list[ShownHandoff]:
    """Return the handoffs to one agent, or all."""
    return [_show_document(one) for one in documents_sql.list_documents(tx, "handoff", limit, to)]


def _show_document(document: Document) -> ShownHandoff:
    handoff = records.HANDOFF.load(document.fields)
    name = document.address.removeprefix("memory://handoff/")
    return ShownHandoff(name, records.HANDOFF.dump(handoff), bool(handoff.accepted_at))


def _new_record(
    address: str, type: str, title: str, body: Mapping[str, Json], owner: str
) -> documents_steps.NewDocument:
    """Return a document whose text is its fields as JSON."""
    text = json.dumps(body, ensure_ascii=False, indent=2)
    return documents_steps.NewDocument(
        address=address, type=type, title=title, text=text, fields=body, owner=owner
    )


OFTEN_INJECTED = 10
"""A memory is reported after this many injections without positive feedback."""

MOST_USELESS = 100


def audit_memories(tx: Tx, now: int, stale: Mapping[str, Sequence[str]], notes: str) -> audit.Audit:
    """Audit the open memories; `stale` maps ids to citations that no longer hold."""
    shown = injections_sql.find_never_useful(tx, OFTEN_INJECTED, MOST_USELESS)
    opposite = [(link.source, link.target) for link in links_sql.list_open(tx, "contradicts")]
    memories = memory_sql_lists.list_open(tx, {}, memory_sql.ALL)
    return audit.run_audit(memories, now, stale, notes, shown, opposite)
