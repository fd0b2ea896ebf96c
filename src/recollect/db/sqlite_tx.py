"""One SQLite transaction: the statements that all engines run, and matching words with FTS5."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import apsw

from .database import MATCHED_COLUMNS, STEM_WEIGHT, Matched, Params, Row, placeholders

# One pass scores and sorts. FTS5's own ORDER BY rank makes two, the second to count
# each term again.
_SCORE = f"bm25(words, 1.0, {STEM_WEIGHT})"
_MATCH = (
    f"SELECT {MATCHED_COLUMNS}, -w.score FROM (SELECT rowid, {_SCORE} AS score FROM words "
    "WHERE words MATCH :match ORDER BY score LIMIT :limit) w "
    "CROSS JOIN entries e ON e.id = w.rowid"
)
_MATCH_NEAR = _MATCH + " WHERE "
_MATCH_EXACTLY = (
    f"SELECT {MATCHED_COLUMNS}, -{_SCORE} AS score FROM words CROSS JOIN entries e "
    "ON e.id = words.rowid WHERE words MATCH :match AND "
)


class SqliteTx:
    """One transaction of one connection."""

    for_update = ""
    skip_locked = ""

    def __init__(self, connection: apsw.Connection, space: str) -> None:
        self._connection = connection
        self.space = space

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        return list(self._connection.execute(sql, {"space": self.space, **(params or {})}))

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows = self.run(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self._connection.executemany(sql, ({"space": self.space, **row} for row in rows))

    def add_words(self, entry: int, terms: str, stems: str) -> None:
        self._connection.execute(
            "INSERT INTO words (rowid, terms, stems) VALUES (?, ?, ?)", (entry, terms, stems)
        )

    def remove_words(self, entry: int) -> None:
        self._connection.execute("DELETE FROM words WHERE rowid = ?", (entry,))

    def match(
        self, terms: Sequence[str], limit: int, where: str, params: Params, exact: bool = True
    ) -> list[Matched]:
        question = " OR ".join(f'"{term}"' for term in terms)
        bound = {**params, "space": self.space, "match": question, "limit": limit}
        sql = _MATCH if not where else (_MATCH_EXACTLY if exact else _MATCH_NEAR) + where
        if where and exact:
            sql += " ORDER BY score DESC LIMIT :limit"
        return list(map(Matched._make, self._connection.execute(sql, bound)))

    def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        # The largest entry number stands for the count: exact until something is deleted, and free.
        total = self.one("SELECT coalesce(max(id), 0) FROM entries")
        names, params = placeholders("term", terms)
        found = self.run(f"SELECT term, doc FROM word_counts WHERE term IN ({names})", params)
        return (total[0] if total else 0), {**dict.fromkeys(terms, 0), **dict(found)}
