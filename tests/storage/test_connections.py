"""Connections to PostgreSQL: few statements, lost connections, a pooler, and true reasons."""

from __future__ import annotations

import logging
import os
import shutil
import socket
import subprocess
import threading
import time
from array import array
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.agents.operations_events import answer_event
from recollect.agents.registry import load_hooks
from recollect.errors import StoreError
from recollect.index import sql as index_sql
from recollect.index import sql_vectors, steps_cells, vectors
from recollect.secrets.redaction import redact
from recollect.storage import sql as storage_sql
from recollect.storage.database import Database, Tx
from recollect.storage.postgres.database import PostgresDatabase
from recollect.storage.postgres.pool import translate_error
from recollect.storage.postgres.tx import Snapshot
from recollect.types.records import Message, ToolCall
from tests.conftest import PATIENCE

psycopg = pytest.importorskip("psycopg")


@pytest.fixture
def memory(postgres_url: str, project: Path, tmp_path: Path) -> Iterator[recollect.Recollect]:
    with recollect.open(project, environment=variables(postgres_url, tmp_path), origin="user") as m:
        yield m


def variables(url: str, home: Path) -> dict[str, str]:
    return {
        "RECOLLECT_HOME": str(home / "home"),
        "RECOLLECT_DATABASE": url,
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }


@pytest.fixture
def sent(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every statement that goes to the server."""
    seen: list[str] = []
    for name in ("execute", "executemany"):
        whole = getattr(psycopg.Cursor, name)

        def spy(self: Any, query: Any, *values: Any, whole: Any = whole, **more: Any) -> Any:
            seen.append(" ".join(str(query).split()))
            return whole(self, query, *values, **more)

        monkeypatch.setattr(psycopg.Cursor, name, spy)
    return seen


def fill(memory: recollect.Recollect) -> None:
    memory.learn_many(
        [{"text": f"Service {number} listens on port {6000 + number}"} for number in range(40)]
    )
    memory.record("s-1", "how do we deploy the service with the port")
    memory.learn("I prefer ports above 6000", kind="preference", layer="user")
    memory.store.rebuild(missing=True)


def test_a_recall_takes_at_most_six_statements(
    memory: recollect.Recollect, sent: list[str], project: Path
) -> None:
    (project / "tax.py").write_text("def total(): return 0\n")
    os.utime(project / "tax.py", (1_700_000_000, 1_700_000_000))  # not just now: a check is saved
    memory.learn("Amounts of `total()` in tax.py are cents")
    memory.procedures.learn("check-amounts", "Check the amounts of an invoice", steps=["do it"])
    fill(memory)
    memory.verify()  # the first check of a claim is saved, once
    for question in (
        "which port does service 12 listen on",
        "deploy the service",
        "prefer ports above",
        "amounts of total in tax and the service with the port",
        "how do I run the service",
    ):
        sent.clear()
        assert memory.recall(question)
        assert len(sent) <= 6, sent
    for filters in (
        {"kind": ["fact"]},
        {"kind": ["decision"]},
        {"tags": ["net"]},
        {"file": "src/net.py"},
        {"file": "src/net.py", "kind": ["decision"]},
        {"since": "3d"},
        {"layer": ["user"]},
        {"session": "s-1"},
        {"as_of": "1d"},
    ):
        sent.clear()
        memory.recall("which port does service 12 listen on", **filters)
        assert len(sent) <= 6, (filters, sent)


def record_sessions(memory: recollect.Recollect) -> None:
    """Sessions with requests, replies, commands and results, and a name in many of the messages."""
    for number in range(30):
        session, call = f"w-{number}", f"c-{number}"
        command = f"make check-invoices PART={number}"
        memory.record(
            session, f"Please fix the rounding of invoices in tax_table for part {number}"
        )
        memory.record(session, f"I look at tax_table, part {number}", role="assistant")
        calls = (ToolCall(call, "Bash", f'{{"command": "{command}"}}'),)
        memory.record(session, Message("assistant", calls=calls))
        memory.record(session, Message("tool", f"{number} invoices checked", call_id=call))
        memory.record(
            session,
            f"The rounding of part {number} is fixed: tax_table keeps cents as whole numbers now",
            role="assistant",
        )
        memory.record(session, f"How are the invoices of tax_table {number} checked?")
        memory.record(session, f"By make check-invoices, see tax_table {number}", role="assistant")


def test_a_recall_of_sessions_takes_at_most_six_statements(
    memory: recollect.Recollect, sent: list[str]
) -> None:
    """Names, results of commands, replies to requests, and what came of them, all in one."""
    fill(memory)
    record_sessions(memory)
    memory.learn("Invoices are rounded to cents in tax_table")
    memory.store.rebuild(missing=True)
    memory.verify()
    outcomes = results = 0
    for question in (
        "invoices",
        "tax_table",
        "tax_table rounding",
        "make check-invoices",
        "make check-invoices PART=12",
        "fix the rounding of invoices",
        "please fix the rounding of invoices in tax_table for part 7",
        "how are invoices checked",
        "how do I run check-invoices",
        "why does tax_table keep cents",
        "what did you say about the rounding of part 3",
        "which port does service 12 listen on",
    ):
        sent.clear()
        found = memory.recall(question)
        assert found
        assert len(sent) <= 6, (question, len(sent), [one[:200] for one in sent])
        outcomes += sum(hit.outcome is not None for hit in found)
        results += sum(hit.role == "tool" for hit in found)
    assert outcomes and results


@pytest.mark.parametrize("kind", ["decision", "policy", "fact"])
def test_a_filtered_recall_in_a_large_space_takes_at_most_six_statements(
    memory: recollect.Recollect, sent: list[str], monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Only the rarest words are looked up first, and not all matches are filtered."""
    fill(memory)
    memory.learn("Always check the port of a service", kind="policy")
    memory.learn("Ports of a service are facts to me", layer="user")
    memory.store.rebuild(missing=True)
    memory.verify()
    monkeypatch.setattr("recollect.recall.questions.COMMON_FROM", 1)
    monkeypatch.setattr("recollect.recall.questions.ENOUGH", 1)
    monkeypatch.setattr("recollect.storage.postgres.sql.POOL", 1)
    sent.clear()
    found = memory.recall("which port does service 12 listen on", kind=[kind])
    assert len(sent) <= 6, sent
    assert {hit.kind for hit in found} == ({kind} if kind != "decision" else set())


def test_a_filtered_recall_filters_only_the_best_matches(
    memory: recollect.Recollect, sent: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Most filters leave most matches. Of 14,000 that hold common words, filtering all took four
    times as long as the rest of the recall."""
    fill(memory)
    monkeypatch.setattr("recollect.recall.questions.COMMON_FROM", 1)
    monkeypatch.setattr("recollect.recall.questions.ENOUGH", 1)
    sent.clear()
    assert memory.recall("which port does service 12 listen on", file="src/net.py")
    searches = [one.count("sum(w.rarity") for one in sent]
    assert sum(searches) >= 2
    assert searches == [one.count("best AS MATERIALIZED") for one in sent]


def test_the_first_recall_after_a_learn_asks_only_the_space_that_waits_for_vectors(
    memory: recollect.Recollect, sent: list[str]
) -> None:
    """Members of a team learn all the time, so that many recalls make vectors first."""
    fill(memory)
    memory.recall("warm up")
    memory.learn("The billing host answers on port 7443")
    sent.clear()
    assert memory.recall("which port does the billing host answer on")
    assert len(sent) <= 19, (len(sent), sent)


def test_a_recall_waits_for_no_vector_of_what_others_saved(
    memory: recollect.Recollect,
    sent: list[str],
    monkeypatch: pytest.MonkeyPatch,
    postgres_url: str,
    project: Path,
    tmp_path: Path,
) -> None:
    """It finds that by its words, in as few statements as ever, and a thread makes the vector."""
    fill(memory)
    environment = variables(postgres_url, tmp_path)
    with recollect.open(project, environment=environment, origin="user") as other:
        other.recall("warm up")
        memory.learn("The billing host answers on port 7443")
        later: list[Callable[[], object]] = []
        space = other.context.project_space
        monkeypatch.setattr(space, "later", later.append)
        sent.clear()
        found = other.recall("which port does the billing host answer on")
        assert "7443" in found[0].text
        assert len(sent) <= 6, sent
        assert len(space.read(lambda tx: sql_vectors.list_unembedded(tx, 9))) == 1
        for make in later:
            make()
        assert not space.read(lambda tx: sql_vectors.list_unembedded(tx, 9))
        # What it saved itself gets its vector before the answer.
        other.learn("Refunds are paid by the finance team")
        other.recall("giving customers their money back")
        assert not space.read(lambda tx: sql_vectors.list_unembedded(tx, 9))
        other.learn("Parcels leave the depot at noon")
    # The next process finds that by its meaning, too.
    assert not memory.context.project_space.read(lambda tx: sql_vectors.list_unembedded(tx, 9))


def test_a_server_without_pgvector_sorts_vectors_into_cells(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("recollect.storage.postgres.schema.uses_pgvector", lambda _: False)
    monkeypatch.setattr("recollect.index.steps.BLOCK_SIZE", 8)
    monkeypatch.setattr(steps_cells, "BATCH", 3)
    monkeypatch.setattr(steps_cells, "LARGEST", 8)
    space = memory.context.project_space
    fill(memory)
    assert not space.read(lambda tx: tx.finds_nearest)
    cells = space.read(sql_vectors.load_cells).blocks
    assert cells and not space.read(sql_vectors.list_blocks_with_dead)
    held = space.read(sql_vectors.list_blocks)
    assert {*cells} <= {block.block for block in held}
    assert sum(len(block.entries) for block in held) == 41
    assert "6012" in memory.recall("which port does service 12 listen on")[0].text


def test_what_recalls_leave_behind_adds_no_statement_to_them(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch, project: Path
) -> None:
    """The counts of earlier recalls, and the state of code that has changed: a thread saves them,
    and closing waits for it."""
    code = project / "tax.py"
    code.write_text("def total(): return 0\n")
    kept = memory.learn("Amounts of `total()` in tax.py are cents, on each port").id
    fill(memory)
    monkeypatch.setattr("recollect.memory.operations._MOST_NOTED", 3)
    sent: list[tuple[int, str]] = []
    for name in ("execute", "executemany"):
        whole = getattr(psycopg.Cursor, name)

        def spy(self: Any, query: Any, *values: Any, whole: Any = whole, **more: Any) -> Any:
            sent.append((threading.get_ident(), str(query)))
            return whole(self, query, *values, **more)

        monkeypatch.setattr(psycopg.Cursor, name, spy)
    questions = [f"which port does service {number} listen on" for number in range(12)]
    for number, question in enumerate([*questions, "amounts of total in tax.py"]):
        code.write_text(f"def total(): return {number}\n")
        os.utime(code, (1_700_000_000 + number, 1_700_000_000 + number))
        sent.clear()
        assert memory.recall(question)
        # Two more check the tables on a new connection, while the thread uses the first one.
        own = [
            query
            for thread, query in sent
            if thread == threading.get_ident() and "recollect.migrations" not in query
        ]
        assert len(own) <= 6, own
    memory.close()
    assert sum(one.recalls for one in memory.list(limit=100)) >= 12 * 3
    assert [one.recalls for one in memory.list(limit=100) if one.id == kept] > [0]


LEARNED: tuple[tuple[str, dict[str, Any], str], ...] = (
    ("Integration tests need Redis on port 6380", {}, "created"),
    ("Integration tests need Redis on port 6380", {}, "reinforced"),
    ("Integration tests do need Redis on port 6380", {"near": "skip"}, "skipped"),
    ("Service 12 listens on port 7012", {}, "revised"),
    ("Amounts of `total()` in tax.py are cents", {}, "created"),
    ("Amounts of `total()` in tax.py are cents", {}, "reinforced"),  # with another claim
    ("Service 13 of `tax.py` listens on port 7013", {"scope": ["*.py"]}, "created"),
    ("Service 13 of `tax.py` listens on port 7014", {"scope": ["*.py"]}, "revised"),
    ("Amounts are cents", {"scope": ["src/**"]}, "created"),
    ("Amounts are cents", {"scope": ["lib/**"]}, "created"),
    ("Always use tabs", {}, "created"),
    (
        "Never use tabs",
        {"tags": ["style"], "evidence": ["memory://session/s-1"]},
        "created",
    ),
    ("I like short names", {"kind": "preference", "layer": "user"}, "created"),
    (
        "Amounts are cents",
        {"scope": ["lib/**"], "tags": ["tax"], "citations": ["tax.py:1"], "detail": {"a": "b"}},
        "reinforced",
    ),
    ("Always use tabs", {"subject": "style", "reason": "for a test"}, "reinforced"),
    ("Always use tabs", {"scope": ["b/*"], "near": "merge"}, "reinforced"),
    (
        "Amounts of `total()` in tax.py are cents",  # with another claim
        {"scope": ["src/**"], "near": "merge"},
        "reinforced",
    ),
    ("Integration tests do need Redis on port 6380", {"near": "merge"}, "reinforced"),
)


@pytest.mark.parametrize("keyed", [False, True])
def test_a_learn_takes_at_most_eight_statements(
    memory: recollect.Recollect, sent: list[str], project: Path, keyed: bool
) -> None:
    fill(memory)
    code = project / "tax.py"
    for number, (text, fields, action) in enumerate(LEARNED):
        code.write_text(f"def total(): return {number}\n")
        sent.clear()
        learned = memory.learn(text, **{**fields, "key": f"k-{number}" if keyed else ""})
        assert learned.action == action, learned.notes
        assert len(sent) <= 8, (text, sent)
        assert not [one for one in sent if ";" in one]


def test_what_is_queued_is_seen_by_what_follows(postgres_ready: str) -> None:
    """Writes wait until a statement names one of their tables, and are done with the commit."""
    database = PostgresDatabase(postgres_ready, "project", "project", wait=PATIENCE)

    def work(tx: Any) -> list[object]:
        seen: list[object] = []
        storage_sql.set_value(tx, "a", redact("1"), 1)
        seen.append(storage_sql.get_value(tx, "a"))
        storage_sql.set_value(tx, "a", redact("2"), 2)
        storage_sql.delete_value(tx, "a")
        storage_sql.set_value(tx, "a", redact("3"), 3)
        storage_sql.record_write(tx, "key", "learn", "m-1", 1)
        storage_sql.record_write(tx, "key", "learn", "m-2", 2)
        seen.append(storage_sql.find_write(tx, "key"))
        return seen

    assert database.write(work) == ["1", "m-1"]
    assert database.read(lambda tx: storage_sql.get_value(tx, "a")) == "3"

    def fail(tx: Any) -> None:
        storage_sql.set_value(tx, "a", redact("4"), 4)
        raise KeyError

    with pytest.raises(KeyError):
        database.write(fail)
    assert database.read(lambda tx: storage_sql.get_value(tx, "a")) == "3"
    database.close()


def test_a_space_is_not_read_with_a_scan_of_the_postings(
    memory: recollect.Recollect, postgres_url: str
) -> None:
    """Row-level security lets the index find stems: the plan of a role that it binds."""
    fill(memory)
    space = memory.context.project_space.space
    with psycopg.connect(postgres_url) as connection:
        connection.execute("SET enable_seqscan TO off")
        plan = connection.execute(
            "EXPLAIN SELECT entry FROM recollect.postings WHERE space = %s AND stem = ANY (%s)",
            (space, ["port", "service"]),
        ).fetchall()
    text = "\n".join(row[0] for row in plan)
    assert "Index Cond" in text and "stem = ANY" in text.split("Index Cond")[1]
    assert text.count("postings_") == 2  # one partition, by its primary key


def end_all(url: str, connect: Callable[..., Any] = psycopg.connect) -> int:
    """End every connection to the database but this one, as a restart does."""
    admin = url.replace("tester:tester@", "postgres:@", 1)
    with connect(admin, autocommit=True) as connection:
        row = connection.execute(
            "SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        ).fetchone()
    return int(row[0]) if row else 0


def test_the_first_call_after_a_lost_connection_succeeds(
    memory: recollect.Recollect, postgres_url: str
) -> None:
    memory.learn("Redis listens on port 6380")
    for number in range(5):
        assert end_all(postgres_url)
        assert memory.recall("redis port")
        assert end_all(postgres_url)
        assert memory.learn(f"Statement {number} after a restart").action == "created"
    assert len(memory.list()) == 6


@pytest.mark.parametrize("times", [1, 3])
def test_a_connection_that_is_lost_while_it_is_prepared_is_made_again(
    postgres_url: str, monkeypatch: pytest.MonkeyPatch, times: int
) -> None:
    """A killed server ends connections between the login and the first transaction, too."""
    database = PostgresDatabase(postgres_url, "project", "project", wait=PATIENCE)
    assert database.read(lambda tx: tx.one("SELECT 1")) == (1,)
    assert end_all(postgres_url)
    connect, lost = psycopg.connect, list[object]()

    def connect_and_lose(*values: Any, **more: Any) -> Any:
        connection = connect(*values, **more)
        if len(lost) < times:
            lost.append(connection)
            end_all(postgres_url, connect)
        return connection

    monkeypatch.setattr(psycopg, "connect", connect_and_lose)
    assert database.read(lambda tx: tx.one("SELECT 1")) == (1,)
    assert len(lost) == times
    add_one(database)
    database.close()


def hear(memory: recollect.Recollect, event: str, **fields: Any) -> str:
    """Return what a hook answers, without trouble."""
    payload = {"hook_event_name": event, "session_id": "s-9", "cwd": memory.context.top, **fields}
    answer = answer_event(memory.context, load_hooks("claude-code").parse(payload, {}))
    assert answer.trouble is None
    return answer.context


def test_no_everyday_operation_fails_after_a_lost_connection(
    memory: recollect.Recollect, postgres_url: str, project: Path
) -> None:
    fill(memory)
    (project / "net.py").write_text("PORT = 6380\n")
    kept = memory.learn("The `PORT` of net.py is Redis' own", kind="policy", scope=["*.py"])
    shell = {"tool_name": "Bash", "tool_input": {"command": "npm install"}}
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(project / "net.py")}}
    works: tuple[Callable[[], object], ...] = (
        lambda: memory.learn("Deploys wait for the migration").action == "created",
        lambda: len(memory.learn_many([{"text": "One more"}, {"text": "And two"}])) == 2,
        lambda: memory.recall("which port does service 12 listen on"),
        lambda: memory.recall("deploys", file="net.py") is not None,
        lambda: memory.briefing().stable,
        lambda: memory.record("s-1", "said after a restart"),
        lambda: memory.prepare("s-1", context_window=8_000),
        lambda: memory.show(f"memory://{kept.id}"),
        lambda: memory.list(limit=5),
        lambda: memory.verify(),
        lambda: memory.store.stats().memories,
        lambda: memory.memories.confirm(kept.id),
        lambda: memory.memories.correct(kept.id, "The `PORT` of net.py is 6380"),
        lambda: memory.memories.hide(kept.id),
        lambda: memory.memories.restore(kept.id),
        lambda: memory.notes.set(objective="Ship it"),
        lambda: memory.sessions.recent("s-1"),
        lambda: "Ship it" in hear(memory, "SessionStart", source="startup"),
        lambda: hear(memory, "UserPromptSubmit", prompt="always run `make lint`") == "",
        lambda: "6380" in hear(memory, "PreToolUse", tool_use_id="t-1", **edit),
        lambda: hear(memory, "PreToolUse", tool_use_id="t-2", **shell) == "",
        lambda: hear(memory, "PreCompact", trigger="manual"),
        lambda: "Ship it" in hear(memory, "SessionStart", source="compact"),
    )
    for number, work in enumerate(works):
        assert end_all(postgres_url), number
        assert work(), number
    assert memory.recall("make lint")


@pytest.mark.parametrize("done", [True, False])
@pytest.mark.parametrize("prompt", ["", "keep the ports of the services", "always run `make lint`"])
def test_a_hook_answers_although_the_connection_is_lost_while_it_keeps_that(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch, done: bool, prompt: str
) -> None:
    """What was shown is kept as well as possible; the answer does not depend on it."""
    memory.learn("Use ports above 6000 for the services", kind="policy")
    lost = break_commit_once(monkeypatch, done)
    event = {"prompt": prompt, "prompt_id": "p-1"} if prompt else {"source": "startup"}
    said = hear(memory, "UserPromptSubmit" if prompt else "SessionStart", **event)
    assert lost and "ports above 6000" in said
    monkeypatch.undo()
    assert hear(memory, "UserPromptSubmit", prompt="thanks", prompt_id="p-2") == ""
    noted = [one for one in memory.list() if "make lint" in one.text]
    assert len(noted) == ("lint" in prompt)


def break_commit_once(monkeypatch: pytest.MonkeyPatch, done: bool) -> list[object]:
    """Break the connection at the next COMMIT of a change: after the server has done it, or before
    it gets it. Return a list that is empty until then."""
    whole = psycopg.Cursor.execute
    lost: list[object] = []

    def break_once(self: Any, query: Any, *values: Any, **more: Any) -> Any:
        if query == "COMMIT" and not lost and self.connection.info.transaction_status == 2:
            wrote = whole(self, "SELECT pg_current_xact_id_if_assigned()").fetchone()
            if wrote and wrote[0] is not None:
                lost.append(query)
                if done:
                    whole(self, query, *values, **more)
                self.connection.close()
                raise psycopg.OperationalError("server closed the connection unexpectedly")
        return whole(self, query, *values, **more)

    monkeypatch.setattr(psycopg.Cursor, "execute", break_once)
    return lost


def add_one(database: Database) -> None:
    """Write what is in no index, and can be counted."""

    def work(tx: Any) -> None:
        held = int(storage_sql.get_value(tx, "number") or 0)
        storage_sql.set_value(tx, "number", redact(str(held + 1)), 1)

    database.write(work)


@pytest.mark.parametrize("done", [True, False])
def test_a_commit_whose_answer_is_lost_is_neither_lost_nor_doubled(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch, done: bool
) -> None:
    memory.learn("The first statement")
    database = memory.context.project_space
    works: tuple[Callable[[], object], ...] = (
        lambda: memory.record("s-1", "said exactly once"),
        lambda: add_one(database),
    )
    for work in works:
        lost = break_commit_once(monkeypatch, done)
        work()
        assert lost
        monkeypatch.undo()
    assert len(memory.sessions.recent("s-1")) == 1
    assert database.read(lambda tx: storage_sql.get_value(tx, "number")) == "1"


def test_two_writers_that_index_the_same_record_again_both_succeed(postgres_ready: str) -> None:
    one, other = (
        PostgresDatabase(postgres_ready, "sp", "project", wait=PATIENCE) for _ in range(2)
    )
    entry = index_sql.IndexEntry(
        "document", "memory://x", "note", "project", "", "active", "user", 0, 1
    )
    one.write(lambda tx: index_sql.replace_entry(tx, entry, ("alpha",)))
    later: list[threading.Thread] = []

    def second(tx: Tx) -> None:
        index_sql.replace_entry(tx, entry, ("gamma",))

    def first(tx: Tx) -> None:
        index_sql.replace_entry(tx, entry, ("beta",))
        tx.run("SELECT 1 FROM entries WHERE space = :space")  # sends it
        later.append(threading.Thread(target=other.write, args=(second,)))
        later[0].start()
        while not tx.run("SELECT 1 FROM pg_locks WHERE NOT granted"):
            time.sleep(0.01)

    one.write(first)
    later[0].join()
    assert one.read(lambda tx: tx.run("SELECT stems FROM entries WHERE space = :space")) == [
        ("gamma",)
    ]
    one.close()
    other.close()


@pytest.mark.parametrize("forgotten_first", [False, True])
@pytest.mark.parametrize("finds_nearest", [True, False])
def test_a_vector_made_while_its_record_is_forgotten_does_not_stay(
    postgres_ready: str, finds_nearest: bool, forgotten_first: bool
) -> None:
    maker, eraser = (
        PostgresDatabase(postgres_ready, "sp", "project", wait=PATIENCE) for _ in range(2)
    )
    entry = index_sql.IndexEntry(
        "document", "memory://x", "note", "project", "", "active", "user", 0, 1
    )
    maker.write(lambda tx: index_sql.replace_entry(tx, entry, ("alpha",)))
    maker._finds_nearest = finds_nearest  # a server without pgvector has blocks
    (waiting,) = maker.read(lambda tx: sql_vectors.list_unembedded(tx, 10))

    def make(tx: Tx) -> None:
        if not sql_vectors.lock_unembedded(tx, [waiting.entry]):
            return
        made = [(waiting.entry, bytes([129]) * 256)]
        if finds_nearest:
            sql_vectors.insert_vectors(tx, made, 0)
        else:
            sql_vectors.insert_vectors(tx, made, 1)
            signs = vectors.pack_signs([made[0][1]])
            sql_vectors.save_block(
                tx, sql_vectors.VectorBlock(1, array("q", [waiting.entry]), signs)
            )

    def forget(tx: Tx) -> None:
        index_sql.remove_entry(tx, "document", "memory://x", 0)

    works = [(maker, make), (eraser, forget)]
    (first, do_first), (second, do_second) = reversed(works) if forgotten_first else works
    later: list[threading.Thread] = []

    def while_the_other_waits(tx: Tx) -> None:
        do_first(tx)
        tx.run("SELECT 1 FROM entries e JOIN vectors v ON v.entry = e.id")  # sends it
        later.append(threading.Thread(target=second.write, args=(do_second,)))
        later[0].start()
        while not tx.run("SELECT 1 FROM pg_locks WHERE NOT granted"):
            time.sleep(0.01)

    first.write(while_the_other_waits)
    later[0].join()
    for table in ("entries", "unembedded", "vectors"):
        assert maker.read(lambda tx, name=table: tx.run(f"SELECT 1 FROM {name}")) == [], table  # type: ignore[misc]
    blocks = maker.read(lambda tx: tx.run("SELECT size - dead FROM blocks"))
    assert blocks == ([] if finds_nearest or forgotten_first else [(0,)])
    maker.close()
    eraser.close()


@pytest.mark.parametrize("taken", [True, False])
def test_a_transaction_that_the_server_never_wrote_down_is_done_again(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch, postgres_url: str, taken: bool
) -> None:
    """A server that crashes forgets the ids it gave out last, and gives them to others."""
    memory.learn("The first statement")
    database = memory.context.project_space
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        row = connection.execute("SELECT pg_current_xact_id()::text").fetchone()
    other = row[0] if taken and row else str(2**40 + 7)

    def forget(self: Snapshot) -> str:
        self.transaction = other
        return other

    works: tuple[Callable[[], object], ...] = (
        lambda: memory.record("s-1", "said exactly once"),
        lambda: add_one(database),
    )
    for work in works:
        lost = break_commit_once(monkeypatch, done=False)
        monkeypatch.setattr(Snapshot, "transaction_id", forget)
        work()
        assert lost
        monkeypatch.undo()
    assert len(memory.sessions.recent("s-1")) == 1
    assert database.read(lambda tx: storage_sql.get_value(tx, "number")) == "1"


def test_usage_counts_that_meet_a_lock_are_given_up_without_a_word(
    memory: recollect.Recollect, caplog: pytest.LogCaptureFixture
) -> None:
    """The driver warns of a batch that fails, for each one, on the standard error of a program."""
    database = memory.context.project_space
    add_one(database)
    lock = "UPDATE state SET value = :value WHERE space = :space AND key = 'number'"

    def while_locked(tx: Tx) -> None:
        tx.run(lock, {"value": "2"})
        tx.run("SELECT value FROM state WHERE space = :space")  # sends it
        lost = threading.Thread(target=count)
        lost.start()
        lost.join()

    kept: list[bool] = []

    def count() -> None:
        rows = [{"value": str(number)} for number in range(20_000)]
        kept.append(database.try_write(lambda tx: tx.many(lock, rows)))

    database.write(while_locked)
    assert kept == [False]
    assert not caplog.records
    assert not logging.getLogger("psycopg").filters, "a host's logging is the host's"


def test_marks_of_commits_are_swept_after_an_hour(
    memory: recollect.Recollect, postgres_url: str
) -> None:
    database = memory.context.project_space
    for _ in range(3):
        add_one(database)
    with psycopg.connect(postgres_url, autocommit=True) as connection:
        count = "SELECT count(*) FROM recollect.writes WHERE operation = 'commit'"
        before = connection.execute(count).fetchone()
        connection.execute("UPDATE recollect.writes SET at = at - 3600000001")
        add_one(database)
        after = connection.execute(count).fetchone()
    assert before and after and before[0] >= 3
    assert after[0] == before[0] - 2


def test_an_error_gives_its_true_reason(postgres_url: str) -> None:
    database = PostgresDatabase(postgres_url, "project", "project", wait=0.1)
    database.read(lambda tx: tx.one("SELECT 1 FROM state LIMIT 1"))

    def slowly(tx: Any) -> None:
        tx.run("SELECT set_config('statement_timeout', '20ms', true)")
        tx.run("SELECT pg_sleep(10)")

    with pytest.raises(StoreError, match=r"(?s)cancelled the statement.*statement_timeout"):
        database.read(slowly)
    database.close()
    crowded = f"crowded_{os.urandom(4).hex()}"
    with psycopg.connect(postgres_url.replace("tester:tester@", "postgres:@", 1)) as admin:
        admin.execute(f"CREATE ROLE {crowded} LOGIN CONNECTION LIMIT 0")
    for wrong, told in (
        (postgres_url.replace("tester:tester@", f"{crowded}:x@", 1), "has no free connection"),
        (postgres_url.replace("@/t", "@/no_such_database_t", 1), "no such database"),
        (postgres_url.replace("tester:", "nobody:", 1), "refused the login"),
        ("postgresql://tester@127.0.0.1:1/x", "cannot be reached"),
    ):
        nowhere = PostgresDatabase(wrong, "project", "project", wait=0.1)
        with pytest.raises(StoreError, match=told):
            nowhere.read(lambda tx: tx.one("SELECT 1"))


def test_the_server_does_not_compile_statements(
    postgres_url: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of a statement that it estimates to be expensive that takes seconds."""
    monkeypatch.setenv("PGOPTIONS", "-c work_mem=5MB")

    def ask(url: str) -> list[tuple[str, str]]:
        with recollect.open(project, environment=variables(url, tmp_path)) as memory:
            return memory.context.project_space.read(
                lambda tx: tx.run(
                    "SELECT name, setting FROM pg_settings WHERE name IN ('jit', 'work_mem', "
                    "'statement_timeout') ORDER BY name"
                )
            )

    assert ask(postgres_url) == [("jit", "off"), ("statement_timeout", "0"), ("work_mem", "5120")]
    mark = "&" if "?" in postgres_url else "?"
    chosen = f"{postgres_url}{mark}options=-c%20statement_timeout%3D9000"
    assert ask(chosen) == [("jit", "off"), ("statement_timeout", "9000"), ("work_mem", "4096")]


@pytest.mark.parametrize(
    "address",
    [
        "postgresql://me:hunter2@localhost:1/x",
        "postgresql://me:hunt@er2@localhost:1/x",
        "postgresql://localhost:1/x?user=me&password=hunter2",
        "host=localhost port=1 user=me password=hunter2",
        "host=localhost port=1 password='hunter2 x' user=me",
        "me:hunter2@localhost/x",
    ],
)
def test_no_error_shows_a_password(address: str) -> None:
    database = PostgresDatabase(address, "project", "project", wait=0.1)
    with pytest.raises(StoreError) as caught:
        database.read(lambda tx: tx.one("SELECT 1"))
    told = f"{caught.value}".replace("'er2@localhost'", "")  # the host, as libpq reads it
    assert "hunt" not in told and "er2" not in told and "***" in told


def test_an_error_of_the_server_is_not_a_server_that_cannot_be_reached(postgres_ready: str) -> None:
    database = PostgresDatabase(postgres_ready, "project", "project", wait=PATIENCE)

    def load(tx: Tx) -> None:
        tx.run("SELECT 1 FROM state")
        tx.run("SELECT pg_read_file('no such file')")

    with pytest.raises(StoreError, match=r"PostgreSQL says|may not do that"):
        database.read(load)
    database.close()


@pytest.fixture
def pooler(postgres_url: str, tmp_path: Path) -> Iterator[str]:
    """The address of pgbouncer in transaction mode, in front of the database; with passwords, which
    the test's own server does not ask for."""
    program = shutil.which("pgbouncer") or "/usr/sbin/pgbouncer"
    if not Path(program).exists():
        pytest.skip("pgbouncer is not installed")
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    parts = psycopg.conninfo.conninfo_to_dict(postgres_url)
    settings = tmp_path / "pgbouncer.ini"
    (tmp_path / "users.txt").write_text('"tester" "tester"\n')
    settings.write_text(
        f"[databases]\n{parts['dbname']} = host={parts['host']} port={parts.get('port', 5432)} "
        f"dbname={parts['dbname']}\n[pgbouncer]\nlisten_addr = 127.0.0.1\nlisten_port = {port}\n"
        f"auth_type = plain\nauth_file = {tmp_path}/users.txt\npool_mode = transaction\n"
        "default_pool_size = 3\nunix_socket_dir =\n"
        f"user = {Path(str(parts['host'])).owner()}\n"
    )
    for path in (settings, tmp_path / "users.txt"):
        path.chmod(0o644)
    for folder in (tmp_path, *tmp_path.parents):
        if folder.is_relative_to("/tmp/") and folder != Path("/tmp"):
            folder.chmod(0o755)
    process = subprocess.Popen(
        [program, str(settings)], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    address = f"postgresql://tester:tester@127.0.0.1:{port}/{parts['dbname']}"
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            psycopg.connect(address, connect_timeout=5).close()
            break
        except psycopg.OperationalError:
            assert process.poll() is None and time.monotonic() < deadline
            time.sleep(0.05)
    yield address
    process.terminate()
    process.wait()


def test_a_pooler_in_transaction_mode_changes_nothing(
    pooler: str, project: Path, tmp_path: Path
) -> None:
    with recollect.open(project, environment=variables(pooler, tmp_path), origin="user") as memory:
        fill(memory)
        for number in range(12):
            assert memory.recall(f"which port does service {number} listen on")
        assert memory.learn("Service 3 listens on port 7003").action in ("created", "revised")
        assert memory.store.stats().memories >= 41


def test_the_first_call_succeeds_after_a_restart_behind_a_pooler(
    pooler: str, postgres_url: str, project: Path, tmp_path: Path
) -> None:
    with recollect.open(project, environment=variables(pooler, tmp_path), origin="user") as memory:
        memory.learn("Redis listens on port 6380")
        for number in range(3):
            assert end_all(postgres_url)
            assert memory.recall("redis port")
            assert end_all(postgres_url)
            assert memory.learn(f"Statement {number} after a restart").action == "created"
        assert len(memory.list()) == 4


def test_a_login_that_is_refused_later_is_told_at_once(postgres_url: str) -> None:
    role = f"leaver_{os.urandom(4).hex()}"
    admin = postgres_url.replace("tester:tester@", "postgres:@", 1)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"CREATE ROLE {role} LOGIN IN ROLE tester")
    url = postgres_url.replace("tester:tester@", f"{role}:x@", 1)
    database = PostgresDatabase(url, "project-abcdefghijkl", "project", wait=PATIENCE)
    assert database.read(lambda tx: tx.one("SELECT 1")) == (1,)
    with psycopg.connect(admin, autocommit=True) as connection:
        connection.execute(f"ALTER ROLE {role} NOLOGIN")
    end_all(postgres_url)
    started = time.monotonic()
    with pytest.raises(StoreError, match="refused the login"):
        database.read(lambda tx: tx.one("SELECT 1"))
    assert time.monotonic() - started < PATIENCE / 2


def test_a_wrong_password_is_named_as_such(pooler: str) -> None:
    wrong = PostgresDatabase(pooler.replace(":tester@", ":wrong@", 1), "project", "project")
    with pytest.raises(StoreError, match=r"(?s)refused the login.*user and password"):
        wrong.read(lambda tx: tx.one("SELECT 1"))


def test_a_database_that_the_pooler_does_not_have_is_named_as_such(pooler: str) -> None:
    wrong = PostgresDatabase(pooler.rpartition("/")[0] + "/elsewhere", "project", "project")
    with pytest.raises(StoreError, match=r"(?s)no such database.*create the database"):
        wrong.read(lambda tx: tx.one("SELECT 1"))


def test_a_server_that_is_down_behind_the_pooler_is_named_as_such() -> None:
    """The pooler takes the connection, and waits two minutes for the server."""
    error = psycopg.errors.ProtocolViolation("query_wait_timeout")
    told = translate_error(error, "postgresql://me:secret@pooler/memory")
    assert "cannot be reached: the pooler got no connection" in str(told)
    assert "server behind the pooler" in told.hint
