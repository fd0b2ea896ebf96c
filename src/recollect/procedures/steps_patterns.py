"""Patterns in and out as JSON: each is a memory of its kind, found by the id that it came with."""

from __future__ import annotations

from collections.abc import Sequence

from ..episodes import steps as episodes_steps
from ..errors import InvalidInput
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..memory import steps_neighbours as memory_steps_neighbours
from ..memory import steps_revisions as memory_steps_revisions
from ..secrets import redaction
from ..storage.database import Tx
from ..types.records import Json, Learned, Link, Memory
from . import patterns


def prepare_pattern(
    pattern: patterns.Pattern, origin: str, label: str, now: int, id: str
) -> memory_steps.PreparedMemory:
    """A pattern that is ready to be kept: scrubbed and admitted."""
    draft = memory_steps.Draft(
        pattern.pattern,
        "pattern",
        detail=patterns.to_json(pattern),
        tags=(pattern.category,) if pattern.category else (),
        evidence=tuple(
            f"memory://{episodes_steps.address_id(one)}" for one in pattern.source_episodes
        ),
        confidence=pattern.confidence,
    )
    return memory_steps.prepare(draft, origin, now, id, label)


def save_patterns(
    tx: Tx, ready: Sequence[memory_steps.PreparedMemory], now: int
) -> tuple[Learned, ...]:
    """Keep patterns, and make the links between those that are there."""
    done = [
        memory_steps.learn(tx, one, now, memory_steps_neighbours.find_neighbours(tx, one.row))
        for one in ready
    ]
    new = {one.id for one in done}
    known = {_own_id(memory): memory for memory in _every(tx)}
    reason = redaction.redact("given with the pattern")
    for memory in known.values():
        for link in patterns.from_memory(memory).links:
            target = known.get(link.to)
            if target and target.id != memory.id and new & {memory.id, target.id}:
                links_sql.put(tx, Link(memory.id, link.relation, target.id), reason, now)
    return tuple(done)


def show_pattern(tx: Tx, name: str) -> dict[str, Json]:
    """A pattern as JSON, by our id, the beginning of it, or the id that it was given with."""
    memory = next((one for one in _every(tx) if _own_id(one) == name), None)
    memory = memory or memory_steps_revisions.open_memory(tx, name)
    if memory.kind != "pattern":
        raise InvalidInput(f"this is a {memory.kind}, not a pattern", where=memory.address)
    made = (
        patterns.PatternLink(link.target, link.relation)
        for link in links_sql.find_touching(tx, [memory.id])
        if link.source == memory.id and link.relation != "derived_from"
    )
    return patterns.to_json(patterns.from_memory(memory, made))


def _own_id(memory: Memory) -> str:
    """The id that the writer of a pattern gave it."""
    return str(memory.detail.get("id", "")) or memory.id


def _every(tx: Tx) -> list[Memory]:
    return memory_sql.list_open(tx, {"kind": "pattern"}, memory_sql.ALL)
