"""Word search with FTS5: the statements, and reading the best matches."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

import apsw

from .database import MATCH_COLUMNS, PRECISION, IndexMatch, Params, Row, order_matches

# One pass scores and sorts. FTS5's own ORDER BY rank makes two, the second to count each term
# again. Texts are read only for the remaining rows, from the table in which FTS5 stores them:
# asking FTS5 for each takes twice as long.
_BEST = (
    "SELECT rowid AS id, bm25(words) AS score FROM words WHERE words MATCH :match "
    "ORDER BY score LIMIT :pool"
)
_BEST_OF = (
    "SELECT e.id, bm25(words) AS score FROM words CROSS JOIN entries e ON e.id = words.rowid "
    "WHERE words MATCH :match AND {where} ORDER BY score LIMIT :pool"
)
SOME_OF = (
    "SELECT e.id, 0.0 AS score FROM words CROSS JOIN entries e ON e.id = words.rowid "
    "WHERE words MATCH :match AND {where} LIMIT :limit"
)
MATCH = (
    f"SELECT {MATCH_COLUMNS}, held.c0, -w.score, {{vector}} FROM ({{best}}) w "
    "CROSS JOIN entries e ON e.id = w.id CROSS JOIN words_content held ON held.id = w.id"
)
_FIRST = f"{MATCH} WHERE {{where}}"
"""Those that fulfil a condition: the join keeps the order of the best, and is read no further than
to the last one that is wanted and those equal to it, because FTS5 breaks ties by entry number."""
_TIED, _MOST_TIED = 50, 2_000
"""So many matches more are sorted than are wanted, for those equal to the last one; four times as
many, up to the most, if there are more."""
VECTOR = "(SELECT v.vector FROM vectors v WHERE v.entry = e.id)"


def match_all(
    connection: apsw.Connection, limit: int, where: str, params: Params, vector: bytes
) -> list[IndexMatch]:
    """Return the best of all matches that fulfil a condition."""
    best = _BEST_OF.format(where=where) if where else _BEST
    sql = MATCH.format(best=best, vector=VECTOR if vector else "NULL")
    pool = limit + _TIED
    while True:
        found, is_end = _read_best(connection, sql, limit, {**params, "pool": pool})
        if not is_end or not pool <= min(len(found), limit + _MOST_TIED):
            return order_matches(found)[:limit]
        pool *= 4


def match_among(
    connection: apsw.Connection, limit: int, where: str, params: Params, pool: int, vector: bytes
) -> list[IndexMatch] | None:
    """Return the same from the `pool` best matches (-1: all of them), or None if that are too few
    to tell."""
    if not where:
        return match_all(connection, limit, where, params, vector)
    sql = _FIRST.format(best=_BEST, vector=VECTOR if vector else "NULL", where=where)
    most = max(pool, limit + _TIED) if pool >= 0 else -1
    found, is_end = _read_best(connection, sql, limit, {**params, "pool": most})
    return None if is_end and pool >= 0 else order_matches(found)[:limit]


def _read_best(
    connection: apsw.Connection, sql: str, limit: int, params: Params
) -> tuple[list[IndexMatch], bool]:
    """Return the first matches of a statement and those equal to the last one, and whether these
    are all."""
    cursor = connection.execute(sql, params)
    rows = map(as_match, _decodable(cursor))
    found = list(islice(rows, limit))
    for one in rows:
        if int(PRECISION * (found[limit - 1].score - one.score)):
            cursor.close()
            return found, False
        found.append(one)
    return found, True


def as_match(row: Row) -> IndexMatch:
    # The statements select its fields: `_make` would count them.
    return tuple.__new__(IndexMatch, row)


def _decodable(cursor: apsw.Cursor) -> Iterator[Row]:
    while True:
        try:
            yield from cursor
            return
        except UnicodeDecodeError:
            pass  # go on with the next row


def any_of(stems: Sequence[str]) -> str:
    return " OR ".join(map(quote, stems))


def quote(stem: str) -> str:
    return f'"{stem}"'
