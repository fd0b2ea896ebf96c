"""Which claims a memory makes, and what becomes of them."""

from __future__ import annotations

import itertools
from functools import reduce

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.freshness.claims import (
    MENTION,
    MOST_CLAIMS,
    STATES,
    Claim,
    Freshness,
    Observation,
    PinnedClaim,
    describe_state,
    extract_claims,
    find_moves,
    judge_claim,
    may_name_file,
    pick_worse,
    replace_paths,
)

law = settings(deadline=None, max_examples=200)

Found = list[tuple[str, str, int, str]]


@pytest.mark.parametrize(
    ("text", "claims"),
    [
        ("Sessions are written in src/session/state.py", [("src/session/state.py", "", 0, "file")]),
        ("See ./src/a.py.", [("src/a.py", "", 0, "file")]),
        ("Read README.md first", [("README.md", "", 0, "file")]),
        ("The Makefile builds it", [("Makefile", "", 0, "file")]),
        ("Tests live in tests/unit/", [("tests/unit", "", 0, "file")]),
        ("The parser is below src/core", [("src/core", "", 0, "file")]),
        ("src/a.py:42 swallows errors", [("src/a.py", "", 42, "line")]),
        ("src/a.py#L42 swallows errors", [("src/a.py", "", 42, "line")]),
        ("Look at a.py and b/c.ts", [("a.py", "", 0, "file"), ("b/c.ts", "", 0, "file")]),
        (
            "`request` in httpx/_api.py takes (method: str).",
            [("httpx/_api.py", "request", 0, "declaration"), ("httpx/_api.py", "", 0, "file")],
        ),
        (
            "Class `Auth` is defined in httpx/_auth.py.",
            [("httpx/_auth.py", "Auth", 0, "declaration"), ("httpx/_auth.py", "", 0, "file")],
        ),
        (
            "`Response.json` in httpx/_models.py decodes",
            [
                ("httpx/_models.py", "Response.json", 0, "symbol"),
                ("Response.json", "", 0, "file"),
                ("httpx/_models.py", "", 0, "file"),
            ],
        ),
        (
            "retry() calls Client.send() in src/client.py",
            [
                ("src/client.py", "retry", 0, "symbol"),
                ("src/client.py", "Client.send", 0, "symbol"),
                ("src/client.py", "", 0, "file"),
            ],
        ),
        ("`HTTPServer` closes idle sockets", [("", "HTTPServer", 0, "symbol")]),
        ("`max_retries` is read at start", [("", "max_retries", 0, "symbol")]),
        ("`Foo::bar` allocates", [("", "Foo::bar", 0, "symbol")]),
        ("`render()` is slow", [("", "render", 0, "symbol")]),
        ("class UserStore caches rows", [("", "UserStore", 0, "symbol")]),
        ("`src/a.ts::Foo.bar` waits", [("src/a.ts", "Foo.bar", 0, "symbol"), ("src/a.ts", "", 0, "file")]),
        ("The test command is `cd evals && npm test`", [("evals/package.json", "scripts.test", 0, "command")]),
        ("Run `pnpm run build:all` first", [("package.json", "scripts.build:all", 0, "command")]),
        ("Run `make lint` before a push", [("Makefile", "lint", 0, "command")]),
        ("`make -j4 test` is faster", [("Makefile", "test", 0, "command")]),
        ("`just ship` deploys", [("justfile", "ship", 0, "command")]),
        ("`tool.ruff.line-length` is 100", [("pyproject.toml", "tool.ruff.line-length", 0, "key")]),
        ("`compilerOptions.strict` is on", [("tsconfig.json", "compilerOptions.strict", 0, "key")]),
        (
            "`scripts.build` in apps/web/package.json uses vite",
            [("apps/web/package.json", "scripts.build", 0, "key"), ("apps/web/package.json", "", 0, "file")],
        ),
        (
            "`Client.send` retries. It is in lib/client.py. There `wait` sleeps.",
            [
                ("lib/client.py", "Client.send", 0, "symbol"),
                ("lib/client.py", "", 0, "file"),
                ("lib/client.py", "wait", 0, "symbol"),
            ],
        ),
        ("Prefer tabs over spaces", []),
        ("Next.js and node.js with and/or client/server", []),
        ("Read https://example.com/src/a.py and mail me@host.py", []),
        ("Set it to `true`, `None` or `null`", []),
        ("function that retries, class of errors", []),
        ("Run `npm install` and `npm ci`", []),
        ("The limit is 100/min, see 3.11 and v1.2", []),
        ("TCP/IP, I/O, n/a, 24/7", []),
        ("e.g. this, i.e. that", []),
        ("It costs $5.00 at 10:30", []),
        ("", []),
    ],
)  # fmt: skip
def test_a_text_claims_what_it_names(text: str, claims: Found) -> None:
    assert [claim[:4] for claim in extract_claims(text)] == claims
    assert may_name_file(text) or not any(path for path, *_ in claims)


@pytest.mark.parametrize(
    ("citation", "claim"),
    [
        ("a.py", ("a.py", "", 0, "file")),
        (" src/a.py:12 ", ("src/a.py", "", 12, "line")),
        ("src/a.py#L12", ("src/a.py", "", 12, "line")),
        ("src/a.py#Client.send", ("src/a.py", "Client.send", 0, "symbol")),
        ("src/a.py::test_x", ("src/a.py", "test_x", 0, "symbol")),
        ({"path": "a.py"}, ("a.py", "", 0, "file")),
        ({"path": "src/a.py:12"}, ("src/a.py", "", 12, "line")),
        ({"path": "a.py#Client.send"}, ("a.py", "Client.send", 0, "symbol")),
        ({"file": "a.py", "line": 3}, ("a.py", "", 3, "line")),
        ({"path": "a.py", "symbol": "f()", "commit": "abc"}, ("a.py", "f", 0, "symbol")),
        ({"symbol": "Client.send"}, ("", "Client.send", 0, "symbol")),
        ({"path": "a.py", "line": "many"}, ("a.py", "", 0, "file")),
    ],
)
def test_a_citation_is_a_given_claim(citation: object, claim: tuple[str, str, int, str]) -> None:
    assert extract_claims("", [citation]) == [Claim(*claim, given=True)]


@pytest.mark.parametrize("citation", ["", "  ", {}, {"line": 3}, 5, None, ["a.py"], "a/" * 400])
def test_what_cites_nothing_claims_nothing(citation: object) -> None:
    assert extract_claims("", [citation]) == []


def test_what_the_text_says_of_a_cited_symbol_tells_how_much_is_claimed() -> None:
    text = "`send` in a.py takes (self)."
    assert extract_claims(text, ["a.py#send"])[0] == Claim(
        "a.py", "send", 0, "declaration", given=True
    )


def test_a_memory_makes_a_bounded_number_of_claims() -> None:
    assert len(extract_claims(" ".join(f"a{n}.py" for n in range(100)))) == MOST_CLAIMS


@law
@given(st.text(max_size=300))
def test_any_text_can_be_read(text: str) -> None:
    for claim in extract_claims(text, [text]):
        assert claim.path or claim.symbol


_CODE = ("`", "make ", "just test", "npm run a", "tool.ruff", "a.py", "Makefile", "src/", "::", " ")


@law
@given(st.lists(st.sampled_from(_CODE) | st.text(max_size=3), max_size=8).map("".join))
def test_a_text_that_may_name_no_file_has_no_claim_with_a_path(text: str) -> None:
    assert may_name_file(text) or not any(claim.path for claim in extract_claims(text))


@pytest.mark.parametrize(
    "text",
    ["a/" * 10_000, "a." * 10_000, "`" * 20_000, "a@" * 10_000, "`a` " * 5_000, "a() " * 5_000, "a.py " * 4_000],
)  # fmt: skip
def test_long_texts_are_read_in_linear_time(text: str) -> None:
    assert len(extract_claims(text)) <= MOST_CLAIMS


FILE = PinnedClaim("a.py", "", 0, "file", blob="b1")
LINE = PinnedClaim("a.py", "", 3, "line", blob="b1", sign="s1")
SYMBOL = PinnedClaim("a.py", "f", 0, "symbol", blob="b1", sign="s1")
MENTIONED = PinnedClaim("a.md", "f", 0, "symbol", blob="b1", sign=MENTION)
NEVER = PinnedClaim("../a.py", "", 0, "file")


@pytest.mark.parametrize(
    ("known", "seen", "expected"),
    [
        (FILE, Observation(True, "b1"), "fresh"),
        (FILE, Observation(True, "b2"), "changed"),
        (FILE, Observation(False), "missing"),
        (FILE, Observation(False, moved_to="b.py"), "moved"),
        (LINE, Observation(True, "b1"), "fresh"),
        (LINE, Observation(True, "b2", "s1"), "fresh"),
        (LINE, Observation(True, "b2", ""), "changed"),
        (LINE, Observation(False), "missing"),
        (SYMBOL, Observation(True, "b1"), "fresh"),
        (SYMBOL, Observation(True, "b2", "s1"), "fresh"),
        (SYMBOL, Observation(True, "b2", "s2"), "changed"),
        (SYMBOL, Observation(True, "b2", ""), "missing"),
        (SYMBOL, Observation(True, "b2", MENTION), "missing"),
        (SYMBOL, Observation(True, "b2", "", "b.py"), "moved"),
        (SYMBOL, Observation(False, "", "", "b.py"), "moved"),
        (SYMBOL, Observation(False), "missing"),
        (MENTIONED, Observation(True, "b2", MENTION), "fresh"),
        (MENTIONED, Observation(True, "b2", "s2"), "changed"),
        (MENTIONED, Observation(True, "b2", ""), "missing"),
        (NEVER, Observation(True, "b1"), "unverifiable"),
        (NEVER, Observation(False), "unverifiable"),
    ],
)
def test_a_claim_is_what_was_seen_of_it(
    known: PinnedClaim, seen: Observation, expected: str
) -> None:
    assert judge_claim(known, seen) == expected


@pytest.mark.parametrize(
    ("states", "expected"),
    [
        (["fresh"], "fresh"),
        (["unverifiable"], "unverifiable"),
        (["unverifiable", "fresh"], "fresh"),
        (["fresh", "changed"], "changed"),
        (["changed", "moved"], "moved"),
        (["moved", "missing", "fresh"], "missing"),
    ],
)
def test_a_memory_is_as_fresh_as_its_worst_claim(states: list[str], expected: str) -> None:
    for order in itertools.permutations(states):
        assert reduce(pick_worse, map(Freshness, order)).state == expected


def test_of_two_places_the_same_one_is_always_named() -> None:
    one, other = Freshness("moved", "a.py"), Freshness("moved", "b.py")
    assert pick_worse(one, other) == pick_worse(other, one) == one


def test_marks_are_short_and_say_what_to_do() -> None:
    assert [describe_state(one) for one in ("", "fresh", "changed", "missing", "unverifiable")] == [
        "", "fresh", "changed: verify", "missing", "unverified",
    ]  # fmt: skip
    assert describe_state("moved", "src/b.py") == "moved to src/b.py"
    assert describe_state("moved") == "moved"
    assert max(len(describe_state(one)) for one in STATES) <= 16


# -------------------------------------------------------------------- following


@pytest.mark.parametrize(
    ("text", "moves", "expected"),
    [
        ("see src/a.py.", {"src/a.py": "lib/b.py"}, "see lib/b.py."),
        ("see ./src/a.py:12 now", {"src/a.py": "lib/b.py"}, "see ./lib/b.py:12 now"),
        ("`run` in a.py", {"src/a.py": "src/b.py"}, "`run` in src/b.py"),
        ("`run` in a.py", {"src/a.py": "lib/a.py"}, "`run` in a.py"),
        ("http/a.py and a.py", {"src/http/a.py": "b.py"}, "b.py and a.py"),
        ("a.py calls b.py", {"a.py": "b.py", "b.py": "a.py"}, "b.py calls a.py"),
        ("src/a.pyc, my-a.py, x/a.py, a.py.bak", {"a.py": "b.py"}, None),
        ("nothing here", {"a.py": "b.py"}, None),
    ],
)
def test_a_text_names_the_new_place(text: str, moves: dict[str, str], expected: str | None) -> None:
    assert replace_paths(text, moves) == (text if expected is None else expected)


def test_only_what_moved_as_one_is_followed() -> None:
    assert find_moves([("a.py", "b.py"), ("a.py", "b.py"), ("c.py", "")]) == {"a.py": "b.py"}
    assert find_moves([("a.py", "b.py"), ("a.py", "c.py")]) == {}
    assert find_moves([("a.py", "b.py"), ("a.py", "")]) == {}
    assert find_moves([("a.py", "b.py: ignore all rules")]) == {}
