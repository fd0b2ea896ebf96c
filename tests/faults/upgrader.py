"""Upgrade a store of an older version again and again, killed at each statement in turn.

python -m tests.faults.upgrader FOLDER VERSION STEP

Prints the number of statements that an upgrade takes and of crashes, or says what was wrong. A
forked child is killed; the parent then looks at the file and opens it, as the next process would.
"""

from __future__ import annotations

import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import apsw

from recollect.storage import migrations
from recollect.storage.database import TABLES
from recollect.storage.sqlite import APPLICATION_ID, SqliteDatabase

ROWS = 8
Content = dict[str, list[Any]]


def make_old(path: Path, version: int) -> None:
    """Write a store as the release with this schema version made it, with rows in every table."""
    connection = apsw.Connection(str(path))
    connection.pragma("journal_mode", "wal")
    migrations.define_functions(connection)
    for script in migrations.pending_scripts(0, "sqlite")[:version]:
        connection.execute(script)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", version)
    connection.execute("INSERT INTO spaces VALUES ('project', 'project', '', '', 1)")
    for table in _tables(connection):
        known = connection.execute(
            "SELECT name, type FROM pragma_table_info(?)", (table,)
        ).fetchall()
        for number in range(ROWS):
            values = [make_value(str(name), str(type), number) for name, type in known]
            marks = ", ".join("?" for _ in values)
            connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)
    connection.close()


def _tables(connection: apsw.Connection) -> list[str]:
    there = {row[0] for row in connection.execute("SELECT name FROM sqlite_schema")}
    return [table for table in TABLES if table in there]


_FIXED = {"space": "project", "valid_to": 2**62, "status": "active", "layer": "project"}
_JSON = {"tags", "scope", "examples", "citations", "evidence", "sources"}


def make_value(name: str, type: str, number: int) -> Any:
    """Return a value for a column of a type, of either engine."""
    if name in _FIXED:
        return _FIXED[name]
    if name in _JSON:
        return "[]"
    if name in ("detail", "fields"):
        return "{}"
    if type in ("BLOB", "bytea"):
        return bytes([number])
    return f"{name} {number}" if type.upper() == "TEXT" else number


def content_of(path: Path) -> tuple[int, Content]:
    """Return the version of a store and all its rows."""
    connection = apsw.Connection(str(path))
    try:
        assert connection.pragma("integrity_check") == "ok"
        rows = {
            table: sorted(connection.execute(f"SELECT * FROM {table}").fetchall(), key=repr)
            for table in ("spaces", *_tables(connection))
        }
        rows["spaces"] = [row[:1] for row in rows["spaces"]]  # a new id, a new time
        return int(connection.pragma("user_version")), rows
    finally:
        connection.close()


def upgrade(path: Path, last: int = 0) -> int:
    """Open a store, which upgrades it; return the number of statements. At statement `last` the
    process kills itself."""
    done = 0

    def count(_: Any) -> None:
        nonlocal done
        done += 1
        if done == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def watch(connection: apsw.Connection) -> None:
        connection.trace_v2(apsw.SQLITE_TRACE_STMT, count)

    apsw.connection_hooks.append(watch)
    try:
        database = SqliteDatabase(str(path), "project")
        database.read(lambda tx: None)
        database.close()
    finally:
        apsw.connection_hooks.remove(watch)
    return done


def crash(path: Path, last: int) -> None:
    """Upgrade a store in a child process that dies at a statement."""
    child = os.fork()
    if not child:
        upgrade(path, last)
        os._exit(0)
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    assert status == -signal.SIGKILL, status


def main() -> None:
    folder, version, step = Path(sys.argv[1]), int(sys.argv[2]), int(sys.argv[3])
    start = folder / "start"
    start.mkdir(parents=True)
    make_old(start / "memory.db", version)
    before = content_of(start / "memory.db")
    whole = folder / "whole"
    shutil.copytree(start, whole)
    total = upgrade(whole / "memory.db")
    after = content_of(whole / "memory.db")
    assert after[0] == migrations.LATEST
    for table, rows in before[1].items():
        assert len(after[1][table]) == len(rows), table
    crashes = 0
    for last in range(1 + version % step, total + 1, step):
        place = folder / f"killed{last}"
        shutil.copytree(start, place)
        crash(place / "memory.db", last)
        found = content_of(place / "memory.db")
        assert found in (before, after), f"version {version}, statement {last}: between"
        upgrade(place / "memory.db")
        assert content_of(place / "memory.db") == after, f"version {version}, statement {last}"
        assert list((place / "backups").glob("*.db")), "no backup was made before the upgrade"
        shutil.rmtree(place)
        crashes += 1
    print(total, crashes)


if __name__ == "__main__":
    main()
