"""Consolidation plans: what becomes a pattern or a pitfall, and the laws that every plan keeps."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import settings

from recollect.episodes.records import from_json
from recollect.lessons.duplicates import unite
from recollect.lessons.plan import plan, validate, vocabulary
from recollect.lessons.plan_rules import (
    Connect,
    Hide,
    Learn,
    LessonPlan,
    Merge,
    Promote,
    Reinforce,
)
from recollect.lessons.wording import workflow_procedure
from recollect.memory.lifecycle import mark_faded
from recollect.procedures.skills import from_skill_md, to_skill_md
from tests.builders.records import (
    DAY,
    EPISODE,
    NOW,
    endpoint_episodes,
    episode,
    error,
    kept,
    memory,
    of_kind,
)

law = settings(deadline=None, max_examples=120)

# ---------------------------------------------------------------- patterns


def test_five_variations_of_one_task_become_one_pattern_derived_from_them() -> None:
    told = [
        *endpoint_episodes(),
        episode("e-7", "implement user login"),
        episode("e-8", "create billing export"),
    ]
    found = plan(told, [], NOW)
    [learned] = found.steps
    assert isinstance(learned, Learn)
    assert learned.kind == "pattern"
    assert learned.sources == ("e-1", "e-2", "e-3", "e-4", "e-5")
    assert learned.confidence >= 0.8
    assert learned.examples == ("src/routes/", "tests/")
    assert (
        learned.detail["correct_approach"] == "work in src/routes/, tests/; check with `npm test`"
    )
    assert learned.detail["conditions"] == ["api", "endpoint"]
    assert "5 so far, 5 successful" in learned.text
    assert "5 similar tasks" in learned.reason
    validate(found, told, [])


def learned_kinds(found: LessonPlan) -> list[str]:
    return [step.kind for step in found.steps if isinstance(step, Learn)]


SAME_ERROR = (error("OSError", "the file is locked", "stop the worker"),)


def test_a_shared_keyword_makes_no_pattern() -> None:
    told = [
        episode("e-1", "implement user login", errors=SAME_ERROR),
        episode("e-2", "create billing export", errors=SAME_ERROR),
        episode("e-3", "implement user export", errors=SAME_ERROR),
        episode("e-4", "create login page", errors=SAME_ERROR),
    ]
    assert learned_kinds(plan(told, [], NOW)) == ["pitfall"]


def test_two_episodes_are_enough_and_one_is_not() -> None:
    assert len(plan(endpoint_episodes(2), [], NOW).steps) == 1
    assert plan(endpoint_episodes(1), [], NOW).steps == ()


def test_two_episodes_without_evidence_of_success_are_not_sure_enough() -> None:
    found = plan(endpoint_episodes(2, outcome="unknown"), [], NOW)
    assert found.steps == ()
    assert [left.sources for left in found.left_out] == [("e-1", "e-2")]
    assert "a confidence of only 0.66" in found.left_out[0].reason


def test_a_question_that_is_asked_again_and_again_is_no_way_of_working() -> None:
    asked = [
        episode(f"e-{at}", "what is this repository doing", outcome="unknown") for at in range(6)
    ]
    assert plan([one._replace(files=(), artifacts=()) for one in asked], [], NOW).steps == ()


def test_what_one_session_tells_five_times_counts_once() -> None:
    found = plan(endpoint_episodes(5, session="s-1"), [], NOW)
    assert found.steps == ()
    assert "a confidence of only 0.60" in found.left_out[0].reason


def test_a_known_pattern_gains_evidence_instead() -> None:
    told = endpoint_episodes()
    [learned] = plan(told[:3], [], NOW).steps
    assert isinstance(learned, Learn)
    known = kept("m-1", learned)
    found = plan(told, [known], NOW)
    [step] = found.steps
    assert isinstance(step, Reinforce)
    assert (step.memory, step.sources) == ("m-1", ("e-4", "e-5"))
    assert step.confidence > known.confidence
    validate(found, told, [known])


@pytest.mark.parametrize("status", ["active", "hidden"])
def test_a_lesson_that_faded_comes_back_when_it_is_needed_again(status: str) -> None:
    told = endpoint_episodes()
    [learned] = plan(told[:3], [], NOW).steps
    assert isinstance(learned, Learn)
    for before, revives in ((NOW - 1, True), (NOW, status == "active")):
        known = kept("m-1", learned)._replace(status=status, last_reinforced=before)
        known = known._replace(detail=mark_faded(known.detail, NOW))
        found = plan(told, [known], NOW)
        [step] = found.steps
        assert isinstance(step, Reinforce), "no twin"
        assert (step.memory, step.sources, step.revives) == ("m-1", ("e-4", "e-5"), revives)
        validate(found, told, [known])


def test_a_lesson_that_somebody_hid_does_not_come_back_and_gets_no_twin() -> None:
    told = endpoint_episodes()
    [learned] = plan(told[:3], [], NOW).steps
    assert isinstance(learned, Learn)
    found = plan(told, [kept("m-1", learned)._replace(status="hidden", last_reinforced=0)], NOW)
    assert found.steps == ()
    assert found.left_out[0].reason == "m-1 says so, and it was hidden"


def test_a_lesson_in_use_counts_before_one_that_faded() -> None:
    told = endpoint_episodes()
    [learned] = plan(told[:3], [], NOW).steps
    assert isinstance(learned, Learn)
    faded = kept("m-1", learned)._replace(status="hidden", last_reinforced=0)
    [step] = plan(told, [faded, kept("m-2", learned)], NOW).steps
    assert isinstance(step, Reinforce)
    assert step.memory == "m-2"


@pytest.mark.parametrize(("derived", "known"), [(2, True), (1, False)])
def test_half_of_its_tasks_are_enough_to_know_a_pattern_by(derived: int, known: bool) -> None:
    told = endpoint_episodes(4)
    [learned] = plan(told, [], NOW).steps
    assert isinstance(learned, Learn)
    sources = tuple(f"memory://{one.id}" for one in told[:derived])
    reworded = kept("m-1", learned)._replace(
        subject="zeppelin", text="A zeppelin", detail={}, examples=(), sources=sources,
        evidence=sources,
    )  # fmt: skip
    [step] = plan(told, [reworded], NOW).steps
    assert isinstance(step, Reinforce if known else Learn)


def test_a_pattern_that_somebody_wrote_gains_evidence_too() -> None:
    known = memory("m-1", "pattern", "API endpoints live in src/routes", subject="api endpoint")
    [step] = plan(endpoint_episodes(3), [known], NOW).steps
    assert isinstance(step, Reinforce)
    assert step.memory == "m-1"


def test_less_trusted_evidence_is_noted_but_makes_nothing_surer() -> None:
    known = memory("m-1", "pattern", "API endpoints live in src/routes", subject="api endpoint")
    [step] = plan(endpoint_episodes(3, label="tool"), [known], NOW).steps
    assert isinstance(step, Reinforce)
    assert step.confidence == known.confidence
    assert step.sources == ("e-1", "e-2", "e-3")


def test_what_was_derived_too_often_is_derived_from_no_more() -> None:
    told = [one._replace(extra={"depth": 2}) for one in endpoint_episodes()]
    found = plan(told, [], NOW)
    assert found.steps == ()
    assert {left.reason for left in found.left_out} == {"2 derivations away from a session"}


def test_the_meaning_may_be_told_by_vectors_or_by_a_function() -> None:
    told = [
        episode("e-1", "delete stale branches", errors=SAME_ERROR),
        episode("e-2", "prune old refs", errors=SAME_ERROR),
        episode("e-3", "dark theme"),
    ]
    near, far = bytes([228] * 8 + [128] * 8), bytes([128] * 8 + [228] * 8)
    words = vocabulary(told)
    vectors = {stem: far if word in ("dark", "theme") else near for stem, word in words.items()}
    assert learned_kinds(plan(told, [], NOW)) == ["pitfall"]
    steps = plan(told, [], NOW, vectors=vectors).steps
    [learned] = [step for step in steps if getattr(step, "kind", "") == "pattern"]
    assert isinstance(learned, Learn)
    assert learned.sources == ("e-1", "e-2")


def test_commands_before_a_commit_are_a_skill_that_reads_back() -> None:
    skill = workflow_procedure(["make fmt", "make test"], ["format", "test"], 3)
    assert skill.name == "before-commit-format-test"
    assert skill.steps == ("Run `make fmt`", "Run `make test`")
    assert skill.exit_criteria == ("`make fmt` passes", "`make test` passes")
    assert from_skill_md(to_skill_md(skill)) == skill


# ---------------------------------------------------------------- pitfalls


def test_a_resolved_error_becomes_a_pitfall_that_says_what_fails_why_and_what_helps() -> None:
    first = from_json(EPISODE, "agent")
    [learned] = plan([first, first._replace(id="e-2", task_id="other", goal="x")], [], NOW).steps
    assert isinstance(learned, Learn)
    assert learned.kind == "pitfall"
    assert learned.detail == {
        "what_fails": "TypeScript compilation",
        "why": "Missing return type annotation",
        "prevention": "Added explicit :void to route handler",
        "source": ["e-2", "ep-2026-01-06-001"],
        "count": 2,
        "depth": 1,
    }
    assert learned.text == (
        "TypeScript compilation: Missing return type annotation. "
        "What helped: Added explicit :void to route handler."
    )


def test_an_error_that_was_never_resolved_becomes_nothing() -> None:
    told = [episode("e-1", "fix it", errors=(error("lint", "x is unused"),))]
    assert plan(told, [], NOW) == LessonPlan()


def test_the_same_error_in_another_place_is_the_same_pitfall() -> None:
    told = [
        episode(
            "e-1",
            "a",
            errors=(error("usage", "src/a.py:7: unknown flag --fast", "ran it without --fast"),),
        ),
        episode(
            "e-2",
            "b",
            errors=(error("usage", "lib/b.py:31: unknown flag --fast", "ran it without --fast"),),
        ),
    ]
    [learned] = plan(told, [], NOW).steps
    assert isinstance(learned, Learn)
    assert (learned.sources, learned.detail["count"]) == (("e-1", "e-2"), 2)


def test_vague_messages_are_told_apart_by_the_files_that_were_fixed() -> None:
    vague = "AssertionError: expected values to be equal"
    told = [
        episode("e-1", "a", errors=(error("AssertionError", vague, "edited cart.ts"),)),
        episode("e-2", "b", errors=(error("AssertionError", vague, "edited login.ts"),)),
        episode("e-3", "c", errors=(error("AssertionError", vague, "edited cart.ts"),)),
        episode("e-4", "d", errors=(error("AssertionError", vague, "edited login.ts"),)),
    ]
    assert len(plan(told, [], NOW).steps) == 2


def test_an_error_is_a_pitfall_only_when_two_sessions_saw_it() -> None:
    slip = error("edit mismatch", "String to replace not found in file.", "read it again")
    once = plan([episode("e-1", "a", errors=(slip,))], [], NOW)
    assert once.steps == ()
    assert once.left_out[0].reason == "an error (edit mismatch) seen in one session"
    first, other = (episode(id, id, errors=(slip,)) for id in ("e-1", "e-2"))
    same = [one._replace(session="s-1") for one in (first, other)]
    assert plan(same, [], NOW).steps == ()
    assert len(plan([first, other], [], NOW).steps) == 1


# ---------------------------------------------------------------- memories among themselves


def test_duplicates_are_merged_into_the_most_confident_with_all_sources_and_counts() -> None:
    one = memory(
        "m-1",
        "pattern",
        "Express handlers need explicit return types",
        confidence=0.7,
        sources=("e-1",),
        evidence=("e-1",),
        reinforcement=2,
        successes=1,
        examples=("a.ts",),
    )
    two = memory(
        "m-2",
        "pattern",
        "Express route handlers need explicit return types",
        confidence=0.95,
        sources=("e-2",),
        evidence=("e-2",),
        reinforcement=3,
        failures=2,
        examples=("b.ts",),
    )
    found = plan([], [one, two], NOW)
    assert found.steps == (Merge("m-2", ("m-1",), "2 memories say the same"),)
    validate(found, [], [one, two])
    assert unite([two, one]) == two._replace(
        sources=("e-2", "e-1"),
        evidence=("e-2", "e-1"),
        examples=("b.ts", "a.ts"),
        reinforcement=5,
        successes=1,
        failures=2,
    )
    assert unite([one, two]).confidence == 0.95


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "The service runs on PostgreSQL 14 in production",
            "The service runs on PostgreSQL 16 in production",
        ),
        (
            "Deploy the billing service with helm to the staging cluster every night",
            "Deploy the billing service with argo to the staging cluster every night",
        ),
        ("Always run the tests before a push to main", "Never run the tests before a push to main"),
        ("Requests time out after 30 seconds", "Requests time out after 30 seconds on port 8080"),
        ("Use tabs, not spaces", "Use spaces, not tabs"),
        (
            "The nightly job restores the staging database from the newest snapshot and runs the smoke tests",
            "The nightly job restores the staging database from the newest snapshot and runs the smoke tests at 3",
        ),
    ],
)
def test_another_value_is_never_swallowed_as_a_duplicate(one: str, other: str) -> None:
    assert of_kind(plan([], [memory("m-1", text=one), memory("m-2", text=other)], NOW), Merge) == []


def test_a_memory_that_gains_evidence_is_not_merged_in_the_same_plan() -> None:
    texts = (
        "API endpoints live in the folder src/routes",
        "API endpoints live in the folder `src/routes`",
    )
    known = [
        memory(f"m-{at}", "pattern", text, subject="api endpoint") for at, text in enumerate(texts)
    ]
    assert len(of_kind(plan([], known, NOW), Merge)) == 1
    found = plan(endpoint_episodes(), known, NOW)
    assert [type(step) for step in found.steps] == [Reinforce]
    validate(found, endpoint_episodes(), known)


@pytest.mark.parametrize(
    "difference",
    [
        {"label": "tool"},
        {"layer": "user"},
        {"owner": "t-1"},
        {"scope": ("src/**",)},
        {"kind": "solution"},
    ],
)
def test_only_memories_of_one_kind_place_and_label_are_merged(difference: dict[str, Any]) -> None:
    text = "The test command is `npm test`"
    given_ = [memory("m-1", text=text), memory(**{"id": "m-2", "text": text.upper(), **difference})]
    assert of_kind(plan([], given_, NOW), Merge) == []


def test_a_note_of_two_sessions_is_promoted_once() -> None:
    text = "The staging database is restored every night"
    notes = [
        memory(f"m-{at}", text=text, layer="session", owner=f"s-{at}", sources=(f"x-{at}",))
        for at in (1, 2)
    ]
    found = plan([], notes, NOW)
    assert found.steps == (Promote("m-1", "project", ("m-2",), "noted in 2 sessions or tasks"),)
    validate(found, [], notes)
    known = memory("m-3", text=text)
    assert of_kind(plan([], [*notes, known], NOW), Promote) == []
    assert of_kind(plan([], notes[:1], NOW), Promote) == []


def test_opposites_are_linked_once() -> None:
    given_ = [
        memory("m-1", "preference", "Always use tabs"),
        memory("m-2", "preference", "Never use tabs"),
    ]
    [step] = plan([], given_, NOW).steps
    assert step == Connect("m-1", "m-2", "they say the opposite")
    assert plan([], given_, NOW, links=[("m-2", "contradicts", "memory://m-1")]).steps == ()


def test_what_has_faded_is_hidden_and_policies_are_not() -> None:
    old = NOW - 400 * DAY
    given_ = [
        memory("m-1", text="old", last_reinforced=old),
        memory("m-2", "policy", "rule", last_reinforced=old),
    ]
    [step] = plan([], given_, NOW).steps
    assert step == Hide("m-1", "strength 0.04 is below 0.1")


def test_what_is_not_in_use_is_left_alone() -> None:
    given_ = [
        memory("m-1", text="Use tabs", status="superseded"),
        memory("m-2", text="use tabs", valid_to=NOW),
    ]
    assert plan([], given_, NOW) == LessonPlan()
