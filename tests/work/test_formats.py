"""Records that other programs write: each example loads as it is and comes back without loss.

The examples in `fixtures/formats` are those of the format's own documentation, character by
character.
"""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from skills_ref.validator import validate

import recollect
from recollect.interfaces.screens import results
from recollect.procedures.skills import from_skill_md
from tests.builders.records import FORMATS, example
from tests.conftest import Clock

Mem = recollect.Recollect


def test_the_example_episode_loads_from_its_file_and_comes_back(mem: Mem) -> None:
    (kept,) = mem.episodes.load(str(FORMATS / "episode.json"))
    assert mem.episodes.show("ep-2026-01-06-001").episode == example("episode.json")
    assert (kept.action, mem.episodes.show(kept.id).label) == ("created", "user")
    (again,) = mem.episodes.load(str(FORMATS / "episode.json"))
    assert again.action == "unchanged"


def test_the_example_pattern_loads_from_its_file_and_comes_back(mem: Mem) -> None:
    mem.episodes.load(str(FORMATS / "episode.json"))
    (learned,) = mem.patterns.load(str(FORMATS / "pattern.json"))
    memory = learned.memory
    assert mem.patterns.show("sem-001") == example("pattern.json") == mem.patterns.show(memory.id)
    assert (memory.kind, memory.status, memory.confidence) == ("pattern", "active", 0.95)
    assert mem.show(memory.evidence[0]).episode is not None, "its source episode is reached"
    assert mem.recall("omitting annotation")[0].id == memory.id


def test_the_links_of_patterns_are_made_when_both_ends_are_there(mem: Mem, tmp_path: Path) -> None:
    (first,) = mem.patterns.load(str(FORMATS / "pattern.json"))
    made = {one.relation for one in mem.links.list(first.id).reached}
    assert made == {"derived_from"}  # to its episodes
    others = [
        {"id": "sem-005", "pattern": "Handlers are registered in one table"},
        {"id": "sem-012", "pattern": "Return types are optional in loose mode"},
    ]
    (tmp_path / "patterns.json").write_text(json.dumps(others))
    related, superseded = mem.patterns.load(str(tmp_path / "patterns.json"))
    reached = mem.links.list(first.id).reached
    assert {(one.relation, one.id) for one in reached if one.relation != "derived_from"} == {
        ("related_to", related.id),
        ("supersedes", superseded.id),
    }


def test_a_pattern_that_consolidation_made_has_the_same_form(mem: Mem) -> None:
    for number in range(3):
        session, files = f"s-{number}", ["src/login.py"]
        mem.episodes.record("Add the login form", "success", session=session, files=files)
    mem.lessons.consolidate()
    (memory,) = mem.list(kind="pattern")
    told = mem.patterns.show(memory.id)
    assert told["pattern"] == memory.text
    assert len(told["source_episodes"]) == 3
    assert told["confidence"] == memory.confidence >= 0.8


def test_the_example_ledger_and_handoff_come_back(mem: Mem) -> None:
    ledger, handoff = example("ledger.json"), example("handoff.json")
    assert mem.work.ledger("eng-001-backend", ledger) == ledger
    assert mem.work.ledger("eng-001-backend") == ledger
    assert mem.handoffs.give(handoff=handoff).handoff == handoff
    assert mem.handoffs.list()[0].handoff == handoff


def test_the_example_skill_comes_back_and_is_valid_by_the_convention(
    mem: Mem, tmp_path: Path
) -> None:
    given = (FORMATS / "skill.md").read_text(encoding="utf-8")
    shown = mem.procedures.load(str(FORMATS / "skill.md"))
    written = mem.procedures.export(shown.name, str(tmp_path)).text
    assert written.endswith("---\n\n" + given), "all of it, after the frontmatter"
    assert from_skill_md(written) == from_skill_md(given)
    assert validate(tmp_path / shown.name) == []


def test_a_procedure_with_a_record_is_a_valid_skill(mem: Mem, tmp_path: Path) -> None:
    mem.procedures.learn(
        "add-endpoint",
        'Add an "API" endpoint: spec first # not code, {then} [tests] & docs',
        steps=["Read the spec"],
        errors=["Schema: mismatch: regenerate"],
    )
    mem.procedures.use("add-endpoint", "success")
    mem.procedures.use("add-endpoint", "failure")
    mem.procedures.export("add-endpoint", str(tmp_path))
    assert validate(tmp_path / "add-endpoint") == []
    with recollect.open(tmp_path, incognito=True, origin="user") as other:
        loaded = other.procedures.load(str(tmp_path / "add-endpoint"))
        assert (loaded.successes, loaded.failures) == (1, 1)
        assert loaded.procedure == mem.procedures.show("add-endpoint").procedure


@pytest.mark.parametrize(
    ("field", "said"),
    [
        ("license: MIT", ""),
        ("compatibility: needs git", ""),
        ("allowed-tools: [Read, Grep]", ""),
        ("disable-model-invocation: true", "disable-model-invocation"),
        ("compatibility: [git, jq]", "compatibility"),
        (f"compatibility: {'x' * 501}", "compatibility"),
    ],
)
def test_a_foreign_skill_goes_out_as_it_came_and_what_a_strict_reader_refuses_is_said(
    mem: Mem, tmp_path: Path, field: str, said: str
) -> None:
    (tmp_path / "SKILL.md").write_text(
        f"---\nname: lint\ndescription: Lint it\n{field}\n---\n\n## Steps\n1. Run the linter\n"
    )
    mem.procedures.load(str(tmp_path / "SKILL.md"))
    done = mem.procedures.export("lint", str(tmp_path / "out"))
    assert from_skill_md(done.text) == from_skill_md((tmp_path / "SKILL.md").read_text())
    assert bool(done.notes) == bool(validate(tmp_path / "out" / "lint")) == bool(said)
    assert said in results.show("procedure export", done)


def test_the_skills_of_our_plugin_are_valid(mem: Mem, tmp_path: Path) -> None:
    mem.agents.plugin(str(tmp_path / "plugin"))
    skills = sorted((tmp_path / "plugin" / "skills").iterdir())
    assert skills
    assert [(skill.name, validate(skill)) for skill in skills] == [
        (skill.name, []) for skill in skills
    ]


def test_what_an_agent_loads_from_files_waits_for_a_person(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        (learned,) = memory.patterns.load(str(FORMATS / "pattern.json"))
        assert learned.memory.status == "quarantined"
        (kept,) = memory.episodes.load(str(FORMATS / "episode.json"))
        assert memory.episodes.show(kept.id).status == "hidden"
        assert memory.procedures.load(str(FORMATS / "skill.md")).status == "quarantined"


def test_a_folder_is_read_whole_or_not_at_all(mem: Mem, tmp_path: Path) -> None:
    day = tmp_path / "episodic" / "2026-01-06"
    day.mkdir(parents=True)
    (tmp_path / "episodic" / "index.json").write_text('{"episodes": []}')
    for number in range(3):
        told = {"id": f"ep-{number}", "context": {"goal": f"Goal {number}"}}
        (day / f"task-{number}.json").write_text(json.dumps(told))
    assert len(mem.episodes.load(str(tmp_path / "episodic"))) == 3
    (day / "task-9.json").write_text('{"context": {"goal": 7}}')
    (day / "task-0.json").write_text('{"id": "ep-new", "context": {"goal": "New"}}')
    with pytest.raises(recollect.InvalidInput, match="expected a text"):
        mem.episodes.load(str(tmp_path / "episodic"))
    assert len(mem.episodes.list()) == 3


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{", "not JSON"),
        ('{"id": "sem-1"}', "the pattern is empty"),
        ('{"pattern": "x", "links": [{"to": "y", "relation": "hates"}]}', "not one of"),
        ("7", "expected a JSON object"),
    ],
)
def test_what_is_no_pattern_is_refused(mem: Mem, tmp_path: Path, text: str, problem: str) -> None:
    (tmp_path / "p.json").write_text(text)
    with pytest.raises(recollect.InvalidInput, match=problem):
        mem.patterns.load(str(tmp_path / "p.json"))
    with pytest.raises(recollect.InvalidInput, match="cannot be read"):
        mem.patterns.load(str(tmp_path / "none.json"))
    assert mem.list() == ()


def test_only_a_pattern_is_shown_as_one(mem: Mem) -> None:
    learned = mem.learn("Tests need Redis")
    with pytest.raises(recollect.InvalidInput, match="this is a fact"):
        mem.patterns.show(learned.id)
    with pytest.raises(recollect.NotFound):
        mem.patterns.show("sem-404")
