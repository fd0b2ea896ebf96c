"""Decay, archiving, pruning and feedback, as laws."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.memory.lifecycle import (
    DAY,
    LEAST_USEFUL,
    MOST_USEFUL,
    WEAK,
    Hiding,
    compute_strength,
    find_weak,
    is_weak,
    plan_pruning,
    rate_usefulness,
)
from recollect.types.records import KINDS, Memory
from tests.builders import records

NOW = 1_790_000_000_000_000
law = settings(deadline=None, max_examples=200)
kinds = st.sampled_from(sorted(KINDS))
decaying = st.sampled_from(sorted(set(KINDS) - {"policy"}))
counts = st.integers(0, 1_000)


def memory(id: str = "m-1", kind: str = "fact", days: float = 0, **fields: object) -> Memory:
    """A memory that was last reinforced so many days ago."""
    return records.memory(id, kind, **{**records.times(NOW - round(days * DAY)), **fields})


@law
@given(decaying, st.floats(0, 2_000), st.integers(1, 50))
def test_ninety_days_are_exactly_one_half(kind: str, days: float, count: int) -> None:
    one = memory(kind=kind, days=days, reinforcement=count)
    later = compute_strength(one, NOW + 90 * DAY)
    assert later == pytest.approx(compute_strength(one, NOW) / 2, rel=1e-12)


@pytest.mark.parametrize("kind", sorted(set(KINDS) - {"policy"}))
def test_a_new_memory_is_as_strong_as_its_kind(kind: str) -> None:
    assert compute_strength(memory(kind=kind), NOW) == KINDS[kind].weight
    assert compute_strength(memory(kind=kind, days=90), NOW) == KINDS[kind].weight / 2
    assert compute_strength(memory(kind=kind, reinforcement=4), NOW) == KINDS[kind].weight * 4


@law
@given(st.floats(0, 10_000), st.floats(0, 10_000), decaying)
def test_strength_only_falls_with_time(one: float, other: float, kind: str) -> None:
    young, old = sorted((one, other))
    assert compute_strength(memory(kind=kind, days=young), NOW) >= compute_strength(
        memory(kind=kind, days=old), NOW
    )


def test_a_policy_does_not_decay() -> None:
    assert compute_strength(memory(kind="policy", days=5_000), NOW) == KINDS["policy"].weight
    assert not is_weak(memory(kind="policy", days=5_000), NOW)


def test_a_recall_counts_but_does_not_reset_the_clock() -> None:
    recalled = memory(days=400, recalls=1, last_recalled=NOW)
    assert compute_strength(recalled, NOW) == 2 * compute_strength(memory(days=400), NOW)
    assert compute_strength(recalled, NOW) < compute_strength(memory(days=0), NOW)
    assert is_weak(recalled, NOW)


@law
@given(kinds, st.floats(0, 3_000), st.integers(1, 20))
def test_weak_is_what_lies_below_a_tenth(kind: str, days: float, count: int) -> None:
    one = memory(kind=kind, days=days, reinforcement=count)
    assert is_weak(one, NOW) == (kind != "policy" and compute_strength(one, NOW) < WEAK)


def test_the_weak_are_hidden_weakest_first_and_only_while_in_use() -> None:
    # A fact falls from 0.9 to below 0.1 after 286 days.
    store = [
        memory("a", days=285),
        memory("b", days=287),
        memory("c", days=400),
        memory("d", days=400, status="hidden"),
        memory("e", days=400, status="superseded", valid_to=NOW),
        memory("f", days=400, reinforcement=20),
    ]
    assert [item.id for item in find_weak(store, NOW)] == ["c", "b"]
    assert find_weak(store, NOW)[1].reason == "strength 0.10 is below 0.1"


def test_a_note_from_a_tool_lasts_thirty_days_however_often_it_is_said_again() -> None:
    def seen(id: str, ago: float, **fields: Any) -> Memory:
        return memory(id, first_seen=NOW - round(ago * DAY), label="tool", **fields)

    store = [
        seen("a", 30),
        seen("b", 30.1),
        seen("repeated", 31, reinforcement=50, origin="tool"),
        seen("found-again", 400, origin="system", days=29),
        seen("not-found-again", 400, origin="system", days=31),
        seen("user", 400)._replace(label="user"),
        seen("agent", 400)._replace(label="agent"),
    ]
    assert [item.id for item in find_weak(store, NOW)] == ["b", "not-found-again", "repeated"]
    assert {item.reason for item in plan_pruning(store, NOW)} == {
        "a note from a tool, older than 30 days"
    }


def test_pruning_takes_the_old_and_the_doubtful_and_says_why() -> None:
    store = [
        memory("young", days=89),
        memory("old", days=91),
        memory("edge", days=90),
        memory("doubtful", days=1, confidence=0.29),
        memory("enough", days=1, confidence=0.3),
        memory("both", days=200, confidence=0.1),
    ]
    texts = {item.id: item.text for item in store}
    assert plan_pruning(store, NOW) == [
        Hiding(id, reason, texts[id])
        for id, reason in (
            ("both", "not reinforced for 200 days, more than 90; confidence 0.10 is below 0.3"),
            ("old", "not reinforced for 91 days, more than 90"),
            ("doubtful", "confidence 0.29 is below 0.3"),
        )
    ]


def test_a_policy_is_never_pruned_by_age_but_by_doubt() -> None:
    old = memory("p", kind="policy", days=5_000)
    assert plan_pruning([old], NOW) == []
    assert [item.id for item in plan_pruning([old._replace(confidence=0.1)], NOW)] == ["p"]


def test_a_confirmation_makes_a_memory_young_again() -> None:
    assert plan_pruning([memory("m", days=200, last_confirmed=NOW - DAY)], NOW) == []


def test_what_is_not_in_use_is_not_pruned_again() -> None:
    for status in ("hidden", "superseded", "quarantined"):
        assert plan_pruning([memory("m", days=200, status=status)], NOW) == []
    assert plan_pruning([memory("m", days=200, valid_to=NOW)], NOW) == []


@pytest.mark.parametrize(
    ("limits", "where"),
    [
        ({"max_age_days": 0}, "max_age_days"),
        ({"max_age_days": -1}, "max_age_days"),
        ({"min_confidence": 1.1}, "min_confidence"),
        ({"min_confidence": -0.1}, "min_confidence"),
    ],
)
def test_impossible_limits_are_errors(limits: dict[str, float], where: str) -> None:
    with pytest.raises(InvalidInput) as caught:
        plan_pruning([], NOW, **limits)
    assert caught.value.where == where


def test_no_feedback_changes_nothing() -> None:
    assert rate_usefulness(0, 0, 0) == 1.0


@law
@given(counts, counts, counts)
def test_feedback_is_bounded_and_moves_the_right_way(helped: int, wrong: int, stale: int) -> None:
    factor = rate_usefulness(helped, wrong, stale)
    assert LEAST_USEFUL < factor < MOST_USEFUL
    assert rate_usefulness(helped + 1, wrong, stale) > factor
    assert rate_usefulness(helped, wrong + 1, stale) < factor
    assert rate_usefulness(helped, wrong, stale + 1) > rate_usefulness(helped, wrong + 1, stale)
