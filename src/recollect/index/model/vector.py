"""The form of a stored vector: one byte a component, 128 is zero, all vectors equally long.

It decides how numbers become bytes. `index.nearest` compares such vectors and relies on nothing
else: the cosine of two of them is their product over the square of their common length.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import sqrt

ZERO = 128


def quantised(numbers: Sequence[float]) -> bytes:
    """The direction of these numbers; a component four times the usual one still fits a byte."""
    length = sqrt(sum([x * x for x in numbers]))
    factor = 127 / 4 * sqrt(len(numbers)) / length if length else 0.0
    return bytes([min(max(round(x * factor), -127), 127) + ZERO for x in numbers])
