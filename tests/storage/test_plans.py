"""No statement touches all rows: the plan of each is looked at, on both engines.

A lookup by the space alone reads everything that a project has. It is a full scan, unless the
statement ends after so many rows in the order of an index.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import pytest

from recollect.archive import sql as archive_sql
from recollect.index import sql as index_sql
from recollect.memory import sql_lists
from recollect.storage.database import Database, IndexedRecord, Tx, placeholders
from recollect.storage.postgres.database import PostgresDatabase
from recollect.storage.postgres.statements import change_entries, to_driver
from recollect.storage.sqlite import SqliteDatabase
from tests.conftest import PATIENCE
from tests.storage.statements import Statement, collect, functions

Open = Callable[..., Database]

FEW = "there are tens of them"
WHOLE = "the user asked for all of it"
REBUILD = "part of a rebuild or upgrade, which reads everything by its nature"
RESULT = "reads exactly the rows that it returns, by an index of those alone"
ASKED = "a person asked for it, which is rare"
ERASED = "forgetting reads everything by its nature, and is rare"
JOBS = "jobs are few: one for a session and kind"
BACKGROUND = "runs in the background, once for many new records"
ALLOWED = {
    "archive.sql.all_ids": WHOLE,
    "archive.sql.recount_begun": ASKED,
    "archive.sql.counts": "sessions are few beside messages, which are not read",
    "autonomous.sql.list_calls": ASKED,
    "documents.sql.count_by_type": FEW,
    "documents.sql.list_below": FEW,
    "episodes.sql.list_grown_sessions": BACKGROUND,
    "episodes.sql.list_episodes": "any column may be filtered by; in the order of time",
    "recall.sql.count_records": REBUILD,
    "index.sql.search_words": "the matches of the rarest stems, of which the best are sorted out",
    "index.sql.find_nearest": "all vectors of a space of at most 30,000 entries, or else an index",
    "index.sql.find_some": "the first matches, as many as are asked for",
    "index.sql.list_entries": "ends after some thousand entries",
    "index.sql.list_scopes": FEW,
    "recall.sql.remove_orphans": REBUILD,
    "index.sql_vectors.count_vectors": "a row for a thousand vectors, and the queue",
    "index.sql_vectors.dissolve_block": REBUILD,
    "index.sql_vectors.list_blocks": REBUILD,
    "index.sql_vectors.list_blocks_with_dead": RESULT,
    "index.sql_vectors.list_unembedded": "the queue, in its own order",
    "index.sql_vectors.load_all_vectors": "only in a store of at most 1,500 entries",
    "index.sql_vectors.switch_embedder": REBUILD,
    "injections.sql.count_by_moment": WHOLE,
    "injections.sql.find_never_useful": BACKGROUND,
    "injections.sql.last_session": ASKED,
    "injections.sql.list_items": "the injections of one session",
    "interchange.sql.count_altered": WHOLE,
    "interchange.sql.find_forgotten": ASKED,
    "interchange.sql.load_tombstones": WHOLE,
    "interchange.sql.count_rows": WHOLE,
    "jobs.sql.claim_job": JOBS,
    "jobs.sql.count_jobs": JOBS,
    "jobs.sql.list_jobs": JOBS,
    "jobs.sql.next_run_time": JOBS,
    "jobs.sql.remove_jobs": JOBS,
    "lessons.sql.list_observations": "the observations of one subject",
    "lessons.sql.replace_observations": BACKGROUND,
    "links.sql.list_open": WHOLE,
    "maintenance.sql.count_by_day": "kept counts: a row for a day and kind",
    "maintenance.sql.last_changed_memory": ASKED,
    "maintenance.sql.list_learned_at": ASKED,
    "maintenance.sql.measure_tables": ASKED,
    "maintenance.sql.memory_ids": REBUILD,
    "maintenance.sql.memory_vocabulary": REBUILD,
    "maintenance.sql.quarantine": REBUILD,
    "maintenance.sql.delete_memory": ERASED,
    "maintenance.sql.drop": ERASED,
    "maintenance.sql.find_derived": ERASED,
    "maintenance.sql.find_memories": ERASED,
    "maintenance.sql.find_messages": ERASED,
    "maintenance.sql.delete_derived": ERASED,
    "maintenance.sql.delete_documents": ERASED,
    "maintenance.sql.find_attachments": ERASED,
    "maintenance.sql.list_checkpoints": ERASED,
    "maintenance.sql.remove_entries": ERASED,
    "maintenance.sql.rewrite": ERASED,
    "memory.sql.find_ids_starting_with": "the ids with a prefix, at most ten of each table",
    "memory.sql.load_owners": "the first owned memory answers EXISTS, and tasks are few",
    "memory.sql_lists.list_open_ids": WHOLE,
    "memory.sql_lists.list_scopes": "scopes of memories, by an index of those that have one",
    "memory.sql_lists.list_tagged": "the memories with one tag, of which the newest are sorted out",
    "memory.sql_lists.list_valid_at": "what was believed at a time has no index: rare, and asked for",
    "memory.sql_lists.count_by_age": "kept counts: a row for a day and kind",
    "memory.sql_lists.count_by_kind": "kept counts: a row for a day and kind",
    "memory.sql_lists.count_neglected": RESULT,
    "procedures.sql.list_open": FEW,
    "procedures.sql.list_proven": FEW,
    "review.sql.count_items": RESULT,
    "review.sql.count_waiting": FEW,
    "review.sql.list_contradictions": RESULT,
    "review.sql.list_stale": RESULT,
    "review.sql.list_waiting": RESULT,
    "storage.sql.recount_memories": WHOLE,
    "undo.sql.count_after": ASKED,
    "undo.sql.find_latest": ASKED,
    "undo.sql.find_with_status": WHOLE,
}
"""Functions whose statements may read or sort more, and why."""

COARSE = {"space", "kind", "status", "layer", "relation", "operation", "role"}
"""Columns with few values: a lookup by these alone reads a large share of everything."""

SMALL = {"migrations", "spaces", "members", "word_totals", "clusters"}


def sqlite_problems(tx: Tx, statement: Statement) -> list[str]:
    lines = [row[3] for row in tx.run(f"EXPLAIN QUERY PLAN {statement.sql}", statement.params)]
    # `seen` are the rows that a statement brings along, `turns` those
    # of as many, `strongest` and `newest` limited.
    few = ["VIRTUAL TABLE", "CONSTANT ROW", "json_each", "SCAN ("]
    few += ["SCAN seen", "SCAN turns", "SCAN strongest", "SCAN newest"]
    limited = "LIMIT" in statement.sql and not any("TEMP B-TREE FOR ORDER" in x for x in lines)
    found = []
    for line in lines:
        scans = line.startswith("SCAN ") and not any(word in line for word in few)
        used = set(re.findall(r"(\w+)[=><]", line.rpartition("(")[2]))
        by_space = line.startswith("SEARCH ") and used <= COARSE and not limited
        sorts = "USE TEMP B-TREE FOR ORDER BY" in line and "LIMIT" in statement.sql
        if scans or by_space or sorts:
            found.append(line)
    return found


def nodes(plan: Any, under_limit: bool = False, sorted_above: bool = False) -> Iterator[Any]:
    """Yield each node of a plan, whether a limit stops it early, and whether it is sorted above."""
    kind = plan["Node Type"]
    yield plan, under_limit and not sorted_above, sorted_above
    for child in plan.get("Plans", ()):
        limit = under_limit or kind == "Limit"
        sort = kind in ("Sort", "Incremental Sort") or (sorted_above and kind != "Limit")
        yield from nodes(child, limit, sort)


def postgres_problems(tx: Tx, statement: Statement) -> list[str]:
    sql = statement.sql
    if sql.lstrip().startswith(("SET", "CREATE")):
        return []
    tx.run("SELECT set_config('enable_seqscan', 'off', true)")
    tx.run("SELECT set_config('enable_bitmapscan', 'off', true)")
    (row,) = tx.run(f"EXPLAIN (FORMAT JSON) {sql}", statement.params)
    plan = (row[0] if not isinstance(row[0], str) else json.loads(row[0]))[0]["Plan"]
    found = []
    for node, stops, _ in nodes(plan):
        table = node.get("Relation Name", "")
        if not table or table.startswith("pg_") or table in SMALL:
            continue
        condition = node.get("Index Cond", "")
        columns = set(re.findall(r"\((?:\w+\.)?(\w+)\)? (?:=|>|<)|ROW\((?:\w+\.)?(\w+)", condition))
        names = {name for pair in columns for name in pair if name}
        if node["Node Type"] == "Seq Scan" and not stops:
            found.append(f"Seq Scan on {table}")
        elif node["Node Type"].startswith("Index") and not stops and names <= COARSE:
            found.append(f"{node['Node Type']} on {table}: {condition}")
    return found


def fill_tables(database: Database, rows: int = 1500, only: Sequence[str] = ()) -> None:
    """Put rows into every table, or some, so that PostgreSQL has a reason to use an index."""

    def work(tx: Tx) -> None:
        columns: dict[str, list[tuple[str, str]]] = {}
        for table, column, kind in tx.run(
            "SELECT c.table_name, c.column_name, c.data_type FROM information_schema.columns c "
            "JOIN pg_class t ON t.relname = c.table_name AND NOT t.relispartition "
            "AND t.relkind IN ('r', 'p') AND t.relnamespace = 'recollect'::regnamespace "
            "WHERE c.table_schema = 'recollect' AND c.table_name NOT IN ('members', 'migrations', "
            "'spaces', 'memory_counts') AND c.column_name <> 'direction' ORDER BY 1, c.ordinal_position"
        ):
            columns.setdefault(table, []).append((column, kind))
        # A coarse column has few values here too: an index of it alone must not seem to be enough.
        fixed = dict.fromkeys(COARSE, "'x'")
        fixed |= {"space": f"'{tx.space}'", "valid_to": "9223372036854775807", "status": "'active'"}
        made = {"text": "md5(i::text)", "bytea": "'x'::bytea"}
        for table in only or columns:
            fields = columns[table]
            values = ", ".join(fixed.get(name, made.get(kind, "i")) for name, kind in fields)
            names = ", ".join(name for name, _ in fields)
            tx.run(
                f"INSERT INTO {table} ({names}) SELECT {values} "
                f"FROM generate_series(1, {rows}) AS i"
            )

    database.write(work)
    database.write(lambda tx: [tx.run("ANALYZE")])


def test_every_function_with_statements_is_looked_at(new_database: Open) -> None:
    """Those that only insert are left out: an insertion reads nothing. What PostgreSQL queues is
    looked at below."""
    names = {name for name, _ in functions()}
    seen = {one.function for one in collect(new_database())}
    only_insert = {
        "archive.sql.insert_messages",
        "archive.sql.lock_imports",
        "autonomous.sql.insert_call",
        "documents.sql.append_event",
        "documents.sql.insert_document",
        "freshness.sql.add_claims",
        "index.sql.find_candidates",
        "index.sql.find_nearest",
        "index.sql.find_sharing",
        "index.sql.find_some",
        "index.sql.insert_entries",
        "index.sql.insert_entry",
        "index.sql.list_few",
        "index.sql.remove_entry",
        "index.sql.replace_entry",
        "index.sql.search_words",
        "index.sql_vectors.save_cells",
        "injections.sql.insert",
        "memory.sql.insert_many",
        "memory.sql.is_free",  # runs nothing on PostgreSQL, where other writers are not kept out
        "storage.sql.record_write",
        "storage.sql.recount_memories",  # runs nothing on PostgreSQL: a trigger counts there
        "undo.sql.insert",
    }
    assert len(names) > 150
    assert names - seen <= only_insert
    assert ALLOWED.keys() <= names


def test_no_statement_reads_or_sorts_more_than_it_needs(new_database: Open, engine: str) -> None:
    database = new_database()
    if engine == "postgres":
        fill_tables(database)
    check = sqlite_problems if engine == "sqlite" else postgres_problems
    unique = {(one.function, one.sql): one for one in collect(database)}
    wrong = {}
    for statement in unique.values():
        if statement.function in ALLOWED or "UPDATE sessions SET x" in statement.sql:
            continue
        if statement.function == "episodes.sql.list_episodes":
            statement = statement._replace(sql=statement.sql.replace("AND kind =", "AND task ="))
        try:
            problems = database.read(lambda tx, one=statement: check(tx, one))  # type: ignore[misc]
        except Exception as error:
            raise AssertionError(f"{statement.function}: {statement.sql}") from error
        if problems:
            wrong[statement.function] = problems
    assert not wrong, list(wrong)


@pytest.mark.parametrize(
    ("table", "column"),
    [
        *(("memories", "id"), ("claims", "memory"), ("injections", "ref"), ("writes", "key")),
        ("sessions", "id"),
    ],
)
def test_a_list_of_a_hundred_ids_is_looked_up(postgres_ready: str, table: str, column: str) -> None:
    """The planner needs samples of the ids, or their number, to know how few rows they are."""
    database = PostgresDatabase(postgres_ready, "project", "project", wait=PATIENCE)
    fill_tables(database, 8000, [table])
    names, params = placeholders("id", [str(number) for number in range(100)])
    plan = database.read(
        lambda tx: tx.run(
            f"EXPLAIN SELECT {column} FROM {table} WHERE space = :space AND {column} IN ({names})",
            params,
        )
    )
    assert f"({column} = ANY" in next(row[0] for row in plan if "Index Cond" in row[0])
    database.close()


@pytest.mark.parametrize(
    ("where", "index"),
    [
        ({"status": "proposed"}, "memories_listed_by_status"),
        ({"layer": "task"}, "memories_listed_by_layer"),
        ({"kind": "policy"}, "memories_listed_by_kind"),
        ({"status": "active"}, "memories_listed"),
        ({"layer": "project"}, "memories_listed"),
        ({}, "memories_listed"),
    ],
)
@pytest.mark.parametrize("since", [0, 5])
def test_a_list_of_rare_memories_reads_only_them(
    where: dict[str, str], index: str, since: int
) -> None:
    database = SqliteDatabase("", "project")
    seen: list[tuple[str, Any]] = []

    def note(cursor: object, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    def look(tx: Tx) -> list[str]:
        connection = database._connect()
        connection.exec_trace = note
        period = sql_lists.Period(since, since and 9)
        sql_lists.list_open(tx, where, 50, without="hidden", period=period)
        connection.exec_trace = None
        (sql, params) = seen[-1]
        return [row[3] for row in tx.run(f"EXPLAIN QUERY PLAN {sql}", params)]

    (line,) = database.read(look)
    assert line.split()[4] == index
    assert ("first_seen>? AND first_seen<?" in line) == bool(since)


def test_entries_of_a_session_are_found_by_an_index_of_owners() -> None:
    database = SqliteDatabase("", "project")

    def look(tx: Tx) -> list[str]:
        where, params = index_sql._where(tx, {"owner": ("s-1",)})
        sql = f"EXPLAIN QUERY PLAN SELECT e.id FROM entries e WHERE e.space = :space AND {where}"
        return [row[3] for row in tx.run(sql, params)]

    assert "entries_by_owner (space=? AND owner=?)" in database.read(look)[0]


def test_replacing_an_entry_reads_no_other(new_database: Open, engine: str) -> None:
    if engine != "postgres":
        return  # its statements are among those above
    database = new_database()
    fill_tables(database)
    record = IndexedRecord(
        *("memory", "m-1", "fact", "project", "", "active", "user", 0, 1, 0),
        stems="one two",
        facets=(),
    )
    space = database.space
    parts, params = change_entries({("memory", "m-1", 0): space}, [(space, record)])
    statement = Statement("planted", f"WITH {parts} SELECT 1", params)
    assert not database.read(lambda tx: postgres_problems(tx, statement))


@pytest.mark.parametrize(
    "sql",
    [
        "SELECT id FROM memories WHERE space = :space",
        "SELECT id FROM memories WHERE space = :space AND reason = 'x' ORDER BY subject LIMIT 5",
    ],
)
def test_a_statement_that_reads_everything_is_found(
    new_database: Open, engine: str, sql: str
) -> None:
    database = new_database()
    if engine == "postgres":
        fill_tables(database)
    check = sqlite_problems if engine == "sqlite" else postgres_problems
    assert database.read(lambda tx: check(tx, Statement("planted", sql, {"space": tx.space})))
    fine = "SELECT id FROM memories WHERE space = :space AND id = 'x'"
    assert not database.read(lambda tx: check(tx, Statement("planted", fine, {"space": tx.space})))
    assert to_driver("SELECT 1 FROM memories") == "SELECT 1 FROM recollect_read.memories"


def test_many_ranges_of_messages_are_looked_up_and_not_scanned_for() -> None:
    database = SqliteDatabase("", "project")
    seen: list[tuple[str, Any]] = []

    def note(cursor: object, sql: str, bindings: Any) -> bool:
        seen.append((sql, bindings))
        return True

    def look(tx: Tx) -> list[str]:
        connection = database._connect()
        connection.exec_trace = note
        keys = [(f"s-{number}", number + 1) for number in range(40)]
        ranges = [(session, seq, seq + 4) for session, seq in keys]
        archive_sql.message_ranges(tx, ranges)
        index_sql.find_messages(tx, ranges, {"status": ("active",)})
        connection.exec_trace = None
        return [
            row[3]
            for sql, bindings in seen
            for row in connection.execute(f"EXPLAIN QUERY PLAN {sql}", bindings)
        ]

    plans = [plan for plan in database.read(look) if plan.startswith("SEARCH")]
    assert [plan.partition(" (")[2] for plan in plans] == [
        "space=? AND session=? AND seq>? AND seq<?)",
        "space=? AND source=? AND ref=? AND seq>? AND seq<?)",
    ]
