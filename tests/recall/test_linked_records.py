"""Links made by hand take effect, loaded records keep their ids, and links are listed whole."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect

Mem = recollect.Recollect

EPISODE = {"id": "ep-2026-01-06-001", "context": {"goal": "Add the todos endpoint"}}
PATTERNS = [
    {
        "id": "sem-001",
        "pattern": "Express route handlers require explicit return types in strict mode",
        "category": "typescript",
        "source_episodes": ["ep-2026-01-06-001"],
        "usage_count": 12,
        "last_used": "2026-01-06T10:00:00Z",
        "links": [{"to": "sem-005", "relation": "related_to"}],
    },
    {"id": "sem-005", "pattern": "Middleware must call next exactly once in every handler"},
]


def test_a_memory_that_is_superseded_by_hand_is_closed_and_names_its_successor(mem: Mem) -> None:
    old = mem.learn("The API server listens on port 8080").id
    new = mem.learn("Traffic for the gateway goes through 9090 since the move").id
    mem.links.add(new, "supersedes", old)
    assert mem.show(old).memory.status == "superseded"  # type: ignore[union-attr]
    assert old not in {hit.id for hit in mem.recall("API server port")}
    [hit] = [one for one in mem.recall("API server port", status=["superseded"]) if one.id == old]
    assert hit.outdated_by == f"memory://{new}"
    mem.links.add(new, "supersedes", old, remove=True)
    assert mem.show(old).memory.status == "active"  # type: ignore[union-attr]
    mem.links.add(old, "superseded_by", new)
    assert mem.show(old).memory.status == "superseded"  # type: ignore[union-attr]
    with pytest.raises(recollect.InvalidInput, match="replaces nothing"):
        mem.links.add(old, "supersedes", new)


def test_an_agent_does_not_replace_what_a_person_said(
    mem: Mem, project: Path, environment: dict[str, str]
) -> None:
    said = mem.learn("Deploy from the main branch only").id
    with recollect.open(project, environment=environment, origin="agent") as agent:
        new = agent.learn("The release tool tags every commit").id
        more = agent.learn("Vectors are kept in blocks of a thousand").id
        with pytest.raises(recollect.Refused, match="only a person"):
            agent.links.add(new, "supersedes", said)
        agent.links.add(new, "supersedes", more)
        assert agent.show(more).memory.status == "superseded"  # type: ignore[union-attr]
        assert agent.show(said).memory.status == "active"  # type: ignore[union-attr]
        assert agent.links.list(said).reached == ()


def test_loaded_patterns_are_derived_from_their_episodes_and_keep_their_ids(
    mem: Mem, tmp_path: Path
) -> None:
    (tmp_path / "e.json").write_text(json.dumps(EPISODE), encoding="utf-8")
    (tmp_path / "p.json").write_text(json.dumps(PATTERNS), encoding="utf-8")
    [episode] = mem.episodes.load(str(tmp_path / "e.json"))
    one, other = mem.patterns.load(str(tmp_path / "p.json"))
    assert mem.show("memory://sem-001").memory.id == one.id  # type: ignore[union-attr]
    assert mem.show("ep-2026-01-06-001").episode.id == episode.id  # type: ignore[union-attr]
    linked = {(step.relation, step.id) for step in mem.links.list("sem-001").reached}
    assert linked == {("derived_from", episode.id), ("related_to", other.id)}
    assert mem.recall("explicit return types of route handlers")[0].id == one.id
    shown = mem.patterns.show("sem-001")
    assert shown["usage_count"] == 13 and shown["last_used"] > "2026-01-06T10:00:00Z"


def test_all_relations_between_two_records_are_listed(mem: Mem) -> None:
    one, other = mem.learn("The parser is recursive").id, mem.learn("Deep input fails").id
    for relation in ("related_to", "elaborates", "example_of"):
        mem.links.add(one, relation, other)
    assert [step.relation for step in mem.links.list(one, depth=3).reached] == [
        *("elaborates", "example_of", "related_to")
    ]
