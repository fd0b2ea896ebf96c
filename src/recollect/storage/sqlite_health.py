"""The health of an SQLite store: its settings, and damage to pages, indexes and records.

SQLite stores any bytes as text, so a bad disk, an old copy or another program can leave some that
are not UTF-8. Reading skips such a record (`sqlite_tx`); this module names it.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence

import apsw

from ..errors import StoreCorrupt, StoreForeign
from ..fast_typing import Any
from ..text import seals
from . import sqlite_files
from .database import EngineHealth, Row, Tx

_NAMED = 5
REPAIR = "`recollect recover` takes them from a backup"


def install(connection: apsw.Connection) -> None:
    """Make a connection seal the rows that it writes."""
    connection.execute("PRAGMA temp_store = MEMORY")
    _define(connection)
    for table, columns in _sealed_tables(connection):
        new, old = (", ".join(f"{row}.{name}" for name in columns) for row in ("NEW", "OLD"))
        sets = f"UPDATE {table} SET seal = make_seal({new}) WHERE rowid = NEW.rowid"
        # Memories are inserted with their seals: with a trigger, SQLite copies every page that an
        # insertion changes, which takes longer than the insertion.
        if table != "memories":
            connection.execute(
                f"CREATE TEMP TRIGGER IF NOT EXISTS seal_new_{table} AFTER INSERT ON main.{table} "
                f"WHEN NEW.seal = '' BEGIN {sets}; END"
            )
        connection.execute(
            f"CREATE TEMP TRIGGER IF NOT EXISTS seal_changed_{table} "
            f"AFTER UPDATE OF {', '.join(columns)} ON main.{table} "
            f"WHEN OLD.seal = make_seal({old}) BEGIN {sets}; END"
        )


def seal_all(connection: apsw.Connection) -> None:
    """Seal the rows that have no seal yet, after an upgrade."""
    _define(connection)
    for table, columns in _sealed_tables(connection):
        connection.execute(
            f"UPDATE {table} SET seal = make_seal({', '.join(columns)}) WHERE seal = ''"
        )


def find_altered(connection: apsw.Connection) -> Iterator[str]:
    """Yield a sentence for each table with rows that were changed from outside."""
    _define(connection)
    for table in seals.COLUMNS:
        key = "address" if table == "documents" else "id"
        rows = connection.execute(
            f"SELECT CAST({key} AS BLOB) FROM {table} "
            f"WHERE seal <> {seals.seal_form(table)} OR {seals.holds_blob(table)} "
            f"OR {seals.holds_wrong(table)}"
        )
        yield from seals.describe_altered(
            table, [row[0].decode(errors="replace") for row in rows], REPAIR
        )
    rows = connection.execute(
        "SELECT CAST(session AS BLOB), seq FROM messages WHERE digest <> make_digest(CAST(body AS "
        'BLOB)) AND body <> \'{"role":"\' || role || \'","content":"[forgotten]"}\''
    )
    names = [f"{row[0].decode(errors='replace')}/messages/{row[1]}" for row in rows]
    yield from seals.describe_altered("messages", names, REPAIR)


def _sealed_tables(connection: apsw.Connection) -> list[tuple[str, Sequence[str]]]:
    """Return the tables with seals; a store of an earlier version has none."""
    sealed = "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE '%seal TEXT%'"
    tables = {row[0] for row in connection.execute(sealed)}
    return [(table, columns) for table, columns in seals.COLUMNS.items() if table in tables]


def _define(connection: apsw.Connection) -> None:
    sqlite_files.define_seal(connection)
    connection.create_scalar_function("make_digest", _digest, deterministic=True)


def _digest(*bodies: Any) -> str | None:
    from hashlib import sha256

    try:
        return sha256(bodies[0].decode().encode()).hexdigest()
    except UnicodeDecodeError:
        return None


_SAFE_WAL = ((3, 44, 6), (3, 50, 7), (3, 51, 3))


def wal_is_safe(version: str) -> bool:
    """Check whether WAL is safe: older libraries can lose commits when several checkpoint."""
    numbers = tuple(int(part) for part in version.split(".")[:3])
    if numbers >= _SAFE_WAL[-1]:
        return True
    return any(numbers[:2] == floor[:2] and numbers >= floor for floor in _SAFE_WAL)


_MOUNTS = "/proc/self/mountinfo"
_REMOTE = ("nfs", "cifs", "smb", "9p", "virtiofs", "fuse", "ceph", "afs", "lustre", "gluster")


def remote_type(path: str) -> str:
    """Return the type of the network file system of a store; empty for a disk of this machine.

    The index of a WAL is memory that processes share, which such a file system may not give them.
    """
    try:
        device = os.stat(os.path.dirname(path) or ".").st_dev
        if sqlite_files.is_on_disk(path):
            return ""
        with open(_MOUNTS, encoding="utf-8", errors="replace") as file:
            for line in file:
                mount, _, type = line.partition(" - ")
                if mount.split()[2] == f"0:{os.minor(device)}":
                    return type.split()[0] if type.startswith(_REMOTE) else ""
    except OSError:
        return ""  # another system than Linux
    return ""


def choose_journal(connection: apsw.Connection, path: str) -> None:
    """Use WAL if the library is safe and the file writable and local, else the rollback journal."""
    mode = "wal"
    if not wal_is_safe(apsw.sqlite_lib_version()) or remote_type(path):
        mode = "delete"
    try:
        if connection.pragma("journal_mode") != mode:
            connection.pragma("journal_mode", mode)
    except apsw.ReadOnlyError:
        return  # a read-only store is used as it is; `doctor` reports it
    except apsw.BusyError:
        if mode == "wal":
            raise  # another process makes the same store: it is tried again
        # Another process uses the WAL: as it is, until it ends; `doctor` reports it.


WORDS_DAMAGED = (
    "the word index does not fit the texts: nothing is lost, and `recollect rebuild` makes it again"
)

_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' ORDER BY name"
)


def report_missing(path: str) -> EngineHealth:
    """Return the state of a store that does not exist yet."""
    return EngineHealth(
        engine="sqlite",
        version=apsw.sqlite_lib_version(),
        place=path,
        durability="made with the first write",
        size=0,
        problems=(),
    )


def report_health(connection: apsw.Connection, path: str, deep: bool) -> EngineHealth:
    """Return the state of a store; with `deep`, read all of it."""
    problems: list[str] = []
    mode = str(connection.pragma("journal_mode"))
    remote = remote_type(path) if path else ""
    if remote:
        problems.append(
            f"the store is on a network file system ({remote}): readers and writers wait for each "
            "other, and only one machine may use it; for several, use PostgreSQL"
        )
    elif path and mode != "wal":
        problems.append(f"journal mode is {mode}, not wal: readers and writers wait for each other")
    log = f"{path}-wal"
    if path and os.path.exists(log) and (size := os.path.getsize(log)) > sqlite_files.MOST_LOG:
        problems.append(
            f"the write-ahead log has {size >> 20} MB: a process has been reading for long, and "
            "nothing can be written back until it ends"
        )
    if deep:
        problems += find_damage(connection)
    return EngineHealth(
        engine="sqlite",
        version=apsw.sqlite_lib_version(),
        place=path,
        durability=f"{mode}, synchronous=FULL" if path else "in memory",
        size=os.path.getsize(path) if path and os.path.exists(path) else 0,
        problems=tuple(problems),
    )


def check_words(write: Callable[[Callable[[Tx], object]], object]) -> tuple[str, ...]:
    """Run the integrity check of FTS5 in a transaction; return the problem of a damaged index."""
    check = "INSERT INTO words (words, rank) VALUES ('integrity-check', 0)"
    try:
        write(lambda tx: tx.run(check))
    except StoreCorrupt:
        return (WORDS_DAMAGED,)
    return ()


def load_schema(tx: Tx) -> list[Row]:
    """Return all tables, indexes and triggers of a store."""
    return tx.run("SELECT type, name, tbl_name, sql FROM sqlite_schema ORDER BY type, name")


def check_tables(tx: Tx, own: Sequence[Row], path: str) -> None:
    """Raise StoreForeign if a store has another schema than our `own`."""
    if load_schema(tx) != own:
        raise StoreForeign(
            "this store's tables are not those that Recollect makes",
            where=path,
            hint="remove the store, and do not trust where it came from",
        )


def find_damage(connection: apsw.Connection) -> list[str]:
    """Read the whole store and return the problems found."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    bad = [f"integrity: {message}" for message in found if message != "ok"]
    try:
        bad += [*_undecodable(connection), *find_altered(connection)]
    except apsw.CorruptError as error:
        bad.append(f"not all of it can be read: {error}; run `recollect recover`")
    return bad


def _undecodable(connection: apsw.Connection) -> list[str]:
    """Return a sentence for each table with text that is not UTF-8."""
    connection.create_scalar_function("is_utf8", _is_utf8, deterministic=True)
    tables = [str(row[0]) for row in connection.execute(_TABLES)]
    return [problem for table in tables if (problem := _in_table(connection, table))]


def _in_table(connection: apsw.Connection, table: str) -> str:
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    known = [(str(name), type == "TEXT", bool(pk)) for name, type, pk in columns]
    texts = [f"coalesce({_bytes(name)}, x'')" for name, is_text, _ in known if is_text]
    keys = [_bytes(name) for name, _, is_key in known if is_key]
    if not texts or not keys:
        return ""
    rows = connection.execute(
        f"SELECT {', '.join(keys[1:] or keys)} FROM {_quoted(table)} "
        f"WHERE NOT is_utf8({', '.join(texts)})"
    )
    count, named = 0, []
    for row in rows:
        count += 1
        if count <= _NAMED:
            named.append("/".join([part.decode(errors="replace") for part in row]))
    if not count:
        return ""
    more = ", …" if count > _NAMED else ""
    what = "1 record holds" if count == 1 else f"{count} records hold"
    return (
        f"{table}: {what} text that is not UTF-8, and everything else goes on without: "
        f"{', '.join(named)}{more}; restore from a copy made by `recollect backup`"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bytes(name: str) -> str:
    return f"CAST({_quoted(name)} AS BLOB)"


def _is_utf8(*texts: Any) -> bool:
    try:
        b"\n".join(texts).decode()
    except UnicodeDecodeError:
        return False
    return True
