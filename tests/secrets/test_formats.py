"""The tables of token formats: prefixes are found, and ids are not mistaken for secrets."""

from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.secrets import formats
from recollect.secrets.search import find_secrets
from tests.builders.secret_samples import ALNUM, TOKENS, fake

law = settings(deadline=None, max_examples=300)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("around", ["{}", "x = '{}'", "\\n{}", "é{}", "a/{}?b", "<{}>"])
def test_every_kind_of_token_is_found_after_other_words(token: str, around: str) -> None:
    text = "some words before it that are not a secret at all. "
    assert find_secrets(text + around.format(token))


@pytest.mark.parametrize(
    "text",
    [
        "le mot de passe est Ete2024!x",
        "whsec" + "_a+" + fake(ALNUM, 40),
        "gl" + "c_Zx/" + fake(ALNUM, 60),
        "ATATT" + "3x=" + fake(ALNUM, 80),
    ],
)
def test_a_secret_with_a_sign_or_a_space_inside_is_found(text: str) -> None:
    assert find_secrets(f"some words before it. {text}")


def test_every_prefix_is_found_at_the_beginning_of_a_word() -> None:
    for prefix, type_, body in formats.token_prefixes():
        for run in (prefix + "x" * 20, f"a-{prefix}{'1' * 20}", f"say\\n{prefix}{'f' * 20}"):
            assert (prefix, type_, body) in formats.find_prefixes(run), prefix


@law
@given(st.lists(st.sampled_from([*TOKENS.values(), "_", "-", "\\n", "é", " ", "A"]), max_size=6))
def test_no_prefix_that_begins_a_word_is_overlooked(parts: list[str]) -> None:
    runs = "".join(parts)
    begun = [
        prefix
        for prefix in formats.token_prefixes()
        if re.search(rf"(?a)(?:(?<![^\W_])|(?<=\\[nrt])){re.escape(prefix[0])}", runs)
    ]
    assert set(begun) <= set(formats.find_prefixes(runs))


@law
@given(st.from_regex(formats.id_pattern(), fullmatch=True))
def test_what_is_passed_over_as_an_id_holds_no_secret(text: str) -> None:
    assert find_secrets(text) == []


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_is_no_id_whatever_stands_before_it(token: str) -> None:
    uuid = "019ed836-b1da-78f1-8a0c-e598363d10f4"
    for id in (token, f"call_{token}", f"{uuid}/{token}", f"codex.{uuid}:call:call_{token}"):
        assert not formats.id_pattern().fullmatch(id) or not find_secrets(id)
