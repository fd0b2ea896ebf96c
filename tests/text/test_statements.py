"""Skimming a statement gives the same words as reading it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text.statements import (
    content_words,
    differ_in_much,
    read_signs,
    skim_signs,
    skim_stems,
)

WORDS = (
    *("the", "Uses", "not", "forbidden", "port", "8080,", "so", "that", "but", "but-first", "(was"),
    *("-", " - ", "–", "\n- ", "don't", "it’s", "from now on", "any more", "`npm`", "foo."),
)
pieces = st.sampled_from(WORDS)
texts = st.lists(pieces, max_size=9).map(" ".join)


@settings(deadline=None, max_examples=200)
@given(texts, texts)
def test_a_skimmed_statement_has_the_words_of_a_read_one(subject: str, text: str) -> None:
    stems = skim_stems(text)
    assert stems is None or list(stems) == [word.stem for word in content_words(text)]
    names = skim_signs((subject, text))
    assert names is None or names == set(read_signs((subject, text)))


@pytest.mark.parametrize(
    ("before", "after", "much"),
    [
        ("The API listens on port 80", "The API listens on port 90", False),
        ("Use 3 workers here and 4 there", "Use 5 workers here and 6 there", False),
        ("a b c d e f g", "h b c d e f i", True),
        ("build test deploy", "build test deploy and then wait for the slow smoke check", True),
    ],
)
def test_texts_that_differ_in_much_are_not_read(before: str, after: str, much: bool) -> None:
    assert differ_in_much(before, after, 4) is much
