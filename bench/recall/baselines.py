"""What others do: words in FTS5, vectors alone, and the two joined by rank."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Protocol

import apsw

from recollect.index import vectors
from recollect.index.embedders_io import StaticEmbedder

from .datasets import Item

_STOP = """
    a about after all also an and any are as at be because been before being but by can could
    did do does doing for from had has have he her here him his how i if in into is it its just
    me more most my no not of on or our out over she should so some such than that the their
    them then there these they this those to too up us was we were what when where which who
    whom why will with would you your
"""


class Retriever(Protocol):
    """Anything that keeps items and answers with their ids, best first."""

    def add(self, items: Sequence[Item]) -> None: ...

    def search(self, question: str, count: int) -> list[str]: ...

    def close(self) -> None:
        """Give back what it holds."""
        return


class Words(Retriever):
    """FTS5 with the Porter stemmer, all words of the question OR-ed, by its bm25()."""

    def __init__(self, stop: str = "") -> None:
        self._stop = frozenset(stop.split())
        self._db = apsw.Connection(":memory:")
        self._db.execute(
            "CREATE VIRTUAL TABLE t USING fts5(id UNINDEXED, text, tokenize='porter unicode61')"
        )

    def add(self, items: Sequence[Item]) -> None:
        self._db.executemany("INSERT INTO t VALUES (?, ?)", [(i.id, i.text) for i in items])

    def search(self, question: str, count: int) -> list[str]:
        words = list(dict.fromkeys(re.findall(r"\w+", question.lower())))
        words = [word for word in words if word not in self._stop] or words
        if not words:
            return []
        match = " OR ".join(f'"{word}"' for word in words)
        sql = "SELECT id FROM t WHERE t MATCH ? ORDER BY bm25(t), rowid LIMIT ?"
        return [str(row[0]) for row in self._db.execute(sql, (match, count))]


def telling_words() -> Words:
    """The same without stop words."""
    return Words(_STOP)


class Remembered:
    """The package's static embedder; texts that several haystacks share are embedded once."""

    def __init__(self) -> None:
        self.static = StaticEmbedder()
        self._vectors: dict[str, bytes] = {}

    def vector(self, text: str) -> bytes:
        held = self._vectors.get(text)
        if held is None:
            held = self._vectors[text] = self.static.embed([text])[0]
        return held


EMBEDDER = Remembered()


class Vectors(Retriever):
    """The static model alone, every vector compared."""

    def __init__(self) -> None:
        self._items: list[Item] = []

    def add(self, items: Sequence[Item]) -> None:
        self._items += items

    def search(self, question: str, count: int) -> list[str]:
        held = [EMBEDDER.vector(item.text) for item in self._items]
        found = vectors.cosine_similarities(EMBEDDER.vector(question), held)
        order = sorted(range(len(found)), key=lambda place: -found[place])
        return [self._items[place].id for place in order[:count]]


class ByRank(Retriever):
    """Reciprocal rank fusion of the two above."""

    def __init__(self) -> None:
        self._parts: tuple[Retriever, Retriever] = (telling_words(), Vectors())

    def add(self, items: Sequence[Item]) -> None:
        for part in self._parts:
            part.add(items)

    def search(self, question: str, count: int) -> list[str]:
        score: dict[str, float] = {}
        for part in self._parts:
            for rank, hit in enumerate(part.search(question, count)):
                score[hit] = score.get(hit, 0.0) + 1 / (61 + rank)
        return sorted(score, key=lambda hit: -score[hit])[:count]
