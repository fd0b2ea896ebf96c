"""Tasks, gate events, ledgers, handoffs and audits."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.work.audit import Audit, Duplicates, render_audit, run_audit
from recollect.work.records import (
    HANDOFF,
    LEDGER,
    TASK,
    Handoff,
    Regression,
    Revision,
    Task,
    TreeChanges,
    TreeState,
    add_decision,
    enter_phase,
    find_regressions,
    moved_since,
    new_task,
    render_artifacts,
    render_event,
    render_report,
    revise_plan,
    set_phase,
    verify_items,
)
from tests.builders.records import DAY, NOW, example, memory

law = settings(deadline=None, max_examples=150)
texts = st.text(st.characters(codec="utf-8"), max_size=12)
anything = st.recursive(
    st.none() | st.booleans() | st.integers() | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=5,
)

unknown = st.dictionaries(texts.map("x-{}".format), anything, max_size=3)

LEDGER_JSON = example("ledger.json")
HANDOFF_JSON = example("handoff.json")


# ---------------------------------------------------------------- tasks


def test_a_task_is_named_by_its_title_in_kebab_case() -> None:
    task = new_task("Add OAuth 2 (Google)", ["Design", "Build"])
    assert task.slug == "add-oauth-2-google"
    assert [phase.state for phase in task.phases] == ["planned", "planned"]
    assert task.phase == ""


def test_a_phase_is_entered_and_finished_before_the_next() -> None:
    task = enter_phase(new_task("Feature X", ["Design", "Build"]), "design")
    assert task.phase == "Design"
    with pytest.raises(InvalidInput, match="'Design' is not done"):
        enter_phase(task, "Build")
    task = enter_phase(set_phase(task, "Design", "done", "The API is settled."), "Review")
    assert [(one.name, one.state) for one in task.phases] == [
        ("Design", "done"),
        ("Build", "planned"),
        ("Review", "active"),
    ]
    assert set_phase(task, "Review", "blocked", "no reviewer").phase == "Review"
    with pytest.raises(InvalidInput, match="there is no phase 'Deploy'"):
        set_phase(task, "Deploy", "done")


def test_what_was_verified_before_and_is_not_now_is_a_regression() -> None:
    task = verify_items(new_task("Feature X"), ["Login works", "Logout works"])
    task = verify_items(revise_plan(task, "the API changed"), ["logout works!", "Reset works"])
    assert find_regressions(task.revisions) == (Regression("Login works", 1, 2),)
    task = verify_items(task, ["Login works"])
    assert find_regressions(task.revisions) == ()
    assert task.revisions[1].verified == ("logout works!", "Reset works", "Login works")


@law
@given(st.lists(st.frozensets(st.sampled_from("abcdef"), max_size=5), max_size=5))
def test_regressions_are_exactly_the_items_of_before_that_are_not_in_the_newest(
    verified: list[frozenset[str]],
) -> None:
    revisions = [Revision(at, "", tuple(sorted(one))) for at, one in enumerate(verified, 1)]
    before = frozenset().union(*verified[:-1]) if verified else frozenset()
    expected = before - verified[-1] if verified else frozenset()
    assert {lost.item for lost in find_regressions(revisions)} == expected


def test_the_artifacts_tell_plan_decisions_revisions_and_verified_items() -> None:
    task = enter_phase(new_task("Feature X", ["Design", "Build"]), "Design")
    task = add_decision(task, "Use PostgreSQL", "two writers", NOW)
    task = verify_items(revise_plan(task, "the first plan"), ["Login works"])
    told = render_artifacts(task)
    assert told["plan.md"] == "# Plan: Feature X\n\n1. Design (active)\n2. Build (planned)\n"
    assert told["decisions.md"] == "# Decisions\n\n- Use PostgreSQL (two writers)\n"
    assert told["verified_items.md"] == "# Verified items\n\n## Revision 1\n- Login works\n"
    assert render_artifacts(new_task("Bare")) == {}


def test_a_completion_report_says_what_is_verified_lost_and_not_done() -> None:
    task = enter_phase(new_task("Feature X", ["Design", "Build"]), "Design")
    task = add_decision(task, "Use PostgreSQL")
    task = verify_items(task, ["Login works"])
    task = verify_items(
        revise_plan(set_phase(task, "Design", "done", "All settled."), "new API"), ["Reset works"]
    )
    assert render_report(task) == (
        "# Completion report: Feature X\n\n"
        "## Phases\n- Design: All settled.\n- Build: planned\n\n"
        "## Decisions\n- Use PostgreSQL\n\n"
        "## Verified\n- Reset works\n\n"
        "## Regressions\n- Login works (verified in revision 1)\n\n"
        "## Not done\n- Build (planned)\n"
    )
    assert render_report(task, "design").startswith("# Completion report: Feature X: Design\n")
    with pytest.raises(InvalidInput, match="there is no phase 'x'"):
        render_report(task, "x")


def test_a_phase_is_found_however_its_name_is_spaced() -> None:
    task = set_phase(new_task("Feature X", ["Phase one"]), "phase  one", "done", "Settled.")
    assert render_report(task, "PHASE  one") == render_report(task, "Phase one")


tasks = st.fixed_dictionaries(
    {},
    optional={
        "slug": texts,
        "title": texts,
        "phases": st.lists(
            st.fixed_dictionaries(
                {},
                optional={
                    "name": texts,
                    "state": st.sampled_from(["done", "active"]),
                    "by": anything,
                },
            ),
            max_size=3,
        ),
        "decisions": st.lists(
            st.fixed_dictionaries({}, optional={"text": texts, "time": st.just("2026-01-06")}),
            max_size=2,
        ),
        "revisions": st.lists(
            st.fixed_dictionaries(
                {}, optional={"number": st.integers(), "verified": st.lists(texts, max_size=2)}
            ),
            max_size=3,
        ),
        "tags": anything,
    },
)


@law
@given(tasks)
def test_a_task_survives_json(given_: dict[str, Any]) -> None:
    task = TASK.load(given_)
    assert TASK.dump(task) == given_
    assert TASK.load(TASK.dump(task)) == task


def test_a_task_of_our_own_survives_json() -> None:
    task = verify_items(add_decision(enter_phase(new_task("X", ["A"]), "A"), "b", "c", NOW), ["d"])
    assert TASK.load(json.loads(json.dumps(TASK.dump(task)))) == task
    assert isinstance(task, Task)


# ---------------------------------------------------------------- gate events


def test_a_gate_event_is_one_line() -> None:
    event = ("t-1", 1_767_695_400_000_000, "eng-001", "build", "gate.passed", {"score": 9})
    assert render_event(*event) == (
        '{"trace_id":"t-1","time":"2026-01-06T10:30:00Z","agent":"eng-001","phase":"build",'
        '"type":"gate.passed","payload":{"score":9}}\n'
    )


@law
@given(texts, st.integers(0, 4 * 10**15), texts, texts, anything)
def test_a_gate_event_survives_its_line(
    trace: str, at: int, agent: str, type: str, payload: Any
) -> None:
    line = render_event(trace, at, agent, "build", type, payload)
    assert len(line.splitlines()) == 1
    held = json.loads(line)
    assert (held.get("agent", ""), held.get("type", "")) == (agent, type)
    assert held["payload"] == payload


# ---------------------------------------------------------------- ledgers and handoffs


def test_the_example_of_a_ledger_loads_as_it_is_and_comes_back() -> None:
    ledger = LEDGER.load(LEDGER_JSON)
    assert (ledger.agent_id, ledger.tasks_completed, ledger.uncommitted_changes) == (
        "eng-001-backend",
        12,
        True,
    )
    assert (ledger.last_commit, ledger.tech_stack[0]) == ("abc123", "express")
    assert ledger.current_goal == "Implement CRUD for todos"
    assert ledger.extra == {}
    assert LEDGER.dump(ledger) == LEDGER_JSON


def test_the_example_of_a_handoff_loads_as_it_is_and_comes_back() -> None:
    handoff = HANDOFF.load(HANDOFF_JSON)
    assert (handoff.from_agent, handoff.to_agent) == ("eng-001-backend", "qa-001-testing")
    assert handoff.needs_testing == ("unit tests for validation", "contract tests")
    assert HANDOFF.dump(handoff) == HANDOFF_JSON


@law
@given(unknown, unknown)
def test_unknown_fields_of_ledgers_and_handoffs_come_back(
    outer: dict[str, Any], inner: dict[str, Any]
) -> None:
    ledger = {**outer, **LEDGER_JSON, "state": {**inner, **LEDGER_JSON["state"]}}
    assert LEDGER.dump(LEDGER.load(ledger)) == ledger
    handoff = {**outer, **HANDOFF_JSON, "context": {**inner, **HANDOFF_JSON["context"]}}
    assert HANDOFF.dump(HANDOFF.load(handoff)) == handoff


def test_accepting_a_handoff_is_written_beside_what_was_given() -> None:
    accepted = HANDOFF.load({**HANDOFF_JSON, "mood": "good"})._replace(
        accepted_at=1_767_697_200_000_000
    )
    assert HANDOFF.dump(accepted) == {
        **HANDOFF_JSON,
        "mood": "good",
        "accepted_at": "2026-01-06T11:00:00Z",
    }


HELD = {"a.ts": "one", "b.ts": "two"}


@pytest.mark.parametrize(
    ("git_state", "now", "moved"),
    [
        ("commit abc123", TreeState("abc123ffee00", HELD), None),
        ("abc123ffee00 on main", TreeState("abc123", HELD), None),
        ("commit abc123", TreeState("def456", HELD), TreeChanges("abc123", "def456")),
        ("commit abc123", TreeState("", HELD), TreeChanges("abc123", "")),
        ("clean", TreeState("def456", HELD), None),
        ("branch facade, commit abc1234", TreeState("abc1234", HELD), None),
        ("facade, at abc1234", TreeState("abc1234", HELD), None),
        ("clean since 20261116", TreeState("def456", HELD), None),
        ("commit 1234567", TreeState("def456", HELD), TreeChanges("1234567", "def456")),
        (
            "commit abc123",
            TreeState("abc123", {"a.ts": "other", "b.ts": ""}),
            TreeChanges("abc123", "abc123", ("a.ts",), ("b.ts",)),
        ),
        (
            "commit abc123",
            TreeState("def456", {**HELD, "new.ts": "made"}),
            TreeChanges("abc123", "def456", ("new.ts",)),
        ),
    ],
)
def test_the_receiver_is_told_if_the_tree_moved(
    git_state: str, now: TreeState, moved: TreeChanges | None
) -> None:
    handoff = Handoff(git_state=git_state, artifacts=("a.ts", "b.ts"))
    then = {**HELD, "new.ts": ""} if "new.ts" in now.contents else HELD
    assert moved_since(handoff, then, now) == moved


def test_how_the_tree_moved_is_told_in_words() -> None:
    moved = TreeChanges("abc123", "def456", ("a.ts",), ("b.ts",))
    assert str(moved) == (
        "the tree moved from abc123 to def456; changed since: a.ts; gone since: b.ts"
    )
    assert str(TreeChanges("abc123", "")) == "the tree moved from abc123 to no commit"


# ---------------------------------------------------------------- audit


def test_six_descriptions_of_one_command_are_one_group_with_one_keeper() -> None:
    said = [
        "The test command is `cd evals && npm test`",
        "Test command: `cd evals && npm test`",
        "Run the tests with `cd evals && npm test`",
        "Tests are run by `cd evals && npm test`",
        "Use `cd evals && npm test` for the tests",
        "To test: `cd evals && npm test`",
    ]
    notes = [
        memory(f"m-{at}", "reference", text, confidence=0.5 + at / 20)
        for at, text in enumerate(said)
    ]
    other = memory("m-9", "reference", "The lint command is `cd evals && npm run lint`")
    found = run_audit([*notes, other], NOW)
    assert [group.keep for group in found.duplicates] == ["m-5"]
    assert set(found.duplicates[0].others) == {"m-0", "m-1", "m-2", "m-3", "m-4"}


def test_the_keeper_of_a_group_is_the_most_trusted_then_confident_then_oldest() -> None:
    text = "Integration tests need Redis on port 6380"
    of_agent = memory("m-1", text=text, label="agent", confidence=1.0, reinforcement=9)
    mine = memory("m-2", text=f"{text}.", label="user", confidence=0.5, first_seen=NOW)
    surer = memory("m-3", text=f"{text}!", label="user", confidence=0.6, first_seen=NOW)
    older = memory("m-4", text=f"{text}?", label="user", confidence=0.6, first_seen=NOW - 5)
    for group, keep in (
        ((of_agent, mine), "m-2"),
        ((of_agent, mine, surer), "m-3"),
        ((of_agent, mine, surer, older), "m-4"),
    ):
        (found,) = run_audit(group, NOW).duplicates
        assert found.keep == keep


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The service runs on PostgreSQL 14 in production",
            "The service runs on PostgreSQL 16 in production",
        ),
        ("Always use tabs in this project please", "Never use tabs in this project please"),
    ],
)
def test_another_value_and_the_opposite_are_no_duplicates(one: str, other: str) -> None:
    assert run_audit([memory("m-1", text=one), memory("m-2", text=other)], NOW).duplicates == ()


def test_the_audit_names_what_is_stale_unused_changing_and_drifted() -> None:
    then: dict[str, Any] = {
        "first_seen": NOW - 40 * DAY,
        "last_confirmed": NOW - 40 * DAY,
        "last_reinforced": NOW - 40 * DAY,
    }
    given_ = [
        memory("m-1", text="a", **then),
        memory("m-2", "policy", "b", **then),
        memory("m-3", text="c", revision=5, first_seen=NOW - 8 * DAY, valid_from=NOW),
        memory("m-4", text="d", status="hidden", **then),
    ]
    found = run_audit(
        given_, NOW, stale={"m-2": ["src/a.py is missing"], "m-4": ["x"]}, notes="- [x] done\n"
    )
    assert [(one.id, one.reason) for one in found.stale] == [("m-2", "src/a.py is missing")]
    assert [(one.id, one.reason) for one in found.unused] == [
        ("m-1", "project note, never recalled in 40 days")
    ]
    assert [(one.id, one.reason) for one in found.changing] == [
        ("m-3", "5 versions, a new one every 2 days")
    ]
    assert [one.rule for one in found.drift] == ["task-history"]
    assert not found.clean
    assert "- m-3: 5 versions, a new one every 2 days" in render_audit(found)


def test_an_audit_that_finds_nothing_says_so() -> None:
    assert run_audit([], NOW) == Audit()
    assert render_audit(Audit()) == "# Audit\n\nNothing was found.\n"
    assert "keep m-1, drop m-2" in render_audit(Audit((Duplicates("m-1", ("m-2",), "x"),)))
