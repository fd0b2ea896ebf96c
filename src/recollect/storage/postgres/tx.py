"""One PostgreSQL transaction, with as few round trips as possible.

Every statement is a round trip. Three ways save them:

- Spaces that are used together share a `Snapshot`. `run_shared` asks for all of them in one
  statement, and keeps the answers for the others.
- Work that reads ahead runs in rounds (`read_in_rounds`). In a round a query returns its rows if it
  is answered, else no rows, and is noted; after the round one statement answers all that were
  noted, and the work runs again. For example:

      def work(tx):
          rule = tx.one("SELECT id FROM …")    # round 1: None, noted; round 2: answered
          seen = tx.run("SELECT ref FROM …")   # round 1: [], noted; round 2: answered
          return rule and load(tx, rule[0])    # round 2: noted; round 3: answered

  Three queries take two statements. `settle` ends a round early, where what follows would ask for
  too much without the answer.
- Writes that return nothing wait in a `WriteQueue` (`postgres_statements`), and one statement runs
  all of them: at the commit, or before a statement that names one of their tables.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any

from ...text.seals import unknown_status
from ..database import IndexedRecord, IndexMatch, Params, Result, Row, StemFrequencies
from . import sql, statements
from .pool import load_driver
from .statements import (
    SCHEMA,
    SIGNED,
    QueuedWrite,
    StatementTables,
    WriteQueue,
    find_tables,
    to_driver,
)

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
        space: str,
    ) -> None:
        self._cursor = cursor
        self._begin = list(begin)
        self.begun = False
        self.may_be_lost = False
        self.read_only = read_only
        self.finds_nearest = finds_nearest
        self.transaction = ""
        self.token = ""
        """Of the mark that this transaction has left, in the first of its spaces; empty before."""
        self._space = space
        self._spaces: dict[str, PostgresTx] = {}
        self._answers: dict[tuple[object, ...], list[Row]] = {}
        self._asked: dict[str, tuple[str, Params]] | None = None
        """The queries of this round that have no answer yet; None outside of rounds."""
        self._answered: dict[str, list[Row]] = {}
        self.is_open = False
        """Whether the last query has no answer yet."""
        self._queue = WriteQueue()

    def tx(self, space: str) -> PostgresTx:
        """Return the transaction as one space uses it."""
        return self._spaces.setdefault(space, PostgresTx(self, space))

    @property
    def is_in_rounds(self) -> bool:
        """Return whether queries are collected now."""
        return self._asked is not None

    @property
    def cursor(self) -> psycopg.Cursor[Row]:
        """Return the cursor; the transaction begins with its first use."""
        if not self.begun:
            self.begun = True
            for statement in self._begin:
                self._cursor.execute(statement)
        return self._cursor

    def transaction_id(self) -> str:
        """Return the id of this transaction, which survives a lost connection, and leave a mark;
        empty if it changed nothing. `flush` does both, too."""
        if not (self.transaction and self.token):
            id = "pg_current_xact_id_if_assigned()"
            mark, bound = ("", {}) if self.token else self._mark(id)
            self.cursor.execute(f"{'WITH' if mark else ''} {mark} SELECT {id}::text", bound)
            row = self.cursor.fetchone()
            self.transaction = row[0] or "" if row else ""
        return self.transaction

    def _mark(self, id: str) -> tuple[str, dict[str, Any]]:
        """Return the parts of a statement, with parameters, that mark the transaction."""
        self.token = os.urandom(8).hex()
        bound = {"space": self._space, "token": self.token}
        return to_driver(statements.MARK.format(id=id)), bound

    def read_in_rounds(self, work: Callable[[], Result], renew: bool = True) -> Result:
        """Run work until all its queries are answered. A query without an answer returns no rows
        and is collected; after the round, one statement answers all of them. The first write ends
        the rounds: what it depends on is answered, and what follows runs as it comes. `renew`
        forgets what a round found in the index, which is false without all answers."""
        if self._asked is not None:
            return work()
        self.flush()
        for _ in range(_MOST_ROUNDS):
            asked = self._asked = {}
            if renew:
                self._spaces.clear()
            try:
                result = work()
                if not asked:
                    return result
            except _Unanswered:
                pass
            except Exception:
                if not asked:
                    raise  # it saw nothing but real answers
            finally:
                self._asked = None
            self._answer(asked)
        if renew:
            self._spaces.clear()
        return work()

    def settle(self) -> None:
        """End the round if its last query is not answered yet."""
        if self.is_open:
            raise _Unanswered

    def _answer(self, asked: dict[str, tuple[str, Params]]) -> None:
        """Answer queries of different shapes in one statement: an array of rows for each."""
        self.is_open = False
        sql, bound = statements.join_queries(list(asked.values()))
        cursor = self.cursor
        # The binary format names the type of each column of a row.
        cursor.execute(sql, bound, binary=True)
        self._answered |= zip(asked, cursor.fetchone() or (), strict=True)

    def run(self, sql: str, params: Params) -> list[Row]:
        """Run one statement and return its rows; in a round, those of an earlier one."""
        text = to_driver(sql)
        tables = find_tables(text)
        if self._asked is not None and not tables.changed:
            key = f"{sql} {sorted(params.items())}"
            self.is_open = key not in self._answered
            if self.is_open:
                self._asked[key] = (sql, params)
            return self._answered.get(key, [])
        if self.read_only and self._answered:
            # The same state as then: a round may have asked ahead.
            known = self._answered.get(f"{sql} {sorted(params.items())}")
            if known is not None:
                return known
        if tables.is_plain and not tables.returns:
            self.enqueue(QueuedWrite(text, params, tables))
            return []
        cursor = self.make_way(tables)
        if tables.is_plain:
            return self.flush(QueuedWrite(f"{text}, ", params, tables))
        cursor.execute(text, params)
        return cursor.fetchall() if cursor.description else []

    def enqueue(self, write: QueuedWrite) -> None:
        """Run a write later, together with others that do not touch the same tables."""
        self.make_way(write.tables)
        if not self._queue.has_room(write):
            self.flush()
        self._queue.add(write)

    def enqueue_entries(self, space: str, records: Sequence[IndexedRecord]) -> None:
        """Add entries to the index later, together with those that are queued already."""
        tables = self._queue.tables_to_add()
        if tables:
            self.make_way(tables)
        self._queue.add_entries(space, records)

    def enqueue_removal(self, space: str, source: str, ref: str, seq: int) -> None:
        """Remove the entries of a record later, before those are added that are queued after it."""
        tables = self._queue.tables_to_remove(space, (source, ref, seq))
        if tables:
            self.make_way(tables)
        self._queue.remove_entries(space, (source, ref, seq))

    def make_way(self, tables: StatementTables) -> psycopg.Cursor[Row]:
        """Return the cursor for a statement, after the queued writes that it may depend on."""
        if tables.changed:
            if self._asked:
                raise _Unanswered
            self._asked = None
            self._answered.clear()  # what is asked again may be different now
        if self._queue.must_precede(tables):
            self.flush()
        return self.cursor

    def flush(self, last: QueuedWrite = statements.NO_WRITE) -> list[Row]:
        """Run the queued writes in one statement, with the last one, and return its rows."""
        if not (self._queue or last.tables.is_plain):
            return []
        marks = self._queue and not (self.token or self.may_be_lost)
        clause, bound = self._queue.take(*([self._mark("pg_current_xact_id()")] if marks else []))
        cursor = self.cursor
        cursor.execute(f"{clause}{last.sql}pg_current_xact_id()::text", {**last.params, **bound})
        rows = cursor.fetchall()
        self.transaction = rows[-1][-1] if rows else self.transaction
        return [row[:-1] for row in rows]

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
    skip_locked = "FOR UPDATE SKIP LOCKED"
    in_json = "= ANY (ARRAY(SELECT json_array_elements_text(CAST(:{} AS json))))"
    in_numbers = "= ANY (ARRAY(SELECT CAST(json_array_elements_text(CAST(:{} AS json)) AS bigint)))"

    def __init__(self, snapshot: Snapshot, space: str) -> None:
        self.snapshot = snapshot
        self.space = space
        self.for_update = "" if snapshot.read_only else "FOR UPDATE"
        self.finds_nearest = snapshot.finds_nearest
        self.known: dict[str, int] = {}
        self.totals: tuple[Any, ...] = ()

    @property
    def is_answered(self) -> bool:
        return not self.snapshot.is_open

    def settle(self) -> None:
        self.snapshot.settle()

    def keep(self, name: str, read: Callable[[], Result]) -> Result:
        return read()

    def gather(self, work: Callable[[], Result]) -> Result:
        return self.snapshot.read_in_rounds(work, renew=False)

    def altered(self, table: str) -> str:
        # The views of memories check the seal: they show other labels than those that are sealed.
        seal = "seal IS NOT NULL" if table in SIGNED else f"seal <> {SCHEMA}.seal_of({table})"
        return f"({seal} OR {unknown_status(table)})"

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        return self.snapshot.run(sql, {"space": self.space, **(params or {})})

    def run_batched(self, sql: str, params: Params | None = None) -> list[Row]:
        return self.snapshot.run_shared(self.space, sql, params or {})

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows = self.run(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        text = to_driver(sql)
        cursor = self.snapshot.make_way(find_tables(text))
        driver, failure = load_driver(), None
        # A batch that fails inside of the driver's own pipeline is logged by the driver, too: a
        # host program would see a warning for each usage count that met a lock. The pipeline must
        # end without an exception, as its end fails as well.
        try:
            with cursor.connection.pipeline():
                try:
                    cursor.executemany(text, [{"space": self.space, **row} for row in rows])
                except driver.Error as error:
                    failure = error
        except driver.Error as error:
            failure = failure or error
        if failure:
            raise failure

    def insert(self, table: str, columns: str, rows: Iterable[Row], skip: bool = False) -> None:
        left, tables = iter(rows), find_tables(f"INSERT INTO {SCHEMA}.{table} (space)")
        while batch := list(islice(left, _ROWS_AT_ONCE)):
            text, params = statements.insert_rows(table, columns, batch)
            text += " ON CONFLICT DO NOTHING" if skip else ""
            self.snapshot.enqueue(QueuedWrite(text, {"space": self.space, **params}, tables))

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        self.snapshot.enqueue_entries(self.space, records)

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        entries, texts = [entry for entry, _ in stems], [text for _, text in stems]
        self.run(statements.ADD_WORDS, {"entries": entries, "stems": texts})

    def remove_entries(self, source: str, ref: str, seq: int) -> None:
        self.snapshot.enqueue_removal(self.space, source, ref, seq)

    def remove_words(self, entry: int) -> None:
        self.run(statements.REMOVE_WORDS, {"entry": entry})

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        vector: bytes = b"",
    ) -> list[IndexMatch]:
        return sql.match(self, stems, limit, where, params, vector=vector)

    def match_among(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        pool: int,
        vector: bytes = b"",
    ) -> list[IndexMatch]:
        return sql.match(self, stems, limit, where, params, pool, vector)

    def match_some(
        self, groups: Sequence[Sequence[str]], limit: int, where: str, params: Params
    ) -> list[IndexMatch]:
        stems = list(dict.fromkeys(stem for group in groups for stem in group))
        return sql.match(self, stems, limit, where, params)

    def match_shared(
        self, weights: Mapping[str, float], limit: int, where: str, params: Params
    ) -> list[str]:
        found = sql.match(self, list(weights), limit, where, params)
        return [match.ref for match in found]

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params, vector: bytes = b""
    ) -> list[IndexMatch]:
        return sql.filter_entries(self, entries, where, params, vector)

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        return sql.count_stems(self, stems)

    frequencies_lately = frequencies

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        sql.add_vectors(self, vectors)

    def nearest(
        self, vector: bytes, count: int, where: str, params: Params, least: float
    ) -> list[IndexMatch]:
        return sql.nearest(self, vector, count, where, params, least)
