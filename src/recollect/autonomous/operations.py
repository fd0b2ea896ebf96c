"""Operations of autonomous memory: view, clear, enqueue, rebuild, diagnose; and its start.

Sessions become extractions (phase 1), extractions become MEMORY.md, memory_summary.md and skills
(phase 2). Rules do both; a model, if the user configured one, adds statements that rules miss.
"""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import nullcontext, suppress
from functools import partial
from typing import NamedTuple

from ..briefing import operations as briefing_operations
from ..briefing import steps as briefing_steps
from ..config import Settings
from ..context import Context, new_id
from ..documents import sql as documents_sql
from ..errors import ConfigError, Conflict, Refused
from ..jobs import operations as jobs_operations
from ..jobs import sql as jobs_sql
from ..lessons import operations as lessons_operations
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..storage.database import Database, Tx
from ..text import display
from ..text import tokens as text_tokens
from . import files_io, models_io, prompts, sql, steps

MOST_CALLS = 20
MOST_ERRORS = 10


WORKER = "worker"
HEARTBEAT = 30.0
"""The maximum seconds between two renewals; a short lease is renewed after a quarter of it."""


class Planned(NamedTuple):
    """A session that would be sent to a model: the number of calls, and their cost in tokens."""

    session: str
    messages: int
    calls: int
    tokens: int


class Rebuilt(NamedTuple):
    """The result of a run of the pipeline, or its plan (`planned`)."""

    extracted: int = 0
    proposed: int = 0
    statements: int = 0
    skills: tuple[str, ...] = ()
    pruned: tuple[str, ...] = ()
    failed: int = 0
    files: tuple[str, ...] = ()
    model: str = "rules"
    calls: int = 0
    tokens: int = 0
    planned: tuple[Planned, ...] = ()
    notes: tuple[str, ...] = ()


class WorkerRun(NamedTuple):
    """One run of the worker."""

    context: Context
    watch: jobs_operations.Watch
    owner: str
    default: models_io.ModelSpec | None
    smol: models_io.ModelSpec | None

    @property
    def space(self) -> Database:
        return self.context.project_space

    @property
    def settings(self) -> Settings:
        return self.context.settings

    def lease(self, model: models_io.ModelSpec | None, times: float = 1.0) -> steps.Lease:
        cap = self.settings.memories_daily_token_cap if model else -1
        length = round(self.settings.memories_lease_seconds * times * steps.SECOND)
        return steps.Lease(self.owner, length, cap)

    def heartbeat(self, job: jobs_sql.Job, length: int) -> jobs_operations.Heartbeat:
        """Renew a lease while the work goes on. A lost lease of a job is detected at its next
        write; that of the worker ends the run."""

        def renew() -> None:
            until = self.context.clock() + length
            with nullcontext() if job.kind == WORKER else suppress(Conflict):
                self.space.write(lambda tx: jobs_sql.renew_lease(tx, job, until))

        return jobs_operations.Heartbeat(
            renew, self.watch, min(HEARTBEAT, length / steps.SECOND / 4)
        )


class ClearedMemory(NamedTuple):
    """The result of `memory clear`, or its plan: the memories hidden and the files removed."""

    applied: bool
    memories: int
    episodes: int
    procedures: int
    removed: dict[str, int]
    files: tuple[str, ...]
    root: str


class MemoryStatus(NamedTuple):
    """The state of autonomous memory."""

    enabled: bool
    models: dict[str, str]
    waiting: int = 0
    jobs: Mapping[str, int] = {}
    tokens_today: int = 0
    calls_today: int = 0
    cap: int = 0
    paused_until: int = 0
    written: int = 0
    extractions: int = 0
    errors: tuple[jobs_operations.JobState, ...] = ()
    calls: tuple[sql.SpendRow, ...] = ()
    problems: tuple[str, ...] = ()


def view(context: Context) -> briefing_steps.Briefing:
    """Show the text that a session starts with: the start block and, if enabled, the summary.

    Example: recollect memory view
    """
    return briefing_operations.make_briefing(context)


def clear(context: Context, apply: bool = False) -> ClearedMemory:
    """Clear the memory of this project: hide its memories, delete the generated files.

    Sessions stay, other projects and your own memories are not touched. Counts first.

    apply: do it (only at a terminal); `clear undo` restores the hidden memories

    Example: recollect memory clear
    Example: recollect memory clear --apply
    """
    return _clear(context, apply, forget=False)


def reset(context: Context, apply: bool = False) -> ClearedMemory:
    """Clear the memory of this project, and process its sessions again at the next start.

    apply: do it (only at a terminal); `clear undo` restores the hidden memories

    Example: recollect memory reset --apply
    """
    return _clear(context, apply, forget=True)


def _clear(context: Context, apply: bool, forget: bool) -> ClearedMemory:
    now = context.clock()
    space = context.project_space

    def work(tx: Tx) -> ClearedMemory:
        hidden = memory_steps_lifecycle.clear_all(tx, apply, context.origin, new_id("u"), now)
        removed = steps.clear(tx, now, forget) if apply else steps.count(tx)
        return ClearedMemory(
            applied=apply,
            memories=hidden.memories,
            episodes=hidden.episodes,
            procedures=hidden.procedures,
            removed=removed,
            files=(),
            root=context.project.root,
        )

    done = space.write(work) if apply else space.read(work)
    if context.settings.mode == "incognito":
        return done
    folder = context.project.folder
    files = files_io.remove_outputs(folder) if apply else files_io.list_outputs(folder)
    return done._replace(files=tuple(files))


def enqueue(context: Context) -> Rebuilt:
    """Run the pipeline at the next start of a session, even if no session changed.

    Example: recollect memory enqueue
    """
    now = context.clock()
    context.project_space.write(lambda tx: steps.queue_summary(tx, now))
    on = context.settings.memories_enabled
    note = "" if on else "it is switched off: set memories.enabled = true in your configuration"
    return Rebuilt(notes=tuple(filter(None, ("queued for the next start of a session", note))))


def rebuild(context: Context, dry_run: bool = False) -> Rebuilt:
    """Run the pipeline now: extract sessions, write MEMORY.md, memory_summary.md and skills.

    dry_run: change nothing, show what would be sent to a model and its price in tokens

    Example: recollect memory rebuild --dry-run
    Example: recollect memory rebuild
    """
    if dry_run:
        return _plan(context)
    if context.settings.mode == "incognito":
        raise Refused("nothing is written in incognito mode", where="mode")
    lessons_operations.learn_from_finished_work(context)
    now = context.clock()
    context.project_space.write(lambda tx: steps.queue_summary(tx, now))
    return run(context)


def start(context: Context, parent: int = 0) -> Rebuilt:
    """Run the pipeline if autonomous memory is enabled and the project has a store.

    parent: the process that this work is for; the run ends when it has exited
    """
    if not context.settings.memories_enabled or context.settings.mode == "incognito":
        return Rebuilt()
    if not context.project_space.present():
        return Rebuilt()
    return run(context, parent)


def run(context: Context, parent: int = 0) -> Rebuilt:
    """Queue the sessions that are due and process the queue, unless another worker does it."""
    now = context.clock()
    context.project_space.write(lambda tx: steps.queue_sessions(tx, context.settings, now))
    if not context.project_space.read(lambda tx: steps.is_work_due(tx, now)):
        return Rebuilt(notes=("nothing is due",))
    settings, owner = context.settings, new_id("w")
    default, smol = (
        models_io.parse_model(model, settings.models_key, context.environment)
        for model in (settings.models_default, settings.models_smol)
    )
    worker = WorkerRun(context, jobs_operations.Watch(parent), owner, default, smol or default)
    space, length = context.project_space, worker.lease(None).length
    leased = space.write(lambda tx: jobs_sql.acquire_lease(tx, WORKER, owner, now, length))
    if leased is None:
        return Rebuilt(notes=("another process is running it",))
    from . import operations_run

    before = space.read(lambda tx: sql.sum_since(tx, 0))
    done = Rebuilt(model=default.title if default else "rules")
    try:
        with worker.heartbeat(leased, length):
            done = add(done, operations_run.phase_one(worker))
            done = add(done, operations_run.phase_two(worker))
    finally:
        space.write(lambda tx: jobs_sql.finish_job(tx, leased, {}, context.clock()))
    after = space.read(lambda tx: sql.sum_since(tx, 0))
    return done._replace(calls=after[0] - before[0], tokens=after[1] - before[1])


def add(one: Rebuilt, other: Rebuilt) -> Rebuilt:
    """Return the sum of the results of two parts of a run."""
    names = ("extracted", "proposed", "failed", "statements", "skills", "pruned", "files")
    sums = {name: getattr(one, name) + getattr(other, name) for name in names}
    return one._replace(**sums, notes=tuple(dict.fromkeys((*one.notes, *other.notes))))


def _plan(context: Context) -> Rebuilt:
    """Return the plan of a run, without running it."""
    now = context.clock()
    settings = context.settings
    if not context.project_space.present():
        return Rebuilt()
    model = models_io.parse_model(settings.models_default, settings.models_key, context.environment)
    waiting = context.project_space.read(lambda tx: steps.find_waiting(tx, settings, now))
    planned = []
    for one in waiting:
        _, extractions, _ = context.project_space.read(
            partial(steps.load_session, name=one.id, last=one.last)
        )
        parts = prompts.chunks(extractions, settings.memories_chunk_tokens) if model else []
        price = sum(text_tokens.estimate_tokens(len(prompts.items_json(part))) for part in parts)
        price += len(parts) * settings.memories_answer_tokens
        planned.append(Planned(one.id, len(extractions), len(parts), price))
    return Rebuilt(
        model=model.title if model else "rules",
        calls=sum(one.calls for one in planned),
        tokens=sum(one.tokens for one in planned),
        planned=tuple(planned),
    )


def diagnose(context: Context) -> MemoryStatus:
    """Show the state of autonomous memory: settings, queue, model costs, errors.

    Example: recollect memory diagnose
    """
    now = context.clock()
    settings = context.settings
    problems, models = [], {}
    for role, setting in (("default", settings.models_default), ("smol", settings.models_smol)):
        try:
            spec = models_io.parse_model(setting, settings.models_key, context.environment)
            models[role] = spec.title if spec else "rules" if role == "default" else "default"
        except ConfigError as error:
            models[role] = "wrong"
            problems.append(str(error))
    cap = settings.memories_daily_token_cap
    status = MemoryStatus(settings.memories_enabled, models, cap=cap, problems=tuple(problems))
    if not context.project_space.present():
        return status

    def load(tx: Tx) -> MemoryStatus:
        calls, spent = sql.sum_since(tx, now - now % steps.DAY)
        page = documents_sql.get_document(tx, steps.MEMORY_ADDRESS)
        pause = steps.paused_until(tx)
        failed = jobs_operations.find_failed(tx, steps.JOBS, MOST_ERRORS)
        return status._replace(
            waiting=len(steps.find_waiting(tx, settings, now)),
            jobs=jobs_sql.count_jobs(tx, steps.JOBS),
            tokens_today=spent,
            calls_today=calls,
            paused_until=pause if pause > now else 0,
            written=page.valid_from if page else 0,
            extractions=steps.count(tx)["extractions"],
            errors=tuple(failed),
            calls=tuple(sql.list_calls(tx, MOST_CALLS)),
        )

    return context.project_space.read(load)


def describe(context: Context) -> str:
    """Return the state of autonomous memory in a line; empty when it is off and never ran."""
    state = diagnose(context)
    if not state.enabled and not state.written and not state.jobs:
        return ""
    parts = ["on" if state.enabled else "off", f"by {state.models['default']}"]
    if state.written:
        parts.append(f"written on {display.format_time(state.written)[:10]}")
    parts += [f"{count} {name}" for name, count in state.jobs.items() if name != "done"]
    if state.calls_today:
        parts.append(f"{state.tokens_today:,} of {state.cap:,} tokens today")
    if state.tokens_today >= state.cap:
        parts.append("the daily cap is reached")
    if state.errors:
        parts.append(f"failed: {state.errors[0].error}")
    parts += state.problems
    return "; ".join(parts)
