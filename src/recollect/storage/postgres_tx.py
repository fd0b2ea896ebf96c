"""One PostgreSQL transaction: plain statements, word search with the same BM25 as SQLite, and
nearest vectors with pgvector.

Every statement is a round trip. Spaces that are read together share a `Snapshot`: what one of them
asks is asked for all of them in one statement, and the answer is kept. Work that reads ahead is run
in rounds: its queries are collected, and one statement answers all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import islice
from math import log
from typing import TYPE_CHECKING, Any

from . import sql_postgres
from .database import MATCH_COLUMNS, IndexedRecord, IndexMatch, Params, Result, Row, StemFrequencies
from .postgres_schema import SCHEMA, SIGNED, to_driver

if TYPE_CHECKING:
    import psycopg

_ROWS_AT_ONCE = 500
_MOST_ROUNDS = 9
"""Rounds after which work that still has new queries is run statement by statement."""


class _Unanswered(Exception):
    """The rest of the work depends on queries that are not answered yet."""


class Snapshot:
    """One transaction of one connection, and the spaces that are used in it."""

    def __init__(
        self,
        cursor: psycopg.Cursor[Row],
        read_only: bool,
        finds_nearest: bool,
        begin: Sequence[str],
    ) -> None:
        self._cursor = cursor
        self._begin = list(begin)
        self.begun = False
        self.may_be_lost = False
        self.read_only = read_only
        self.finds_nearest = finds_nearest
        self.transaction = ""
        self._spaces: dict[str, PostgresTx] = {}
        self._answers: dict[tuple[object, ...], list[Row]] = {}
        self._asked: dict[str, tuple[str, Params]] | None = None
        """The queries of this round that have no answer yet; None outside of rounds."""
        self._answered: dict[str, list[Row]] = {}
        self._is_open = False
        """Whether the last query has no answer yet."""

    def tx(self, space: str) -> PostgresTx:
        """Return the transaction as one space uses it."""
        return self._spaces.setdefault(space, PostgresTx(self, space))

    def siblings(self, tx: PostgresTx) -> list[PostgresTx]:
        """Return the other spaces of a read."""
        return [one for one in self._spaces.values() if one is not tx] if self.read_only else []

    @property
    def cursor(self) -> psycopg.Cursor[Row]:
        """Return the cursor; the transaction begins with its first use."""
        if not self.begun:
            self.begun = True
            for statement in self._begin:
                self._cursor.execute(statement)
        return self._cursor

    def transaction_id(self) -> str:
        """Return the id of this transaction, which survives a lost connection; empty if it changed
        nothing."""
        if not self.transaction:
            self.cursor.execute("SELECT pg_current_xact_id_if_assigned()::text")
            row = self.cursor.fetchone()
            self.transaction = row[0] or "" if row else ""
        return self.transaction

    def read_in_rounds(self, work: Callable[[], Result]) -> Result:
        """Run work that only reads until all its queries are answered. A query without an answer
        returns no rows and is collected; after the round, one statement answers all of them."""
        for _ in range(_MOST_ROUNDS):
            self._asked = {}
            self._spaces.clear()
            try:
                result = work()
                if not self._asked:
                    return result
            except _Unanswered:
                pass
            except Exception:
                if not self._asked:
                    raise  # it saw nothing but real answers
            self._answer(self._asked)
        self._asked = None
        self._spaces.clear()
        return work()

    def settle(self) -> None:
        """End the round if its last query is not answered yet."""
        if self._is_open:
            raise _Unanswered

    def _answer(self, asked: dict[str, tuple[str, Params]]) -> None:
        """Answer queries of different shapes in one statement: an array of rows for each."""
        self._asked, self._is_open = None, False
        parts: list[str] = []
        bound: dict[str, Any] = {}
        for place, (sql, params) in enumerate(asked.values()):
            text = to_driver(sql).replace("%(", f"%(q{place}_")
            parts.append(f"ARRAY(SELECT row_{place} FROM ({text}) row_{place})")
            bound |= {f"q{place}_{name}": value for name, value in params.items()}
        cursor = self.cursor
        # The binary format names the type of each column of a row.
        cursor.execute(f"SELECT {', '.join(parts)}", bound, binary=True)
        self._answered |= zip(asked, cursor.fetchone() or (), strict=True)

    def run(self, sql: str, params: Params) -> list[Row]:
        """Run one statement and return its rows; in a round, those of an earlier one."""
        if self._asked is not None:
            key = f"{sql} {sorted(params.items())}"
            self._is_open = key not in self._answered
            if self._is_open:
                self._asked[key] = (sql, params)
            return self._answered.get(key, [])
        cursor = self.cursor
        cursor.execute(to_driver(sql), params)
        return cursor.fetchall() if cursor.description else []

    def run_shared(self, space: str, sql: str, params: Params) -> list[Row]:
        """Run a query for all spaces of a read at once; the others find their rows here."""
        if not self.read_only or self._asked is not None:
            return self.run(sql, {**params, "space": space})
        key = (sql, *(str(item) for item in sorted(params.items(), key=lambda one: one[0])))
        if (space, *key) not in self._answers:
            parts = [
                f"(SELECT {place} AS space_place, q.* FROM ("
                + sql.replace(":space", f":space_{place}").rstrip()
                + ") q)"
                for place in range(len(self._spaces))
            ]
            bound = {f"space_{place}": name for place, name in enumerate(self._spaces)}
            for name in self._spaces:
                self._answers[(name, *key)] = []
            names = list(self._spaces)
            for place, *row in self.run(" UNION ALL ".join(parts), {**params, **bound}):
                self._answers[(names[place], *key)].append(tuple(row))
        return self._answers[(space, *key)]


class PostgresTx:
    """A transaction as one space uses it."""

    is_remote = True
    for_update = "FOR UPDATE"
    skip_locked = "FOR UPDATE SKIP LOCKED"
    texts_in_json = "SELECT json_array_elements_text(CAST(:{} AS json))"

    def __init__(self, snapshot: Snapshot, space: str) -> None:
        self.snapshot = snapshot
        self.space = space
        self.finds_nearest = snapshot.finds_nearest
        self._known: dict[str, int] = {}
        self._totals: tuple[Any, ...] = ()
        self._whole: dict[tuple[Any, ...], tuple[int, list[IndexMatch]]] = {}
        self._near: dict[tuple[str, bytes], list[IndexMatch]] = {}

    def allow_loss(self) -> None:
        """Skip the check whether the commit was done if its answer is lost."""
        self.snapshot.may_be_lost = True

    def settle(self) -> None:
        self.snapshot.settle()

    def altered(self, table: str) -> str:
        # The views of memories check the seal: they show other labels than those that are sealed.
        return "seal IS NOT NULL" if table in SIGNED else f"seal <> {SCHEMA}.seal_of({table})"

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        return self.snapshot.run(sql, {"space": self.space, **(params or {})})

    def run_batched(self, sql: str, params: Params | None = None) -> list[Row]:
        return self.snapshot.run_shared(self.space, sql, params or {})

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows = self.run(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self.snapshot.cursor.executemany(
            to_driver(sql), [{"space": self.space, **row} for row in rows]
        )

    def insert(self, table: str, columns: str, rows: Iterable[Row], skip: bool = False) -> None:
        row_form = f"({', '.join(['%s'] * (columns.count(',') + 2))})"
        left = iter(rows)
        while batch := [(self.space, *row) for row in islice(left, _ROWS_AT_ONCE)]:
            self.snapshot.cursor.execute(
                f"INSERT INTO {SCHEMA}.{table} (space, {columns}) "
                f"VALUES {', '.join([row_form] * len(batch))}"
                + (" ON CONFLICT DO NOTHING" if skip else ""),
                [value for row in batch for value in row],
            )

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        bound: dict[str, Any] = {
            name: [getattr(record, name) for record in records]
            for name in (*sql_postgres.COLUMNS, "stems")
        }
        facets = [
            (place, name, value)
            for place, record in enumerate(records, start=1)
            for name, value in record.facets
        ]
        for at, name in enumerate(("facet_places", "facet_names", "facet_values")):
            bound[name] = [facet[at] for facet in facets]
        row = self.one(sql_postgres.ADD_ENTRIES, bound)
        self.snapshot.transaction = row[0] if row else ""

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        entries, texts = [entry for entry, _ in stems], [text for _, text in stems]
        self.run(sql_postgres.ADD_WORDS, {"entries": entries, "stems": texts})

    def remove_words(self, entry: int) -> None:
        self.run(sql_postgres.REMOVE_WORDS, {"entry": entry})

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        exact: bool = True,
        vector: bytes = b"",
    ) -> list[IndexMatch]:
        key = (tuple(stems), where, str(sorted(params.items())))
        most_asked, whole = self._whole.get(key, (0, []))
        if exact and limit <= most_asked:
            return whole[:limit]
        known = self.frequencies(stems)
        if not vector and not any(known.holding.values()):
            return []
        others = self.snapshot.siblings(self) if not params.get("scopes") else []
        parts = [known, *(other.frequencies(stems) for other in others)]
        entries = sum(part.entries for part in parts)
        sums = {stem: sum(part.holding[stem] for part in parts) for stem in stems}
        held = {stem: number for stem, number in sums.items() if number}
        length = sum(part.entries * part.average for part in parts)
        rarities = [
            max(log((entries - number + 0.5) / (number + 0.5)), 1e-6) if entries > number else 1e-6
            for number in held.values()
        ]
        if not held:
            return []
        pool = max(8 * limit, sql_postgres.POOL)
        bound = {
            **params,
            "stems": list(held),
            "rarities": rarities,
            "average": max(length / max(entries, 1), 1.0),
            "pool": pool,
            "limit": limit,
        }
        filtered = f"WHERE {where}" if where else ""
        sql = sql_postgres.MATCH.format(
            best=sql_postgres.SCORED if where and exact else sql_postgres.BEST,
            where=filtered,
            vector=sql_postgres.VECTOR if vector else "NULL::bytea",
        )
        asks_near = vector and self.finds_nearest and (where, vector) not in self._near
        if asks_near:
            # One round trip for words and meaning.
            near = sql_postgres.NEAREST.format(dims=len(vector), where=filtered)
            sql = f"({sql}) UNION ALL ({near})"
            bound |= {"vector": _direction(vector), "near": sql_postgres.NEAR_AHEAD}
        rows = self.run_batched(sql, bound) if others else self.run(sql, bound)
        found = [IndexMatch._make(row[:-1]) for row in rows if row[-1] is not None]
        if asks_near:
            self._near[where, vector] = [
                IndexMatch._make(row[:-1]) for row in rows if row[-1] is None
            ]
        if ((found and rows[0][-1]) or sum(known.holding.values())) < pool:
            self._whole[key] = limit, found  # the filter saw all matches
        return found

    def match_some(
        self, stems: Sequence[str], limit: int, where: str, params: Params
    ) -> list[IndexMatch]:
        return self.match(stems, limit, where, params)

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params, vector: bytes = b""
    ) -> list[IndexMatch]:
        held = sql_postgres.VECTOR if vector else "NULL"
        rows = self.run(
            f"SELECT {MATCH_COLUMNS}, e.stems, 0.0, {held} FROM entries e WHERE e.space = :space "
            "AND e.id = ANY(:entries)" + (f" AND {where}" if where else ""),
            {**params, "entries": list(entries)},
        )
        return list(map(IndexMatch._make, rows))

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        missing = sorted({stem for stem in stems if stem not in self._known})
        if missing or not self._totals:
            rows = self.run_batched(sql_postgres.FREQUENCIES, {"stems": missing})
            for entries, length, stem, held, embedder, outdated, waits, blocks, _, _ in rows:
                self._totals = (entries, length, embedder or "", outdated, waits, blocks)
                if stem is not None:
                    self._known[stem] = held
        if not self._totals:  # not answered in this round
            return StemFrequencies(0, 0.0, dict.fromkeys(stems, 0))
        entries, length, embedder, outdated, waits, blocks = self._totals
        return StemFrequencies(
            entries=entries,
            average=length / max(entries, 1),
            holding={stem: self._known[stem] for stem in stems},
            embedder=embedder,
            outdated=outdated,
            unembedded=waits,
            blocks=blocks,
        )

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        dims = len(vectors[0][1]) if vectors else 0
        index = f"vectors_near_{dims}"
        if dims and self.one("SELECT to_regclass(:name)", {"name": f"{SCHEMA}.{index}"}) == (None,):
            owner = self.one(
                "SELECT pg_has_role(relowner, 'USAGE') FROM pg_class "
                "WHERE oid = 'recollect.vectors'::regclass"
            )
            if owner and owner[0]:
                self.run(sql_postgres.NEAREST_INDEX.format(dims=dims))
        self.run(
            "UPDATE vectors SET direction = g.direction::vector "
            "FROM unnest(:entries::bigint[], :directions::text[]) AS g (entry, direction) "
            "WHERE vectors.space = :space AND vectors.entry = g.entry",
            {
                "entries": [entry for entry, _ in vectors],
                "directions": [_direction(vector) for _, vector in vectors],
            },
        )

    def nearest(
        self, vector: bytes, count: int, where: str, params: Params, *, exact: bool
    ) -> list[IndexMatch]:
        if not exact and (where, vector) in self._near:
            return self._near[where, vector]
        bound = {**params, "vector": _direction(vector), "count": count, "near": count}
        form = sql_postgres.NEAREST_OF if exact and where else sql_postgres.NEAREST
        clause = where if form is sql_postgres.NEAREST_OF else f"WHERE {where}" if where else ""
        if not self._totals:
            self.frequencies(())  # sets how far the vector index is searched
        rows = self.run(form.format(dims=len(vector), where=clause), bound)
        return [IndexMatch._make(row[:-1]) for row in rows]


def _direction(vector: bytes) -> str:
    """Convert our bytes (128 is zero) to pgvector's numbers."""
    return "[" + ",".join([str(component - 128) for component in vector]) + "]"
