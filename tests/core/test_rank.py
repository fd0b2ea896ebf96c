"""What a score says: the words decide, in a small store as in a large one."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from recollect.core import rank

MATCHES = st.floats(0, 100)


def test_a_whole_match_in_a_store_of_one_entry_scores_a_half() -> None:
    rarity = 1e-6
    assert rank.words_score(3 * rarity * rank.scale(1, [1, 1, 1])) == 0.5


def test_a_match_of_one_word_in_four_scores_little_in_a_small_store() -> None:
    rarity = 1e-6
    assert rank.words_score(rarity * rank.scale(1, [1, 0, 0, 0])) < 0.1


def test_a_store_whose_words_are_rare_is_left_as_it_is() -> None:
    assert rank.scale(100_000, [10, 20]) == 1.0


@given(MATCHES, MATCHES, st.integers(0, 10_000), st.lists(st.integers(0, 10_000), max_size=5))
def test_scaling_never_changes_which_match_is_better(
    one: float, other: float, total: int, counts: list[int]
) -> None:
    scale = rank.scale(total, [min(count, total) for count in counts])
    better = rank.words_score(one * scale) - rank.words_score(other * scale)
    assert better == 0 or (better > 0) == (one > other)


@given(MATCHES, st.integers(0, 10_000), st.lists(st.integers(0, 10_000), max_size=5))
def test_a_score_lies_between_nothing_and_one(match: float, total: int, counts: list[int]) -> None:
    scale = rank.scale(total, [min(count, total) for count in counts])
    assert 0 <= rank.words_score(match * scale) <= 1
