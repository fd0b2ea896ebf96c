"""Change memories: confirm, correct, scope, undo, hide, prune, judge, clear. Nothing is deleted.

A change of what a memory says, or of how far it is trusted, makes a revision. Hiding, reinforcing
and judging do not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, NotFound
from ..freshness.claims import PinnedClaim
from ..index import sql as index_sql
from ..injections import sql as injections_sql
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses, globs
from ..types import trust
from ..types.records import STATUSES_IN_USE, Json, Memory
from ..undo import sql as undo_sql
from . import lifecycle, sql, sql_lists, steps, steps_neighbours, steps_revisions

VERDICTS = ("helped", "wrong", "stale")

PAGE = 5_000

ASK_USER = "ask the user to run the command at a terminal"

_SHOWN = (*STATUSES_IN_USE, "quarantined")
"""What can be hidden; what was hidden or superseded before is left as it is."""


class Pruned(NamedTuple):
    """The memories that pruning hides, with reasons; `applied` says whether it was done, `kept`
    counts those that stay because a more trusted writer stated them."""

    memories: tuple[lifecycle.Hiding, ...]
    applied: bool
    kept: int = 0


class Judged(NamedTuple):
    """A verdict on a memory, and on how many injections of it."""

    memory: Memory
    verdict: str
    injections: int


def _check_person(origin: str, action: str, where: str, command: str) -> None:
    trust.require_person(origin, action, where, f"run `recollect {command}` at a terminal")


def _open_to_change(tx: Tx, id: str, origin: str) -> Memory:
    """Lock a memory that a writer may change."""
    memory = steps_revisions.open_memory(tx, id, lock=True)
    steps_revisions.check_trust(memory, origin, ASK_USER)
    return memory


def confirm(tx: Tx, id: str, origin: str, now: int, known: Sequence[PinnedClaim] = ()) -> Memory:
    """Make a revision that is trusted as the user's, and active. `known` is what the code looks
    like now, where it changed."""
    _check_person(origin, "confirm a memory", id, "confirm ID")
    old = steps_revisions.open_memory(tx, id, lock=True)
    if old.label == "user" and old.status == "active":
        memory = sql.update_and_get(tx, old, {"last_confirmed": now, "last_reinforced": now})
        steps_neighbours.anchor(tx, old.id, known, now)
        return memory
    row = steps_revisions.make_row(old)._replace(
        origin="user",
        label="user",
        status="active",
        last_confirmed=now,
        last_reinforced=now,
        sources=redaction.redact_json([*old.sources, old.revision_address]).text,
    )
    memory = steps_revisions.revise(tx, old, row, "confirm", now)
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
    """Make a revision with another text; the one before stays in the history."""
    old = steps_revisions.open_memory(tx, id, lock=True)
    new = prepared.row
    steps_revisions.check_trust(
        old, new.label, "learn it as a memory of its own; a person can decide between them"
    )
    if new.digest == old.digest:
        raise InvalidInput(
            "the memory says that already",
            where=old.address,
            hint=f"`recollect confirm {old.id}` confirms it",
        )
    kept = steps_revisions.make_row(old)
    row = kept._replace(
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
    return _reworded(tx, old, row, "correct", now, around, known)


def set_scope(tx: Tx, id: str, scope: Sequence[str], origin: str, now: int) -> Memory:
    """Make a revision that applies to other files."""
    old = _open_to_change(tx, id, origin)
    if globs.same_scopes(old.scope, scope):
        raise InvalidInput(
            f"the memory applies to {globs.describe_scopes(old.scope)} already", where=old.address
        )
    packed = redaction.redact_json(sorted(set(scope))).text
    row = steps_revisions.make_row(old)._replace(scope=packed)
    return steps_revisions.revise(tx, old, row, "scope", now)


_RESTORED = (
    *("kind", "text", "subject", "detail", "category", "scope", "tags", "examples", "citations"),
    *("evidence", "reason", "confidence", "priority", "origin", "label", "status", "sources"),
    "digest",
)
"""What an undo takes from the earlier revision. Counts and times are the memory's own."""


def undo_change(
    tx: Tx, earlier: Memory, origin: str, now: int, known: Sequence[PinnedClaim] = ()
) -> Memory:
    """Make a revision that says again what the one before the current one said."""
    old = _open_to_change(tx, f"{earlier.id}@{earlier.revision + 1}", origin)
    before = steps_revisions.make_row(earlier)
    row = steps_revisions.make_row(old)._replace(
        **{name: getattr(before, name) for name in _RESTORED}
    )
    if row.status not in STATUSES_IN_USE:
        row = row._replace(status=trust.default_status(row.kind, row.label))
    around = steps_neighbours.find_neighbours(tx, row)
    return _reworded(tx, old, row, "undo", now, around, known)


def _reworded(
    tx: Tx,
    old: Memory,
    row: sql.MemoryRow,
    change: str,
    now: int,
    around: steps_neighbours.Neighbours,
    known: Sequence[PinnedClaim],
) -> Memory:
    """Make a revision with another text: what it claims and contradicts begins anew."""
    memory = steps_revisions.revise(tx, old, row, change, now)
    steps_neighbours.replace_claims(tx, memory.id, known, now)
    steps_revisions.end_contradictions(tx, memory.id, now)
    opposite = [other for other in around.opposite if other != old.id]
    steps_neighbours.link(tx, memory.id, "contradicts", opposite, "the opposite is said", now)
    return memory


def set_status(tx: Tx, id: str, status: str, origin: str, now: int) -> Memory:
    """Hide a memory, or restore a hidden one, which may have to be confirmed again."""
    memory = _open_to_change(tx, id, origin)
    allowed = _SHOWN if status == "hidden" else ("hidden",)
    if memory.status not in allowed:
        raise InvalidInput(f"the memory is {memory.status}", where=memory.address)
    detail = redaction.redact_json(lifecycle.unmark_faded(memory.detail)).text
    changes: dict[str, Json] = {"detail": detail}
    if status == "active":
        status = trust.default_status(memory.kind, memory.label)
        changes["last_reinforced"] = now
    changes["status"] = status
    index_sql.set_status(tx, "memory", memory.id, status)
    _keep_statuses(tx, {memory.id: memory.status}, status, now)
    return sql.update_and_get(tx, memory, changes)


def restore(tx: Tx, id: str, origin: str, now: int) -> Memory:
    """Restore a hidden memory, or a superseded one in place of the one that took its place."""
    memory = steps_revisions.find(tx, id.removeprefix(addresses.SCHEME), lock=True)
    current = steps_revisions.open_memory(tx, id, lock=True)
    if memory is None or memory.id == current.id:
        return set_status(tx, id, "active", origin, now)
    steps_revisions.check_trust(current, origin, ASK_USER)
    steps_neighbours.reopen(tx, memory, current, now)
    restored = sql.update_and_get(tx, memory, {"last_reinforced": now})
    _keep_statuses(tx, {memory.id: "superseded"}, restored.status, now, current.id)
    return restored


def reinforce(tx: Tx, id: str, now: int) -> Memory:
    """Add a reinforcement, and restart the clock of decay."""
    memory = steps_revisions.open_memory(tx, id, lock=True)
    changes = {
        "reinforcement": memory.reinforcement + 1,
        "last_reinforced": now,
        "last_confirmed": now,
    }
    return sql.update_and_get(tx, memory, changes)


def judge(tx: Tx, id: str, verdict: str, session: str, now: int) -> Judged:
    """Note what came of a memory that was used: it helped, was wrong, or was stale."""
    if verdict not in VERDICTS:
        raise InvalidInput.choice("verdict", verdict, VERDICTS)
    memory = steps_revisions.open_memory(tx, id, lock=True)
    changes: dict[str, Json] = {"failures": memory.failures + 1}
    if verdict == "helped":
        changes = {"successes": memory.successes + 1, "last_reinforced": now}
    count = injections_sql.set_verdict(tx, memory.id, session, verdict)
    return Judged(sql.update_and_get(tx, memory, changes), verdict, count)


def prune(
    tx: Tx, max_age_days: float, min_confidence: float, apply: bool, origin: str, now: int
) -> Pruned:
    """Plan to hide what is old or doubtful, and do it with `apply`. What a more trusted writer
    stated is not pruned."""
    plan: list[lifecycle.Hiding] = []
    kept, after = 0, None
    while found := sql_lists.list_open(tx, {}, PAGE, after):
        planned = lifecycle.plan_pruning(found, now, max_age_days, min_confidence)
        theirs = {item.id for item in found if not steps_revisions.may_change(origin, item)}
        plan += [item for item in planned if item.id not in theirs]
        kept += sum(item.id in theirs for item in planned)
        after = found[-1].first_seen, found[-1].id
    if apply:
        before = sql.get_many(tx, [item.id for item in plan])
        _keep_statuses(tx, {item.id: before[item.id].status for item in plan}, "hidden", now)
        for item in plan:
            detail = redaction.redact_json(lifecycle.mark_faded(before[item.id].detail, now)).text
            sql.update(tx, item.id, {"status": "hidden", "detail": detail})
            index_sql.set_status(tx, "memory", item.id, "hidden")
    return Pruned(tuple(plan), apply, kept)


STATUS = "status"
"""The operation under which the statuses before a change are kept, to be undone."""


def _keep_statuses(
    tx: Tx, before: Mapping[str, str], status: str, now: int, replaced: str = ""
) -> None:
    if before:
        body = redaction.redact_json({"set": status, "before": before, "replaced": replaced}).text
        undo_sql.insert(tx, f"{next(iter(before))}@{now}", STATUS, body, now)


def hide_all(tx: Tx, memories: Sequence[Memory], now: int) -> None:
    """Hide memories together; one undo brings them back."""
    _set_statuses(tx, "memories", {memory.id: "hidden" for memory in memories})
    _keep_statuses(tx, {memory.id: memory.status for memory in memories}, "hidden", now)


def undo_learning(tx: Tx, id: str, origin: str, now: int) -> None:
    """Take back a saved memory; the undo itself cannot be undone."""
    memory = _open_to_change(tx, id, origin)
    steps_neighbours.take_back(tx, memory, now)


def undo_status(tx: Tx, record: undo_sql.UndoRecord, origin: str, now: int) -> list[Memory]:
    """Put back the statuses that a record holds; a memory that was changed since stays."""
    held = json.loads(record.body)
    done = []
    for id, status in held["before"].items():
        memory = sql.get(tx, id)
        if memory is not None and memory.status == held["set"]:
            steps_revisions.check_trust(memory, origin, ASK_USER)
            if held.get("replaced") and (replaced := sql.get(tx, held["replaced"])):
                steps_neighbours.reopen(tx, replaced, memory, now)
            else:
                _set_statuses(tx, "memories", {id: status})
            done.append(id)
    undo_sql.mark_undone(tx, record.id)
    return list(sql.get_many(tx, done).values())


CLEAR = "clear"
"""The operation under which a clearing is kept, to be undone."""

_CLEARED = {"memories": "memory", "episodes": "episode", "procedures": "procedure"}
"""The tables of what is learned, and what their rows are in the index."""


class Cleared(NamedTuple):
    """How many of each were hidden, or would be; `undo` names the record that takes it back."""

    memories: int
    episodes: int
    procedures: int
    applied: bool
    undo: str = ""
    lessons: int = 0
    """Commands, error fixes and places that were learned from work."""


class Returned(NamedTuple):
    """Counts of what came back, and of what was left because it was changed since."""

    undo: str
    returned: int
    changed_since: int


def clear_all(tx: Tx, apply: bool, origin: str, undo: str, now: int) -> Cleared:
    """Count everything in use, and hide it with `apply`."""
    found = {table: undo_sql.find_with_status(tx, table, _SHOWN) for table in _CLEARED}
    memories, episodes, procedures = map(len, found.values())
    marks = storage_sql.get_value(tx, storage_sql.CLEARED)
    lessons = undo_sql.count_after(tx, "findings", storage_sql.cleared_at(marks))
    counted = Cleared(memories, episodes, procedures, applied=False, lessons=lessons)
    if not apply:
        return counted
    _check_person(origin, "hide everything that was learned", "clear", "clear --apply")
    if not any(found.values()) and not lessons:
        return counted._replace(applied=True)
    for table, rows in found.items():
        _set_statuses(tx, table, dict.fromkeys(rows, "hidden"))
    # What was learned from work is derived: it is hidden by its time.
    times = redaction.redact(f"{now} {marks or ''}".strip())
    storage_sql.set_value(tx, storage_sql.CLEARED, times, now)
    undo_sql.insert(tx, undo, CLEAR, redaction.redact_json(found).text, now)
    return counted._replace(applied=True, undo=undo)


def undo_clear(tx: Tx, origin: str) -> Returned:
    """Put back what the last clearing hid, each as it was. What was restored, corrected or learned
    again since stays as it is now."""
    _check_person(origin, "undo `clear`", "clear undo", "clear undo")
    last = undo_sql.find_latest(tx, CLEAR)
    if last is None:
        raise NotFound("there is no `clear` to undo", where="clear undo")
    returned = changed = 0
    for table, hidden in json.loads(last.body).items():
        still = undo_sql.find_with_status(tx, table, ("hidden",))
        back = {}
        for id, status in hidden.items():
            # A clearing of an early version names memories by ids that are aliases by now.
            id = id if id in still or table != "memories" else sql.find_alias(tx, id)
            if id in still:
                back[id] = status
        _set_statuses(tx, table, back)
        returned += len(back)
        changed += len(hidden) - len(back)
    marks = storage_sql.get_value(tx, storage_sql.CLEARED)
    if storage_sql.cleared_at(marks) == last.at:
        earlier = (marks or "").partition(" ")[2]
        storage_sql.set_value(tx, storage_sql.CLEARED, redaction.redact(earlier), last.at)
    undo_sql.mark_undone(tx, last.id)
    return Returned(last.id, returned, changed)


def _set_statuses(tx: Tx, table: str, statuses: Mapping[str, str]) -> None:
    for id, status in statuses.items():
        undo_sql.set_columns(tx, table, (id,), {"status": status})
        index_sql.set_status(tx, _CLEARED[table], id, status)
