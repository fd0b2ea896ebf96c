"""Compare and pack vectors. SimSIMD multiplies them, without numpy.

A vector is bytes, one a component, 128 is zero; all vectors of one embedder are equally long. A
thousand are compared with a question in 10 µs, once they are loaded and joined (`pack_vectors`).

Reading the vectors of a large store takes longer than comparing them. So a *block* holds only the
sign of each component, a bit, by columns: plane 0 has for every vector the byte of its first eight
signs, plane 1 the next eight, and so on. Eight signs can add only 256 different amounts to a score,
so for each plane one table of 256 small numbers is made from the question; `bytes.translate` looks
up every vector at once, and adding the planes as whole numbers adds all vectors at once, a byte
each, because the tables are scaled so that no sum exceeds 255. That is 0.05 ms for a thousand
vectors.

The signs find candidates, the exact product ranks them: of the 100 nearest among 100,000, 93 are
among the 400 best by sign, and the missed ones are the last.

    planes = pack_signs(vectors)                   # stored, one row for many vectors
    scores = score_blocks(question, [planes, …])   # one byte for each vector
    places = pick_best(scores, 400)                # then `cosine_similarities` of these
"""

from __future__ import annotations

from _operator import mul
from collections.abc import Iterator, Sequence
from functools import lru_cache
from heapq import nlargest
from math import inf, isqrt, sqrt

import simsimd

from ..fast_typing import NamedTuple

ZERO = 128
_SIGNS = bytes([48 + (value > ZERO) for value in range(256)])
_TOP = 255
_SIGNED = bytes([value ^ ZERO for value in range(256)])
_HIGH_HALVES, _UNUSED = bytes([value >> 4 for value in range(256)]), bytes(240)


def quantise(numbers: Sequence[float]) -> bytes:
    """Convert a direction to bytes; a component four times the mean still fits."""
    length = sqrt(sum(map(mul, numbers, numbers)))
    factor = 127 / 4 * sqrt(len(numbers)) / length if length else 0.0
    try:
        found = bytes([round(x * factor) + ZERO for x in numbers])
    except ValueError:
        found = b"\0"
    if 0 in found:  # few have a component that does not fit
        found = bytes([min(max(round(x * factor), -127), 127) + ZERO for x in numbers])
    return found


class PackedVectors(NamedTuple):
    """Vectors of equal length, one after the other, as signed bytes."""

    rows: bytes
    size: int


def pack_vectors(vectors: Sequence[bytes]) -> PackedVectors:
    """Join vectors of equal length to be compared."""
    return PackedVectors(b"".join(vectors).translate(_SIGNED), len(vectors))


def unpack_vectors(packed: PackedVectors) -> list[bytes]:
    """Return the vectors that were packed together."""
    rows, dims = packed.rows.translate(_SIGNED), len(packed.rows) // max(packed.size, 1)
    return [rows[start : start + dims] for start in range(0, len(rows), dims or 1)]


def multiply(questions: PackedVectors, vectors: PackedVectors) -> list[list[float]]:
    """Return for each question its products with the vectors, which are whole numbers."""
    if not questions.size or not vectors.size:
        return [[] for _ in range(questions.size)]
    one, other = (
        memoryview(rows).cast("b", [size, len(rows) // size]) for rows, size in (questions, vectors)
    )
    products: list[list[float]] = memoryview(
        simsimd.cdist(one, other, "dot")  # type: ignore[arg-type]
    ).tolist()  # type: ignore[assignment]
    return products


def multiply_one(question: bytes, packed: PackedVectors) -> tuple[list[float], float]:
    """Return the products of a question with the vectors, and with itself, 1 for the zero vector:
    all vectors are equally far from zero, but for rounding, so that the quotient is the cosine."""
    asked = pack_vectors([question])
    [products], [[square]] = multiply(asked, packed), multiply(asked, asked)
    return products, square or 1.0


def cosine_similarities(question: bytes, vectors: Sequence[bytes]) -> list[float]:
    """Return the cosine of each vector with the question."""
    products, square = multiply_one(question, pack_vectors(vectors))
    return [product / square for product in products]


def pack_signs(vectors: Sequence[bytes]) -> bytes:
    """Pack the signs of vectors of equal length, by columns, eight in a byte."""
    width = len(vectors[0]) // 8 if vectors else 0
    rows = [int(vector.translate(_SIGNS), 2).to_bytes(width, "big") for vector in vectors]
    joined = b"".join(rows)
    return b"".join([joined[plane::width] for plane in range(width)])


def join_blocks(one: bytes, size: int, other: bytes, more: int) -> bytes:
    """Join two blocks with `size` and `more` vectors."""
    if not size or not more:
        return one or other
    return b"".join(
        [
            one[start : start + size] + other[place * more : (place + 1) * more]
            for place, start in enumerate(range(0, len(one), size))
        ]
    )


def score_blocks(question: bytes, blocks: Sequence[bytes]) -> bytes:
    """Return a score from 0 to 255 for each vector of the blocks, in order."""
    tables = _tables(question)
    sizes = [len(planes) // len(tables) for planes in blocks]
    total = 0
    for plane, table in enumerate(tables):
        # Joined first: four calls for each plane of a small block would take longer than the rest.
        column = b"".join(
            [
                planes[plane * size : (plane + 1) * size]
                for planes, size in zip(blocks, sizes, strict=True)
            ]
        )
        total += int.from_bytes(column.translate(table), "little")
    return total.to_bytes(sum(sizes), "little")


@lru_cache(maxsize=1)
def _tables(question: bytes) -> list[bytes]:
    """Return for each plane what each of the 256 patterns of signs adds to the score."""
    weights = [component - ZERO for component in question]
    # Rounding half a byte of signs up adds at most 1/2, twice a plane: reserve room for it.
    room = _TOP - len(weights) / 8
    factor = room / max(2 * sum(map(abs, weights)), 1)
    tables = []
    for start in range(0, len(weights), 8):
        high = _sums(weights[start : start + 4], factor)
        low = _sums(weights[start + 4 : start + 8], factor)
        columns = int.from_bytes(_HIGH_HALVES.translate(high + _UNUSED), "little")
        tables.append((columns + int.from_bytes(low * 16, "little")).to_bytes(256, "little"))
    return tables


def _sums(four: Sequence[int], factor: float) -> bytes:
    """Return what 16 patterns of four signs add, from 0 for all signs against the question."""
    totals = [sum(map(abs, four)) - sum(four)]
    for component in reversed(four):
        totals += [total + 2 * component for total in totals]
    return bytes([round(total * factor) for total in totals])


def score_of(cosine: float, dims: int) -> int:
    """Return the score of a vector with this cosine by its signs; at 256 components it is off by
    .05 of the cosine (standard deviation)."""
    return min(max(int((cosine + 1) / 2 * (_TOP - dims / 8)), 0), _TOP)


def pick_nearest(question: bytes, packed: PackedVectors, count: int) -> list[int]:
    """Return the places of the nearest vectors to the question, in their order."""
    [products] = multiply(pack_vectors([question]), packed)
    if len(products) <= count:
        return list(range(len(products)))
    least = nlargest(count, products)[-1]
    return [place for place, product in enumerate(products) if product >= least][:count]


def pick_best(scores: bytes, count: int, least: int = 0) -> list[int]:
    """Return the places of the highest scores from `least` on, best first; of equals, the first
    ones."""
    if count <= 0 or not scores:
        return []
    if len(high := scores.translate(None, bytes(range(least)))) > count:
        # What a sample reaches often enough, enough of all reach: only those are sorted.
        step = len(high) // _SAMPLED + 1
        sample = sorted(high[::step])
        lowest = sample[-min(2 * count // step + 5, len(sample))] if step > 1 else 0
        best = sorted(high.translate(None, bytes(range(lowest))))
        least = best[-count] if len(best) >= count else sorted(high)[-count]
    marks = scores.translate(bytes([value >= least for value in range(_TOP + 1)]))
    found, place = [], marks.find(1)
    while place >= 0:
        found.append(place)
        place = marks.find(1, place + 1)
    found.sort(key=scores.__getitem__, reverse=True)
    return found[:count]


_SAMPLED = 2_000
_SAMPLE_PER_CELL, _ROUNDS = 48, 3
_TOGETHER = 1 << 18
"""Products that are held at a time."""


def sort_into_cells(vectors: Sequence[bytes], cells: int) -> tuple[list[bytes], list[list[int]]]:
    """Sort vectors into cells of near ones; return the centroid and the places of each cell.

    Centroids come from an evenly spaced sample, by k-means: they change little with more, and each
    round over all vectors costs as much as the final assignment.
    """
    step = max(len(vectors) // (cells * _SAMPLE_PER_CELL), 1)
    sample = vectors[::step]
    centroids = list(sample[:: max(len(sample) // cells, 1)][:cells])
    for _ in range(_ROUNDS):
        members = assign(sample, centroids)
        centroids = [
            _mean([sample[place] for place in cell]) if cell else centroid
            for centroid, cell in zip(centroids, members, strict=True)
        ]
    found = assign(vectors, centroids)
    kept = [(centroid, cell) for centroid, cell in zip(centroids, found, strict=True) if cell]
    return [centroid for centroid, _ in kept], [cell for _, cell in kept]


def assign(vectors: Sequence[bytes], centroids: Sequence[bytes]) -> list[list[int]]:
    """Return for each centroid the places of the vectors that are nearest to it."""
    members: list[list[int]] = [[] for _ in centroids]
    for place, products in enumerate(_multiply_all(vectors, pack_vectors(centroids))):
        members[products.index(max(products))].append(place)
    return members


def _multiply_all(vectors: Sequence[bytes], centroids: PackedVectors) -> Iterator[list[float]]:
    """Yield for each vector its products with the centroids; a few vectors at a time."""
    step = _TOGETHER // centroids.size + 1
    for start in range(0, len(vectors), step):
        yield from multiply(pack_vectors(vectors[start : start + step]), centroids)


def assign_by_groups(
    vectors: Sequence[bytes], centroids: Sequence[bytes], groups: int
) -> list[list[int]]:
    """Return nearly the result of `assign` for many centroids: they are grouped, and a vector is
    compared only with those of the nearest groups."""
    means, grouped = sort_into_cells(centroids, isqrt(len(centroids)))
    near: list[list[int]] = [[] for _ in means]
    for place, products in enumerate(_multiply_all(vectors, pack_vectors(means))):
        for product in sorted(products)[-groups:]:
            near[products.index(product)].append(place)
    best = [-inf] * len(vectors)
    cell = [0] * len(vectors)
    for numbers, places in zip(grouped, near, strict=True):
        packed = pack_vectors([centroids[number] for number in numbers])
        rows = _multiply_all([vectors[place] for place in places], packed)
        for place, products in zip(places, rows, strict=True):
            if (product := max(products)) > best[place]:
                best[place], cell[place] = product, numbers[products.index(product)]
    return _collect(cell, len(centroids))


def _collect(cell: Sequence[int], cells: int) -> list[list[int]]:
    """Return the places of each cell, from the cell of each place."""
    members: list[list[int]] = [[] for _ in range(cells)]
    for place, number in enumerate(cell):
        members[number].append(place)
    return members


def _mean(vectors: Sequence[bytes]) -> bytes:
    """Return the direction of the sum of vectors."""
    offset = ZERO * len(vectors)
    return quantise([sum(column) - offset for column in zip(*vectors, strict=True)])
