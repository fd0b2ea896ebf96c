"""Tasks that outlive a conversation, and the promotion of their notes.

A task is a document, and so is each of its pages; gates are logged as events. Promotion sends the
notes of a task or session through the checklist of `memory.hygiene`.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..errors import Conflict, InvalidInput, Refused
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_neighbours as memory_steps_neighbours
from ..memory.steps_visible import COMPLETED
from ..memory.steps_visible import TASK as TYPE
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.json_records import write_time
from ..types.records import STATUSES_IN_USE, Document, Json, Memory
from . import audit, records
from . import steps as work_steps

TaskChange = Callable[[records.Task], records.Task]

PAGE_TYPE = "task page"


class ShownTask(NamedTuple):
    """A task with its phase, regressions and pages; once complete, with its report and lessons."""

    slug: str
    title: str
    phase: str
    completed: str
    task: Mapping[str, Json]
    regressions: tuple[records.Regression, ...]
    pages: tuple[str, ...]
    report: str = ""
    lessons: tuple[str, ...] = ()
    advice: tuple[str, ...] = ()
    """Relevant memories for the task or phase that was just started, one a line."""

    @property
    def address(self) -> str:
        return f"memory://task/{self.slug}"


def task_address(slug: str, page: str = "") -> str:
    """Return the address of a task or of one of its pages."""
    return f"memory://task/{addresses.check_slug(slug)}" + (f"/{page}" if page else "")


def start_task(tx: Tx, title: str, phases: Sequence[str], origin: str, now: int) -> ShownTask:
    """Start a task, or return the existing one with the same title."""
    safe = redaction.redact  # addresses are derived from title and phases
    task = records.new_task(safe(title), [safe(phase) for phase in phases])
    current = documents_sql.get_document(tx, task_address(task.slug))
    if current:
        if current.title != task.title:
            raise Conflict(
                f"there is a task with this name: {current.title}", where=task_address(task.slug)
            )
        return show_task(tx, task.slug)
    return _save_task(tx, task, origin, now)


def change_task(tx: Tx, slug: str, step: TaskChange, origin: str, now: int) -> ShownTask:
    """Apply a change to a task."""
    task = load_task(tx, slug, hold=True)
    if task.extra.get(COMPLETED):
        raise InvalidInput(
            "the task is complete",
            where=task_address(slug),
            hint="start another task for new work",
        )
    return _save_task(tx, step(task), origin, now)


def finish_phase(tx: Tx, slug: str, phase: str, report: str, origin: str, now: int) -> ShownTask:
    """End a phase with its report, which becomes a page of the task."""
    shown = change_task(
        tx, slug, lambda task: records.set_phase(task, phase, "done", report), origin, now
    )
    return shown._replace(report=write_report(tx, slug, phase, origin, now))


def write_report(tx: Tx, slug: str, phase: str, origin: str, now: int) -> str:
    """Write the completion report of a phase, or of the whole task."""
    text = records.render_report(load_task(tx, slug), phase)
    _write_page(tx, slug, report_page(phase), text, origin, now)
    return text


def report_page(phase: str) -> str:
    """Return the page of the report of a phase, or of the whole task."""
    return f"reports/{addresses.slugify(phase)}.md" if phase else "completion_report.md"


def complete_task(tx: Tx, slug: str, origin: str, now: int, review: str = "") -> ShownTask:
    """Complete a task and write its report, and the final review if there was one."""

    def done(task: records.Task) -> records.Task:
        return task._replace(extra={**task.extra, COMPLETED: write_time(now)})

    shown = change_task(tx, slug, done, origin, now)
    report = write_report(tx, slug, "", origin, now)
    if review:
        _write_page(tx, slug, "final_review.md", f"# Final review\n\n{review}\n", origin, now)
    return show_task(tx, slug)._replace(report=report, completed=shown.completed)


def load_task(tx: Tx, slug: str, hold: bool = False) -> records.Task:
    """Load a task by its slug."""
    hint = "`recollect task list` lists them"
    document = work_steps.get_document(tx, task_address(slug), hint, "there is no such task")
    if hold:
        documents_sql.get_document(tx, document.address, hold=True)
    return records.TASK.load(document.fields)


def show_task(tx: Tx, slug: str) -> ShownTask:
    """Return a task as a record."""
    task = load_task(tx, slug)
    return ShownTask(
        slug=slug,
        title=task.title,
        phase=task.phase,
        completed=str(task.extra.get(COMPLETED, "")),
        task=records.TASK.dump(task),
        regressions=records.find_regressions(task.revisions),
        pages=tuple(page.address for page in list_pages(tx, slug)),
    )


def list_tasks(tx: Tx, limit: int) -> list[ShownTask]:
    """Return all tasks by name."""
    found = documents_sql.list_documents(tx, TYPE, limit)
    return [show_task(tx, document.owner) for document in found]


def list_pages(tx: Tx, slug: str) -> list[Document]:
    """Return the pages of a task with their texts."""
    return documents_sql.list_documents(tx, PAGE_TYPE, 1_000, slug)


def _save_task(tx: Tx, task: records.Task, origin: str, now: int) -> ShownTask:
    body = records.TASK.dump(task)
    text = records.render_report(task)
    new = documents_steps.NewDocument(
        address=task_address(task.slug),
        type=TYPE,
        title=task.title,
        text=text,
        fields=body,
        layer="task",
        owner=task.slug,
    )
    work_steps.write_document(tx, new, origin, now)
    for name, page in records.render_artifacts(task).items():
        _write_page(tx, task.slug, name, page, origin, now)
    return show_task(tx, task.slug)


def _write_page(tx: Tx, slug: str, name: str, text: str, origin: str, now: int) -> None:
    new = documents_steps.NewDocument(
        address=task_address(slug, name),
        type=PAGE_TYPE,
        title=name,
        text=text,
        fields={},
        layer="task",
        owner=slug,
    )
    work_steps.write_document(tx, new, origin, now)


# ---------------------------------------------------------------- the event log


def log_event(tx: Tx, id: str, slug: str, type: str, payload: Json, agent: str, now: int) -> None:
    """Append a gate event with the task's current phase."""
    safe = redaction.redact
    phase = load_task(tx, slug).phase if slug else ""
    row = documents_sql.EventRow(
        id=id,
        subject=f"task/{slug}" if slug else "work",
        trace=safe(slug),
        agent=safe(agent),
        phase=safe(phase),
        type=safe(type),
        payload=redaction.redact_json(payload).text,
        at=now,
    )
    documents_sql.append_event(tx, row)


_BOUNDARIES = ("phase end", "task complete")


class Gate(NamedTuple):
    """An entry of a task's log: a change such as the end of a phase."""

    id: str
    type: str
    payload: Json


def log_gate(tx: Tx, slug: str, gate: Gate, origin: str, now: int) -> None:
    """Append a change of a task to its log. At a boundary the log becomes a page of the task."""
    log_event(tx, gate.id, slug, gate.type, gate.payload, origin, now)
    if gate.type in _BOUNDARIES:
        log = read_log(tx, slug, MOST_LOGGED)
        _write_page(tx, slug, f"observability/{slug}.ndjson", log, origin, now)


MOST_LOGGED = 10_000


def write_deliverable(tx: Tx, slug: str, name: str, text: str, origin: str, now: int) -> ShownTask:
    """Write a design, diagram or other result as a page of a task."""
    page = f"deliverables/{addresses.slugify(redaction.redact(name.removesuffix('.md')))}.md"
    load_task(tx, slug, hold=True)
    _write_page(tx, slug, page, text, origin, now)
    return show_task(tx, slug)


def read_log(tx: Tx, slug: str, limit: int) -> str:
    """Return the gate events of a task, one JSON object a line."""
    rows = documents_sql.list_events(tx, f"task/{addresses.check_slug(slug)}", limit)
    return "".join(
        records.render_event(
            row.trace, row.at, row.agent, row.phase, row.type, json.loads(row.payload)
        )
        for row in rows
    )


_NOTE_LAYERS = ("session", "task")


class PromotionDecision(NamedTuple):
    """The decision on a note (promote, defer or drop), the step that made it, and the reason."""

    id: str
    text: str
    decision: str
    step: str
    reason: str
    like: tuple[str, ...] = ()
    promoted: str = ""


class Promoted(NamedTuple):
    """The notes of a task or session with their decisions; `applied` is false for a dry run."""

    notes: tuple[PromotionDecision, ...]
    applied: bool


def promote_notes(
    tx: Tx, owner: str, apply: bool, origin: str, now: int, new_id: Callable[[str], str]
) -> Promoted:
    """Review the notes of a task or session with the checklist; save those that pass."""
    known = memory_sql_lists.list_open(tx, {}, memory_sql.ALL)
    used = [one for one in known if one.status in STATUSES_IN_USE]
    notes = [one for one in used if one.layer in _NOTE_LAYERS and one.owner == owner]
    durable = [one for one in used if one.layer not in _NOTE_LAYERS]
    decided = []
    for note in sorted(notes, key=lambda one: (one.first_seen, one.id)):
        verdict = audit.review_note(note, durable)
        decision = PromotionDecision(note.id, note.text, *verdict)
        if apply and verdict.decision == "promote":
            decision = _save_note(tx, note, decision, origin, now, new_id)
            durable.append(note)
        decided.append(decision)
    return Promoted(tuple(decided), apply)


def _save_note(
    tx: Tx,
    note: Memory,
    decision: PromotionDecision,
    origin: str,
    now: int,
    new_id: Callable[[str], str],
) -> PromotionDecision:
    """Save a note as a memory of the project, trusted as the note or as the caller, whichever is
    less."""
    label = trust.least_trusted((note.label, origin))
    draft = memory_steps.Draft(
        text=note.text,
        kind=note.kind,
        subject=note.subject,
        detail=note.detail,
        category=note.category,
        scope=note.scope,
        tags=note.tags,
        examples=note.examples,
        citations=note.citations,
        evidence=note.evidence,
        reason=note.reason,
        confidence=note.confidence,
        sources=(*note.sources, note.address),
    )
    try:
        ready = memory_steps.prepare(draft, origin, now, new_id("m"), label)
    except (Refused, InvalidInput) as refused:
        return decision._replace(decision="drop", step="trust", reason=refused.message)
    done = memory_steps_learn.learn(tx, ready, now)
    memory_steps_neighbours.link(tx, done.id, "derived_from", [note.id], "promoted", now)
    if note.kind == "workflow":
        _propose_procedure(tx, note, label, now, new_id("p"))
    return decision._replace(promoted=done.id)


def _propose_procedure(tx: Tx, note: Memory, label: str, now: int, id: str) -> None:
    """Propose a workflow with steps as a procedure, for a person to accept."""
    steps = note.detail.get("steps", ())
    name = addresses.slugify(note.subject)
    if not steps or not isinstance(steps, Sequence) or procedures_sql.get_by_name(tx, name):
        return
    procedure = skills.Procedure(name, note.text[:1024], steps=tuple(map(str, steps)))
    row = procedures_steps.prepare_row(procedure, "system", label, now, id)
    waits = "proposed" if row.status == "active" else row.status
    procedures_steps.learn_procedure(tx, row._replace(status=waits))
