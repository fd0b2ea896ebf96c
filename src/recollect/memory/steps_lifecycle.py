"""Tend: confirm, correct, archive, prune and judge memories. Nothing here deletes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

from ..errors import InvalidInput, NotFound, Refused
from ..freshness.claims import Known
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import FOREVER, ORIGINS, Json, Memory
from . import lifecycle, sql, sql_injections, steps, steps_versions

Result = TypeVar("Result")
Work = Callable[[Tx], Result]
VERDICTS = ("helped", "wrong", "stale")
PAGE = 5_000


class Pruned(NamedTuple):
    """What pruning archives, with the reason of each; `applied` says whether it was done, and
    `kept` how many stay because somebody more trusted stated them."""

    memories: tuple[lifecycle.Archiving, ...]
    applied: bool
    kept: int = 0


class Judged(NamedTuple):
    """A verdict on a memory, and on how many injections of it."""

    memory: Memory
    verdict: str
    injections: int


def has(tx: Tx, id: str) -> bool:
    """Whether this space has a memory with this id, or one that begins so."""
    return sql.get(tx, id) is not None or bool(sql.starting_with(tx, id, 1))


def open_memory(tx: Tx, id: str) -> Memory:
    """The open version of a memory, by the id (or the beginning of it) of any of its versions."""
    id = id.removeprefix(addresses.SCHEME)
    memory = sql.get(tx, id)
    if memory is None:
        memory = sql.get(tx, addresses.only(id, sql.starting_with(tx, id)))
    if memory is None:
        raise NotFound(
            "there is no such memory", where=id, hint="`recollect list` shows what there is"
        )
    return next(
        (item for item in sql.versions(tx, memory.root) if item.valid_to == FOREVER), memory
    )


def confirm(
    tx: Tx, id: str, origin: str, now: int, new_id: str, known: Sequence[Known] = ()
) -> Memory:
    """A person stands behind it: a new version, trusted as the user's, and active. `known` is what
    the code looks like now, where it changed."""
    if origin != "user":
        raise Refused(
            "only a person can confirm a memory",
            where=id,
            hint="run `recollect confirm ID` at a terminal",
        )
    old = open_memory(tx, id)
    if old.label == "user" and old.status == "active":
        sql.update(tx, old.id, {"last_confirmed": now, "last_reinforced": now})
        steps_versions.anchor(tx, old.id, known, now)
        return _read(tx, old.id)
    row = steps.row_of(old)._replace(
        id=new_id,
        origin="user",
        label="user",
        status="active",
        last_confirmed=now,
        last_reinforced=now,
        sources=redaction.scrub_json([*old.sources, old.address]).text,
    )
    memory = replaced(tx, old, row, now)
    steps_versions.carry_over(tx, old.id, memory.id, now)
    steps_versions.anchor(tx, memory.id, known, now)
    return memory


def correct(
    tx: Tx,
    id: str,
    prepared: steps.Prepared,
    now: int,
    around: steps_versions.Neighbours = steps_versions.NONE,
    known: Sequence[Known] = (),
) -> Memory:
    """Put another text in a memory's place; the old one stays in its history."""
    old = open_memory(tx, id)
    new = prepared.row
    _check_trust(
        old, new.label, "learn it as a memory of its own; a person can decide between them"
    )
    if new.digest == old.digest:
        raise InvalidInput(
            "the memory says that already",
            where=old.address,
            hint=f"`recollect confirm {old.id}` stands behind it",
        )
    kept = steps.row_of(old)
    row = kept._replace(
        id=new.id,
        text=new.text,
        digest=new.digest,
        origin=new.origin,
        label=new.label,
        status=new.status,
        subject=new.subject or kept.subject,
        reason=new.reason or kept.reason,
        reinforcement=1,
        last_confirmed=now,
        last_reinforced=now,
    )
    memory = replaced(tx, old, row, now)
    steps_versions.anchor(tx, memory.id, known, now)
    opposite = [other for other in around.opposite if other != old.id]
    steps_versions.link(tx, memory.id, "contradicts", opposite, "the opposite is said", now)
    return memory


def replaced(tx: Tx, old: Memory, row: sql.MemoryRow, now: int) -> Memory:
    """The next version of a memory; the one before is closed."""
    row = steps_versions.supersede(tx, old, row, now)
    memory = steps.put(tx, row, index_steps.words_of(steps.searchable(sql.loaded(row))))
    if memory is None:
        raise InvalidInput("another open memory has exactly this text", where=old.address)
    steps_versions.link(tx, memory.id, "supersedes", [old.id], "a new version of it", now)
    return memory


def _may_change(origin: str, memory: Memory) -> bool:
    return ORIGINS.index(origin) <= ORIGINS.index(memory.label)


def _check_trust(memory: Memory, origin: str, hint: str) -> None:
    if not _may_change(origin, memory):
        raise Refused(
            f"what comes from the {origin} cannot change what the {memory.label} stated",
            where=memory.address,
            hint=hint,
        )


def set_status(tx: Tx, id: str, status: str, origin: str, now: int) -> Memory:
    """Archive a memory, or take it back out of the archive: to be confirmed, if it has to be."""
    memory = open_memory(tx, id)
    _check_trust(memory, origin, "ask the user to run the command at a terminal")
    shown = ("active", "proposed", "quarantined")
    allowed = shown if status == "archived" else ("archived",)
    if memory.status not in allowed:
        raise InvalidInput(f"the memory is {memory.status}", where=memory.address)
    changes: dict[str, Json] = {"detail": redaction.scrub_json(lifecycle.awake(memory.detail)).text}
    if status == "active":
        status = trust.status_of(memory.kind, memory.label)
        changes["last_reinforced"] = now
    changes["status"] = status
    sql.update(tx, memory.id, changes)
    index_sql.set_status(tx, "memory", memory.id, status)
    return _read(tx, memory.id)


def reinforce(tx: Tx, id: str, now: int) -> Memory:
    """ "Remember this": one more reinforcement, and the clock of decay begins anew."""
    memory = open_memory(tx, id)
    changes = {
        "reinforcement": memory.reinforcement + 1,
        "last_reinforced": now,
        "last_confirmed": now,
    }
    sql.update(tx, memory.id, changes)
    return _read(tx, memory.id)


def judge(tx: Tx, id: str, verdict: str, session: str, now: int) -> Judged:
    """What came of a memory that was used: it helped, was wrong, or was stale."""
    if verdict not in VERDICTS:
        raise InvalidInput(
            f"{verdict!r} is not a verdict", where="verdict", hint=f"one of: {', '.join(VERDICTS)}"
        )
    memory = open_memory(tx, id)
    changes: dict[str, Json] = {"failures": memory.failures + 1}
    if verdict == "helped":
        changes = {"successes": memory.successes + 1, "last_reinforced": now}
    sql.update(tx, memory.id, changes)
    count = sql_injections.judge(tx, memory.id, session, verdict)
    return Judged(_read(tx, memory.id), verdict, count)


def prune(
    tx: Tx, max_age_days: float, min_confidence: float, apply: bool, origin: str, now: int
) -> Pruned:
    """Archive what is old or doubtful; shows it first, does it when told to. Nobody prunes what
    somebody more trusted stated."""
    plan: list[lifecycle.Archiving] = []
    offset = kept = 0
    while found := sql.listing(tx, {}, PAGE, offset):
        planned = lifecycle.prune_plan(found, now, max_age_days, min_confidence)
        theirs = {item.id for item in found if not _may_change(origin, item)}
        plan += [item for item in planned if item.id not in theirs]
        kept += sum(item.id in theirs for item in planned)
        offset += PAGE
    if apply:
        for item in plan:
            detail = lifecycle.faded(_read(tx, item.id).detail, now)
            packed = redaction.scrub_json(detail).text
            sql.update(tx, item.id, {"status": "archived", "detail": packed})
            index_sql.set_status(tx, "memory", item.id, "archived")
    return Pruned(tuple(plan), apply, kept)


def history(tx: Tx, id: str) -> list[Memory]:
    """All versions of a memory, oldest first."""
    return sql.versions(tx, open_memory(tx, id).root)


def _read(tx: Tx, id: str) -> Memory:
    memory = sql.get(tx, id)
    assert memory is not None
    return memory
