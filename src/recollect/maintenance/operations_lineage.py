"""Show where a memory comes from, and retract a source."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import NamedTuple

from ..briefing import operations_views, steps_lessons
from ..context import Context
from ..errors import NotFound
from ..memory import sql as memory_sql
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..memory import steps_revisions as memory_steps_revisions
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import STATUSES_IN_USE, Memory
from . import sql


class Lineage(NamedTuple):
    """The sources of a memory, and the records derived from it."""

    id: str
    text: str
    origin: str
    label: str
    revisions: int
    sources: tuple[str, ...]
    evidence: tuple[str, ...]
    derived: tuple[str, ...]


class Retracted(NamedTuple):
    """The memories that came from a source, with their texts; `applied` says whether they were
    hidden."""

    source: str
    memories: Mapping[str, str]
    applied: bool


def blame(context: Context, id: str) -> Lineage:
    """Show where a memory or a lesson comes from, and what was made from it.

    id: the memory; `command:…` or `fix:…` as `lessons` and `seen` show it

    Example: recollect blame m-4k9w2c
    Example: recollect blame "command:make test"
    """
    if steps_lessons.names_lesson(id):
        return _lesson_lineage(context, id)
    for space in context.present_spaces():
        found = space.read(lambda tx: _lineage(tx, id))
        if found:
            return found
    raise NotFound("there is no such memory", where=id, hint="`recollect list` lists them")


def retract(context: Context, source: str, yes: bool = False) -> Retracted:
    """Hide everything that came from a source. `undo` brings it back.

    source: a session, messages, an episode, a memory, or a source as `blame` shows it
    yes: hide it; without it, show what would be hidden

    Example: recollect retract memory://session/claude-code.77
    Example: recollect retract memory://session/claude-code.77 --yes
    """
    hint = "run `recollect retract` yourself"
    trust.require_person(context.origin, "retract a source", hint=hint)
    ref = source.removeprefix(addresses.SCHEME)
    now, done = context.clock(), dict[str, str]()
    for space in context.present_spaces():
        found = space.read(lambda tx: _find_made_from(tx, ref))
        done |= {memory.id: memory.text for memory in found}
        if yes and found:
            hide = partial(memory_steps_lifecycle.hide_all, memories=found, now=now)
            context.writable(space).write(hide)
    return Retracted(source, done, yes)


def _lesson_lineage(context: Context, id: str) -> Lineage:
    lesson = operations_views.find_lesson(context, id)
    if lesson is None:
        hint = "`recollect lessons` lists the commands and fixes"
        raise NotFound("there is no such lesson", where=id, hint=hint)
    return Lineage(
        id=lesson.id,
        text=lesson.text,
        origin="system",
        label="system",
        revisions=1,
        sources=tuple(dict.fromkeys(one.session for one in lesson.sources)),
        evidence=(),
        derived=(),
    )


def _lineage(tx: Tx, id: str) -> Lineage | None:
    memory = memory_steps_revisions.find(tx, id)
    if memory is None:
        return None
    derived = [row[0] for row in sql.find_derived(tx, memory.id)]
    return Lineage(
        id=memory.id,
        text=memory.text,
        origin=memory.origin,
        label=memory.label,
        revisions=memory.revision,
        sources=memory.sources,
        evidence=memory.evidence,
        derived=tuple(one for one in derived if one != memory.id),
    )


def _find_made_from(tx: Tx, ref: str) -> list[Memory]:
    """Return the memories in use that were made from a source, and those made from them."""
    found: dict[str, Memory] = {}
    queue = [ref]
    while queue:
        for row in sql.find_derived(tx, queue.pop()):
            memory = memory_sql.get(tx, row[0]) if row[0] not in found else None
            if memory is not None and memory.status in STATUSES_IN_USE:
                found[memory.id] = memory
                queue.append(memory.id)
    return list(found.values())
