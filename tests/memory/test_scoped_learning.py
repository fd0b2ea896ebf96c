"""Statements for different files: they never replace each other, and no scope narrows silently."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect
from recollect.capture import steps as capture_steps
from recollect.context import new_id
from recollect.links import sql as links_sql
from tests.conftest import Clock

Mem = recollect.Recollect

RULE = "Never edit generated files by hand"


def scopes_of(mem: Mem, text: str) -> set[tuple[str, ...]]:
    """The scopes for which a text is in use."""
    return {memory.scope for memory in mem.list() if memory.text == text}


def test_another_value_for_other_files_replaces_nothing(mem: Mem) -> None:
    web = mem.learn("Line length is 80", kind="policy", scope=["web/**"])
    python = mem.learn("Line length is 100", kind="policy", scope=["src/**/*.py"])
    assert python.action == "created"
    assert mem.show(web.id).memory.status == "active"  # type: ignore[union-attr]
    assert any(web.id in note for note in python.notes)
    everywhere = mem.learn("Line length is 120", kind="policy")
    assert everywhere.action == "created"
    assert len(mem.list(kind="policy")) == 3


def test_another_value_for_the_same_files_is_a_new_version(mem: Mem) -> None:
    old = mem.learn("Line length is 80", kind="policy", scope=["web/**", "src/**"])
    new = mem.learn("Line length is 100", kind="policy", scope=["./src/**", "web/**", "src/**"])
    assert (new.action, new.memory.root) == ("revised", old.id)


def test_the_version_of_the_same_files_is_found_among_those_of_many_others(mem: Mem) -> None:
    for number in range(40):
        mem.learn("The package runs on Node 18", scope=[f"packages/part{number}/**"])
    new = mem.learn("The package runs on Node 20", scope=["packages/part17/**"])
    assert new.action == "revised"
    assert mem.memories.history(new.id)[0].scope == ("packages/part17/**",)
    assert len(mem.list(limit=100)) == 40


def test_the_same_text_for_other_files_asks_and_narrows_nothing(mem: Mem) -> None:
    whole = mem.learn(RULE, kind="policy")
    narrow = mem.learn(RULE, kind="policy", scope=["src/gen/**"])
    assert (narrow.action, narrow.similar) == ("created", (whole.id,))
    assert f"{whole.id} says the same for all files" in narrow.notes
    assert scopes_of(mem, RULE) == {(), ("src/gen/**",)}
    assert mem.learn(RULE, kind="policy").id == whole.id
    assert mem.learn(RULE, kind="policy", scope=["src/gen/**"]).id == narrow.id


def test_the_order_of_a_scope_and_what_it_repeats_do_not_matter(mem: Mem) -> None:
    first = mem.learn(RULE, scope=["web/**", "src/gen/**"])
    again = mem.learn(RULE, scope=["./src/gen/**", "web/**", "web/**"])
    assert (again.action, again.id, again.memory.scope) == (
        "reinforced",
        first.id,
        first.memory.scope,
    )
    everywhere = mem.learn(RULE)
    assert mem.learn(RULE, scope=["**"]).id == everywhere.id


def test_who_wants_no_twin_gets_none(mem: Mem) -> None:
    whole = mem.learn(RULE, kind="policy")
    skipped = mem.learn(RULE, kind="policy", scope=["src/gen/**"], near="skip")
    assert (skipped.action, skipped.id, skipped.memory.scope) == ("skipped", whole.id, ())
    assert "for all files" in skipped.notes[0]


def test_a_merge_unites_scopes_and_never_narrows_one(mem: Mem) -> None:
    web = mem.learn(RULE, scope=["web/**"])
    both = mem.learn(RULE, scope=["src/**"], near="merge")
    assert (both.action, both.id, both.memory.scope) == (
        "reinforced",
        web.id,
        ("src/**", "web/**"),
    )
    assert any("src/**, web/**" in note for note in both.notes)
    whole = mem.learn(RULE, near="merge")
    assert (whole.id, whole.memory.scope) == (web.id, ())
    narrow = mem.learn(RULE, scope=["docs/**"], near="merge")
    assert (narrow.id, narrow.memory.scope) == (web.id, ())


def test_a_merge_into_a_scope_that_is_there_already_takes_that_one(mem: Mem) -> None:
    mem.learn(RULE, scope=["web/**"])
    both = mem.learn(RULE, scope=["src/**", "web/**"])
    merged = mem.learn(RULE, scope=["src/**"], near="merge")
    assert merged.action == "reinforced"
    assert scopes_of(mem, RULE) == {("web/**",), ("src/**", "web/**")}
    assert mem.show(both.id).memory.scope == ("src/**", "web/**")  # type: ignore[union-attr]


def test_a_merge_by_somebody_more_trusted_keeps_the_whole_scope(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="agent") as agent:
        agent.learn(RULE)
        agent.learn("The cache is cold after a deploy", scope=["web/**"])
    with recollect.open(project, environment=environment, origin="user") as user:
        taken = user.learn(RULE, scope=["src/**"], near="merge")
        assert (taken.memory.label, taken.memory.scope) == ("user", ())
        other = user.learn("The cache is cold after a deploy", scope=["src/**"], near="merge")
        assert (other.memory.label, other.memory.scope) == ("user", ("src/**", "web/**"))


def test_a_merge_by_somebody_less_trusted_changes_no_scope_and_says_so(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="user") as user:
        user.learn(RULE, scope=["src/**"])
    with recollect.open(project, environment=environment, origin="agent") as agent:
        merged = agent.learn(RULE, scope=["web/**"], near="merge")
        assert merged.memory.scope == ("src/**",)
        assert any("src/**" in note for note in merged.notes)


def test_opposites_contradict_each_other_where_their_files_may_meet(mem: Mem) -> None:
    go = mem.learn("always indent with tabs", scope=["src/**/*.go"])
    assert mem.learn("never indent with tabs", scope=["web/**"]).contradicts == ()
    assert mem.learn("never indent with tabs", scope=["src/tools/**"]).contradicts == (go.id,)
    assert mem.learn("never indent with tabs").contradicts == (go.id,)


def test_what_a_person_says_in_passing_narrows_and_widens_nothing(mem: Mem, clock: Clock) -> None:
    said = "Always run the linter before a commit"
    mem.learn(said, kind="policy", scope=["src/**"])
    ready = capture_steps.prepare(capture_steps.UserMessage(said, "s-1", clock()), new_id)
    assert ready
    mem.context.project_space.write(lambda tx: capture_steps.keep(tx, ready, clock()))
    assert scopes_of(mem, said) == {(), ("src/**",)}


def test_a_correction_looks_for_opposites_among_the_files_of_the_memory(mem: Mem) -> None:
    old = mem.learn("indent with two spaces", scope=["web/**"])
    mem.learn("never indent with tabs", scope=["src/**"])
    mine = mem.learn("never indent with tabs", scope=["web/**"])
    corrected = mem.memories.correct(old.id, "always indent with tabs")
    found = mem.context.project_space.read(
        lambda tx: links_sql.find_touching(tx, [corrected.id], "contradicts")
    )
    assert {link.target for link in found} == {mine.id}


def test_consolidation_merges_only_what_applies_to_the_same_files(mem: Mem) -> None:
    text = "the integration tests of the billing service need a redis server on the local machine"
    for scope in (["src/**", "web/**"], ["web/**", "src/**"]):
        mem.learn(f"Note: {text}" if scope[0] == "src/**" else text, scope=scope)
    mem.learn(text)
    mem.lessons.consolidate()
    assert sorted(memory.scope for memory in mem.list()) == [(), ("src/**", "web/**")]


def test_consolidation_moves_up_each_note_with_its_own_files(mem: Mem) -> None:
    text = "the staging database is reset every night"
    for number, scope in enumerate((["src/**"], ["src/**"], [], ["web/**"])):
        mem.learn(text, layer="session", owner=f"s-{number}", scope=scope)
    mem.lessons.consolidate()
    moved = [memory.scope for memory in mem.list(layer="project")]
    assert moved == [("src/**",)]
    assert sorted(memory.scope for memory in mem.list(layer="session")) == [(), ("web/**",)]


def test_promotion_asks_about_the_same_text_for_other_files(mem: Mem) -> None:
    note = "Route handlers declare their return type"
    mem.learn(note, kind="pattern", scope=["web/**"])
    mem.tasks.start("Type the routes")
    mem.learn(
        note,
        kind="pattern",
        subject="route handlers",
        citations=["src/routes.ts:1"],
        reason="strict mode rejects them otherwise",
        scope=["src/**"],
        layer="task",
        owner="type-the-routes",
    )
    (decision,) = mem.work.promote("type-the-routes").notes
    assert (decision.decision, decision.step) == ("defer", "duplicate")
    assert "other files" in decision.reason


def test_the_audit_drops_nothing_that_applies_to_other_files(mem: Mem) -> None:
    text = "the integration tests of the billing service need a running redis on the local machine"
    mem.learn(text, scope=["src/**"])
    mem.learn(f"note: {text}", scope=["web/**"])
    assert mem.work.audit().duplicates == ()
    mem.learn(f"please note: {text}", scope=["web/**"])
    assert len(mem.work.audit().duplicates) == 1


def test_a_scope_of_any_length_is_told_apart(mem: Mem) -> None:
    long = [f"packages/{'part' * 20}{number}/**" for number in range(200)]
    first = mem.learn(RULE, scope=long)
    second = mem.learn(RULE, scope=[*long, "docs/**"])
    assert first.id != second.id
    assert mem.learn(RULE, scope=list(reversed(long))).id == first.id


def test_patterns_that_are_loaded_replace_none_of_other_files(mem: Mem, tmp_path: Path) -> None:
    scoped = mem.learn("The build runs on Node 16", kind="pattern", scope=["web/**"])
    file = tmp_path / "patterns.json"
    pattern = {"id": "p-1", "pattern": "The build runs on Node 18", "confidence": 0.9}
    file.write_text(json.dumps([pattern]), encoding="utf-8")
    assert [one.action for one in mem.patterns.load(str(file))] == ["created"]
    assert [one.action for one in mem.patterns.load(str(file))] == ["reinforced"]
    assert mem.show(scoped.id).memory.status == "active"  # type: ignore[union-attr]


def test_a_scope_is_stored_as_seen_from_the_top_wherever_it_was_typed(tmp_path: Path) -> None:
    below = tmp_path / "project" / "src" / "api"
    below.mkdir(parents=True)
    (tmp_path / "project" / ".git").mkdir()
    (below / "orders.py").touch()
    with recollect.open(str(below)) as mem:
        for number, typed in enumerate(("orders.py", str(below / "orders.py"), "../api/orders.py")):
            learned = mem.learn(f"Retries: {number}", kind="policy", scope=[typed])
            assert learned.memory.scope == ("src/api/orders.py",)
        assert mem.memories.for_file("orders.py")
        for kept in ("src/api/**", "*.py", "/src/api", "web/new.ts"):
            assert mem.memories.scope(learned.id, [kept]).scope == (kept,)
        outside_too = ("/etc/**", "/usr/lib/*.py", "src/../../../../x/**")
        for outside in ("../../..", str(tmp_path / "home"), "../../../x/**", *outside_too):
            with pytest.raises(recollect.InvalidInput, match="outside of the project"):
                mem.memories.scope(learned.id, [outside])
