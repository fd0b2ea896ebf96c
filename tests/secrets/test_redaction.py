"""What the scrubber takes out of a text, and what it leaves alone."""

from __future__ import annotations

import base64
import json
import string

import pytest

from recollect.secrets.redaction import redact, redact_and_report
from tests.builders.secret_samples import (
    ALNUM,
    BASE32,
    BREAKS,
    CONTEXTS,
    NAMED,
    TOKENS,
    WORD,
    fake,
    key_block,
)


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_is_taken_out_and_the_text_around_it_stays(token: str, context: str) -> None:
    clean = redact_and_report(context.format(token))
    before, after = context.format("\0").split("\0")
    assert clean.text.startswith(before + "[REDACTED:")
    assert clean.text.endswith("]" + after)
    assert len(clean.found) == 1
    assert token[8:20] not in clean.text


@pytest.mark.parametrize("mark", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("kind", ["github-classic", "openai-legacy", "stripe", "npm", "shopify"])
def test_a_token_broken_in_the_middle_is_taken_out(kind: str, mark: str) -> None:
    token = TOKENS[kind]
    first, last = token[:20], token[20:]
    clean = redact_and_report(f"take {first}{mark}{last} and go")
    assert clean.text == f"take [REDACTED:{clean.found[0]}] and go"


@pytest.mark.parametrize("mark", ["\u200b", "\u2060", "\u00ad", "\ufeff"])
def test_a_token_is_taken_out_when_unseen_characters_stand_between_all_of_its_own(
    mark: str,
) -> None:
    clean = redact_and_report(f"use {mark.join(TOKENS['github-classic'])} now")
    assert clean == ("use [REDACTED:github-token] now", ("github-token",))


@pytest.mark.parametrize("prefix", ["AKIA", "ASIA", "ABIA", "ACCA"])
def test_a_key_id_of_capitals_alone_is_taken_out(prefix: str) -> None:
    for seed in range(200):
        key = prefix + fake(BASE32, 16, seed)
        assert redact_and_report(f"use {key} now").text == "use [REDACTED:aws-key] now"
    letters = prefix + fake(string.ascii_uppercase, 16)
    assert redact_and_report(f"use {letters} now").text == "use [REDACTED:aws-key] now"


def test_the_mark_of_a_redaction_is_not_redacted() -> None:
    clean = redact_and_report(f"https://{TOKENS['github-classic']}@github.com/x")
    assert clean == ("https://[REDACTED:github-token]@github.com/x", ("github-token",))


@pytest.mark.parametrize("place", [2, 4, 7, 16, 30])
def test_a_backtick_hides_no_token_wherever_it_stands(place: int) -> None:
    token = TOKENS["github-classic"]
    clean = redact_and_report(f"it is {token[:place]}`{token[place:]} ok")
    assert token[place + 1 :] not in clean.text
    assert token[:place][4:] == "" or token[:place] not in clean.text


def test_tokens_on_lines_of_their_own_are_told_apart() -> None:
    tokens = [TOKENS["github-classic"], TOKENS["npm"], TOKENS["stripe"], TOKENS["aws-key"]]
    clean = redact_and_report("\n".join(tokens) + "\nexport DONE")
    assert clean.found == ("github-token", "npm-token", "stripe-key", "aws-key")
    assert clean.text.endswith("\nexport DONE")


@pytest.mark.parametrize(("context", "value"), NAMED)
def test_a_value_in_a_telling_place_is_taken_out_and_nothing_else(context: str, value: str) -> None:
    clean = redact_and_report(context.format(value))
    before, after = context.format("\0").split("\0")
    assert clean.text == f"{before}[REDACTED:{clean.found[0]}]{after}"


@pytest.mark.parametrize(
    "text",
    [
        "tokenizer tokenization-strategy monkeypatch_all_the_things network-configuration-v2",
        "password_reset secretsmanager docs/credentials-guide.md keyboard_shortcuts.json",
        "fixed in 3f2a9c1b7d4e5f60718293a4b5c6d7e8f9012345 on main",
        "request 550e8400-e29b-41d4-a716-446655440000 failed",
        "sha256:9f86d081884c7d659a2feaa0c55ad015a3bf4f1b2b0b822cd15d6c15b0f00a08",
        '"integrity": "sha512-z5Y9xOZ7eL3wK1nVbQ2mT8rC4dF6gH0jS5aU7iP9oE=="',
        "def login(user: str, password: str) -> Token: ...",
        "password: str | None = None",
        'key = os.environ["API_KEY"]',
        'api_key = os.getenv("OPENAI_API_KEY", "")',
        "token = get_token()",
        "token = response.json()['access_token']",
        "self.password = hash_password(raw_password)",
        "password=settings.DB_PASSWORD, token=self.token",
        "connect(user=user, password=password2)",
        "export TOKEN=${TOKEN} SECRET=$(pass show x) KEY=$API_KEY",
        "password: {{ vault_password }} token: {token} key: %(key)s",
        "https://user:${DB_PASSWORD}@db/app",
        'API_KEY="<your-api-key>" TOKEN=your_token_here',
        "Authorization: Bearer $TOKEN",
        "Authorization: Bearer <token>",
        "api_key: xxxxxxxxxxxxxxxxxxxx",
        "password: changeme",
        'PASSWORD="changeme"',
        "password: ********",
        "password: required, token: optional, secret: string",
        'placeholder="Enter your password"',
        '{"password": "Passwort", "username": "Benutzername"}',
        'grant_type: "password"',
        "max_tokens: 4096, total_tokens=128000, prompt_tokens: 1234567",
        '"primary_key": "id_1234abcd56ef", "cache_key": "a1b2c3d4e5f6a7b8c9d0"',
        "monkey: 9f86d081884c7d659a2feaa0c55ad015 turkey=9f86d081884c7d659a2feaa0c55ad015",
        "next_page_token: 9f86d081884c7d659a2feaa0c55ad015, public_api_key = 'pk9f86d081884c7d65'",
        "public_key = '9f86d081884c7d659a2feaa0c55ad015'",
        "--- PASS: TestThing2Works (0.01s)",
        "the basic introduction, basic authentication, bearer of news",
        "http://localhost:8080/@scope/package and git@github.com:user/repo.git",
        "docker://alpine:3.19@sha256:abcdef0123456789",
        "s" + "k-learn-contrib and task-management-system-for-teams-v2",
        "gh" + "p_" + "x" * 36,
        "sk-" + "ant-your-api-key-goes-here-please-1",
        "toolu_01A09q90qw90lq917835lq9 msg_01XFDUDYJgAACzvnptvVoYEL",
        "-----BEGIN CERTIFICATE" + "-----\nMIIDdzCCAl+gAwIBAgIEAgAAuTANBgkqhkiG9w0BAQUFADBa\n",
        "ssh-rsa " + "AAAAB3NzaC1yc2EAAAADAQABAAABAQCOiwy0NSpsTX me@host",
        'if "-----BEGIN PRIVATE' + ' KEY-----" in text: raise Error(text)',
        "[REDACTED:github-token] password=[REDACTED:password]",
        "the password is sha256-hashed and the token is base64-encoded",
        "the password is: required. the password is stored in the vault",
        'password="please enter it again here"',
        "password: must be at least eight characters long",
        "password: the one from the shared vault",
        "Cookie: theme=dark; lang=en; consent=accepted-all-of-them",
        "cookie handling, see commit=3f2a9c1b7d4e5f60718293a4b5c6d7e8f9012345",
        "| field | password |\n|---|---|\n| type | string |\n| note | required |",
        "SECRET_NAME=productionDatabaseCredentials secret: 'shopDatabaseCredentials'",
        "REDIS_KEY=userSessionsByAccount",
        "[REDACTED:[PRIVATE]",
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert redact_and_report(text) == (text, ())


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_goes_whole(kind: str) -> None:
    clean = redact_and_report(f"before\n{key_block(kind)}\nafter")
    assert clean == ("before\n[REDACTED:private-key]\nafter", ("private-key",))


def test_a_private_key_goes_whole_when_its_end_is_missing() -> None:
    clean = redact_and_report(
        f"before\n{key_block(end=False)}\n\nThis is what I found in the file."
    )
    assert clean.text.startswith("before\n[REDACTED:private-key]")
    assert clean.text.endswith("\n\nThis is what I found in the file.")
    assert fake(ALNUM + "+/", 64, 11) not in clean.text


@pytest.mark.parametrize("dress", ["json", "quoted", "numbered", "base64"])
def test_a_private_key_goes_whole_however_it_is_dressed(dress: str) -> None:
    block = key_block("")
    dressed = {
        "json": json.dumps({"private_key": block}),
        "quoted": "\n".join(f"> {line}" for line in block.splitlines()),
        "numbered": "\n".join(f"{n:6}→{line}" for n, line in enumerate(block.splitlines())),
        "base64": "client-key-data: " + base64.b64encode(block.encode()).decode(),
    }[dress]
    clean = redact_and_report(dressed)
    assert clean.found == ("private-key",)
    assert not any(line in clean.text for line in block.splitlines()[1:])


def test_the_data_of_a_kubernetes_secret_is_taken_out() -> None:
    manifest = (
        "kind: Secret\nmetadata:\n  name: shop-db\ndata:\n  user: {}\n  other: {}\ntype: Opaque"
    )
    values = [base64.b64encode(word).decode() for word in (b"shopkeeper", b"open sesame")]
    clean = redact_and_report(manifest.format(*values))
    assert clean.text == manifest.format(*["[REDACTED:kubernetes-secret]"] * 2)


def test_a_url_keeps_scheme_user_and_host() -> None:
    clean = redact_and_report(f"postgres://shop:{WORD}@db.example.com:5432/shop?sslmode=require")
    assert clean.text == (
        "postgres://shop:[REDACTED:url-password]@db.example.com:5432/shop?sslmode=require"
    )


def test_what_was_found_is_told_in_the_order_of_the_text() -> None:
    clean = redact_and_report(f"password: {WORD}\n{key_block()}\n{TOKENS['github-classic']}")
    assert clean.found == ("password", "private-key", "github-token")


@pytest.mark.parametrize(
    ("text", "kept"),
    [
        ("a <private>b</private> c", "a [PRIVATE] c"),
        ("a <PRIVATE >b\nc</Private> d", "a [PRIVATE] d"),
        ("a <private>b</private> c <private>d</private>", "a [PRIVATE] c [PRIVATE]"),
        ("a <private>b <private>c</private> d</private> e", "a [PRIVATE] e"),
        ("a <private>b and so on", "a [PRIVATE]"),
        ("a </private> b", "a </private> b"),
        ("a <privately>b", "a <privately>b"),
        ("<private></private>", "[PRIVATE]"),
        ("a <private foo=1>b</private> c", "a [PRIVATE] c"),
        ("a\n<private>\nb", "a\n[PRIVATE]"),
    ],
)
def test_a_private_span_is_never_kept(text: str, kept: str) -> None:
    assert redact_and_report(text) == (kept, ())


def test_plain_text_can_be_stored_by_both_engines() -> None:
    assert redact("a\0b") == "a␀b"
    assert redact("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert redact("\ud83d\ude00") == "😀"
