"""Filters are part of the search: a match is found however many others match better."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.index import sql as index_sql
from recollect.index import steps as index_steps
from recollect.memory import sql as memory_sql
from recollect.memory import steps as memory_steps
from recollect.memory import steps_revisions as memory_steps_revisions
from recollect.recall import sql as recall_sql
from recollect.storage.database import IndexedRecord, StemFrequencies, Tx
from recollect.storage.sqlite import SqliteDatabase
from tests.conftest import Clock

Mem = recollect.Recollect
BETTER = {"sqlite": 10_000, "postgres": 2_000}
"""Filling is slow over a connection."""

WANTED = 11
ACTIVE = {"status": ("active",)}
LONG = "a note of many words about gardens and rivers that ends with one of them: deploy"


def fill(mem: Mem, texts: Sequence[str], **fields: Any) -> None:
    """Write memories in one transaction: learning each compares it with its neighbours."""
    draft = memory_steps.Draft("a fact about the shop", **fields)
    (row, *_) = memory_steps.prepare(draft, "user", mem.context.clock(), "m-0")
    count = mem.context.project_space.read(lambda tx: recall_sql.count_records(tx, "memory"))
    rows = [
        row._replace(id=f"m-{place:07}", root=f"m-{place:07}", text=text, digest=str(place))  # type: ignore[arg-type]
        for place, text in enumerate(texts, count + 1)
    ]
    columns = ", ".join(row._fields)

    def work(tx: Tx) -> None:
        tx.insert("memories", columns, rows)
        index_sql.insert_entries(
            tx,
            [
                (
                    memory_steps_revisions.make_entry(memory_sql.load_memory(one)),
                    index_steps.split_stems(one.text),
                )
                for one in rows
            ],
        )

    mem.context.project_space.write(work)


def better(count: int) -> list[str]:
    return [f"deploy deploy number {place}" for place in range(count)]


def wanted() -> list[str]:
    return [f"{LONG} {place}" for place in range(WANTED)]


@pytest.fixture
def by_words(project: Path, environment: dict[str, str], clock: Clock) -> Mem:
    """Return a memory without an embedder."""
    settings = environment | {"RECOLLECT_EMBEDDER": "off"}
    return recollect.open(project, clock=clock, environment=settings, origin="user")


def test_few_tagged_matches_among_many_better_ones_are_all_found(
    by_words: Mem, engine: str
) -> None:
    with by_words as mem:
        fill(mem, better(BETTER[engine]), tags=("web",))
        fill(mem, wanted(), tags=("garden", "river"))
        fill(mem, ["zebra"] * 3)
        assert len(mem.recall("deploy", tags=["garden", "river"], limit=50)) == WANTED
        assert len(mem.recall("deploy", tags=["garden"])) == 10
        # A word that nearly everything holds is a word of the question too.
        assert len(mem.recall("deploy the zebra", tags=["river"], limit=50)) == WANTED
        assert mem.recall("deploy", tags=["river", "web"]) == ()
        assert mem.recall("zebra", tags=["river"]) == ()


def test_few_matches_for_a_file_among_many_better_ones_are_all_found(
    by_words: Mem, engine: str
) -> None:
    with by_words as mem:
        fill(mem, better(BETTER[engine]), scope=("src/web/**",))
        fill(mem, wanted()[:4], scope=("src/api/**", "docs"))
        fill(mem, wanted()[4:9], scope=("src/{api,cli}/users.py",))
        fill(mem, wanted()[9:])  # applies everywhere
        assert len(mem.recall("deploy", file="src/api/users.py", limit=50)) == WANTED
        assert len(mem.recall("deploy", file="src/cli/users.py", limit=50)) == 7
        assert len(mem.recall("deploy", file="docs/deploy.md", limit=50)) == 6
        inside = str(Path(mem.project.root) / "docs" / "deploy.md")
        assert len(mem.recall("deploy", file=inside, limit=50)) == 6
        assert len(mem.recall("deploy", file="src/web/x.py", limit=200)) == 200


def test_what_was_believed_then_is_found_among_many_later_versions(
    by_words: Mem, clock: Clock
) -> None:
    with by_words as mem:
        fill(mem, [*better(1_000), *wanted()])
        clock.advance(days=2)
        close = "UPDATE memories SET valid_to = :now, status = 'superseded' WHERE space = :space "
        late = {"now": clock()}
        space = mem.context.project_space
        space.write(lambda tx: tx.run(f"{close} AND id <= 'm-0001000'", late))
        space.write(lambda tx: tx.run("UPDATE entries SET status = 'superseded' WHERE at >= 0"))
        clock.advance(days=2)
        space.write(lambda tx: tx.run(f"{close} AND id > 'm-0001000'", {"now": clock()}))
        clock.advance(days=2)
        assert len(mem.recall("deploy", as_of="3d", limit=50)) == WANTED


def test_a_search_that_saw_every_match_is_not_repeated() -> None:
    statements: list[str] = []
    space = SqliteDatabase("", "project")
    connection = space._connect()

    def note(cursor: object, sql: str, bindings: object) -> bool:
        statements.append(sql)
        return True

    def search(holding: int) -> int:
        known = StemFrequencies(100, 10.0, {"deploy": holding})

        def look(tx: Tx) -> None:
            statements.clear()
            connection.exec_trace = note
            index_sql.search_words(tx, ["deploy"], 8, ACTIVE, holding=holding, known=known)
            connection.exec_trace = None

        space.read(look)
        return len(statements)

    assert search(holding=32) == 1
    assert search(holding=33) == 2  # one of them may fulfil the filter, and was not seen


@pytest.mark.parametrize("equal", [20, 60, 300, 3_000])
def test_of_equal_matches_the_address_decides(equal: int) -> None:
    space = SqliteDatabase("", "project")
    records = [
        IndexedRecord("memory", ref, "fact", "project", "", "active", "user", 0, 1, 0, stems)
        for ref, stems in [
            *[(f"b{place:04}", "deploy deploy") for place in range(5)],
            *[(f"a{equal - place:04}", "deploy today") for place in range(equal)],
        ]
    ]
    space.write(lambda tx: tx.add_entries(records))
    expected = [f"b{place:04}" for place in range(5)] + ["a0001", "a0002", "a0003"]
    if equal > 2_048:  # of so many, not all are compared
        expected = expected[:5]
    for filters in ({}, ACTIVE):
        for few in (False, True):
            found = space.read(
                lambda tx: index_sql.search_words(tx, ["deploy"], 8, filters, few=few)  # noqa: B023
            )
            assert [item.ref for item in found][: len(expected)] == expected


def test_every_combination_of_filters_finds_all_that_match(
    by_words: Mem, clock: Clock, engine: str
) -> None:
    """Each filter alone leaves many better matches, all together only the wanted ones."""
    with by_words as mem:
        fill(mem, better(BETTER[engine] // 4), tags=("web",), scope=("src/web/**",))
        clock.advance(days=10)
        fill(mem, wanted(), kind="pitfall", tags=("rare",), scope=("src/api/**",))
        clock.advance(days=10)
        fill(mem, better(BETTER[engine] // 4), tags=("web",), scope=("src/web/**",))
        filters: dict[str, Any] = {
            "kind": ["pitfall"],
            "tags": ["rare"],
            "file": "src/api/users.py",
            "since": "15d",
            "until": "5d",
            "layer": ["project"],
            "status": ["active", "proposed"],
        }
        alone = {"kind", "tags", "file"}
        # A statement of PostgreSQL takes longer: all pairs, and all filters together.
        for count in range(1, len(filters) + 1) if engine == "sqlite" else (2, len(filters)):
            for names in combinations(filters, count):
                if alone & set(names) or {"since", "until"} <= set(names):
                    chosen = {name: filters[name] for name in names}
                    assert len(mem.recall("deploy", limit=50, **chosen)) == WANTED, names


def test_filters_hold_for_what_is_found_by_meaning(mem: Mem, engine: str) -> None:
    fill(mem, ["a canine hospital"] * (BETTER[engine] * 7 // 10), scope=("a/*",))
    fill(mem, ["the wildlife nurse"] * WANTED, tags=("pets",))
    mem.store.rebuild(missing=True)
    asked = "animal doctor"
    assert {hit.text for hit in mem.recall(asked)} == {"a canine hospital"}
    assert not mem.recall(asked, tags=["nothing"])
    assert len(mem.recall(asked, tags=["pets"], limit=50)) == WANTED
    assert len(mem.recall(asked, file="b/c.py", limit=50)) == WANTED


def test_a_session_that_is_asked_for_may_fill_the_answer(mem: Mem) -> None:
    """The limit for one source holds only for questions without a session."""
    for place in range(8):
        mem.record("s", f"deploy log line {place}", role="tool")
    mem.record("other", "we deploy by hand, and somebody reads along while it happens")
    assert [hit.session for hit in mem.recall("deploy log")] == [*"ss", "other"]
    assert [hit.session for hit in mem.recall("deploy log", session="s")] == [*"ssssssss"]


def test_tags_and_scopes_follow_the_memory(mem: Mem) -> None:
    learned = mem.learn("deploy on Friday", tags=["a"])
    mem.learn("deploy on Friday", tags=["b"])
    assert [hit.id for hit in mem.recall("deploy", tags=["a", "b"])] == [learned.id]
    mem.store.rebuild()
    assert [hit.id for hit in mem.recall("deploy", tags=["a", "b"])] == [learned.id]
    mem.context.project_space.write(lambda tx: index_sql.remove_entry(tx, "memory", learned.id))
    left = mem.context.project_space.read(lambda tx: tx.one("SELECT count(*) FROM facets"))
    assert left == (0,)


@pytest.mark.parametrize("odd", ["", ",", '"', "a\0b", "\ud800", "x" * 5_000, "%", "ä/ö"])
def test_any_text_is_a_tag(mem: Mem, odd: str) -> None:
    mem.learn("deploy with care", tags=[odd, "plain"])
    mem.learn("who deploys has to stay until evening", tags=["other"])
    assert len(mem.recall("deploy", tags=[odd])) == 1
    assert len(mem.recall("deploy", tags=["plain"])) == 1


def test_the_few_entries_that_a_filter_leaves_are_listed_and_read_once(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.learn("The shop is released with `make shop-release`", tags=["rare"])
    mem.learn("Invoices are sent at night", tags=["rare"])
    mem.learn("The shop is closed on Sundays")
    calls: Counter[str] = Counter()

    def count(name: str) -> None:
        real = getattr(index_sql, name)

        def counted(*given: Any) -> Any:
            calls[name] += 1
            return real(*given)

        monkeypatch.setattr(index_sql, name, counted)

    count("list_entries")
    count("load_entries")
    found = mem.recall("how is the shop released", tags=["rare"])
    assert [hit.text for hit in found][:1] == ["The shop is released with `make shop-release`"]
    assert "The shop is closed on Sundays" not in [hit.text for hit in found]
    spaces = len(mem.context.present_spaces())
    assert max(calls.values(), default=0) <= spaces


def test_a_question_is_not_embedded_where_its_filters_leave_nothing(
    mem: Mem, monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.learn("Deploys need a tag")
    mem.recall("warm up")
    embedder = mem.context.embedder()
    assert embedder is not None
    asked: list[Sequence[str]] = []
    whole = embedder.embed

    def spy(texts: Sequence[str]) -> list[bytes]:
        asked.append(texts)
        return whole(texts)

    monkeypatch.setattr(embedder, "embed", spy)
    assert not mem.recall("when do we deploy", tags=["nowhere"])
    assert not asked or mem.context.project_space.read(lambda tx: tx.is_remote)
    assert mem.recall("when do we deploy")
    assert asked
