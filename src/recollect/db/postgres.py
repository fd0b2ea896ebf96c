"""PostgreSQL: the same store for teams, many spaces in one database.

Decided here: how `:name` parameters are written for the driver, that every transaction names
its space (row-level security keeps the others out), how words are matched with the same BM25
as SQLite's, and that a deadlock is retried. The driver is imported when it is needed.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from math import log
from threading import local
from typing import TYPE_CHECKING, Any

from ..errors import (
    Refused,
    StoreBusy,
    StoreError,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
    Unavailable,
)
from . import migrate
from .database import (
    BM25_B,
    BM25_K1,
    MATCHED_COLUMNS,
    STEM_WEIGHT,
    Health,
    Matched,
    Params,
    Result,
    Row,
    Tx,
)

if TYPE_CHECKING:
    import psycopg

_SCHEMA = "recollect"
_MIGRATION_LOCK = 0x5245434F
_MATCH = """
SELECT {columns}, e.length, (
  SELECT array_agg(ARRAY[w.lexeme, w.weight_a::text, w.weight_b::text]) FROM (
    SELECT u.lexeme, count(*) FILTER (WHERE p = 'A') AS weight_a,
           count(*) FILTER (WHERE p = 'B') AS weight_b
    FROM unnest(e.words) u, unnest(u.weights) p
    WHERE u.lexeme = ANY(:terms) GROUP BY u.lexeme) w)
FROM entries e
WHERE e.space = :space AND e.words @@ :question::tsquery {where}
ORDER BY ts_rank(e.words, :question::tsquery) DESC, e.id LIMIT :pool
"""


@lru_cache(maxsize=512)
def to_driver(sql: str) -> str:
    """The statement with the driver's placeholders."""
    return re.sub(r"(?<!:):([a-z_][a-z_0-9]*)", r"%(\1)s", sql.replace("%", "%%"))


def words_literal(terms: str, stems: str) -> str:
    """A tsvector of terms (weight A) and stems (weight B), each at its position."""
    places: dict[str, list[str]] = {}
    for weight, text in (("A", terms), ("B", stems)):
        for position, term in enumerate(text.split(), start=1):
            places.setdefault(term, []).append(f"{position}{weight}")
    return " ".join(f"{_quoted(term)}:{','.join(at[:255])}" for term, at in places.items())


def _quoted(term: str) -> str:
    return "'" + term.replace("\\", "\\\\").replace("'", "''") + "'"


class PostgresTx:
    """One transaction of one connection, in one space."""

    for_update = "FOR UPDATE"
    skip_locked = "FOR UPDATE SKIP LOCKED"

    def __init__(self, cursor: psycopg.Cursor[Row], space: str) -> None:
        self._cursor = cursor
        self.space = space

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        self._cursor.execute(to_driver(sql), {"space": self.space, **(params or {})})
        return self._cursor.fetchall() if self._cursor.description else []

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        rows = self.run(sql, params)
        return rows[0] if rows else None

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self._cursor.executemany(to_driver(sql), [{"space": self.space, **row} for row in rows])

    def add_words(self, entry: int, terms: str, stems: str) -> None:
        self.run(
            "UPDATE entries SET words = :words::tsvector, length = :length WHERE id = :entry",
            {
                "words": words_literal(terms, stems),
                "length": len(terms.split()) + len(stems.split()),
                "entry": entry,
            },
        )

    def remove_words(self, entry: int) -> None:
        self.run("UPDATE entries SET words = NULL WHERE id = :entry", {"entry": entry})

    def match(
        self, terms: Sequence[str], limit: int, where: str, params: Params, exact: bool = True
    ) -> list[Matched]:
        total, counts = self.frequencies(terms)
        length = self.one("SELECT coalesce(avg(length), 1) FROM entries WHERE space = :space")
        average = float(length[0]) if length else 1.0
        rows = self.run(
            _MATCH.format(columns=MATCHED_COLUMNS, where=f"AND {where}" if where else ""),
            {
                **params,
                "terms": list(terms),
                "question": " | ".join(_quoted(term) for term in terms),
                "pool": max(limit * 4, 200),
            },
        )
        found = [
            Matched._make((*row[:6], _bm25(row[6], row[7] or (), total, counts, average)))
            for row in rows
        ]
        return sorted(found, key=lambda match: (-match.score, match.ref, match.seq))[:limit]

    def frequencies(self, terms: Sequence[str]) -> tuple[int, dict[str, int]]:
        total = self.one("SELECT count(*) FROM entries WHERE space = :space")
        counts = {}
        for term in terms:
            row = self.one(
                "SELECT count(*) FROM entries WHERE space = :space AND words @@ :term::tsquery",
                {"term": _quoted(term)},
            )
            counts[term] = row[0] if row else 0
        return (total[0] if total else 0), counts


def _bm25(
    size: int,
    occurrences: Iterable[Sequence[str]],
    total: int,
    counts: dict[str, int],
    average: float,
) -> float:
    """FTS5's own formula, so that both engines give the same order."""
    score = 0.0
    for term, in_terms, in_stems in occurrences:
        held = counts.get(term, 0)
        rarity = max(log((total - held + 0.5) / (held + 0.5)), 1e-6)
        often = int(in_terms) + STEM_WEIGHT * int(in_stems)
        damped = often + BM25_K1 * (1 - BM25_B + BM25_B * size / average)
        score += rarity * often * (BM25_K1 + 1) / damped
    return score


class PostgresDatabase:
    """A space in a PostgreSQL database. Each thread has its connection."""

    def __init__(self, url: str, space: str, kind: str, *, wait: float = 30.0) -> None:
        self.url = url
        self.space = space
        self._kind = kind
        self._wait = wait
        self._local = local()
        self._pid = os.getpid()

    def present(self) -> bool:
        return True

    def read(self, work: Callable[[Tx], Result]) -> Result:
        return self._attempt(work, read_only=True)

    def write(self, work: Callable[[Tx], Result]) -> Result:
        return self._attempt(work, read_only=False)

    def note(self, work: Callable[[Tx], Any]) -> bool:
        def quickly(tx: Tx) -> None:
            tx.run("SET LOCAL synchronous_commit TO off; SET LOCAL lock_timeout TO '50ms'")
            work(tx)

        try:
            self._transact(quickly, read_only=False)
        except _driver().Error:
            return False
        return True

    def _attempt(self, work: Callable[[Tx], Result], *, read_only: bool) -> Result:
        driver = _driver()
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self._transact(work, read_only=read_only)
            except (
                driver.errors.DeadlockDetected,
                driver.errors.SerializationFailure,
                driver.errors.LockNotAvailable,
            ) as error:
                if time.monotonic() > deadline:
                    raise StoreBusy(
                        "other processes kept the store locked", where=self._place()
                    ) from error
                time.sleep(random.uniform(0.001, 0.01))
            except driver.Error as error:
                self.close()
                raise self._translated(error) from error

    def _transact(self, work: Callable[[Tx], Result], *, read_only: bool) -> Result:
        connection = self._connect()
        with connection.transaction(), connection.cursor() as cursor:
            isolation = "SET TRANSACTION ISOLATION LEVEL REPEATABLE READ READ ONLY; "
            cursor.execute(
                (isolation if read_only else "")
                + "SELECT set_config('recollect.space', "
                + _literal(self.space)
                + ", true)"
            )
            return work(PostgresTx(cursor, self.space))

    def _connect(self) -> psycopg.Connection[Row]:
        if os.getpid() != self._pid:
            raise StoreError(
                "this store was opened before a fork and cannot be used in the child",
                hint="call recollect.open() again in the child process",
            )
        connection: psycopg.Connection[Row] | None = getattr(self._local, "connection", None)
        if connection is None or connection.closed:
            connection = _driver().connect(self.url, autocommit=True)
            try:
                self._prepare(connection)
            except BaseException:
                connection.close()
                raise
            self._local.connection = connection
        return connection

    def _prepare(self, connection: psycopg.Connection[Row]) -> None:
        connection.execute(f"SET search_path TO {_SCHEMA}, public; SET synchronous_commit TO on")
        known = connection.execute(
            "SELECT to_regclass('recollect.migrations') IS NOT NULL"
        ).fetchone()
        version = _version(connection) if known and known[0] else 0
        if version < migrate.LATEST:
            version = self._migrate(connection)
        if version > migrate.LATEST:
            raise StoreNewer(
                f"a newer Recollect wrote this store (schema {version}, this one knows "
                f"{migrate.LATEST})",
                where=self._place(),
                hint="upgrade with: pip install -U recollect",
            )
        with connection.transaction():
            connection.execute(
                "SELECT set_config('recollect.space', " + _literal(self.space) + ", true)"
            )
            connection.execute(
                "INSERT INTO spaces (id, kind, name, place, created) "
                "VALUES (%s, %s, '', '', %s) ON CONFLICT (id) DO NOTHING",
                (self.space, self._kind, time.time_ns() // 1000),
            )

    def _migrate(self, connection: psycopg.Connection[Row]) -> int:
        """All pending files in one transaction; whoever comes second finds the work done."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {_SCHEMA}")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations "
                "(version BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)"
            )
            version = _version(connection)
            for number, script in enumerate(
                migrate.pending(version, "postgres"), start=version + 1
            ):
                connection.execute(script)
                connection.execute(
                    "INSERT INTO migrations (version, name, at) VALUES (%s, %s, %s)",
                    (number, migrate.MIGRATIONS[number - 1], time.time_ns() // 1000),
                )
            return max(version, migrate.LATEST)

    def backup(self, target: str) -> int:
        from .copy import copy_space

        return copy_space(self, target)

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        raise Refused("a space on a server has no file that could be adopted", where=self._place())

    def health(self, deep: bool = False) -> Health:
        def look(tx: Tx) -> Health:
            problems = []
            for name in ("fsync", "full_page_writes", "synchronous_commit"):
                row = tx.one("SELECT current_setting(:name)", {"name": name})
                if not row or row[0] not in ("on", "remote_apply", "remote_write"):
                    problems.append(f"{name} is {row[0] if row else '?'}: a crash can lose writes")
            role = tx.one(
                "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            )
            if role and role[0]:
                problems.append(
                    "connected as a role that row-level security does not bind: use a plain role"
                )
            version = tx.one("SHOW server_version") or ("?",)
            size = tx.one("SELECT pg_database_size(current_database())") or (0,)
            return Health(
                "postgres",
                str(version[0]),
                self._place(),
                "write-ahead log, synchronous_commit=on",
                int(size[0]),
                tuple(problems),
            )

        return self.read(look)

    def close(self) -> None:
        connection: psycopg.Connection[Row] | None = getattr(self._local, "connection", None)
        if connection is not None:
            connection.close()
            self._local.connection = None

    def _place(self) -> str:
        """The address without its password."""
        return re.sub(r"(://[^:/@]*):[^@]*@", r"\1:***@", self.url)

    def _translated(self, error: Exception) -> StoreError:
        driver = _driver()
        said = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        if isinstance(error, driver.errors.DiskFull):
            return StoreFull("the database server has no space left", where=self._place())
        if isinstance(error, driver.errors.ReadOnlySqlTransaction):
            return StoreReadOnly("the database is read-only", where=self._place())
        if isinstance(error, driver.OperationalError):
            return StoreError(
                f"PostgreSQL cannot be reached: {said}",
                where=self._place(),
                hint="check RECOLLECT_DATABASE and that the server is running",
            )
        return StoreError(f"PostgreSQL says: {said}", where=self._place())


def _version(connection: psycopg.Connection[Row]) -> int:
    row = connection.execute("SELECT coalesce(max(version), 0) FROM migrations").fetchone()
    return int(row[0]) if row else 0


def _literal(text: str) -> str:
    return "'" + text.replace("'", "''") + "'"


def _driver() -> Any:
    try:
        import psycopg
    except ImportError as error:
        raise Unavailable(
            "the PostgreSQL driver is not installed",
            hint="install it with: pip install 'recollect[postgres]'",
        ) from error
    return psycopg
