"""Write a prepared statement, or reinforce what says the same."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..fast_typing import Any
from ..freshness import sql as freshness_sql
from ..freshness.claims import PinnedClaim
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import display, globs
from ..types import trust
from ..types.records import KINDS, ORIGINS, Json, Learned, Memory, SafeText
from . import sql, sql_lists, steps_neighbours, steps_revisions
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
    free = not is_new and sql.is_free(tx, row)
    same_text = [] if is_new or free else steps_revisions.find_same_text(tx, row)
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
    learned = _kept(tx, prepared, held, around, same_text, free, now)
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
    kept = sql_lists.find_kept_texts(tx, (item.row for item in prepared))
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
    held = {_text_place(item.row): [item.memory] for item in added}
    rest = [item for item in prepared if item.row.id not in written]
    repeated = _learn_repeated(tx, rest, held, now, known) if rest else {}
    return [
        repeated[item.row.id]
        if item.row.id in repeated
        else _created(tx, item.memory, steps_neighbours.NONE, None, now, item.redacted)
        for item in prepared
    ]


def _learn_repeated(
    tx: Tx,
    prepared: Sequence[PreparedMemory],
    held: dict[sql_lists.TextPlace, list[Memory]],
    now: int,
    known: Mapping[str, Sequence[PinnedClaim]],
) -> dict[str, Learned]:
    """Reinforce memories with statements that say the same, which often is all that changes: then
    each is read and written once. `held` are those that were written just now."""
    rows = [item.row for item in prepared]
    held |= sql_lists.find_open_with_texts(
        tx, [row for row in rows if _text_place(row) not in held]
    )
    changed: dict[str, Memory] = {}
    learned: dict[str, Learned] = {}
    for item, row in zip(prepared, rows, strict=True):
        place = _text_place(row)
        is_plain = not (item.key or item.near or row.id in known) and place in held
        same = (
            steps_revisions.pick_scope(held[place], steps_revisions.read_scope(row))
            if is_plain
            else None
        )
        memory = _repeat(same, row, now) if same else None
        if same and memory:
            held[place][held[place].index(same)] = changed[memory.id] = memory
            learned[row.id] = Learned(
                memory.id, memory.address, "reinforced", memory, redacted=item.redacted
            )
        else:
            # It may change any of them.
            sql_lists.save_repeats(tx, changed.values())
            changed.clear()
            held.pop(place, None)
            learned[row.id] = learn(tx, item, now, known=known.get(row.id, ()))
    sql_lists.save_repeats(tx, changed.values())
    return learned


def _text_place(row: sql.MemoryRow) -> sql_lists.TextPlace:
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
    free: bool,
    now: int,
) -> Learned | None:
    """Write the statement; `held` is the memory that says the same for the same files, `same_text`
    are those for whatever files; `free`: see `sql.insert`. None if its text was forgotten on
    request."""
    row, near, memory = prepared.row, prepared.near, prepared.memory
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
        memory = sql.load_memory(row)
    if held is None and steps_revisions.put(tx, row, memory, prepared.words, free):
        return _created(tx, memory, around, old, now)
    # A writer that lost the race to insert finds the winner's row here.
    held = held or steps_revisions.find_same(tx, row)
    return _reinforce(tx, held, prepared.row, now) if held else None


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


def _reinforce(tx: Tx, held: Memory, row: sql.MemoryRow, now: int) -> Learned:
    """Reinforce a memory with a row that says the same.

    From a writer as trusted, confidence only rises, lists unite and new fields count. From a more
    trusted one, it is a revision in their name. From a less trusted one, only the count rises.
    """
    if ORIGINS.index(row.label) < ORIGINS.index(held.label):
        return _confirm(tx, held, row, now)
    memory = sql.update_and_get(tx, held, _find_changes(held, row, now))
    entry, text = steps_revisions.make_entry(memory), steps_revisions.make_searchable_text(memory)
    before = steps_revisions.make_entry(held), steps_revisions.make_searchable_text(held)
    if (entry, text) != before:
        index_steps.reindex_text(tx, entry, text)
    return Learned(
        memory.id, memory.address, "reinforced", memory, _describe_reach(held, memory, row)
    )


def _repeat(held: Memory, row: sql.MemoryRow, now: int) -> Memory | None:
    """Return a memory as `_reinforce` leaves it with a row for the same files; None if it changes
    more than how often and when the memory was reinforced."""
    if ORIGINS.index(row.label) < ORIGINS.index(held.label):
        return None
    changes = _find_changes(held, row, now)
    return held._replace(**changes) if changes.keys() <= {*sql_lists.REPEATED} else None


def _find_changes(held: Memory, row: sql.MemoryRow, now: int) -> dict[str, Any]:
    """Return the columns that a statement of a writer who is not more trusted changes."""
    changes: dict[str, Any] = {"reinforcement": held.reinforcement + 1}
    if row.label == held.label:
        changes |= {"last_reinforced": now, "last_confirmed": now}
        changes |= _find_additions(held, row)
    return changes


def _describe_reach(held: Memory, memory: Memory, row: sql.MemoryRow) -> tuple[str, ...]:
    """Return a note on where a memory applies after statements for different files became one."""
    if globs.same_scopes(held.scope, steps_revisions.read_scope(row)):
        return ()
    kept = "still" if globs.same_scopes(held.scope, memory.scope) else "now"
    return (f"{memory.id} {kept} applies to {globs.describe_scopes(memory.scope)}",)


def _find_additions(held: Memory, row: sql.MemoryRow) -> dict[str, Json]:
    """Return the columns that a repeated statement changes."""
    changes: dict[str, Json] = {}
    if row.confidence > held.confidence:
        changes["confidence"] = row.confidence
    scope = steps_revisions.read_scope(row)
    if not globs.same_scopes(held.scope, globs.unite_scopes(held.scope, scope)):
        changes["scope"] = _unite_scope(held, row)
    for name in ("tags", "examples", "citations", "evidence", "sources"):
        if (added := getattr(row, name)) == "[]":
            continue
        before = list(getattr(held, name))
        united = before + [item for item in json.loads(added) if item not in before]
        if len(united) > len(before):
            changes[name] = redaction.redact_json(united).text
    detail = {**held.detail, **json.loads(row.detail)} if row.detail != "{}" else held.detail
    if detail != held.detail:
        changes["detail"] = redaction.redact_json(detail).text
    for name in ("subject", "reason"):
        if getattr(row, name) and getattr(row, name) != getattr(held, name):
            changes[name] = getattr(row, name)
    if row.priority not in (held.priority, KINDS[row.kind].priority):
        changes["priority"] = row.priority
    if held.status == "hidden":
        changes["status"] = row.status
    return changes


def _confirm(tx: Tx, held: Memory, row: sql.MemoryRow, now: int) -> Learned:
    """Make the next revision in the name of a more trusted writer who says the same."""
    wide = row._replace(
        scope=_unite_scope(held, row),
        reinforcement=held.reinforcement + 1,
        successes=held.successes,
        failures=held.failures,
        recalls=held.recalls,
        last_recalled=held.last_recalled,
    )
    memory = steps_revisions.revise(tx, held, wide, "confirm", now)
    notes = (f"confirms {held.id}", *_describe_reach(held, memory, row))
    return Learned(memory.id, memory.address, "reinforced", memory, notes)


def _unite_scope(held: Memory, row: sql.MemoryRow) -> SafeText:
    """Return the scope of two statements that become one: never narrower than either."""
    return redaction.redact_json(
        globs.unite_scopes(held.scope, steps_revisions.read_scope(row))
    ).text
