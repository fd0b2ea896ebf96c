"""SQLite: one file, one space, many processes.

WAL with `synchronous=FULL` (an acknowledged write survives a power cut). Writers begin immediately
and retry with jitter, because the plain busy handler starves some of them. Only SQLite ever opens
the file: closing any other descriptor of it would drop SQLite's locks. Files are made private
before the first byte. Imports are few, because each costs every hook (hence `_thread`, and no
`random`).
"""

from __future__ import annotations

import os
import time
from _thread import RLock, _local
from collections.abc import Callable

import apsw

from ..errors import Refused, StoreCorrupt, StoreError, StoreForeign, StoreNewer
from ..fast_typing import Any
from . import migrations, sqlite_files, sqlite_health
from .database import EngineHealth, Result, Server, Tx
from .sqlite_files import translate_error
from .sqlite_tx import SqliteTx

APPLICATION_ID = 0x5245434F
PAGE_SIZE = 8192  # of new stores: importing takes 3 % less than with half of it
_PRAGMAS = (
    "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; "
    "PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; "
    f"PRAGMA journal_size_limit = {sqlite_files.MOST_LOG}; PRAGMA cache_size = -16000"
)
_NOTE_WAIT = 0.05
_READ, _WRITE, _LOOK_AND_WRITE = "BEGIN", "BEGIN IMMEDIATE", "BEGIN DEFERRED"


class SqliteDatabase:
    """A space in a file, or in memory if `path` is empty. Each thread has its own connection."""

    written_at = float("inf")

    def __init__(
        self,
        path: str,
        kind: str,
        *,
        wait: float = 30.0,
        registry: sqlite_files.Registry | None = None,
    ) -> None:
        self.path = path
        self.space = kind
        self._wait = wait
        self._registry = registry
        self._local = _local()
        self._memory: apsw.Connection | None = None
        self._empty: SqliteDatabase | None = None
        self._turn = RLock()
        self._pid = os.getpid()
        self.on_upgrade: Callable[[int], object] = bool

    def present(self) -> bool:
        return not self.path or self._file() is not None

    def _file(self) -> tuple[int, int] | None:
        return sqlite_files.file_identity(self.path, self._registry) if self.path else None

    def current(self) -> bool:
        return migrations.is_current(self._local, self.read)

    def read(self, work: Callable[[Tx], Result]) -> Result:
        if not getattr(self._local, "connection", None) and not self.present():
            # Reading creates nothing: a missing store is an empty one, made once in memory.
            self._empty = self._empty or SqliteDatabase("", self.space)
            return self._empty.read(work)
        return self._attempt(_READ, work)

    read_ahead = read  # no statement is a round trip
    later = staticmethod(lambda run: run())

    def write(self, work: Callable[[Tx], Result]) -> Result:
        return self._attempt(_WRITE, work)

    def read_and_write(
        self, look: Callable[[Tx], Any], work: Callable[[Tx, Any], Result]
    ) -> Result:
        # The first statement that writes takes the only writer's lock. It fails if another writer
        # was faster: the next attempt takes the lock first.
        return self._attempt(_LOOK_AND_WRITE, lambda tx: work(tx, look(tx)))

    def try_write(self, work: Callable[[Tx], Any]) -> bool:
        if not self.present():
            return False
        try:
            self._attempt("PRAGMA synchronous = NORMAL; BEGIN IMMEDIATE", work, wait=_NOTE_WAIT)
        except (StoreCorrupt, StoreForeign, StoreNewer):
            raise
        except StoreError:
            return False
        finally:
            self._sync_fully_again()
        return True

    def is_writable(self) -> bool:
        return True

    def _sync_fully_again(self) -> None:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        try:
            if connection is not None:
                connection.pragma("synchronous", 2)
        except apsw.Error:
            self.close()  # the next connection starts with the defaults

    def _attempt(self, begin: str, work: Callable[[Tx], Result], wait: float = 0.0) -> Result:
        """Run work in a transaction; while the store is locked, wait with jitter and retry."""
        deadline = time.monotonic() + (wait or self._wait)
        while True:
            try:
                return self._transact(begin, work)
            except apsw.BusyError as error:
                if time.monotonic() > deadline:
                    raise translate_error(error, self.path) from error
                begin = _WRITE if begin == _LOOK_AND_WRITE else begin
                time.sleep(0.0003 + os.urandom(1)[0] / 95_000)
            except apsw.Error as error:
                # After an I/O error a connection may have lost track of the file.
                self.close()
                raise translate_error(error, self.path) from error

    def _transact(self, begin: str, work: Callable[[Tx], Result]) -> Result:
        if not self.path:
            with self._turn:
                return self._commit(begin, work)
        return self._commit(begin, work)

    def _commit(self, begin: str, work: Callable[[Tx], Result]) -> Result:
        connection = self._connect(begin == _READ)
        seals = begin in (_WRITE, _LOOK_AND_WRITE)
        if seals and getattr(self._local, "sealing", None) is not connection:
            sqlite_health.install(connection)
            self._local.sealing = connection
        connection.execute(begin)
        try:
            if begin != _READ:
                sqlite_files.check_version(connection, self.path)
            kept = self._local.kept if begin == _READ and self.path else None
            result = work(SqliteTx(connection, self.space, kept, self._local.common))
            connection.execute("COMMIT")
            if begin != _READ:
                self._check_wal(connection, "the write that was just made is in the copy only")
            return result
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _connect(self, to_read: bool = False) -> apsw.Connection:
        if os.getpid() != self._pid:
            raise Refused(
                "this store was opened before a fork and cannot be used in the child",
                where=self.path,
                hint="call recollect.open() again in the child process",
            )
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection and self.path and connection.readonly("main"):
            # A read-only connection does not see later writes: it serves one transaction.
            self.close()
            connection = None
        if connection is None:
            connection = self._open(to_read)
            self._local.connection, self._local.kept, self._local.common = connection, {}, {}
            self._local.file = self._file()
            self._local.beside = sqlite_files.beside_identity(self.path) if self.path else ()
        elif self._local.file != self._file():
            self.close()
            raise sqlite_files.replaced_error(self.path)
        else:
            self._check_wal(connection, "nothing of this call was written")
        return connection

    def _check_wal(self, connection: apsw.Connection, outcome: str) -> None:
        """Raise if the WAL or its index was removed under this connection, after a copy of what
        it still sees."""
        seen = self._local.beside
        if any(seen) and seen != sqlite_files.beside_identity(self.path):
            from . import backup as storage_backup

            error = storage_backup.save_lost_wal(connection, self.path, outcome)
            self.close()
            raise error

    def _open(self, to_read: bool) -> apsw.Connection:
        if not self.path:
            # One database for all threads, used in turns.
            if self._memory is None:
                self._memory = apsw.Connection(":memory:")
                self._prepare(self._memory)
            return self._memory
        sqlite_files.check_files(self.path, self._registry)
        if not self.present():
            self._reach(lambda registry: registry.make_folder(os.path.dirname(self.path)))
        try:
            return self._prepared(self._new_connection())
        except (apsw.IOError, apsw.CantOpenError, apsw.FullError):
            # No room for SQLite's files next to the store, which may still be readable.
            if not to_read:
                raise
            return self._prepared(sqlite_files.open_read_only(self.path))

    def _prepared(self, connection: apsw.Connection) -> apsw.Connection:
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _new_connection(self) -> apsw.Connection:
        return sqlite_files.open_connection(self.path)

    def _prepare(self, connection: apsw.Connection) -> None:
        # Without it FTS5 compiles its own statement again for every word: a lookup takes twice as
        # long. Plans must not depend on the values of parameters.
        connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        sqlite_files.define_seal(connection)
        version, mark = connection.pragma("user_version"), connection.pragma("application_id")
        if version > 0 and mark != APPLICATION_ID:
            raise sqlite_files.foreign_store_error(self.path)
        sqlite_files.check_version(connection, self.path)
        connection.execute(_PRAGMAS).fetchall()  # a pragma with an answer would stop the rest
        if version > 0:
            self._check(connection)
        if 0 < version < migrations.LATEST and getattr(self._local, "hurried", False):
            raise migrations.OutdatedStore
        if version < migrations.LATEST:
            self._migrate(connection)
        elif self.path and not sqlite_files.is_wal_on_disk(connection, self.path):
            sqlite_health.choose_journal(connection, self.path)

    def _check(self, connection: apsw.Connection) -> None:
        """Check that the store is this user's own and has no triggers or views."""
        sqlite_files.check_schema(connection, self.path)
        if self._registry:
            name = "SELECT CAST(name AS BLOB) FROM spaces WHERE id = ?"
            id = (connection.execute(name, (self.space,)).get or b"").decode(errors="replace")
            if not self._registry.knows(id, self.path):
                raise sqlite_files.unknown_store_error(self.path)
            self._registry.hide_from_git(os.path.dirname(self.path))

    def _migrate(self, connection: apsw.Connection) -> None:
        """Create or upgrade in one immediate transaction, after a backup of an existing store."""
        if sqlite_files.is_empty(connection):
            if self.path:
                os.chmod(self.path, 0o600)
                connection.pragma("page_size", PAGE_SIZE)
                sqlite_health.choose_journal(connection, self.path)
        elif connection.pragma("application_id") != APPLICATION_ID:
            raise sqlite_files.foreign_store_error(self.path)
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.pragma("user_version")
            if version:
                # Another user may have made it while we waited.
                self._check(connection)
            elif not sqlite_files.is_empty(connection):
                raise sqlite_files.foreign_store_error(self.path)
            upgrades = 0 < version < migrations.LATEST and bool(self.path)
            if upgrades:
                self.on_upgrade(0)
                self._copy_to(sqlite_files.upgrade_backup_path(self.path, version))
            migrations.run_sqlite(connection, version)
            if upgrades:
                sqlite_health.seal_all(connection)
            connection.execute(
                "INSERT INTO spaces (id, kind, name, place, created) VALUES (?, ?, '', ?, ?) "
                "ON CONFLICT (id) DO NOTHING",
                (self.space, self.space, os.path.dirname(self.path), time.time_ns() // 1000),
            )
            if version == 0:
                self._make_own(connection)
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", migrations.LATEST)
            connection.execute("COMMIT")
            if upgrades:
                self.on_upgrade(1)
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _make_own(self, connection: apsw.Connection) -> None:
        """Give the store a new secret id, registered for this user before the store has it."""
        id = os.urandom(16).hex()
        if self._registry:
            self._reach(lambda registry: registry.note(id, self.path))
        connection.execute("UPDATE spaces SET name = ? WHERE id = ?", (id, self.space))

    def _reach(self, work: Callable[[sqlite_files.Registry], None]) -> None:
        if not self._registry:
            return
        try:
            work(self._registry)
        except OSError as error:
            raise sqlite_files.unwritable_error(self.path, error) from error

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        if not self.path or not self.present():
            raise Refused("there is no store to adopt", where=self.path)
        found = SqliteDatabase(self.path, self.space, wait=self._wait)

        def take(tx: Tx) -> Result:
            own = SqliteDatabase("", self.space).read(sqlite_health.load_schema)
            sqlite_health.check_tables(tx, own, self.path)
            result = work(tx)
            self._make_own(found._connect())
            return result

        try:
            result = found.write(take)
        finally:
            found.close()
        sqlite_files.make_private(self.path)
        return result

    def use_new_features(self) -> None:
        return  # SQLite had every feature from the beginning

    def backup(self, target: str) -> int:
        if not self.present():
            raise Refused("there is nothing to copy yet", where=self.path)
        self.read(lambda tx: None)
        try:
            return self._copy_to(target)
        except apsw.Error as error:
            raise translate_error(error, self.path) from error

    def _copy_to(self, target: str) -> int:
        if not self.path:
            return sqlite_files.copy_store(self._connect(), "", target)
        # Another connection: this thread's own may be in the middle of an upgrade.
        source = self._new_connection()
        try:
            return sqlite_files.copy_store(source, self.path, target)
        finally:
            source.close()

    def server(self) -> Server:
        raise sqlite_files.no_members_error(self.path)

    def health(self, deep: bool = False) -> EngineHealth:
        if not self.present():
            return sqlite_health.report_missing(self.path)

        def look(tx: Tx) -> EngineHealth:
            return sqlite_health.report_health(self._local.connection, self.path, deep)

        report = self.read(look)
        if deep and not report.problems:
            return report._replace(problems=sqlite_health.check_words(self.write))
        return report

    def close(self) -> None:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        self._local.connection = self._local.sealing = None
        try:
            if connection is not None and connection is not self._memory:
                connection.close()
        except apsw.Error:
            return  # it writes the log back, and the disk fails: what was committed is in the log
