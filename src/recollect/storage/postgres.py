"""PostgreSQL: the same store for teams, many spaces in one database.

Every transaction sets its space (row-level security hides the others), and a deadlock is retried.
The driver is imported at first use.
"""

from __future__ import annotations

import os
import random
import re
import time
from collections.abc import Callable
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
from .database import EngineHealth, Result, Row, Tx
from .postgres_tx import SCHEMA, PostgresTx

if TYPE_CHECKING:
    import psycopg

_MIGRATION_LOCK = 0x5245434F
# With pgvector on the server, and the right to create it, HNSW searches the vectors.
_USE_PGVECTOR = """
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') THEN
    CREATE EXTENSION IF NOT EXISTS vector;
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'pgvector is there, but this role may not create it';
END $$;
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN
    ALTER TABLE vectors ADD COLUMN IF NOT EXISTS direction vector;
  END IF;
END $$
"""


class PostgresDatabase:
    """A space in a PostgreSQL database. Each thread has its own connection."""

    def __init__(self, url: str, space: str, kind: str, *, wait: float = 30.0) -> None:
        self.url = url
        self.space = space
        self._kind = kind
        self._wait = wait
        self._local = local()
        self._pid = os.getpid()
        self.on_upgrade: Callable[[int], object] = bool

    def present(self) -> bool:
        return True

    def current(self) -> bool:
        return migrate.is_current(self._local, self.read)

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
            return work(PostgresTx(cursor, self.space, self._local.finds_nearest))

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
            self._local.finds_nearest = _finds_nearest(connection)
        return connection

    def _prepare(self, connection: psycopg.Connection[Row]) -> None:
        connection.execute(f"SET search_path TO {SCHEMA}, public; SET synchronous_commit TO on")
        known = connection.execute(
            "SELECT to_regclass('recollect.migrations') IS NOT NULL"
        ).fetchone()
        version = _version(connection) if known and known[0] else 0
        if 0 < version < migrate.LATEST and getattr(self._local, "hurried", False):
            raise migrate.OutdatedStore
        if version < migrate.LATEST:
            upgrades = version > 0
            if upgrades:
                self.on_upgrade(0)
            try:
                version = self._migrate(connection)
            except _driver().errors.InsufficientPrivilege as error:
                raise StoreError(
                    f"the tables are of an earlier version (schema {version}), which this role may "
                    "not change"
                    if upgrades
                    else "there are no tables yet, and this role may not make them",
                    where=self._place(),
                    hint="run `recollect doctor` once as the role that owns them",
                ) from error
            if upgrades:
                self.on_upgrade(1)
        if version > migrate.LATEST:
            raise StoreNewer(
                f"a newer Recollect wrote this store (schema {version}, this one knows "
                f"{migrate.LATEST})",
                where=self._place(),
                hint="upgrade this one: pip install . in its newest source",
            )
        with connection.transaction():
            connection.execute(
                "SELECT set_config('recollect.space', " + _literal(self.space) + ", true)"
            )
            read_only = connection.execute("SHOW transaction_read_only").fetchone()
            if read_only == ("off",):
                connection.execute(
                    "INSERT INTO spaces (id, kind, name, place, created) "
                    "VALUES (%s, %s, '', '', %s) ON CONFLICT (id) DO NOTHING",
                    (self.space, self._kind, time.time_ns() // 1000),
                )

    def _migrate(self, connection: psycopg.Connection[Row]) -> int:
        """Run all pending files in one transaction; a second process finds them done."""
        with connection.transaction():
            connection.execute("SELECT pg_advisory_xact_lock(%s)", (_MIGRATION_LOCK,))
            connection.execute(f"CREATE SCHEMA IF NOT EXISTS {SCHEMA}")
            connection.execute(
                "CREATE TABLE IF NOT EXISTS migrations "
                "(version BIGINT PRIMARY KEY, name TEXT NOT NULL, at BIGINT NOT NULL)"
            )
            version = _version(connection)
            for number, script in enumerate(
                migrate.pending_scripts(version, "postgres"), start=version + 1
            ):
                connection.execute(script)
                connection.execute(
                    "INSERT INTO migrations (version, name, at) VALUES (%s, %s, %s)",
                    (number, migrate.MIGRATIONS[number - 1], time.time_ns() // 1000),
                )
            connection.execute(_USE_PGVECTOR)
            return max(version, migrate.LATEST)

    def refit(self) -> None:
        driver = _driver()
        try:
            connection = self._connect()
            if not self._local.finds_nearest:
                connection.execute(_USE_PGVECTOR)
                self._local.finds_nearest = _finds_nearest(connection)
        except driver.errors.InsufficientPrivilege:
            return  # another role owns the tables; `health` reports it
        except driver.Error as error:
            raise self._translated(error) from error

    def vacuum(self) -> None:
        """Free the space of deleted rows; a role that does not own the tables cannot."""
        driver = _driver()
        try:
            self._connect().execute("VACUUM")
        except driver.errors.InsufficientPrivilege:
            return
        except driver.Error as error:
            raise self._translated(error) from error

    def backup(self, target: str) -> int:
        from .backup import copy_space

        return copy_space(self, target)

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        raise Refused("a space on a server has no file that could be adopted", where=self._place())

    def health(self, deep: bool = False) -> EngineHealth:
        def look(tx: Tx) -> EngineHealth:
            problems = []
            for name in ("fsync", "full_page_writes", "synchronous_commit"):
                row = tx.one("SELECT current_setting(:name)", {"name": name})
                if not row or row[0] not in ("on", "remote_apply", "remote_write"):
                    problems.append(f"{name} is {row[0] if row else '?'}: a crash can lose writes")
            pgvector = tx.one("SELECT 1 FROM pg_extension WHERE extname = 'vector'")
            if pgvector and not tx.finds_nearest:
                problems.append(
                    "pgvector came after the tables: the role that owns them should run "
                    "`recollect rebuild --missing`"
                )
            role = tx.one(
                "SELECT rolsuper OR rolbypassrls FROM pg_roles WHERE rolname = current_user"
            )
            if role and role[0]:
                problems.append(
                    "connected as a role that row-level security does not bind: use a plain role"
                )
            version = tx.one("SHOW server_version") or ("?",)
            size = tx.one("SELECT pg_database_size(current_database())") or (0,)
            return EngineHealth(
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
        """Return the address without its password."""
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
        # Hide anything that libpq could read as an address, too.
        wrong = "://" not in self.url and "=" not in self.url
        hint = "RECOLLECT_DATABASE is an address: postgresql://me@host/database" if wrong else ""
        return StoreError(f"PostgreSQL says: {said}", where=self._place(), hint=hint)


def _finds_nearest(connection: psycopg.Connection[Row]) -> bool:
    """Check whether the tables use pgvector."""
    row = connection.execute(
        "SELECT count(*) FROM pg_attribute "
        "WHERE attrelid = 'vectors'::regclass AND attname = 'direction'"
    ).fetchone()
    return bool(row and row[0])


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
            hint="install it with: pip install 'psycopg[binary]'",
        ) from error
    return psycopg
