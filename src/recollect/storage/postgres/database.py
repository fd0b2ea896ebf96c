"""PostgreSQL: the same store for teams, many spaces in one database.

Every statement binds its space, and row-level security shows a role only the spaces it is a member
of. A deadlock and a lost connection are retried; whether a commit was done when its answer was
lost is asked of the server.
"""

from __future__ import annotations

import math
import os
import random
import time
from collections.abc import Callable
from threading import local
from typing import TYPE_CHECKING, Any, cast

from ...errors import Refused, StoreBusy, StoreError, StoreNewer, StoreReadOnly
from ...text.display import hide_password
from .. import migrations
from ..database import EngineHealth, Result, Row, Server, Tx
from . import roles, schema, sql, statements
from .pool import load_driver, pool_of, refuse_write, translate_error
from .tx import PostgresTx, Snapshot

if TYPE_CHECKING:
    import psycopg

_BEGIN_READ = "BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY"
_BEGIN_WRITE = "BEGIN DEFERRABLE"
"""The mark by which triggers recognise Recollect's writes, and seal them; it has no other effect in
a transaction that writes, and costs no statement."""


class _UnknownCommit(Exception):
    """The connection was lost while the server answered a COMMIT."""

    def __init__(self, snapshot: Snapshot, result: Any) -> None:
        self.transaction = snapshot.transaction
        self.token = snapshot.token
        self.result = result


class _LostConnection(Exception):
    """The connection was lost before the COMMIT: nothing was changed."""


class PostgresDatabase:
    """A space in a PostgreSQL database. All threads share the connections of the process."""

    def __init__(self, url: str, space: str, kind: str, *, wait: float = 30.0) -> None:
        self.url = url
        self.space = space
        """The id of the space: once it was found, as a shared one is opened by its name."""
        self._name = space
        self._kind = kind
        self._wait = wait
        self._pool = pool_of(url)
        self.later = self._pool.later.run
        self._pid = os.getpid()
        self._registered = False
        self._writes = True
        """Whether this role may write to the space, as far as is known."""
        self.written_at = -math.inf
        """When a transaction of this process last changed the space (`time.monotonic`)."""
        self._finds_nearest = False
        self._asynchronous = False
        self._local = local()
        self.on_upgrade: Callable[[int], object] = bool

    def present(self) -> bool:
        return True

    def current(self) -> bool:
        return migrations.is_current(self._local, self.read)

    def read(self, work: Callable[[Tx], Result]) -> Result:
        outer = self._pool.snapshot()
        if outer is not None:
            # The spaces of one call are read in one transaction. A second connection could wait
            # for ever, when every thread holds one; and reading creates no space.
            if not self._registered:
                self.space = roles.find_id(outer.cursor, self.space)
            return work(outer.tx(self.space))
        return self._attempt(work, read_only=True)

    def read_ahead(self, work: Callable[[Tx], Result]) -> Result:
        if self._pool.snapshot() is not None:
            return self.read(work)

        def in_rounds(tx: Tx) -> Result:
            snapshot = cast(PostgresTx, tx).snapshot
            return snapshot.read_in_rounds(lambda: work(snapshot.tx(self.space)))

        return self._attempt(in_rounds, read_only=True)

    def write(self, work: Callable[[Tx], Result]) -> Result:
        outer = self._pool.snapshot()
        if outer is not None and self._registered and self._writes and not outer.read_only:
            return work(outer.tx(self.space))
        return self._attempt(work, read_only=False)

    def read_and_write(
        self, look: Callable[[Tx], Any], work: Callable[[Tx, Any], Result]
    ) -> Result:
        def both(tx: Tx) -> Result:
            return work(tx, look(tx))

        def in_rounds(tx: Tx) -> Result:
            snapshot = cast(PostgresTx, tx).snapshot
            return snapshot.read_in_rounds(lambda: both(snapshot.tx(self.space)))

        return self.write(in_rounds)

    def try_write(self, work: Callable[[Tx], Any]) -> bool:
        def quickly(tx: Tx) -> None:
            snapshot = cast(PostgresTx, tx).snapshot
            snapshot.may_be_lost = True
            tx.run(
                "SELECT set_config('synchronous_commit', 'off', true), "
                "set_config('lock_timeout', '50ms', true)"
            )
            snapshot.read_in_rounds(lambda: work(snapshot.tx(self.space)))

        for _ in range(2):
            try:
                self._transact(quickly, read_only=False, wait=0.5)
            except _LostConnection:
                self._pool.close_idle()  # nothing was written: an idle connection was dead
            except (load_driver().Error, _UnknownCommit, StoreBusy, StoreReadOnly):
                return False
            else:
                return True
        return False

    def is_writable(self) -> bool:
        try:
            self._attempt(bool, read_only=False)
        except StoreReadOnly:
            return False
        return True

    def _attempt(self, work: Callable[[Tx], Result], *, read_only: bool) -> Result:
        driver = load_driver()
        deadline = time.monotonic() + self._wait
        while True:
            try:
                return self._transact(work, read_only=read_only, wait=self._wait)
            except _LostConnection as error:
                if time.monotonic() > deadline:
                    raise self._translated(error.__cause__ or error) from error
                self._pool.close_idle()
                time.sleep(random.uniform(0.005, 0.02))
            except _UnknownCommit as unknown:
                if self._was_committed(unknown, deadline):
                    result: Result = unknown.result
                    return result
            except driver.Error as error:
                if not _is_conflict(error):
                    raise self._translated(error) from error
                if time.monotonic() > deadline:
                    busy = self._pool.describe_lock(self._wait, self._prepare, self._place())
                    raise busy from error
                time.sleep(random.uniform(0.001, 0.01))

    def _transact(self, work: Callable[[Tx], Result], *, read_only: bool, wait: float) -> Result:
        """Run work in a transaction of a pooled connection."""
        driver = load_driver()
        connection = self._pool.take(wait, self._prepare)
        snapshot: Snapshot | None = None
        outer = self._pool.snapshot()
        try:
            self._register(connection, read_only)
            begin = [_BEGIN_READ if read_only else _BEGIN_WRITE]
            if self._asynchronous and not read_only:
                begin.append("SET LOCAL synchronous_commit TO on")
            snapshot = Snapshot(
                connection.cursor(), read_only, self._finds_nearest, begin, self.space
            )
            self._pool.current.snapshot = snapshot
            result = work(snapshot.tx(self.space))
            self._pool.current.snapshot = outer
            self._commit(snapshot, result)
            return result
        except driver.Error as error:
            if connection.closed:
                raise _LostConnection from error
            _roll_back(connection)
            raise
        except BaseException:
            if not connection.closed:
                _roll_back(connection)
            raise
        finally:
            self._pool.current.snapshot = outer
            self._pool.give_back(connection)

    def _commit(self, snapshot: Snapshot, result: object) -> None:
        driver = load_driver()
        snapshot.flush()
        if not snapshot.begun:
            return
        if snapshot.read_only:
            snapshot.cursor.execute("COMMIT")
            return
        if not snapshot.may_be_lost:
            self.written_at = time.monotonic()
        transaction = "" if snapshot.may_be_lost else snapshot.transaction_id()
        try:
            snapshot.cursor.execute("COMMIT")
        except driver.Error as error:
            if snapshot.cursor.connection.closed and (transaction or snapshot.may_be_lost):
                raise _UnknownCommit(snapshot, result) from error
            raise
        if snapshot.cursor.statusmessage != "COMMIT":
            raise StoreError(
                "the server rolled the transaction back: an earlier statement failed",
                where=self._place(),
            )

    def _was_committed(self, commit: _UnknownCommit, deadline: float) -> bool:
        """Ask the server whether a transaction was committed whose COMMIT was not answered.

        A server that crashed before it stored the id reports one in the future, or has given it to
        another transaction since: so the mark of this one must exist, too.
        """
        unknown = load_driver().errors.InvalidParameterValue

        def ask(tx: Tx) -> Row | None:
            status = "SELECT pg_xact_status(CAST(:transaction AS xid8))"
            try:
                found = tx.one(status, {"transaction": commit.transaction})
            except unknown:
                return ("aborted",)
            marked = statements.has_mark(tx, commit.transaction, commit.token)
            return found if found != ("committed",) or marked else ("aborted",)

        while True:
            found = self._attempt(ask, read_only=True)
            state = found[0] if found else None
            if state in ("committed", "aborted"):
                return bool(state == "committed")
            if state is None or time.monotonic() > deadline:
                raise StoreError(
                    "the connection was lost during a commit, and the server does not say whether "
                    "it was done",
                    where=self._place(),
                    hint="look whether the change is there before you repeat it",
                )
            time.sleep(random.uniform(0.005, 0.02))

    def _prepare(self, connection: psycopg.Connection[Row]) -> None:
        """Check the version of the tables on a new connection, and upgrade them."""
        version = schema.read_version(connection)
        if 0 < version < migrations.LATEST and getattr(self._local, "hurried", False):
            raise migrations.OutdatedStore
        if version < migrations.LATEST:
            schema.upgrade(connection, version, self._wait, self._place(), self.on_upgrade)
        if version > migrations.LATEST:
            raise StoreNewer(
                f"a newer Recollect wrote this store (schema {version}, this one knows "
                f"{migrations.LATEST})",
                where=self._place(),
                hint="upgrade this one: pip install . in its newest source",
            )

    def _register(self, connection: psycopg.Connection[Row], read_only: bool) -> None:
        """Find this space, or make it; once for each opened space. A member that only reads is
        refused a transaction that writes: row-level security hides rows from an UPDATE, so that
        they would seem to be missing."""
        if self._registered and (self._writes or read_only):
            return
        found = roles.find_space(connection, self._name, self._kind, self._place())
        self.space = found.id
        self._asynchronous = found.commits not in ("on", "remote_apply", "remote_write")
        self._finds_nearest = schema.uses_pgvector(connection)
        self._writes = found.writes
        self._registered = True
        if not (found.writes or read_only):
            raise refuse_write(self.url, self._name)

    def use_new_features(self) -> None:
        def look(tx: Tx) -> None:
            if not self._finds_nearest:
                for statement in sql.USE_PGVECTOR.split(";\nDO"):
                    tx.run(statement if statement.startswith("\nDO") else f"DO{statement}")

            self._registered = False

        # `health` reports that another role owns the tables.
        self._as_owner(lambda: self._transact(look, read_only=False, wait=self._wait))

    def vacuum(self) -> bool:
        """Free the space of deleted rows; return False if this role does not own the tables."""
        connection = self._pool.take(self._wait, self._prepare)
        try:
            return schema.vacuum(connection)
        except load_driver().Error as error:
            raise self._translated(error) from error
        finally:
            self._pool.give_back(connection)

    def _as_owner(self, work: Callable[[], object]) -> None:
        """Run work that only the owner of the tables may do; do nothing for other roles."""
        driver = load_driver()
        try:
            work()
        except driver.errors.InsufficientPrivilege:
            return
        except driver.Error as error:
            raise self._translated(error) from error

    def backup(self, target: str) -> int:
        from ..backup import copy_space

        return copy_space(self, target)

    def adopt(self, work: Callable[[Tx], Result]) -> Result:
        raise Refused("a space on a server has no file that could be adopted", where=self._place())

    def server(self) -> Server:
        return roles.PostgresServer(self.url, self._wait)

    def health(self, deep: bool = False) -> EngineHealth:
        return self.read(lambda tx: schema.read_health(tx, self._place(), deep))

    def close(self) -> None:
        if os.getpid() == self._pid:
            self._pool.close()

    def _place(self) -> str:
        return hide_password(self.url)

    def _translated(self, error: BaseException) -> StoreError:
        return translate_error(error, self.url, self._name)


def _is_conflict(error: psycopg.Error) -> bool:
    """Check whether a transaction failed because of another one, and may be tried again."""
    errors = load_driver().errors
    if isinstance(error, errors.UniqueViolation):
        # Both transactions replaced the entries of one record: the later one cannot see the new
        # entries of the other until it starts again.
        return bool(error.diag.constraint_name == "entries_by_ref")
    conflicts = (errors.DeadlockDetected, errors.SerializationFailure, errors.LockNotAvailable)
    return isinstance(error, conflicts)


def _roll_back(connection: psycopg.Connection[Row]) -> None:
    try:
        connection.rollback()
    except load_driver().Error:
        connection.close()
