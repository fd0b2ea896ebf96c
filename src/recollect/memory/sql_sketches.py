"""What a hit of a search shows of a memory, in one statement for all hits."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from ..fast_typing import NamedTuple
from ..freshness import sql as freshness_sql
from ..storage.database import Tx, batches, list_columns
from ..types.records import FOREVER


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
    """The columns of each claim: see `freshness.steps.unpack_claims`."""
    against: str
    """The ids of records in use that contradict it."""


_FIELDS = list_columns(MemorySketch._fields[:-2])
_OPPOSED = (
    "SELECT l.{end} FROM links l WHERE l.space = memories.space AND l.{start} = memories.id "
    f"AND l.relation = 'contradicts' AND l.valid_to = {FOREVER}"
)
_CLAIM = " || :part || ".join(f"CAST(c.{name} AS TEXT)" for name in freshness_sql.ClaimRow._fields)
# One statement for all that a hit shows: each is a round trip on a server.
_SKETCH = (
    f"SELECT {_FIELDS}, (SELECT string_agg({_CLAIM}, :next) FROM claims c "
    "WHERE c.space = memories.space AND c.memory = memories.id), "
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
        rows = tx.run_batched(
            f"{_SKETCH} AND id IN ({names}) AND NOT ({tx.altered('memories')})",
            {**params, **_SEPARATORS},
        )
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
            f"AND id IN ({names}) AND NOT ({tx.altered('memory_revisions')})",
            params,
        )
        for revision, *fields in rows:
            sketch = MemorySketch._make(fields)
            if (sketch.id, revision) in wanted:
                named = sketch._replace(id=f"{sketch.id}@{revision}", status="superseded")
                found[sketch.id, revision] = named
    return found


def find_successors(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the memory that replaced each superseded one and says something else: by a link, or
    the open one of its chain."""
    found: dict[str, str] = {}
    for names, params in batches("id", ids):
        rows = tx.run(
            "SELECT l.target, l.source FROM links l WHERE l.space = :space "
            f"AND l.relation = 'supersedes' AND l.valid_to = {FOREVER} AND l.target IN ({names}) "
            "UNION ALL SELECT l.source, l.target FROM links l WHERE l.space = :space "
            "AND l.relation = 'superseded_by' "
            f"AND l.valid_to = {FOREVER} AND l.source IN ({names})",
            params,
        )
        found.update(dict(rows))
        rows = tx.run(_join_open("old.id, new.id", "memories", names), params)
        found.update(dict(rows))
    return found


def find_reworded(tx: Tx, ids: Sequence[str]) -> dict[str, str]:
    """Return the open memory of the chain for earlier revisions, named `id@number`, that say
    something else."""
    found: dict[str, str] = {}
    for names, params in batches("id", sorted({id.partition("@")[0] for id in ids})):
        columns = "old.id, old.revision, new.id"
        rows = tx.run(_join_open(columns, "memory_revisions", names), params)
        found.update((f"{id}@{revision}", new) for id, revision, new in rows)
    return {id: found[id] for id in ids if id in found}


def _join_open(columns: str, table: str, names: str) -> str:
    """Return the SQL that joins `old` rows, by their ids, with the open memories of their chains
    that say something else: the first of a chain has its root as id, the others are in an index."""
    return " UNION ALL ".join(
        f"SELECT {columns} FROM {table} old JOIN memories new ON new.space = old.space "
        f"AND {in_chain} AND new.valid_to = {FOREVER} WHERE old.space = :space "
        f"AND old.id IN ({names}) AND old.digest <> new.digest"
        for in_chain in (
            "new.id = old.root AND new.root = new.id",
            "new.root = old.root AND new.root <> new.id",
        )
    )
