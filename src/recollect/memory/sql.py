"""Memories: one row for each, its current revision; earlier revisions and aliases beside them.

It does not know what makes a memory strong, trusted or true.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import (
    Row,
    Tx,
    batches,
    list_columns,
    list_parameters,
    load_json,
    set_columns,
    visible_to,
)
from ..types.records import FOREVER, Json, Memory, SafeText

_COLUMNS = Memory._fields
_SELECT = f"SELECT {list_columns(_COLUMNS)} FROM memories WHERE space = :space"
_SELECT_EARLIER = f"SELECT {list_columns(_COLUMNS)} FROM memory_revisions WHERE space = :space"
_INSERT = (
    f"INSERT INTO memories (space, {list_columns(_COLUMNS)}) "
    f"VALUES (:space, {list_parameters(_COLUMNS)}) "
    "ON CONFLICT DO NOTHING RETURNING id"
)
ALL = 2**62
"""A limit for `list_open` that nothing reaches."""

_JSON = tuple(
    _COLUMNS.index(name)
    for name in ("detail", "scope", "tags", "examples", "citations", "evidence", "sources")
)


class MemoryRow(NamedTuple):
    """A revision of a memory as it is written: every text was scrubbed, JSON is text."""

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
    change: str = "learn"
    author: str = ""


def load_memory(row: Row | MemoryRow) -> Memory:
    """Return the memory in a row."""
    fields = list(row)
    for place in _JSON:
        fields[place] = load_json(fields[place])
    return Memory._make(fields)


def insert(tx: Tx, row: MemoryRow) -> bool:
    """Write a new memory; false when an open one with the same text and scope is there."""
    return tx.one(_INSERT, row._asdict()) is not None


_KEPT = list_columns(name for name in _COLUMNS if name != "valid_to")
_KEEP = (
    f"INSERT INTO memory_revisions (space, {_KEPT}, valid_to) SELECT space, {_KEPT}, :valid_from "
    "FROM memories WHERE space = :space AND id = :id AND revision = :was "
    "ON CONFLICT DO NOTHING RETURNING id"
)
_REVISE = (
    f"UPDATE memories SET {', '.join(f'{name} = :{name}' for name in _COLUMNS)} "
    "WHERE space = :space AND id = :id AND revision = :was RETURNING id"
)


def revise(tx: Tx, row: MemoryRow, was: int) -> bool:
    """Write the next revision of a memory and keep the one before, which was believed until then.

    The number of the revision is the fence: false when `was` is not the current one any more.
    """
    params = {**row._asdict(), "was": was}
    return tx.one(_KEEP, params) is not None and tx.one(_REVISE, params) is not None


def update(tx: Tx, memory: str, changes: Mapping[str, Json]) -> None:
    """Set columns of the current revision; JSON columns take JSON text."""
    set_columns(tx, "memories", memory, changes)


def get(tx: Tx, memory: str, lock: bool = False) -> Memory | None:
    """Return a memory by its whole id; with `lock`, it is locked until the commit."""
    clause = tx.for_update if lock else ""
    row = tx.one(f"{_SELECT} AND id = :id {clause}", {"id": memory})
    return load_memory(row) if row else None


def get_revision(tx: Tx, memory: str, revision: int) -> Memory | None:
    """Return an earlier revision of a memory."""
    row = tx.one(
        f"{_SELECT_EARLIER} AND id = :id AND revision = :revision",
        {"id": memory, "revision": revision},
    )
    return load_memory(row) if row else None


def list_revisions(tx: Tx, limit: int, after: tuple[str, int] = ("", 0)) -> list[Memory]:
    """Return earlier revisions of all memories, by id and number, following on one of them."""
    rows = tx.run(
        f"{_SELECT_EARLIER} AND (id, revision) > (:id, :revision) ORDER BY id, revision "
        "LIMIT :limit",
        {"id": after[0], "revision": after[1], "limit": limit},
    )
    return [load_memory(row) for row in rows]


def find_alias(tx: Tx, alias: str) -> str:
    """Return the id of the memory that was printed under another id once; empty without one."""
    row = tx.one(
        "SELECT id FROM memory_aliases WHERE space = :space AND alias = :alias", {"alias": alias}
    )
    return str(row[0]) if row else ""


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
    claims: str
    """Path, stamp, state and new path of each claim: see `freshness.steps.unpack_looks`."""
    against: str
    """The ids of records in use that contradict it."""


_FIELDS = list_columns(MemorySketch._fields[:-2])
_OPPOSED = (
    "SELECT l.{end} FROM links l WHERE l.space = memories.space AND l.{start} = memories.id "
    f"AND l.relation = 'contradicts' AND l.valid_to = {FOREVER}"
)
# One statement for all that a hit shows: each is a round trip on a server.
_SKETCH = (
    f"SELECT {_FIELDS}, (SELECT string_agg(c.path || :part || c.stamp || :part || c.state || :part "
    "|| c.moved_to, :next) FROM claims c WHERE c.space = memories.space "
    "AND c.memory = memories.id), "
    "(SELECT string_agg(o.id, ' ') FROM memories o WHERE o.space = memories.space "
    "AND o.status IN ('active', 'proposed') AND o.id IN ("
    f"{_OPPOSED.format(start='source', end='target')} UNION ALL "
    f"{_OPPOSED.format(start='target', end='source')})) FROM memories WHERE space = :space"
)
_SEPARATORS = {"part": "\x1f", "next": "\x1e"}


def load_sketches(tx: Tx, ids: Sequence[str]) -> dict[str, MemorySketch]:
    """Return sketches of several memories by id; ids of other spaces are ignored."""
    found: dict[str, MemorySketch] = {}
    for names, params in batches("id", ids):
        rows = tx.shared(f"{_SKETCH} AND id IN ({names})", {**params, **_SEPARATORS})
        found.update((sketch.id, sketch) for sketch in map(MemorySketch._make, rows))
    return found


def load_earlier_sketches(
    tx: Tx, wanted: Collection[tuple[str, int]]
) -> dict[tuple[str, int], MemorySketch]:
    """Return sketches of earlier revisions, by id and number; each has the address of its
    revision for an id, and is superseded."""
    found: dict[tuple[str, int], MemorySketch] = {}
    for names, params in batches("id", sorted({id for id, _ in wanted})):
        rows = tx.run(
            f"SELECT revision, {_FIELDS}, '', '' FROM memory_revisions WHERE space = :space "
            f"AND id IN ({names})",
            params,
        )
        for revision, *fields in rows:
            sketch = MemorySketch._make(fields)
            if (sketch.id, revision) in wanted:
                named = sketch._replace(id=f"{sketch.id}@{revision}", status="superseded")
                found[sketch.id, revision] = named
    return found


def find_successors(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the open memory of the chain for each superseded memory that says something else."""
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


def find_reworded(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the open memory of the chain for earlier revisions, named `id@number`, that say
    something else."""
    found: dict[str, str] = {}
    for names, params in batches("id", sorted({id.partition("@")[0] for id in ids})):
        rows = tx.run(
            "SELECT old.id, old.revision, new.id FROM memory_revisions old "
            "JOIN memories new ON new.space = old.space AND new.root = old.root "
            f"AND new.valid_to = {FOREVER} WHERE old.space = :space AND old.id IN ({names}) "
            "AND old.digest <> new.digest",
            params,
        )
        found.update((f"{id}@{revision}", new) for id, revision, new in rows)
    return {id: found[id] for id in ids if id in found}


class Statement(NamedTuple):
    """What a memory says, and how far it is trusted."""

    id: str
    subject: str
    text: str
    status: str
    label: str
    scope: str


def load_statements(tx: Tx, ids: Sequence[str]) -> list[Statement]:
    """Return what several memories say, in the order of their ids' list."""
    found: dict[str, Statement] = {}
    for names, params in batches("id", ids):
        rows = tx.run(
            f"SELECT {list_columns(Statement._fields)} FROM memories WHERE space = :space "
            f"AND id IN ({names})",
            params,
        )
        found.update((one.id, one) for one in map(Statement._make, rows))
    return [found[id] for id in dict.fromkeys(ids) if id in found]


def get_many(tx: Tx, ids: Sequence[str]) -> dict[str, Memory]:
    """Return several memories by id."""
    found: dict[str, Memory] = {}
    for names, params in batches("id", ids):
        rows = tx.run(f"{_SELECT} AND id IN ({names})", params)
        found.update((memory.id, memory) for memory in map(load_memory, rows))
    return found


def find_open_with_text(tx: Tx, place: Mapping[str, str]) -> list[Memory]:
    """Return the open memories with this digest in this kind, layer and owner, one for each
    scope, oldest first; held until the commit."""
    rows = tx.run(
        f"{_SELECT} AND layer = :layer AND owner = :owner AND kind = :kind AND digest = :digest "
        f"AND valid_to = {FOREVER} ORDER BY first_seen, id {tx.for_update}",
        place,
    )
    return [load_memory(row) for row in rows]


def list_chain(tx: Tx, root: str) -> list[Memory]:
    """Return every revision of the memories that share a root, oldest first: of a memory, and of
    the statements whose place it took."""
    rows = tx.run(f"{_SELECT} AND root = :root", {"root": root})
    rows += tx.run(f"{_SELECT_EARLIER} AND root = :root", {"root": root})
    found = map(load_memory, rows)
    return sorted(found, key=lambda memory: (memory.revision, memory.valid_from, memory.id))


def find_open_in_chain(tx: Tx, root: str, lock: bool = False) -> Memory | None:
    """Return the memory that is still believed among those that share a root."""
    clause = tx.for_update if lock else ""
    row = tx.one(
        f"{_SELECT} AND root = :root AND valid_to = {FOREVER} "
        f"ORDER BY revision DESC, id LIMIT 1 {clause}",
        {"root": root},
    )
    return load_memory(row) if row else None


def find_ids_starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Return the ids of memories whose id, or an alias, begins with the prefix: a person need not
    type a whole one."""
    rows = tx.run(
        "SELECT id FROM memories WHERE space = :space AND id >= :low AND id < :high UNION "
        "SELECT id FROM memory_aliases WHERE space = :space AND alias >= :low AND alias < :high "
        "ORDER BY id LIMIT :limit",
        {"low": prefix, "high": prefix + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]


def list_valid_at(tx: Tx, where: Mapping[str, str], at: int, limit: int) -> list[Memory]:
    """Return the revisions with these column values that were believed at a time, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    believed = (
        f"{chosen} AND valid_from <= :at AND valid_to > :at AND status <> 'quarantined' "
        "ORDER BY first_seen DESC, id LIMIT :limit"
    )
    params = {**where, "at": at, "limit": limit}
    rows = tx.run(f"{_SELECT}{believed}", params) + tx.run(f"{_SELECT_EARLIER}{believed}", params)
    found = map(load_memory, rows)
    return sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit]


def list_strongest(tx: Tx, kind: str, limit: int, owners: Sequence[str]) -> list[Memory]:
    """Return active memories of a kind that these owners see, the last reinforced first."""
    seen, params = visible_to(owners)
    rows = tx.run(
        f"{_SELECT} AND kind = :kind AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        "ORDER BY last_reinforced DESC, id LIMIT :limit",
        {**params, "kind": kind, "limit": limit},
    )
    return [load_memory(row) for row in rows]


def list_open_ids(tx: Tx) -> list[str]:
    """Return the ids of all open memories."""
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
    """Return id and scope of every open memory in use that has a scope and that these owners
    see."""
    seen, params = visible_to(owners)
    return tx.run(
        f"SELECT id, scope FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        f"AND scope <> '[]' AND status IN ('active', 'proposed') AND {seen}",
        params,
    )


def list_in_force(tx: Tx, limit: int, owners: Sequence[str]) -> list[Memory]:
    """Return active memories that these owners see, newest first."""
    seen, params = visible_to(owners)
    rows = tx.run(
        f"{_SELECT} AND status = 'active' AND valid_to = {FOREVER} AND {seen} "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {**params, "limit": limit},
    )
    return [load_memory(row) for row in rows]


def find_ids_with_scope(tx: Tx, scope: str, limit: int) -> list[str]:
    """Return the ids of the newest open memories in use whose scope is this JSON."""
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
    """Return open memories with these column values, newest first; `without` one status."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_SELECT}{chosen} AND valid_to = {FOREVER} AND status <> :without "
        "ORDER BY first_seen DESC, id LIMIT :limit OFFSET :offset",
        {**where, "limit": limit, "offset": offset, "without": without},
    )
    return [load_memory(row) for row in rows]
