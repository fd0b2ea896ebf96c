"""One PostgreSQL transaction: plain statements, word search with the same BM25 as SQLite, and
nearest vectors with pgvector."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import log
from typing import TYPE_CHECKING

from .database import MATCH_COLUMNS, IndexMatch, Params, Row, StemFrequencies

if TYPE_CHECKING:
    import psycopg

SCHEMA = "recollect"
_K1, _B = 1.2, 0.75
_MATCH = f"""
SELECT {MATCH_COLUMNS}, e.stems, e.length, {{vector}} FROM entries e
WHERE e.space = :space AND e.words @@ :question::tsquery {{where}}
ORDER BY ts_rank(e.words, :question::tsquery) DESC, e.id LIMIT :pool
"""
_VECTOR = "(SELECT v.vector FROM vectors v WHERE v.entry = e.id)"
_NEAREST = """
SELECT entry FROM vectors WHERE space = :space AND vector_dims(direction) = {dims}
ORDER BY direction::vector({dims}) <=> :vector::vector({dims}) LIMIT :count
"""
_NEAREST_OF = """
WITH found AS MATERIALIZED (
  SELECT v.entry, v.direction FROM entries e JOIN vectors v ON v.entry = e.id
  WHERE e.space = :space AND vector_dims(v.direction) = {dims} AND {where})
SELECT entry FROM found
ORDER BY direction::vector({dims}) <=> :vector::vector({dims}) LIMIT :count
"""
_NEAREST_INDEX = """
CREATE INDEX IF NOT EXISTS vectors_near_{dims} ON vectors
USING hnsw ((direction::vector({dims})) vector_cosine_ops) WHERE vector_dims(direction) = {dims}
"""


@lru_cache(maxsize=512)
def to_driver(sql: str) -> str:
    """Convert `:name` to the driver's placeholders."""
    return re.sub(r"(?<!:):([a-z_][a-z_0-9]*)", r"%(\1)s", sql.replace("%", "%%"))


def words_literal(stems: str) -> str:
    """Return a tsvector of stems with their positions."""
    places: dict[str, list[str]] = {}
    for position, stem in enumerate(stems.split(), start=1):
        places.setdefault(stem, []).append(str(position))
    return " ".join(f"{_quoted(stem)}:{','.join(at[:255])}" for stem, at in places.items())


def _quoted(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


class PostgresTx:
    """One transaction of one connection, in one space."""

    for_update = "FOR UPDATE"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    listed = "SELECT json_array_elements_text(CAST(:{} AS json))"

    def __init__(self, cursor: psycopg.Cursor[Row], space: str, finds_nearest: bool) -> None:
        self._cursor = cursor
        self.space = space
        self.finds_nearest = finds_nearest

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        self._cursor.execute(to_driver(sql), {"space": self.space, **(params or {})})
        return self._cursor.fetchall() if self._cursor.description else []

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows = self.run(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self._cursor.executemany(to_driver(sql), [{"space": self.space, **row} for row in rows])

    def insert(self, table: str, columns: str, rows: Iterable[Row]) -> None:
        places = ", %s" * (columns.count(",") + 1)
        sql = f"INSERT INTO {table} (space, {columns}) VALUES (%s{places})"
        self._cursor.executemany(sql, [(self.space, *row) for row in rows])

    def new_entries(self, count: int) -> Sequence[int]:
        rows = self.run(
            "SELECT nextval(pg_get_serial_sequence('entries', 'id')) "
            "FROM generate_series(1, :count)",
            {"count": count},
        )
        return [row[0] for row in rows]

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        self.many(
            "UPDATE entries SET words = :words::tsvector, stems = :stems, length = :length "
            "WHERE id = :entry",
            (
                {
                    "words": words_literal(held),
                    "stems": held,
                    "length": held.count(" ") + 1 if held else 0,
                    "entry": entry,
                }
                for entry, held in stems
            ),
        )

    def remove_words(self, entry: int) -> None:
        self.run(
            "UPDATE entries SET words = NULL, stems = '', length = 0 WHERE id = :entry",
            {"entry": entry},
        )

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        exact: bool = True,
        vectors: bool = False,
    ) -> list[IndexMatch]:
        known = self.frequencies(stems)
        rows = self.run(
            _MATCH.format(
                where=f"AND {where}" if where else "", vector=_VECTOR if vectors else "NULL"
            ),
            {
                **params,
                "question": " | ".join(_quoted(stem) for stem in stems),
                "pool": max(limit * 4, 200),
            },
        )
        found = [
            IndexMatch._make((*columns, held, _bm25(held, length, known), vector))
            for *columns, held, length, vector in rows
        ]
        return sorted(found, key=lambda match: (-match.score, match.ref, match.seq))[:limit]

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params
    ) -> list[IndexMatch]:
        rows = self.run(
            f"SELECT {MATCH_COLUMNS}, e.stems, 0.0, NULL FROM entries e WHERE e.space = :space "
            "AND e.id = ANY(:entries)" + (f" AND {where}" if where else ""),
            {**params, "entries": list(entries)},
        )
        return list(map(IndexMatch._make, rows))

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        total = self.one(
            "SELECT count(*), coalesce(avg(length), 0) FROM entries WHERE space = :space"
        )
        holding = {}
        for stem in stems:
            row = self.one(
                "SELECT count(*) FROM entries WHERE space = :space AND words @@ :stem::tsquery",
                {"stem": _quoted(stem)},
            )
            holding[stem] = row[0] if row else 0
        return StemFrequencies(total[0] if total else 0, float(total[1]) if total else 0.0, holding)

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        dims = len(vectors[0][1]) if vectors else 0
        index = f"vectors_near_{dims}"
        if dims and self.one("SELECT to_regclass(:name)", {"name": f"{SCHEMA}.{index}"}) == (None,):
            self.run(_NEAREST_INDEX.format(dims=dims))
        self.many(
            "UPDATE vectors SET direction = :vector::vector WHERE entry = :entry",
            ({"entry": entry, "vector": _direction(vector)} for entry, vector in vectors),
        )

    def nearest(self, vector: bytes, count: int, where: str, params: Params) -> list[int]:
        bound = {**params, "vector": _direction(vector), "count": count}
        if where:
            # The filter leaves few rows: searching the vector index would visit all others.
            sql = _NEAREST_OF.format(dims=len(vector), where=where)
            return [row[0] for row in self.run(sql, bound)]
        # Other spaces' vectors lie between ours: iterate the index until there are enough.
        self.run(f"SET LOCAL hnsw.ef_search = {min(max(count, 40), 1000)}")
        self.run("SET LOCAL hnsw.iterative_scan = relaxed_order")
        return [row[0] for row in self.run(_NEAREST.format(dims=len(vector)), bound)]


def _direction(vector: bytes) -> str:
    """Convert our bytes (128 is zero) to pgvector's numbers."""
    return "[" + ",".join([str(component - 128) for component in vector]) + "]"


def _bm25(stems: str, size: int, known: StemFrequencies) -> float:
    """Score with the formula of FTS5, so that both engines give the same order."""
    score, text = 0.0, f" {stems} "
    for stem, held in known.holding.items():
        often = stems.split().count(stem) if f" {stem} " in text else 0
        if often:
            rarity = max(log((known.entries - held + 0.5) / (held + 0.5)), 1e-6)
            damped = often + _K1 * (1 - _B + _B * size / max(known.average, 1.0))
            score += rarity * often * (_K1 + 1) / damped
    return score
