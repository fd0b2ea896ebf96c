"""Tend: confirm, correct, archive, prune and judge memories. Nothing here deletes."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple, TypeVar

from ..errors import InvalidInput, NotFound, Refused
from ..freshness.claims import PinnedClaim
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..types import trust
from ..types.records import ORIGINS, Json, Memory
from ..undo import sql as undo_sql
from . import lifecycle, sql, sql_upkeep, steps, steps_neighbours, steps_revisions

Result = TypeVar("Result")

Work = Callable[[Tx], Result]

VERDICTS = ("helped", "wrong", "stale")

PAGE = 5_000


class Pruned(NamedTuple):
    """What pruning archives, with the reason of each; `applied` says whether it was done, and
    `kept` how many stay because somebody more trusted stated them."""

    memories: tuple[lifecycle.Hiding, ...]
    applied: bool
    kept: int = 0


class Judged(NamedTuple):
    """A verdict on a memory, and on how many injections of it."""

    memory: Memory
    verdict: str
    injections: int


def confirm(
    tx: Tx, id: str, origin: str, now: int, new_id: str, known: Sequence[PinnedClaim] = ()
) -> Memory:
    """A person stands behind it: a new version, trusted as the user's, and active. `known` is what
    the code looks like now, where it changed."""
    if origin != "user":
        raise Refused(
            "only a person can confirm a memory",
            where=id,
            hint="run `recollect confirm ID` at a terminal",
        )
    old = steps_revisions.open_memory(tx, id)
    if old.label == "user" and old.status == "active":
        sql.update(tx, old.id, {"last_confirmed": now, "last_reinforced": now})
        steps_neighbours.anchor(tx, old.id, known, now)
        return _read(tx, old.id)
    row = steps_revisions.make_row(old)._replace(
        id=new_id,
        origin="user",
        label="user",
        status="active",
        last_confirmed=now,
        last_reinforced=now,
        sources=redaction.redact_json([*old.sources, old.address]).text,
    )
    memory = replaced(tx, old, row, now)
    steps_neighbours.carry_over(tx, old.id, memory.id, now)
    steps_neighbours.anchor(tx, memory.id, known, now)
    return memory


def correct(
    tx: Tx,
    id: str,
    prepared: steps.PreparedMemory,
    now: int,
    around: steps_neighbours.Neighbours = steps_neighbours.NONE,
    known: Sequence[PinnedClaim] = (),
) -> Memory:
    """Put another text in a memory's place; the old one stays in its history."""
    old = steps_revisions.open_memory(tx, id)
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
    kept = steps_revisions.make_row(old)
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
    steps_neighbours.anchor(tx, memory.id, known, now)
    opposite = [other for other in around.opposite if other != old.id]
    steps_neighbours.link(tx, memory.id, "contradicts", opposite, "the opposite is said", now)
    return memory


def replaced(tx: Tx, old: Memory, row: sql.MemoryRow, now: int) -> Memory:
    """The next version of a memory; the one before is closed."""
    row = steps_neighbours.supersede(tx, old, row, now)
    memory = steps_revisions.put(
        tx, row, index_steps.split_stems(steps_revisions.make_searchable_text(sql.load_memory(row)))
    )
    if memory is None:
        raise InvalidInput("another open memory has exactly this text", where=old.address)
    steps_neighbours.link(tx, memory.id, "supersedes", [old.id], "a new version of it", now)
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
    memory = steps_revisions.open_memory(tx, id)
    _check_trust(memory, origin, "ask the user to run the command at a terminal")
    allowed = ("active", "proposed") if status == "archived" else ("archived",)
    if memory.status not in allowed:
        raise InvalidInput(f"the memory is {memory.status}", where=memory.address)
    changes: dict[str, Json] = {
        "detail": redaction.redact_json(lifecycle.unmark_faded(memory.detail)).text
    }
    if status == "active":
        status = trust.default_status(memory.kind, memory.label)
        changes["last_reinforced"] = now
    changes["status"] = status
    sql.update(tx, memory.id, changes)
    index_sql.set_status(tx, "memory", memory.id, status)
    return _read(tx, memory.id)


def reinforce(tx: Tx, id: str, now: int) -> Memory:
    """ "Remember this": one more reinforcement, and the clock of decay begins anew."""
    memory = steps_revisions.open_memory(tx, id)
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
    memory = steps_revisions.open_memory(tx, id)
    changes: dict[str, Json] = {"failures": memory.failures + 1}
    if verdict == "helped":
        changes = {"successes": memory.successes + 1, "last_reinforced": now}
    sql.update(tx, memory.id, changes)
    count = sql_upkeep.set_verdict(tx, memory.id, session, verdict)
    return Judged(_read(tx, memory.id), verdict, count)


def prune(
    tx: Tx, max_age_days: float, min_confidence: float, apply: bool, origin: str, now: int
) -> Pruned:
    """Archive what is old or doubtful; shows it first, does it when told to. Nobody prunes what
    somebody more trusted stated."""
    plan: list[lifecycle.Hiding] = []
    offset = kept = 0
    while found := sql.list_open(tx, {}, PAGE, offset):
        planned = lifecycle.plan_pruning(found, now, max_age_days, min_confidence)
        theirs = {item.id for item in found if not _may_change(origin, item)}
        plan += [item for item in planned if item.id not in theirs]
        kept += sum(item.id in theirs for item in planned)
        offset += PAGE
    if apply:
        for item in plan:
            detail = lifecycle.mark_faded(_read(tx, item.id).detail, now)
            packed = redaction.redact_json(detail).text
            sql.update(tx, item.id, {"status": "archived", "detail": packed})
            index_sql.set_status(tx, "memory", item.id, "archived")
    return Pruned(tuple(plan), apply, kept)


def _read(tx: Tx, id: str) -> Memory:
    memory = sql.get(tx, id)
    assert memory is not None
    return memory


CLEAR = "clear"

HIDDEN = ("active", "proposed", "quarantined")

"""What is archived; what was archived or superseded before is left as it is."""

_CLEARED = {"memories": "memory", "episodes": "episode", "procedures": "procedure"}

"""The tables of what is learned, and what their rows are in the index."""


class Cleared(NamedTuple):
    """How many of each were hidden, or would be; `undo` names the record that takes it back."""

    memories: int
    episodes: int
    procedures: int
    applied: bool
    undo: str = ""


class Returned(NamedTuple):
    """How many came back, and how many were left because somebody changed them since."""

    undo: str
    returned: int
    changed_since: int


def clear_all(tx: Tx, apply: bool, origin: str, undo: str, now: int) -> Cleared:
    """Archive everything in use; only says how much that is unless told to do it."""
    found = {table: undo_sql.find_with_status(tx, table, HIDDEN) for table in _CLEARED}
    memories, episodes, procedures = map(len, found.values())
    counted = Cleared(memories, episodes, procedures, applied=False)
    if not apply:
        return counted
    if origin != "user":
        raise Refused(
            "only a person can hide everything that was learned",
            where="clear",
            hint="run `recollect clear --apply` at a terminal",
        )
    if not any(found.values()):
        return counted._replace(applied=True)
    for table, rows in found.items():
        _set_statuses(tx, table, dict.fromkeys(rows, "archived"))
    undo_sql.insert(tx, undo, CLEAR, redaction.redact_json(found).text, now)
    return counted._replace(applied=True, undo=undo)


def undo_clear(tx: Tx, origin: str) -> Returned:
    """Put back what the last clearing hid, each as it was. What was restored, corrected or learned
    again since stays as it is now."""
    if origin != "user":
        raise Refused(
            "only a person can take a clearing back",
            where="clear undo",
            hint="run `recollect clear undo` at a terminal",
        )
    last = undo_sql.find_latest(tx, CLEAR)
    if last is None:
        raise NotFound("there is no clearing to undo", where="clear undo")
    returned = changed = 0
    for table, hidden in json.loads(last.body).items():
        still = undo_sql.find_with_status(tx, table, ("archived",))
        back = {id: status for id, status in hidden.items() if id in still}
        _set_statuses(tx, table, back)
        returned += len(back)
        changed += len(hidden) - len(back)
    undo_sql.mark_undone(tx, last.id)
    return Returned(last.id, returned, changed)


def _set_statuses(tx: Tx, table: str, statuses: Mapping[str, str]) -> None:
    for id, status in statuses.items():
        undo_sql.set_columns(tx, table, (id,), {"status": status})
        index_sql.set_status(tx, _CLEARED[table], id, status)
