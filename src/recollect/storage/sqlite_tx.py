"""One SQLite transaction: plain statements, and word search with FTS5."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice

import apsw

from ..errors import StoreCorrupt
from ..fast_typing import Any
from ..text import seals
from . import sqlite_words
from .database import (
    MATCH_COLUMNS,
    IndexedRecord,
    IndexMatch,
    Params,
    Result,
    Row,
    StemFrequencies,
    is_embedded,
    rank_shared,
)
from .sql import COUNT_NEW, count_new_memories
from .sqlite_words import MATCH, SOME_OF, VECTOR, any_of, as_match, quote

_WITH_STEM = "SELECT group_concat(rowid) FROM words WHERE words MATCH ?"
"""All entries with a stem: as one text, in half the time that rows take."""
_COMMON, _GROWN, _MOST_COMMON = 50, 1.25, 20_000
"""A connection remembers how many entries have a stem, from so many on, until the store has grown
or shrunk by this factor."""
_FEW_WITH_STEM = (
    "SELECT count(*), group_concat(rowid) FROM "
    f"(SELECT rowid FROM words WHERE words MATCH ? LIMIT {_COMMON})"
)
_REFS = (
    "SELECT CAST(e.id AS TEXT), e.ref FROM entries e "
    "WHERE e.id IN (SELECT value FROM json_each(:entries)) AND {where}"
)
_MOST_FILTERED = 200
_HOLDING = "SELECT count(*), 0 FROM words WHERE words MATCH ?"
_LATELY, _LARGE = 200, 20_000
_HOLDING_LATELY = (
    "SELECT count(*), (SELECT max(id) FROM entries) - min(rowid) "
    "FROM (SELECT rowid FROM words WHERE words MATCH ? "
    f"ORDER BY rowid DESC LIMIT {_LATELY})"
)
_THESE = (
    f"SELECT {MATCH_COLUMNS}, held.c0, 0.0, {{vector}} FROM json_each(:entries) w "
    "CROSS JOIN entries e ON e.id = w.value CROSS JOIN words_content held ON held.id = e.id"
)
_ENTRY = "source, ref, kind, layer, owner, status, label, seq, at, part"
_STATE = (
    "SELECT (SELECT value FROM state WHERE space = :space AND key = 'embedder'), "
    "EXISTS (SELECT 1 FROM state WHERE space = :space AND key = 'words'), "
    "EXISTS (SELECT 1 FROM unembedded WHERE space = :space), "
    "EXISTS (SELECT 1 FROM messages WHERE space = :space)"
)
_REMOVE_VECTOR = "DELETE FROM vectors WHERE entry = :entry AND space = :space RETURNING block"
_COUNT_DEAD = "UPDATE blocks SET dead = dead + 1 WHERE space = :space AND block = :block"
_TOTALS = "SELECT block FROM words_data WHERE id = 1"


class SqliteTx:
    """One transaction of one connection."""

    for_update = ""
    skip_locked = ""
    in_json = in_numbers = "IN (SELECT value FROM json_each(:{}))"
    finds_nearest = False
    is_remote = False
    is_answered = True

    def __init__(
        self,
        connection: apsw.Connection,
        space: str,
        kept: dict[str, Any] | None = None,
        common: dict[str, tuple[int, int]] | None = None,
    ) -> None:
        self._connection = connection
        # One for all statements: each is read to its end, and to make a cursor takes as long as a
        # short statement.
        self._cursor = connection.cursor()
        self.space = space
        self._kept = kept
        self._common = {} if common is None else common
        self._listed: dict[str, str | None] = {}

    def keep(self, name: str, read: Callable[[], Result]) -> Result:
        if self._kept is None:
            return read()  # what it reads may be rolled back
        # Other connections' commits change the one, our own the other.
        state = self._connection.pragma("data_version"), self._connection.total_changes()
        if self._kept.get("") != state:
            self._kept.clear()
            self._kept[""] = state
        if name not in self._kept:
            self._kept[name] = read()
        found: Result = self._kept[name]
        return found

    def settle(self) -> None:
        """Do nothing: every query is answered at once."""

    def gather(self, work: Callable[[], Result]) -> Result:
        return work()

    def altered(self, table: str) -> str:
        return seals.altered_form(table)

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        return self._readable(sql, params)[0]

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows, damaged = self._readable(sql, params)
        if damaged and not rows:
            # Not None: the caller would make another record.
            raise StoreCorrupt(
                "this record cannot be read: it holds text that is not UTF-8",
                where=self._connection.filename,
                hint="`recollect doctor` names such records; restore it from a copy made by "
                "`recollect backup`",
            )
        return rows[0] if rows else None

    def _readable(self, sql: str, params: Params | None) -> tuple[list[Row], int]:
        """Return the rows that can be decoded, and the number of damaged ones."""
        found = self._cursor.execute(sql, {"space": self.space, **(params or {})})
        rows: list[Row] = []
        damaged = 0
        while True:
            try:
                rows.extend(found)
                return rows, damaged
            except UnicodeDecodeError:
                damaged += 1  # keep the rows so far and go on with the next

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self._cursor.executemany(sql, ({"space": self.space, **row} for row in rows))

    def insert(self, table: str, columns: str, rows: Iterable[Row], skip: bool = False) -> None:
        # Positional: binding every value by name takes longer than inserting it.
        space = self.space
        if table in seals.COLUMNS:
            # Sealing a row after its insertion takes a third of the insertion.
            rows = list(rows)
            sealed = seals.seal_rows(table, columns.split(", "), rows)
            kept = [(space, *row, seal) for row, seal in zip(rows, sealed, strict=True)]
            columns = f"{columns}, seal"
        else:
            kept = [(space, *row) for row in rows]
        places = ", ?" * (columns.count(",") + 1)
        sql = f"INSERT INTO {table} (space, {columns}) VALUES (?{places})"
        if skip:
            sql += " ON CONFLICT DO NOTHING"
        self._cursor.executemany(sql, kept)
        if table == "memories":
            self._cursor.executemany(COUNT_NEW, count_new_memories(columns, kept))

    def run_batched(self, sql: str, params: Params | None = None) -> list[Row]:
        return self.run(sql, params)

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        # SQLite numbers the rows one after the other. Asking each insertion for its id costs ten
        # times the insertion.
        self.insert("entries", _ENTRY, [record[:10] for record in records])
        first = self._connection.last_insert_rowid() - len(records) + 1
        numbered = list(enumerate(records, start=first))
        facets = [(id, *facet) for id, record in numbered for facet in record.facets]
        if facets:
            self.insert("facets", "entry, name, value", facets)
        self.add_words([(id, record.stems) for id, record in numbered])
        embedded = [(id,) for id, record in numbered if is_embedded(record)]
        self.insert("unembedded", "entry", embedded)

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        self._cursor.executemany("INSERT INTO words (rowid, stems) VALUES (?, ?)", stems)

    def remove_words(self, entry: int) -> None:
        self._cursor.execute("DELETE FROM words WHERE rowid = ?", (entry,))

    def remove_entries(self, source: str, ref: str, seq: int) -> None:
        gone = self.run(
            "DELETE FROM entries WHERE space = :space AND source = :source AND ref = :ref "
            "AND seq = :seq RETURNING id",
            {"source": source, "ref": ref, "seq": seq},
        )
        for (entry,) in gone:
            self.remove_words(entry)
            for table in ("facets", "unembedded"):
                self._cursor.execute(f"DELETE FROM {table} WHERE entry = ?", (entry,))
            row = self.one(_REMOVE_VECTOR, {"entry": entry})
            if row and row[0]:
                self.run(_COUNT_DEAD, {"block": row[0]})

    def match(
        self, stems: Sequence[str], limit: int, where: str, params: Params, *, vector: bytes = b""
    ) -> list[IndexMatch]:
        bound = {"space": self.space, **params, "match": any_of(stems)}
        return sqlite_words.match_all(self._connection, limit, where, bound, vector)

    def match_among(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        pool: int,
        vector: bytes = b"",
    ) -> list[IndexMatch] | None:
        # FTS5 counts all rows with each stem for the score: a common one is expensive.
        bound = {"space": self.space, **params, "match": any_of(stems)}
        return sqlite_words.match_among(self._connection, limit, where, bound, pool, vector)

    def match_some(
        self, groups: Sequence[Sequence[str]], limit: int, where: str, params: Params
    ) -> list[IndexMatch]:
        sql = MATCH.format(best=SOME_OF.format(where=where), vector="NULL")
        wanted = [f"({' AND '.join(map(quote, group))})" for group in groups]
        return self._read_matches(sql, {**params, "match": " OR ".join(wanted), "limit": limit})

    def match_shared(
        self, weights: Mapping[str, float], limit: int, where: str, params: Params
    ) -> list[str]:
        # FTS5's own rank reads the length of every entry with a stem, in three times the time.
        new = [stem for stem in weights if stem not in self._listed]
        rows = self._cursor.executemany(_WITH_STEM, [(quote(stem),) for stem in new])
        listed = {**self._listed, **dict(zip(new, (text for (text,) in rows), strict=True))}
        ranked = rank_shared(listed, weights)
        found: dict[str, None] = {}
        second = size = limit
        while len(found) < limit and (some := list(islice(ranked, size))):
            # Not the numbers themselves: to prepare another statement takes longer than to run it.
            bound = {**params, "entries": f"[{','.join(some)}]"}
            held: dict[str, str] = dict(self.run(_REFS.format(where=where), bound))
            found |= dict.fromkeys([held[entry] for entry in some if entry in held])
            # As of other searches: three quarters are enough.
            size = second or (_MOST_FILTERED if 4 * len(found) < 3 * limit else 0)
            second = 0
        return list(found)[:limit]

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params, vector: bytes = b""
    ) -> list[IndexMatch]:
        sql = _THESE.format(vector=VECTOR if vector else "NULL")
        sql += f" WHERE {where}" if where else ""
        # Bound as one list: a statement with the numbers in its text is compiled each time.
        listed = ", ".join(map(str, sorted({*entries})))
        return self._read_matches(sql, {**params, "entries": f"[{listed}]"})

    def _read_matches(self, sql: str, params: Params) -> list[IndexMatch]:
        return list(map(as_match, self.run(sql, params)))

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        entries, average = self._totals()
        embedder, outdated, waits, messages = self.one(_STATE) or ("", 0, 0, 0)
        return StemFrequencies(
            entries=entries,
            average=average,
            holding=self._count_holding(stems, entries),
            embedder=embedder or "",
            outdated=bool(outdated),
            unembedded=bool(waits),
            messages=bool(messages),
        )

    def frequencies_lately(self, stems: Sequence[str]) -> StemFrequencies:
        entries, average = self._totals()
        common, holding, self._listed = self._common, {}, {}
        for stem in stems:
            count, then = common.get(stem, (0, 0))
            if not count or not then <= _GROWN * entries <= _GROWN * _GROWN * then:
                count, listed = self._cursor.execute(_FEW_WITH_STEM, (quote(stem),)).get
                if count < _COMMON:
                    self._listed[stem] = listed
                else:
                    count = self._count_holding([stem], entries)[stem]
                    common[stem] = count, entries
            holding[stem] = count
        if len(common) > _MOST_COMMON:
            common.clear()
        return StemFrequencies(entries, average, holding)

    def _totals(self) -> tuple[int, float]:
        """Return the number of entries, and the average number of their stems."""
        totals = self.one(_TOTALS)
        entries, words = _numbers(totals[0]) if totals else (0, 0)
        return entries, words / max(entries, 1)

    def _count_holding(self, stems: Sequence[str], entries: int) -> dict[str, int]:
        """Count the entries with each stem. Counting a common one takes as long as searching for
        it, so a large store extrapolates from the newest that have it."""
        # Faster than a call for each.
        sql = _HOLDING_LATELY if entries > _LARGE else _HOLDING
        rows = self._cursor.executemany(sql, [(quote(stem),) for stem in stems])
        return {
            stem: held * entries // (span + 1) if span and held >= _LATELY else held
            for stem, (held, span) in zip(stems, rows, strict=True)
        }

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        raise NotImplementedError("SQLite finds no vectors: see finds_nearest")

    def nearest(
        self, vector: bytes, count: int, where: str, params: Params, least: float
    ) -> list[IndexMatch]:
        raise NotImplementedError("SQLite finds no vectors: see finds_nearest")


def _numbers(record: bytes) -> tuple[int, int]:
    """Return FTS5's own totals: rows, and tokens of the one column."""
    found, value = [], 0
    for byte in record:
        value = value << 7 | byte & 127
        if byte < 128:
            found.append(value)
            value = 0
    return (found[0], found[1]) if len(found) > 1 else (0, 0)
