"""Learn: scrub, decide what the memory is worth and may be, write it or reinforce it."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..errors import InvalidInput, Refused
from ..fast_typing import NamedTuple
from ..freshness.claims import PinnedClaim
from ..index import steps as index_steps
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses, dates, globs, messages
from ..types import trust
from ..types.records import (
    FOREVER,
    KINDS,
    LAYERS,
    ORIGINS,
    PRIORITIES,
    Json,
    Learned,
    Memory,
    SafeText,
)
from . import hygiene, sql, steps_neighbours, steps_revisions

LONGEST_TEXT = 20_000
NEAR = ("create", "skip", "merge")


class Draft(NamedTuple):
    """What a writer wants remembered."""

    text: str
    kind: str = "fact"
    subject: str = ""
    detail: Mapping[str, Json] | None = None
    category: str = ""
    scope: tuple[str, ...] = ()
    tags: tuple[str, ...] = ()
    examples: tuple[str, ...] = ()
    citations: tuple[Json, ...] = ()
    evidence: tuple[str, ...] = ()
    reason: str = ""
    confidence: float = 0.8
    priority: str = ""
    layer: str = "project"
    owner: str = ""
    sources: tuple[str, ...] = ()
    near: str = ""
    key: str = ""


def check_draft(draft: Draft) -> Draft:
    """The draft, or the error that says which field is wrong."""
    if not draft.text.strip():
        raise InvalidInput("there is nothing to learn: the text is empty", where="text")
    if len(draft.text) > LONGEST_TEXT:
        raise InvalidInput(
            f"a memory is one statement; this text has {len(draft.text):,} characters",
            where="text",
            hint=f"at most {LONGEST_TEXT:,}; keep long texts with `recollect store KEY`",
        )
    for field, value, allowed in (
        ("kind", draft.kind, tuple(KINDS)),
        ("layer", draft.layer, LAYERS),
        ("priority", draft.priority or "normal", PRIORITIES),
        ("near", draft.near or "create", NEAR),
    ):
        if value not in allowed:
            raise InvalidInput(
                f"{value!r} is not a {field}", where=field, hint=f"one of: {', '.join(allowed)}"
            )
    if not 0.0 <= draft.confidence <= 1.0:
        raise InvalidInput(
            f"confidence is a number from 0 to 1, not {draft.confidence!r}", where="confidence"
        )
    if draft.layer in ("session", "task") and not draft.owner:
        raise InvalidInput(
            f"a memory of the {draft.layer} layer needs its {draft.layer}",
            where="owner",
            hint=f"pass owner=<{draft.layer} id>",
        )
    for field, name in (("owner", draft.owner), ("category", draft.category)):
        if name:
            redaction.check_name(name, field)
    refused = hygiene.find_refusal(draft.text, draft.kind, draft.layer)
    if refused:
        raise Refused(
            f"this does not belong in long-term memory: {refused.rule}", hint=refused.where
        )
    return draft


class PreparedMemory(NamedTuple):
    """A draft that is ready to be written: scrubbed, admitted, split into the words it is found by,
    and with its idempotency key."""

    row: sql.MemoryRow
    words: index_steps.StemParts
    key: str
    near: str
    redacted: tuple[str, ...]


def prepare(
    draft: Draft, origin: str, now: int, id: str, label: str = "", propose: bool = False
) -> PreparedMemory:
    """All the work that needs no transaction; the label is the origin's unless it is lower.
    `propose` keeps it for a person to confirm, whatever its kind and label."""
    label = label or origin
    trust.check_priority(draft.priority, origin)
    check_draft(draft)
    status = "proposed" if propose else trust.admit_memory(draft.kind, label)
    row, redacted = _row(draft, origin, now, id, label, status)
    words = index_steps.split_stems(steps_revisions.make_searchable_text(sql.load_memory(row)))
    return PreparedMemory(row, words, draft.key, draft.near, redacted)


def learn(
    tx: Tx,
    prepared: PreparedMemory,
    now: int,
    around: steps_neighbours.Neighbours = steps_neighbours.NONE,
    known: Sequence[PinnedClaim] = (),
) -> Learned:
    """Keep a statement; the same text again reinforces what is there, another value revises it, and
    both only for the same files. `known` is what it says of the code, pinned to what the code looks
    like now."""
    row = prepared.row
    key = f"learn {prepared.key}" if prepared.key else ""
    if key and (earlier := storage_sql.find_write(tx, key, row.text)):
        there = sql.get(tx, earlier)
        if there:
            return Learned(there.id, there.address, "unchanged", there)
    same_text = sql.find_open_with_text(tx, steps_revisions._place(row))
    held = steps_revisions._with_scope(same_text, steps_revisions.read_scope(row))
    if held is None:
        around = steps_neighbours.add_twins(around, same_text)
    learned = _kept(tx, prepared, held, around, now)
    if known and _speaks_for(row, learned.memory):
        steps_neighbours.anchor(tx, learned.id, known, now)
    if key:
        storage_sql.record_write(tx, key, "learn", learned.id, now, row.text)
    return learned._replace(redacted=prepared.redacted, similar=around.near)


def _speaks_for(row: sql.MemoryRow, memory: Memory) -> bool:
    """Whether what was seen of this text's claims is what the memory claims, by its own right."""
    trusted = ORIGINS.index(row.label) <= ORIGINS.index(memory.label)
    return trusted and row.text == memory.text


def _kept(
    tx: Tx,
    prepared: PreparedMemory,
    held: Memory | None,
    around: steps_neighbours.Neighbours,
    now: int,
) -> Learned:
    """Write the statement; `held` is what says the same for the same files already."""
    row, near = prepared.row, prepared.near
    like = _still_open(tx, around.near[0]) if around.near and near in ("skip", "merge") else None
    if held is None and like is not None:
        if near == "skip":
            note = (
                f"not kept: {like.id} says almost the same for {globs.describe_scopes(like.scope)}"
            )
            return Learned(like.id, like.address, "skipped", like, (note,))
        wide = _for_both(like, row)
        held = steps_revisions.find_same(tx, row._replace(scope=wide)) or steps_revisions.find_same(
            tx, steps_revisions.make_row(like)._replace(scope=wide)
        )
        held = held or like
    old = _still_open(tx, around.revised) if held is None and around.revised else None
    if old is not None:
        row = steps_neighbours.supersede(tx, old, row, now)
    if held is None and (memory := steps_revisions.put(tx, row, prepared.words)):
        return _created(tx, memory, around, old, now)
    # Whoever lost the race to insert finds the winner's row here.
    held = held or steps_revisions.find_same(tx, row)
    assert held is not None
    return _reinforced(tx, held, prepared, now)


def _for_both(held: Memory, row: sql.MemoryRow) -> SafeText:
    """Return the scope of two statements that become one: never narrower than either."""
    return redaction.redact_json(
        globs.unite_scopes(held.scope, steps_revisions.read_scope(row))
    ).text


def _still_open(tx: Tx, id: str) -> Memory | None:
    memory = sql.get(tx, id)
    return memory if memory and memory.valid_to == FOREVER else None


def _row(
    draft: Draft, origin: str, now: int, id: str, label: str, status: str
) -> tuple[sql.MemoryRow, tuple[str, ...]]:
    kind = KINDS[draft.kind]
    text = redaction.redact_and_report(dates.replace_relative_dates(draft.text.strip(), now))
    found = list(text.found)

    def clean(value: str) -> SafeText:
        scrubbed = redaction.redact_and_report(value.strip())
        found.extend(scrubbed.found)
        return scrubbed.text

    def packed(value: Json) -> SafeText:
        scrubbed = redaction.redact_json(value)
        found.extend(scrubbed.found)
        return scrubbed.text

    row = sql.MemoryRow(
        id=id,
        root=id,
        revision=1,
        kind=draft.kind,
        text=text.text,
        subject=clean(draft.subject),
        detail=packed(dict(draft.detail or {})),
        category=draft.category or kind.category,
        scope=packed(sorted(set(draft.scope))),
        tags=packed(draft.tags),
        examples=packed(draft.examples),
        citations=packed(draft.citations),
        evidence=packed(draft.evidence),
        reason=clean(draft.reason),
        confidence=float(draft.confidence),
        priority=draft.priority or kind.priority,
        layer=draft.layer,
        owner=draft.owner,
        status=status,
        origin=origin,
        label=label,
        sources=packed(draft.sources),
        reinforcement=1,
        successes=0,
        failures=0,
        recalls=0,
        first_seen=now,
        last_confirmed=now,
        last_reinforced=now,
        last_recalled=0,
        valid_from=now,
        valid_to=FOREVER,
        digest=messages.text_digest(text.text),
    )
    return row, tuple(found)


def _created(
    tx: Tx, memory: Memory, around: steps_neighbours.Neighbours, old: Memory | None, now: int
) -> Learned:
    notes = []
    if memory.status != "active":
        notes.append(f"kept as {memory.status}: it is used after a person confirms it")
    elif memory.label == "tool":
        notes.append(f"kept as a note for {trust.TOOL_NOTE_DAYS} days: it is found when asked for")
    if old is not None:
        steps_neighbours.link(tx, memory.id, "supersedes", [old.id], "another value", now)
        notes.append(f"takes the place of {old.id}: {old.text}")
    if around.opposite:
        steps_neighbours.link(
            tx, memory.id, "contradicts", around.opposite, "the opposite is said", now
        )
        notes += [f"contradicts {other}: one of them should go" for other in around.opposite]
    notes += [f"{other} says almost the same" for other in around.near if other not in around.twins]
    notes += [f"{other} says the same for {where}" for other, where in around.twins.items()]
    notes += [f"{other} says otherwise for {where}" for other, where in around.otherwise.items()]
    action = "revised" if old is not None else "created"
    return Learned(
        memory.id, memory.address, action, memory, tuple(notes), contradicts=around.opposite
    )


def _reinforced(tx: Tx, held: Memory, prepared: PreparedMemory, now: int) -> Learned:
    """The same again. From somebody as trusted: confidence only rises, lists unite, what is said
    anew counts. From somebody more trusted: a new version in their name. From somebody less
    trusted: one more count, and nothing else of the memory changes."""
    row = prepared.row
    theirs, ours = ORIGINS.index(row.label), ORIGINS.index(held.label)
    if theirs < ours:
        return _taken_over(tx, held, prepared, now)
    changes: dict[str, Json] = {"reinforcement": held.reinforcement + 1}
    if theirs <= ours:
        changes |= {"last_reinforced": now, "last_confirmed": now}
        changes |= _said_anew(held, row)
    sql.update(tx, held.id, changes)
    memory = sql.get(tx, held.id)
    assert memory is not None
    if len(changes) > 3:
        index_steps.reindex_text(
            tx, steps_revisions.make_entry(memory), steps_revisions.make_searchable_text(memory)
        )
    return Learned(memory.id, memory.address, "reinforced", memory, _reach(held, memory, row))


def _reach(held: Memory, memory: Memory, row: sql.MemoryRow) -> tuple[str, ...]:
    """Return what is to be said of a merge of statements for different files."""
    if globs.same_scopes(held.scope, steps_revisions.read_scope(row)):
        return ()
    kept = "still" if globs.same_scopes(held.scope, memory.scope) else "now"
    return (f"{memory.id} {kept} applies to {globs.describe_scopes(memory.scope)}",)


def _said_anew(held: Memory, row: sql.MemoryRow) -> dict[str, Json]:
    """What a repeated statement adds to the memory."""
    changes: dict[str, Json] = {}
    if row.confidence > held.confidence:
        changes["confidence"] = row.confidence
    if not globs.same_scopes(
        held.scope, globs.unite_scopes(held.scope, steps_revisions.read_scope(row))
    ):
        changes["scope"] = _for_both(held, row)
    for name in ("tags", "examples", "citations", "evidence", "sources"):
        before = list(getattr(held, name))
        united = before + [item for item in json.loads(getattr(row, name)) if item not in before]
        if len(united) > len(before):
            changes[name] = redaction.redact_json(united).text
    detail = {**held.detail, **json.loads(row.detail)}
    if detail != held.detail:
        changes["detail"] = redaction.redact_json(detail).text
    for name in ("subject", "reason"):
        if getattr(row, name) and getattr(row, name) != getattr(held, name):
            changes[name] = getattr(row, name)
    if row.priority not in (held.priority, KINDS[row.kind].priority):
        changes["priority"] = row.priority
    if held.status == "archived":
        changes["status"] = row.status
    return changes


def _taken_over(tx: Tx, held: Memory, prepared: PreparedMemory, now: int) -> Learned:
    """Somebody more trusted says it too: a new version that stands under their name."""
    row = prepared.row._replace(scope=_for_both(held, prepared.row))
    row = steps_neighbours.supersede(tx, held, row, now)
    memory = steps_revisions.put(
        tx, row._replace(reinforcement=held.reinforcement + 1), prepared.words
    )
    assert memory is not None
    steps_neighbours.carry_over(tx, held.id, memory.id, now)
    steps_neighbours.link(tx, memory.id, "supersedes", [held.id], "confirmed", now)
    notes = (f"confirms {held.id}", *_reach(held, memory, prepared.row))
    return Learned(memory.id, memory.address, "reinforced", memory, notes)


def find_label(tx: Tx, origin: str, evidence: Sequence[str]) -> str:
    """How far a statement is trusted: as its writer, and as the messages it was made from. A
    person vouches for what they say."""
    if origin in ("system", "user"):
        return origin
    labels = [origin]
    for address in evidence:
        place = addresses.parse_address(address) if address.startswith(addresses.SCHEME) else None
        if place and place.kind == "messages":
            labels += archive_sql.labels(tx, place.name, place.first, place.last)
    return trust.least_trusted(labels)
