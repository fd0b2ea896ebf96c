"""Reinforce a memory with a statement that says the same."""

from __future__ import annotations

import json

from ..index import steps as index_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import globs
from ..types.records import KINDS, ORIGINS, Json, Learned, Memory, SafeText
from . import sql, steps_revisions


def reinforce(tx: Tx, held: Memory, row: sql.MemoryRow, now: int) -> Learned:
    """Reinforce a memory with a row that says the same.

    From a writer as trusted, confidence only rises, lists unite and new fields count. From a more
    trusted one, it is a revision in their name. From a less trusted one, only the count rises.
    """
    theirs, ours = ORIGINS.index(row.label), ORIGINS.index(held.label)
    if theirs < ours:
        return _confirm(tx, held, row, now)
    changes: dict[str, Json] = {"reinforcement": held.reinforcement + 1}
    if theirs <= ours:
        changes |= {"last_reinforced": now, "last_confirmed": now}
        changes |= _find_additions(held, row)
    memory = sql.update_and_get(tx, held, changes)
    if len(changes) > 3:
        index_steps.reindex_text(
            tx, steps_revisions.make_entry(memory), steps_revisions.make_searchable_text(memory)
        )
    return Learned(
        memory.id, memory.address, "reinforced", memory, _describe_reach(held, memory, row)
    )


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
    if not globs.same_scopes(
        held.scope, globs.unite_scopes(held.scope, steps_revisions.read_scope(row))
    ):
        changes["scope"] = unite_scope(held, row)
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
    if held.status == "hidden":
        changes["status"] = row.status
    return changes


def _confirm(tx: Tx, held: Memory, row: sql.MemoryRow, now: int) -> Learned:
    """Make the next revision in the name of a more trusted writer who says the same."""
    wide = row._replace(
        scope=unite_scope(held, row),
        reinforcement=held.reinforcement + 1,
        successes=held.successes,
        failures=held.failures,
        recalls=held.recalls,
        last_recalled=held.last_recalled,
    )
    memory = steps_revisions.revise(tx, held, wide, "confirm", now)
    notes = (f"confirms {held.id}", *_describe_reach(held, memory, row))
    return Learned(memory.id, memory.address, "reinforced", memory, notes)


def unite_scope(held: Memory, row: sql.MemoryRow) -> SafeText:
    """Return the scope of two statements that become one: never narrower than either."""
    return redaction.redact_json(
        globs.unite_scopes(held.scope, steps_revisions.read_scope(row))
    ).text
