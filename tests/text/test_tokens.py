"""What a prompt costs: the estimate, what it learns, and the exact counter in its place."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.text.tokens import (
    count_message,
    count_prompt,
    count_text,
    estimate_tokens,
    learn_ratio,
)
from recollect.types.records import Message, ToolCall


def test_the_estimate_starts_at_two_and_a_half_characters_and_rounds_up() -> None:
    assert [estimate_tokens(chars) for chars in (0, 1, 5, 6)] == [0, 1, 2, 3]


def test_a_message_costs_its_text_and_its_overheads() -> None:
    assert count_message(Message("user", "x" * 10)) == 3 + 4
    assert count_message(Message("user", "x" * 10, name="a")) == 3 + 1 + 4
    assert count_message(Message("tool", "x" * 10, call_id="c")) == 3 + 1 + 4
    calling = Message("assistant", "", (ToolCall("c", "Read", '{"a":1}'), ToolCall("d", "Read")))
    assert count_message(calling) == 3 + 2 * 10 + math.ceil((4 + 7 + 4 + 2) / 2.5)


def test_a_prompt_costs_its_messages_and_the_priming() -> None:
    assert count_prompt([]) == 3
    assert count_prompt([Message("user", "x" * 10), Message("assistant", "x" * 5)]) == 3 + 7 + 5


def test_an_exact_counter_replaces_the_estimate_but_not_the_overheads() -> None:
    def words(text: str) -> int:
        return len(text.split())

    assert count_text("one two three", words) == 3
    assert count_message(Message("tool", "one two three", call_id="c"), words) == 3 + 1 + 3


def test_sealed_reasoning_costs_what_is_sent() -> None:
    sealed = {"type": "reasoning", "text": "", "rest": {"anthropic": {"data": "z" * 1000}}}
    assert count_message(Message("assistant", (sealed,))) > 400


def test_the_ratio_moves_a_fifth_of_the_way_to_what_was_observed() -> None:
    assert learn_ratio(2.5, chars=400, tokens=100) == pytest.approx(0.8 * 2.5 + 0.2 * 4.0)


def test_a_response_without_usage_teaches_nothing() -> None:
    assert learn_ratio(2.5, chars=0, tokens=10) == 2.5
    assert learn_ratio(2.5, chars=10, tokens=0) == 2.5


@given(st.floats(1.5, 5.0), st.integers(1, 10**7), st.integers(1, 10**7))
def test_the_ratio_never_leaves_its_bounds(old: float, chars: int, tokens: int) -> None:
    assert 1.5 <= learn_ratio(old, chars, tokens) <= 5.0


@given(st.floats(1.5, 5.0), st.floats(1.5, 5.0))
def test_the_ratio_settles_on_what_a_model_really_does(start: float, real: float) -> None:
    ratio = start
    for _ in range(60):
        ratio = learn_ratio(ratio, chars=round(real * 10**6), tokens=10**6)
    assert ratio == pytest.approx(real, abs=0.01)


@given(st.integers(0, 10**6), st.floats(1.5, 5.0))
def test_an_estimate_is_never_below_the_exact_quotient(chars: int, ratio: float) -> None:
    assert chars / ratio <= estimate_tokens(chars, ratio) < chars / ratio + 1


def test_a_ratio_of_nothing_is_refused() -> None:
    for ratio in (0.0, -1.0, math.nan):
        with pytest.raises(InvalidInput):
            estimate_tokens(10, ratio)
