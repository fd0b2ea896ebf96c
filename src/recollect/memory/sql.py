"""Memories: one row a version; exactly one version of a memory is open.

It does not know what makes a memory strong, trusted or true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import (
    Row,
    Tx,
    batches,
    ids_with_prefix,
    list_columns,
    list_parameters,
    load_json,
    set_columns,
    visible_to,
)
from ..types.records import FOREVER, Json, Memory, SafeText

_COLUMNS = Memory._fields
_SELECT = f"SELECT {list_columns(_COLUMNS)} FROM memories WHERE space = :space"
_INSERT = (
    f"INSERT INTO memories (space, {list_columns(_COLUMNS)}) "
    f"VALUES (:space, {list_parameters(_COLUMNS)}) "
    "ON CONFLICT DO NOTHING RETURNING id"
)
ALL = 2**62
"""A limit for `listing` that nothing reaches."""

_JSON = tuple(
    _COLUMNS.index(name)
    for name in ("detail", "scope", "tags", "examples", "citations", "evidence", "sources")
)


class MemoryRow(NamedTuple):
    """A memory as it is written: every text was scrubbed, JSON is text."""

    id: str
    root: str
    revision: int
    kind: str
    text: SafeText
    subject: SafeText
    detail: SafeText
    category: str
    scope: SafeText
    tags: SafeText
    examples: SafeText
    citations: SafeText
    evidence: SafeText
    reason: SafeText
    confidence: float
    priority: str
    layer: str
    owner: str
    status: str
    origin: str
    label: str
    sources: SafeText
    reinforcement: int
    successes: int
    failures: int
    recalls: int
    first_seen: int
    last_confirmed: int
    last_reinforced: int
    last_recalled: int
    valid_from: int
    valid_to: int
    digest: str


def load_memory(row: Row | MemoryRow) -> Memory:
    """The memory that a row holds."""
    fields = list(row)
    for place in _JSON:
        fields[place] = load_json(fields[place])
    return Memory._make(fields)


def insert(tx: Tx, row: MemoryRow) -> bool:
    """Write a new version; false when an open one with the same text and scope is there."""
    return tx.one(_INSERT, row._asdict()) is not None


def update(tx: Tx, memory: str, changes: Mapping[str, Json]) -> None:
    """Set columns of one version; JSON columns take JSON text."""
    set_columns(tx, "memories", memory, changes)


def get(tx: Tx, memory: str) -> Memory | None:
    """One version by its id."""
    row = tx.one(f"{_SELECT} AND id = :id", {"id": memory})
    return load_memory(row) if row else None


class MemorySketch(NamedTuple):
    """What ranking and showing a hit needs of a memory: a third of its columns."""

    id: str
    kind: str
    text: str
    layer: str
    owner: str
    status: str
    label: str
    reinforcement: int
    recalls: int
    last_reinforced: int
    valid_from: int
    claims: int


_SKETCH = (
    f"SELECT {list_columns(MemorySketch._fields[:-1])}, (SELECT count(*) FROM claims c WHERE "
    "c.space = memories.space AND c.memory = memories.id) FROM memories WHERE space = :space"
)


def load_sketches(tx: Tx, ids: Sequence[str]) -> dict[str, MemorySketch]:
    """Sketches of several versions by id; scope and tags are JSON."""
    found: dict[str, MemorySketch] = {}
    for names, params in batches("id", ids):
        rows = tx.run(f"{_SKETCH} AND id IN ({names})", params)
        found.update((row[0], MemorySketch._make(row)) for row in rows)
    return found


def find_successors(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """For versions that were superseded by another text, the open version of the memory."""
    found: dict[str, str] = {}
    for names, params in batches("id", ids):
        rows = tx.run(
            "SELECT old.id, new.id FROM memories old JOIN memories new ON new.space = old.space "
            f"AND new.root = old.root AND new.valid_to = {FOREVER} "
            f"WHERE old.space = :space AND old.id IN ({names}) "
            "AND old.digest <> new.digest",
            params,
        )
        found.update(dict(rows))
    return found


class Statement(NamedTuple):
    """What a memory says, and how far it is trusted."""

    id: str
    subject: str
    text: str
    status: str
    label: str
    scope: str


def load_statements(tx: Tx, ids: Sequence[str]) -> list[Statement]:
    """What several versions say, in the order of their ids' list."""
    found: dict[str, Statement] = {}
    for names, params in batches("id", ids):
        sql = f"SELECT {list_columns(Statement._fields)} FROM memories WHERE space = :space"
        found.update(
            (row[0], Statement._make(row)) for row in tx.run(f"{sql} AND id IN ({names})", params)
        )
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def get_many(tx: Tx, ids: Sequence[str]) -> dict[str, Memory]:
    """Several versions by id."""
    found: dict[str, Memory] = {}
    for names, params in batches("id", ids):
        rows = tx.run(f"{_SELECT} AND id IN ({names})", params)
        found.update((row[0], load_memory(row)) for row in rows)
    return found


def find_open_with_text(tx: Tx, place: Mapping[str, str]) -> list[Memory]:
    """The open memories with this digest in this kind, layer and owner, one for each scope, oldest
    first; held until the commit."""
    rows = tx.run(
        f"{_SELECT} AND layer = :layer AND owner = :owner AND kind = :kind AND digest = :digest "
        f"AND valid_to = {FOREVER} ORDER BY first_seen, id {tx.for_update}",
        place,
    )
    return [load_memory(row) for row in rows]


def list_chain(tx: Tx, root: str) -> list[Memory]:
    """All versions of a memory, oldest first."""
    rows = tx.run(f"{_SELECT} AND root = :root ORDER BY revision", {"root": root})
    return [load_memory(row) for row in rows]


def find_ids_starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Ids that begin with the prefix, so that a person need not type a whole one."""
    return ids_with_prefix(tx, "memories", prefix, limit)


def list_valid_at(tx: Tx, where: Mapping[str, str], at: int, limit: int) -> list[Memory]:
    """Versions with these column values that were believed at a time, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_SELECT}{chosen} AND valid_from <= :at AND valid_to > :at AND status <> 'quarantined' "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {**where, "at": at, "limit": limit},
    )
    return [load_memory(row) for row in rows]


def list_strongest(tx: Tx, kind: str, limit: int, owners: Sequence[str]) -> list[Memory]:
    """Active memories of a kind that these owners see, the most recently reinforced first."""
    seen, params = visible_to(owners)
    rows = tx.run(
        f"{_SELECT} AND kind = :kind AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        "ORDER BY last_reinforced DESC, id LIMIT :limit",
        {**params, "kind": kind, "limit": limit},
    )
    return [load_memory(row) for row in rows]


def list_open_ids(tx: Tx) -> list[str]:
    """The ids of all open memories."""
    sql = f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} ORDER BY id"
    return [row[0] for row in tx.run(sql)]


def has_owned(tx: Tx) -> bool:
    """Check whether any open memory belongs to a session or a task."""
    sql = (
        "SELECT 1 FROM memories WHERE space = :space AND layer IN ('session', 'task') "
        f"AND valid_to = {FOREVER} LIMIT 1"
    )
    return tx.one(sql) is not None


def list_scoped(tx: Tx, owners: Sequence[str]) -> list[Row]:
    """Id and scope of every open memory in use that has a scope and that these owners see."""
    seen, params = visible_to(owners)
    return tx.run(
        f"SELECT id, scope FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        f"AND scope <> '[]' AND status IN ('active', 'proposed') AND {seen}",
        params,
    )


def list_in_force(tx: Tx, limit: int, owners: Sequence[str]) -> list[Memory]:
    """Active memories that these owners see, newest first."""
    seen, params = visible_to(owners)
    rows = tx.run(
        f"{_SELECT} AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {**params, "limit": limit},
    )
    return [load_memory(row) for row in rows]


def find_ids_with_scope(tx: Tx, scope: str, limit: int) -> list[str]:
    """The ids of the newest open memories in use whose scope is this JSON."""
    rows = tx.run(
        f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND scope <> '[]' AND status IN ('active', 'proposed') AND scope = :scope "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {"scope": scope, "limit": limit},
    )
    return [row[0] for row in rows]


def list_open(
    tx: Tx, where: Mapping[str, str], limit: int, offset: int = 0, without: str = ""
) -> list[Memory]:
    """Open memories that have these column values, newest first; `without` one status."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_SELECT}{chosen} AND valid_to = {FOREVER} AND status <> :without "
        "ORDER BY first_seen DESC, id LIMIT :limit OFFSET :offset",
        {**where, "limit": limit, "offset": offset, "without": without},
    )
    return [load_memory(row) for row in rows]
