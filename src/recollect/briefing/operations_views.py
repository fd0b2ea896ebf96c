"""Operations that show stored records: a record or a page made from the store (`memory://root`),
lessons for a task, the result of checking claims.

They are apart from `briefing.operations`, which every hook loads.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

from ..actions import command_words
from ..archive import steps_sessions as archive_steps_sessions
from ..context import Context
from ..documents import sql as documents_sql
from ..errors import InvalidInput
from ..fast_typing import Literal, NamedTuple, Unpack, overload
from ..freshness import steps as freshness_steps
from ..lessons import sql as lessons_sql
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import operations as memory_operations
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_verify as memory_steps_verify
from ..memory import steps_visible as memory_steps_visible
from ..procedures import skills as procedures_skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..recall import operations as recall_operations
from ..recall import questions as recall_questions
from ..recall import steps_records as recall_steps_records
from ..recall.operations import RecallFilters
from ..review import steps as review_steps
from ..storage.database import Tx
from ..text import addresses, terms
from ..types.records import BASELINE_KINDS, FOREVER, KINDS, Document, Hit, Memory, Recalled
from ..types.reports import ShownLesson
from ..work import operations_tasks as work_operations_tasks
from ..work import steps_tasks as work_steps_tasks
from . import (
    instruction_files_io,
    operations,
    rendering,
    selection,
    steps,
    steps_follow_up,
    steps_lessons,
    wording,
)

MOST_MEMORIES = 1000
MOST_COMMANDS = 5
MOST_ERRORS = 200
"""The newest errors with a fix that a question is compared with."""

MOST_PARAGRAPHS = 300
"""Paragraphs of instruction files that are compared with the user's statements."""


def recall(
    context: Context, query: str, limit: int = 0, budget: int = 0, **filters: Unpack[RecallFilters]
) -> Recalled:
    """Search memories and past conversations.

    query: a question or a few words
    limit: maximum number of hits (setting recall_limit)
    budget: maximum number of tokens of text (setting recall_budget)

    Example: recollect recall "how do we run the tests"
    Example: recollect recall "what did I say about the release last week" --around 1
    Example: recollect recall "rate limit" --kind fact --since 2w --budget 300
    """
    find_lessons = None
    if not filters and context.project_space.present():
        find_lessons = partial(_describe_lessons, query=query, now=context.clock())
    return recall_operations.recall(context, query, limit, budget, find_lessons, **filters)


def _describe_lessons(tx: Tx, query: str, now: int) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return lines with the commands that answer a question, or else with the fixes of errors."""
    if purpose := recall_questions.asked_purpose(query):
        return _describe_commands(tx, purpose, query, now), ()
    rows = lessons_sql.list_findings(tx, "error", 0, MOST_ERRORS)
    return (), tuple(steps_lessons.find_fixes(tx, query, rows)) if rows else ()


def _describe_commands(tx: Tx, purpose: str, query: str, now: int) -> tuple[str, ...]:
    """Return lines with the commands for a purpose that worked here: those that hold most words of
    the question, then the most used."""
    known = [
        one
        for one in lessons_steps_observed.known_commands(tx, now=now)
        if one.purpose == purpose
        and one.retired is None
        and not command_words.suggests_danger(one.form)
    ]
    # In a command, "test" says nothing if the question is how to run the tests.
    asked = {*terms.query_stems(query)} - {terms.stem(purpose), "run"}
    held = [len(asked.intersection(terms.stem_all(terms.split_terms(one.form)))) for one in known]
    known = [known[place] for place in sorted(range(len(known)), key=lambda at: -held[at])]
    return tuple(item.line for item in wording.command_lines(known[:MOST_COMMANDS]))


def memory_md(txs: Sequence[Tx]) -> str:
    """Return all memories in force by kind, newest first; without those of sessions and of tasks
    that are not running."""
    own = memory_steps_visible.find_memory_owners(txs)
    most = MOST_MEMORIES + 1
    memories = [one for tx in txs for one in memory_sql_lists.list_in_force(tx, most, own)]
    lines = ["# Memory", "", rendering.READING_RULES]
    for kind in KINDS:
        inside = [_memory_line(one) for one in memories[:MOST_MEMORIES] if one.kind == kind]
        lines += ["", f"## {kind.capitalize()}", "", *inside] if inside else []
    if len(memories) > MOST_MEMORIES:
        lines += ["", "There are more; `recollect recall` finds them."]
    return "\n".join(lines) if memories else ""


def _memory_line(memory: Memory) -> str:
    scope = f"for {', '.join(memory.scope)}" if memory.scope else ""
    return rendering.line(selection.memory_item(memory, "")._replace(note=scope))


def skill_md(txs: Sequence[Tx], name: str) -> str:
    """Return an active procedure as SKILL.md; empty if none has this name."""
    rows = [procedures_sql.get_by_name(tx, name) for tx in txs]
    used = [row for row in rows if row is not None and row.status == "active"]
    return procedures_skills.to_skill_md(procedures_steps.parse_row(used[0])) if used else ""


def make_document(address: addresses.Address, text: str) -> Document | None:
    """Return a text as a document at an address; None for an empty text."""
    if not text:
        return None
    return Document(
        address=addresses.format_address(address),
        revision=1,
        type="root",
        title=address.path.rpartition("/")[2] or "root",
        text=text,
        fields={},
        layer="project",
        owner="",
        status="active",
        origin="system",
        label="system",
        sources=(),
        valid_from=0,
        valid_to=FOREVER,
    )


def show(context: Context, address: str) -> recall_steps_records.ShownRecord:
    """Show one memory, session, message, document or lesson in full.

    address: an id or a prefix of one, or a memory:// address

    Example: recollect show m-4k9w2c
    Example: recollect show memory://session/s-1/messages/10-20
    Example: recollect show "command:make test"
    """
    if steps_lessons.names_lesson(address):
        lesson = find_lesson(context, address)
        if lesson is None:
            raise recall_steps_records.record_not_found(address)
        return recall_steps_records.ShownRecord(lesson=lesson)
    if address.removeprefix("memory://").partition("/")[0] != "root":
        return recall_operations.show_record(context, address)
    memory_operations.write_recalls(context)
    place = recall_steps_records.parse_address(address)
    # Autonomous memory writes these pages; until it has run they are made from the store.
    full, space = addresses.format_address(place), context.project_space
    if space.present() and (page := space.read(lambda tx: documents_sql.get_document(tx, full))):
        return recall_steps_records.ShownRecord(document=page)
    if not place.path:
        text = operations.make_briefing(context).text or "The start block is empty.\n"
    elif place.path == "MEMORY.md":
        text = context.read_both(memory_md)
    else:
        text = context.read_both(lambda txs: skill_md(txs, place.path.split("/")[1]))
    page = make_document(place, text)
    if page is None:
        raise recall_steps_records.record_not_found(address)
    return recall_steps_records.ShownRecord(document=page)


def find_lesson(context: Context, id: str) -> ShownLesson | None:
    """Return a learned command, fix, place or conclusion; None without one."""
    now, space = context.clock(), context.project_space
    return (
        space.read(lambda tx: steps_lessons.show_lesson(tx, id, now)) if space.present() else None
    )


# ---------------------------------------------------------------- tasks


class TaskBriefing(NamedTuple):
    """The patterns, pitfalls and skills for a task."""

    phase: str
    patterns: tuple[Hit, ...]
    avoid: tuple[Hit, ...]
    skills: tuple[Hit, ...]


def before_task(
    context: Context, goal: str, phase: str = "", files: Sequence[str] = ()
) -> TaskBriefing:
    """List the patterns, pitfalls and skills that matter for a task.

    goal: the goal of the task
    phase: exploration, implementation, debugging, review or refactoring; by default guessed
        from the goal
    files: files it is about (repeat for several)

    Example: recollect before-task "fix the failing login test" --file tests/test_login.py
    """
    from ..episodes import sql as episodes_sql
    from ..episodes import tasks

    chosen = tasks.choose_phase(phase, goal)
    hits: dict[str, Hit] = {}
    for path in ("", *files):
        for hit in recall_operations.recall_lessons(context, goal, 20, path):
            hits.setdefault(hit.id, hit)
    episodes = [hit.id for hit in hits.values() if hit.kind == "episode"]
    outcomes = context.project_space.read(lambda tx: episodes_sql.load_outcomes(tx, episodes))
    source = {"episode": "episodic", "workflow": "skills", "procedure": "skills"}
    matches = [
        tasks.TaskMatch(
            hit.id, source.get(hit.kind, "semantic"), hit.score, outcomes.get(hit.id, "")
        )
        for hit in hits.values()
    ]
    ranked = [hits[match.id] for match in tasks.blend(matches, chosen)]
    avoid = tuple(hit for hit in ranked if hit.kind == "pitfall")[:5]
    skills = tuple(hit for hit in ranked if hit.kind in ("workflow", "procedure"))[:3]
    rest = tuple(hit for hit in ranked if hit not in avoid and hit not in skills)[:5]
    return TaskBriefing(chosen, rest, avoid, skills)


def start_task(
    context: Context, title: str, phases: Sequence[str] = ()
) -> work_steps_tasks.ShownTask:
    """Start a task that outlives the conversation.

    title: what is to be done; its name is made from it
    phases: the phases of the plan (repeat for several)

    Example: recollect task start "Feature X" --phase design --phase build
    """
    shown = work_operations_tasks.start_task(context, title, phases)
    return shown._replace(advice=_advice(context, title))


def enter_phase(
    context: Context, slug: str, name: str, report: str = "", blocked: str = ""
) -> work_steps_tasks.ShownTask:
    """Enter a phase of a task; with a report, end it; or say what blocks it.

    slug: the task
    name: the phase
    report: what came of it
    blocked: why it cannot go on

    Example: recollect task phase feature-x design
    Example: recollect task phase feature-x design --report "One table, two endpoints"
    """
    shown = work_operations_tasks.enter_phase(context, slug, name, report, blocked)
    if report or blocked:
        return shown
    return shown._replace(advice=_advice(context, f"{shown.title} {name}"))


def _advice(context: Context, goal: str) -> tuple[str, ...]:
    """Return the lines that a prompt with this goal would get."""
    ask = steps.Ask(query=goal, cwd=context.project.start, first=True)
    return tuple(map(rendering.line, operations.brief_turn(context, ask).items))


@overload
def verify(
    context: Context, archive: Literal[False] = False, fix: bool = False
) -> memory_steps_verify.ClaimReport: ...


@overload
def verify(
    context: Context, archive: Literal[True], fix: bool = False
) -> archive_steps_sessions.VerifiedArchive: ...


def verify(
    context: Context, archive: bool = False, fix: bool = False
) -> memory_steps_verify.ClaimReport | archive_steps_sessions.VerifiedArchive:
    """Check memories against the code, or check the archive.

    archive: check instead that every message is present, unchanged and in order
    fix: update the paths of moved files, also inside the texts

    Example: recollect verify --fix
    Example: recollect verify --archive
    """
    if archive:
        if fix:
            raise InvalidInput("the archive can be checked, not fixed", where="verify")
        return archive_steps_sessions.verify_archive(context.project_space)
    return memory_steps_verify.check_claims(
        context.project_space, freshness_steps.open_working_tree(context), fix, context.clock()
    )


def follow_up(context: Context, session: str) -> int:
    """Judge the effect of the items shown in a finished session; return the number judged."""
    space = context.project_space
    if not space.present():
        return 0
    root, now = context.top, context.clock()
    _compare_instructions(context)
    return space.write(lambda tx: steps_follow_up.judge_session(tx, session, root, now))


def _compare_instructions(context: Context) -> None:
    """Queue for review the user's statements that an older instruction file contradicts."""
    instructions = operations.read_instructions(context, steps.Ask(cwd=context.project.start))
    paragraphs = [(name, text) for name, text, stems in instructions.paragraphs if len(stems) > 1]
    paragraphs = paragraphs[:MOST_PARAGRAPHS]
    changed = {name: instruction_files_io.changed_at(context.top, name) for name, _ in paragraphs}
    space, now = context.project_space, context.clock()

    def load(tx: Tx) -> list[Memory]:
        kinds = (*BASELINE_KINDS, "decision")
        memories = memory_sql_lists.list_strongest(tx, kinds, steps.MOST_OF_A_KIND, ())
        return [one for one in memories if one.label == "user"]

    found = review_steps.find_conflicts(space.read(load), paragraphs, changed)
    space.write(lambda tx: review_steps.save_conflicts(tx, found, now))
