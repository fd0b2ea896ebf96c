"""Load the review queue, and save the changes of an answer, except those of the memory itself."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice

from ..episodes import sql as episodes_sql
from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..freshness import sql as freshness_sql
from ..index import sql as index_sql
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..memory import steps_revisions as memory_steps_revisions
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..secrets import redaction
from ..storage import database
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import addresses, globs, messages
from ..types import trust
from ..types.records import FOREVER, STALE_STATES, Memory
from ..types.reports import OpposedMemory, ReviewEvidence, ReviewItem
from . import queue, sql

NO_LIMIT = 2**31
LONGEST_LINE = 200
"""Characters of an instruction file's statement that are shown."""

MOST_EVIDENCE = 3
"""Passages shown with one item."""

_MOST_SEARCHED = 2_000
"""Messages of a session that are searched for the sentence a memory came from."""


class QueueFilter(NamedTuple):
    """The wanted items; an empty field matches all."""

    kind: str = ""
    session: str = ""
    reason: str = ""


class QueueEntry(NamedTuple):
    """The place of an item in the queue, before its details are loaded."""

    key: tuple[int, int, int, str]
    id: str
    reasons: tuple[str, ...]
    opposed: tuple[str, ...] = ()
    lines: tuple[str, ...] = ()
    """Lines of instruction files that say otherwise, each with its file."""


def find_conflicts(
    memories: Sequence[Memory], parts: Sequence[tuple[str, str]], changed: Mapping[str, int]
) -> list[sql.InstructionConflict]:
    """Return the statements of the user that an older instruction file contradicts.

    parts: a file's name and a statement in it
    changed: the time of the last change of each file
    """
    found = []
    for memory in memories:
        for name, line in parts:
            if memory.valid_from > changed[name] and queue.opposes(memory, line):
                found.append(sql.InstructionConflict(memory.id, name, line[:LONGEST_LINE]))
                break
    return found


def save_conflicts(tx: Tx, found: Sequence[sql.InstructionConflict], now: int) -> None:
    """Write the conflicts that were found now, except those that a person settled."""
    settled = sql.get_conflicts(tx).settled
    _put_conflicts(tx, [one for one in found if one not in settled], settled, now)


def settle_conflicts(tx: Tx, memory: str, now: int) -> None:
    """Mark the conflicts of a memory with instruction files as settled by a person."""
    waiting, settled = sql.get_conflicts(tx)
    ended = [one for one in waiting if one.memory == memory]
    if ended:
        _put_conflicts(tx, [one for one in waiting if one not in ended], [*settled, *ended], now)


def _put_conflicts(
    tx: Tx,
    waiting: Sequence[sql.InstructionConflict],
    settled: Sequence[sql.InstructionConflict],
    now: int,
) -> None:
    if (tuple(waiting), tuple(settled)) != sql.get_conflicts(tx):
        body = redaction.redact_json([list(waiting), list(settled)]).text
        storage_sql.set_value(tx, sql.CONFLICTS, body, now)


def find_entries(tx: Tx, wanted: QueueFilter) -> list[QueueEntry]:
    """Return the items of this space that fit, in the order of the queue."""
    opposed = queue.find_opposed(sql.list_contradictions(tx))
    lines: dict[str, tuple[str, ...]] = {}
    for one in sql.get_conflicts(tx).open:
        lines[one.memory] = (*lines.get(one.memory, ()), f"{one.file}: “{one.line}”")
    stale = sql.list_stale(tx)
    waiting = {row.id: row for row in sql.list_waiting(tx)}
    others = [id for id in dict.fromkeys((*opposed, *lines, *stale)) if id not in waiting]
    rows = [*waiting.values(), *sql.list_by_ids(tx, others)]
    found = []
    for row in rows:
        reasons = _reasons(row, {**lines, **opposed}, stale)
        fits = (not wanted.kind or row.kind == wanted.kind) and (
            not wanted.session or _comes_from(row, wanted.session)
        )
        if fits and (not wanted.reason or wanted.reason in reasons):
            key = queue.rank(reasons, row.kind, row.at, row.text)
            found.append(
                QueueEntry(
                    key=key,
                    id=row.id,
                    reasons=reasons,
                    opposed=opposed.get(row.id, ()),
                    lines=lines.get(row.id, ()),
                )
            )
    if not wanted.session and wanted.reason in ("", "proposed"):
        found += _procedures(tx, wanted.kind)
    return sorted(found)


def _reasons(
    row: sql.WaitingRow, opposed: Mapping[str, Sequence[str]], stale: Mapping[str, str]
) -> tuple[str, ...]:
    holds = {"contradicting": row.id in opposed, "stale": row.id in stale, row.status: True}
    return tuple(reason for reason in queue.REASONS if holds.get(reason))


def _comes_from(row: sql.WaitingRow, session: str) -> bool:
    """Check whether any evidence or source lies in a session, named by the start of its id."""
    start = f"{addresses.SCHEME}session/{session}"
    return any(
        one.startswith(start) for one in (*json.loads(row.evidence), *json.loads(row.sources))
    )


def _procedures(tx: Tx, kind: str) -> Iterator[QueueEntry]:
    if kind not in ("", "procedure"):
        return
    for row in procedures_sql.list_open(tx, memory_sql.ALL):
        if row.status == "proposed":
            reasons = ("proposed",)
            key = queue.rank(reasons, "procedure", row.valid_from, row.name)
            yield QueueEntry(key, row.id, reasons)


def load_item(tx: Tx, entry: QueueEntry, spaces: Sequence[Tx]) -> ReviewItem | None:
    """Return an item with its evidence; None when it cannot be decoded.

    spaces: the spaces to search for its source messages
    """
    if entry.id.startswith("p-"):
        return _procedure_item(tx, entry)
    memory = database.read_or_none(lambda: memory_sql.get(tx, entry.id))
    if memory is None:
        return None
    claims = [
        queue.describe_claim(f"{row.path} {row.symbol}", row.state, row.moved_to)
        for row in freshness_sql.load_claims(tx, [memory.id]).get(memory.id, ())
        if row.state in STALE_STATES
    ]
    details = {"stale": claims, "contradicting": (*entry.opposed, *entry.lines)}
    return ReviewItem(
        id=memory.id,
        address=memory.address,
        kind=memory.kind,
        text=memory.text,
        reasons=entry.reasons,
        why=tuple(queue.explain(memory, one, details.get(one, ())) for one in entry.reasons),
        status=memory.status,
        trust=memory.label,
        layer=memory.layer,
        scope=memory.scope,
        at=memory.first_seen,
        evidence=tuple(_evidence(spaces, memory)),
        against=tuple(_opposed(tx, entry.opposed)),
        answers=queue.answers_of(entry.reasons),
    )


def _procedure_item(tx: Tx, entry: QueueEntry) -> ReviewItem | None:
    row = procedures_sql.get(tx, entry.id)
    if row is None:
        return None
    steps = json.loads(row.body).get("steps", ())
    listed = "".join(f"\n{number}. {step}" for number, step in enumerate(steps, 1))
    return ReviewItem(
        id=row.id,
        address=f"{addresses.SCHEME}{row.id}",
        kind="procedure",
        text=f"{row.name}: {row.description}{listed}",
        reasons=entry.reasons,
        why=("A procedure that was proposed. Not in use.",),
        status=row.status,
        trust=row.label,
        layer="project",
        scope=(),
        at=row.valid_from,
        answers=queue.answers_of(entry.reasons, is_procedure=True),
    )


def _opposed(tx: Tx, ids: Sequence[str]) -> Iterator[OpposedMemory]:
    memories = memory_sql.get_many(tx, ids)
    for id in ids:
        if memory := memories.get(id):
            yield OpposedMemory(
                id=id, kind=memory.kind, text=memory.text, trust=memory.label, at=memory.first_seen
            )


def _evidence(spaces: Sequence[Tx], memory: Memory) -> Iterator[ReviewEvidence]:
    """Return the passages that a memory came from, as far as the store still has them."""
    places = dict.fromkeys((*memory.evidence, *memory.sources))
    found = (
        next((one for tx in spaces if (one := _passage(tx, place, memory))), None)
        for place in places
    )
    return islice(filter(None, found), MOST_EVIDENCE)


def _passage(tx: Tx, place: str, memory: Memory) -> ReviewEvidence | None:
    try:
        address = addresses.parse_address(place)
    except InvalidInput:
        return None  # evidence is free text: a source of another program names no address
    if address.kind == "episode":
        sketch = database.read_or_none(lambda: episodes_sql.sketch(tx, address.name))
        return ReviewEvidence(place, at=sketch.at, quote=sketch.text) if sketch else None
    if address.kind not in ("session", "messages"):
        return None
    span = (address.first, address.last) if address.kind == "messages" else (1, FOREVER)
    return _spoken(tx, address.name, span, memory)


def _spoken(tx: Tx, session: str, span: tuple[int, int], memory: Memory) -> ReviewEvidence | None:
    """Return the message with the memory's own words, or else the one that shares most of them."""
    quote = queue.quote_of(memory)
    best, closest = 0.0, None
    named = span[1] != FOREVER
    roles = ("user", "assistant", "tool", "system", "developer") if named else ("user", "assistant")
    for row in sql.list_spoken(tx, session, roles, span, _MOST_SEARCHED):
        text = messages.searchable_text(messages.message_from_body(json.loads(row.body)))
        address = f"{addresses.SCHEME}session/{session}/messages/{row.seq}-{row.seq}"
        if exact := queue.find_exact(text, quote):
            return ReviewEvidence(address, row.role, row.at, *exact)
        if named or memory.label == "agent":
            share, excerpt = queue.find_similar(text, quote)
            if excerpt and share > best:
                best, closest = share, ReviewEvidence(address, row.role, row.at, *excerpt)
    return closest


def end_contradictions(
    tx: Tx, memory: Memory, others: Sequence[str], now: int, every: bool
) -> None:
    """End the contradictions between a memory and these others: all with `every`, else only those
    that are resolved."""
    for other in others:
        if every or not queue.contradict(memory, memory_steps_revisions.open_memory(tx, other)):
            links_sql.end(tx, memory.id, "contradicts", other, now)
            links_sql.end(tx, other, "contradicts", memory.id, now)
            memory_steps_revisions.unmark_outdated(tx, (memory.id, other))


def replace_claims(tx: Tx, memory: str, claims: Sequence[freshness_sql.ClaimRow], now: int) -> None:
    """Write the claims of a memory anew, numbered from 0."""
    numbered = [row._replace(position=place) for place, row in enumerate(claims)]
    freshness_sql.replace_claims(tx, memory, numbered, now)


def set_scope(tx: Tx, id: str, scope: Sequence[str], now: int) -> Memory:
    """Confirm a memory for these files."""
    old = memory_steps_revisions.open_memory(tx, id, lock=True)
    if not globs.same_scopes(old.scope, scope):
        memory_steps_lifecycle.set_scope(tx, id, scope, "user", now)
    return memory_steps_lifecycle.confirm(tx, id, "user", now)


def hide_procedure(tx: Tx, id: str, origin: str) -> None:
    """Hide a procedure; learning it again restores it."""
    row = procedures_steps.get_procedure(tx, id, hold=True)
    where, hint = f"procedure {row.name}", "ask the user to run the command at a terminal"
    trust.require_rank(origin, row.label, "hide", "stated", where, hint)
    procedures_sql.update(tx, row.id, {"status": "hidden"})
    index_sql.set_status(tx, "procedure", row.id, "hidden")
