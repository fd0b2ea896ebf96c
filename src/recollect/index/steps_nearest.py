"""Search by meaning: clusters of blocks, and exact scores where a filter leaves few entries.

New vectors are appended to open blocks, which are always searched. When there are `BATCH` full ones
they are sorted into cells of near vectors, each a block with a centroid; of a batch only the cells
nearest to the question are searched. A store below `BATCH` blocks is searched whole, in a few
milliseconds. In a small one every vector is compared, without signs.
"""

from __future__ import annotations

from array import array
from collections.abc import Mapping, Sequence

from ..fast_typing import Any, NamedTuple
from ..storage.database import Database, IndexMatch, Tx
from . import sql, sql_vectors, vectors

BATCH = 32
"""Full open blocks that are sorted together, into as many cells."""

PROBED, MOST_PROBED = 8, 128
"""Cells that are searched for each batch, and at most in all: those nearest to the question, of
whatever batch."""

SIGNED = 4
"""So many times the wanted number are picked by their signs, then compared exactly."""

SMALL = 1_500
"""A space with at most this many entries compares the question with every vector. To pack them
takes as long as the search by signs; they are kept until the store changes, and the next question
takes a sixth of that."""

_NONE_KNOWN: Mapping[int, float] = {}

FEW = 1_500
"""When a filter leaves fewer entries than this, all of them are compared."""


def cosines_by_entry(question: bytes, held: Mapping[int, bytes]) -> dict[int, float]:
    """Return the cosine of the question and each entry's vector."""
    found = vectors.cosine_similarities(question, list(held.values())) if held else []
    return dict(zip(held, found, strict=True))


def compare_all(
    tx: Tx, question: bytes, entries: int, left: Sequence[int] | None
) -> dict[int, float] | None:
    """Return the cosine of the question with every vector that a filter leaves, or else of a small
    space; None if there are many.

    entries: how many the space has
    left: the entries that a filter leaves; None for many
    """
    if left is not None:
        return cosines_by_entry(question, sql_vectors.load_vectors(tx, left))
    if tx.is_remote or entries > SMALL:
        return None
    dims = len(question)
    held, packed = tx.keep(f"vectors of {dims}", lambda: _pack_all(tx, dims))
    return dict(zip(held, vectors.compare_packed(question, packed), strict=True))


def _pack_all(tx: Tx, dims: int) -> tuple[list[int], vectors.PackedVectors]:
    stored = sql_vectors.load_all_vectors(tx)
    held = {entry: vector for entry, vector in stored.items() if len(vector) == dims}
    return list(held), vectors.pack_columns(list(held.values()))


def find_near_records(
    tx: Tx,
    question: bytes,
    filters: Mapping[str, Sequence[Any]],
    count: int,
    least: float = -1.0,
    known: Mapping[int, float] = _NONE_KNOWN,
    compared: Mapping[int, float] | None = None,
) -> list[tuple[IndexMatch, float]]:
    """Return the entries nearest to the question that fulfil the filters, with their cosines, best
    first; none with a cosine below `least`, nor those whose cosine is `known`: they fulfil the
    filters and are among the nearest, but need not be read again. `compared` are all cosines, if
    there are not many: see `compare_all`."""
    scored = None
    if compared is None:
        scored = _score_signs(tx, question)
        compared = _compare_best(tx, question, scored, SIGNED * count, known)
    close = sorted([(-cosine, entry) for entry, cosine in compared.items() if cosine >= least])
    found: dict[int, tuple[IndexMatch | None, float]] = {}
    # Most filters keep most entries: read no more than are wanted, but not in several round trips.
    step = len(close) if tx.is_remote else count
    for start in range(0, len(close), step or 1):
        best = close[start : start + step]
        new = [entry for _, entry in best if entry not in known]
        through = sql.filter_entries(tx, new, filters)
        found |= {
            entry: (through.get(entry), -cosine)
            for cosine, entry in best
            if entry in through or entry in known
        }
        if len(found) >= count:
            break
    if tx.finds_nearest:
        found |= _with_cosines(question, sql.find_nearest(tx, question, count, filters, False))
    if scored and 3 * len(found) < count and _leaves_out(tx, len(close), len(found), count):
        found |= _search_filtered(tx, question, filters, count, scored)
    nearest = sorted([(-cosine, entry) for entry, (_, cosine) in found.items() if cosine >= least])
    kept = [found[entry] for _, entry in nearest[:count]]
    return [(item, cosine) for item, cosine in kept if item is not None]


def _leaves_out(tx: Tx, close: int, found: int, count: int) -> bool:
    """Check whether entries may fulfil the filters that the search did not reach: those that it
    reached were cut at `count`, or (PostgreSQL's index is approximate) the space has more."""
    return close >= count or (tx.finds_nearest and found < tx.frequencies(()).entries)


def _search_filtered(
    tx: Tx,
    question: bytes,
    filters: Mapping[str, Sequence[Any]],
    count: int,
    scored: _SignScores,
) -> dict[int, tuple[IndexMatch, float]]:
    """Compare the entries that a filter leaves, if they are few; else look at more of the near."""
    if tx.finds_nearest:
        return _with_cosines(question, sql.find_nearest(tx, question, count, filters, True))
    left = sql.list_entries(tx, filters, FEW)
    if len(left) < FEW:
        near = cosines_by_entry(question, sql_vectors.load_vectors(tx, left))
        left = sorted(near, key=lambda entry: -near[entry])[:count]
        through = sql.filter_entries(tx, left, filters)
    else:
        through = sql.filter_entries(tx, scored.pick_best(FEW), filters)
        near = cosines_by_entry(question, sql_vectors.load_vectors(tx, list(through)))
    return {entry: (through[entry], near[entry]) for entry in through if entry in near}


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
    return _compare_best(tx, question, _score_signs(tx, question), count, known)


class _SignScores(NamedTuple):
    """The entries of the blocks nearest to a question, and how well the signs of each fit it."""

    entries: array[int]
    scores: bytes

    def pick_best(self, count: int) -> list[int]:
        """Return the entries with the highest scores, each once."""
        places = vectors.pick_best(self.scores, count)
        return list(dict.fromkeys([self.entries[place] for place in places]))


def _score_signs(tx: Tx, question: bytes) -> _SignScores:
    numbers = array("q")
    if tx.finds_nearest and not tx.frequencies(()).blocks:
        return _SignScores(numbers, b"")
    cells = _nearest_cells(question, sql_vectors.list_clusters(tx))
    blocks = [block for block in sql_vectors.load_blocks(tx, cells) if block.entries]
    for block in blocks:
        numbers.extend(block.entries)
    return _SignScores(numbers, vectors.score_blocks(question, [one.planes for one in blocks]))


def _compare_best(
    tx: Tx, question: bytes, scored: _SignScores, count: int, known: Mapping[int, float]
) -> dict[int, float]:
    """Return the entries with the best signs with their cosines, best first."""
    entries = scored.pick_best(count)
    new = [entry for entry in entries if entry not in known]
    found = cosines_by_entry(question, sql_vectors.load_vectors(tx, new))
    found |= {entry: known[entry] for entry in entries if entry in known}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _nearest_cells(question: bytes, clusters: Sequence[sql_vectors.VectorCluster]) -> list[int]:
    """Return the blocks whose centroids are nearest to the question."""
    dims = len(question)
    blocks = [block for cluster in clusters for block in cluster.blocks]
    centroids = [
        cluster.centroids[start : start + dims]
        for cluster in clusters
        for start in range(0, len(cluster.centroids), dims)
    ]
    cosines = vectors.cosine_similarities(question, centroids) if centroids else []
    ranked = sorted(zip(cosines, blocks, strict=True), reverse=True)
    return [block for _, block in ranked[: min(PROBED * len(clusters), MOST_PROBED)]]


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
