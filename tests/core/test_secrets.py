"""What the scrubber takes out, what it leaves alone, and the laws it keeps.

Every secret here is made when the test runs: nothing in this file looks like one.
"""

from __future__ import annotations

import base64
import json
import random
import string

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.core.secrets import MAX_DEPTH, safe, scrub, scrub_json
from recollect.errors import InvalidInput

ALNUM = string.ascii_letters + string.digits
HEX = "0123456789abcdef"
BASE32 = string.ascii_uppercase + "234567"
URL64 = ALNUM + "_-"


def fake(alphabet: str, length: int, seed: int = 1) -> str:
    """Random characters, the same ones on every run."""
    return "".join(random.Random(f"{alphabet}{length}{seed}").choices(alphabet, k=length))


def uuid(seed: int = 1) -> str:
    digits = fake(HEX, 32, seed)
    return "-".join((digits[:8], digits[8:12], digits[12:16], digits[16:20], digits[20:]))


def jwt() -> str:
    parts = ({"alg": "HS256", "typ": "JWT"}, {"sub": "1234567890", "name": "somebody"})
    encoded = [base64.urlsafe_b64encode(json.dumps(p).encode()).decode().rstrip("=") for p in parts]
    return ".".join([*encoded, fake(URL64, 43)])


def key_block(kind: str = "RSA ", end: bool = True) -> str:
    lines = "\n".join(fake(ALNUM + "+/", 64, seed) for seed in range(12))
    close = f"\n-----END {kind}PRIVATE" + " KEY-----" if end else ""
    return f"-----BEGIN {kind}PRIVATE" + f" KEY-----\n{lines}\n{fake(ALNUM, 22)}=={close}"


TOKENS = {
    "aws-key": "AK" + "IA" + fake(BASE32, 16),
    "google-key": "AI" + "za" + fake(URL64, 34) + "Q",
    "google-oauth": "GOC" + "SPX-" + fake(URL64, 28),
    "azure-key": "Zk4" + "8Q~" + fake(ALNUM, 34),
    "digitalocean": "dop_" + "v1_" + fake(HEX, 64),
    "databricks": "da" + "pi" + fake(HEX, 32),
    "github-classic": "gh" + "p_" + fake(ALNUM, 36),
    "github-fine": "github" + "_pat_" + fake(ALNUM, 22) + "_" + fake(ALNUM, 59),
    "gitlab": "gl" + "pat-" + fake(URL64, 20),
    "npm": "np" + "m_" + fake(ALNUM, 36),
    "pypi": "pypi-" + "AgEIcHlwaS5vcmc" + fake(URL64, 120),
    "docker": "dckr" + "_pat_" + fake(URL64, 27),
    "vault": "hv" + "s." + fake(ALNUM, 90),
    "terraform": fake(ALNUM, 14) + ".atlas" + "v1." + fake(URL64, 64),
    "atlassian": "ATATT" + "3xFfGF0" + fake(URL64, 180),
    "slack-bot": "xox" + "b-" + fake(string.digits, 12) + "-" + fake(ALNUM, 24),
    "slack-app": "xap" + "p-1-A" + fake(BASE32, 10) + "-" + "1" * 6 + "23456-" + fake(HEX, 64),
    "discord": "MT" + fake(ALNUM, 22) + "." + fake(URL64, 6) + "." + fake(URL64, 38),
    "telegram": "5839574813" + ":A" + "A" + fake(URL64, 33),
    "stripe": "sk_" + "live_" + fake(ALNUM, 24),
    "stripe-hook": "wh" + "sec_" + fake(ALNUM, 32),
    "square": "sq0" + "csp-" + fake(URL64, 43),
    "shopify": "shp" + "at_" + fake(HEX, 32),
    "sendgrid": "S" + "G." + fake(URL64, 22) + "." + fake(URL64, 43),
    "twilio": "S" + "K" + fake(HEX, 32),
    "mailgun": "ke" + "y-" + fake(HEX, 32),
    "mailchimp": fake(HEX, 32) + "-us" + "12",
    "newrelic": "NR" + "AK-" + fake(BASE32, 27),
    "grafana": "gls" + "a_" + fake(ALNUM, 32) + "_" + fake(HEX, 8),
    "openai-legacy": "s" + "k-" + fake(ALNUM, 48),
    "openai-project": "sk-" + "proj-" + fake(URL64, 120),
    "anthropic": "sk-" + "ant-api03-" + fake(URL64, 93) + "AA",
    "openrouter": "sk-" + "or-v1-" + fake(HEX, 64),
    "groq": "gs" + "k_" + fake(ALNUM, 52),
    "huggingface": "h" + "f_" + fake(string.ascii_letters, 34),
    "replicate": "r" + "8_" + fake(ALNUM, 37),
    "linear": "lin_" + "api_" + fake(ALNUM, 40),
    "notion": "nt" + "n_" + fake(ALNUM, 46),
    "age": "AGE-SECRET" + "-KEY-1" + fake(BASE32, 58),
    "jwt": jwt(),
}

CONTEXTS = {
    "alone": "{}",
    "prose": "please use {} for the staging server, thanks",
    "at the end of a sentence": "It is {}.",
    "backticks": "the value is `{}` as you see",
    "double quotes": 'client = Client("{}")',
    "single quotes": "headers = ['{}', 2]",
    "json": '{{"value": "{}", "other": 1}}',
    "json in json": '{{\\"value\\": \\"{}\\"}}',
    "escaped line ends": "first\\n{}\\nlast",
    "yaml": "secret_thing: {}\nnext: 1",
    "environment": "export SOMETHING={}\necho done",
    "query": "https://example.com/api?x={}&page=2",
    "header": 'curl -H "X-Thing: {}" https://example.com',
    "html": "<td>{}</td>",
    "parentheses": "(see {})",
    "a list": "a, {}, b",
    "a diff": "+{}\n-old",
    "a path": "https://example.com/files/{}",
    "markdown": "**{}**",
}


@pytest.mark.parametrize("context", CONTEXTS.values(), ids=CONTEXTS)
@pytest.mark.parametrize("token", TOKENS.values(), ids=TOKENS)
def test_a_token_is_taken_out_and_the_text_around_it_stays(token: str, context: str) -> None:
    clean = scrub(context.format(token))
    before, after = context.format("\0").split("\0")
    assert clean.text.startswith(before + "[REDACTED:")
    assert clean.text.endswith("]" + after)
    assert len(clean.found) == 1
    assert token[8:20] not in clean.text


BREAKS = {
    "backtick": "`",
    "double quote": '"',
    "single quote": "'",
    "line end": "\n",
    "indented line": "\n      ",
    "continued line": "\\\n  ",
    "escaped line end": "\\n",
    "zero width space": "\u200b",
    "soft hyphen": "\u00ad",
    "null": "\0",
}


@pytest.mark.parametrize("mark", BREAKS.values(), ids=BREAKS)
@pytest.mark.parametrize("kind", ["github-classic", "openai-legacy", "stripe", "npm", "shopify"])
def test_a_token_broken_in_the_middle_is_taken_out(kind: str, mark: str) -> None:
    token = TOKENS[kind]
    first, last = token[:20], token[20:]
    clean = scrub(f"take {first}{mark}{last} and go")
    assert clean.text == f"take [REDACTED:{clean.found[0]}] and go"


@pytest.mark.parametrize("place", [2, 4, 7, 16, 30])
def test_a_backtick_hides_no_token_wherever_it_stands(place: int) -> None:
    token = TOKENS["github-classic"]
    clean = scrub(f"it is {token[:place]}`{token[place:]} ok")
    assert token[place + 1 :] not in clean.text
    assert token[:place][4:] == "" or token[:place] not in clean.text


def test_tokens_on_lines_of_their_own_are_told_apart() -> None:
    tokens = [TOKENS["github-classic"], TOKENS["npm"], TOKENS["stripe"], TOKENS["aws-key"]]
    clean = scrub("\n".join(tokens) + "\nexport DONE")
    assert clean.found == ("github-token", "npm-token", "stripe-key", "aws-key")
    assert clean.text.endswith("\nexport DONE")


WORD, STRONG, HEXKEY = "hunt" + "er22", "Tr0ub4" + "dor&3x", fake(HEX, 40)

NAMED = [
    ("password: {}", WORD),
    ('"password": "{}"', WORD),
    ("'db_password' => '{}'", WORD),
    ('\\"password\\": \\"{}\\"', WORD),
    ("PGPASSWORD={} psql -h db", "swordfish"),
    ("  MYSQL_ROOT_PASSWORD: {}\n", "swordfish"),
    ("spring.datasource.password={}\n", STRONG),
    ("const dbPassword = '{}';", STRONG),
    ("password: str = '{}'", STRONG),
    ("my password is {} ok?", WORD),
    ("my api key is {}", fake(ALNUM, 32)),
    ("username: admin\npassword: {}\n", "swordfish"),
    ("credentials {{\n  username 'me'\n  password '{}'\n}}", "swordfish"),
    ("The default password for the user 'admin' is '{}'.", "blueberry"),
    ("mysql -u root -p{} shop", STRONG),
    ("tool --user me --password {} --force", "swordfish"),
    ("sshpass -p '{}' ssh host", STRONG),
    ("curl -u admin:{} https://example.com", STRONG),
    ("machine api.example.com login me password {}", WORD),
    ("<password>{}</password>", STRONG),
    ('<add key="SmtpPassword" value="{}"/>', STRONG),
    ("define('DB_PASSWORD', '{}');", "swordfish"),
    ("CREATE USER app IDENTIFIED BY '{}';", STRONG),
    ("Server=db;User ID=sa;Password={};Encrypt=yes", STRONG),
    ("- name: DB_PASSWORD\n  value: {}\n", STRONG),
    ("API_KEY={}", HEXKEY),
    ("CACHE_HOST_PASSWORD={}", "swordfish"),
    ("PRIMARY_API_KEY={}", HEXKEY),
    ("secretkey: {}", HEXKEY),
    ("api_key = '{}'", HEXKEY),
    ('apiKey: "{}",', HEXKEY),
    ("OPENAI_API_KEY={}", fake(ALNUM, 32)),
    ("aws_secret_access_key = {}", fake(ALNUM + "+/", 40)),
    ("secret key: {}", fake(ALNUM + "+/", 40)),
    ("client_secret={}&grant_type=code", fake(ALNUM, 32)),
    ('"refresh_token": "{}"', fake(URL64, 40)),
    ("https://example.com/?access_token={}&x=1", HEXKEY),
    ("--token {} run", fake(ALNUM, 32)),
    ("SECRET_KEY = '{}'", "q!8z^w#" + fake(ALNUM, 30) + "(%=)"),
    ("AccountName=shop;AccountKey={};EndpointSuffix=x", fake(ALNUM, 84) + "=="),
    ("Authorization: Bearer {}", fake(URL64, 40)),
    ("Authorization: Basic {}", base64.b64encode(b"someone:" + STRONG.encode()).decode()),
    ("Authorization: Token {}", HEXKEY),
    ("{{'Authorization': 'Api-Key {}'}}", uuid()),
    ("postgres://shop:{}@db.example.com:5432/shop", WORD),
    ("DATABASE_URL=mysql+pymysql://root:{}@localhost/app", "s3cr" + "et!"),
    ("mongodb+srv://u:{}@cluster0.example.net/?w=majority", "p%40ss" + "w0rd"),
    ("redis://:{}@cache:6379/0", WORD),
    ("https://hooks.slack.com/services/{}", "T" + fake(BASE32, 9) + "/B1/" + fake(ALNUM, 24)),
    ("https://x.blob.core.windows.net/a?sp=r&sig={}", fake(ALNUM, 43) + "%3D"),
    ("root:{}:17431:0:99999:7:::", "$6$" + fake(ALNUM, 16) + "$" + fake(ALNUM, 86)),
]


@pytest.mark.parametrize(("context", "value"), NAMED)
def test_a_value_in_a_telling_place_is_taken_out_and_nothing_else(context: str, value: str) -> None:
    clean = scrub(context.format(value))
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
    ],
)
def test_ordinary_text_is_left_alone(text: str) -> None:
    assert scrub(text) == (text, ())


@pytest.mark.parametrize("kind", ["", "RSA ", "EC ", "OPENSSH ", "ENCRYPTED "])
def test_a_private_key_goes_whole(kind: str) -> None:
    clean = scrub(f"before\n{key_block(kind)}\nafter")
    assert clean == ("before\n[REDACTED:private-key]\nafter", ("private-key",))


def test_a_private_key_goes_whole_when_its_end_is_missing() -> None:
    clean = scrub(f"before\n{key_block(end=False)}\n\nThis is what I found in the file.")
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
    clean = scrub(dressed)
    assert clean.found == ("private-key",)
    assert not any(line in clean.text for line in block.splitlines()[1:])


def test_the_data_of_a_kubernetes_secret_is_taken_out() -> None:
    manifest = (
        "kind: Secret\nmetadata:\n  name: shop-db\ndata:\n  user: {}\n  other: {}\ntype: Opaque"
    )
    values = [base64.b64encode(word).decode() for word in (b"shopkeeper", b"open sesame")]
    clean = scrub(manifest.format(*values))
    assert clean.text == manifest.format(*["[REDACTED:kubernetes-secret]"] * 2)


def test_a_url_keeps_scheme_user_and_host() -> None:
    clean = scrub(f"postgres://shop:{WORD}@db.example.com:5432/shop?sslmode=require")
    assert clean.text == (
        "postgres://shop:[REDACTED:url-password]@db.example.com:5432/shop?sslmode=require"
    )


def test_what_was_found_is_told_in_the_order_of_the_text() -> None:
    clean = scrub(f"password: {WORD}\n{key_block()}\n{TOKENS['github-classic']}")
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
        ("a\n<private>\nb", "a\n[PRIVATE]"),
    ],
)
def test_a_private_span_is_never_kept(text: str, kept: str) -> None:
    assert scrub(text) == (kept, ())


def test_plain_text_can_be_stored_by_both_engines() -> None:
    assert safe("a\0b") == "a␀b"
    assert safe("a\ud800b\udc00") == "a\ufffdb\ufffd"
    assert safe("\ud83d\ude00") == "😀"


# ---------------------------------------------------------------------------------------------
# JSON


def test_json_is_compact_keeps_its_order_and_its_letters() -> None:
    value = {"b": [1, 2.5, None, True, {"ü": "é"}], "a": ("x", "y")}
    assert scrub_json(value) == ('{"b":[1,2.5,null,true,{"ü":"é"}],"a":["x","y"]}', ())


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
    clean = scrub_json(value)
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


def test_two_secret_keys_of_an_object_stay_two() -> None:
    value = {"gh" + "p_" + fake(ALNUM, 36, seed): seed for seed in range(3)}
    clean = json.loads(scrub_json(value).text)
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
        scrub_json(value)


def test_json_nested_without_end_is_refused() -> None:
    value: list[object] = []
    for _ in range(MAX_DEPTH - 1):
        value = [value]
    assert scrub_json(value).text == "[" * MAX_DEPTH + "]" * MAX_DEPTH
    with pytest.raises(InvalidInput):
        scrub_json([value])


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
            " curl -u a:",
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
    once = scrub(text)
    assert scrub(once.text) == (once.text, ())


@given(RISKY_TEXT)
@settings(max_examples=200, deadline=None)
def test_scrubbed_text_is_utf8_without_null(text: str) -> None:
    clean = safe(text)
    assert "\0" not in clean
    assert clean.encode().decode() == clean


@given(ANY_TEXT, st.sampled_from(sorted(TOKENS)), ANY_TEXT)
@settings(max_examples=200, deadline=None)
def test_a_token_between_spaces_never_survives(before: str, kind: str, after: str) -> None:
    assert TOKENS[kind] not in safe(f"{before} {TOKENS[kind]} {after}")


@given(JSON_VALUES)
@settings(max_examples=300, deadline=None)
def test_json_without_secrets_comes_back_as_it_was(value: object) -> None:
    clean = scrub_json(value)
    clean.text.encode()
    assert "\0" not in clean.text
    if not clean.found and "[PRIVATE]" not in clean.text:
        assert _joined(json.loads(clean.text)) == _joined(value)


@given(st.dictionaries(FRAGMENTS, FRAGMENTS | JSON_VALUES, max_size=5))
@settings(max_examples=200, deadline=None)
def test_scrubbing_json_twice_changes_nothing(value: dict[str, object]) -> None:
    once = scrub_json(value)
    assert scrub_json(json.loads(once.text)) == (once.text, ())


def _joined(value: object) -> object:
    """JSON cannot tell a pair of surrogates from the character that they make."""
    return json.loads(json.dumps(value))


@given(st.lists(st.tuples(ANY_TEXT, FRAGMENTS), max_size=5))
@settings(max_examples=300, deadline=None)
def test_json_text_is_still_json_when_it_was_scrubbed_as_text(pairs: list[tuple[str, str]]) -> None:
    text = json.dumps({name: value for name, value in pairs if "private" not in value})
    json.loads(scrub(text).text)


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
    "manifests": "kind: Secret\ndata:\n  a: bcdef\n",
}


@pytest.mark.parametrize("piece", HOSTILE.values(), ids=HOSTILE)
def test_a_megabyte_of_hostile_text_takes_a_bounded_effort(piece: str) -> None:
    text = (piece * (MEGABYTE // len(piece) + 1))[:MEGABYTE]
    once = safe(text)
    assert len(once) <= 4 * MEGABYTE


def test_a_megabyte_of_base64_on_one_line_is_left_as_it_is() -> None:
    text = base64.b64encode(random.Random(7).randbytes(MEGABYTE * 3 // 4)).decode()
    assert safe(text) == text
