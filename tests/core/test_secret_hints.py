"""Hints are found in one pass as they are one by one, and issuers by the words of long runs."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.core import secret_formats as formats
from recollect.core.secret_hints import Hints, all_of
from recollect.core.secret_search import HINTS

from .secret_samples import TOKENS

hints = sorted(HINTS)
pieces = st.one_of(
    st.sampled_from(hints),
    st.tuples(st.sampled_from(hints), st.integers(0, 12)).map(lambda cut: cut[0][cut[1] :]),
    st.tuples(st.sampled_from(hints), st.integers(0, 12)).map(lambda cut: cut[0][: cut[1]]),
    st.binary(max_size=6),
)
law = settings(deadline=None, max_examples=300)


@law
@given(st.lists(pieces, max_size=12).map(b"".join))
def test_one_pass_finds_each_hint_wherever_it_stands(text: bytes) -> None:
    apart = {hint: list(all_of(text, hint)) for hint in hints if hint in text}
    assert Hints(hints).places_in_one_pass(text) == apart
    assert Hints(hints).places(text) == apart


@pytest.mark.parametrize("text", [b"psexecred", b"kind://", b":5432://", b"hookey", b"tokennwort"])
def test_hints_that_share_letters_are_all_found(text: bytes) -> None:
    found = Hints(hints).places_in_one_pass(text)
    assert set(found) == {hint for hint in hints if hint in text}


def test_a_lot_of_text_is_searched_in_one_pass_with_the_same_result() -> None:
    text = b"a password = token of the key\n" * 3_000
    once = Hints(hints)
    assert once.places(text) == once.places(text) == Hints(hints).places_in_one_pass(text)


def test_every_prefix_is_found_at_the_beginning_of_a_word() -> None:
    for prefix, type_, body in formats.prefixes():
        for run in (prefix + "x" * 20, f"a-{prefix}{'1' * 20}", f"say\\n{prefix}{'f' * 20}"):
            assert (prefix, type_, body) in formats.prefixes_in(run), prefix


@law
@given(st.lists(st.sampled_from([*TOKENS.values(), "_", "-", "\\n", "é", " ", "A"]), max_size=6))
def test_no_prefix_that_begins_a_word_is_overlooked(parts: list[str]) -> None:
    runs = "".join(parts)
    begun = [
        prefix
        for prefix in formats.prefixes()
        if re.search(rf"(?a)(?:(?<![^\W_])|(?<=\\[nrt])){re.escape(prefix[0])}", runs)
    ]
    assert set(begun) <= set(formats.prefixes_in(runs))
