"""Write a prepared statement, or reinforce what says the same."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..freshness import sql as freshness_sql
from ..freshness.claims import PinnedClaim
from ..index import sql as index_sql
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import display, globs
from ..types import trust
from ..types.records import ORIGINS, Learned, Memory
from . import sql, steps_neighbours, steps_revisions
from .steps import PreparedMemory


def learn(
    tx: Tx,
    prepared: PreparedMemory,
    now: int,
    around: steps_neighbours.Neighbours = steps_neighbours.NONE,
    known: Sequence[PinnedClaim] = (),
    is_new: bool | None = None,
) -> Learned:
    """Save a statement. The same text again reinforces what is there, another value takes its
    place, both only for the same files. `known` are its claims, pinned to the code of now. With
    `is_new`, its key was looked up a moment ago, and whether no memory in use has its text."""
    row = prepared.row
    key = f"learn {prepared.key}" if prepared.key else ""
    earlier = storage_sql.find_write(tx, key, row.text) if key and is_new is None else None
    if earlier and (there := sql.get(tx, earlier)):
        return Learned(there.id, there.address, "unchanged", there)
    same_text = [] if is_new else steps_revisions.find_same_text(tx, row)
    held = steps_revisions.pick_scope(same_text, steps_revisions.read_scope(row))
    others = [one.id for one in same_text] if prepared.near == "merge" else []
    pinned = [held.id] if held else others  # those that the statement may add claims to
    stored = freshness_sql.load_claims(tx, pinned if known else [])
    if held is None and around.same and row.kind == "fact":
        # Of any kind it says that already: `fact` is the kind of what has no other.
        held = sql.get(tx, around.same, lock=True)
        if held is not None:
            prepared = prepared._replace(row=row._replace(kind=held.kind, priority=held.priority))
    if held is None:
        around = steps_neighbours.add_twins(around, same_text)
    learned = _kept(tx, prepared, held, around, same_text, now)
    if learned is None:
        return _refused(tx, row)
    if known and learned.memory.id == row.id:
        steps_neighbours.add_claims(tx, {row.id: known}, now)
    elif known and _speaks_for(row, learned.memory):
        claims = stored.get(learned.id, ()) if learned.id in pinned else None
        steps_neighbours.anchor(tx, learned.id, known, now, claims)
    if key:
        storage_sql.record_write(tx, key, "learn", learned.id, now, row.text)
    return learned._replace(redacted=prepared.redacted, similar=around.near)


def learn_all(
    tx: Tx, prepared: Sequence[PreparedMemory], now: int, known: Mapping[str, Sequence[PinnedClaim]]
) -> list[Learned]:
    """Save many statements in one transaction: the new ones in few statements, and one by one what
    has a key or says the same as another one."""
    kept = sql.find_kept_texts(tx, (item.row for item in prepared))
    new: dict[str, PreparedMemory] = {}
    for item in prepared:
        place = _text_place(item.row)
        if not item.key and not item.near and place not in kept:
            new[item.row.id] = item
            kept.add(place)
    written = sql.insert_many(tx, [item.row for item in new.values()])
    added = [item for id, item in new.items() if id in written]
    index_sql.insert_entries(
        tx, [(steps_revisions.make_entry(item.memory), item.words) for item in added]
    )
    steps_neighbours.add_claims(
        tx, {item.row.id: known[item.row.id] for item in added if item.row.id in known}, now
    )
    return [
        _created(tx, item.memory, steps_neighbours.NONE, None, now, item.redacted)
        if item.row.id in written
        else learn(tx, item, now, known=known.get(item.row.id, ()))
        for item in prepared
    ]


def _text_place(row: sql.MemoryRow) -> tuple[str, str, str, str]:
    return row.layer, row.owner, row.kind, row.digest


def _speaks_for(row: sql.MemoryRow, memory: Memory) -> bool:
    """Check whether the claims of this row are those of the memory, and its writer as trusted."""
    trusted = ORIGINS.index(row.label) <= ORIGINS.index(memory.label)
    return trusted and row.text == memory.text


def _kept(
    tx: Tx,
    prepared: PreparedMemory,
    held: Memory | None,
    around: steps_neighbours.Neighbours,
    same_text: Sequence[Memory],
    now: int,
) -> Learned | None:
    """Write the statement; `held` is the memory that says the same for the same files, `same_text`
    are those for whatever files. None if its text was forgotten on request."""
    row, near = prepared.row, prepared.near
    alike = []
    if around.near and near in ("skip", "merge"):
        alike = sql.find_open_for_text(tx, around.near[0], row)
    if held is None and alike:
        like = alike[0]
        if near == "skip":
            note = (
                f"not kept: {like.id} says almost the same for {globs.describe_scopes(like.scope)}"
            )
            return Learned(like.id, like.address, "skipped", like, (note,))
        wide = globs.unite_scopes(like.scope, steps_revisions.read_scope(row))
        held = steps_revisions.pick_scope([*same_text, *alike], wide) or like
    old = None
    if held is None and around.revised:
        # None if the new text was forgotten: then the insertion is refused too.
        old = sql.close_for_text(tx, around.revised, row.digest, now)
    if old is not None:
        row = steps_neighbours.supersede(tx, old, row, now)
    if held is None and (memory := steps_revisions.put(tx, row, prepared.words)):
        return _created(tx, memory, around, old, now)
    # A writer that lost the race to insert finds the winner's row here.
    held = held or steps_revisions.find_same(tx, row)
    return steps_neighbours.reinforce(tx, held, prepared.row, now) if held else None


def _refused(tx: Tx, row: sql.MemoryRow) -> Learned:
    """Return the result of a refused learn: the reason, and no id."""
    at = sql.find_forgotten_at(tx, row.digest)
    note = "nothing was saved: a record with this text was changed from outside (recollect doctor)"
    if at:
        note = (
            f"nothing was saved: this was forgotten on {display.format_time(at)[:10]}. "
            "To save it again, at a terminal: recollect learn --again TEXT"
        )
    return Learned("", "", "skipped", sql.load_memory(row), (note,))


def _created(
    tx: Tx,
    memory: Memory,
    around: steps_neighbours.Neighbours,
    old: Memory | None,
    now: int,
    redacted: tuple[str, ...] = (),
) -> Learned:
    notes = []
    if memory.status != "active":
        why = "imported" if memory.label == "import" else "not typed at a terminal"
        notes.append(f"{memory.status} ({why}). Confirm it: recollect confirm {memory.id}")
    elif memory.label == "tool":
        notes.append(f"a note from a tool: found by recall only, for {trust.TOOL_NOTE_DAYS} days")
    if old is not None:
        steps_neighbours.link(tx, memory.id, "supersedes", [old.id], "another value", now)
        notes.append(f"takes the place of {old.id}: {old.text}")
    if around.opposite:
        steps_revisions.mark_outdated(tx, memory, around.opposite)
        steps_neighbours.link(
            tx, memory.id, "contradicts", around.opposite, "the opposite is said", now
        )
        notes += [
            f"likely replaces {other}: recollect review asks which one holds"
            if other in around.replaced
            else f"contradicts {other}: one of them should go"
            for other in around.opposite
        ]
    if around is not steps_neighbours.NONE:
        twins, others = around.twins, around.otherwise
        notes += [f"{other} says almost the same" for other in around.near if other not in twins]
        notes += [f"{other} says the same for {where}" for other, where in twins.items()]
        notes += [f"{other} says otherwise for {where}" for other, where in others.items()]
    action = "revised" if old is not None else "created"
    return Learned(
        id=memory.id,
        address=memory.address,
        action=action,
        memory=memory,
        notes=tuple(notes),
        redacted=redacted,
        contradicts=around.opposite,
    )
