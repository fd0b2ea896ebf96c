"""The plain mode of session search: exact scores, and nothing for nonsense."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall.steps_session_search import make_preview, score_message


@pytest.mark.parametrize(
    ("query", "text", "title", "expected"),
    [
        ("worktree", "the worktree implementation", "", 3 + 1),
        ("atomic writes", "We use Atomic  Writes here.", "", 3 + 2 + 1.5),
        ("atomic writes", "writes are atomic", "", 2 + 1.5),
        ("atomic file writes here", "atomic writes", "", 2),
        (
            "one two three four five six seven eight nine ten",
            "one two three four five six seven",
            "",
            7 + 1.5,
        ),
        ("atomic writes", "writes are atomic", "Atomic session files", 2 + 1.5 + 0.5),
        ("refresh", "token_refresh fails", "", 3 + 1),
        ("認証", "トークンの認証を直す", "", 3 + 1),
        ("same same", "the same", "", 1),
    ],
)
def test_the_numbers_are_exact(query: str, text: str, title: str, expected: float) -> None:
    assert score_message(query, text, title) == expected


def test_a_nonsense_query_scores_nothing() -> None:
    text = "The authentication refactor keeps the tokens in memory."
    for query in ("qzxv", "flurbl grobnitz", "", "   ", "?!", "()"):
        assert score_message(query, text, "flurbl") == 0.0


def test_a_title_alone_scores_nothing() -> None:
    assert score_message("router", "nothing of the kind", "router work") == 0.0


def test_a_part_of_a_word_is_not_the_word() -> None:
    assert score_message("cat", "concatenate the categories") == 0.0


def test_a_query_is_never_read_as_a_pattern() -> None:
    assert score_message("a.c", "abc") == 0.0
    assert score_message("f(x", "the call f(x) fails") == 3 + 2 + 1.5


def test_a_preview_shows_the_match_and_says_where_it_was_cut() -> None:
    text = "start " + "filler " * 300 + "the NEEDLE stands here " + "filler " * 300
    shown = make_preview(text, "needle")
    assert "NEEDLE" in shown
    assert shown.startswith("…filler") and shown.endswith("filler…")
    assert 500 <= len(shown) <= 602


def test_a_short_text_is_shown_whole() -> None:
    assert make_preview("just this", "this") == "just this"


@given(st.text(max_size=2_000), st.text(max_size=20), st.integers(100, 700))
def test_a_preview_is_never_longer_than_asked_and_nothing_ever_breaks(
    text: str, query: str, about: int
) -> None:
    assert len(make_preview(text, query, about)) <= about + 2
    assert score_message(query, text, query) >= 0.0
