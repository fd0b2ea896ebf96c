"""Search by meaning: clusters of blocks, and exact scores where a filter leaves few entries.

New vectors are appended to open blocks, which are always searched. When there are `BATCH` full ones
they are sorted into cells of near vectors, each a block with a centroid; of a batch only the cells
nearest to the question are searched. A store below `BATCH` blocks is searched whole, in a few
milliseconds.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from ..fast_typing import Any
from ..storage.database import Database, IndexMatch, Tx
from . import sql, sql_vectors, vectors

BATCH = 32
"""Full open blocks that are sorted together, into as many cells."""

PROBED = 8
"""Cells of each batch that are searched."""

SIGNED = 4
"""So many times the wanted number are picked by their signs, then compared exactly."""

_NONE_KNOWN: Mapping[int, float] = {}

FEW = 4_000
"""When a filter leaves fewer entries than this, all of them are compared."""


def cosines_by_entry(question: bytes, held: Mapping[int, bytes]) -> dict[int, float]:
    """Return the cosine of the question and each entry's vector."""
    found = vectors.cosine_similarities(question, list(held.values())) if held else []
    return dict(zip(held, found, strict=True))


def find_near_records(
    tx: Tx,
    question: bytes,
    filters: Mapping[str, Sequence[Any]],
    count: int,
    least: float = -1.0,
    known: Mapping[int, float] = _NONE_KNOWN,
) -> list[tuple[IndexMatch, float]]:
    """Return the entries nearest to the question that fulfil the filters, with their cosines, best
    first; none with a cosine below `least`, nor those whose cosine is `known`: they fulfil the
    filters and are among the nearest, but need not be read again."""
    near = find_nearest(tx, question, SIGNED * count, known)
    close = {entry: cosine for entry, cosine in near.items() if cosine >= least}
    new = [entry for entry in close if entry not in known]
    through = sql.filter_entries(tx, new, filters)
    found: dict[int, tuple[IndexMatch | None, float]] = {
        entry: (through.get(entry), cosine)
        for entry, cosine in close.items()
        if entry in through or entry in known
    }
    if tx.finds_nearest:
        found |= _with_cosines(question, sql.find_nearest(tx, question, count, filters, False))
    if len(found) < count and _leaves_out(tx, len(close), len(found), count):
        found |= _search_filtered(tx, question, filters, count)
    best = sorted([(-cosine, entry) for entry, (_, cosine) in found.items() if cosine >= least])
    kept = [found[entry] for _, entry in best[:count]]
    return [(item, cosine) for item, cosine in kept if item is not None]


def _leaves_out(tx: Tx, close: int, found: int, count: int) -> bool:
    """Check whether entries may fulfil the filters that the search did not reach: those that it
    reached were cut at `count`, or (PostgreSQL's index is approximate) the space has more."""
    return close >= count or (tx.finds_nearest and found < tx.frequencies(()).entries)


def _search_filtered(
    tx: Tx, question: bytes, filters: Mapping[str, Sequence[Any]], count: int
) -> dict[int, tuple[IndexMatch, float]]:
    """Compare the entries that a filter leaves, if they are few; else look at more of the near."""
    if tx.finds_nearest:
        return _with_cosines(question, sql.find_nearest(tx, question, count, filters, True))
    left = sql.list_entries(tx, filters, FEW)
    if len(left) < FEW:
        near = cosines_by_entry(question, sql_vectors.load_vectors(tx, left))
        left = sorted(near, key=lambda entry: -near[entry])[:count]
    else:
        near = find_nearest(tx, question, FEW)
        left = list(near)
    through = sql.filter_entries(tx, left, filters)
    return {entry: (item, near[entry]) for entry, item in through.items()}


def _with_cosines(
    question: bytes, matches: Sequence[IndexMatch]
) -> dict[int, tuple[IndexMatch, float]]:
    cosines = cosines_by_entry(
        question, {item.entry: bytes(item.vector) for item in matches if item.vector}
    )
    return {item.entry: (item, cosines[item.entry]) for item in matches if item.entry in cosines}


def find_nearest(
    tx: Tx, question: bytes, count: int, known: Mapping[int, float] = _NONE_KNOWN
) -> dict[int, float]:
    """Return the entries of the blocks nearest to the question with their cosines, best first;
    those of the `known` are not computed again."""
    if tx.finds_nearest and not tx.frequencies(()).blocks:
        return {}
    cells = _nearest_cells(question, sql_vectors.list_clusters(tx))
    blocks = [block for block in sql_vectors.load_blocks(tx, cells) if block.entries]
    scores = vectors.score_blocks(question, [block.planes for block in blocks])
    numbers = array("q")
    for block in blocks:
        numbers += block.entries
    entries = dict.fromkeys([numbers[place] for place in vectors.pick_best(scores, count)])
    new = [entry for entry in entries if entry not in known]
    found = cosines_by_entry(question, sql_vectors.load_vectors(tx, new))
    found |= {entry: known[entry] for entry in entries if entry in known}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _nearest_cells(
    question: bytes, clusters: Sequence[sql_vectors.VectorCluster], probed: int = PROBED
) -> list[int]:
    """Return the blocks of each batch whose centroids are nearest to the question."""
    dims = len(question)
    found: list[int] = []
    centroids = [
        cluster.centroids[start : start + dims]
        for cluster in clusters
        for start in range(0, len(cluster.centroids), dims)
    ]
    cosines = iter(vectors.cosine_similarities(question, centroids) if centroids else ())
    for cluster in clusters:
        ranked = sorted(((next(cosines), block) for block in cluster.blocks), reverse=True)
        found += [block for _, block in ranked[:probed]]
    return found


def cluster_batch(space: Database) -> bool:
    """Sort the oldest open blocks into cells, if there are enough; return whether it was done.

    The cells are computed outside the transaction: it changes nothing if a block has changed.
    """
    numbers = space.read(lambda tx: sql_vectors.list_full_blocks(tx, BATCH))
    if len(numbers) < BATCH:
        return False
    held = space.read(lambda tx: sql_vectors.load_vectors_of_blocks(tx, numbers))
    entries = list(held)
    centroids, cells = vectors.sort_into_cells(list(held.values()), BATCH)
    sorted_entries = [[entries[place] for place in cell] for cell in cells]
    packed = [vectors.pack_signs([held[entry] for entry in cell]) for cell in sorted_entries]
    return space.write(
        lambda tx: sql_vectors.replace_with_cells(
            tx, numbers, set(entries), list(zip(sorted_entries, packed, strict=True)), centroids
        )
    )
