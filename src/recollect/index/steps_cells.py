"""Sort vectors into cells of near ones, so that a search reads only the cells near a question.

New vectors are appended to open blocks. `BATCH` full ones are emptied into cells, which are blocks
too: each vector goes to the cell with the nearest centroid, and a cell of more than `LARGEST` is
split. So all vectors of a space are in one set of cells, whatever order they came in.

Whatever takes long is computed between two transactions. The second one changes nothing if the
blocks have other vectors by then.

Measured with a million vectors of public texts and 122 questions, for the ten nearest by an exact
scan: 64 cells, 17,000 vectors, hold .78 of them, 128 cells .86. In earlier versions, on the same
texts: .64 and .74 with centroids of which only the signs were kept and three groups to compare a
vector with. Computed apart on other texts, 64 cells: .71 in that way, .78 if each vector was
compared with every centroid.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Database, Tx
from . import sql_vectors, vectors
from .sql_vectors import VectorBlock, VectorCells

BATCH = 16
"""Full open blocks that are emptied together. All open blocks are searched, and every batch
rewrites most cells."""

FEWEST, CELLS_EACH = 4, 64
"""With few cells fewer blocks are emptied together, one for so many cells, but at least `FEWEST`:
an eighth of a store of 100,000 was in open blocks, all of which are searched."""

LARGEST = 512
"""Vectors in a cell, from which on it is split into cells of about half of that."""

GROUPS = 8
"""Groups of near cells with which a vector is compared. At 100,000 vectors the 64 searched cells
hold .911 of the ten nearest; with three groups .896, which saves 8 of 64 µs a vector."""

SPLIT_TOGETHER = 16
"""Cells that are split in one transaction."""


class _Batch(NamedTuple):
    """Blocks to empty, with their vectors by entry; and the cells that there are."""

    blocks: Sequence[int]
    held: Mapping[int, bytes]
    cells: VectorCells


class _NewCell(NamedTuple):
    """Vectors that belong together, by entry, and their centroid."""

    entries: list[int]
    centroid: bytes


def sort_batch(space: Database) -> bool:
    """Empty the oldest open blocks into cells, if there are enough; return whether it was done."""
    batch = space.read(_load_batch)
    if batch is None:
        return False
    if batch.cells.blocks:
        placed, parts = _choose_cells(batch), []
    else:
        placed, parts = {}, _split(batch.held, 2 * len(batch.held) // LARGEST + 1)
    large = space.write(lambda tx: _empty_blocks(tx, batch, placed, parts))
    for start in range(0, len(large or ()), SPLIT_TOGETHER):
        _split_cells(space, (large or ())[start : start + SPLIT_TOGETHER])
    return large is not None


def _load_batch(tx: Tx) -> _Batch | None:
    cells = sql_vectors.load_cells(tx)
    wanted = min(max(len(cells.blocks) // CELLS_EACH, FEWEST), BATCH) if cells.blocks else BATCH
    blocks = sql_vectors.list_full_blocks(tx, wanted)
    return _Batch(blocks, _load_vectors(tx, blocks), cells) if len(blocks) == wanted else None


def _load_vectors(tx: Tx, blocks: Sequence[int]) -> dict[int, bytes]:
    """Lock these blocks, if the transaction writes, and return their live vectors."""
    found: dict[int, bytes] = {}
    for block in sql_vectors.lock_blocks(tx, blocks):
        found |= sql_vectors.load_block_vectors(tx, block)
    return found


def _split(held: Mapping[int, bytes], count: int) -> list[_NewCell]:
    """Sort vectors into about so many parts of near ones."""
    if not held:
        return []
    entries = list(held)
    centroids, members = vectors.sort_into_cells(list(held.values()), count)
    if len(members) == 1:  # all are alike
        members = [list(range(place, len(entries), count)) for place in range(count)]
        centroids = centroids * count
    return [
        _NewCell([entries[place] for place in places], centroid)
        for places, centroid in zip(members, centroids, strict=True)
    ]


def _choose_cells(batch: _Batch) -> dict[int, list[int]]:
    """Return the entries that go to each cell: that with the nearest centroid."""
    cells, entries = batch.cells, list(batch.held)
    centroids = vectors.unpack_vectors(cells.centroids)
    members = vectors.assign_by_groups(list(batch.held.values()), centroids, GROUPS)
    return {
        block: [entries[place] for place in places]
        for block, places in zip(cells.blocks, members, strict=True)
        if places
    }


def _empty_blocks(
    tx: Tx, batch: _Batch, placed: Mapping[int, list[int]], parts: Sequence[_NewCell]
) -> list[int] | None:
    """Move the vectors of a batch to the cells where they were placed, or the first ones to new
    cells; return the cells to split, or None if the blocks or the cells are others by now."""
    cells = sql_vectors.lock_cells(tx)
    if cells.blocks != batch.cells.blocks or _load_vectors(tx, batch.blocks) != batch.held:
        return None
    sql_vectors.delete_blocks(tx, batch.blocks)
    placed = {**placed, **_add_cells(tx, cells, parts)} if parts else placed
    held = {block.block: block for block in sql_vectors.lock_blocks(tx, list(placed))}
    large = []
    for number, entries in placed.items():
        block = held.get(number) or VectorBlock(number, array("q"), b"")
        signs = block.signs + vectors.pack_signs([batch.held[entry] for entry in entries])
        block = VectorBlock(number, block.entries + array("q", entries), signs)
        sql_vectors.save_block(tx, block)
        sql_vectors.move_vectors(tx, entries, number)
        if len(block.entries) > LARGEST:
            large.append(number)
    return large


def _add_cells(tx: Tx, cells: VectorCells, parts: Sequence[_NewCell]) -> dict[int, list[int]]:
    """Add a cell for each part to the list; return the entries of each."""
    lowest = min(sql_vectors.lowest_block(tx), *cells.blocks, 0)
    numbers = [lowest - place for place in range(1, len(parts) + 1)]
    new = vectors.pack_vectors([part.centroid for part in parts])
    centroids = vectors.PackedVectors(
        cells.centroids.rows + new.rows, cells.centroids.size + new.size
    )
    sql_vectors.save_cells(tx, VectorCells(cells.blocks + array("q", numbers), centroids))
    return {number: part.entries for number, part in zip(numbers, parts, strict=True)}


def _split_cells(space: Database, numbers: Sequence[int]) -> None:
    """Split cells that are too large."""
    held = space.read(lambda tx: {number: _load_vectors(tx, [number]) for number in numbers})
    parts = {
        number: _split(found, max(round(2 * len(found) / LARGEST), 2))
        for number, found in held.items()
    }
    space.write(lambda tx: _replace_cells(tx, held, parts))


def _replace_cells(
    tx: Tx, held: Mapping[int, Mapping[int, bytes]], parts: Mapping[int, Sequence[_NewCell]]
) -> None:
    """Replace cells by their parts, unless a cell has other vectors by now."""
    cells = sql_vectors.lock_cells(tx)
    same = [number for number in held if number in cells.blocks]
    same = [number for number in same if _load_vectors(tx, [number]) == held[number]]
    centroids = vectors.unpack_vectors(cells.centroids)
    kept = [place for place, number in enumerate(cells.blocks) if number not in same]
    left = VectorCells(
        array("q", [cells.blocks[place] for place in kept]),
        vectors.pack_vectors([centroids[place] for place in kept]),
    )
    vectors_of = {entry: vector for number in same for entry, vector in held[number].items()}
    new = _add_cells(tx, left, [part for number in same for part in parts[number]])
    if same:
        sql_vectors.delete_blocks(tx, same)
    for number, entries in new.items():
        signs = vectors.pack_signs([vectors_of[entry] for entry in entries])
        sql_vectors.save_block(tx, VectorBlock(number, array("q", entries), signs))
        sql_vectors.move_vectors(tx, entries, number)
