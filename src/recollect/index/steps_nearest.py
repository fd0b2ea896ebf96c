"""Search by meaning: the entries whose vectors are nearest to a question's, with their cosines.

The fewer vectors there are to compare, the more exactly it is done:

- A small space, or a filter that leaves few entries: every vector is compared (`compare_all`).
- PostgreSQL with pgvector: the engine's own index finds the nearest.
- Otherwise `_score_signs` scores the signs of the vectors in the open blocks and in the cells
  nearest to the question (`steps_cells` sorts them). Only the best by signs are compared
  exactly: before a filter that keeps most entries, after one that keeps few.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from math import floor

from ..fast_typing import Any, NamedTuple
from ..storage.database import IndexMatch, Tx
from . import sql, sql_vectors, vectors

PROBED = 64
"""Cells that are searched, those nearest to the question. Of the ten nearest by an exact scan they
hold .91 at 100,000 vectors and .78 at a million; 128 hold .97 and .86 (122 questions on public
texts)."""

SIGNED = 3
"""So many times the wanted number are picked by their signs, then compared exactly. With twice the
number the pool of LongMemEval loses .002, with four times nothing changes."""

BELOW = 0.1
"""A vector whose signs promise a cosine so much below the least wanted is not compared. Of 1,991
above the .35 that recall wants, for 31 questions to 10,000 vectors, this loses 7."""

FILTERED = 16
"""So many times the wanted number are picked by their signs, then filtered."""

SMALL = 1_500
"""A space with at most this many entries compares the question with every vector; they are kept
until the store changes. To read more takes longer than the search by signs, and a command that
starts cold 1.3 ms for a thousand."""

FEW = 1_500
"""When a filter leaves fewer entries than this, all of them are compared."""

SURE, PROMISING = 40, 60
"""In a large store, so many of the best matches by words are ranked, and of the others so many that
are the best by words and vectors together: see `keep_promising`."""

_Filters = Mapping[str, Sequence[Any]]
Near = Mapping[int, tuple[IndexMatch, float]]
"""Entries that fulfil the filters, with their cosines."""
_NONE_KNOWN: Near = {}


def cosines_by_entry(question: bytes, held: Mapping[int, bytes]) -> dict[int, float]:
    """Return the cosine of the question and each entry's vector."""
    found = vectors.cosine_similarities(question, list(held.values())) if held else []
    return dict(zip(held, found, strict=True))


class ComparedEntries(NamedTuple):
    """The entries that were compared with a question, all that there are. Few of their cosines are
    asked for: the cosine of one is its product divided by `square`."""

    places: Mapping[int, int]
    products: Sequence[float]
    square: float

    def find_cosines(self, entries: Iterable[int]) -> dict[int, float]:
        """Return the cosines of those of the entries that have a vector."""
        places, products, square = self.places, self.products, self.square
        return {entry: products[places[entry]] / square for entry in entries if entry in places}

    def find_near(self, least: float) -> dict[int, float]:
        """Return the entries whose cosine is at least `least`."""
        lowest, square = floor(least * self.square), self.square
        near = zip(self.places, self.products, strict=True)
        return {entry: product / square for entry, product in near if product >= lowest}


def compare_all(
    tx: Tx, question: bytes, entries: int, left: Sequence[int] | None
) -> ComparedEntries | None:
    """Compare the question with every vector that a filter leaves, or else of a small space; None
    if there are many.

    entries: how many the space has
    left: the entries that a filter leaves; None for many
    """
    dims = len(question)
    if left is not None:
        places, packed = _pack(sql_vectors.load_vectors(tx, left), dims)
    elif tx.is_remote or entries > SMALL:
        return None
    else:
        load = sql_vectors.load_all_vectors
        places, packed = tx.keep(f"vectors of {dims}", lambda: _pack(load(tx), dims))
    return ComparedEntries(places, *vectors.multiply_one(question, packed))


def compare_matches(
    question: bytes, matches: Sequence[IndexMatch], compared: ComparedEntries | None
) -> dict[int, float]:
    """Return the cosines of those of the matches that have a vector; `compared` knows all."""
    if compared is not None:
        return compared.find_cosines([item.entry for item in matches])
    return cosines_by_entry(question, {item.entry: item.vector for item in matches if item.vector})


def keep_promising(
    matches: Sequence[IndexMatch], cosines: Mapping[int, float], names: Sequence[str], limit: int
) -> list[IndexMatch]:
    """Return the matches to rank, given with the best by words first, if `limit` are wanted: the
    first ones, of the others the best by words and vectors together, and those that hold a name. To
    count the stems of all and to score them takes a tenth of a recall in a large store.

    Of 150 matches in a store of 116,000 entries, the public sets stay (LoCoMo .566 instead of .565,
    LongMemEval .703 of .704, coding sessions .571 of .572); with the first 100 by words alone they
    lose .005, .006 and .024.
    """
    best = max([item.score for item in matches], default=0.0)
    nearest = max(cosines.values(), default=0.0)
    promise = [nearest * item.score + best * cosines.get(item.entry, 0.0) for item in matches]
    sure = max(SURE, limit)
    others = sorted(range(sure, len(matches)), key=promise.__getitem__, reverse=True)
    kept = {*range(sure), *others[:PROMISING]}
    return [
        item
        for place, item in enumerate(matches)
        if place in kept or any(name in item.stems for name in names)
    ]


def _pack(stored: Mapping[int, bytes], dims: int) -> tuple[dict[int, int], vectors.PackedVectors]:
    """Return the place of each entry whose vector has so many dimensions, and these packed."""
    held = {entry: vector for entry, vector in stored.items() if len(vector) == dims}
    places = {entry: place for place, entry in enumerate(held)}
    return places, vectors.pack_vectors(list(held.values()))


def find_near_records(
    tx: Tx,
    question: bytes,
    filters: _Filters,
    count: int,
    least: float = -1.0,
    known: Near = _NONE_KNOWN,
    compared: ComparedEntries | None = None,
) -> list[tuple[IndexMatch, float]]:
    """Return the entries nearest to the question that fulfil the filters, with their cosines, best
    first, of equals by address; none with a cosine below `least`, nor those that are `known`:
    they fulfil the filters and are among the nearest, but need not be read again. `compared` are
    all, if there are not many: see `compare_all`."""
    if compared is not None:
        near = compared.find_near(least)
        found = _filter_nearest(tx, near, filters, count, least, known)
    elif tx.finds_nearest:
        found = _search_index(tx, question, filters, count, least, known)
    else:
        found = _search_signs(tx, question, filters, count, least, known)
    close = [(-cosine, item.ref, item.seq, item) for item, cosine in found.values()]
    nearest = sorted([one for one in close if -one[0] >= least])[:count]
    return [(item, -far) for far, _, _, item in nearest if item.entry not in known]


def _search_signs(
    tx: Tx,
    question: bytes,
    filters: _Filters,
    count: int,
    least: float,
    known: Near,
) -> dict[int, tuple[IndexMatch, float]]:
    """Search the open blocks and the nearest cells; if that finds few, compare all entries that the
    filters leave, unless they are many."""
    scored = _score_signs(tx, question, least)
    found: dict[int, tuple[IndexMatch, float]] = {}
    if not sql.is_selective(filters):
        cosines = _compare_best(tx, question, scored, SIGNED * count, known)
        found = _filter_nearest(tx, cosines, filters, count, least, known)
        if 3 * len(found) >= count or sum([one >= least for one in cosines.values()]) < count:
            return found
    found |= _filter_then_compare(tx, question, scored, filters, count, least, known)
    if 3 * len(found) < count:
        left = sql.list_entries(tx, filters, FEW)
        if len(left) < FEW:
            cosines = cosines_by_entry(question, sql_vectors.load_vectors(tx, left))
            found |= _filter_nearest(tx, cosines, filters, count, least, known)
    return found


def _search_index(
    tx: Tx,
    question: bytes,
    filters: _Filters,
    count: int,
    least: float,
    known: Near,
) -> dict[int, tuple[IndexMatch, float]]:
    """Ask the engine's own index. Vectors that were made without it are still in blocks."""
    scored = _score_signs(tx, question, least)
    cosines = _compare_best(tx, question, scored, SIGNED * count, known)
    found = _filter_nearest(tx, cosines, filters, count, least, known)
    return found | _with_cosines(question, sql.find_nearest(tx, question, count, filters, least))


def _filter_then_compare(
    tx: Tx,
    question: bytes,
    scored: _SignScores,
    filters: _Filters,
    count: int,
    least: float,
    known: Near,
) -> dict[int, tuple[IndexMatch, float]]:
    """Return the best by signs that fulfil the filters with their cosines: of as many as promise
    enough, or else of `FEW`, unless most are too far already."""
    found: dict[int, tuple[IndexMatch, float]] = {}
    seen: set[int] = set()
    for most in (FILTERED * count, FEW):
        some = [entry for entry in scored.pick_best(most) if entry not in seen]
        seen.update(some)
        through = sql.filter_entries(tx, [entry for entry in some if entry not in known], filters)
        cosines = cosines_by_entry(question, sql_vectors.load_vectors(tx, list(through)))
        found |= {entry: (through[entry], cosine) for entry, cosine in cosines.items()}
        found |= {entry: known[entry] for entry in some if entry in known}
        close = sum([cosine >= least for _, cosine in found.values()])
        if len(found) >= count or 2 * close < len(found):
            break
    return found


def _filter_nearest(
    tx: Tx,
    cosines: Mapping[int, float],
    filters: _Filters,
    count: int,
    least: float,
    known: Near,
) -> dict[int, tuple[IndexMatch, float]]:
    """Return the nearest of compared entries that fulfil the filters."""
    close = sorted([(-cosine, entry) for entry, cosine in cosines.items() if cosine >= least])
    found: dict[int, tuple[IndexMatch, float]] = {}
    # Most filters keep most entries: read no more than are wanted, but not in several round trips.
    start = 0
    while start < len(close) and len(found) < count:
        end = len(close) if tx.is_remote else min(start + count, len(close))
        while end < len(close) and close[end][0] == close[end - 1][0]:
            end += 1  # of equals the address decides
        best, start = close[start:end], end
        new = [entry for _, entry in best if entry not in known]
        through = sql.filter_entries(tx, new, filters)
        found |= {entry: (through[entry], -far) for far, entry in best if entry in through}
        found |= {entry: known[entry] for _, entry in best if entry in known}
    return found


def _with_cosines(
    question: bytes, matches: Sequence[IndexMatch]
) -> dict[int, tuple[IndexMatch, float]]:
    cosines = cosines_by_entry(
        question, {item.entry: bytes(item.vector) for item in matches if item.vector}
    )
    return {item.entry: (item, cosines[item.entry]) for item in matches if item.entry in cosines}


def find_nearest(
    tx: Tx, question: bytes, count: int, known: Near = _NONE_KNOWN
) -> dict[int, float]:
    """Return the entries of the blocks nearest to the question with their cosines, best first;
    those of the `known` are not computed again."""
    return _compare_best(tx, question, _score_signs(tx, question), count, known)


class _SignScores(NamedTuple):
    """The entries of the blocks nearest to a question, and how well the signs of each fit it."""

    entries: array[int]
    scores: bytes
    least: int
    """The score of what is too far."""

    def pick_best(self, count: int) -> list[int]:
        """Return the entries with the highest scores, each once."""
        places = vectors.pick_best(self.scores, count, self.least)
        return list(dict.fromkeys([self.entries[place] for place in places]))


def _score_signs(tx: Tx, question: bytes, least: float = -1.0) -> _SignScores:
    numbers = array("q")
    lowest = vectors.score_of(least - BELOW, question)
    if tx.finds_nearest and not tx.frequencies(()).blocks:
        return _SignScores(numbers, b"", lowest)
    cells = _nearest_cells(question, sql_vectors.load_cells(tx))
    blocks = sql_vectors.load_blocks(tx, cells)
    numbers.frombytes(b"".join([entries for entries, _ in blocks]))
    scores = vectors.score_blocks(question, [signs for _, signs in blocks])
    return _SignScores(numbers, scores, lowest)


def _compare_best(
    tx: Tx, question: bytes, scored: _SignScores, count: int, known: Near
) -> dict[int, float]:
    """Return the entries with the best signs with their cosines, best first."""
    entries = scored.pick_best(count)
    new = [entry for entry in entries if entry not in known]
    found = cosines_by_entry(question, sql_vectors.load_vectors(tx, new))
    found |= {entry: known[entry][1] for entry in entries if entry in known}
    return dict(sorted(found.items(), key=lambda one: (-one[1], one[0])))


def _nearest_cells(question: bytes, cells: sql_vectors.VectorCells) -> list[int]:
    """Return the blocks whose centroids are nearest to the question."""
    places = vectors.pick_nearest(question, cells.centroids, PROBED)
    return [cells.blocks[place] for place in places]
