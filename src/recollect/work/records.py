"""Records of work that outlives a conversation: tasks, ledgers and handoffs, as JSON.

A task has phases, decisions, plan revisions and verified items. An item that was verified in an
earlier revision, but not in the newest, is a regression: it was not verified again after the plan
or the code changed. A ledger is the state of an agent, a handoff is work passed from one agent to
another; `moved_since` compares the working tree with a handoff.

Every record is an immutable value. Other programs write this JSON too: unknown fields are kept.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..text.addresses import slugify
from ..types.json_records import (
    RecordFormat,
    choice_value,
    records_value,
    time_value,
    write_time,
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
    """A revision of the plan: its reason, and the items verified in it."""

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
    """An item that was last verified in an earlier revision."""

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
    return set_phase(task, name, "active")


def set_phase(task: Task, name: str, state: str, report: str = "") -> Task:
    """Return the task with a phase in another state; `report` is its result or its blocker."""
    at = task.phases.index(_find_phase(task, name))
    changed = task.phases[at]._replace(state=state, report=report.strip())
    return task._replace(phases=(*task.phases[:at], changed, *task.phases[at + 1 :]))


def _find_phase(task: Task, name: str) -> Phase:
    wanted = name.casefold().split()
    for one in task.phases:
        if one.name.casefold().split() == wanted:
            return one
    known = ", ".join(one.name for one in task.phases) or "none"
    raise InvalidInput(
        f"there is no phase {name!r}", where=f"task {task.slug}", hint=f"Phases: {known}."
    )


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
    """Normalise an item, to find it in another revision."""
    return " ".join(re.sub(r"[\W_]+", " ", item.casefold()).split()) or item


def find_regressions(revisions: Sequence[Revision]) -> tuple[Regression, ...]:
    """Return the items that were verified in an earlier revision, but not in the newest."""
    if not revisions:
        return ()
    now = {_item_key(item) for item in revisions[-1].verified}
    before: dict[str, Regression] = {}
    for revision in revisions[:-1]:
        for item in revision.verified:
            before[_item_key(item)] = Regression(item, revision.number, revisions[-1].number)
    return tuple(lost for key, lost in before.items() if key not in now)


# ---------------------------------------------------------------- JSON

_PHASE = RecordFormat(Phase, state=choice_value(STATES))
_DECISION = RecordFormat(TaskDecision, at=time_value("time"))
_REVISION = RecordFormat(Revision, at=time_value("time"))
TASK = RecordFormat(
    Task,
    phases=records_value(_PHASE, "phases"),
    decisions=records_value(_DECISION, "decisions"),
    revisions=records_value(_REVISION, "revisions"),
)


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
    chosen = [_find_phase(task, phase)] if phase else list(task.phases)
    title = f"{task.title}: {chosen[0].name}" if phase else task.title
    decided = [one.text for one in task.decisions if not phase or one.phase == chosen[0].name]
    verified = task.revisions[-1].verified if task.revisions else ()
    regressions = [
        f"{one.item} (verified in revision {one.verified_in})"
        for one in find_regressions(task.revisions)
    ]
    undone = [f"{one.name} ({one.state})" for one in chosen if one.state != "done"]
    sections = (
        ("Phases", [f"{one.name}: {one.report or one.state}" for one in chosen]),
        ("Decisions", decided),
        ("Verified", list(verified)),
        ("Regressions", regressions),
        ("Not done", undone),
    )
    parts = [
        "\n".join((f"## {heading}", *(f"- {line}" for line in lines)))
        for heading, lines in sections
        if lines
    ]
    return "\n\n".join((f"# Completion report: {title}", *parts)) + "\n"


# ---------------------------------------------------------------- gate events


def render_event(trace: str, at: int, agent: str, phase: str, type: str, payload: Json) -> str:
    """Render an event of a task, such as the end of a phase, as one JSON line of its log."""
    about = {"trace_id": trace, "time": write_time(at), "agent": agent, "phase": phase}
    fields = {key: value for key, value in {**about, "type": type}.items() if value}
    line = json.dumps({**fields, "payload": payload}, ensure_ascii=False, separators=(",", ":"))
    for mark in ("\u2028", "\u2029", "\u0085"):
        line = line.replace(mark, f"\\u{ord(mark):04x}")
    return line + "\n"


# ---------------------------------------------------------------- ledgers and handoffs


class Ledger(NamedTuple):
    """The state of an agent: its last checkpoint, task, files, and learned patterns."""

    agent_id: str = ""
    last_checkpoint: int = 0
    tasks_completed: int = 0
    current_task: str = ""
    files_modified: tuple[str, ...] = ()
    uncommitted_changes: bool = False
    last_commit: str = ""
    tech_stack: tuple[str, ...] = ()
    patterns_learned: tuple[str, ...] = ()
    current_goal: str = ""
    extra: Mapping[str, Json] = {}


class Handoff(NamedTuple):
    """Work passed to another agent. `accepted_at` is 0 until the receiver accepts it."""

    id: str = ""
    from_agent: str = ""
    to_agent: str = ""
    at: int = 0
    what_was_done: str = ""
    artifacts: tuple[str, ...] = ()
    git_state: str = ""
    needs_testing: tuple[str, ...] = ()
    known_issues: tuple[str, ...] = ()
    relevant_patterns: tuple[str, ...] = ()
    accepted_at: int = 0
    extra: Mapping[str, Json] = {}


LEDGER = RecordFormat(
    Ledger,
    last_checkpoint=time_value(),
    files_modified="state.files_modified",
    uncommitted_changes="state.uncommitted_changes",
    last_commit="state.last_git_commit",
    tech_stack="context.tech_stack",
    patterns_learned="context.patterns_learned",
    current_goal="context.current_goal",
)
HANDOFF = RecordFormat(
    Handoff,
    at=time_value("timestamp"),
    what_was_done="context.what_was_done",
    artifacts="context.artifacts",
    git_state="context.git_state",
    needs_testing="context.needs_testing",
    known_issues="context.known_issues",
    relevant_patterns="context.relevant_patterns",
    accepted_at=time_value(),
)


# ---------------------------------------------------------------- changes of the tree


class TreeState(NamedTuple):
    """The commit of the tree, and a digest of each of a handoff's files, empty if missing."""

    commit: str = ""
    contents: Mapping[str, str] = {}


class TreeChanges(NamedTuple):
    """Changes of the tree since a handoff: the two commits, changed and missing files."""

    before: str
    now: str
    changed: tuple[str, ...] = ()
    gone: tuple[str, ...] = ()

    def __str__(self) -> str:
        parts = []
        if self.before != self.now:
            before, now = self.before or "no commit", self.now or "no commit"
            parts.append(f"the tree moved from {before} to {now}")
        if self.changed:
            parts.append(f"changed since: {', '.join(self.changed)}")
        if self.gone:
            parts.append(f"gone since: {', '.join(self.gone)}")
        return "; ".join(parts)


def commit_in(git_state: str) -> str:
    """Return the commit in a git state (`commit abc123` or a bare hash), or "".

    A bare hash must have both letters and digits: `facade` is a word, `20261116` a date.
    """
    text = git_state.casefold()
    found = re.search(r"\bcommit\W+([0-9a-f]{6,40})\b", text) or re.search(
        r"\b((?=\d*[a-f])(?=[a-f]*\d)[0-9a-f]{6,40})\b", text
    )
    return found[1] if found else ""


def moved_since(handoff: Handoff, then: Mapping[str, str], now: TreeState) -> TreeChanges | None:
    """Compare the tree with a handoff; None if it has not changed.

    `then` are the digests of the handoff's files: uncommitted changes count too.
    """
    before, current = commit_in(handoff.git_state), now.commit.casefold()
    same = not before or before.startswith(current[:40] or "-") or current.startswith(before)
    other = [path for path, content in then.items() if now.contents.get(path, "") != content]
    changed = tuple(path for path in other if now.contents.get(path))
    gone = tuple(path for path in other if not now.contents.get(path))
    if same and not other:
        return None
    return TreeChanges(before, before if same else now.commit, changed, gone)
