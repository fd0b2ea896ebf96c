"""The store's contract, run on SQLite and on PostgreSQL: the same calls give the same answers."""

from __future__ import annotations

from collections.abc import Callable
from math import log
from pathlib import Path
from typing import Any

import apsw
import pytest

from recollect.archive import sql as archive_sql
from recollect.documents import sql as documents_sql
from recollect.errors import Conflict, RecollectError
from recollect.index import sql as index_sql
from recollect.memory import sql as memory_sql
from recollect.memory import sql_lists as memory_sql_lists
from recollect.storage import migrations, sqlite_tx
from recollect.storage import sql as storage_sql
from recollect.storage.database import Database, Tx
from recollect.storage.sqlite import SqliteDatabase
from recollect.types.records import FOREVER, SafeText

Open = Callable[..., Database]


def text(value: str) -> SafeText:
    return SafeText(value)


def a_session(name: str = "s-1") -> archive_sql.NewSession:
    return archive_sql.NewSession(
        text(name), text("the name"), text("agent"), text("/here"), text("main"), "user"
    )


def a_message(seq: int, key: str | None = None, session: str = "s-1") -> archive_sql.MessageRow:
    return archive_sql.MessageRow(
        session, seq, "user", '{"content":"hello"}', seq * 10, key, "user", "user", "d", f"h{seq}"
    )


def a_memory(id: str = "m-1", **changes: Any) -> memory_sql.MemoryRow:
    row = memory_sql.MemoryRow(
        id=id, root=id, revision=1, kind="fact", text=text("the sky is blue"), subject=text("sky"),
        detail=text('{"a": [1, 2]}'), category="project", scope=text('["src/**"]'), tags=text('["t"]'),
        examples=text("[]"), citations=text('[{"path": "a.py"}]'), evidence=text("[]"), reason=text(""),
        confidence=0.5, priority="normal", layer="project", owner="", status="active", origin="user",
        label="user", sources=text("[]"), reinforcement=1, successes=0, failures=0, recalls=0,
        first_seen=1, last_confirmed=1, last_reinforced=1, last_recalled=0, valid_from=1,
        valid_to=FOREVER, digest=f"digest of {id}",
    )  # fmt: skip
    return row._replace(**changes)


def an_entry(ref: str, **changes: Any) -> index_sql.IndexEntry:
    entry = index_sql.IndexEntry("memory", ref, "fact", "project", "", "active", "user", 0, 1)
    return entry._replace(**changes)


def put(tx: Tx, ref: str, stems: str, **changes: Any) -> None:
    index_sql.insert_entry(tx, an_entry(ref, **changes), [stems])


def refs(tx: Tx, *terms: str, limit: int = 10, **filters: Any) -> list[str]:
    return [found.ref for found in index_sql.find_candidates(tx, terms, limit, filters)]


def test_messages_come_back_in_order_and_as_they_were_written(new_database: Open) -> None:
    def work(tx: Tx) -> None:
        archive_sql.create(tx, a_session(), 5)
        assert archive_sql.lock_session(tx, "s-1") == (1, "")
        archive_sql.insert_messages(tx, [a_message(1), a_message(2, "k"), a_message(3)])
        archive_sql.save_session_head(tx, "s-1", 4, "h3", 9)

    database = new_database()
    database.write(work)
    found = new_database().read(lambda tx: archive_sql.messages(tx, "s-1", 1, 3))
    assert found == [a_message(1), a_message(2, "k"), a_message(3)]
    session = database.read(lambda tx: archive_sql.get(tx, "s-1"))
    assert session is not None
    assert (session.messages, session.head, session.created, session.last_active) == (3, "h3", 5, 9)


def test_a_key_is_found_again_and_cannot_be_used_twice(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: archive_sql.create(tx, a_session(), 1))
    database.write(lambda tx: archive_sql.insert_messages(tx, [a_message(1, "k"), a_message(2)]))
    assert database.read(lambda tx: archive_sql.seqs_by_key(tx, "s-1", ["k", "other"])) == {"k": 1}
    with pytest.raises(RecollectError):
        database.write(lambda tx: archive_sql.insert_messages(tx, [a_message(3, "k")]))


def test_a_failed_transaction_leaves_nothing(new_database: Open) -> None:
    database = new_database()

    def work(tx: Tx) -> None:
        archive_sql.create(tx, a_session(), 1)
        put(tx, "m-1", "word")
        raise KeyError("planned")

    with pytest.raises(KeyError):
        database.write(work)
    assert database.read(lambda tx: archive_sql.get(tx, "s-1")) is None
    assert database.read(lambda tx: refs(tx, "word")) == []


def test_a_memory_keeps_every_field(new_database: Open) -> None:
    database = new_database()
    assert database.write(lambda tx: memory_sql.insert(tx, a_memory()))
    memory = database.read(lambda tx: memory_sql.get(tx, "m-1"))
    assert memory is not None
    assert memory.detail == {"a": [1, 2]}
    assert memory.scope == ("src/**",)
    assert memory.tags == ("t",)
    assert memory.citations == ({"path": "a.py"},)
    assert memory.confidence == 0.5
    plain = {
        name: value
        for name, value in memory._asdict().items()
        if not isinstance(value, (tuple, dict))
    }
    assert plain.items() <= a_memory()._asdict().items()


def test_one_open_memory_for_a_text_and_as_many_closed_ones_as_it_takes(new_database: Open) -> None:
    database = new_database()
    same = {"digest": "same"}
    assert database.write(lambda tx: memory_sql.insert(tx, a_memory("m-1", **same)))
    assert not database.write(lambda tx: memory_sql.insert(tx, a_memory("m-2", **same)))
    database.write(lambda tx: memory_sql.update(tx, "m-1", {"valid_to": 7, "status": "superseded"}))
    assert database.write(
        lambda tx: memory_sql.insert(tx, a_memory("m-3", root="m-1", revision=2, **same))
    )
    versions = database.read(lambda tx: memory_sql.list_chain(tx, "m-1"))
    assert [version.id for version in versions] == ["m-1", "m-3"]
    assert [
        memory.id for memory in database.read(lambda tx: memory_sql_lists.list_open(tx, {}, 10))
    ] == ["m-3"]


def test_recalls_are_counted_and_change_nothing_else(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: memory_sql.insert(tx, a_memory()))
    before = database.read(lambda tx: memory_sql.get(tx, "m-1"))
    assert database.try_write(
        lambda tx: memory_sql_lists.count_recalls(tx, {"m-1": (1, 99), "m-else": (1, 9)})
    )
    after = database.read(lambda tx: memory_sql.get(tx, "m-1"))
    assert before is not None
    assert after == before._replace(recalls=1, last_recalled=99)


def a_document(revision: int = 1, body: str = "text") -> documents_sql.DocumentRow:
    return documents_sql.DocumentRow(
        text("memory://notes"), revision, "notes", text("title"), text(body), text('{"phase": 1}'), "project",
        text(""), "active", "user", "user", text("[]"), revision, FOREVER,
    )  # fmt: skip


def test_a_document_has_one_open_revision_and_keeps_the_old_ones(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: documents_sql.insert_document(tx, a_document(1, "old")))
    assert database.write(lambda tx: documents_sql.close_document(tx, "memory://notes", 2))
    database.write(lambda tx: documents_sql.insert_document(tx, a_document(2, "new")))
    document = database.read(lambda tx: documents_sql.get_document(tx, "memory://notes"))
    assert document is not None
    assert (document.text, document.revision, document.fields) == ("new", 2, {"phase": 1})
    assert database.read(lambda tx: documents_sql.last_revision(tx, "memory://notes")) == 2
    assert not database.write(lambda tx: documents_sql.close_document(tx, "memory://none", 3))


def test_words_find_entries_best_first_on_both_engines_alike(new_database: Open) -> None:
    database = new_database()

    def fill(tx: Tx) -> None:
        put(tx, "m-long", "redis port" + " filler" * 40, at=1)
        put(tx, "m-both", "redis listens on port 6380", at=2)
        put(tx, "m-one", "redis is a cache", at=3)
        put(tx, "m-stem", "the cache", at=4)
        for number in range(20):
            put(tx, f"m-{number}", "nothing of the kind here")

    database.write(fill)
    assert database.read(lambda tx: refs(tx, "redis", "port")) == ["m-both", "m-one", "m-long"]
    assert database.read(lambda tx: refs(tx, "cache")) == ["m-stem", "m-one"]
    assert database.read(lambda tx: refs(tx, "absent")) == []
    assert database.read(lambda tx: refs(tx, "redis", since=(3,))) == ["m-one"]
    assert database.read(lambda tx: refs(tx, "redis", until=(2,))) == ["m-long"]
    known = database.read(lambda tx: tx.frequencies(["redis", "absent"]))
    assert (known.entries, known.holding) == (24, {"redis": 3, "absent": 0})
    assert known.average == pytest.approx((42 + 5 + 4 + 2 + 20 * 5) / 24)


def test_a_common_stem_is_counted_again_after_growth_and_a_rare_one_always() -> None:
    database = SqliteDatabase("", "project")

    def fill(tx: Tx, first: int, last: int, text: str) -> None:
        for number in range(first, last):
            put(tx, f"m-{number}", text)

    def count() -> dict[str, int]:
        return database.read(lambda tx: tx.frequencies_lately(["redis", "zebra"]).holding)

    database.write(lambda tx: fill(tx, 0, 100, "redis"))
    assert count() == {"redis": 100, "zebra": 0}
    database.write(lambda tx: fill(tx, 100, 120, "redis and a zebra"))
    assert count() == {"redis": 100, "zebra": 20}
    database.write(lambda tx: fill(tx, 120, 130, "redis"))
    assert count() == {"redis": 130, "zebra": 20}


def test_a_large_store_estimates_how_many_entries_have_a_common_word(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(sqlite_tx, "_LARGE", 1_000)
    database = SqliteDatabase("", "project")

    def fill(tx: Tx) -> None:
        for number in range(1_500):
            put(tx, f"m-{number}", "redis and" if number % 3 == 0 else "kafka or")
        put(tx, "m-rare", "a zebra")

    database.write(fill)
    known = database.read(lambda tx: tx.frequencies(["redis", "kafka", "zebra", "absent"]))
    assert known.holding == {
        "redis": pytest.approx(500, rel=0.02),
        "kafka": pytest.approx(1_000, rel=0.02),
        "zebra": 1,
        "absent": 0,
    }


def test_a_missing_store_is_read_as_an_empty_one_that_is_made_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    made: list[str] = []
    read = migrations.read_fresh

    def count() -> str:
        made.append("new")
        return read()

    monkeypatch.setattr(migrations, "read_fresh", count)
    database = SqliteDatabase(str(tmp_path / "memory.db"), "project")
    for _ in range(3):
        assert database.read(memory_sql_lists.list_open_ids) == []
    assert made == ["new"]
    assert not database.present()
    database.write(lambda tx: memory_sql.insert(tx, a_memory()))
    assert database.read(memory_sql_lists.list_open_ids) == ["m-1"]


def test_both_engines_score_words_with_the_same_formula(new_database: Open) -> None:
    database = new_database()

    def fill(tx: Tx) -> None:
        put(tx, "a", "alpha beta beta gamma")
        put(tx, "b", "alpha alpha alpha delta")
        for number in range(8):
            put(tx, f"x{number}", "omega psi chi")

    database.write(fill)
    found = database.read(lambda tx: index_sql.find_candidates(tx, ["alpha", "beta"], 10, {}))
    lengths = [4, 4, *[3] * 8]
    average = sum(lengths) / len(lengths)

    def bm25(often: float, held: int, length: int) -> float:
        rarity = log((10 - held + 0.5) / (held + 0.5))
        return rarity * often * 2.2 / (often + 1.2 * (0.25 + 0.75 * length / average))

    assert {item.ref: round(item.score, 9) for item in found} == {
        "a": round(bm25(1, 2, 4) + bm25(2, 1, 4), 9),
        "b": round(bm25(3, 2, 4), 9),
    }


def test_filters_reach_matches_that_are_not_among_the_best(new_database: Open) -> None:
    database = new_database()

    def fill(tx: Tx) -> None:
        for number in range(60):
            put(tx, f"m-{number:02}", "word word word", status="hidden")
        put(tx, "m-deep", "word and many others that make it a weaker match than the rest")

    database.write(fill)
    assert database.read(lambda tx: refs(tx, "word", limit=5, status=("active",))) == ["m-deep"]


def test_a_removed_entry_is_not_found_and_its_place_can_be_used_again(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: put(tx, "m-1", "before"))
    database.write(lambda tx: index_sql.remove_entry(tx, "memory", "m-1"))
    assert database.read(lambda tx: refs(tx, "before")) == []
    database.write(lambda tx: put(tx, "m-1", "after"))
    assert database.read(lambda tx: refs(tx, "after")) == ["m-1"]


def test_a_text_of_many_parts_is_one_hit(new_database: Open) -> None:
    database = new_database()
    parts = ["alpha beta", "beta gamma", "omega"]
    database.write(lambda tx: index_sql.insert_entry(tx, an_entry("m-1"), parts))
    assert database.read(lambda tx: refs(tx, "beta")) == ["m-1"]
    assert database.read(lambda tx: refs(tx, "omega")) == ["m-1"]


@pytest.mark.parametrize(
    "term", ["it's", "a\\b", "'", "x'; DROP TABLE entries; --", "名前", "é", "1.5"]
)
def test_a_term_is_data_for_both_engines(new_database: Open, term: str) -> None:
    database = new_database()
    database.write(lambda tx: put(tx, "m-1", "plain"))
    database.read(lambda tx: refs(tx, term.replace('"', "")))
    assert database.read(lambda tx: refs(tx, "plain")) == ["m-1"]


def test_state_is_set_replaced_and_removed(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: storage_sql.set_value(tx, "k", text("one"), 1))
    database.write(lambda tx: storage_sql.set_value(tx, "k", text("two"), 2))
    assert database.read(lambda tx: storage_sql.get_value(tx, "k")) == "two"
    database.write(lambda tx: storage_sql.delete_value(tx, "k"))
    assert database.read(lambda tx: storage_sql.get_value(tx, "k")) is None


def test_an_idempotency_key_remembers_what_the_first_write_made(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: storage_sql.record_write(tx, "key", "learn", "m-1", 1))
    database.write(lambda tx: storage_sql.record_write(tx, "key", "learn", "m-2", 2))
    assert database.read(lambda tx: storage_sql.find_write(tx, "key")) == "m-1"
    assert "key" not in [
        row[0] for row in database.read(lambda tx: tx.run("SELECT key FROM writes"))
    ]


def test_an_idempotency_key_belongs_to_one_content(new_database: Open) -> None:
    database = new_database()
    database.write(lambda tx: storage_sql.record_write(tx, "key", "learn", "m-1", 1, "one"))
    assert database.read(lambda tx: storage_sql.find_write(tx, "key", "one")) == "m-1"
    with pytest.raises(Conflict):
        database.read(lambda tx: storage_sql.find_write(tx, "key", "other"))


def test_spaces_do_not_see_each_other(new_database: Open) -> None:
    one, other = new_database("one"), new_database("other")
    one.write(lambda tx: memory_sql.insert(tx, a_memory()))
    one.write(lambda tx: put(tx, "m-1", "secret"))
    assert other.read(lambda tx: memory_sql.get(tx, "m-1")) is None
    assert other.read(lambda tx: refs(tx, "secret")) == []


def test_reading_ahead_gives_what_reading_gives(new_database: Open) -> None:
    """Queries of different shapes, one that depends on another, and an answer that is empty."""
    database = new_database()
    database.write(
        lambda tx: storage_sql.put_values(tx, {"a": SafeText("b"), "b": SafeText("é")}, 7)
    )
    types = "SELECT CAST(1 AS BIGINT), 'é', 1.5, NULL, value FROM state"

    def work(tx: Tx) -> list[object]:
        first = storage_sql.get_value(tx, "a")
        second = storage_sql.get_value(tx, first) if first else None
        missing = storage_sql.get_value(tx, "missing")
        rows = tx.run(f"{types} WHERE space = :space ORDER BY key DESC")
        return [first, second, missing, rows]

    found = database.read(work)
    assert database.read_ahead(work) == found
    assert found[:3] == ["b", "é", None]
    assert found[3] == [(1, "é", 1.5, None, "é"), (1, "é", 1.5, None, "b")]


def test_work_that_reads_ahead_may_fail_while_answers_are_missing(
    new_database: Open,
) -> None:
    database = new_database()
    database.write(lambda tx: storage_sql.put_values(tx, {"a": SafeText("b")}, 7))
    runs = []

    def work(tx: Tx) -> str:
        [(value,)] = tx.run("SELECT value FROM state WHERE space = :space")
        tx.settle()
        runs.append(value)
        return str(value)

    assert database.read_ahead(work) == "b"
    assert runs == ["b"], "nothing goes on with a missing answer"

    def broken(tx: Tx) -> None:
        storage_sql.get_value(tx, "a")
        raise LookupError("wrong")

    with pytest.raises(LookupError):
        database.read_ahead(broken)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_every_setting_of_a_connection_is_applied(new_database: Open, engine: str) -> None:
    """A pragma that answers stops a script until its answer is read."""
    expected = {
        "foreign_keys": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
        "synchronous": 2,
        "mmap_size": 0,
        "journal_size_limit": 67_108_864,
        "cache_size": -16_000,
    }

    def read(tx: Tx) -> dict[str, Any]:
        return {name: (tx.one(f"PRAGMA {name}") or (None,))[0] for name in expected}

    def plans_are_stable(tx: Any) -> int:
        return int(tx._connection.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, -1))

    for database in (new_database(), new_database()):
        assert database.write(read) == expected
        assert database.read(plans_are_stable) == 1


def test_a_look_before_a_write_is_repeated_when_another_writer_was_faster(tmp_path: Path) -> None:
    path = str(tmp_path / "memory.db")
    ours, theirs = SqliteDatabase(path, "project"), SqliteDatabase(path, "project")
    ours.write(lambda tx: storage_sql.set_value(tx, "number", text("1"), 1))
    seen: list[str | None] = []

    def look(tx: Tx) -> str | None:
        seen.append(storage_sql.get_value(tx, "number"))
        if len(seen) == 1:
            theirs.write(lambda tx: storage_sql.set_value(tx, "number", text("2"), 1))
        return seen[-1]

    def work(tx: Tx, found: str | None) -> None:
        storage_sql.set_value(tx, "number", text(f"{found} and one"), 1)

    ours.read_and_write(look, work)
    assert seen == ["1", "2"]
    assert theirs.read(lambda tx: storage_sql.get_value(tx, "number")) == "2 and one"
    ours.close()
    theirs.close()
