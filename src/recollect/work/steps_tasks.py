"""Tasks: started, moved through their phases, decided on, verified, completed; they survive any
conversation. The task is a document, and so is each of its pages; gates are logged as events."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..documents import sql as documents_sql
from ..documents import sql_events as documents_sql_events
from ..errors import Conflict, InvalidInput
from ..memory.steps_visible import COMPLETED
from ..memory.steps_visible import TASK as TYPE
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses
from ..types.json_records import iso
from ..types.records import Document, Json
from . import steps, tasks

Step = Callable[[tasks.Task], tasks.Task]
PAGE = "task page"


class Shown(NamedTuple):
    """A task as it stands: its phase, what is done, what got lost since, and its pages; once it is
    complete, its report and what was learned from the work."""

    slug: str
    title: str
    phase: str
    completed: str
    task: Mapping[str, Json]
    regressions: tuple[tasks.Regression, ...]
    pages: tuple[str, ...]
    report: str = ""
    lessons: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"memory://task/{self.slug}"


def address_of(slug: str, page: str = "") -> str:
    return f"memory://task/{addresses.check_slug(slug)}" + (f"/{page}" if page else "")


def start(tx: Tx, title: str, phases: Sequence[str], origin: str, now: int) -> Shown:
    """Begin a task; one that is there already goes on, if it has the same title."""
    safe = redaction.safe  # names are made of them
    task = tasks.new_task(safe(title), [safe(phase) for phase in phases])
    held = documents_sql.get(tx, address_of(task.slug))
    if held:
        if held.title != task.title:
            raise Conflict(
                f"there is a task with this name: {held.title}", where=address_of(task.slug)
            )
        return show(tx, task.slug)
    return _save(tx, task, origin, now)


def change(tx: Tx, slug: str, step: Step, origin: str, now: int) -> Shown:
    """Let a task go on by one step."""
    task = load(tx, slug, hold=True)
    if task.extra.get(COMPLETED):
        raise InvalidInput(
            "the task is complete", where=address_of(slug), hint="start another one for what is new"
        )
    return _save(tx, step(task), origin, now)


def finish_phase(tx: Tx, slug: str, phase: str, report: str, origin: str, now: int) -> Shown:
    """End a phase with its report, which becomes a page of the task."""
    shown = change(tx, slug, lambda task: tasks.finish_phase(task, phase, report), origin, now)
    return shown._replace(report=write_report(tx, slug, phase, origin, now))


def write_report(tx: Tx, slug: str, phase: str, origin: str, now: int) -> str:
    """Write the completion report of a phase, or of the whole task."""
    text = tasks.completion_report(load(tx, slug), phase)
    _page(tx, slug, report_page(phase), text, origin, now)
    return text


def report_page(phase: str) -> str:
    """The page that the report of a phase, or of the whole task, is written to."""
    return f"reports/{addresses.slugify(phase)}.md" if phase else "completion_report.md"


def complete(tx: Tx, slug: str, origin: str, now: int) -> Shown:
    """End a task, with its report."""

    def done(task: tasks.Task) -> tasks.Task:
        return task._replace(extra={**task.extra, COMPLETED: iso(now)})

    shown = change(tx, slug, done, origin, now)
    report = write_report(tx, slug, "", origin, now)
    return show(tx, slug)._replace(report=report, completed=shown.completed)


def verified(reason: str, items: Sequence[str], now: int) -> Step:
    """The step that notes items as verified, in a new revision of the plan if there is a reason."""

    def step(task: tasks.Task) -> tasks.Task:
        return tasks.verify(tasks.revise(task, reason, now) if reason else task, items)

    return step


def load(tx: Tx, slug: str, hold: bool = False) -> tasks.Task:
    """A task by its slug."""
    hint = "`recollect task list` shows what there is"
    document = steps.existing(tx, address_of(slug), hint)
    if hold:
        documents_sql.get(tx, document.address, hold=True)
    return tasks.from_json(document.fields)


def show(tx: Tx, slug: str) -> Shown:
    task = load(tx, slug)
    pages = documents_sql.listing(tx, PAGE, 1_000, slug)
    return Shown(
        slug,
        task.title,
        task.phase,
        str(task.extra.get(COMPLETED, "")),
        tasks.to_json(task),
        tasks.regressions(task.revisions),
        tuple(page.address for page in pages),
    )


def listing(tx: Tx, limit: int) -> list[Shown]:
    """All tasks by name."""
    found = documents_sql.listing(tx, TYPE, limit)
    return [show(tx, document.owner) for document in found]


def pages(tx: Tx, slug: str) -> list[Document]:
    """The pages of a task with their texts."""
    return documents_sql.listing(tx, PAGE, 1_000, slug)


def _save(tx: Tx, task: tasks.Task, origin: str, now: int) -> Shown:
    body = tasks.to_json(task)
    text = tasks.completion_report(task)
    new = steps.Written(address_of(task.slug), TYPE, task.title, text, body, "task", task.slug)
    steps.write(tx, new, origin, now)
    for name, page in tasks.artifacts(task).items():
        _page(tx, task.slug, name, page, origin, now)
    return show(tx, task.slug)


def _page(tx: Tx, slug: str, name: str, text: str, origin: str, now: int) -> None:
    new = steps.Written(address_of(slug, name), PAGE, name, text, {}, "task", slug)
    steps.write(tx, new, origin, now)


# ---------------------------------------------------------------- the log of gates


def log(tx: Tx, id: str, slug: str, type: str, payload: Json, agent: str, now: int) -> None:
    """Append a gate event; the phase is the task's own."""
    safe = redaction.safe
    phase = load(tx, slug).phase if slug else ""
    row = documents_sql_events.EventRow(
        id,
        f"task/{slug}" if slug else "work",
        safe(slug),
        safe(agent),
        safe(phase),
        safe(type),
        redaction.scrub_json(payload).text,
        now,
    )
    documents_sql_events.append(tx, row)


def log_of(tx: Tx, slug: str, limit: int) -> str:
    """The gate events of a task, one JSON object a line."""
    rows = documents_sql_events.of_subject(tx, f"task/{addresses.check_slug(slug)}", limit)
    return "".join(
        tasks.to_line(
            tasks.GateEvent(
                row.trace, row.at, row.agent, row.phase, row.type, json.loads(row.payload)
            )
        )
        for row in rows
    )
