"""Tasks: phases, decisions, plan revisions, verified items, and regressions.

An item that an earlier revision had verified and the newest has not is a regression: the plan or
the code changed and it was not verified again. A task is an immutable value; every change returns a
new one.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..text.addresses import slugify
from ..types.json_records import (
    choice_field,
    dump_record,
    integer_field,
    json_field,
    load_record,
    records_field,
    text_field,
    texts_field,
    time_field,
)
from ..types.records import Json

STATES = ("planned", "active", "done", "blocked")


class Phase(NamedTuple):
    """A phase of a task; `report` is written when it is done."""

    name: str = ""
    state: str = "planned"
    report: str = ""
    extra: Mapping[str, Json] = {}


class TaskDecision(NamedTuple):
    """A decision and its reason."""

    text: str = ""
    reason: str = ""
    phase: str = ""
    at: int = 0
    extra: Mapping[str, Json] = {}


class Revision(NamedTuple):
    """A revision of the plan: its reason, and the items verified while it held."""

    number: int = 0
    reason: str = ""
    verified: tuple[str, ...] = ()
    at: int = 0
    extra: Mapping[str, Json] = {}


class Task(NamedTuple):
    """A task with its history."""

    slug: str = ""
    title: str = ""
    phases: tuple[Phase, ...] = ()
    decisions: tuple[TaskDecision, ...] = ()
    revisions: tuple[Revision, ...] = ()
    extra: Mapping[str, Json] = {}

    @property
    def phase(self) -> str:
        """Return the current phase; "" before the first and after the last."""
        return next((one.name for one in self.phases if one.state in ("active", "blocked")), "")


class Regression(NamedTuple):
    """An item that was verified up to a revision, and no longer is."""

    item: str
    verified_in: int
    missing_in: int


# ---------------------------------------------------------------- changes


def new_task(title: str, phases: Iterable[str] = ()) -> Task:
    """Create a task with a slug made from its title."""
    names = [" ".join(name.split()) for name in phases]
    if len(set(map(str.casefold, names))) < len(names):
        raise InvalidInput("two phases have the same name", where=f"task {title!r}")
    planned = tuple(Phase(name) for name in names)
    return Task(slugify(title), " ".join(title.split()), planned)


def enter_phase(task: Task, name: str) -> Task:
    """Return the task in a phase, added if new; the phase before it must be done."""
    name = " ".join(name.split())
    if task.phase and task.phase.casefold() != name.casefold():
        raise InvalidInput(
            f"the phase {task.phase!r} is not done",
            where=f"task {task.slug}",
            hint="Finish it with its report first.",
        )
    if all(one.name.casefold() != name.casefold() for one in task.phases):
        task = task._replace(phases=(*task.phases, Phase(name)))
    return _with_phase(task, name, "active", "")


def finish_phase(task: Task, name: str, report: str) -> Task:
    """Return the task with a phase done."""
    return _with_phase(task, name, "done", report.strip())


def block_phase(task: Task, name: str, why: str) -> Task:
    """Return the task with a phase blocked."""
    return _with_phase(task, name, "blocked", why.strip())


def _with_phase(task: Task, name: str, state: str, report: str) -> Task:
    wanted = " ".join(name.split()).casefold()
    if all(one.name.casefold() != wanted for one in task.phases):
        known = ", ".join(one.name for one in task.phases) or "none"
        raise InvalidInput(
            f"there is no phase {name!r}", where=f"task {task.slug}", hint=f"Phases: {known}."
        )
    changed = (
        one._replace(state=state, report=report) if one.name.casefold() == wanted else one
        for one in task.phases
    )
    return task._replace(phases=tuple(changed))


def add_decision(task: Task, words: str, reason: str = "", at: int = 0) -> Task:
    """Return the task with another decision of its current phase."""
    return task._replace(decisions=(*task.decisions, TaskDecision(words, reason, task.phase, at)))


def revise_plan(task: Task, reason: str, at: int = 0) -> Task:
    """Return the task with a new revision of its plan, in which nothing is verified yet."""
    number = task.revisions[-1].number + 1 if task.revisions else 1
    return task._replace(revisions=(*task.revisions, Revision(number, reason, (), at)))


def verify_items(task: Task, verified: Iterable[str]) -> Task:
    """Return the task with more items verified in its newest revision."""
    if not task.revisions:
        task = revise_plan(task, "the first plan")
    last = task.revisions[-1]
    kept: dict[str, str] = {}
    for item in (*last.verified, *verified):
        kept.setdefault(_item_key(item), item)
    newest = last._replace(verified=tuple(kept.values()))
    return task._replace(revisions=(*task.revisions[:-1], newest))


def _item_key(item: str) -> str:
    """Normalise an item, to recognise it in another revision."""
    return " ".join(re.sub(r"[\W_]+", " ", item.casefold()).split()) or item


def find_regressions(revisions: Sequence[Revision]) -> tuple[Regression, ...]:
    """Return the items that an earlier revision had verified and the newest has not."""
    if not revisions:
        return ()
    now = {_item_key(item) for item in revisions[-1].verified}
    before: dict[str, Regression] = {}
    for revision in revisions[:-1]:
        for item in revision.verified:
            before[_item_key(item)] = Regression(item, revision.number, revisions[-1].number)
    return tuple(lost for key, lost in before.items() if key not in now)


# ---------------------------------------------------------------- JSON

_PHASE = (
    text_field("name"),
    choice_field("state", STATES),
    text_field("report"),
)
_DECISION = (
    text_field("text"),
    text_field("reason"),
    text_field("phase"),
    time_field("at", "time"),
)
_REVISION = (
    integer_field("number"),
    text_field("reason"),
    texts_field("verified"),
    time_field("at", "time"),
)
_TASK = (
    text_field("slug"),
    text_field("title"),
    records_field("phases", Phase, _PHASE),
    records_field("decisions", TaskDecision, _DECISION),
    records_field("revisions", Revision, _REVISION),
)


def task_from_json(given: Json) -> Task:
    """Parse a task from a JSON object."""
    return load_record(Task, _TASK, given, "task")


def task_to_json(task: Task) -> dict[str, Json]:
    """Convert a task to JSON, lossless."""
    return dump_record(task, _TASK)


# ---------------------------------------------------------------- artifacts


def render_artifacts(task: Task) -> dict[str, str]:
    """Render the pages of a task by their paths; empty ones are left out."""
    phases = [f"{number}. {one.name} ({one.state})" for number, one in enumerate(task.phases, 1)]
    decided = [
        f"- {one.text}" + (f" ({one.reason})" if one.reason else "") for one in task.decisions
    ]
    revised = [f"{one.number}. {one.reason}" for one in task.revisions]
    parts = {
        "plan.md": _render_page(f"Plan: {task.title}", phases),
        "decisions.md": _render_page("Decisions", decided),
        "revisions.md": _render_page("Revisions", revised),
        "verified_items.md": render_verified(task.revisions),
    }
    return {path: body for path, body in parts.items() if body}


def _render_page(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"# {title}", "", *lines)) + "\n" if lines else ""


def render_verified(revisions: Sequence[Revision]) -> str:
    """Render the verified items of every revision."""
    parts = [
        "\n".join((f"## Revision {one.number}", *(f"- {item}" for item in one.verified)))
        for one in revisions
        if one.verified
    ]
    return "\n\n".join(("# Verified items", *parts)) + "\n" if parts else ""


def render_report(task: Task, phase: str = "") -> str:
    """Render the report of a phase or the whole task: reports, decisions, verified items,
    regressions."""
    chosen = [one for one in task.phases if not phase or one.name.casefold() == phase.casefold()]
    if phase and not chosen:
        raise InvalidInput(f"there is no phase {phase!r}", where=f"task {task.slug}")
    title = f"{task.title}: {chosen[0].name}" if phase else task.title
    decided = [one.text for one in task.decisions if not phase or one.phase == chosen[0].name]
    verified = task.revisions[-1].verified if task.revisions else ()
    lost = [
        f"{one.item} (verified in revision {one.verified_in})"
        for one in find_regressions(task.revisions)
    ]
    undone = [f"{one.name} ({one.state})" for one in chosen if one.state != "done"]
    sections = (
        ("Phases", [f"{one.name}: {one.report or one.state}" for one in chosen]),
        ("Decisions", decided),
        ("Verified", list(verified)),
        ("Regressions", lost),
        ("Not done", undone),
    )
    parts = [
        "\n".join((f"## {heading}", *(f"- {line}" for line in lines)))
        for heading, lines in sections
        if lines
    ]
    return "\n\n".join((f"# Completion report: {title}", *parts)) + "\n"


# ---------------------------------------------------------------- gate events


class GateEvent(NamedTuple):
    """An event at a gate of a task, for a log that is only written."""

    trace: str = ""
    at: int = 0
    agent: str = ""
    phase: str = ""
    type: str = ""
    payload: Json = None
    extra: Mapping[str, Json] = {}


_EVENT = (
    text_field("trace", "trace_id"),
    time_field("at", "time"),
    text_field("agent"),
    text_field("phase"),
    text_field("type"),
    json_field("payload"),
)


def render_event(event: GateEvent) -> str:
    """Render an event as one line of the log, with its line end."""
    line = json.dumps(dump_record(event, _EVENT), ensure_ascii=False, separators=(",", ":"))
    for mark in ("\u2028", "\u2029", "\u0085"):
        line = line.replace(mark, f"\\u{ord(mark):04x}")
    return line + "\n"
