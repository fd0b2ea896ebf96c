"""Operations for an overview: status, what agents were shown, sizes, plots, pause."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..agents import operations_transcripts as agents_operations_transcripts
from ..agents import steps_hooks as agents_steps_hooks
from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..autonomous import operations as autonomous_operations
from ..briefing import operations as briefing_operations
from ..briefing import steps_follow_up as briefing_steps_follow_up
from ..briefing import wording as briefing_wording
from ..capture import operations as capture_operations
from ..context import Context
from ..errors import NotFound
from ..injections import sql as injections_sql
from ..lessons import steps_observed as lessons_steps_observed
from ..lessons import steps_schedule as lessons_steps_schedule
from ..lessons.findings import KnownCommand, KnownResolution, fix_ref
from ..memory import sql_lists as memory_sql_lists
from ..recall import operations as recall_operations
from ..review import operations as review_operations
from ..storage.database import Tx
from ..text import display
from ..types import trust
from ..types.records import STATUSES_IN_USE
from ..types.reports import (
    LearnedCommand,
    LearnedFix,
    Lessons,
    NextStep,
    Paused,
    Plotted,
    Seen,
    Sizes,
    Status,
)
from . import sql, steps_overview

_MOST_CAPTURES = 3


# ---------------------------------------------------------------- status


def show_status(context: Context) -> Status:
    """Show the memory of this project, its agents, and what to do next.

    Example: recollect status
    Example: recollect status --json
    """
    from ..agents import connections

    runs = agents_steps_hooks.read_known_runs(context)
    agents = tuple(connections.check_agents(context.project, context.environment, runs))
    exists = context.project_space.present()
    counts, sessions, messages = _count(context)
    waiting = review_operations.count_review(context) if context.present_spaces() else 0
    briefing = briefing_operations.make_briefing(context)
    commands, fixes = _read_lessons(context)
    status = Status(
        root=context.project.root,
        database=_describe_store(context),
        exists=exists,
        paused=agents_steps_hooks.find_pause(context.environment, context.project.root),
        mode=context.settings.mode,
        agents=agents,
        by_kind=counts,
        waiting=waiting,
        captures=capture_operations.list_captures(context, _MOST_CAPTURES),
        sessions=sessions,
        messages=messages,
        background=_describe_background(context),
        start_tokens=briefing.tokens,
        # As `seen` counts: a line may hold several commands.
        start_items=sum(len(briefing_steps_follow_up.refs_of(one)) for one in briefing.items),
        next=(),
        at=context.clock(),
        commands=len(commands),
        fixes=len(fixes),
        start_left_out=sum(one.wanted for one in briefing.left_out),
    )
    unread = 0 if status.messages else agents_operations_transcripts.count_unread(context)
    unstarted = connections.find_unstarted_agents(context.project, context.environment)
    return status._replace(next=tuple(_next_steps(status, unread, unstarted)))


def make_status_line(context: Context) -> str:
    """Return the status line for an agent: memories, tokens of the start block, items to review."""
    if agents_steps_hooks.find_pause(context.environment, context.project.root):
        return "paused"
    if not context.present_spaces():
        return "nothing saved yet"
    number = display.format_count(sum(_count(context)[0].values()), "memory", "memories")
    used = briefing_operations.make_briefing(context).tokens
    parts = [number, f"start block {used}/{context.settings.briefing_budget} tokens"]
    if waiting := review_operations.count_review(context):
        parts.append(f"{waiting} to review")
    return " · ".join(parts)


def _count(context: Context) -> tuple[dict[str, int], int, int]:
    """Count the memories in use by kind, the sessions and the messages."""
    counts: dict[str, int] = {}
    sessions = messages = 0
    for space in context.present_spaces():
        for kind, _, status, number, _ in space.read(memory_sql_lists.count_by_kind):
            if status in STATUSES_IN_USE:
                counts[kind] = counts.get(kind, 0) + int(number)
        more = space.read(archive_sql.counts)
        sessions, messages = sessions + more[0], messages + more[1]
    ordered = sorted(counts.items(), key=lambda one: (-one[1], one[0]))
    return dict(ordered), sessions, messages


def _describe_store(context: Context) -> str:
    """Return where the project's memory is, without a password."""
    if context.settings.mode == "incognito":
        return "in memory only (incognito)"
    if not context.settings.database:
        return context.project.database
    return "PostgreSQL, " + context.settings.database.rpartition("@")[2].partition("?")[0]


def _describe_background(context: Context) -> tuple[str, ...]:
    """Return lines about work that waits or was done in the background."""
    lines = []
    try:
        names = os.listdir(agents_steps_hooks.requests_folder(context))
    except OSError:
        names = []
    queued = sum(name.endswith(".json") for name in names)
    if queued:
        number = display.format_count(queued, "transcript")
        lines.append(f"{number} to read; the next session reads what is left")
    if agents_steps_hooks.is_unlearned(agents_steps_hooks.requests_folder(context)):
        lines.append("commands and fixes of imported conversations: not all learned yet")
    if context.project_space.present():
        now = context.clock()
        last_run = context.project_space.read(
            lambda tx: lessons_steps_schedule.describe_last_run(tx, now)
        )
        if last_run:
            lines.append(f"consolidation {last_run}")
        if pipeline := autonomous_operations.describe(context):
            lines.append(f"autonomous memory {pipeline}")
    return tuple(lines)


def _next_steps(status: Status, unread: int, unstarted: Sequence[str]) -> list[NextStep]:
    steps = []
    if status.paused:
        end = "recollect resume --all" if status.paused == "all" else "recollect resume"
        steps.append(NextStep(end, "resume the hooks"))
    connected = [one for one in status.agents if one.detail.startswith("connected")]
    if not status.agents:
        names = "claude-code, codex, gemini, opencode, copilot or cursor"
        one = " ".join(unstarted) or "NAME"
        purpose = "connect what is installed" if unstarted else f"connect {names}"
        steps.append(NextStep(f"recollect init {one}", purpose))
    elif not connected:
        steps.append(NextStep("recollect init", "connect your agents to this memory"))
    elif not all(one.ok or one.waits for one in status.agents):
        steps.append(NextStep("recollect doctor", "see what is wrong with a connection"))
    if unread:
        number = display.format_count(unread, "conversation")
        steps.append(NextStep("recollect import", f"read {number} you had before"))
    if status.waiting:
        steps.append(NextStep("recollect review", "review waiting items, one key each"))
    if not (status.by_kind or status.start_tokens):
        steps.append(NextStep('recollect learn "…"', "save a first memory"))
    elif status.start_tokens and not status.waiting:
        steps.append(NextStep("recollect briefing", "see what a new session begins with"))
    return steps


def list_lessons(context: Context, limit: int = 10) -> Lessons:
    """List the commands that worked and the fixes of errors, learned from conversations.

    limit: maximum number of commands and of fixes

    Example: recollect lessons
    Example: recollect lessons -n 100
    """
    known, resolved = _read_lessons(context)
    commands = [
        LearnedCommand(
            command=one.form,
            purpose=one.purpose,
            sessions=one.sessions_succeeded,
            last=one.last_success,
            left_out=one.retired or "",
            folder=one.folder,
            below=one.below,
            with_argument=one.with_argument or bool(one.below),
        )
        for one in known[:limit]
    ]
    fixes = [
        LearnedFix(
            error=one.signature,
            fix=briefing_wording.describe_remedy(one.remedy, one.command),
            sessions=one.sessions,
            last=one.last,
            id=fix_ref(one.signature),
        )
        for one in resolved[:limit]
    ]
    more = len(known) - len(commands) + len(resolved) - len(fixes)
    untrusted = unfinished = 0
    if context.project_space.present():
        untrusted = context.project_space.read(archive_sql.count_foreign)
        unfinished = context.project_space.read(
            lambda tx: archive_steps_sessions.count_unfinished(tx, context.clock())
        )
    return Lessons(tuple(commands), tuple(fixes), more, untrusted, unfinished)


def _read_lessons(context: Context) -> tuple[list[KnownCommand], list[KnownResolution]]:
    """Return the commands that worked and the errors that were resolved."""
    if not context.project_space.present():
        return [], []
    now = context.clock()

    def read(tx: Tx) -> tuple[list[KnownCommand], list[KnownResolution]]:
        known = lessons_steps_observed.known_commands(tx, now=now)
        worked = [one for one in known if one.sessions_succeeded]
        return worked, lessons_steps_observed.known_resolutions(tx)

    return context.project_space.read(read)


# ---------------------------------------------------------------- what agents were shown


def list_seen(context: Context, session: str = "") -> Seen:
    """Show what an agent was shown, at which moment, and why.

    session: its id or the beginning of it; by default the latest one

    Example: recollect seen
    Example: recollect seen claude-code.5b0c
    """
    session = session.removeprefix("memory://session/")

    def read(txs: Sequence[Tx]) -> Seen | None:
        if session:
            found = sorted(
                {one for tx in txs for one in injections_sql.sessions_with_prefix(tx, session)}
            )
        else:
            found = [one for tx in txs if (one := injections_sql.last_session(tx))][:1]
        if not found:
            return None
        items = tuple(steps_overview.read_shown(txs, found[0]))
        tokens = steps_overview.count_shown(txs, found[0], items)
        return Seen(found[0], items, tokens, tuple(found[1:]))

    seen = context.read_both(read)
    if seen is None and session:
        raise NotFound(
            "this session was shown nothing",
            where=session,
            hint="`recollect session list` shows the sessions",
        )
    return seen or Seen("", (), 0)


# ---------------------------------------------------------------- sizes


def measure_sizes(context: Context) -> Sizes:
    """Show the size of the store by part, and how to reduce it.

    Example: recollect sizes
    """
    project, user = (
        space.read(steps_overview.measure_parts) if space.present() else ()
        for space in (context.project_space, context.user_space)
    )
    is_shared = bool(context.settings.database)
    return Sizes(project, () if is_shared else user, _describe_store(context), is_shared)


def plot_stats(context: Context, path: str) -> Plotted:
    """Draw the growth by kind, the budget and the usefulness as an SVG picture.

    path: the SVG file to write

    Example: recollect stats plot memory.svg
    """
    days = [row for space in context.present_spaces() for row in space.read(sql.count_by_day)]
    tokens = briefing_operations.make_briefing(context).tokens
    in_time = (
        context.project_space.read(briefing_steps_follow_up.count_moments)
        if context.project_space.present()
        else ()
    )
    budget = context.settings.briefing_budget
    return _write_picture(path, steps_overview.draw_stats(days, tokens, budget, in_time))


def plot_evaluation(
    context: Context, path: str, sample: int = 25, seed: int = 0, source: Sequence[str] = ()
) -> Plotted:
    """Measure recall on your own history, and draw the figures as an SVG picture.

    path: the SVG file to write
    sample: maximum number of questions from each source
    seed: chooses the questions; the same seed asks the same
    source: only these: commits, answers, files, memories (repeat for several)

    Example: recollect eval plot recall.svg
    """
    done = recall_operations.evaluate(context, sample, seed, source)
    return _write_picture(path, steps_overview.draw_evaluation(done))


def _write_picture(path: str, picture: str) -> Plotted:
    target = os.path.abspath(os.path.expanduser(path))
    with open(target, "w", encoding="utf-8") as file:
        file.write(picture)
    return Plotted(target)


def shorten_ids(context: Context, ids: Sequence[str]) -> Mapping[str, str]:
    """Return the shortest unique prefixes of these memories' ids."""
    return context.read_both(lambda txs: steps_overview.shorten_ids(txs, ids))


# ---------------------------------------------------------------- pause


def pause(context: Context, all: bool = False) -> Paused:
    """Pause the hooks: agents are shown nothing, and nothing is saved from them.

    Commands still work. After `resume`, the next session also reads the conversations of the pause;
    for what must never be kept, use `recollect config set mode incognito`.

    all: for all projects, not only this one

    Example: recollect pause
    Example: recollect pause --all
    """
    _check_person(context, "pause")
    root = "" if all else context.project.root
    now = agents_steps_hooks.find_pause(context.environment, context.project.root)
    changed = now != "all" if all else not now
    if changed:
        agents_steps_hooks.set_pause(
            context.environment, root, display.format_time(context.clock())
        )
    return Paused(scope="all" if all else "project", paused=True, changed=changed)


def resume(context: Context, all: bool = False) -> Paused:
    """Resume the hooks after a pause.

    all: end the pause of all projects

    Example: recollect resume
    Example: recollect resume --all
    """
    _check_person(context, "resume")
    root = "" if all else context.project.root
    changed = agents_steps_hooks.end_pause(context.environment, root)
    still = agents_steps_hooks.find_pause(context.environment, context.project.root)
    return Paused(scope="all" if all else "project", paused=False, changed=changed, still=still)


def _check_person(context: Context, command: str) -> None:
    hint = f"run `recollect {command}` at a terminal"
    trust.require_person(context.origin, f"{command} the hooks", where=command, hint=hint)
