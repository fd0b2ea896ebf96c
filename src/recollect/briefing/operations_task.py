"""Operations around a task: what is worth knowing before it, what came of what was shown."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

from ..archive import steps_sessions as archive_steps_sessions
from ..context import Context
from ..errors import InvalidInput
from ..freshness import steps as freshness_steps
from ..memory import steps_verify as memory_steps_verify
from ..recall import operations as recall_operations
from ..types.records import Hit
from ..work import operations_tasks as work_operations_tasks
from ..work import steps_tasks as work_steps_tasks
from . import operations, rendering, steps, steps_follow_up


class TaskBriefing(NamedTuple):
    """What is worth knowing before a task."""

    phase: str
    patterns: tuple[Hit, ...]
    avoid: tuple[Hit, ...]
    skills: tuple[Hit, ...]


def before_task(
    context: Context, goal: str, phase: str = "", files: Sequence[str] = ()
) -> TaskBriefing:
    """List the patterns, pitfalls and skills that matter for a task.

    goal: what is to be done
    phase: exploration, implementation, debugging, review or refactoring; read from the goal
    files: files it is about (repeat for several)

    Example: recollect before-task "fix the failing login test" --file tests/test_login.py
    """
    from ..episodes import phases as episodes_phases

    chosen = episodes_phases.checked(phase, goal)
    hits: dict[str, Hit] = {}
    for path in ("", *files):
        for hit in recall_operations.recall_lessons(context, goal, 20, path):
            hits.setdefault(hit.id, hit)
    source = {"episode": "episodic", "workflow": "skills", "procedure": "skills"}
    found = [
        episodes_phases.Found(hit.id, source.get(hit.kind, "semantic"), hit.score)
        for hit in hits.values()
    ]
    ranked = [hits[item.found.id] for item in episodes_phases.blend(found, chosen)]
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
    """Return what may be shown by itself before a task: the lines of a turn."""
    ask = steps.Ask(query=goal, cwd=context.project.start, first=True)
    spoken = operations.brief_turn(context, ask)
    return tuple(rendering.line(item) for item in spoken.items)


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
    """Check what memories say about the code, or check the archive.

    archive: prove that every message is there, unchanged and in its place, instead
    fix: follow what moved, also in the texts that name it

    Example: recollect verify --fix
    Example: recollect verify --archive
    """
    if archive:
        if fix:
            raise InvalidInput("the archive is proven, not fixed", where="verify")
        return archive_steps_sessions.verify_archive(context.project_space)
    return memory_steps_verify.check_claims(
        context.project_space,
        freshness_steps.open_working_tree(context),
        fix,
        context.clock(),
    )


def follow_up(context: Context, session: str) -> int:
    """Judge what was shown in a session that is over; return how many lines could be judged."""
    space = context.project_space
    if not space.present():
        return 0
    root, now = context.top, context.clock()
    return space.write(lambda tx: steps_follow_up.judge_session(tx, session, root, now))
