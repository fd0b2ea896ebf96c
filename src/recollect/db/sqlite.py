"""SQLite: one file, one space, many processes.

Decided here: WAL with `synchronous=FULL` (an acknowledged write survives a power cut), writers
that begin immediately and retry with jitter (the plain busy handler starves some of them), and
that nothing but SQLite ever opens the file: closing any other descriptor of it would drop
SQLite's locks. Files are made private before the first byte. Imports are few: each costs every
hook (hence `_thread`, and no `random`).
"""

from __future__ import annotations

import os
import time
from _thread import RLock, _local
from collections.abc import Callable, Iterable, Sequence
from typing import Any

import apsw

from ..errors import (
    Refused,
    StoreBusy,
    StoreCorrupt,
    StoreError,
    StoreForeign,
    StoreFull,
    StoreNewer,
    StoreReadOnly,
)
from . import migrate
from .database import (
    MATCHED_COLUMNS,
    STEM_WEIGHT,
    Health,
    Matched,
    Params,
    Result,
    Row,
    Tx,
    placeholders,
)
from .sqlite_errors import translated

APPLICATION_ID = 0x5245434F
_PRAGMAS = (
    "PRAGMA foreign_keys = ON; PRAGMA secure_delete = ON; PRAGMA trusted_schema = OFF; "
    "PRAGMA synchronous = FULL; PRAGMA mmap_size = 0; PRAGMA journal_size_limit = 67108864; "
    "PRAGMA cache_size = -16000"
)
_NOTE_WAIT = 0.05
# One pass scores and sorts. FTS5's own ORDER BY rank makes two, the second to count each term again.
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
_SAFE_WAL = ((3, 44, 6), (3, 50, 7), (3, 51, 3))


def wal_is_safe(version: str) -> bool:
    """Whether WAL may be used: older libraries can lose commits when several checkpoint."""
    numbers = tuple(int(part) for part in version.split(".")[:3])
    if numbers >= _SAFE_WAL[-1]:
        return True
    return any(numbers[:2] == floor[:2] and numbers >= floor for floor in _SAFE_WAL)


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


class SqliteDatabase:
    """A space in a file, or in memory when `path` is empty. Each thread has its connection."""

    def __init__(
        self,
        path: str,
        kind: str,
        *,
        wait: float = 30.0,
        make_folder: Callable[[str], None] | None = None,
    ) -> None:
        self.path = path
        self.space = kind
        self._wait = wait
        self._make_folder = make_folder
        self._local = _local()
        self._memory: apsw.Connection | None = None
        self._turn = RLock()
        self._pid = os.getpid()

    def present(self) -> bool:
        return not self.path or os.path.exists(self.path)

    def read(self, work: Callable[[Tx], Result]) -> Result:
        if not self.present():
            # Looking creates nothing: a store that is not there yet is an empty one.
            return SqliteDatabase("", self.space).read(work)
        return self._attempt("BEGIN", work)

    def write(self, work: Callable[[Tx], Result]) -> Result:
        return self._attempt("BEGIN IMMEDIATE", work)

    def note(self, work: Callable[[Tx], Any]) -> bool:
        if not self.present():
            return False
        try:
            self._connect().pragma("synchronous", 1)
            try:
                self._attempt("BEGIN IMMEDIATE", work, wait=_NOTE_WAIT)
            finally:
                self._connect().pragma("synchronous", 2)
        except (StoreBusy, StoreFull, StoreReadOnly, apsw.BusyError):
            return False
        return True

    def _attempt(self, begin: str, work: Callable[[Tx], Result], wait: float = 0.0) -> Result:
        """Run work in a transaction; while others hold the lock, wait a little and retry."""
        deadline = time.monotonic() + (wait or self._wait)
        while True:
            try:
                return self._transact(begin, work)
            except apsw.BusyError as error:
                if time.monotonic() > deadline:
                    raise translated(error, self.path) from error
                time.sleep(0.0003 + os.urandom(1)[0] / 95_000)
            except apsw.Error as error:
                # After an I/O error a connection may have lost track of the file.
                self.close()
                raise translated(error, self.path) from error

    def _transact(self, begin: str, work: Callable[[Tx], Result]) -> Result:
        if not self.path:
            with self._turn:
                return self._commit(begin, work)
        return self._commit(begin, work)

    def _commit(self, begin: str, work: Callable[[Tx], Result]) -> Result:
        connection = self._connect()
        connection.execute(begin)
        try:
            result = work(SqliteTx(connection, self.space))
            connection.execute("COMMIT")
            return result
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _connect(self) -> apsw.Connection:
        if os.getpid() != self._pid:
            raise Refused(
                "this store was opened before a fork and cannot be used in the child",
                where=self.path,
                hint="call recollect.open() again in the child process",
            )
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is None:
            connection = self._open()
            self._local.connection = connection
            self._local.file = _identity(self.path)
        elif self._local.file != _identity(self.path):
            self.close()
            raise StoreError(
                "the store's file was replaced or removed while it was in use",
                where=self.path,
                hint="open it again; nothing was written to the old file",
            )
        return connection

    def _open(self) -> apsw.Connection:
        if not self.path:
            # One memory for all threads, used in turns.
            if self._memory is None:
                self._memory = apsw.Connection(":memory:")
                self._prepare(self._memory)
            return self._memory
        if not os.path.exists(self.path):
            self._make_place(os.path.dirname(self.path))
        connection = self._new_connection()
        try:
            self._prepare(connection)
        except BaseException:
            connection.close()
            raise
        return connection

    def _new_connection(self) -> apsw.Connection:
        return apsw.Connection(self.path)

    def _prepare(self, connection: apsw.Connection) -> None:
        version = connection.pragma("user_version")
        mark = connection.pragma("application_id")
        if version > 0 and mark != APPLICATION_ID:
            raise self._foreign()
        if version > migrate.LATEST:
            raise StoreNewer(
                f"a newer Recollect wrote this store (schema {version}, this one knows "
                f"{migrate.LATEST})",
                where=self.path,
                hint="upgrade with: pip install -U recollect",
            )
        connection.execute(_PRAGMAS)
        if version < migrate.LATEST:
            self._migrate(connection, version)
        elif self.path and connection.pragma("journal_mode") == "delete":
            _use_wal(connection)

    def _migrate(self, connection: apsw.Connection, version: int) -> None:
        """Create or upgrade, all in one immediate transaction, after a backup of what was there."""
        if version == 0:
            if connection.execute("SELECT count(*) FROM sqlite_master").fetchall()[0][0]:
                if connection.pragma("application_id") != APPLICATION_ID:
                    raise self._foreign()
            elif self.path:
                os.chmod(self.path, 0o600)
                _use_wal(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            version = connection.pragma("user_version")
            if 0 < version < migrate.LATEST and self.path:
                self._copy_to(self._backup_name(version))
            for script in migrate.pending(version, "sqlite"):
                connection.execute(script)
            connection.execute(
                "INSERT INTO spaces (id, kind, name, place, created) VALUES (?, ?, ?, ?, ?) "
                "ON CONFLICT (id) DO NOTHING",
                (self.space, self.space, "", os.path.dirname(self.path), time.time_ns() // 1000),
            )
            connection.pragma("application_id", APPLICATION_ID)
            connection.pragma("user_version", migrate.LATEST)
            connection.execute("COMMIT")
        except BaseException:
            if connection.in_transaction:
                connection.execute("ROLLBACK")
            raise

    def _backup_name(self, version: int) -> str:
        folder = os.path.join(os.path.dirname(self.path), "backups")
        os.makedirs(folder, mode=0o700, exist_ok=True)
        return os.path.join(folder, f"schema{version}-{time.time_ns()}.db")

    def _make_place(self, folder: str) -> None:
        if not self._make_folder:
            return
        try:
            self._make_folder(folder)
        except OSError as error:
            raise StoreReadOnly(
                f"the store's directory cannot be made: {error.strerror}",
                where=folder,
                hint="check the permissions of the directory above it",
            ) from error

    def backup(self, target: str) -> int:
        try:
            return self._copy_to(target)
        except apsw.Error as error:
            raise translated(error, target) from error

    def _copy_to(self, target: str) -> int:
        """A whole copy by SQLite's own backup, checked, then renamed into place."""
        if os.path.exists(target):
            raise Refused(
                "the backup's target exists already", where=target, hint="name a new file"
            )
        partial = f"{target}.{os.urandom(4).hex()}.partial"
        source = self._connect() if not self.path else apsw.Connection(self.path)
        copy = apsw.Connection(partial)
        try:
            os.chmod(partial, 0o600)
            # In one step: with WAL it reads one snapshot and keeps no writer waiting.
            with copy.backup("main", source, "main") as progress:
                progress.step()
            copy.pragma("journal_mode", "delete")
            if copy.pragma("quick_check") != "ok":
                raise StoreCorrupt("the copy failed its check", where=partial)
            copy.close()
            os.rename(partial, target)
            _sync_directory(os.path.dirname(os.path.abspath(target)))
            return os.path.getsize(target)
        finally:
            copy.close()
            if self.path:
                source.close()
            if os.path.exists(partial):
                os.unlink(partial)

    def health(self, deep: bool = False) -> Health:
        def look(tx: Tx) -> Health:
            problems: list[str] = []
            mode = str((tx.one("PRAGMA journal_mode") or ("?",))[0])
            version = apsw.sqlite_lib_version()
            if self.path and mode != "wal":
                problems.append(
                    f"journal mode is {mode}, not wal: readers and writers wait for each other"
                )
            if deep:
                for row in tx.run("PRAGMA integrity_check(20)"):
                    if row[0] != "ok":
                        problems.append(f"integrity: {row[0]}")
            size = os.path.getsize(self.path) if self.path and os.path.exists(self.path) else 0
            durability = "in memory" if not self.path else f"{mode}, synchronous=FULL"
            return Health("sqlite", version, self.path, durability, size, tuple(problems))

        if not self.present():
            version = apsw.sqlite_lib_version()
            return Health("sqlite", version, self.path, "made with the first write", 0, ())
        report = self.read(look)
        if deep:
            self.write(
                lambda tx: tx.run("INSERT INTO words (words, rank) VALUES ('integrity-check', 0)")
            )
        return report

    def close(self) -> None:
        connection: apsw.Connection | None = getattr(self._local, "connection", None)
        if connection is not None and connection is not self._memory:
            connection.close()
        self._local.connection = None

    def _foreign(self) -> StoreError:
        return StoreForeign(
            "this file is an SQLite database, but not a Recollect store",
            where=self.path,
            hint="move it away, or point --project to another directory; nothing was changed",
        )


def _use_wal(connection: apsw.Connection) -> None:
    """Readers and writers side by side, where the library is safe and the file can be written."""
    if wal_is_safe(apsw.sqlite_lib_version()):
        try:
            connection.pragma("journal_mode", "wal")
        except apsw.ReadOnlyError:
            return  # a store that can only be read is read as it is; `doctor` says so


def _identity(path: str) -> tuple[int, int] | None:
    """Which file stands at the path; `stat` opens nothing."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _sync_directory(path: str) -> None:
    handle = os.open(path, os.O_RDONLY)
    os.fsync(handle)
    os.close(handle)
