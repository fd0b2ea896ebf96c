"""Migrations: fresh equals upgraded, one transaction, a backup first, and no way back."""

from __future__ import annotations

from pathlib import Path

import apsw
import pytest

import recollect
from recollect.agents.events import Event
from recollect.agents.operations import catch_up
from recollect.agents.operations_events import answer_event
from recollect.agents.operations_import import Progress
from recollect.agents.steps_hooks import Answer
from recollect.index.sql import needs_reindex
from recollect.storage import migrations
from recollect.storage.postgres.database import PostgresDatabase
from recollect.storage.sqlite import APPLICATION_ID, PAGE_SIZE, SqliteDatabase
from tools import build_schema

FOLDER = Path(migrations.__file__).parent


def schema_of(path: Path) -> list[tuple[str, ...]]:
    connection = apsw.Connection(str(path))
    rows = connection.execute(
        "SELECT type, name, sql FROM sqlite_master ORDER BY type, name"
    ).fetchall()
    connection.close()
    return [tuple(str(value) for value in row) for row in rows]


def make_old(path: Path, version: int) -> None:
    """A store as the release with this schema version made it."""
    connection = apsw.Connection(str(path))
    connection.pragma("page_size", PAGE_SIZE)
    connection.pragma("journal_mode", "wal")
    migrations.define_functions(connection)
    for script in migrations.pending_scripts(0, "sqlite")[:version]:
        connection.execute(script)
    connection.pragma("application_id", APPLICATION_ID)
    connection.pragma("user_version", version)
    connection.execute("INSERT INTO state VALUES ('project', 'kept', 'through the upgrade', 1)")
    connection.close()


def test_every_file_belongs_to_a_migration_and_both_engines_have_all() -> None:
    names = {path.name.split(".")[0] for path in FOLDER.glob("*.sql")}
    assert names == {*migrations.MIGRATIONS, migrations.FRESH}
    assert list(migrations.MIGRATIONS) == sorted(migrations.MIGRATIONS)
    for engine in ("sqlite", "postgres"):
        assert len(migrations.pending_scripts(0, engine)) == migrations.LATEST


def test_a_new_store_is_what_all_migrations_make(tmp_path: Path) -> None:
    """Also the pages at which its tables begin: `recover` looks there for a damaged store."""
    assert migrations.read_fresh() == build_schema.build(), "run: python tools/build_schema.py"
    make_old(tmp_path / "old.db", migrations.LATEST)
    SqliteDatabase(str(tmp_path / "new.db"), "project").write(lambda tx: tx.one("SELECT 1"))
    found = []
    for name in ("old.db", "new.db"):
        connection = apsw.Connection(str(tmp_path / name))
        pages = connection.execute(
            "SELECT name, rootpage FROM sqlite_schema WHERE type = 'table' ORDER BY name"
        ).fetchall()
        words = connection.execute("SELECT * FROM words_config ORDER BY k").fetchall()
        found.append((pages, words))
        connection.close()
    assert found[0] == found[1]


@pytest.mark.parametrize("version", range(1, migrations.LATEST))
def test_upgrading_from_every_older_version_equals_fresh(tmp_path: Path, version: int) -> None:
    make_old(tmp_path / "old.db", version)
    upgraded = SqliteDatabase(str(tmp_path / "old.db"), "project")
    kept = upgraded.read(lambda tx: tx.one("SELECT value FROM state WHERE key = 'kept'"))
    assert kept == ("through the upgrade",)
    upgraded.close()
    fresh = SqliteDatabase(str(tmp_path / "fresh.db"), "project")
    fresh.write(lambda tx: tx.one("SELECT 1"))
    fresh.close()
    assert schema_of(tmp_path / "old.db") == schema_of(tmp_path / "fresh.db")
    (backup,) = (tmp_path / "backups").iterdir()
    connection = apsw.Connection(str(backup))
    assert connection.pragma("user_version") == version
    assert connection.execute("SELECT value FROM state").fetchall() == [("through the upgrade",)]
    connection.close()


def test_an_upgrade_that_fails_changes_nothing(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old(tmp_path / "old.db", 1)
    before = schema_of(tmp_path / "old.db")

    def broken(version: int, engine: str) -> list[str]:
        return ["CREATE TABLE half (a); CREATE TABLE broken (a); SELECT nonsense FROM nowhere;"]

    monkeypatch.setattr(migrations, "pending_scripts", broken)
    database = SqliteDatabase(str(tmp_path / "old.db"), "project")
    with pytest.raises(recollect.StoreError, match="nowhere"):
        database.read(lambda tx: tx.one("SELECT 1"))
    database.close()
    assert schema_of(tmp_path / "old.db") == before


def test_an_upgrade_takes_away_the_copy_that_a_killed_one_left(tmp_path: Path) -> None:
    make_old(tmp_path / "old.db", 1)
    (tmp_path / "backups").mkdir()
    kept = tmp_path / "backups" / "schema1-5.db"
    left = [tmp_path / "backups" / f"schema1-7.db.0a1b2c3d.partial{end}" for end in ("", "-wal")]
    for path in (kept, *left):
        path.write_bytes(b"x")
    database = SqliteDatabase(str(tmp_path / "old.db"), "project")
    database.read(lambda tx: tx.one("SELECT 1"))
    database.close()
    assert kept.exists()
    assert not [path for path in left if path.exists()]


def test_a_role_that_may_not_upgrade_is_told_who_should(postgres_url: str) -> None:
    import psycopg

    from recollect.storage.postgres.database import PostgresDatabase

    owner = PostgresDatabase(postgres_url, "project", "project")
    owner.write(lambda tx: tx.one("SELECT 1"))
    owner.close()
    admin = postgres_url.replace("tester:tester@", "postgres:@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DELETE FROM recollect.migrations WHERE version > 4")
        connection.execute("CREATE ROLE mate LOGIN PASSWORD 'mate'")
        connection.execute("GRANT USAGE ON SCHEMA recollect TO mate")
        connection.execute("GRANT ALL ON ALL TABLES IN SCHEMA recollect TO mate")
    mate = PostgresDatabase(
        postgres_url.replace("tester:tester@", "mate:mate@", 1), "project", "project"
    )
    with pytest.raises(recollect.StoreError, match=r"(?s)schema 4.*the role that owns"):
        mate.read(lambda tx: tx.one("SELECT 1"))
    mate.close()
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP OWNED BY mate; DROP ROLE mate")


def test_pgvector_that_the_upgrade_makes_is_found_by_every_connection(postgres_url: str) -> None:
    """An administrator's login makes the extension; an earlier version did so in our schema."""
    import psycopg

    admin = postgres_url.replace("tester:tester@", "postgres:@", 1)
    where = "SELECT extnamespace::regnamespace::text FROM pg_extension WHERE extname = 'vector'"
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute("DROP EXTENSION vector")
        connection.execute("CREATE SCHEMA recollect")
        connection.execute("CREATE EXTENSION vector SCHEMA recollect")
        database = PostgresDatabase(admin, "moved", "project")
        assert database.read(lambda tx: tx.finds_nearest)
        assert connection.execute(where).fetchone() == ("public",)
        database.close()


def test_an_upgrade_partitions_the_vectors_and_keeps_their_indexes(postgres_url: str) -> None:
    import psycopg

    from recollect.storage.postgres.database import PostgresDatabase
    from tests.builders.old_postgres import old_store

    vectors = "SELECT space, entry, block, vector, direction::text FROM recollect.vectors"
    with old_store(postgres_url, "project", migrations.MIGRATIONS.index("0021_vectors") + 1) as old:
        for statement in (
            "ALTER TABLE vectors ADD COLUMN direction vector",
            "CREATE INDEX vectors_near_3 ON vectors USING hnsw ((direction::vector(3)) "
            "vector_cosine_ops) WHERE vector_dims(direction) = 3",
            "INSERT INTO entries (space, id, source, ref, kind, layer, owner, status, label, seq, "
            "part, at) SELECT 'team ' || i % 3, i, 'memory', i, '', '', '', '', '', 0, 0, 0 "
            "FROM generate_series(1, 90) AS i",
            "INSERT INTO vectors (space, entry, block, vector, direction) SELECT space, id, 0, "
            "'x', ('[1,2,' || id || ']')::vector FROM entries",
        ):
            old.run(statement)
        before = sorted(old.run(vectors))
    database = PostgresDatabase(postgres_url, "project", "project")
    database.write(lambda tx: tx.one("SELECT 1"))
    database.close()
    with psycopg.connect(postgres_url.replace("tester:tester@", "postgres:@", 1)) as connection:
        assert sorted(connection.execute(vectors).fetchall()) == before
        indexes = connection.execute(
            "SELECT p.relname, count(*), bool_and(i.indisvalid) FROM pg_class p "
            "JOIN pg_inherits h ON h.inhparent = p.oid JOIN pg_index i ON i.indexrelid = h.inhrelid "
            "WHERE p.relname LIKE 'vectors_%' GROUP BY 1 ORDER BY 1"
        ).fetchall()
        assert indexes == [
            (name, 16, True) for name in ("vectors_near_256", "vectors_near_3", "vectors_pkey")
        ]
        connection.execute("DELETE FROM recollect.entries WHERE id <= 30")
        assert connection.execute("SELECT count(*) FROM recollect.vectors").fetchone() == (60,)


@pytest.mark.parametrize("engine", ["sqlite", "postgres"])
def test_an_upgrade_turns_the_signs_of_a_block_into_rows(
    engine: str, tmp_path: Path, postgres_url: str
) -> None:
    from recollect.storage.postgres.database import PostgresDatabase
    from tests.builders.old_postgres import old_store

    rows = [bytes([10 * vector + byte for byte in range(4)]) for vector in range(3)]
    whole = b"".join(rows)
    columns = b"".join(bytes(row[place] for row in rows) for place in range(4))
    insert = "INSERT INTO blocks (space, block, size, dead, entries, planes) VALUES ({})"
    held = [("project", 1, 3, 0, b"", columns), ("project", 2, 0, 0, b"", b"")]
    before = migrations.MIGRATIONS.index("0029_signs_by_row")
    database: SqliteDatabase | PostgresDatabase
    if engine == "sqlite":
        path = tmp_path / "old.db"
        make_old(path, before)
        old = apsw.Connection(str(path))
        old.executemany(insert.format("?, ?, ?, ?, ?, ?"), held)
        old.close()
        database = SqliteDatabase(str(path), "project")
    else:
        with old_store(postgres_url, "project", before) as tx:
            for row in held:
                tx._connection.execute(insert.format("%s, %s, %s, %s, %s, %s"), row)
        database = PostgresDatabase(postgres_url, "project", "project")
    found = database.read(lambda tx: tx.run("SELECT block, signs FROM blocks ORDER BY block"))
    assert [(block, bytes(signs)) for block, signs in found] == [(1, whole), (2, b"")]
    database.close()


def test_both_engines_have_the_same_columns(tmp_path: Path, postgres_url: str) -> None:
    from recollect.storage.postgres.database import PostgresDatabase

    sqlite = SqliteDatabase(str(tmp_path / "s.db"), "project")
    postgres = PostgresDatabase(postgres_url, "project", "project")
    names = sqlite.write(
        lambda tx: [
            row[0]
            for row in tx.run("SELECT name FROM sqlite_master WHERE type = 'table'")
            if not row[0].startswith(("words", "word_counts", "sqlite_"))
        ]
    )
    assert len(names) > 15
    only_postgres = {
        ("entries", "length"),
        ("entries", "stems"),
        ("messages", "author"),
        ("spaces", "owner"),
        ("memory_counts", "shard"),
        ("vectors", "direction"),
    }
    for table in names:
        ours = sqlite.read(
            lambda tx, table=table: {
                (table, row[1]) for row in tx.run(f"PRAGMA table_info({table})")
            }  # type: ignore[misc]
        )
        theirs = postgres.read(
            lambda tx, table=table: {  # type: ignore[misc]
                (table, row[0])
                for row in tx.run(
                    "SELECT column_name FROM information_schema.columns "
                    "WHERE table_schema = 'recollect' AND table_name = :name",
                    {"name": table},
                )
            }
        )
        assert ours == theirs - only_postgres, table
    sqlite.close()
    postgres.close()


def test_a_backup_is_whole_while_others_write(
    project: Path, environment: dict[str, str], tmp_path: Path
) -> None:
    """Also on PostgreSQL, where the copy is a SQLite store of the project's space."""
    import threading

    with recollect.open(project, environment=environment) as memory:
        for number in range(200):
            memory.record("s", f"message {number}")
            memory.learn(f"fact {number} about the gearbox")
        stop = threading.Event()

        def keep_writing() -> None:
            number = 0
            while not stop.is_set():
                memory.record("s", f"later message {number}")
                number += 1
            memory.close()

        writer = threading.Thread(target=keep_writing)
        writer.start()
        try:
            done = memory.store.backup(str(tmp_path / "copy" / ".." / "copy.db"))
        finally:
            stop.set()
            writer.join()
        with pytest.raises(recollect.Refused, match="exists already"):
            memory.store.backup(done.path)
    restored = tmp_path / "restored"
    (restored / ".recollect").mkdir(parents=True)
    Path(done.path).rename(restored / ".recollect" / "memory.db")
    elsewhere = {"RECOLLECT_HOME": str(tmp_path / "h")}
    with recollect.open(restored, environment=elsewhere, origin="user") as copy:
        copy.store.adopt(trust=True)
        assert copy.verify(archive=True).messages >= 200
        assert copy.store.stats().memories == 200
        assert (
            copy.recall("fact 150 gearbox", kind=["fact"])[0].text == "fact 150 about the gearbox"
        )
        assert copy.store.doctor().ok


@pytest.fixture
def early(tmp_path: Path) -> dict[str, str]:
    """The variables to open a store with that an early version indexed in another way: its words
    were in a table that cannot be read back."""
    environment = {"RECOLLECT_HOME": str(tmp_path / "home")}
    with recollect.open(tmp_path, environment=environment, origin="user") as memory:
        memory.learn("Never restart Redis by hand", kind="policy")
        memory.learn("Redis listens on port 6380", kind="reference")
        memory.record("s", "the gearbox needs oil")
        path = memory.project.database
    connection = apsw.Connection(path)
    for statement in (
        "DROP INDEX memories_scoped",
        "DROP INDEX memories_withdrawn",
        "DROP TABLE facets",
        "DROP TABLE memory_revisions",
        *(
            f"ALTER TABLE {table} DROP COLUMN seal"
            for table in ("memories", "documents", "episodes", "procedures")
        ),
        "DROP TABLE memory_aliases",
        "ALTER TABLE memories DROP COLUMN change",
        "DROP TABLE observations",
        "DROP TABLE findings",
        "DROP TABLE attachments",
        "DROP INDEX injections_judged",
        "ALTER TABLE injections DROP COLUMN moment",
        "ALTER TABLE injections DROP COLUMN outcome",
        "ALTER TABLE memories DROP COLUMN author",
        "DROP TABLE clusters",
        "DROP TRIGGER memories_changed",
        "DROP TRIGGER memories_removed",
        "DROP TABLE memory_counts",
        "DROP TABLE words",
        "DROP TABLE unembedded",
        "DROP TABLE vectors",
        "DROP TABLE blocks",
        "CREATE VIRTUAL TABLE words USING fts5(terms, stems, content = '', contentless_delete = 1)",
        "CREATE VIRTUAL TABLE word_counts USING fts5vocab(words, 'row')",
        "CREATE TABLE vectors (space TEXT, embedder TEXT, entry BIGINT, vector BLOB)",
        "PRAGMA user_version = 3",
    ):
        connection.execute(statement).fetchall()
    connection.close()
    return environment


def test_what_an_early_version_indexed_in_another_way_is_found_again(
    tmp_path: Path, early: dict[str, str]
) -> None:
    told: list[Progress] = []
    with recollect.open(tmp_path, environment=early) as memory:
        memory.progress = told.append
        found = memory.recall("redis port")
        assert found[0].text == "Redis listens on port 6380"
        assert found.notes == ("3 records of an earlier version were indexed again first",)
        assert [(one.done, one.total) for one in told if one.path == "words"] == [(2, 3), (3, 3)]
        assert [(one.path, one.done) for one in told[:2]] == [
            ("upgrading the store", 0), ("upgrading the store", 1)
        ]  # fmt: skip
        assert [hit.role for hit in memory.recall("gearbox oil")] == ["user"]
        assert memory.store.stats().unembedded == 0


def test_a_hook_has_the_store_upgraded_and_indexed_beside_the_agent(
    tmp_path: Path, early: dict[str, str]
) -> None:
    start = Event("claude-code", "session_start", "SessionStart", "s1", str(tmp_path))
    with recollect.open(tmp_path, environment=early) as memory:
        space = memory.context.project_space
        assert answer_event(memory.context, start) == Answer(work=True)
        assert not space.current(), "there was no time for that"
        memory.store.stats()
        assert space.current()
        answer = answer_event(memory.context, start)
        assert "Never restart Redis by hand" in answer.context
        assert answer.work
        assert space.read(needs_reindex), "there was no time for that either"
        catch_up(memory.context)
        assert not space.read(needs_reindex)
        assert not memory.recall("redis port").notes
