"""Procedures: learn, use, revise, accept; export and load as SKILL.md; found by task."""

from __future__ import annotations

from pathlib import Path

import pytest

import recollect
from recollect.procedures.skills import to_skill_md
from tests.conftest import Clock

Mem = recollect.Recollect

SKILL = """# Skill: API Endpoint Implementation

## Prerequisites
- OpenAPI spec exists at .loki/specs/openapi.yaml
- Database schema defined

## Steps
1. Read endpoint spec from openapi.yaml
2. Create route handler in src/routes/{resource}.ts
3. Write contract tests

## Common Errors & Fixes
- Missing return type: Add `: void` to handler
- Schema mismatch: Regenerate types from spec

## Exit Criteria
- All contract tests pass
"""


def learn(mem: Mem) -> None:
    mem.procedures.learn(
        "add-endpoint",
        "Add an endpoint to the API",
        prerequisites=["the spec is there"],
        steps=["Read the spec", "Write the handler"],
        errors=["Schema mismatch: regenerate the types"],
        exit_criteria=["contract tests pass"],
    )


def test_a_procedure_is_kept_whole_and_found_by_task(mem: Mem) -> None:
    learn(mem)
    held = mem.procedures.show("add-endpoint")
    assert held.status == "active"
    assert held.procedure.steps == ("Read the spec", "Write the handler")
    assert held.procedure.errors[0] == ("Schema mismatch", "regenerate the types")
    (hit,) = mem.recall("how to add an endpoint")
    assert (hit.kind, hit.id) == ("procedure", held.id)
    assert mem.tasks.before("add an endpoint to the API").skills[0].id == held.id
    shown = mem.show(held.address).procedure
    assert shown is not None
    assert shown.name == "add-endpoint"


def test_uses_are_counted_and_survive_a_revision(mem: Mem) -> None:
    learn(mem)
    mem.procedures.use("add-endpoint")
    mem.procedures.use("add-endpoint", "failure")
    new = mem.procedures.revise("add-endpoint", steps=["Read the spec", "Write it", "Test it"])
    assert (new.revision, new.successes, new.failures) == (2, 1, 1)
    assert new.procedure.steps == ("Read the spec", "Write it", "Test it")
    assert new.procedure.exit_criteria == ("contract tests pass",)
    assert [item.revision for item in mem.procedures.list()] == [2]
    with pytest.raises(recollect.InvalidInput, match="not a result"):
        mem.procedures.use("add-endpoint", "meh")


def test_the_same_again_changes_nothing_and_another_of_the_name_is_refused(mem: Mem) -> None:
    learn(mem)
    learn(mem)
    assert len(mem.procedures.list()) == 1
    with pytest.raises(recollect.Conflict, match="already"):
        mem.procedures.learn("add-endpoint", "Something else", steps=["x"])


def test_what_is_no_procedure_is_refused(mem: Mem) -> None:
    with pytest.raises(recollect.InvalidInput, match="slug"):
        mem.procedures.learn("Add Endpoint", "Add it", steps=["x"])
    with pytest.raises(recollect.InvalidInput, match="needs steps"):
        mem.procedures.learn("add-endpoint", "Add it")
    with pytest.raises(recollect.NotFound, match="no such procedure"):
        mem.procedures.show("add-endpoint")


def test_a_skill_goes_in_and_out_without_loss(mem: Mem, project: Path, tmp_path: Path) -> None:
    folder = project / "skills" / "api-endpoint-implementation"
    folder.mkdir(parents=True)
    (folder / "SKILL.md").write_text(SKILL)
    loaded = mem.procedures.load(str(folder))
    assert (loaded.name, loaded.status) == ("api-endpoint-implementation", "active")
    assert loaded.procedure.steps[0] == "Read endpoint spec from openapi.yaml"
    done = mem.procedures.export(loaded.name, str(tmp_path / "out"))
    text = Path(done.path).read_text()
    assert text == to_skill_md(loaded.procedure) == done.text
    assert SKILL.split("\n", 1)[1].strip() in text
    assert text.startswith("---\nname: api-endpoint-implementation\n")
    assert mem.procedures.load(done.path).id == loaded.id


def test_a_skill_that_cannot_be_read_is_said(mem: Mem, tmp_path: Path) -> None:
    with pytest.raises(recollect.InvalidInput, match="cannot be read"):
        mem.procedures.load(str(tmp_path / "none"))
    (tmp_path / "SKILL.md").write_bytes(b"\xff\xfe")
    with pytest.raises(recollect.InvalidInput, match="cannot be read"):
        mem.procedures.load(str(tmp_path))


def test_only_a_person_brings_a_procedure_into_use(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    (project / "SKILL.md").write_text(SKILL)
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        learn(memory)
        assert memory.procedures.show("add-endpoint").status == "proposed"
        loaded = memory.procedures.load(str(project))
        assert (loaded.status, loaded.label) == ("quarantined", "import")
        with pytest.raises(recollect.Refused, match="only a person"):
            memory.procedures.accept("add-endpoint")
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        accepted = memory.procedures.accept("add-endpoint")
        assert (accepted.status, accepted.label, accepted.revision) == ("active", "user", 2)
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        with pytest.raises(recollect.Refused, match="cannot change what the user stated"):
            memory.procedures.revise("add-endpoint", steps=["rm -rf"])
        assert memory.procedures.use("add-endpoint").successes == 1
    with (
        recollect.open(project, clock=clock, environment=environment, origin="tool") as memory,
        pytest.raises(recollect.Refused, match="cannot become"),
    ):
        memory.procedures.learn("evil", "Do evil", steps=["x"])
