"""Tasks: phases, decisions, revisions and what was verified in each, and what got lost on the way.

An item that an earlier revision had verified and the newest has not is a regression: somebody
changed the plan or the code, and nobody looked again. A task is a value; every change gives
another one. It does not know documents, only the texts that go into them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput
from ..text.addresses import slugify
from ..types.json_records import (
    Field,
    dump,
    iso,
    items,
    load,
    moment,
    one_of,
    plain,
    text,
    texts,
    whole,
)
from ..types.records import Json

STATES = ("planned", "active", "done", "blocked")


class Phase(NamedTuple):
    """A part of a task; `report` is what was said when it was done."""

    name: str = ""
    state: str = "planned"
    report: str = ""
    extra: Mapping[str, Json] = {}


class Decision(NamedTuple):
    """A choice that was made on the way, and why."""

    text: str = ""
    reason: str = ""
    phase: str = ""
    at: int = 0
    extra: Mapping[str, Json] = {}


class Revision(NamedTuple):
    """A version of the plan: why it came about, and what was verified while it held."""

    number: int = 0
    reason: str = ""
    verified: tuple[str, ...] = ()
    at: int = 0
    extra: Mapping[str, Json] = {}


class Task(NamedTuple):
    """A task and its history."""

    slug: str = ""
    title: str = ""
    phases: tuple[Phase, ...] = ()
    decisions: tuple[Decision, ...] = ()
    revisions: tuple[Revision, ...] = ()
    extra: Mapping[str, Json] = {}

    @property
    def phase(self) -> str:
        """The phase that the task is in; "" before the first and after the last."""
        return next((one.name for one in self.phases if one.state in ("active", "blocked")), "")


class Regression(NamedTuple):
    """An item that was verified up to a revision, and is not any more."""

    item: str
    verified_in: int
    missing_in: int


# ---------------------------------------------------------------- how a task goes on


def new_task(title: str, phases: Iterable[str] = (), slug: str = "") -> Task:
    """A task, named by its title in kebab-case."""
    names = [" ".join(name.split()) for name in phases]
    if len(set(map(str.casefold, names))) < len(names):
        raise InvalidInput("two phases have the same name", where=f"task {title!r}")
    planned = tuple(Phase(name) for name in names)
    return Task(slug or slugify(title), " ".join(title.split()), planned)


def enter_phase(task: Task, name: str) -> Task:
    """The task in a phase, which is added if it is new; the one before it has to be done."""
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
    """The task after a phase was done."""
    return _with_phase(task, name, "done", report.strip())


def block_phase(task: Task, name: str, why: str) -> Task:
    """The task while a phase cannot go on."""
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


def decide(task: Task, words: str, reason: str = "", at: int = 0) -> Task:
    """The task with another decision, made in the phase it is in."""
    return task._replace(decisions=(*task.decisions, Decision(words, reason, task.phase, at)))


def revise(task: Task, reason: str, at: int = 0) -> Task:
    """The task with a new revision of its plan; nothing is verified in it yet."""
    number = task.revisions[-1].number + 1 if task.revisions else 1
    return task._replace(revisions=(*task.revisions, Revision(number, reason, (), at)))


def verify(task: Task, verified: Iterable[str]) -> Task:
    """The task with more items verified in its newest revision."""
    if not task.revisions:
        task = revise(task, "the first plan")
    last = task.revisions[-1]
    kept: dict[str, str] = {}
    for item in (*last.verified, *verified):
        kept.setdefault(_key(item), item)
    newest = last._replace(verified=tuple(kept.values()))
    return task._replace(revisions=(*task.revisions[:-1], newest))


def _key(item: str) -> str:
    """By what an item is recognised in another revision."""
    return " ".join(re.sub(r"[\W_]+", " ", item.casefold()).split()) or item


def regressions(revisions: Sequence[Revision]) -> tuple[Regression, ...]:
    """The items that an earlier revision had verified and the newest has not."""
    if not revisions:
        return ()
    now = {_key(item) for item in revisions[-1].verified}
    before: dict[str, Regression] = {}
    for revision in revisions[:-1]:
        for item in revision.verified:
            before[_key(item)] = Regression(item, revision.number, revisions[-1].number)
    return tuple(lost for key, lost in before.items() if key not in now)


# ---------------------------------------------------------------- as JSON

_PHASE = (
    Field("name", "name", text, plain),
    Field("state", "state", one_of(*STATES), plain),
    Field("report", "report", text, plain),
)
_DECISION = (
    Field("text", "text", text, plain),
    Field("reason", "reason", text, plain),
    Field("phase", "phase", text, plain),
    Field("at", "time", moment, iso),
)
_REVISION = (
    Field("number", "number", whole, plain),
    Field("reason", "reason", text, plain),
    Field("verified", "verified", texts, list),
    Field("at", "time", moment, iso),
)


def _phases(value: Json) -> tuple[Phase, ...]:
    return tuple(load(Phase, _PHASE, one, "phases") for one in items(value))


def _decisions(value: Json) -> tuple[Decision, ...]:
    return tuple(load(Decision, _DECISION, one, "decisions") for one in items(value))


def _revisions(value: Json) -> tuple[Revision, ...]:
    return tuple(load(Revision, _REVISION, one, "revisions") for one in items(value))


_TASK = (
    Field("slug", "slug", text, plain),
    Field("title", "title", text, plain),
    Field("phases", "phases", _phases, lambda all_: [dump(one, _PHASE) for one in all_]),
    Field(
        "decisions", "decisions", _decisions, lambda all_: [dump(one, _DECISION) for one in all_]
    ),
    Field(
        "revisions", "revisions", _revisions, lambda all_: [dump(one, _REVISION) for one in all_]
    ),
)


def from_json(given: Json) -> Task:
    """The task in a JSON object."""
    return load(Task, _TASK, given, "task")


def to_json(task: Task) -> dict[str, Json]:
    """The task as JSON; all that was given comes back."""
    return dump(task, _TASK)


# ---------------------------------------------------------------- artifacts


def artifacts(task: Task) -> dict[str, str]:
    """The texts of a task's folder, by their paths in it; what is empty is left out."""
    phases = [f"{number}. {one.name} ({one.state})" for number, one in enumerate(task.phases, 1)]
    decided = [
        f"- {one.text}" + (f" ({one.reason})" if one.reason else "") for one in task.decisions
    ]
    told = [f"{one.number}. {one.reason}" for one in task.revisions]
    parts = {
        "plan.md": _page(f"Plan: {task.title}", phases),
        "decisions.md": _page("Decisions", decided),
        "revisions.md": _page("Revisions", told),
        "verified_items.md": verified_md(task.revisions),
    }
    return {path: body for path, body in parts.items() if body}


def _page(title: str, lines: Sequence[str]) -> str:
    return "\n".join((f"# {title}", "", *lines)) + "\n" if lines else ""


def verified_md(revisions: Sequence[Revision]) -> str:
    """The verified items of every revision; `verified_in` reads them back."""
    parts = [
        "\n".join((f"## Revision {one.number}", *(f"- {item}" for item in one.verified)))
        for one in revisions
        if one.verified
    ]
    return "\n\n".join(("# Verified items", *parts)) + "\n" if parts else ""


def verified_in(page: str) -> tuple[Revision, ...]:
    """The revisions in a page of verified items; items without a heading are of the first."""
    found: dict[int, list[str]] = {}
    number = 1
    for line in page.splitlines():
        heading = re.match(r"#+ (?:revision|iteration) (\d+)\b", line, re.IGNORECASE)
        item = re.match(r"\s*[-*+] (?:\[[xX]\] )?(.+)", line)
        if heading:
            number = int(heading[1])
        elif item:
            found.setdefault(number, []).append(item[1].strip())
    return tuple(Revision(at, "", tuple(found[at])) for at in sorted(found))


def completion_report(task: Task, phase: str = "") -> str:
    """What a phase, or the whole task, came to: reports, decisions, verified items, regressions."""
    chosen = [one for one in task.phases if not phase or one.name.casefold() == phase.casefold()]
    if phase and not chosen:
        raise InvalidInput(f"there is no phase {phase!r}", where=f"task {task.slug}")
    title = f"{task.title}: {chosen[0].name}" if phase else task.title
    decided = [one.text for one in task.decisions if not phase or one.phase == chosen[0].name]
    verified = task.revisions[-1].verified if task.revisions else ()
    lost = [
        f"{one.item} (verified in revision {one.verified_in})"
        for one in regressions(task.revisions)
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
    """Something that happened at a gate of a task. Events are a log, never read for control."""

    trace: str = ""
    at: int = 0
    agent: str = ""
    phase: str = ""
    type: str = ""
    payload: Json = None
    extra: Mapping[str, Json] = {}


_EVENT = (
    Field("trace", "trace_id", text, plain),
    Field("at", "time", moment, iso),
    Field("agent", "agent", text, plain),
    Field("phase", "phase", text, plain),
    Field("type", "type", text, plain),
    Field("payload", "payload", plain, plain),
)


def to_line(event: GateEvent) -> str:
    """The event as one line of the log, with its line end."""
    line = json.dumps(dump(event, _EVENT), ensure_ascii=False, separators=(",", ":"))
    for mark in ("\u2028", "\u2029", "\u0085"):
        line = line.replace(mark, f"\\u{ord(mark):04x}")
    return line + "\n"


def from_line(line: str) -> GateEvent:
    """The event on a line of the log."""
    try:
        given = json.loads(line)
    except ValueError as error:
        raise InvalidInput(f"this is no event: {error}", where=line[:80]) from None
    return load(GateEvent, _EVENT, given, "event")
