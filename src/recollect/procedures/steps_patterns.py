"""Load and show patterns as JSON: each is a memory, found by the id in its source file."""

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
    """Prepare a pattern for storage: redact it and check its trust."""
    draft = memory_steps.Draft(
        text=pattern.pattern,
        kind="pattern",
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
    """Save patterns, and add the links between them and those already stored."""
    done = [
        memory_steps.learn(tx, one, now, memory_steps_neighbours.find_neighbours(tx, one.row))
        for one in ready
    ]
    new = {one.id for one in done}
    known = {_source_id(memory): memory for memory in _list_patterns(tx)}
    reason = redaction.redact("given with the pattern")
    for memory in known.values():
        for link in patterns.from_memory(memory).links:
            target = known.get(link.to)
            if target and target.id != memory.id and new & {memory.id, target.id}:
                links_sql.put(tx, Link(memory.id, link.relation, target.id), reason, now)
    return tuple(done)


def show_pattern(tx: Tx, name: str) -> dict[str, Json]:
    """Return a pattern as JSON, by its id, a prefix of it, or the id in its source file."""
    memory = next((one for one in _list_patterns(tx) if _source_id(one) == name), None)
    memory = memory or memory_steps_revisions.open_memory(tx, name)
    if memory.kind != "pattern":
        raise InvalidInput(f"this is a {memory.kind}, not a pattern", where=memory.address)
    made = (
        patterns.PatternLink(link.target, link.relation)
        for link in links_sql.find_touching(tx, [memory.id])
        if link.source == memory.id and link.relation != "derived_from"
    )
    return patterns.to_json(patterns.from_memory(memory, made))


def _source_id(memory: Memory) -> str:
    """Return the id of a pattern in its source file."""
    return str(memory.detail.get("id", "")) or memory.id


def _list_patterns(tx: Tx) -> list[Memory]:
    return memory_sql.list_open(tx, {"kind": "pattern"}, memory_sql.ALL)
