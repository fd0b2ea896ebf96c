"""Many statements in one call: all or none, with what `learn` promises of each."""

from __future__ import annotations

import io
import json

import pytest

import recollect
from recollect.interfaces.screens import results


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
    from pathlib import Path

    root = Path(mem.project.root)
    (root / "db.py").write_text("def connect():\n    pass\n")
    (found,) = mem.learn_many(
        [{"text": "`db.py` defines connect; the key is AKIAIOSFODNN7EXAMPLA", "kind": "fact"}]
    )
    assert found.redacted
    assert "AKIAIOSFODNN7EXAMPLA" not in found.memory.text
    shown = mem.show(found.address)
    assert [claim.path for claim in shown.claims] == ["db.py"]
