"""The vectors of the entries, the queue of missing ones, and the blocks that are searched.

All vectors of a space are of one embedder. A block is packed by `index.vectors`; its places are
identified by entry ids. A removed vector leaves a dead place until the block is packed again.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..storage.database import EMBEDDED, Row, Tx
from . import vectors

if TYPE_CHECKING:
    from array import array

_EMBEDDER = "embedder"


class UnembeddedEntry(NamedTuple):
    """An entry without a vector, and its record."""

    entry: int
    source: str
    ref: str
    seq: int


class VectorBlock(NamedTuple):
    """The signs of many vectors."""

    block: int
    entries: array[int]
    signs: bytes


def list_unembedded(tx: Tx, most: int) -> list[UnembeddedEntry]:
    """Return the newest entries without a vector."""
    rows = tx.run(
        # In this order: SQLite would read all entries first.
        "SELECT e.id, e.source, e.ref, e.seq FROM unembedded u CROSS JOIN entries e "
        "WHERE u.space = :space AND e.space = :space AND e.id = u.entry "
        "ORDER BY u.entry DESC LIMIT :most",
        {"most": most},
    )
    return list(map(UnembeddedEntry._make, rows))


def lock_unembedded(tx: Tx, entries: Sequence[int]) -> set[int]:
    """Lock those of the entries that are still without a vector, until the commit."""
    numbers = ", ".join(map(str, entries))
    rows = tx.run(
        # The entry before its place in the queue, as a removal does.
        "SELECT u.entry FROM entries e CROSS JOIN unembedded u WHERE e.space = :space "
        f"AND e.id IN ({numbers}) AND u.space = :space AND u.entry = e.id {tx.for_update}"
    )
    return {row[0] for row in rows}


def count_vectors(tx: Tx) -> tuple[int, int]:
    """Count the vectors, and the entries without one.

    Blocks have their sizes; with an engine's own index, all entries that get one and do not wait
    for it are counted.
    """
    row = tx.one(
        "SELECT (SELECT coalesce(sum(size - dead), 0) FROM blocks WHERE space = :space), "
        "(SELECT count(*) FROM unembedded WHERE space = :space)"
    )
    made, waiting = (int(row[0]), int(row[1])) if row else (0, 0)
    if tx.finds_nearest:
        row = tx.one("SELECT sum(embedded) FROM word_totals WHERE space = :space")
        made = max(int(row[0] or 0) - waiting, 0) if row and get_embedder(tx) else 0
    return made, waiting


def get_embedder(tx: Tx) -> str:
    """Return the id of the embedder of this space; empty without vectors."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :key", {"key": _EMBEDDER})
    return str(row[0]) if row else ""


def switch_embedder(tx: Tx, embedder: str, now: int) -> None:
    """Start again with another embedder: vectors of two are never compared. Of several processes
    the first one does it; the others wait here and find it done."""
    mine = tx.one(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :value, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated "
        "WHERE state.value <> excluded.value RETURNING key",
        {"key": _EMBEDDER, "value": embedder, "now": now},
    )
    if mine is None:
        return
    for table in ("vectors", "blocks", "clusters", "unembedded"):
        tx.run(f"DELETE FROM {table} WHERE space = :space")
    # Entries written since then are queued already.
    tx.run(
        "INSERT INTO unembedded (entry, space) "
        f"SELECT id, space FROM entries WHERE space = :space AND {EMBEDDED} ON CONFLICT DO NOTHING"
    )


def insert_vectors(tx: Tx, made: Sequence[tuple[int, bytes]], block: int) -> None:
    """Store vectors, in the engine's own index or for a block, and remove their entries from the
    queue."""
    if not made:
        return
    if tx.finds_nearest:
        tx.add_vectors(made)
    else:
        rows = ((entry, block, vector) for entry, vector in made)
        tx.insert("vectors", "entry, block, vector", rows)
    numbers = ", ".join(str(entry) for entry, _ in made)
    tx.run(f"DELETE FROM unembedded WHERE space = :space AND entry IN ({numbers})")


def load_all_vectors(tx: Tx) -> dict[int, bytes]:
    """Return all stored vectors of a small space."""
    return dict(tx.run("SELECT entry, vector FROM vectors WHERE space = :space LIMIT 10000"))


def load_vectors(tx: Tx, entries: Sequence[int]) -> dict[int, bytes]:
    """Return the stored vectors of these entries."""
    if not entries:
        return {}
    found = tx.run(
        "SELECT entry, vector FROM vectors WHERE space = :space "
        f"AND entry {tx.in_numbers.format('entries')}",
        {"entries": str(list(entries))},
    )
    return {entry: bytes(vector) for entry, vector in found}


def load_block_vectors(tx: Tx, block: VectorBlock) -> dict[int, bytes]:
    """Return the live vectors of a block."""
    numbers = ", ".join(map(str, block.entries))
    found = tx.run(
        "SELECT entry, vector FROM vectors WHERE space = :space AND block = :block "
        f"AND entry IN ({numbers})",
        {"block": block.block},
    )
    return {entry: bytes(vector) for entry, vector in found}


_BLOCK = "SELECT block, entries, signs FROM blocks WHERE space = :space"


def list_blocks(tx: Tx) -> list[VectorBlock]:
    """List all blocks."""
    return [_block(*row) for row in tx.run(f"{_BLOCK} ORDER BY block")]


class VectorCells(NamedTuple):
    """The list of all cells: their blocks, and the centroid of each."""

    blocks: array[int]
    centroids: vectors.PackedVectors


_CELLS = "SELECT blocks, centroids FROM clusters WHERE space = :space AND cluster = 0"
"""The one row of the table; an earlier version had several."""


def load_cells(tx: Tx) -> VectorCells:
    """Return the list of all cells; an empty one without any."""
    return _cells(tx.one(_CELLS))


def _cells(row: Row | None) -> VectorCells:
    from array import array

    numbers, centroids = row or (b"", b"")
    blocks = array("q", bytes(numbers))
    return VectorCells(blocks, vectors.PackedVectors(bytes(centroids), len(blocks)))


def load_blocks(tx: Tx, cells: Sequence[int]) -> list[tuple[bytes, bytes]]:
    """Load the entries and signs of the open blocks, which have positive numbers, and of these
    cells."""
    rows = tx.run(
        # Two searches: for an OR, SQLite reads every block.
        "SELECT entries, signs FROM blocks WHERE space = :space AND block > 0 UNION ALL "
        "SELECT entries, signs FROM blocks WHERE space = :space "
        f"AND block {tx.in_numbers.format('cells')}",
        {"cells": str(list(cells))},
    )
    return [(bytes(entries), bytes(signs)) for entries, signs in rows]


def list_full_blocks(tx: Tx, most: int) -> list[int]:
    """List the oldest open blocks but the last, which grows."""
    rows = tx.run(
        "SELECT block FROM blocks WHERE space = :space AND block > 0 ORDER BY block LIMIT :most",
        {"most": most + 1},
    )
    return [row[0] for row in rows][:most] if len(rows) > most else []


def lock_blocks(tx: Tx, blocks: Sequence[int]) -> list[VectorBlock]:
    """Lock and return these blocks, in their order."""
    numbers = ", ".join(map(str, blocks))
    rows = tx.run(f"{_BLOCK} AND block IN ({numbers}) ORDER BY block {tx.for_update}")
    return [_block(*row) for row in rows]


def lock_cells(tx: Tx) -> VectorCells:
    """Lock and return the list of all cells; an empty one without any."""
    return _cells(tx.one(f"{_CELLS} {tx.for_update}"))


def save_cells(tx: Tx, cells: VectorCells) -> None:
    """Write the list of all cells."""
    tx.run(
        "INSERT INTO clusters (space, cluster, blocks, centroids) "
        "VALUES (:space, 0, :blocks, :centroids) ON CONFLICT (space, cluster) "
        "DO UPDATE SET blocks = excluded.blocks, centroids = excluded.centroids",
        {"blocks": cells.blocks.tobytes(), "centroids": cells.centroids.rows},
    )


def lowest_block(tx: Tx) -> int:
    """Return the lowest number of a block, at most 0: new cells are numbered below it."""
    row = tx.one("SELECT block FROM blocks WHERE space = :space ORDER BY block LIMIT 1")
    return min(int(row[0]) if row else 0, 0)


def delete_blocks(tx: Tx, blocks: Sequence[int]) -> None:
    """Delete blocks whose vectors are in others."""
    numbers = ", ".join(map(str, blocks))
    tx.run(f"DELETE FROM blocks WHERE space = :space AND block IN ({numbers})")


def move_vectors(tx: Tx, entries: Sequence[int], block: int) -> None:
    """Note that the vectors of these entries are in another block."""
    tx.many(
        "UPDATE vectors SET block = :block WHERE space = :space AND entry = :entry",
        ({"block": block, "entry": entry} for entry in entries),
    )


def list_blocks_with_dead(tx: Tx) -> list[VectorBlock]:
    """List the blocks with dead places."""
    return [_block(*row) for row in tx.run(f"{_BLOCK} AND dead > 0 ORDER BY block")]


def lock_last_block(tx: Tx) -> VectorBlock:
    """Lock and return the newest block; an empty block 1 without any."""
    row = tx.one(f"{_BLOCK} AND block > 0 ORDER BY block DESC LIMIT 1 {tx.for_update}")
    return _block(*row) if row else _block(1, b"", b"")


def save_block(tx: Tx, block: VectorBlock) -> None:
    """Write a new or grown block; its dead places stay counted."""
    tx.run(
        "INSERT INTO blocks (space, block, size, dead, entries, signs) "
        "VALUES (:space, :block, :size, 0, :entries, :signs) ON CONFLICT (space, block) "
        "DO UPDATE SET size = excluded.size, entries = excluded.entries, signs = excluded.signs",
        {
            "block": block.block,
            "size": len(block.entries),
            "entries": block.entries.tobytes(),
            "signs": block.signs,
        },
    )


def replace_block(tx: Tx, block: VectorBlock) -> None:
    """Write a block without dead places; delete it if it has no vectors."""
    place = {"block": block.block}
    tx.run("DELETE FROM blocks WHERE space = :space AND block = :block", place)
    if block.entries:
        save_block(tx, block)


def dissolve_block(tx: Tx, block: VectorBlock) -> None:
    """Delete a block whose vectors are now in the engine's own index."""
    place = {"block": block.block}
    tx.run("UPDATE vectors SET block = 0 WHERE space = :space AND block = :block", place)
    tx.run("DELETE FROM blocks WHERE space = :space AND block = :block", place)


def _block(number: int, entries: bytes, signs: bytes) -> VectorBlock:
    from array import array

    return VectorBlock(number, array("q", bytes(entries)), bytes(signs))
