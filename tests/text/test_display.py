"""How values look outside: nothing obeys, nothing hides, and JSON stays JSON."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.text import display

HIDING = "\x1b\x07\x7f\x9b\u202e\u2066\u200b\u2028\ufeff\U000e0041\ud800"


def test_nothing_that_steers_a_terminal_is_printed() -> None:
    shown = display.escape_invisible(f"a{HIDING}b\nc\td")
    assert shown.isascii()
    assert shown.startswith("a\\u{1b}")
    assert shown.endswith("b\nc\td")
    assert display.escape_invisible(shown) == shown


@given(st.text(st.characters(codec=None)))
def test_json_hides_nothing_and_means_the_same(text: str) -> None:
    shown = display.format_json({"text": text})
    assert not any(character in shown for character in HIDING)
    assert json.loads(shown)["text"] == json.loads(json.dumps(text))


def test_json_keeps_the_letters_of_every_language() -> None:
    assert "größe 名前" in display.format_json(["größe 名前"])


@pytest.mark.parametrize(
    ("text", "width", "shown"),
    [
        ("hello", 5, "hello"),
        ("hello!", 5, "hell…"),
        ("名前名前", 8, "名前名前"),
        ("名前名前x", 8, "名前名…"),
        ("a\nb", 0, "a b"),
    ],
)
def test_a_line_is_cut_by_the_columns_that_it_takes(text: str, width: int, shown: str) -> None:
    assert display.format_line(text, width) == shown


@given(st.text(st.sampled_from("ab名前é")), st.integers(2, 12))
def test_no_line_is_wider_than_asked(text: str, width: int) -> None:
    assert display.cell_width(display.format_line(text, width)) <= width


def test_one_of_something_is_named_in_the_singular() -> None:
    assert display.format_count(1, "message") == "1 message"
    assert display.format_count(0, "message") == "0 messages"
    assert display.format_count(2, "memory", "memories") == "2 memories"
