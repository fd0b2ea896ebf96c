"""Apply the steps of a consolidation one by one, and save each row before and after its change.

The plan decides everything, with one exception: a step is skipped if its text is already stored
under another status.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from hashlib import sha256
from typing import NamedTuple

from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..links import sql as links_sql
from ..memory import lifecycle
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..memory import steps_revisions as memory_steps_revisions
from ..secrets import redaction
from ..storage.database import Tx
from ..types import trust
from ..types.records import Json, Link, Memory
from ..undo import sql as undo_sql
from . import duplicates
from .plan_rules import Connect, Hide, Learn, Merge, Promote, Reinforce, Step

_COUNTED = ("recalls", "last_recalled")
"""The columns that a recall changes; an undo ignores them."""

_WHOLE_MEMORY = tuple(name for name in Memory._fields if name not in _COUNTED)
_WHOLE_LINK = ("reason", "origin", "label", "sources", "valid_from", "valid_to")


class Change(NamedTuple):
    """Some columns of a row before (None without a row) and after."""

    table: str
    key: tuple[str, ...]
    before: Mapping[str, Json] | None
    after: Mapping[str, Json]


class Changes:
    """Writes rows and records each change."""

    def __init__(self, tx: Tx) -> None:
        self.tx = tx
        self.rows: list[Change] = []

    def update(self, table: str, key: tuple[str, ...], values: Mapping[str, Json]) -> None:
        """Set columns of an existing row."""
        before = undo_sql.read_columns(self.tx, table, key, list(values))
        assert before is not None
        if before != values:
            undo_sql.set_columns(self.tx, table, key, values)
            self.rows.append(Change(table, key, before, dict(values)))

    def learn(self, row: memory_sql.MemoryRow) -> bool:
        """Write a new memory; false when an open one has the same text, or when the text was
        forgotten on request."""
        if not memory_sql.insert(self.tx, row):
            return False
        self._record("memories", (row.id,), None, _WHOLE_MEMORY)
        return True

    def link(self, source: str, relation: str, target: str, reason: str, now: int) -> None:
        """Make a link, or open it again."""
        key = (source, relation, target)
        before = undo_sql.read_columns(self.tx, "links", key, _WHOLE_LINK)
        links_sql.put(self.tx, Link(source, relation, target), redaction.redact(reason), now)
        self._record("links", key, before, _WHOLE_LINK)

    def _record(
        self,
        table: str,
        key: tuple[str, ...],
        before: Mapping[str, Json] | None,
        names: Sequence[str],
    ) -> None:
        after = undo_sql.read_columns(self.tx, table, key, names)
        assert after is not None
        if after != before:
            self.rows.append(Change(table, key, before, after))


def digest(values: Mapping[str, Json]) -> str:
    """Return the digest of a row, to compare it later without keeping a copy."""
    text = json.dumps([values[name] for name in sorted(values)], ensure_ascii=False)
    return sha256(text.encode("utf-8", "surrogatepass")).hexdigest()


def is_as_left(values: Mapping[str, Json], known: str) -> bool:
    """Check whether a row is unchanged since a consolidation, by its digest. An early version
    called the status `hidden` archived."""
    if digest(values) == known:
        return True
    return values.get("status") == "hidden" and digest({**values, "status": "archived"}) == known


def apply_step(
    changes: Changes, step: Step, draft: memory_steps.PreparedMemory | None, now: int
) -> str:
    """Apply one step; return the reason if it was left out."""
    match step:
        case Learn():
            assert draft is not None
            return _learn(changes, step, draft, now)
        case Reinforce():
            return _reinforce(changes, step, now)
        case Promote():
            return _promote(changes, step, now)
        case Merge():
            return _merge(changes, step, now)
        case Hide():
            detail = lifecycle.mark_faded(_get(changes, step.memory).detail, now)
            values = {"status": "hidden", "detail": redaction.redact_json(detail).text}
            changes.update("memories", (step.memory,), values)
        case Connect():
            changes.link(step.source, "contradicts", step.target, step.reason, now)
    return ""


def _learn(changes: Changes, step: Learn, draft: memory_steps.PreparedMemory, now: int) -> str:
    if not changes.learn(draft.row):
        return f"a {step.kind} with exactly this text is there, and not in use"
    for source in step.sources:
        changes.link(draft.row.id, "derived_from", source, step.reason, now)
    return ""


def _reinforce(changes: Changes, step: Reinforce, now: int) -> str:
    memory = _get(changes, step.memory)
    more = [f"memory://{source}" for source in step.sources]
    values: dict[str, Json] = {"evidence": _packed([*memory.evidence, *more])}
    if step.revives:
        values |= {
            "confidence": step.confidence,
            "reinforcement": memory.reinforcement + len(step.sources),
            "last_reinforced": now,
        }
        if memory.status == "hidden":
            values["status"] = trust.default_status(memory.kind, memory.label)
            values["detail"] = redaction.redact_json(lifecycle.unmark_faded(memory.detail)).text
    changes.update("memories", (memory.id,), values)
    for source in step.sources:
        changes.link(source, "example_of", memory.id, step.reason, now)
    return ""


def _promote(changes: Changes, step: Promote, now: int) -> str:
    memory = _get(changes, step.memory)
    if memory_steps_revisions.find_same(changes.tx, memory._replace(layer=step.layer, owner="")):
        return f"the {step.layer} has exactly this text, and it is not in use"
    united = _unite(changes, step.memory, step.others)
    values = {"layer": step.layer, "owner": "", "sources": _packed(united.sources)}
    changes.update("memories", (memory.id,), {**values, "last_reinforced": now})
    _supersede(changes, step.others, memory.id, now)
    return ""


def _merge(changes: Changes, step: Merge, now: int) -> str:
    united = _unite(changes, step.keep, step.others)
    values: dict[str, Json] = {
        name: getattr(united, name)
        for name in ("confidence", "reinforcement", "successes", "failures")
    }
    for name in ("sources", "evidence", "examples"):
        values[name] = _packed(getattr(united, name))
    changes.update("memories", (step.keep,), values)
    _supersede(changes, step.others, step.keep, now)
    return ""


def _unite(changes: Changes, keep: str, others: Sequence[str]) -> Memory:
    return duplicates.unite([_get(changes, id) for id in (keep, *others)])


def _supersede(changes: Changes, others: Sequence[str], keep: str, now: int) -> None:
    for other in others:
        memory = _get(changes, other)
        end = max(now, memory.valid_from + 1)
        changes.update("memories", (other,), {"status": "superseded", "valid_to": end})
        changes.link(other, "superseded_by", keep, "it says the same", now)


def _get(changes: Changes, id: str) -> Memory:
    memory = memory_sql.get(changes.tx, id)
    assert memory is not None
    return memory


def _packed(values: Sequence[str]) -> str:
    return redaction.redact_json(list(dict.fromkeys(values))).text


def reindex_rows(tx: Tx, rows: Sequence[Sequence[Json]]) -> None:
    """Update the search index for changed rows, present or deleted."""
    for table, key in dict.fromkeys((row[0], row[1][0]) for row in rows if row[0] != "links"):
        if table == "memories":
            memory = memory_sql.get(tx, key)
            index_sql.remove_entry(tx, "memory", key)
            if memory:
                index_steps.index_text(
                    tx,
                    memory_steps_revisions.make_entry(memory),
                    memory_steps_revisions.make_searchable_text(memory),
                )
        else:
            row = episodes_sql.get(tx, key)
            index_sql.remove_entry(tx, "episode", key)
            if row:
                index_steps.index_text(
                    tx, episodes_steps.entry_of(row), episodes_steps.searchable(row)
                )
