"""Consolidate: load what happened and what is known, plan, validate, apply in one transaction.

One runner at a time holds the lease. The plan is made outside any transaction; when a memory that
it changes is not as it was, nothing is applied. Everything that is applied is written down as it
was before and after, so that one command takes it back exactly.
"""

import json
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple, Protocol

from ..core import distill, secrets, upkeep
from ..core.distill_steps import (
    Archive,
    Connect,
    Learn,
    LeftOut,
    Merge,
    Plan,
    Promote,
    Reinforce,
    Step,
)
from ..core.episodes import Episode
from ..db.database import Database, Tx
from ..errors import Conflict, NotFound, RecollectError, Refused, Unavailable
from ..store import episodes, events, jobs, links, memories, undos
from ..types import Json, Memory
from . import episodes as kept
from . import learn
from .apply_plan import Changes, apply_step, digest, reindexed

JOB = OPERATION = "consolidate"
UNDONE = "undone"
LEASE = 180_000_000
WEEK = 7 * 86_400_000_000


class Embedder(Protocol):
    """Who turns words into vectors, as `core.nearest` compares them."""

    def embed(self, texts: Sequence[str]) -> list[bytes]: ...


class Line(NamedTuple):
    """One line of the diff: + is new, ~ is changed, - is archived or gives way, > is a link."""

    sign: str
    what: str
    text: str
    reason: str


class Consolidated(NamedTuple):
    """What consolidation did, or would do; `undo` names the record that takes it back."""

    applied: bool
    episodes: int
    lines: tuple[Line, ...] = ()
    left_out: tuple[LeftOut, ...] = ()
    undo: str = ""
    note: str = ""


class Undone(NamedTuple):
    """What taking back a consolidation restored."""

    undo: str
    restored: int
    removed: int


class Loaded(NamedTuple):
    """What a plan is made from, and how far it reaches."""

    episodes: list[Episode]
    memories: list[Memory]
    links: list[tuple[str, str, str]]
    watermark: int
    upkeep: list[upkeep.Aged]


class Ready(NamedTuple):
    """A validated plan with what its application needs: new memories are scrubbed and admitted."""

    plan: Plan
    drafts: dict[int, learn.Prepared]
    loaded: Loaded


class Means(NamedTuple):
    """What consolidation needs from outside: the time, new ids, and the vectors of words. Without
    an embedder, words and files alone say what is alike."""

    clock: Callable[[], int]
    new_id: Callable[[str], str]
    embedder: Embedder | None = None


def run(space: Database, owner: str, means: Means, only_if_due: bool) -> Consolidated:
    """Consolidate, or say why not; what fails changes nothing."""
    clock, new_id, _ = means
    now = clock()
    if only_if_due and not space.read(lambda tx: is_due(tx, now)):
        return Consolidated(False, 0, note="not due yet: it runs once a week")
    job = space.write(lambda tx: jobs.take(tx, JOB, owner, now, LEASE))
    if job is None:
        raise Conflict(
            "another consolidation is running",
            where="consolidate",
            hint="wait for it; a lease that was left behind ends after three minutes",
        )
    try:
        ready = prepare(space.read(lambda tx: load(tx, now)), now, means)
        undo = new_id("u")
        return space.write(lambda tx: apply(tx, ready, job, undo, clock()))
    except RecollectError as error:
        told = secrets.safe(str(error))
        space.write(lambda tx: jobs.fail(tx, job, told))
        raise


def is_due(tx: Tx, now: int) -> bool:
    """Whether a week has passed since the last time."""
    job = jobs.get(tx, JOB)
    return job is None or now - job.updated >= WEEK


def was_undone(tx: Tx) -> bool:
    """Whether the last consolidation was taken back, and none ran since."""
    job = jobs.get(tx, JOB)
    return job is not None and job.status == UNDONE


def load(tx: Tx, now: int) -> Loaded:
    """All open memories; all episodes in use, if there is one that was not looked at yet."""
    job = jobs.get(tx, JOB)
    rows = episodes.in_use(tx)
    newest = max((row.updated for row in rows), default=0)
    known = memories.listing(tx, {}, memories.ALL)
    told = [kept.episode_of(row) for row in rows]
    referred = upkeep.referred_to(known)
    pairs = [(one, row.synopsis) for one, row in zip(told, rows, strict=True)]
    return Loaded(
        told if newest > (job.success_watermark if job else 0) else [],
        known,
        [(link.source, link.relation, link.target) for link in links.every(tx, "contradicts")],
        newest,
        upkeep.aged(pairs, referred, now),
    )


def prepare(loaded: Loaded, now: int, means: Means) -> Ready:
    """Plan and validate. A lesson that may not be kept is left out, with the reason."""
    new_id = means.new_id
    vectors, problem = _vectors(loaded.episodes, means.embedder)
    plan = distill.plan(loaded.episodes, loaded.memories, now, vectors=vectors, links=loaded.links)
    drafts: dict[int, learn.Prepared] = {}
    left_out = [*plan.left_out, *problem]
    steps: list[Step] = []
    for step in plan.steps:
        if isinstance(step, Learn):
            try:
                drafts[len(steps)] = learn.prepare(
                    _draft(step), "system", now, new_id("m"), step.label
                )
            except Refused as refused:
                left_out.append(LeftOut(step.sources, refused.message))
                continue
        steps.append(step)
    plan = Plan(tuple(steps), tuple(left_out))
    distill.validate(plan, loaded.episodes, loaded.memories)
    used = {source for step in steps for source in getattr(step, "sources", ())}
    ageing = [one for one in loaded.upkeep if one.status != "archived" or one.id not in used]
    return Ready(plan, drafts, loaded._replace(upkeep=ageing))


def _vectors(
    told: Sequence[Episode], embedder: Embedder | None
) -> tuple[dict[str, bytes], list[LeftOut]]:
    """The vectors of the words that goals are told in; without an embedder there are none, and
    why is said."""
    if embedder is None:
        return {}, []
    words = distill.vocabulary(told)
    try:
        return dict(zip(words, embedder.embed(list(words.values())), strict=True)), []
    except Unavailable as error:
        return {}, [LeftOut((), f"tasks were compared by words and files alone: {error.message}")]


def _draft(step: Learn) -> learn.Draft:
    return learn.Draft(
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


def apply(tx: Tx, ready: Ready, job: jobs.Job, undo: str, now: int) -> Consolidated:
    """Do all of it, and write down how to take it back."""
    plan, drafts, loaded = ready
    held = jobs.get(tx, JOB, hold=True)
    if held is None or (held.owner, held.attempt) != (job.owner, job.attempt):
        raise Conflict("another consolidation took over", where="consolidate")
    _refuse_what_changed(tx, plan, loaded)
    changes = Changes(tx)
    left_out = list(plan.left_out)
    done = []
    for place, step in enumerate(plan.steps):
        problem = apply_step(changes, step, drafts.get(place), now)
        if problem:
            left_out.append(LeftOut(getattr(step, "sources", ()), problem))
        else:
            done.append(step)
    for one in loaded.upkeep:
        changes.update(
            "episodes", (one.id,), {"status": one.status, "synopsis": secrets.safe(one.synopsis)}
        )
    reindexed(tx, changes.rows)
    body = {
        "watermark": job.success_watermark,
        "changes": [
            [row.table, row.key, row.before, list(row.after), digest(row.after)]
            for row in changes.rows
        ],
    }
    name = ""
    if changes.rows:
        name = undo
        undos.insert(tx, undo, OPERATION, secrets.scrub_json(body).text, now)
        _log(tx, f"ev-{undo}", "applied", len(changes.rows), now)
    jobs.finish(tx, job, max(loaded.watermark, job.success_watermark), now)
    lines = tuple(diff(Plan(tuple(done)), loaded))
    return Consolidated(True, len(loaded.episodes), lines, tuple(left_out), name)


def _refuse_what_changed(tx: Tx, plan: Plan, loaded: Loaded) -> None:
    """The plan holds only for the memories that it was made from."""
    named = {name for step in plan.steps for name in _memories_of(step)}
    now_there = memories.get_many(tx, sorted(named))
    for memory in loaded.memories:
        if memory.id in named and _essence(now_there.get(memory.id)) != _essence(memory):
            raise Conflict(
                "a memory was changed while the plan was made",
                where=memory.address,
                hint="nothing was changed; run it again",
            )


def _essence(memory: Memory | None) -> Memory | None:
    """A memory without how often it was looked at."""
    return memory and memory._replace(recalls=0, last_recalled=0)


def _memories_of(step: object) -> Iterator[str]:
    for field in ("memory", "keep", "source", "target"):
        if isinstance(name := getattr(step, field, None), str):
            yield name
    yield from getattr(step, "others", ())


def _log(tx: Tx, id: str, type: str, count: int, now: int) -> None:
    safe = secrets.safe
    payload = secrets.scrub_json({"changes": count}).text
    events.append(
        tx, events.EventRow(id, OPERATION, safe(""), safe(""), safe(""), safe(type), payload, now)
    )


# ---------------------------------------------------------------- showing


def preview(space: Database, means: Means) -> Consolidated:
    """What consolidation would do; changes nothing."""
    now = means.clock()
    ready = prepare(space.read(lambda tx: load(tx, now)), now, means)
    lines = tuple(diff(ready.plan, ready.loaded))
    return Consolidated(False, len(ready.loaded.episodes), lines, ready.plan.left_out)


def diff(plan: Plan, loaded: Loaded) -> Iterator[Line]:
    """The plan as lines that a person can read."""
    texts = {memory.id: memory for memory in loaded.memories}
    for step in plan.steps:
        match step:
            case Learn():
                yield Line("+", step.kind, step.text, step.reason)
            case Reinforce():
                old = texts[step.memory]
                told = f"{old.text} (confidence {old.confidence:.2f} -> {step.confidence:.2f})"
                back = old.status == "archived" and step.revives
                reason = f"{step.reason}: it is taken back out of the archive" if back else ""
                yield Line("~", step.memory, told, reason or step.reason)
            case Promote():
                told = f"{texts[step.memory].text} ({texts[step.memory].layer} -> {step.layer})"
                yield Line("~", step.memory, told, step.reason)
                yield from _giving_way(step.others, step.memory, texts)
            case Merge():
                yield Line("~", step.keep, texts[step.keep].text, step.reason)
                yield from _giving_way(step.others, step.keep, texts)
            case Archive():
                yield Line("-", step.memory, texts[step.memory].text, step.reason)
            case Connect():
                told = f"{step.relation} {step.target}: {texts[step.target].text}"
                yield Line(">", step.source, told, step.reason)
    for one in loaded.upkeep:
        sign = "-" if one.status == "archived" else "~"
        yield Line(sign, one.id, one.synopsis.split("\n")[0], one.reason)


def _giving_way(others: tuple[str, ...], keep: str, texts: dict[str, Memory]) -> Iterator[Line]:
    for other in others:
        yield Line("-", other, texts[other].text, f"gives way to {keep}")


# ---------------------------------------------------------------- taking back


def undo(tx: Tx, now: int) -> Undone:
    """Take back the last consolidation exactly; refused when something of it was changed since."""
    last = undos.latest(tx, OPERATION)
    if last is None:
        raise NotFound("there is no consolidation to undo", where="consolidate undo")
    body: dict[str, Json] = json.loads(last.body)
    rows = body["changes"]
    for table, key, _, names, known in rows:
        now_there = undos.columns_of(tx, table, key, names)
        if now_there is None or digest(now_there) != known:
            raise Conflict(
                f"{' '.join(key)} was changed since: undoing would lose that",
                where=f"consolidate undo ({last.id})",
                hint="archive or correct what you do not want instead",
            )
    removed = 0
    for table, key, before, *_ in reversed(rows):
        if before is None:
            undos.remove(tx, table, key)
            removed += 1
        else:
            undos.set_columns(tx, table, key, before)
    reindexed(tx, rows)
    undos.done(tx, last.id)
    # All episodes are new again, but it is not due at once: nobody undoes to see it redone.
    jobs.rewind(tx, JOB, UNDONE, body["watermark"], now)
    _log(tx, f"ev-{last.id}-undone", "undone", len(rows), now)
    return Undone(last.id, len(rows) - removed, removed)
