"""Many statements in one call: all or none, with what `learn` promises of each."""

from __future__ import annotations

import gc
import io
import json
from pathlib import Path
from random import Random
from typing import Any

import pytest

import recollect
from recollect.interfaces.screens import results
from recollect.storage.database import Row, Tx
from recollect.types.records import Json

from ..conftest import Clock


def test_many_statements_are_saved_and_found(mem: recollect.Recollect) -> None:
    found = mem.learn_many(
        [
            {"text": "Redis listens on port 6380", "kind": "reference", "tags": ["redis"]},
            {"text": "Never edit generated files", "kind": "policy", "scope": ["src/gen/**"]},
            {"text": "The build needs JDK 21"},
        ]
    )
    assert [one.action for one in found] == ["created"] * 3
    assert [hit.text for hit in mem.recall("redis port", tags=["redis"])] == [
        "Redis listens on port 6380"
    ]
    assert mem.memories.for_file("src/gen/a.py")[0].kind == "policy"
    assert results.show("learn-many", found) == "3 created"


def test_statements_of_one_call_are_listed_in_its_order(mem: recollect.Recollect) -> None:
    texts = [f"The service number {number} has a queue of its own" for number in range(30)]
    mem.learn_many([{"text": text} for text in texts])
    assert [one.text for one in mem.list()] == texts


def test_the_same_text_strengthens_what_is_there_also_within_one_call(
    mem: recollect.Recollect,
) -> None:
    mem.learn("The build needs JDK 21")
    first, second, third = mem.learn_many(
        [{"text": "The build needs JDK 21"}, {"text": "A new one"}, {"text": "A new one"}]
    )
    assert [first.action, second.action, third.action] == ["reinforced", "created", "reinforced"]
    assert second.id == third.id
    assert len(mem.list()) == 2
    assert [hit.id for hit in mem.recall("new one")] == [second.id]


def test_one_wrong_statement_saves_none_and_is_named(mem: recollect.Recollect) -> None:
    for wrong, place in (
        ({"text": ""}, "statement 2, text"),
        ({"text": "x", "kind": "rumour"}, "statement 2, kind"),
        ({"text": "x", "colour": "red"}, "statement 2, colour"),
        ({"text": "x", "tags": "red"}, "statement 2, tags"),
        ({"text": "x", "layer": "user"}, "statement 2, layer"),
    ):
        with pytest.raises(recollect.InvalidInput) as error:
            mem.learn_many([{"text": "A good one"}, wrong])
        assert error.value.where == place
    assert mem.list() == ()


def test_a_refused_line_of_a_file_is_named_with_its_text_and_the_other_ones(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    refused = "Deployed at 14:32 and iteration 3 passed"
    texts = ["Redis listens on 6380", refused, "The queue is durable", refused, refused]
    file = tmp_path / "facts.jsonl"
    file.write_text("\n" + "\n\n".join(json.dumps({"text": text}) for text in texts))
    with pytest.raises(recollect.RecollectError) as error:
        mem.learn_many(str(file))
    assert error.value.where == "line 4"
    assert refused in error.value.message
    assert "2 more lines refused: 8, 10" in error.value.hint
    assert mem.list() == ()


def test_the_vectors_of_many_statements_are_left_to_the_background(
    mem: recollect.Recollect,
) -> None:
    started: list[str] = []
    mem.context.start_background = started.append
    mem.learn_many([{"text": "One alone is embedded by a recall"}])
    assert not started
    mem.learn_many([{"text": f"Service {number} is slow"} for number in range(65)])
    assert started == [mem.context.project.root]


def test_garbage_is_collected_again_after_a_call(mem: recollect.Recollect) -> None:
    mem.learn_many([{"text": "Redis listens on port 6380"}])
    assert gc.isenabled()
    with pytest.raises(recollect.InvalidInput):
        mem.learn_many([{"text": ""}])
    assert gc.isenabled()


def test_json_lines_are_read_from_a_file_and_from_the_input(
    mem: recollect.Recollect, tmp_path: object, monkeypatch: pytest.MonkeyPatch
) -> None:
    lines = "\n".join(json.dumps({"text": f"Fact {number} of the list"}) for number in range(3))
    path = f"{tmp_path}/facts.jsonl"
    with open(path, "w", encoding="utf-8") as file:
        file.write(lines)
    assert len(mem.learn_many(path)) == 3
    monkeypatch.setattr("sys.stdin", io.StringIO(lines + "\n\n"))
    assert {one.action for one in mem.learn_many("-")} == {"reinforced"}
    monkeypatch.setattr("sys.stdin", io.StringIO("{}\nnot json"))
    with pytest.raises(recollect.InvalidInput, match="line 2 is not JSON"):
        mem.learn_many("-")


def test_secrets_are_redacted_and_claims_are_pinned(mem: recollect.Recollect) -> None:
    root = Path(mem.project.root)
    (root / "db.py").write_text("def connect():\n    pass\n")
    (found,) = mem.learn_many(
        [{"text": "`db.py` defines connect; the key is AKIAIOSFODNN7EXAMPLA", "kind": "fact"}]
    )
    assert found.redacted
    assert "AKIAIOSFODNN7EXAMPLA" not in found.memory.text
    shown = mem.show(found.address)
    assert [claim.path for claim in shown.claims] == ["db.py"]


_TABLES = {
    "memories": "kind, text, subject, detail, scope, tags, citations, reason, confidence, status, "
    "label, reinforcement, digest",
    "entries": "source, kind, layer, owner, status, label, seq, part",
    "facets": "name, value",
    "unembedded": "1",
    "claims": "path, symbol, line, kind, state",
}


def _list_rows(tx: Tx) -> dict[str, list[Row]]:
    """Return all that is stored of memories, without ids and times."""
    found = {
        table: sorted(tx.run(f"SELECT {columns} FROM {table} WHERE space = :space"))
        for table, columns in _TABLES.items()
    }
    found["memory_counts"] = sorted(
        tx.run(
            "SELECT day, kind, layer, status, sum(number), sum(length), sum(unused) "
            "FROM memory_counts WHERE space = :space GROUP BY 1, 2, 3, 4"
        )
    )
    return found


def _make_statements(seed: int) -> list[dict[str, Json]]:
    """Return statements that share no rare word, so that none is a neighbour of another."""
    random = Random(seed)
    made: list[dict[str, Json]] = []
    for number in range(45):
        name = "".join(random.choices("bcdfgklmnprst", k=9))
        other = "".join(random.choices("bcdfgklmnprst", k=9))
        item: dict[str, Json] = {
            "text": f"{name} {other}{number} reads `db.py`",
            "kind": random.choice(["fact", "policy", "pitfall"]),
        }
        if random.random() < 0.3:
            item["tags"] = random.sample(["red", "grün", "blue"], 2)
        if random.random() < 0.3:
            item["scope"] = [f"src/{name}/**"]
        if random.random() < 0.2:
            item["text"] = f"{name} ünter {other}, key AKIAIOSFODNN7EXAMPL{number % 10}"
        if made and random.random() < 0.35:
            item = {**random.choice(made)}
            if random.random() < 0.3:
                item |= random.choice(({"tags": ["more"]}, {"confidence": 0.9}, {"scope": ["b"]}))
        made.append(item)
    return made


@pytest.mark.parametrize("seed", [1, 2, 3, 4, 5])
def test_many_at_once_leave_the_same_store_as_one_by_one(
    environment: dict[str, str], tmp_path: Path, clock: Clock, seed: int
) -> None:
    stores, answers = [], []
    for name in ("one", "many"):
        root = tmp_path / name
        (root / ".git").mkdir(parents=True)
        (root / "db.py").write_text("def connect():\n    pass\n")
        with recollect.open(root, clock=clock, environment=environment, origin="user") as memory:
            said = _make_statements(seed)
            memory.learn_many(said[:20])
            if name == "many":
                results = memory.learn_many(said[20:])
            else:
                results = tuple(_learn(memory, one) for one in said[20:])
            answers.append([(one.action, one.redacted, _sum_up(one.memory)) for one in results])
            memory.learn("What comes later is counted and sealed too")
            stores.append(memory.context.project_space.read(_list_rows))
            assert len(memory.list(limit=100)) == len(stores[-1]["memories"])
            assert not memory.context.project_space.health(deep=True).problems
    assert stores[0] == stores[1]
    assert answers[0] == answers[1]


def _sum_up(one: recollect.Memory) -> tuple[object, ...]:
    return one.text, one.tags, one.scope, one.reinforcement, one.confidence


def _learn(memory: recollect.Recollect, one: dict[str, Json]) -> recollect.Learned:
    fields: dict[str, Any] = {key: value for key, value in one.items() if key != "text"}
    return memory.learn(str(one["text"]), **fields)


def test_many_statements_are_redacted_dated_and_refused_as_single_ones_are(
    mem: recollect.Recollect,
) -> None:
    texts = [
        "The cache was moved yesterday",
        "Deploys use the token ghp_abcdefghijklmnopqrstuvwxyz0123456789",
        "Integration tests need Redis",
    ]
    many = mem.learn_many([{"text": text} for text in texts])
    single = [mem.learn(text, kind="reference") for text in texts]
    assert [one.memory.text for one in many] == [one.memory.text for one in single]
    assert [one.redacted for one in many] == [one.redacted for one in single]
    with pytest.raises(recollect.Refused, match="passing state"):
        mem.learn_many([{"text": texts[0]}, {"text": "12 tests passed"}])
