"""The static model's file: how its words, their ranks and their vectors are found in it.

It decides the layout, little-endian throughout, so that one text costs a few page reads and no
parsing (the file is mapped, never read whole):

    8 bytes   RCSTATIC
    4 × u32   version, number of pieces, dimensions, a checksum of all that follows
    n × u32   the CRC-32 of each piece, ascending: the vocabulary itself is not needed
    n × u16   how common the piece is: 1 is the most common word of English
    n × dims  its vector, a byte a component, 128 is zero

`tools/build_static_model.py` makes the file. A vector of a text is the sum of its pieces'
vectors, normalised: common words were made short when the model was built. A gram of another
script has no vector in the file, but one made of its hash: two different ones are as good as
perpendicular. It does not know what a vector is for.
"""

from __future__ import annotations

import mmap
import struct
from bisect import bisect_left
from math import log
from zlib import crc32

from ...errors import Unavailable
from .pieces import pieces, words
from .vector import ZERO, quantised

MAGIC = b"RCSTATIC"
HEADER = struct.Struct("<8s4I")
VERSION = 1
MOST_PIECES = 256
"""A text is embedded by its first pieces: what it is about is said early, and the measured
recall of long messages was better with 256 pieces than with all of them."""

GRAM = 12
"""How long the vector of a gram is in each component. Words of content have 20 to 80; with so
little, unrelated texts of other languages are no more alike than unrelated English ones."""

_REMEMBERED = 20_000


class StaticModel:
    """An open model file. Opening it maps it; a text touches only its words."""

    revision = 3
    """Another one when the same file gives other vectors."""

    def __init__(self, path: str) -> None:
        try:
            with open(path, "rb") as file:
                self._map = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
        except (OSError, ValueError) as error:
            raise Unavailable(
                f"the static model cannot be opened: {error}",
                where=path,
                hint="Install the package again; recall works by words alone until then.",
            ) from error
        self._read_header(path)
        self._pieces_of: dict[str, tuple[int, ...]] = {}
        self._rows_made: dict[int, bytes] = {}

    def _read_header(self, path: str) -> None:
        size = len(self._map)
        start = HEADER.size
        magic, version, count, dims, checksum = (
            HEADER.unpack_from(self._map) if size >= start else (b"", 0, 0, 0, 0)
        )
        if magic != MAGIC or version != VERSION or size != start + count * (6 + dims):
            raise Unavailable(
                "the static model's file is not one, or is cut off",
                where=path,
                hint="Install the package again; recall works by words alone until then.",
            )
        whole = memoryview(self._map)
        self._keys = whole[start : start + 4 * count].cast("I")
        self._ranks = whole[start + 4 * count : start + 6 * count].cast("H")
        self._vectors: int = start + 6 * count
        self.count: int = count
        self.dims: int = dims
        self.checksum: int = checksum

    def number_of(self, piece: str) -> int:
        """The number of a piece of the vocabulary, or -1."""
        key = crc32(piece.encode())
        place = bisect_left(self._keys, key)
        return place if place < self.count and self._keys[place] == key else -1

    def rarity(self, word: str) -> float:
        """How much a word tells by itself: near 0 for `the`, 1 for a word that is no common one."""
        number = self.number_of(word.lower())
        return log(1 + self._ranks[number]) / log(1 + self.count) if number >= 0 else 1.0

    def knows(self, text: str) -> bool:
        """Whether a word of the text, whole, is in the vocabulary or in the glossary."""
        return any(map(self._knows, words(text)))

    def _knows(self, word: str) -> bool:
        if word.isascii():
            return self.number_of(word) >= 0
        from .scripts import parts_of

        return bool(parts_of(word).known)

    def vector(self, text: str) -> bytes:
        """The text's vector; without a word that is known, the vector zero."""
        rows = [self._row(number) for number in self._numbers(text)]
        if not rows:
            return bytes([ZERO]) * self.dims
        offset = ZERO * len(rows)
        return quantised([sum(column) - offset for column in zip(*rows, strict=True)])

    def _row(self, number: int) -> bytes:
        if number < 0:
            return self._made(number)
        start = self._vectors + number * self.dims
        return self._map[start : start + self.dims]

    def _made(self, number: int) -> bytes:
        """The vector of a gram."""
        row = self._rows_made.get(number)
        if row is None:
            from hashlib import shake_128

            if len(self._rows_made) >= _REMEMBERED:
                self._rows_made.clear()
            digest = shake_128(number.to_bytes(5, "little", signed=True)).digest(self.dims)
            row = bytes([ZERO + GRAM if byte & 1 else ZERO - GRAM for byte in digest])
            self._rows_made[number] = row
        return row

    def _in_other_script(self, word: str) -> tuple[int, ...]:
        from .scripts import parts_of

        parts = parts_of(word)
        known = [number for english in parts.known for number in pieces(english, self.number_of)]
        return (*known, *(-1 - crc32(gram.encode()) for gram in parts.grams))

    def _numbers(self, text: str) -> list[int]:
        known = self._pieces_of
        found: list[int] = []
        room = MOST_PIECES  # a character of another script takes as much as a piece
        for word in words(text):
            numbers = known.get(word)
            if numbers is None:
                if len(known) >= _REMEMBERED:
                    known.clear()
                numbers = known[word] = (
                    pieces(word, self.number_of) if word.isascii() else self._in_other_script(word)
                )
            room -= len(numbers) if word.isascii() else len(word)
            found += numbers if room >= 0 else numbers[:room]
            if room <= 0:
                break
        return found
