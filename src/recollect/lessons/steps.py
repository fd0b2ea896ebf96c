"""Consolidate: load new records and their neighbours, plan, validate, apply in one transaction.

One runner at a time holds the lease. The plan is made outside of transactions; if a memory that it
changes was changed meanwhile, nothing is applied. Rows are saved before and after each change, so
that one command can undo the run. A failed run is retried a few times with growing delays, then
only when there is something new.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from ..episodes.records import Episode
from ..errors import Conflict, NotFound, RecollectError, Refused, Unavailable
from ..jobs import sql as jobs_sql
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..types import records
from ..types.records import Json, Memory
from ..undo import sql as undo_sql
from . import plan as lessons_plan
from . import steps_input
from .plan_rules import (
    Connect,
    Hide,
    Learn,
    LessonPlan,
    Merge,
    NotPlanned,
    Promote,
    Reinforce,
    Step,
    memories_of,
)
from .steps_apply import Changes, apply_step, digest, is_as_left, reindex_rows
from .steps_input import JOB, ConsolidationInput

OPERATION = "consolidate"
UNDONE = "undone"
MORE = "there is more to look at than one run takes: run it again"
LEASE = 180_000_000


class DiffLine(NamedTuple):
    """One line of the diff: + is new, ~ changed, - hidden or superseded, > a link."""

    sign: str
    what: str
    text: str
    reason: str


class Consolidated(NamedTuple):
    """The result of a consolidation or its preview; `undo` is the id of the undo record."""

    applied: bool
    episodes: int
    lines: tuple[DiffLine, ...] = ()
    left_out: tuple[NotPlanned, ...] = ()
    undo: str = ""
    note: str = ""


class Undone(NamedTuple):
    """The result of undoing a consolidation: the numbers of rows."""

    undo: str
    restored: int
    removed: int


class Ready(NamedTuple):
    """A validated plan, and its new memories, redacted and checked, by the number of the step."""

    plan: LessonPlan
    drafts: dict[int, memory_steps.PreparedMemory]
    loaded: ConsolidationInput


class Dependencies(NamedTuple):
    """The clock, the source of new ids, and the embedder. Without an embedder, episodes are
    compared by words and files only."""

    clock: Callable[[], int]
    new_id: Callable[[str], str]
    embedder: records.Embedder | None = None


def run(space: Database, needs: Dependencies) -> Consolidated:
    """Consolidate, or return a result whose note says why not; a failed run changes nothing."""
    clock, new_id, embedder = needs
    now, owner = clock(), new_id("r")
    job = space.write(lambda tx: jobs_sql.acquire_lease(tx, JOB, owner, now, LEASE))
    if job is None:
        raise Conflict(
            "another consolidation is running",
            where="consolidate",
            hint="wait for it; a lease that was left behind ends after three minutes",
        )
    try:
        ready = prepare(space.read(lambda tx: steps_input.load(tx, now, embedder)), now, needs)
        undo = new_id("u")
        return space.write(lambda tx: apply(tx, ready, job, undo, clock()))
    except RecollectError as error:
        message = redaction.redact(error.message)
        # Another process was faster: that does not count as a failure.
        counts = not isinstance(error, Conflict)
        space.write(lambda tx: jobs_sql.fail_job(tx, job, message, counts))
        raise


def prepare(loaded: ConsolidationInput, now: int, needs: Dependencies) -> Ready:
    """Plan and validate. A lesson that may not be stored is left out, with the reason."""
    new_id = needs.new_id
    vectors, problem = _vectors(loaded.episodes, needs.embedder)
    plan = lessons_plan.plan(
        loaded.episodes,
        loaded.memories,
        now,
        vectors=vectors,
        links=loaded.links,
        new=loaded.new,
    )
    drafts: dict[int, memory_steps.PreparedMemory] = {}
    left_out = [*plan.left_out, *problem]
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, Learn):
            try:
                drafts[len(steps)] = memory_steps.prepare(
                    _draft(step), "system", now, new_id("m"), step.label
                )
            except Refused as refused:
                left_out.append(NotPlanned(step.sources, refused.message))
                continue
        steps.append(step)
    plan = LessonPlan(tuple(steps), tuple(left_out))
    lessons_plan.validate(plan, loaded.episodes, loaded.memories)
    used = {source for step in steps for source in getattr(step, "sources", ())}
    ageing = [one for one in loaded.aged if one.status != "hidden" or one.id not in used]
    return Ready(plan, drafts, loaded._replace(aged=ageing))


def _vectors(
    episodes: Sequence[Episode], embedder: records.Embedder | None
) -> tuple[dict[str, bytes], list[NotPlanned]]:
    """Return the vectors of the words in goals; if the embedder fails, none and the reason."""
    if embedder is None:
        return {}, []
    words = lessons_plan.vocabulary(episodes)
    try:
        return dict(zip(words, embedder.embed(list(words.values())), strict=True)), []
    except Unavailable as error:
        return {}, [
            NotPlanned((), f"tasks were compared by words and files alone: {error.message}")
        ]


def _draft(step: Learn) -> memory_steps.Draft:
    return memory_steps.Draft(
        step.text,
        step.kind,
        subject=step.subject,
        detail=step.detail,
        examples=step.examples,
        sources=tuple(f"memory://{source}" for source in step.sources),
        reason=step.reason,
        confidence=step.confidence,
    )


# ---------------------------------------------------------------- applying


def apply(tx: Tx, ready: Ready, job: jobs_sql.Job, undo: str, now: int) -> Consolidated:
    """Apply a plan, and store how to undo it."""
    plan, drafts, loaded = ready
    current = jobs_sql.get_job(tx, JOB, hold=True)
    if current is None or (current.owner, current.attempt) != (job.owner, job.attempt):
        raise Conflict("another consolidation took over", where="consolidate")
    _check_unchanged(tx, plan, loaded)
    changes = Changes(tx)
    left_out = list(plan.left_out)
    done = []
    for place, step in enumerate(plan.steps):
        problem = apply_step(changes, step, drafts.get(place), now)
        if problem:
            left_out.append(NotPlanned(getattr(step, "sources", memories_of(step)), problem))
        else:
            done.append(step)
    for one in loaded.aged:
        changes.update(
            "episodes",
            (one.id,),
            {"status": one.status, "synopsis": redaction.redact(one.synopsis)},
        )
    reindex_rows(tx, changes.rows)
    body = {
        "progress": steps_input.read_position(job),
        "changes": [
            [row.table, row.key, row.before, list(row.after), digest(row.after)]
            for row in changes.rows
        ],
    }
    name = ""
    if changes.rows:
        name = undo
        undo_sql.insert(tx, undo, OPERATION, redaction.redact_json(body).text, now)
    jobs_sql.finish_job(tx, job, loaded.progress, now)
    lines = tuple(diff(LessonPlan(tuple(done)), loaded))
    note = MORE if loaded.more else ""
    return Consolidated(True, len(loaded.new), lines, tuple(left_out), name, note)


def _check_unchanged(tx: Tx, plan: LessonPlan, loaded: ConsolidationInput) -> None:
    """Raise Conflict if a memory that the plan changes was changed after it was loaded."""
    named = {name for step in plan.steps for name in memories_of(step)}
    current = memory_sql.get_many(tx, sorted(named))
    for memory in loaded.memories:
        if memory.id in named and _uncounted(current.get(memory.id)) != _uncounted(memory):
            raise Conflict(
                "a memory was changed while the plan was made",
                where=memory.address,
                hint="nothing was changed; run it again",
            )


def _uncounted(memory: Memory | None) -> Memory | None:
    """Return a memory without its count of recalls."""
    return memory and memory._replace(recalls=0, last_recalled=0)


# ---------------------------------------------------------------- showing


def preview(space: Database, needs: Dependencies) -> Consolidated:
    """Plan a consolidation without applying it."""
    now = needs.clock()
    loaded = space.read(lambda tx: steps_input.load(tx, now, needs.embedder))
    ready = prepare(loaded, now, needs)
    lines = tuple(diff(ready.plan, ready.loaded))
    note = MORE if loaded.more else ""
    return Consolidated(False, len(loaded.new), lines, ready.plan.left_out, note=note)


def diff(plan: LessonPlan, loaded: ConsolidationInput) -> Iterator[DiffLine]:
    """Return the plan as lines for a person."""
    texts = {memory.id: memory for memory in loaded.memories}
    for step in plan.steps:
        match step:
            case Learn():
                yield DiffLine("+", step.kind, step.text, step.reason)
            case Reinforce():
                old = texts[step.memory]
                text = f"{old.text} (confidence {old.confidence:.2f} -> {step.confidence:.2f})"
                is_restored = old.status == "hidden" and step.revives
                reason = f"{step.reason}: it is restored" if is_restored else step.reason
                yield DiffLine("~", step.memory, text, reason)
            case Promote():
                text = f"{texts[step.memory].text} ({texts[step.memory].layer} -> {step.layer})"
                yield DiffLine("~", step.memory, text, step.reason)
                yield from _superseded_lines(step.others, step.memory, texts)
            case Merge():
                yield DiffLine("~", step.keep, texts[step.keep].text, step.reason)
                yield from _superseded_lines(step.others, step.keep, texts)
            case Hide():
                yield DiffLine("-", step.memory, texts[step.memory].text, step.reason)
            case Connect():
                text = f"contradicts {step.target}: {texts[step.target].text}"
                yield DiffLine(">", step.source, text, step.reason)
    for one in loaded.aged:
        sign = "-" if one.status == "hidden" else "~"
        yield DiffLine(sign, one.id, one.synopsis.split("\n")[0], one.reason)


def _superseded_lines(
    others: tuple[str, ...], keep: str, texts: dict[str, Memory]
) -> Iterator[DiffLine]:
    for other in others:
        yield DiffLine("-", other, texts[other].text, f"replaced by {keep}")


# ---------------------------------------------------------------- undo


def undo(tx: Tx, now: int) -> Undone:
    """Undo the last consolidation exactly; raise Conflict if one of its rows was changed since."""
    last = undo_sql.find_latest(tx, OPERATION)
    if last is None:
        raise NotFound("there is no consolidation to undo", where="consolidate undo")
    body: dict[str, Json] = json.loads(last.body)
    rows = [[row[0], _renamed(tx, row[1]), *row[2:]] for row in body["changes"]]
    for table, key, _, names, known in rows:
        current = undo_sql.read_columns(tx, table, key, names)
        if current is None or not is_as_left(current, known):
            raise Conflict(
                f"{' '.join(key)} was changed since: undoing would lose that",
                where=f"consolidate undo ({last.id})",
                hint="hide or correct what you do not want instead",
            )
    removed = 0
    for table, key, before, *_ in reversed(rows):
        if before is None:
            undo_sql.remove(tx, table, key)
            removed += 1
        else:
            undo_sql.set_columns(tx, table, key, before)
    reindex_rows(tx, rows)
    undo_sql.mark_undone(tx, last.id)
    # All episodes are new again, but no run is due: it would only repeat the undone changes.
    progress = (
        body["progress"] if "progress" in body else steps_input.read_old_position(body["watermark"])
    )
    jobs_sql.rewind_job(tx, JOB, UNDONE, progress, now)
    return Undone(last.id, len(rows) - removed, removed)


def _renamed(tx: Tx, key: Sequence[str]) -> list[str]:
    """Return the key of a row with the ids that its memories have by now: an early version gave a
    memory a new id with every change."""
    return [
        (memory_sql.find_alias(tx, part) if part.startswith("m-") else "") or part for part in key
    ]
