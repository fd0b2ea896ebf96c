"""A pool of PostgreSQL connections for all threads of a process, and the driver's errors."""

from __future__ import annotations

import os
import random
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from threading import Condition, Lock, local
from typing import TYPE_CHECKING, Any, NamedTuple

from ...errors import StoreBusy, StoreError, StoreFull, StoreReadOnly, Unavailable
from ...text.display import hide_password
from ..database import Row
from .later import LaterRunner

if TYPE_CHECKING:
    import psycopg

    from .tx import Snapshot

MOST_CONNECTIONS = 10
"""Connections of one process to one server; further threads wait for a free one."""

_IDLE = 300.0
"""Seconds after which an unused connection is closed, at the next use of the pool."""

_RESTARTING = ("starting up", "shutting down", "recovery mode", "not yet accepting", "too many")
"""What a server says that will soon take connections."""

_NO_JIT = "-c jit=off"
"""PostgreSQL compiles statements of a high estimated cost. With Debian's server, as in Docker's
images, that took 25 seconds of a prompt in a new space; without it 0.04."""

_RESTART_WAIT = 10.0
"""Seconds that a first connection waits for a server that says so."""


class IdleConnection(NamedTuple):
    """A free connection, and since when it is free."""

    connection: psycopg.Connection[Row]
    since: float


class ConnectionPool:
    """Connections to one address. `prepare` is run on each new one."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._pid = os.getpid()
        self._idle: list[IdleConnection] = []
        self._open = 0
        self._free = Condition()
        self._connected = False
        self._options = _NO_JIT
        self.current = local()
        """`snapshot` is the transaction that the thread is in."""
        self.later = LaterRunner()

    def snapshot(self) -> Snapshot | None:
        """Return the transaction that this thread is in."""
        return getattr(self.current, "snapshot", None)

    def take(
        self, wait: float, prepare: Callable[[psycopg.Connection[Row]], None]
    ) -> psycopg.Connection[Row]:
        """Return a free connection or a new one; raise StoreBusy after `wait` seconds."""
        if os.getpid() != self._pid:
            raise StoreError(
                "this store was opened before a fork and cannot be used in the child",
                hint="call recollect.open() again in the child process",
            )
        with self._free:
            self._close_unused()
            if not self._free.wait_for(self._is_available, wait):
                raise StoreBusy(
                    f"all {MOST_CONNECTIONS} connections of this process are in use",
                    hint="use fewer threads, or shorter transactions",
                )
            if self._idle:
                return self._idle.pop().connection
            self._open += 1
        try:
            return self._connect(wait, prepare)
        except BaseException:
            self._forget()
            raise

    def _is_available(self) -> bool:
        return bool(self._idle) or self._open < MOST_CONNECTIONS

    def _connect(
        self, wait: float, prepare: Callable[[psycopg.Connection[Row]], None]
    ) -> psycopg.Connection[Row]:
        """Connect and prepare. A server that answered before, or says that it is starting, is tried
        again, unless it refuses the login; so is one that is lost while the connection is
        prepared."""
        driver = load_driver()
        deadline = time.monotonic() + (wait if self._connected else min(wait, _RESTART_WAIT))
        # A member can lock a table for as long as they like.
        limit = f" -c lock_timeout={max(round(1000 * wait), 1)}"
        while True:
            try:
                # No prepared statements: a pooler in transaction mode does not keep them.
                options = self._options and self._options + limit
                connection: psycopg.Connection[Row] = driver.connect(
                    add_options(self._url, options), autocommit=True, prepare_threshold=None
                )
            except driver.OperationalError as error:
                if self._options and "unsupported startup parameter" in str(error):
                    self._options = ""  # a pooler; the database has the setting, or `doctor` warns
                    continue
                restarts = any(sign in str(error) for sign in _RESTARTING)
                again = restarts or (self._connected and not _is_refused(error))
                if not again or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.02, 0.1))
                continue
            self._connected = True
            try:
                prepare(connection)
            except BaseException as error:
                is_lost = connection.closed and isinstance(error, driver.OperationalError)
                connection.close()
                if not is_lost or time.monotonic() > deadline:
                    raise
                time.sleep(random.uniform(0.02, 0.1))
            else:
                return connection

    def give_back(self, connection: psycopg.Connection[Row]) -> None:
        """Take a connection back; a broken one is closed."""
        if connection.closed or connection.info.transaction_status != 0:
            connection.close()
            self._forget()
            return
        with self._free:
            self._idle.append(IdleConnection(connection, time.monotonic()))
            self._free.notify()

    def describe_lock(
        self, wait: float, prepare: Callable[[psycopg.Connection[Row]], None], place: str
    ) -> StoreBusy:
        """Return the error for a lock that was not released."""
        connection = self.take(wait, prepare)
        try:
            return describe_lock(connection, place)
        finally:
            self.give_back(connection)

    def close(self) -> None:
        """Close the connections that no thread uses, after what was to be run later."""
        self.later.join()
        self.close_idle()

    def _forget(self) -> None:
        with self._free:
            self._open -= 1
            self._free.notify()

    def _close_unused(self) -> None:
        """Close connections that were not used for some minutes."""
        limit = time.monotonic() - _IDLE
        while self._idle and self._idle[0].since < limit:
            self._idle.pop(0).connection.close()
            self._open -= 1

    def close_idle(self) -> None:
        """Close the connections that no thread uses."""
        with self._free:
            while self._idle:
                self._idle.pop().connection.close()
                self._open -= 1
            self._free.notify_all()


_POOLS: dict[tuple[int, str], ConnectionPool] = {}
_LOCK = Lock()


def pool_of(url: str) -> ConnectionPool:
    """Return the pool of this process for an address."""
    with _LOCK:
        return _POOLS.setdefault((os.getpid(), url), ConnectionPool(url))


def load_driver() -> Any:
    """Import the driver at its first use."""
    try:
        import psycopg
    except ImportError as error:
        raise Unavailable(
            "the PostgreSQL driver is not installed",
            hint="install it with: pip install 'psycopg[binary]'",
        ) from error
    return psycopg


def add_options(url: str, options: str) -> str:
    """Return an address with options for the server before those that it has."""
    if not options:
        return url
    make, parts = load_driver().conninfo.make_conninfo, load_driver().conninfo.conninfo_to_dict(url)
    given = parts.get("options") or os.environ.get("PGOPTIONS", "")
    return str(make(url, options=f"{options} {given}".strip()))


_REASONS = (
    ("QueryCanceled", "PostgreSQL cancelled the statement: {said}",
     "the server's statement_timeout may be too short, or an administrator cancelled it"),
    ("TooManyConnections", "PostgreSQL has no free connection: {said}",
     "raise max_connections, or put pgbouncer in front of the server"),
    ("InvalidPassword", "PostgreSQL refused the login: {said}",
     "check the user and password in RECOLLECT_DATABASE"),
    ("InvalidAuthorizationSpecification", "PostgreSQL refused the login: {said}",
     "check the user and password in RECOLLECT_DATABASE"),
    ("InvalidCatalogName", "there is no such database: {said}",
     "check the name in RECOLLECT_DATABASE, or create the database"),
    ("InsufficientPrivilege", "this role may not do that: {said}",
     "the owner of the tables runs `recollect server setup --apply` and `recollect server grant`"),
    ("InvalidSchemaName", "there are no tables in this database yet",
     "the owner of the tables runs `recollect server setup --apply`"),
    ("UndefinedTable", "the tables are missing in this database: {said}",
     "the owner of the tables runs `recollect server setup --apply`"),
    ("IdleInTransactionSessionTimeout", "PostgreSQL ended an idle transaction: {said}", ""),
)  # fmt: skip
_SAID = (
    ("password authentication failed", "InvalidPassword"),
    ('FATAL:  role "', "InvalidPassword"),
    ("no password supplied", "InvalidPassword"),
    ("does not exist", "InvalidCatalogName"),
    ("no such database", "InvalidCatalogName"),  # of pgbouncer
    ("too many clients", "TooManyConnections"),
    ("too many connections", "TooManyConnections"),
    ("no more connections allowed", "TooManyConnections"),
    ("remaining connection slots", "TooManyConnections"),
)
"""Messages of a server that refuses a connection; the driver has no code for them."""


def _is_refused(error: BaseException) -> bool:
    """Check whether a server refuses a login, as it will the next time."""
    refused = ("password authentication failed", "no password supplied", "not permitted to log in")
    return any(words in str(error) for words in refused)


def refuse_write(url: str, space: str) -> StoreReadOnly:
    """Return the error for a member that only reads the space."""
    role = load_driver().conninfo.conninfo_to_dict(url).get("user", "")
    return StoreReadOnly(
        f"{role or 'your role'} may not write to the space {space!r}",
        where=hide_password(url),
        hint=f"the owner of the tables runs: recollect server grant {role or 'ROLE'} {space}",
    )


def translate_error(error: BaseException, url: str, space: str = "") -> StoreError:
    """Return the driver's error as ours, with its true reason; `space` is the one in use."""
    driver, place = load_driver(), hide_password(url)
    first_line = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
    first_line = hide_password(first_line)
    if isinstance(error, driver.errors.DiskFull):
        return StoreFull("the database server has no space left", where=place)
    if isinstance(error, driver.errors.ReadOnlySqlTransaction):
        return StoreReadOnly("the database is read-only", where=place)
    if "query_wait_timeout" in first_line:  # of pgbouncer
        return StoreError(
            f"PostgreSQL cannot be reached: the pooler got no connection to it ({first_line})",
            where=place,
            hint="check that the server behind the pooler is running and has free connections",
        )
    if space and "row-level security policy" in first_line:
        return refuse_write(url, space)
    spoken = next((name for words, name in _SAID if words in str(error)), "")
    for name, message, hint in _REASONS:
        kind = getattr(driver.errors, name)
        if isinstance(error, kind) or (name == spoken and type(error) is driver.OperationalError):
            return StoreError(message.format(said=first_line), where=place, hint=hint)
    # The server answers with a code: of a failed connection there is none.
    if isinstance(error, driver.OperationalError) and not error.sqlstate:
        return StoreError(
            f"PostgreSQL cannot be reached: {first_line}",
            where=place,
            hint="check RECOLLECT_DATABASE and that the server is running",
        )
    # Hide anything that libpq could read as an address, too.
    wrong = not url.startswith(("postgresql://", "postgres://")) and "=" not in url
    hint = "an address is postgresql://me@host/database" if wrong else ""
    return StoreError(f"PostgreSQL says: {first_line}", where=place, hint=hint)


MIGRATION_LOCK = 0x5245434F
_HOLDERS = f"""
SELECT DISTINCT a.usename, a.pid FROM pg_locks l JOIN pg_stat_activity a ON a.pid = l.pid
WHERE l.granted AND l.pid <> pg_backend_pid() AND a.datname = current_database()
  AND (l.locktype = 'advisory' AND l.objid = {MIGRATION_LOCK} OR l.relation IN (
    SELECT c.oid FROM pg_class c WHERE c.relnamespace = to_regnamespace('recollect')
    AND c.relkind IN ('r', 'p')))
ORDER BY 1, 2 LIMIT 5
"""


def describe_lock(connection: psycopg.Connection[Row], place: str) -> StoreBusy:
    """Return the error for a lock that was not released, with the roles that hold locks now."""
    holders = connection.execute(_HOLDERS).fetchall()
    if not holders:
        return StoreBusy("other processes kept the store locked", where=place)
    roles = ", ".join([f"{role} (process {pid})" for role, pid in holders])
    ends = "; ".join([f"SELECT pg_terminate_backend({pid})" for _, pid in holders])
    return StoreBusy(
        f"the tables are locked by {roles}",
        where=place,
        hint=f"try again when they have finished, or an administrator runs: {ends};",
    )


@contextmanager
def limited_wait(connection: psycopg.Connection[Row], wait: float, place: str) -> Iterator[None]:
    """Run a transaction that waits at most so many seconds for a lock; then raise StoreBusy with
    the roles that hold it."""
    try:
        with connection.transaction():
            timeout = str(max(round(1000 * wait), 1))
            connection.execute("SELECT set_config('lock_timeout', %s, true)", (timeout,))
            yield
    except load_driver().errors.LockNotAvailable as error:
        raise describe_lock(connection, place) from error
