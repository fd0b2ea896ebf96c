"""Search by meaning: found without a shared word, never mixed, and never in the way."""

from __future__ import annotations

import os
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.errors import ConfigError
from recollect.index import sql_vectors as index_sql_vectors
from recollect.index.embedders_io import StaticEmbedder
from recollect.storage.database import Tx
from recollect.storage.postgres.database import PostgresDatabase
from tests.conftest import START, Clock
from tests.index.test_embedders import serving

Mem = recollect.Recollect
DIMS = 16


def vectors_of(body: dict[str, Any]) -> tuple[int, Any]:
    """A model that knows one thing: how often each letter stands in a text."""
    letters = "aeinorstlcdmpugh"
    return 200, {"embeddings": [[text.count(x) + 0.1 for x in letters] for text in body["input"]]}


def open_with(
    project: Path, environment: dict[str, str], embedder: str, dims: int = DIMS
) -> recollect.Recollect:
    chosen = {
        "RECOLLECT_EMBEDDER": embedder,
        "RECOLLECT_EMBEDDER_MODEL": "letters",
        "RECOLLECT_EMBEDDER_DIMS": str(dims),
    }
    return recollect.open(project, environment={**environment, **chosen}, origin="user")


def meaning_check(mem: Mem) -> tuple[bool, str]:
    (found,) = [check for check in mem.store.doctor().checks if check.name == "meaning"]
    return found.ok, found.detail


def test_what_shares_no_word_with_the_question_is_found(mem: Mem) -> None:
    mem.learn("The vet saw our puppy on Monday", kind="fact")
    mem.learn("Run the linter before each commit", kind="workflow")
    (hit, *_) = mem.recall("my dog is ill")
    assert hit.text == "The vet saw our puppy on Monday"
    assert "words 0.00" in hit.why


def test_an_open_client_finds_by_meaning_what_was_learned_since_its_last_question(
    mem: Mem, project: Path, environment: dict[str, str]
) -> None:
    """Vectors are kept between questions, until the store changes."""
    mem.learn("Run the linter before each commit", kind="workflow")
    assert mem.recall("my dog is ill") == ()
    with recollect.open(project, environment=environment, origin="user") as other:
        other.learn("The vet saw our puppy on Monday", kind="fact")
        assert len(other.recall("my dog is ill")) == 1
    assert [hit.text for hit in mem.recall("my dog is ill")] == ["The vet saw our puppy on Monday"]
    mem.learn("Our kitten hurt its paw", kind="fact")
    assert "Our kitten hurt its paw" in [hit.text for hit in mem.recall("the cat is injured")]
    mem.memories.forget(mem.recall("my dog is ill")[0].id, yes=True)
    assert "puppy" not in str(mem.recall("my dog is ill"))


def test_a_standing_wish_is_found_by_its_topic(mem: Mem) -> None:
    mem.learn("I like short replies", kind="preference")
    mem.learn("The release is tagged on Fridays", kind="workflow")
    assert mem.recall("how long should your answers be")[0].kind == "preference"


@pytest.mark.parametrize("question", ["xyzzy blorp quux", "zzzz", "?!", "qwrtplk mnbvcx"])
def test_nonsense_finds_nothing(mem: Mem, question: str) -> None:
    for number in range(20):
        mem.learn(f"Service {number} writes its log to a file of its own", kind="fact")
    assert mem.recall(question) == ()


def test_postgresql_finds_the_nearest_by_its_own_index(mem: Mem) -> None:
    """The server of the tests has pgvector; SQLite needs no extension."""
    mem.learn("The vet saw our puppy on Monday")
    mem.store.rebuild(missing=True)
    space = mem.context.project_space
    own = isinstance(space, PostgresDatabase)
    assert space.read(lambda tx: tx.finds_nearest) is own
    if own:
        names = space.read(
            lambda tx: tx.run("SELECT indexdef FROM pg_indexes WHERE tablename = 'vectors'")
        )
        assert any("hnsw" in row[0] for row in names)


def test_pgvector_that_comes_later_is_used_after_a_rebuild(
    project: Path, tmp_path: Path, postgres_url: str
) -> None:
    import psycopg

    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "RECOLLECT_DATABASE": postgres_url}
    administrator = postgres_url.replace("tester:tester@", "postgres:@", 1)

    def administer(*statements: str) -> None:
        with psycopg.connect(administrator, autocommit=True) as connection:
            for statement in statements:
                connection.execute(statement)

    def near(memory: Mem) -> list[str]:
        return [hit.text for hit in memory.recall("the animal doctor and our dog")]

    with recollect.open(project, environment=environment) as memory:
        memory.store.stats()
        administer("DROP EXTENSION vector CASCADE")  # as if it had never been there
    with recollect.open(project, environment=environment) as memory:
        space = memory.context.project_space
        memory.learn("The vet saw our puppy on Monday")
        memory.record("s", "The vet sees puppies in the morning")
        memory.recall("anything that makes the vectors")
        assert not space.read(lambda tx: tx.finds_nearest)
        assert space.read(index_sql_vectors.list_blocks)
        before = near(memory)
        assert len(before) == 2
        administer("CREATE EXTENSION vector")
        problem, _ = [check for check in memory.store.doctor().checks if "pgvector" in check.detail]
        assert not problem.ok
        assert "recollect rebuild --missing" in problem.detail
        late = recollect.open(project, environment=environment)
        late.store.stats()  # a connection that knows the tables without it
        assert memory.store.rebuild(missing=True).embedded == 0
        assert space.read(lambda tx: tx.finds_nearest)
        assert not space.read(index_sql_vectors.list_blocks)
        assert near(memory) == before
        assert memory.store.doctor().ok
        with late:
            late.record("s", "Our puppy likes the vet")
            late.recall("anything that makes the vectors")
            assert not late.context.project_space.read(lambda tx: tx.finds_nearest)
        assert sorted(near(memory)) == sorted([*before, "Our puppy likes the vet"])


def test_two_processes_that_make_the_first_vectors_do_not_collide(
    project: Path, tmp_path: Path, postgres_url: str
) -> None:
    """On PostgreSQL both may begin; the second waits for the first and finds the work begun."""
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "RECOLLECT_DATABASE": postgres_url}
    with recollect.open(project, environment=environment) as memory:
        memory.learn("The vet saw our puppy on Monday")
        space = memory.context.project_space

        def begin(tx: Tx) -> None:
            index_sql_vectors.switch_embedder(tx, "static", START)

        def first(tx: Tx) -> Future[None]:
            begin(tx)
            second = side.submit(space.write, begin)
            waiting = "SELECT 1 FROM pg_locks WHERE NOT granted"
            while not second.done() and not tx.one(waiting):
                os.sched_yield()
            return second

        with ThreadPoolExecutor(1) as side:
            space.write(first).result()
            side.submit(space.close).result()
        assert len(space.read(lambda tx: index_sql_vectors.list_unembedded(tx, 10))) == 1


def test_of_two_that_are_about_the_same_the_newer_comes_first(mem: Mem, clock: Clock) -> None:
    mem.record("a", recollect.Message("user", "We deploy the shop with Ansible"))
    clock.advance(days=40)
    mem.record("b", recollect.Message("user", "We deploy the shop with Terraform"))
    newer, older = mem.recall("how do we deploy the shop")
    assert ("Terraform" in newer.text, "Ansible" in older.text) == (True, True)


def test_messages_can_be_asked_for_by_their_kind(mem: Mem) -> None:
    mem.learn("Redis listens on port 6380", kind="reference")
    mem.record("s", "Which port has Redis?")
    assert [hit.kind for hit in mem.recall("redis port", kind=["message"])] == ["message"]
    assert [hit.kind for hit in mem.recall("redis port", kind=["reference"])] == ["reference"]
    assert len(mem.recall("redis port", kind=["message", "reference"])) == 2


def test_neighbours_and_reasons_come_on_request(mem: Mem) -> None:
    for text in ("Good morning", "Which port has Redis?", "It is 6380"):
        mem.record("s", text)
    (hit, *_) = mem.recall("redis port", around=1, explain=True)
    assert [said.text for said in hit.around] == ["Good morning", "It is 6380"]
    assert "because it stands at the beginning" in hit.why
    assert mem.recall("redis port")[0].around == ()


def test_the_reasons_of_a_memory_name_no_messages(mem: Mem) -> None:
    mem.record("s", "Which port has Redis?")
    mem.learn("Redis listens on port 6380", kind="reference")
    (hit,) = mem.recall("redis port", explain=True, kind=["reference"])
    assert "of the words" in hit.why and "messages" not in hit.why


def test_a_tool_cannot_fill_the_answer(mem: Mem) -> None:
    for number in range(12):
        call = {"type": "text", "text": f"redis port redis port number {number}"}
        mem.record("s", {"role": "tool", "content": [call], "tool_call_id": f"c{number}"})
    mem.learn("Redis listens on port 6380", kind="reference")
    found = mem.recall("redis port")
    assert [hit.trust for hit in found].count("tool") == 2


def test_a_server_that_speaks_of_embeddings_is_used(
    project: Path, environment: dict[str, str]
) -> None:
    with (
        serving(vectors_of) as (url, seen),
        open_with(project, environment, f"{url}/api/embed") as mem,
    ):
        mem.learn("Redis listens on port 6380")
        assert mem.store.stats().unembedded == 1
        assert not seen, "nobody waits for a server when something is written"
        assert mem.store.rebuild(missing=True).embedder == f"http-letters-{DIMS}"
        assert mem.store.stats().embedded == 1
        assert mem.recall("redis")[0].why.count("meaning") == 1
        assert meaning_check(mem)[0]


@pytest.mark.parametrize("trouble", ["down", "failing", "other dimensions"])
def test_an_embedder_in_trouble_leaves_words_and_is_told(
    project: Path, environment: dict[str, str], trouble: str
) -> None:
    answers = {
        "failing": lambda body: (500, {"error": "no model"}),
        "other dimensions": vectors_of,
        "down": vectors_of,
    }
    dims = 24 if trouble == "other dimensions" else DIMS
    with serving(answers[trouble]) as (url, _):
        place = "http://127.0.0.1:1" if trouble == "down" else url
        with open_with(project, environment, f"{place}/api/embed", dims) as mem:
            mem.learn("Redis listens on port 6380")
            mem.record("s", "the gearbox needs oil")
            found = mem.recall("redis port")
            assert [hit.text for hit in found] == ["Redis listens on port 6380"]
            assert found.notes[0].startswith("by words only: no vectors from the embedder")
            ok, detail = meaning_check(mem)
            assert not ok
            assert "words only" in detail


def test_another_embedder_makes_all_vectors_anew_and_never_mixes(
    project: Path, environment: dict[str, str]
) -> None:
    with open_with(project, environment, "static") as mem:
        mem.learn("Redis listens on port 6380")
        mem.learn("The release is tagged on Fridays")
        mem.store.rebuild(missing=True)
        mine = mem.store.stats().embedder
    with (
        serving(vectors_of) as (url, _),
        open_with(project, environment, f"{url}/api/embed") as mem,
    ):
        found = mem.recall("redis port")
        assert "meaning" not in found[0].why
        assert "another embedder" in found.notes[0]
        assert meaning_check(mem)[0] is False
        assert mem.store.stats().embedder == mine
        assert mem.store.rebuild(missing=True).embedded == 2
        assert mem.store.stats().embedder == f"http-letters-{DIMS}"
        assert "meaning" in mem.recall("redis port")[0].why


def test_words_alone_are_enough_when_meaning_is_switched_off(
    project: Path, environment: dict[str, str]
) -> None:
    with open_with(project, environment, "off") as mem:
        mem.learn("Redis listens on port 6380")
        found = mem.recall("redis port")
        assert (len(found), found.notes) == (1, ())
        assert mem.recall("a cache that answers on a socket") == ()
        assert meaning_check(mem) == (True, "switched off: recall works by words only")


def test_a_missing_model_leaves_words(mem: Mem, tmp_path: Path) -> None:
    mem.context.make_embedder = lambda settings: StaticEmbedder(str(tmp_path / "none"))
    mem.learn("Redis listens on port 6380")
    found = mem.recall("redis port")
    assert [hit.text for hit in found] == ["Redis listens on port 6380"]
    assert found.notes[0].startswith("by words only")
    assert not meaning_check(mem)[0]


def test_what_is_no_embedder_is_a_clear_error(project: Path, environment: dict[str, str]) -> None:
    with (
        open_with(project, environment, "word2vec") as mem,
        pytest.raises(ConfigError, match="unknown embedder 'word2vec'"),
    ):
        mem.recall("anything")


def test_the_output_of_tools_gets_no_vector_and_is_found_by_words(mem: Mem) -> None:
    called = recollect.ToolCall("c1", "shell", '{"command": "kubectl get pods"}')
    mem.record("a", recollect.Message("assistant", "I look at the pods", calls=(called,)))
    mem.record("a", recollect.Message("tool", "gateway-7f9c CrashLoopBackOff", call_id="c1"))
    mem.store.rebuild()
    space = mem.context.project_space
    kinds = space.read(
        lambda tx: tx.run(
            "SELECT e.kind FROM vectors v JOIN entries e ON e.space = v.space AND e.id = v.entry "
            "WHERE v.space = :space"
        )
    )
    assert kinds == [("assistant",)]
    assert mem.store.stats().unembedded == 0
    assert "CrashLoopBackOff" in mem.recall("CrashLoopBackOff")[0].text
