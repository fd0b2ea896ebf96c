"""The operation that puts memory in front of the model: a hook needs it and no other."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple, overload

from ..archive import steps_sessions as archive_steps_sessions
from ..context import Context, new_id
from ..errors import InvalidInput, StoreError
from ..freshness import steps as freshness_steps
from ..memory import steps_verify as memory_steps_verify
from ..recall import operations as recall_operations
from ..secrets import redaction
from ..types.records import Hit
from ..window import steps_contexts as window_steps_contexts
from . import steps


def make_briefing(
    context: Context,
    session: str = "",
    query: str = "",
    files: Sequence[str] = (),
    budget: int = 0,
    explain: bool = False,
) -> steps.Briefing:
    """What a model should see now: the stable block of a session, and what fits this turn.

    session: the session it is for; its stable block stays the same until the window is trimmed
    query: what the user asks; without it the block for the start of a session is made
    files: files in play (repeat for several)
    budget: at most so many tokens (setting briefing_budget)
    explain: show why each item is in, and why others are not

    Example: recollect briefing
    Example: recollect briefing --session s-1 --query "fix the login test" --explain
    """
    named = redaction.check_name(session, "session")
    ask = steps.Ask(named, query, tuple(files))
    briefing, trouble = brief(context, ask, budget)
    if trouble:
        notes = (*briefing.notes, f"that it was shown is not noted: {trouble.message}")
        briefing = briefing._replace(notes=notes)
    return briefing._replace(explained=explain)


def brief(
    context: Context, ask: steps.Ask, budget: int = 0
) -> tuple[steps.Briefing, StoreError | None]:
    """The briefing, and why it could not be written down that it was given, if so."""
    why_not = steps.unwanted(context.settings.mode, ask.query)
    if why_not:
        return steps.EMPTY._replace(notes=(why_not,)), None
    now = context.clock()
    loaded = context.read_both(lambda txs: steps.load(txs, ask, now))
    ids = [one.memory.id for one in loaded.candidates if one.memory.layer != "user"]
    fresh = freshness_steps.check_freshness(context, ids)
    limit = budget or context.settings.briefing_budget
    withhold = context.settings.stale == "withhold"
    _, briefing = steps.decide(loaded, ask, fresh, limit, withhold)
    return briefing, _log_briefing(context, ask, briefing, briefing.begins)


def remind_of_files(
    context: Context, session: str, files: Sequence[str]
) -> tuple[str, StoreError | None]:
    """What applies to these files and was not shown in the context before; mostly nothing."""
    # That nothing applies is found out before anything else is loaded.
    if not context.read_both(lambda txs: steps.applies(txs, session, files)):
        return "", None
    if steps.unwanted(context.settings.mode, ""):
        return "", None
    ask = steps.Ask(session, "", tuple(files))
    now = context.clock()
    loaded = context.read_both(lambda txs: steps.load_for_files(txs, ask, now))
    if not loaded.candidates:
        return "", None
    ids = [one.memory.id for one in loaded.candidates if one.memory.layer != "user"]
    fresh = freshness_steps.check_freshness(context, ids)
    withhold = context.settings.stale == "withhold"
    _, told = steps.decide(loaded, ask, fresh, context.settings.briefing_budget, withhold)
    trouble = _log_briefing(context, ask, told, freeze=False) if told.items else None
    return told.turn if loaded.frozen else told.text, trouble


def _log_briefing(
    context: Context, ask: steps.Ask, briefing: steps.Briefing, freeze: bool
) -> StoreError | None:
    """Write down what was shown; what could be read is shown also when that fails.

    Where the project has no store yet the person's own holds it, so that nothing that is
    shown of theirs is shown again with every prompt."""
    spaces = context.present_spaces() if ask.session else []
    if not spaces:
        return None
    now, session, fresh = context.clock(), ask.session, ask.context == "fresh"
    block = steps.block(briefing)
    try:
        if freeze:
            spaces[0].write(
                lambda tx: window_steps_contexts.save_block(tx, session, block, now, fresh)
            )
    except StoreError as trouble:
        return trouble
    rows = [(new_id("i"), item) for item in briefing.items]
    if rows:
        spaces[0].note(lambda tx: steps.log(tx, session, now, rows, now))
    return None


class TaskBriefing(NamedTuple):
    """What is worth knowing before a task."""

    phase: str
    patterns: tuple[Hit, ...]
    avoid: tuple[Hit, ...]
    skills: tuple[Hit, ...]


def before_task(
    context: Context, goal: str, phase: str = "", files: Sequence[str] = ()
) -> TaskBriefing:
    """Patterns, things to avoid and skills that matter for a task.

    goal: what is to be done
    phase: exploration, implementation, debugging, review or refactoring; read from the goal
    files: files it is about (repeat for several)

    Example: recollect before-task "fix the failing login test" --file tests/test_login.py
    """
    from ..episodes import phases

    chosen = phases.checked(phase, goal)
    hits = {hit.id: hit for hit in recall_operations.recall_unprompted(context, goal, 20)}
    for path in files:
        for hit in recall_operations.recall_unprompted(context, goal, 10, path):
            hits.setdefault(hit.id, hit)
    known = [hit for hit in hits.values() if hit.kind != "message"]
    source = {"episode": "episodic", "workflow": "skills", "procedure": "skills"}
    found = [phases.Found(hit.id, source.get(hit.kind, "semantic"), hit.score) for hit in known]
    ranked = [hits[item.found.id] for item in phases.blend(found, chosen)]
    avoid = tuple(hit for hit in ranked if hit.kind == "pitfall")[:5]
    skills = tuple(hit for hit in ranked if hit.kind in ("workflow", "procedure"))[:3]
    rest = tuple(hit for hit in ranked if hit not in avoid and hit not in skills)[:5]
    return TaskBriefing(chosen, rest, avoid, skills)


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
    """Check what memories say about files and functions against the code; or the archive.

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
        new_id,
    )
