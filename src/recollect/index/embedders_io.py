"""Turn texts into vectors: the model inside the package, or an embeddings server.

An embedder (`types.records.Embedder`) returns one vector for each text, in the form of
`index.vectors`. Vectors of different embedders are never compared: `id` names the embedder and its
model, and is stored with them.

    embedder = StaticEmbedder()
    question, = embedder.embed(["how do we roll back a deploy"])

`HttpEmbedder` calls servers with OpenAI's `/v1/embeddings` or Ollama's `/api/embed`; the address
decides which.
"""

from __future__ import annotations

import mmap
import os.path
import struct
from bisect import bisect_left
from collections.abc import Callable, Mapping, Sequence
from itertools import chain, islice
from math import isfinite, log
from zlib import crc32

from ..errors import ConfigError, InvalidInput, Unavailable
from ..fast_typing import Any
from .model.words import LONGEST_WORD, find_words, split_pieces, split_words
from .vectors import ZERO, quantise

MODEL_MAGIC = b"RCSTATIC"
MODEL_HEADER = struct.Struct("<8s4I")
MODEL_VERSION = 1
MOST_PIECES = 256
"""Only the first pieces of a text are embedded: its topic comes early, and the measured recall of
long messages was better with 256 pieces than with all of them."""

_MOST_ADDED = 256
"""Vectors of bytes whose sum fits two bytes a component."""

GRAM_LENGTH = 12
"""The length of a gram's vector in each component. Content words have 20 to 80; with so little,
unrelated texts of other languages are no more alike than unrelated English ones."""

_REMEMBERED = 20_000


class _Cache(dict[Any, Any]):
    """Values that are made at first use; all are dropped when there are too many."""

    def __init__(self, make: Callable[[Any], Any]) -> None:
        self._make = make

    def __missing__(self, key: Any) -> Any:
        if len(self) >= _REMEMBERED:
            self.clear()
        found = self[key] = self._make(key)
        return found


class StaticModel:
    """An open model file, mapped into memory: a text touches only its words.

    The layout is little-endian throughout, so that a text costs a few page reads and no parsing:

        8 bytes   RCSTATIC
        4 × u32   version, number of pieces, dimensions, a checksum of the rest
        n × u32   the CRC-32 of each piece, ascending: the vocabulary itself is not needed
        n × u16   the rank of the piece: 1 is the most common word of English
        n × dims  its vector, a byte a component, 128 is zero

    `tools/build_static_model.py` builds the file. The vector of a text is the normalised sum of its
    pieces' vectors: the build made common words short. A gram of another script has a vector made
    of its hash: two different ones are nearly perpendicular.
    """

    revision = 3
    """Increased when the same file gives other vectors."""

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
        self._pieces_of = _Cache(self._split_word)
        self._long_numbers = _Cache(self._load_long)

    def _read_header(self, path: str) -> None:
        size = len(self._map)
        start = MODEL_HEADER.size
        magic, version, count, dims, checksum = (
            MODEL_HEADER.unpack_from(self._map) if size >= start else (b"", 0, 0, 0, 0)
        )
        if magic != MODEL_MAGIC or version != MODEL_VERSION or size != start + count * (6 + dims):
            raise Unavailable(
                "the static model's file is damaged or incomplete",
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
        """Return the number of a piece of the vocabulary, or -1."""
        key = crc32(piece.encode())
        place = bisect_left(self._keys, key)
        return place if place < self.count and self._keys[place] == key else -1

    def rarity(self, word: str) -> float:
        """Return how distinctive a word is: near 0 for `the`, 1 for an uncommon word."""
        number = self.number_of(word.lower())
        return log(1 + self._ranks[number]) / log(1 + self.count) if number >= 0 else 1.0

    def knows(self, text: str) -> bool:
        """Check whether a whole word of the text is in the vocabulary or the glossary."""
        return any(map(self._knows, split_words(text)))

    def _knows(self, word: str) -> bool:
        if word.isascii():
            return self.number_of(word) >= 0
        from .model.words import split_script

        return bool(split_script(word).known)

    def vector(self, text: str) -> bytes:
        """Return the vector of a text; the zero vector if no word is known."""
        numbers = self._numbers(text)
        if not numbers:
            return bytes([ZERO]) * self.dims
        offset = ZERO * len(numbers)
        added = [
            self._add(numbers[start : start + _MOST_ADDED])
            for start in range(0, len(numbers), _MOST_ADDED)
        ]
        sums = added[0] if len(added) == 1 else map(sum, zip(*added, strict=True))
        return quantise([component - offset for component in sums])

    def _add(self, numbers: Sequence[int]) -> tuple[int, ...]:
        """Return the sum of the vectors of at most `_MOST_ADDED` pieces."""
        total = sum(map(self._long_numbers.__getitem__, numbers))
        return struct.unpack(f"<{self.dims}H", total.to_bytes(2 * self.dims, "little"))

    def _load_long(self, number: int) -> int:
        """Return the vector of a piece as one long number with two bytes a component: these are
        added ten times as fast as component by component."""
        lanes = bytearray(2 * self.dims)
        start = self._vectors + number * self.dims
        lanes[::2] = self._map[start : start + self.dims] if number >= 0 else self._made(number)
        return int.from_bytes(lanes, "little")

    def _made(self, number: int) -> bytes:
        """Return the vector of a gram."""
        from hashlib import shake_128

        digest = shake_128(number.to_bytes(5, "little", signed=True)).digest(self.dims)
        return bytes([ZERO + GRAM_LENGTH if byte & 1 else ZERO - GRAM_LENGTH for byte in digest])

    def _split_word(self, word: str) -> tuple[int, ...]:
        """Return the numbers of the pieces of a word as it is written."""
        if len(word) > LONGEST_WORD:
            return ()
        word = word.lower()
        if word.isascii():
            return split_pieces(word, self.number_of)
        from .model.words import split_script

        parts = split_script(word)
        known = [
            number for english in parts.known for number in split_pieces(english, self.number_of)
        ]
        return (*known, *(-1 - crc32(gram.encode()) for gram in parts.grams))

    def _numbers(self, text: str) -> list[int]:
        """Return the numbers of the first pieces of a text."""
        words = find_words(text)
        known = self._pieces_of
        if text.isascii():
            pieces = chain.from_iterable(map(known.__getitem__, words))
            return list(islice(pieces, MOST_PIECES))
        found: list[int] = []
        room = MOST_PIECES  # a character of another script counts as a piece
        for word in words:
            numbers = known[word]
            room -= len(numbers) if word.isascii() else len(word)
            found += numbers if room >= 0 else numbers[:room]
            if room <= 0:
                break
        return found


_BATCH = 64
_SHOWN = 200


def make_embedder(
    embedder: str, model: str, dims: int, key: str
) -> StaticEmbedder | HttpEmbedder | None:
    """Return the embedder of the settings; None if it is off."""
    if embedder == "off":
        return None
    if embedder == "static":
        return StaticEmbedder()
    if not embedder.startswith(("http://", "https://")):
        raise ConfigError(
            f"unknown embedder {embedder!r}",
            where="embedder",
            hint="one of: static, off, or the http address of an embeddings server",
        )
    return HttpEmbedder(embedder, model, dims, key=key)


class StaticEmbedder:
    """The model inside the package: offline, 0.2 ms for a question, mapped at first use."""

    def __init__(self, path: str = "") -> None:
        self._path = path or os.path.join(os.path.dirname(__file__), "model", "static.bin")
        self._opened: StaticModel | None = None

    @property
    def _model(self) -> StaticModel:
        if self._opened is None:
            self._opened = StaticModel(self._path)
        return self._opened

    @property
    def id(self) -> str:
        return f"static-{self.dims}-{self._model.checksum:08x}-{self._model.revision}"

    @property
    def dims(self) -> int:
        return self._model.dims

    @property
    def local(self) -> bool:
        return True

    def knows(self, question: str) -> bool:
        """Check for a word of the vocabulary: pieces of unknown words mean nothing."""
        return self._model.knows(question)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._model.vector(text) for text in texts]

    def rarity(self, word: str) -> float:
        """Return how distinctive a word is: near 0 for `the`, 1 for an uncommon word."""
        return self._model.rarity(word)


class HttpEmbedder:
    """A model behind a configured address. Nothing is sent before the first text."""

    def __init__(
        self,
        url: str,
        model: str,
        dims: int,
        *,
        key: str = "",
        wait: float = 3.0,
    ) -> None:
        if dims < 8 or dims % 8:
            raise InvalidInput(
                f"an embedder of {dims} dimensions cannot be used",
                where=url,
                hint="Give the model's number of dimensions, a multiple of 8.",
            )
        self._url = url
        self._model = model
        self._dims = dims
        self._key = key
        self._wait = wait

    @property
    def id(self) -> str:
        return f"http-{self._model}-{self._dims}"

    @property
    def dims(self) -> int:
        return self._dims

    @property
    def local(self) -> bool:
        return False

    def knows(self, question: str) -> bool:
        return True

    def rarity(self, word: str) -> float:
        return 1.0

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        found: list[bytes] = []
        for start in range(0, len(texts), _BATCH):
            batch = list(texts[start : start + _BATCH])
            # A caller waits for one text, a question; many are embedded in the background.
            answer = self._ask({"model": self._model, "input": batch}, self._wait + len(batch) - 1)
            vectors = self._vectors(answer)
            if len(vectors) != len(batch):
                raise self._unusable(f"{len(vectors)} came for {len(batch)} texts")
            found += map(self._checked, vectors)
        return found

    def _ask(self, question: Mapping[str, Any], wait: float) -> Any:
        import json
        from urllib.error import HTTPError
        from urllib.request import Request, urlopen

        headers = {"Content-Type": "application/json"}
        if self._key:
            headers["Authorization"] = f"Bearer {self._key}"
        try:
            request = Request(self._url, json.dumps(question).encode(), headers)
            with urlopen(request, timeout=wait) as reply:
                return json.loads(reply.read())
        except HTTPError as error:
            said = error.read(_SHOWN).decode("utf-8", "replace")
            raise self._unusable(f"status {error.code}: {said}") from error
        except (OSError, ValueError) as error:
            raise self._unusable(str(error)) from error

    def _vectors(self, answer: Any) -> list[Any]:
        """Return the vectors in the order of the texts, from either response format."""
        try:
            if "embeddings" in answer:
                return list(answer["embeddings"])
            rows = sorted(answer["data"], key=lambda row: int(row.get("index", 0)))
            return [row["embedding"] for row in rows]
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            raise self._unusable("its answer holds none") from error

    def _checked(self, vector: Any) -> bytes:
        if not isinstance(vector, list) or len(vector) != self._dims:
            size = len(vector) if isinstance(vector, list) else "no"
            raise self._unusable(f"one has {size} dimensions where {self._dims} are configured")
        if not all(isinstance(x, int | float) and isfinite(x) for x in vector):
            raise self._unusable("a vector contains a value that is not a number")
        return quantise(vector)

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(
            f"no vectors from the embedder: {what}",
            where=self._url,
            hint="Check the address, the model's name and its number of dimensions in your "
            "configuration; recall works by words alone until then.",
        )
