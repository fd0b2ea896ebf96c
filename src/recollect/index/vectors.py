"""Compare and pack vectors. SimSIMD multiplies them, without numpy.

A vector is bytes, one a component, 128 is zero; all vectors of one embedder are equally long. A
thousand are compared with a question in 10 µs, once they are loaded and joined (`pack_vectors`).

Reading the vectors of a large store takes longer than comparing them. So a *block* holds only the
sign of each component, a bit, of many vectors, one after the other. The question keeps `BITS` bits
of each component: its signs, and which of them weigh more. Each of these is a row of bits too, and
SimSIMD counts in how many of them a vector agrees, in 8 ns. The numbers for all vectors of all
blocks are added at once, as one whole number with two bytes for each. That is 0.03 ms for a
thousand vectors.

The signs find candidates, the exact product ranks them: of the ten nearest vectors of these blocks
.99 are among the 225 best by sign, of the hundred nearest .85, and the missed ones are the last.

    signs = pack_signs(vectors)                   # stored, one row for each vector
    scores = score_blocks(question, [signs, …])   # one byte for each vector
    places = pick_best(scores, 400)               # then `cosine_similarities` of these
"""

from __future__ import annotations

from _operator import mul
from collections.abc import Iterator, Sequence
from heapq import nlargest
from math import inf, isqrt, sqrt

import simsimd

from ..fast_typing import Any, NamedTuple

ZERO = 128
_SIGNS = bytes([48 + (value > ZERO) for value in range(256)])
_TOP = 255
_SIGNED = bytes([value ^ ZERO for value in range(256)])

BITS = 3
"""Bits of each component of a question: eight steps, of which the step is best for a component that
is normally distributed; `quantise` makes the root of their mean square 31.75 for every vector. Of
the hundred nearest in the whole store, the best 225 by signs hold .62 with one bit, .72 with two,
.755 with three and .76 with four; all vectors of the searched blocks hold .89."""
_STEP = 18.6
_STEPS = [
    min(max(int((value - ZERO) / _STEP + 2 ** (BITS - 1)), 0), 2**BITS - 1) for value in range(256)
]
_WEIGHTS = bytes([abs(2 * step + 1 - 2**BITS) for step in _STEPS])
_PARTS = [bytes([48 + (step >> bit & 1) for step in _STEPS]) for bit in range(BITS)]
_LANE, _MOST_DIMS = 2, 8_192
"""Bytes in which the agreements of a vector are added, and the components up to which they fit."""


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
    """Pack the signs of vectors of equal length, eight in a byte, one vector after the other."""
    return b"".join([_pack_bits(vector.translate(_SIGNS)) for vector in vectors])


def _pack_bits(digits: bytes) -> bytes:
    return int(digits, 2).to_bytes(len(digits) // 8, "big")


def score_blocks(question: bytes, blocks: Sequence[bytes]) -> bytes:
    """Return a score from 0 to 255 for each vector of the blocks, in order."""
    rows = b"".join(blocks)
    width = len(question) // 8
    size = len(rows) // width
    if not size:
        return b""
    signs = memoryview(rows).cast("B", [size, width])
    lane = _LANE if len(question) <= _MOST_DIMS else 2 * _LANE
    total = 0
    for bit, digits in enumerate(_PARTS):
        # The bits in which a vector differs from the opposite are those in which it agrees.
        opposite = bytes([byte ^ 255 for byte in _pack_bits(question.translate(digits))])
        asked = memoryview(opposite).cast("B", [1, width])
        agreeing: Any = simsimd.cdist(
            asked,
            signs,
            metric="hamming",
            dtype="bin8",
            out_dtype=f"uint{8 * lane}",  # type: ignore[arg-type] # its stub lacks these
        )
        total += int.from_bytes(memoryview(agreeing).cast("B"), "little") << bit
    weight, shift = _measure(question)
    # With all signs against it, a vector agrees in some bits nevertheless.
    least = ((2**BITS - 1) * len(question) - weight) // 2
    total -= int.from_bytes(least.to_bytes(lane, "little") * size, "little")
    return (total >> shift).to_bytes(lane * size, "little")[::lane]


def _measure(question: bytes) -> tuple[int, int]:
    """Return the sum of the weights of a question, and the bits to drop so that it fits a byte."""
    weight = sum(question.translate(_WEIGHTS))
    return weight, max(weight.bit_length() - 8, 0)


def score_of(cosine: float, question: bytes) -> int:
    """Return the score of a vector with this cosine by its signs; at 256 components it is off by
    .05 of the cosine (standard deviation)."""
    weight, shift = _measure(question)
    return min(max(int((cosine + 1) / 2 * weight) >> shift, 0), _TOP)


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
