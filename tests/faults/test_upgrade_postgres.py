"""An upgrade on PostgreSQL that is cut at a statement changes nothing, from every version."""

from __future__ import annotations

import os
import re
import signal
import time
from collections.abc import Callable
from typing import Any

import psycopg
import pytest

from recollect.storage import migrations
from recollect.storage.database import TABLES
from recollect.storage.postgres import schema as postgres_schema
from recollect.storage.postgres.database import PostgresDatabase
from tests.builders.old_postgres import old_store
from tests.conftest import PATIENCE
from tests.faults.tiers import choose
from tests.faults.upgrader import make_value

STEP = choose(97, 1)
"""The upgrade is cut at every statement whose number is a multiple of this."""

_PARTS = re.compile(r"\$(\w*)\$.*?\$\1\$|'(?:[^']|'')*'|--[^\n]*|;|[^;$'-]+|.", re.DOTALL)
Content = tuple[int, dict[str, list[str]]]


def split_statements(script: str) -> list[str]:
    """Split a script at its semicolons, except those in quotes, bodies and comments."""
    parts, found = [""], _PARTS.finditer(script)
    for part in found:
        if part[0] == ";":
            parts.append("")
        elif not part[0].startswith("--"):
            parts[-1] += part[0]
    return [part for part in parts if part.strip()]


class Cut(Exception):
    """The connection was cut on purpose."""


class CutConnection:
    """A connection that runs scripts statement by statement, and is cut at one of them."""

    def __init__(self, url: str, last: int, cut: Callable[[Any], None]) -> None:
        self._inner = psycopg.connect(url, autocommit=True)
        self._last = last
        self._cut = cut
        self.done = 0

    def execute(self, sql: str, params: Any = None) -> Any:
        result = None
        for statement in split_statements(sql) if params is None else [sql]:
            self.done += 1
            if self.done == self._last:
                self._cut(self._inner)
                raise Cut
            result = self._inner.execute(statement, params)
        return result

    def transaction(self) -> Any:
        return self._inner.transaction()

    def close(self) -> None:
        self._inner.close()


def admin_of(url: str) -> str:
    return url.replace("tester:tester@", "postgres:@", 1)


def make_old(url: str, version: int) -> None:
    """Write a store as the release with this schema version made it, with rows in every table."""
    with old_store(url, "project", version):
        pass
    with psycopg.connect(admin_of(url), options="-c search_path=recollect,public") as connection:
        connection.deferrable = True  # its writes are sealed, as those of Recollect are
        _sample_nothing(connection)
        for table in TABLES:
            known = connection.execute(
                "SELECT column_name, data_type FROM information_schema.columns "
                "WHERE table_schema = 'recollect' AND table_name = %s ORDER BY ordinal_position",
                (table,),
            ).fetchall()
            for number in range(4 if known else 0):
                values = [make_value(name, type, number) for name, type in known]
                marks = ", ".join(["%s"] * len(values))
                connection.execute(f"INSERT INTO {table} VALUES ({marks})", values)


def _sample_nothing(connection: Any) -> None:
    """Switch the planner's samples off, as earlier versions did for more columns than now."""
    columns = connection.execute(
        "SELECT format('ALTER TABLE %s ALTER COLUMN %I SET STATISTICS 0', attrelid::regclass, "
        "attname) FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 AND NOT "
        "attisdropped AND relnamespace = 'recollect'::regnamespace AND relkind IN ('r', 'p') "
        "AND atttypid = 'text'::regtype"
    )
    for (statement,) in columns.fetchall():
        connection.execute(statement)


def content_of(url: str) -> Content:
    """Return the version of a store, all its rows, and its columns, indexes, constraints, triggers
    and policies."""
    with psycopg.connect(admin_of(url)) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class WHERE relnamespace = 'recollect'::regnamespace "
            "AND relkind IN ('r', 'p') AND NOT relispartition AND relname <> 'migrations'"
        ).fetchall()
        rows = {
            table: sorted(
                row[0] for row in connection.execute(f"SELECT t::text FROM recollect.{table} t")
            )
            for (table,) in tables
        }
        schema = connection.execute(
            "SELECT 'column ' || attrelid::regclass || '.' || attname || ' ' || atttypid::regtype "
            "|| ' sampled ' || coalesce(attstattarget, -1) "
            "FROM pg_attribute JOIN pg_class c ON c.oid = attrelid WHERE attnum > 0 AND NOT "
            "attisdropped AND relnamespace IN (SELECT oid FROM pg_namespace WHERE nspname LIKE "
            "'recollect%') UNION ALL SELECT 'trigger ' || tgrelid::regclass || '.' || tgname "
            "FROM pg_trigger WHERE NOT tgisinternal UNION ALL SELECT 'policy ' || "
            "polrelid::regclass || '.' || polname || pg_get_expr(polqual, polrelid) FROM pg_policy "
            "UNION ALL SELECT 'constraint ' || conrelid::regclass || '.' || conname || ' ' || "
            "pg_get_constraintdef(oid) FROM pg_constraint WHERE connamespace = "
            "'recollect'::regnamespace AND contype <> 'n' UNION ALL SELECT indexdef FROM pg_indexes "
            "WHERE schemaname = 'recollect'"
        ).fetchall()
        rows["schema"] = sorted(str(row[0]) for row in schema)
        version = connection.execute("SELECT max(version) FROM recollect.migrations").fetchone()
    return int(version[0]) if version else 0, rows


def upgrade(url: str, last: int, cut: Callable[[Any], None]) -> int:
    """Upgrade a store; at statement `last` the connection is cut. Return the number of statements."""
    connection: Any = CutConnection(url, last, cut)
    try:
        postgres_schema.run_migrations(connection, PATIENCE, "")
    finally:
        connection.close()
    return int(connection.done)


def lose_client(connection: Any) -> None:
    connection.pgconn.finish()


def end_backend(connection: Any) -> None:
    """End the server's process as an administrator does."""
    info = connection.info
    admin = f"host={info.host} port={info.port} dbname={info.dbname} user=postgres"
    with psycopg.connect(admin, autocommit=True) as other:
        other.execute("SELECT pg_terminate_backend(%s, 60000)", (info.backend_pid,))


def kill_server(connection: Any) -> None:
    """Kill the server's process: the whole server ends without a word, and recovers from its log."""
    os.kill(connection.info.backend_pid, signal.SIGKILL)


VERSIONS = range(1, migrations.LATEST) if STEP == 1 else (1, 10, migrations.LATEST - 1)


@pytest.mark.parametrize("version", VERSIONS)
def test_an_upgrade_that_is_cut_leaves_the_old_tables(postgres_url: str, version: int) -> None:
    make_old(postgres_url, version)
    before = content_of(postgres_url)
    assert before[0] == version
    assert len(before[1]) > 10
    last, cuts = 1 + version % STEP, 0
    while True:
        cut = end_backend if cuts % 2 else lose_client
        if STEP == 1 and cuts == 40:
            cut = kill_server
        try:
            total = upgrade(postgres_url, last, cut)
        except (Cut, psycopg.OperationalError):
            found = _patiently(lambda: content_of(postgres_url))
            assert found == before, f"version {version}, statement {last}: between"
            last, cuts = last + STEP, cuts + 1
        else:
            break
    assert last > total
    assert cuts >= total // STEP
    after = content_of(postgres_url)
    assert after[0] == migrations.LATEST
    for table in TABLES:
        if table in before[1]:
            assert len(after[1][table]) == len(before[1][table]), table
    print(f"version {version}: {total} statements, {cuts} cuts")
    _equals_fresh(postgres_url, after)


def _equals_fresh(url: str, after: Content) -> None:
    """Check that everything but the rows is as in a new store."""
    with psycopg.connect(admin_of(url), autocommit=True) as connection:
        connection.execute("DROP SCHEMA recollect, recollect_read CASCADE")
        connection.execute("SELECT 1")
    database = PostgresDatabase(url, "project", "project", wait=PATIENCE)
    database.write(lambda tx: tx.one("SELECT 1"))
    database.close()
    assert content_of(url)[1]["schema"] == after[1]["schema"]


def _patiently(work: Callable[[], Content]) -> Content:
    """Wait for a server that recovers: it ends all connections, and then refuses new ones."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            return work()
        except psycopg.OperationalError:
            if time.monotonic() > deadline:
                raise


@pytest.mark.parametrize(
    "statement",
    [
        "INSERT INTO documents (space, address, revision, type, title, text, fields, layer, owner, "
        "origin, label, sources, valid_from, valid_to) SELECT space, 'memory://new', revision, "
        "type, title, text, fields, layer, owner, origin, label, sources, valid_from, valid_to "
        "FROM documents LIMIT 1",
        "UPDATE memories SET text = 'The port is 7012'",
    ],
)
def test_an_older_version_that_still_runs_is_refused_and_told(
    postgres_url: str, statement: str
) -> None:
    """Its rows would have no seal, and would not be used."""
    make_old(postgres_url, 16)
    with psycopg.connect(postgres_url, options="-c search_path=recollect,public") as running:
        running.execute("SELECT set_config('recollect.space', 'project', false)")
        running.execute("SELECT count(*) FROM memories")
        running.commit()
        database = PostgresDatabase(postgres_url, "project", "project", wait=PATIENCE)
        database.write(lambda tx: tx.one("SELECT 1"))
        database.close()
        before = content_of(postgres_url)
        with pytest.raises(psycopg.errors.CheckViolation, match="upgrade this one, and restart"):
            running.execute(statement)
    assert content_of(postgres_url) == before
