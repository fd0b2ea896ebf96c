"""JSON, the laws that the scrubber keeps for any text, and text made to hang it."""

from __future__ import annotations

import base64
import json
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.secrets.redaction import (
    MAX_DEPTH,
    redact,
    redact_and_report,
    redact_json,
    redact_json_many,
    redact_many,
)
from recollect.secrets.search import find_secrets
from recollect.types.records import Json
from tests.builders.secret_samples import (
    ALNUM,
    BREAKS,
    CONTEXTS,
    HEXKEY,
    NAMED,
    STRONG,
    TOKENS,
    WORD,
    fake,
)


def test_json_is_compact_keeps_its_order_and_its_letters() -> None:
    value = {"b": [1, 2.5, None, True, {"ü": "é"}], "a": ("x", "y")}
    assert redact_json(value) == ('{"b":[1,2.5,null,true,{"ü":"é"}],"a":["x","y"]}', ())


def test_json_is_scrubbed_in_keys_values_and_under_telling_names() -> None:
    token = TOKENS["github-classic"]
    value = {
        token: 1,
        "text": f"use {token} now",
        "password": WORD,
        "db": {"DB_PASSWORD": "swordfish", "passwords": [WORD, STRONG]},
        "headers": {"Authorization": "Token " + HEXKEY, "X-Api-Key": HEXKEY},
        "env": [{"name": "API_TOKEN", "value": HEXKEY}],
        "total_tokens": 12345678,
        "token_type": "bearer",
    }
    clean = redact_json(value)
    assert json.loads(clean.text) == {
        "[REDACTED:github-token]": 1,
        "text": "use [REDACTED:github-token] now",
        "password": "[REDACTED:password]",
        "db": {"DB_PASSWORD": "[REDACTED:password]", "passwords": ["[REDACTED:password]"] * 2},
        "headers": {
            "Authorization": "Token [REDACTED:authorization]",
            "X-Api-Key": "[REDACTED:api-key]",
        },
        "env": [{"name": "API_TOKEN", "value": "[REDACTED:token]"}],
        "total_tokens": 12345678,
        "token_type": "bearer",
    }
    assert len(clean.found) == 9


def blocks(*texts: str) -> list[dict[str, str]]:
    return [{"type": "text", "text": text} for text in texts]


@pytest.mark.parametrize(
    ("given", "kept"),
    [
        (
            ("use " + TOKENS["npm"][:20], TOKENS["npm"][20:] + " now"),
            ("use [REDACTED:npm-token]", " now"),
        ),
        (("a <private>b", "c", "d</private> e"), ("a [PRIVATE]", "", " e")),
        (("a <private>b", "c"), ("a [PRIVATE]", "")),
        (("a", "b <private>c</private>"), ("a", "b [PRIVATE]")),
        (("a <pri", "vate>b</private> c"), ("a [PRIVATE]", " c")),
    ],
)
def test_what_goes_on_in_the_next_block_is_taken_out(
    given: tuple[str, ...], kept: tuple[str, ...]
) -> None:
    value = {"content": blocks(*given)}
    clean = redact_json(value)
    assert json.loads(clean.text) == {"content": blocks(*kept)}
    assert clean.found == (("npm-token",) if "npm" in kept[0] else ())


def test_two_secret_keys_of_an_object_stay_two() -> None:
    value = {"gh" + "p_" + fake(ALNUM, 36, seed): seed for seed in range(3)}
    clean = json.loads(redact_json(value).text)
    assert list(clean.values()) == [0, 1, 2]


@pytest.mark.parametrize(
    "value",
    [
        float("nan"),
        [float("inf")],
        {"a": -float("inf")},
        {1: "a"},
        object(),
        b"bytes",
        {"a"},
        10**5000,
    ],
    ids=lambda value: type(value).__name__,
)
def test_what_json_cannot_say_is_refused(value: object) -> None:
    with pytest.raises(InvalidInput):
        redact_json(value)


def test_json_nested_without_end_is_refused() -> None:
    value: list[object] = []
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    assert redact_json(value).text == "[" * MAX_DEPTH + "]" * MAX_DEPTH
    with pytest.raises(InvalidInput):
        redact_json([value])


# ---------------------------------------------------------------------------------------------
# Laws

ANY_TEXT = st.text(st.characters(codec=None), max_size=40)
FRAGMENTS = st.one_of(
    st.sampled_from(
        [
            *TOKENS.values(),
            *CONTEXTS.values(),
            *BREAKS.values(),
            *(context.format(value) for context, value in NAMED),
            *("<private>", "</private>", "password:", "token=", 'secret="', "key='", "://", "@"),
            "[REDACTED:x]",
            "-----BEGIN PRIVATE" + " KEY-----",
            "-----END PRIVATE" + " KEY-----",
            *(
                " curl -u a:",
                "echo ",
                " | sudo -S",
                "mysql -p",
                "unzip -P ",
                "${DB_PASSWORD:-",
                "}",
            ),
            *("\x1b[31m", "\x1b]0;", "\x07", "\\u001b[1m", "\\e[0m", "[0m", "%3D", "\\x3d"),
            'process.env.SECRET || "',
            "\\",
            "\n",
            '"',
            " ",
        ]
    ),
    ANY_TEXT,
)
RISKY_TEXT = st.lists(FRAGMENTS, max_size=8).map("".join)
JSON_VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    | ANY_TEXT,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(ANY_TEXT, inner, max_size=4),
    max_leaves=12,
)


@given(RISKY_TEXT)
@settings(max_examples=400, deadline=None)
def test_scrubbing_twice_changes_nothing(text: str) -> None:
    once = redact_and_report(text)
    assert redact_and_report(once.text) == (once.text, ())


@given(RISKY_TEXT)
@settings(max_examples=200, deadline=None)
def test_scrubbed_text_is_utf8_without_null(text: str) -> None:
    clean = redact(text)
    assert "\0" not in clean
    assert clean.encode().decode() == clean


@given(ANY_TEXT, st.sampled_from(sorted(TOKENS)), ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_a_token_between_spaces_never_survives(before: str, kind: str, after: str) -> None:
    assert TOKENS[kind] not in redact(f"{before} {TOKENS[kind]} {after}")


@given(JSON_VALUES)
@settings(max_examples=300, deadline=None)
def test_json_without_secrets_comes_back_as_it_was(value: object) -> None:
    clean = redact_json(value)
    clean.text.encode()
    assert "\0" not in clean.text
    if not clean.found and "[PRIVATE]" not in clean.text:
        assert _joined(json.loads(clean.text)) == _joined(value)


@given(st.dictionaries(FRAGMENTS, FRAGMENTS | JSON_VALUES, max_size=5))
@settings(max_examples=200, deadline=None)
def test_scrubbing_json_twice_changes_nothing(value: dict[str, object]) -> None:
    once = redact_json(value)
    assert redact_json(json.loads(once.text)) == (once.text, ())


def _joined(value: object) -> object:
    """JSON cannot tell a pair of surrogates from the character that they make."""
    return json.loads(json.dumps(value))


@given(st.lists(st.tuples(ANY_TEXT, FRAGMENTS), max_size=5))
@settings(max_examples=300, deadline=None)
def test_json_text_is_still_json_when_it_was_scrubbed_as_text(pairs: list[tuple[str, str]]) -> None:
    text = json.dumps({name: value for name, value in pairs if "private" not in value})
    json.loads(redact_and_report(text).text)


# ---------------------------------------------------------------------------------------------
# Hostile text: a rule that looked at a place again and again would hang here

MEGABYTE = 1_000_000
HOSTILE = {
    "openers": "<private>",
    "key block openers": "-----BEGIN RSA PRIVATE" + " KEY-----",
    "key block lines": "-----BEGIN PRIVATE" + " KEY-----\nMIIEvQIBADANBgkqhkiG9w0B\n",
    "one letter": "a",
    "names": "password:",
    "open quotes": 'password="',
    "commands": "curl ",
    "addresses": "://a:b",
    "headers": "authorization: ",
    "token openers": "ey" + "J-",
    "breaks": "aa`aaaa",
    "wrapped lines": "a1b2c3d4e5f6g7\n",
    "hooks": "hook/",
    "cookies": "cookie: a=",
    "tables": "password|\n--|\n",
    "unseen": "password: \u200bhunter\u200b22 ",
    "phrases": "password: correct horse battery ",
    "colours": "\x1b[31m",
    "titles": "\x1b]0;a",
    "open sequences": "\x1b[1",
    "backslashes": "\\",
    "written sequences": "\\\\u001b[",
    "written characters": "\\u003d%3Dabcdefghijklmnopq",
    "options": "mysql -p ",
    "pipes": "echo a:b | sudo ",
    "hashed": "htpasswd -n -b ",
    "shares": "net use \\\\\\\\a b ",
    "defaults": 'password || "',
    "expansions": "${password:-a",
    "manifests": "kind: Secret\ndata:\n  a: bcdef\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_hostile_text_takes_a_bounded_effort(piece: str) -> None:
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    once = redact(text)
    assert len(once) <= 4 * MEGABYTE


def test_a_megabyte_of_base64_on_one_line_is_left_as_it_is() -> None:
    text = base64.b64encode(random.Random(7).randbytes(MEGABYTE * 3 // 4)).decode()
    assert redact(text) == text


@given(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=15))
def test_a_short_text_of_letters_and_digits_holds_no_secret(text: str) -> None:
    assert not text.isalnum() or find_secrets(text) == []


_OPENINGS = (
    *("password:", '"token":', "curl -u", "export KEY=\\", "| password |\n|---|", "<private>"),
    *("kind: Secret\ndata:\n", 'echo "', "mysql -p", 'secret = "', "Authorization: Bearer"),
    *("-----BEGIN PRIVATE" + " KEY-----", "\x1b]0;", "<password>", "api_key,", "", "\0", "\ud83d"),
)


@pytest.mark.parametrize("seed", range(20))
def test_texts_that_are_redacted_together_neither_hide_nor_complete_one_anothers_secrets(
    seed: int,
) -> None:
    chance = random.Random(seed)
    texts = list(_OPENINGS) * 3
    for context in CONTEXTS.values():
        whole = context.format(chance.choice(list(TOKENS.values())))
        cut = chance.randrange(len(whole))
        texts += [whole, whole[:cut], whole[cut:], f"{chance.choice(_OPENINGS)}{whole[cut:]}"]
    texts += [f"{chance.choice(_OPENINGS)} {name}" for name in NAMED]
    chance.shuffle(texts)
    assert redact_many(texts) == [redact_and_report(text) for text in texts]
    filler = "words that make it long " * 4
    values: list[Json] = [{"content": f"{filler}{text}"} for text in texts]
    values += [[{"text": text}, {"text": f"{text}{filler}", "name": filler}] for text in texts]
    values += [{"content": text, "cwd": "/home/sam", text[:40]: [text]} for text in texts]
    chance.shuffle(values)
    assert redact_json_many(values) == [redact_json(value) for value in values]


def test_a_tag_that_two_texts_make_together_is_none() -> None:
    texts = ["ends with <private", "x> and goes on", "plain"]
    assert redact_many(texts) == [redact_and_report(text) for text in texts]
