"""Recall by words: many languages, filters and budgets, never an engine's error."""

from __future__ import annotations

import random

import pytest

import recollect
from tests.conftest import Clock

Mem = recollect.Recollect


def texts(hits: recollect.Recalled) -> list[str]:
    return [hit.text for hit in hits]


@pytest.mark.parametrize(
    ("kept", "asked"),
    [
        ("The handler is in src/routes/todos.ts", "todos"),
        ("The handler is in src/routes/todos.ts", "todo"),
        ("HTTPServer listens on the first free port", "server"),
        ("HTTPServer listens on the first free port", "http"),
        ("set max_retries to 5", "retries"),
        ("set maxRetries to 5", "max retries"),
        ("the café closes at six", "cafe"),
        ("我们使用 PostgreSQL 数据库来存储会话", "数据库"),
        ("テストはデータベースを必要とします", "データベース"),
        ("배포하기 전에 데이터베이스를 백업하세요", "데이터베이스"),
        ("Перед выпуском нужно запустить тесты базы данных", "тесты"),
        ("Vor der Veröffentlichung müssen die Datenbanktests laufen", "veröffentlichung"),
        ("Die Straße heißt Hauptstraße", "strasse"),
    ],
)
def test_a_word_finds_its_text(mem: Mem, kept: str, asked: str) -> None:
    mem.learn(kept)
    mem.learn("something else entirely, about gardens")
    assert texts(mem.recall(asked)) == [kept]


def test_the_best_match_comes_first(mem: Mem) -> None:
    mem.learn("Redis is used as a cache for sessions")
    mem.learn("Integration tests need Redis on port 6380")
    mem.learn("The port of the web server is 8080")
    assert texts(mem.recall("redis port for integration tests"))[0].startswith("Integration tests")


def test_a_nonsense_query_returns_nothing(mem: Mem) -> None:
    mem.learn("Integration tests need Redis on port 6380")
    for query in ("zxqwv plugh", "", "   ", "?!…", "the of and"):
        assert texts(mem.recall(query)) == []


def test_a_hit_can_be_cited_and_read_alone(mem: Mem) -> None:
    learned = mem.learn("Integration tests need Redis on port 6380", kind="reference")
    (hit,) = mem.recall("redis")
    assert (hit.id, hit.address, hit.kind) == (learned.id, learned.address, "reference")
    assert 0 < hit.score <= 1.2
    assert (hit.layer, hit.status, hit.trust) == ("project", "active", "user")
    assert hit.at == learned.memory.valid_from
    assert hit.why


def test_messages_are_found_with_their_session_and_speaker(mem: Mem) -> None:
    mem.record("s-1", "why does the flux capacitor overheat?")
    mem.record("s-1", "because the coolant pump is wired backwards", role="assistant")
    (hit,) = mem.recall("coolant pump")
    assert (hit.kind, hit.session, hit.role) == ("message", "s-1", "assistant")
    assert hit.address == "memory://session/s-1/messages/2-2"
    assert mem.show(hit.address).messages[0].message.content == hit.text


def test_a_word_deep_in_a_long_message_is_found_and_shown(mem: Mem) -> None:
    mem.record("s-1", "lorem " * 60_000 + "the needle is here " + "ipsum " * 60_000, role="tool")
    (hit,) = mem.recall("needle")
    assert "needle" in hit.text
    assert len(hit.text) < 700


def test_filters_narrow(mem: Mem, clock: Clock) -> None:
    mem.learn("the port is 1111", kind="fact", tags=["web"])
    mem.learn("the port is 2222", kind="reference", scope=["src/api/**"])
    clock.advance(days=10)
    mem.learn("the port is 3333", kind="fact", layer="user", tags=["web", "new"])
    mem.record("s-1", "which port is it?")
    assert len(mem.recall("port")) == 4
    assert texts(mem.recall("port", kind=["reference"])) == ["the port is 2222"]
    assert texts(mem.recall("port", layer=["user"])) == ["the port is 3333"]
    assert texts(mem.recall("port", tags=["web", "new"])) == ["the port is 3333"]
    assert texts(mem.recall("port", session="s-1")) == ["which port is it?"]
    assert set(texts(mem.recall("port", until="5d"))) == {"the port is 1111", "the port is 2222"}
    assert set(texts(mem.recall("port", since="5d"))) == {"the port is 3333", "which port is it?"}
    assert "the port is 2222" in texts(mem.recall("port", file="src/api/users.py"))
    assert "the port is 2222" not in texts(mem.recall("port", file="src/web/users.py"))
    with pytest.raises(recollect.InvalidInput):
        mem.recall("port", layer=["attic"])
    with pytest.raises(recollect.InvalidInput):
        mem.recall("port", since="the day before the flood")


def test_a_budget_takes_whole_hits_and_says_what_was_left_out(mem: Mem) -> None:
    for number in range(10):
        mem.learn(f"the server number {number} listens on port {number}")
    hits = mem.recall("server port", budget=60)
    assert 0 < len(hits) < 10
    assert hits.tokens <= 60
    assert hits.tokens == sum(hit.tokens for hit in hits)
    assert hits.left_out == 10 - len(hits)
    assert "did not fit" in hits.notes[0]


def test_a_recall_is_counted_and_changes_nothing_else(mem: Mem, clock: Clock) -> None:
    learned = mem.learn("Integration tests need Redis on port 6380")
    clock.advance(days=30)
    for _ in range(5):
        mem.recall("redis")
    memory = mem.show(learned.id).memory
    assert memory is not None
    assert memory.recalls == 5
    assert memory._replace(recalls=0, last_recalled=0) == learned.memory


def test_a_repeated_recall_gives_the_same_answer(mem: Mem) -> None:
    for number in range(30):
        mem.learn(f"note {number} about the build of the server and its port")
    first = mem.recall("build server", limit=20)
    assert [hit.id for hit in mem.recall("build server", limit=20)] == [hit.id for hit in first]


def hostile_queries(count: int) -> list[str]:
    chance = random.Random(2000)
    pieces = [
        '"', "'", "(", ")", "*", "AND", "OR", "NOT", "NEAR", "NEAR(", "^", ":", "-", "+", "{", "}",
        "!", "&", "|", "<->", "\\", "%", "_", ";", "--", "/*", "\x00", "\ud800", "\udfff", "😀", "👩‍👩‍👧",
        "redis", "port", "terms:", "words MATCH", "'; DROP TABLE entries", "\u202e", "ﷺ", "i\u0307", "\n",
    ]  # fmt: skip
    return [
        chance.choice(["", " "]).join(chance.choices(pieces, k=chance.randrange(1, 9)))
        for _ in range(count)
    ]


def test_two_thousand_hostile_queries_never_raise(mem: Mem) -> None:
    mem.learn("Integration tests need Redis on port 6380")
    for query in hostile_queries(2000):
        mem.recall(query)
    assert len(mem.recall("redis")) == 1


def test_text_that_no_engine_likes_is_kept_and_found(mem: Mem) -> None:
    strange = "needle with \x00 a NUL, a lone \ud800 surrogate, \u202e and 👩‍👩‍👧"
    mem.learn(strange)
    mem.record("s-1", strange)
    assert len(mem.recall("needle")) == 2
    stored = mem.sessions.show("s-1").messages[0]
    assert stored.message.content == strange
    mem.verify(archive=True)


def test_an_unknown_kind_is_refused(mem: Mem) -> None:
    mem.learn("The port is 2222", kind="reference")
    with pytest.raises(recollect.InvalidInput, match="'referense' is not a kind"):
        mem.recall("port", kind=["referense"])
    assert mem.recall("port", kind=["reference", "episode", "user"])


def test_tool_output_full_of_the_words_does_not_change_the_score_of_a_trusted_hit(mem: Mem) -> None:
    mem.record("s-1", "The export job listens on port 7070")
    before = mem.recall("export job port")[0]
    flood = recollect.Message("tool", "export job port " * 40, call_id="c-1")
    mem.record("s-1", flood, origin="tool")
    found = {hit.role: hit for hit in mem.recall("export job port")}
    assert found.keys() == {"user", "tool"}
    assert found["user"].score == before.score


def test_a_memory_that_is_worded_as_a_request_has_no_reply(mem: recollect.Recollect) -> None:
    mem.learn("When `index_search()` fails with KeyError, restart the search worker first")
    assert mem.recall("When index search fails with KeyError")


def test_the_budget_for_all_shows_those_left_out(mem: Mem) -> None:
    for number in range(40):
        mem.record(
            "s", f"gateway timeout {number}: " + f"the upstream of part {number} waits " * 25
        )
    found = mem.recall("gateway timeout")
    everything = len(found) + found.left_out
    assert found.left_out and found.budget_for_all > 2000
    shown = mem.recall("gateway timeout", limit=everything, budget=found.budget_for_all)
    assert len(shown) == everything
    assert not mem.recall("gateway timeout", budget=100_000).budget_for_all
