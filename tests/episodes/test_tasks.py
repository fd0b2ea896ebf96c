"""Which phase a goal is in, and what the phase makes of what was found."""

from __future__ import annotations

from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.episodes.tasks import (
    DEFAULT,
    WEIGHTS,
    TaskMatch,
    Weights,
    blend,
    choose_phase,
    phase_of,
)
from recollect.errors import InvalidInput

law = settings(deadline=None, max_examples=200)
founds = st.builds(
    TaskMatch,
    st.text("abc", min_size=1, max_size=3),
    st.sampled_from(Weights._fields),
    st.floats(0, 1),
)


@pytest.mark.parametrize(
    ("goal", "phase"),
    [
        ("Implement POST /api/todos", "implementation"),
        ("Add a --json flag to the list command", "implementation"),
        ("Write the importer for Codex rollouts", "implementation"),
        ("Fix the login redirect", "debugging"),
        ("Why does the importer crash on empty files?", "debugging"),
        ("The nightly build fails with a traceback", "debugging"),
        ("Debug the flaky session test", "debugging"),
        ("Review the pull request of the parser", "review"),
        ("Audit error handling in the payment module", "review"),
        ("Refactor the store into two modules", "refactoring"),
        ("Rename Manager to Store everywhere", "refactoring"),
        ("Simplify and deduplicate the parsers", "refactoring"),
        ("Explore how sessions are stored", "exploration"),
        ("Where is the token budget decided?", "exploration"),
        ("Investigate the options for a queue", "exploration"),
        ("", DEFAULT),
        ("todos", DEFAULT),
        ("12345 !?", DEFAULT),
    ],
)
def test_a_goal_is_in_the_phase_its_words_speak_of(goal: str, phase: str) -> None:
    assert phase_of(goal) == phase


@pytest.mark.parametrize(
    "goal", ["Show the address book", "Prefix the names", "Previewer", "Terrorem ipsum", "Bugatti"]
)
def test_a_part_of_a_word_is_no_sign(goal: str) -> None:
    assert phase_of(goal) == DEFAULT


def test_a_named_phase_wins_over_the_words() -> None:
    assert choose_phase("review", "Fix the crash") == "review"
    assert choose_phase("", "Fix the crash") == "debugging"


def test_an_unknown_phase_is_an_error_that_names_the_phases() -> None:
    with pytest.raises(InvalidInput, match="exploration, implementation") as caught:
        choose_phase("coding")
    assert caught.value.where == "phase"


def test_the_default_weighs_knowledge_before_history_before_skills() -> None:
    assert WEIGHTS[DEFAULT] == (0.5, 0.3, 0.2)


@pytest.mark.parametrize("phase", WEIGHTS)
def test_weights_add_up_to_one(phase: str) -> None:
    assert sum(WEIGHTS[phase]) == pytest.approx(1)


def test_equal_matches_are_ordered_by_the_phase() -> None:
    found = [TaskMatch(source, source, 0.8) for source in ("skills", "episodic", "semantic")]
    assert [one.id for one in blend(found)] == ["semantic", "episodic", "skills"]
    assert [one.id for one in blend(found, "debugging")] == ["episodic", "semantic", "skills"]
    assert [one.id for one in blend(found, "refactoring")][1] == "skills"


def test_of_equal_episodes_the_successful_one_comes_first() -> None:
    outcomes = ("failure", "unknown", "success", "partial")
    found = [TaskMatch(outcome, "episodic", 0.8, outcome) for outcome in outcomes]
    assert [one.id for one in blend(found)] == ["success", "partial", "unknown", "failure"]


@law
@given(st.lists(founds), st.sampled_from(sorted(WEIGHTS)), st.randoms())
def test_the_order_does_not_depend_on_the_order_found(
    found: list[TaskMatch], phase: str, random: Random
) -> None:
    blended = blend(found, phase)
    shuffled = list(found)
    random.shuffle(shuffled)
    again = blend(shuffled, phase)
    assert [one.id for one in again] == [one.id for one in blended]
