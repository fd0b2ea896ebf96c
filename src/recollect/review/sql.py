"""Read the items that wait for a person; by indexes, so that the cost depends on these alone."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..fast_typing import NamedTuple
from ..storage import sql as storage_sql
from ..storage.database import Row, Tx, batches, placeholders
from ..types.records import FOREVER, KINDS, STALE_STATES, WAITING_STATUSES
from . import queue

_IN_USE = "status IN ('active', 'proposed')"
_LASTING = "layer NOT IN ('session', 'task')"
"""Memories of a session or task end with it and do not wait. (`layer IN ('project', 'user')`
would make SQLite look through all memories of these layers.)"""

_STALE = ", ".join(f"'{one}'" for one in STALE_STATES)


CONFLICTS = "instruction conflicts"
"""The value in state: statements of the user that an older instruction file contradicts."""


class InstructionConflict(NamedTuple):
    """A memory and the line of an instruction file that says otherwise."""

    memory: str
    file: str
    line: str


class InstructionConflicts(NamedTuple):
    """Conflicts that wait, and those that a person settled: they are not asked about again."""

    open: tuple[InstructionConflict, ...] = ()
    settled: tuple[InstructionConflict, ...] = ()


def get_conflicts(tx: Tx) -> InstructionConflicts:
    """Return the statements that instruction files contradict."""
    value = storage_sql.get_value(tx, CONFLICTS)
    if not value:
        return InstructionConflicts()
    waiting, settled = (
        tuple(InstructionConflict(*one) for one in part) for part in json.loads(value)
    )
    return InstructionConflicts(waiting, settled)


class WaitingRow(NamedTuple):
    """The columns of a memory that filter and order the queue."""

    id: str
    kind: str
    text: str
    status: str
    evidence: str
    sources: str
    at: int


def _waiting() -> tuple[str, dict[str, str]]:
    """Return the condition of proposed and quarantined memories; kind and status lead the index."""
    of_kind, params = placeholders("kind", tuple(KINDS))
    having, more = placeholders("status", WAITING_STATUSES)
    condition = (
        f"space = :space AND valid_to = {FOREVER} AND kind IN ({of_kind}) "
        f"AND status IN ({having}) AND {_LASTING}"
    )
    return condition, {**params, **more}


def count_items(tx: Tx) -> int:
    """Count the items of the queue in this space: four indexed statements."""
    waiting, pairs = count_waiting(tx), list_contradictions(tx)
    stale = {**list_stale(tx), **{one.memory: "active" for one in get_conflicts(tx).open}}
    return queue.count_items(waiting, pairs, stale) if pairs or stale else waiting


def count_waiting(tx: Tx) -> int:
    """Count the memories and procedures that are proposed or quarantined."""
    condition, params = _waiting()
    row = tx.one(
        f"SELECT (SELECT count(*) FROM memories WHERE {condition}) + (SELECT count(*) FROM "
        f"procedures WHERE space = :space AND valid_to = {FOREVER} AND status = 'proposed')",
        params,
    )
    return int(row[0]) if row else 0


def list_waiting(tx: Tx) -> list[WaitingRow]:
    """Return the proposed and quarantined memories, in no order."""
    return _rows(tx, *_waiting())


def list_by_ids(tx: Tx, ids: Sequence[str]) -> list[WaitingRow]:
    """Return open memories by their ids, in no order."""
    found: list[WaitingRow] = []
    for names, params in batches("id", ids):
        condition = f"space = :space AND valid_to = {FOREVER} AND id IN ({names})"
        found += _rows(tx, condition, params)
    return found


def _rows(tx: Tx, condition: str, params: dict[str, str]) -> list[WaitingRow]:
    rows = tx.run(
        "SELECT id, kind, text, status, evidence, sources, first_seen "
        f"FROM memories WHERE {condition}",
        params,
    )
    return list(map(WaitingRow._make, rows))


def list_stale(tx: Tx) -> dict[str, str]:
    """Return the statuses, by id, of memories in use with a stale claim."""
    rows = tx.run(
        "SELECT DISTINCT m.id, m.status FROM claims c JOIN memories m ON m.space = c.space "
        f"AND m.id = c.memory AND m.valid_to = {FOREVER} WHERE c.space = :space "
        f"AND c.state IN ({_STALE}) AND m.{_IN_USE} AND m.{_LASTING}"
    )
    return {row[0]: row[1] for row in rows}


def list_contradictions(tx: Tx) -> list[queue.Pair]:
    """Return the pairs of memories in use that contradict each other."""
    sides = ", ".join(
        f"{name}.id, {name}.status, {name}.label, {name}.first_seen" for name in ("a", "b")
    )
    rows = tx.run(
        f"SELECT {sides} FROM links l "
        f"JOIN memories a ON a.space = l.space AND a.id = l.source AND a.valid_to = {FOREVER} "
        f"JOIN memories b ON b.space = l.space AND b.id = l.target AND b.valid_to = {FOREVER} "
        f"WHERE l.space = :space AND l.relation = 'contradicts' AND l.valid_to = {FOREVER} "
        f"AND a.{_IN_USE} AND b.{_IN_USE} AND a.{_LASTING} AND b.{_LASTING} "
        "ORDER BY l.source, l.target"
    )
    return [_pair(row) for row in rows]


def _pair(row: Row) -> queue.Pair:
    one_id, one_status, one_label, one_at, id, status, label, at = row
    one = queue.Side(one_id, one_status, one_label, one_at)
    return queue.Pair(one, queue.Side(id, status, label, at))


class SpokenRow(NamedTuple):
    """A message: `body` is JSON."""

    seq: int
    role: str
    body: str
    at: int


def list_spoken(
    tx: Tx, session: str, roles: Sequence[str], span: tuple[int, int], limit: int
) -> list[SpokenRow]:
    """Return messages of these roles in a session between two numbers, in order."""
    names, params = placeholders("role", roles)
    first, last = span
    rows = tx.run(
        "SELECT seq, role, body, at FROM messages WHERE space = :space AND session = :session "
        f"AND role IN ({names}) AND seq >= :first AND seq <= :last ORDER BY seq LIMIT :limit",
        {**params, "session": session, "first": first, "last": last, "limit": limit},
    )
    return list(map(SpokenRow._make, rows))
