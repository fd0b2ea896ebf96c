"""A glance sees the stems that the index takes, and overlooks no secret that a close look finds."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from time import process_time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.secrets import formats, word_scan
from recollect.secrets.search import find_secrets
from recollect.text import terms
from tests.builders.secret_samples import ALNUM, TOKENS, fake

law = settings(deadline=None, max_examples=300)
pieces = st.one_of(
    st.sampled_from(sorted(word_scan.HINTS)),
    st.sampled_from([*TOKENS.values()]),
    st.sampled_from([prefix for prefix, _, _ in formats.token_prefixes()]),
    st.sampled_from(['password="hunter42x"', "api$key_value='aB3dE5fG7hJ9kL1mN3'", "max$token"]),
    st.sampled_from(["token$x_login=aB3dE5fG7hJ9kL1mN3", "public_", "sonar", "login", "1//0"]),
    st.sampled_from(["AbCdEfGhIj1234567890KlMnOpQrStUvWxYz", "A", "0", "//", "kind: Secret", "--"]),
    st.sampled_from(["le mot de passe est Ete2024!x", "access_token$sandbox$", "+", "/", "%"]),
    st.sampled_from([*"'\"`=:|~$.-_ \n\u200b\u00adé", "\\n", "\\t", "東京"]),
    st.text(max_size=8),
)


@pytest.fixture(autouse=True)
def _cold_again() -> Iterator[None]:
    before = word_scan._left
    yield
    word_scan._left = before
    word_scan._recent.clear()


def closely(text: str) -> list[tuple[int, int, str]]:
    word_scan._left = 10**9
    return find_secrets(text)


def after_a_glance(text: str) -> list[tuple[int, int, str]]:
    word_scan._left = 0
    return find_secrets(text)


@law
@given(st.lists(pieces, max_size=8).map("".join))
def test_what_a_close_look_finds_is_found_after_a_glance(text: str) -> None:
    for given_ in (text, json.dumps(text)):
        padded = given_ + " and other words that say nothing" * 4
        assert after_a_glance(padded) == closely(padded)


@law
@given(st.lists(pieces, max_size=8).map("".join))
def test_the_stems_of_a_glance_are_those_of_the_index(text: str) -> None:
    assert word_scan.look(text).stems == terms.stem_text(text)


@law
@given(st.lists(pieces, max_size=8).map("".join))
def test_a_word_leaves_its_clues_whether_it_was_seen_before_or_not(text: str) -> None:
    words = [word.decode("utf-8", "replace") for word in terms.words_of(text)]
    clues = {clue for word in words for clue in word_scan.clues_of(word)}
    word_scan._MARKED.clear()
    assert word_scan.look(text).clues == word_scan.look(text).clues == clues


def test_a_thread_does_not_take_the_words_of_another_for_known() -> None:
    """Each has a telling word first, and then goes on with words while the others judge theirs."""
    import sys
    from concurrent.futures import ThreadPoolExecutor

    def clues(number: int) -> bool:
        after = " ".join(f"word{number}x{at}" for at in range(300))
        return "pass" in word_scan.look(f"MY_{number}_PASSWORD {after}").clues

    word_scan._MARKED.clear()
    before = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)
    try:
        with ThreadPoolExecutor(8) as threads:
            assert all(threads.map(clues, [number // 2 for number in range(400)]))
    finally:
        sys.setswitchinterval(before)


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
@pytest.mark.parametrize("around", ["{}", "x = '{}'", "\\n{}", "é{}", "a/{}?b", "<{}>"])
def test_every_kind_of_token_leaves_a_clue(token: str, around: str) -> None:
    text = "some words before it, so many that a glance is taken and they are no secret at all. "
    assert after_a_glance(text + around.format(token)) == closely(text + around.format(token))


@pytest.mark.parametrize(
    "said",
    [
        "le mot de passe est Ete2024!x",
        "whsec" + "_a+" + fake(ALNUM, 40),
        "gl" + "c_Zx/" + fake(ALNUM, 60),
        "ATATT" + "3x=" + fake(ALNUM, 80),
    ],
)
def test_a_secret_of_which_a_sign_or_a_space_leaves_little_in_a_word_leaves_a_clue(
    said: str,
) -> None:
    text = "some words before it, so many that a glance is taken and they are no secret at all. "
    assert after_a_glance(text + said) == closely(text + said) != []


def test_words_that_only_look_like_a_hint_leave_no_clue() -> None:
    for word in [
        "monkey",
        "author",
        "input_tokens",
        "design",
        "passing",
        "keyboard",
        "compass",
        "tokenizer",
    ]:
        assert word_scan.clues_of(word) == set(), word
    assert word_scan.clues_of("GITHUB_TOKEN") == {"token"}
    assert word_scan.clues_of("dockerfile") == set()
    assert word_scan.clues_of("snyk") == {"snyk auth"}


def test_little_text_is_looked_at_closely() -> None:
    word_scan._left = word_scan._WARM
    assert word_scan.glance("a prompt of a hook " * 20) is None


def test_texts_that_are_remembered_stay_few() -> None:
    word_scan._left = 0
    for number in range(50):
        word_scan.glance(f"{number} words " * 10_000)
    assert sum(len(text) for text, _ in word_scan._recent.values()) <= word_scan._MOST_HELD


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
    assert closely(text) == []


@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_is_no_id_whatever_stands_before_it(token: str) -> None:
    uuid = "019ed836-b1da-78f1-8a0c-e598363d10f4"
    for id in (token, f"call_{token}", f"{uuid}/{token}", f"codex.{uuid}:call:call_{token}"):
        assert not formats.id_pattern().fullmatch(id) or not closely(id)


@pytest.mark.parametrize("unit", ["pass", "pass_", "secret.", "key-a_", "a_token1_"])
def test_one_word_without_end_costs_in_proportion_to_its_length(unit: str) -> None:
    def cost(size: int) -> float:
        start = process_time()
        word_scan.look(unit * (size // len(unit)))
        return process_time() - start

    cost(1_000)
    # Others on the machine cost time too, but not each time.
    assert any(cost(800_000) < 12 * cost(200_000) + 0.05 for _ in range(5))
