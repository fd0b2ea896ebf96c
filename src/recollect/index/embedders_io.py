"""Who turns a text into a vector: the model inside the package, or a server the user runs.

An embedder gives each text one vector in the form of `index.model.vector`, which `index.nearest`
compares; `index.steps_vectors` says what it must be able to do. Vectors of different embedders are
never compared: `id` names the embedder and its model, and is stored with them. It does not know
what the texts are or where the vectors go.

    embedder = StaticEmbedder()
    question, = embedder.embed(["how do we roll back a deploy"])

`HttpEmbedder` speaks to servers with OpenAI's `/v1/embeddings` or Ollama's `/api/embed`; which
one it is, the address says.
"""

from __future__ import annotations

import os.path
from collections.abc import Mapping, Sequence
from math import isfinite

from ..errors import ConfigError, InvalidInput, Unavailable
from ..fast_typing import TYPE_CHECKING, Any
from .model.vector import quantised

if TYPE_CHECKING:
    from .model.static_model_io import StaticModel

_BATCH = 64
_SHOWN = 200


def chosen(embedder: str, model: str, dims: int, key: str) -> StaticEmbedder | HttpEmbedder | None:
    """The embedder that the settings name; None when it is switched off."""
    if embedder == "off":
        return None
    if embedder == "static":
        return StaticEmbedder()
    if not embedder.startswith(("http://", "https://")):
        raise ConfigError(
            f"{embedder!r} is no embedder",
            where="embedder",
            hint="one of: static, off, or the http address of an embeddings server",
        )
    return HttpEmbedder(embedder, model, dims, key=key)


class StaticEmbedder:
    """The model inside the package: offline, 0.2 ms for a question, mapped on first use."""

    def __init__(self, path: str = "") -> None:
        self._path = path or os.path.join(os.path.dirname(__file__), "model", "static.bin")
        self._opened: StaticModel | None = None

    @property
    def _model(self) -> StaticModel:
        if self._opened is None:
            from .model.static_model_io import StaticModel

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
        """Whether it has a word of the vocabulary: pieces of unknown words mean nothing."""
        return self._model.knows(question)

    def embed(self, texts: Sequence[str]) -> list[bytes]:
        return [self._model.vector(text) for text in texts]

    def rarity(self, word: str) -> float:
        """How much a word tells by itself: near 0 for `the`, 1 for what is no common word."""
        return self._model.rarity(word)


class HttpEmbedder:
    """A model behind an address the user configured. Nothing is sent before the first text."""

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
            # Somebody waits for one text, a question; nobody for many.
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
        """The vectors in the order of the texts, from either of the two shapes."""
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
            raise self._unusable("one holds something that is no number")
        return quantised(vector)

    def _unusable(self, what: str) -> Unavailable:
        return Unavailable(
            f"no vectors from the embedder: {what}",
            where=self._url,
            hint="Check the address, the model's name and its number of dimensions in your "
            "configuration; recall works by words alone until then.",
        )
