"""Say where things stand: the objective of the notes, the running task, a handoff that waits."""

from __future__ import annotations

from collections.abc import Iterator

from ..documents import sql as documents_sql
from ..memory import steps_visible as memory_steps_visible
from ..storage.database import Tx
from ..text.display import format_time as iso
from ..text.display import quote_data
from ..types.records import Document
from .rendering import STATE, Item, code, plain

NOTES = "memory://notes"
MOST_HANDOFFS = 50
LONGEST = 240
_TRUSTED = ("user", "agent", "system")


def state_lines(tx: Tx, session: str, host: str) -> list[Item]:
    """Return the lines of the first section; none when no work is noted."""
    lines: list[Item] = []
    notes = documents_sql.get_document(tx, NOTES)
    if notes is not None and notes.label in _TRUSTED:
        lines += _notes(tx, notes)
    task = memory_steps_visible.running_task(tx, session)
    document = documents_sql.get_document(tx, f"memory://task/{task}") if task else None
    if document is not None and document.label in _TRUSTED:
        lines += _task(document)
    for handoff in documents_sql.list_documents(tx, "handoff", MOST_HANDOFFS):
        if handoff.label in _TRUSTED and not handoff.fields.get("accepted_at"):
            lines.append(_handoff(handoff))
            break
    return lines


def _notes(tx: Tx, document: Document) -> Iterator[Item]:
    from ..work import notes as work_notes
    from ..work import steps as work_steps

    notes = work_notes.parse_notes(document.text)
    if work_steps.is_objective_complete(tx, notes):
        return
    for name, said in (
        ("Objective", notes.objective),
        ("Phase", notes.phase),
        ("Blockers", "; ".join(notes.blockers)),
        ("Pending", "; ".join(notes.pending)),
    ):
        if said:
            yield _item(document, name, said, "the notes say so")


def _task(document: Document) -> Iterator[Item]:
    from ..work import tasks

    task = tasks.task_from_json(document.fields)
    waiting = [one.name for one in task.phases if one.state not in ("done", "active", "blocked")]
    step = f", phase {task.phase}" if task.phase else ""
    after = f", next: {waiting[0]}" if waiting else ""
    yield _item(document, "Running task", f"{task.title}{step}{after}", "it is not complete")
    for phase in task.phases:
        if phase.state == "blocked":
            yield _item(document, "Blocked", f"{phase.name}: {phase.report}", "a phase is blocked")


def _handoff(document: Document) -> Item:
    name = document.address.removeprefix("memory://handoff/")
    item = _item(document, "A handoff waits", document.title, "nobody accepted it yet")
    return item._replace(line=f"{item.line}; {code(f'recollect handoff accept {name}')}")


def _item(document: Document, name: str, said: str, why: str) -> Item:
    text = plain(said)[:LONGEST]
    own = document.label == "user"
    when = "" if own else f", {document.label} {iso(document.valid_from)[:10]}"
    return Item(
        id=f"{document.address}#{name}",
        address=f"{document.address}#{name}",
        layer="A",
        section=STATE,
        kind="state",
        text=f"{name} {text}",
        label=document.label,
        why=why,
        line=f"{name}{when}: {text if own else quote_data(text)}",
    )
