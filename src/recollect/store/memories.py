"""Memories: one row a version; exactly one version of a memory is open.

It does not know what makes a memory strong, trusted or true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..db.database import Row, Tx, placeholders
from ..nouns import NamedTuple
from ..types import FOREVER, Json, Memory, SafeText
from .rows import columns, ids_from, load, set_columns, values

_COLUMNS = Memory._fields
_SELECT = f"SELECT {columns(_COLUMNS)} FROM memories WHERE space = :space"
_INSERT = (
    f"INSERT INTO memories (space, {columns(_COLUMNS)}) VALUES (:space, {values(_COLUMNS)}) "
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


def loaded(row: Row | MemoryRow) -> Memory:
    """The memory that a row holds."""
    fields = list(row)
    for place in _JSON:
        fields[place] = load(fields[place])
    return Memory._make(fields)


def insert(tx: Tx, row: MemoryRow) -> bool:
    """Write a new version; false when an open one with the same text is there already."""
    return tx.one(_INSERT, row._asdict()) is not None


def update(tx: Tx, memory: str, changes: Mapping[str, Json]) -> None:
    """Set columns of one version; JSON columns take JSON text."""
    set_columns(tx, "memories", memory, changes)


def get(tx: Tx, memory: str) -> Memory | None:
    """One version by its id."""
    row = tx.one(f"{_SELECT} AND id = :id", {"id": memory})
    return loaded(row) if row else None


class Sketch(NamedTuple):
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
    valid_to: int
    subject: str
    scope: str
    tags: str
    claims: int


_SKETCH = (
    f"SELECT {columns(Sketch._fields[:-1])}, (SELECT count(*) FROM claims c WHERE "
    "c.space = memories.space AND c.memory = memories.id) FROM memories WHERE space = :space"
)


def sketches(tx: Tx, ids: Sequence[str]) -> dict[str, Sketch]:
    """Sketches of several versions by id; scope and tags are JSON."""
    if not ids:
        return {}
    names, params = placeholders("id", ids)
    return {row[0]: Sketch._make(row) for row in tx.run(f"{_SKETCH} AND id IN ({names})", params)}


class Stated(NamedTuple):
    """What a memory says, and how far it is trusted."""

    id: str
    subject: str
    text: str
    status: str
    label: str


def stated(tx: Tx, ids: Sequence[str]) -> list[Stated]:
    """What several versions say, in the order of their ids' list."""
    if not ids:
        return []
    names, params = placeholders("id", ids)
    rows = tx.run(
        f"SELECT {columns(Stated._fields)} FROM memories WHERE space = :space AND id IN ({names})",
        params,
    )
    return sorted(map(Stated._make, rows), key=lambda stated: ids.index(stated.id))


def get_many(tx: Tx, ids: Sequence[str]) -> dict[str, Memory]:
    """Several versions by id."""
    if not ids:
        return {}
    names, params = placeholders("id", ids)
    return {row[0]: loaded(row) for row in tx.run(f"{_SELECT} AND id IN ({names})", params)}


def open_with_text(tx: Tx, place: Mapping[str, str]) -> Memory | None:
    """The open memory with this digest in this kind, layer and owner; held until the commit."""
    row = tx.one(
        f"{_SELECT} AND layer = :layer AND owner = :owner AND kind = :kind AND digest = :digest "
        f"AND valid_to = {FOREVER} {tx.for_update}",
        place,
    )
    return loaded(row) if row else None


def versions(tx: Tx, root: str) -> list[Memory]:
    """All versions of a memory, oldest first."""
    rows = tx.run(f"{_SELECT} AND root = :root ORDER BY revision", {"root": root})
    return [loaded(row) for row in rows]


def starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Ids that begin with the prefix, so that a person need not type a whole one."""
    return ids_from(tx, "memories", prefix, limit)


def valid_at(tx: Tx, where: Mapping[str, str], at: int, limit: int) -> list[Memory]:
    """Versions with these column values that were believed at a time, newest first."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_SELECT}{chosen} AND valid_from <= :at AND valid_to > :at AND status <> 'quarantined' "
        "ORDER BY first_seen DESC, id LIMIT :limit",
        {**where, "at": at, "limit": limit},
    )
    return [loaded(row) for row in rows]


def strongest(tx: Tx, kind: str, limit: int) -> list[Memory]:
    """Active memories of a kind, the most recently reinforced first."""
    rows = tx.run(
        f"{_SELECT} AND kind = :kind AND status = 'active' AND valid_to = {FOREVER} "
        "ORDER BY last_reinforced DESC, id LIMIT :limit",
        {"kind": kind, "limit": limit},
    )
    return [loaded(row) for row in rows]


def open_ids(tx: Tx) -> list[str]:
    """The ids of all open memories."""
    sql = f"SELECT id FROM memories WHERE space = :space AND valid_to = {FOREVER} ORDER BY id"
    return [row[0] for row in tx.run(sql)]


def scoped(tx: Tx) -> list[Row]:
    """Id and scope of every open memory that is in use and has a scope."""
    return tx.run(
        f"SELECT id, scope FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND scope <> '[]' AND status IN ('active', 'proposed')"
    )


def listing(
    tx: Tx, where: Mapping[str, str], limit: int, offset: int = 0, without: str = ""
) -> list[Memory]:
    """Open memories that have these column values, newest first; `without` one status."""
    chosen = "".join(f" AND {name} = :{name}" for name in where)
    rows = tx.run(
        f"{_SELECT}{chosen} AND valid_to = {FOREVER} AND status <> :without "
        "ORDER BY first_seen DESC, id LIMIT :limit OFFSET :offset",
        {**where, "limit": limit, "offset": offset, "without": without},
    )
    return [loaded(row) for row in rows]


def counts(tx: Tx) -> list[Row]:
    """Kind, layer, status and how many open memories have them, with the length of their text."""
    return tx.run(
        "SELECT kind, layer, status, count(*), coalesce(sum(length(text)), 0) FROM memories "
        f"WHERE space = :space AND valid_to = {FOREVER} "
        "GROUP BY kind, layer, status ORDER BY kind, layer, status"
    )


def ages(tx: Tx, since: Sequence[int]) -> list[int]:
    """How many open memories were first seen after each of the times, and how many before."""
    rows = tx.run(f"SELECT first_seen FROM memories WHERE space = :space AND valid_to = {FOREVER}")
    found = [0] * (len(since) + 1)
    for (first,) in rows:
        found[next((at for at, moment in enumerate(since) if first >= moment), len(since))] += 1
    return found


def neglected(tx: Tx) -> tuple[int, int]:
    """How many open memories were never recalled, and how many say something stale of the code."""
    unused = tx.one(
        f"SELECT count(*) FROM memories WHERE space = :space AND valid_to = {FOREVER} "
        "AND recalls = 0"
    )
    stale = tx.one(
        "SELECT count(DISTINCT memory) FROM claims WHERE space = :space "
        "AND state IN ('changed', 'moved', 'missing')"
    )
    return int(unused[0]) if unused else 0, int(stale[0]) if stale else 0


def note_recalls(tx: Tx, noted: Mapping[str, tuple[int, int]]) -> None:
    """Count recalls (how many, and when the last was): they neither reset the clock of decay nor
    confirm anything."""
    tx.many(
        "UPDATE memories SET recalls = recalls + :count, last_recalled = :at "
        "WHERE space = :space AND id = :id",
        ({"id": id, "count": count, "at": at} for id, (count, at) in noted.items()),
    )
