"""Whether words that differ mean the same, told by their vectors.

A vector is bytes, one a component, 128 is zero, as `index.nearest` compares them; each word has
one. What several words mean is the sum of their vectors. Only the words that two things do *not*
share are compared: a shared keyword would make every pair look alike ("user login", "billing
login"). It does not know where vectors come from, nor what the things are.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from heapq import nsmallest
from math import sqrt
from operator import mul

from .nearest import ZERO

Vectors = Mapping[str, bytes]
"""The vector of each word."""

AROUND = 500
"""Among so many to twice as many things that stand close together the nearest are looked for."""

NEAREST = 4
_FAR = 0.4
"""This share of the signs differs where the cosine is 0.3."""

_REMEMBERED = 200_000


class Meaning:
    """What words mean. The product of two of them is worked out once."""

    def __init__(self, vectors: Vectors) -> None:
        self._vectors = {word: vector for word, vector in vectors.items() if any_direction(vector)}
        self._sums = {word: sum(vector) for word, vector in self._vectors.items()}
        self._products: dict[tuple[str, str], int] = {}

    def alike(self, one: Iterable[str], other: Iterable[str]) -> float:
        """The cosine of what these and those words mean, 0 where either means nothing known."""
        ours, theirs = self._known(one), self._known(other)
        along = self._all(ours, theirs)
        if along <= 0:
            return 0.0
        return along / sqrt(self._all(ours, ours) * self._all(theirs, theirs))

    def _known(self, words: Iterable[str]) -> list[str]:
        return [word for word in words if word in self._vectors]

    def _all(self, ours: Sequence[str], theirs: Sequence[str]) -> int:
        product = self._product
        return sum([product(one, other) for one in ours for other in theirs])

    def _product(self, one: str, other: str) -> int:
        pair = (one, other) if one <= other else (other, one)
        found = self._products.get(pair)
        if found is None:
            if len(self._products) >= _REMEMBERED:
                self._products.clear()
            raw = sum(map(mul, self._vectors[one], self._vectors[other]))
            shift = ZERO * (self._sums[one] + self._sums[other])
            found = raw - shift + ZERO * ZERO * len(self._vectors[one])
            self._products[pair] = found
        return found

    def nearest(self, things: Sequence[Collection[str]]) -> Iterator[list[int]]:
        """For each thing, given by its words, the places of those around it that point most nearly
        its way: candidates, to be compared."""
        signs = [self._signs(words) for words in things]
        most = _FAR * len(next(iter(self._vectors.values()), b""))
        for place, own in enumerate(signs):
            start = max(place // AROUND - 1, 0) * AROUND
            around = enumerate(signs[start : place + AROUND - place % AROUND], start)
            # Signs that differ are counted: it takes a tenth of a microsecond a pair.
            found = [(far, at) for at, sign in around if (far := (own ^ sign).bit_count()) < most]
            nearest = nsmallest(NEAREST + 1, found) if own else []
            yield [at for _, at in nearest if at != place]

    def _signs(self, words: Iterable[str]) -> int:
        """The sign of each component of what the words mean; 0 where they mean nothing known."""
        rows = [self._vectors[word] for word in self._known(words)]
        zero = ZERO * len(rows)
        sums = map(sum, zip(*rows, strict=True))
        return int("".join(["1" if total > zero else "0" for total in sums]) or "0", 2)


def any_direction(vector: bytes) -> bool:
    """Whether a vector points anywhere: that of a word nobody knows does not."""
    return vector.count(ZERO) < len(vector)
