"""Which paths a scope covers, and which scope says more."""

from __future__ import annotations

import fnmatch
import itertools
import sys
from collections.abc import Sequence
from types import FrameType
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.text import globs as text_globs
from recollect.text.globs import LONGEST_SCOPE, matches, specificity

law = settings(deadline=None, max_examples=200)
names = st.text("abc.", min_size=1, max_size=4).filter(lambda name: name.strip("."))
paths = st.lists(names, min_size=1, max_size=4).map("/".join)
globs = st.text("ab*?[]!-{},/.", max_size=20)


@pytest.mark.parametrize(
    ("scope", "covered"),
    [
        ("src/a", "src/a src/a/x.py src/a/b/c"),
        ("src/a/", "src/a src/a/x.py"),
        ("./src/a", "src/a/x.py ./src/a /src/a/b"),
        ("/src/a", "src/a/x.py"),
        ("src/a.py", "src/a.py"),
        ("src/api/**", "src/api/x src/api/x/y.py"),
        ("src/*.py", "src/a.py src/.py"),
        ("src/*", "src/a src/a.py"),
        ("*.py", "a.py src/a.py src/b/a.py"),
        ("test_*", "test_a.py tests/test_a.py"),
        ("/*.py", "a.py"),
        ("**/x.py", "x.py a/x.py a/b/x.py"),
        ("a/**/b", "a/b a/x/b a/x/y/b a/x/b/below"),
        ("a/**/*.py", "a/x.py a/b/c/x.py"),
        ("src/?.py", "src/a.py src/é.py"),
        ("src/[a-c]*.py", "src/a.py src/c1.py"),
        ("src/[!a-c].py", "src/d.py src/-.py"),
        ("src/[^a-c].py", "src/d.py"),
        ("src/[]x].py", "src/].py src/x.py"),
        ("src/[*].py", "src/*.py"),
        ("{src,tests}/**", "src/a tests/a/b"),
        ("{src,tests}", "src/a tests/a/b src"),
        ("*.{ts,tsx}", "a.ts src/a.tsx"),
        ("src/{a/b,c}/x", "src/a/b/x src/c/x"),
        ("{a,{b,c}d}", "a bd cd"),
        ("", "a a/b"),
        ("**", "a a/b"),
        ("*", "a a/b"),
        (".", "a a/b"),
        ("/", "a a/b"),
        ("src/[a", "src/[a src/[a/b"),
        ("src/{a", "src/{a src/{a/b"),
        ("a{}b", "a{}b"),
        ("a[]b", "a[]b"),
    ],
)
def test_a_scope_covers_these_paths(scope: str, covered: str) -> None:
    assert [path for path in covered.split() if not matches(scope, path)] == []


@pytest.mark.parametrize(
    ("scope", "outside"),
    [
        ("src/a", "src/ab.py src/ab src x/src/a Src/a src/A"),
        ("src/api/**", "src/apis src/ap x/src/api/y"),
        ("src/*.py", "src/b/a.py a.py src/a.pyc src/a.py/b"),
        ("src/*", "src/a/b src"),
        ("*.py", "a.pyc a.py/b"),
        ("/*.py", "src/a.py"),
        ("**/x.py", "xx.py a/xx.py x.pyc"),
        ("a/**/b", "a/xb a/b2 b"),
        ("src/?.py", "src/ab.py src/.py"),
        ("src/[a-c].py", "src/d.py src/-.py src/[a-c].py"),
        ("src/[!a-c].py", "src/a.py src/dd.py"),
        ("src/[*].py", "src/a.py"),
        ("{src,tests}/**", "docs/a srctests/a"),
        ("*.{ts,tsx}", "a.js a.ts.map"),
        ("docs", "src/docs documents"),
    ],
)
def test_a_scope_leaves_these_paths_alone(scope: str, outside: str) -> None:
    assert [path for path in outside.split() if matches(scope, path)] == []


@law
@given(paths)
def test_a_path_covers_itself_and_what_is_below_but_no_longer_name(path: str) -> None:
    assert matches(path, path)
    assert matches(path, f"{path}/x/y")
    assert matches(f"{path}/**", f"{path}/x/y")
    assert not matches(path, f"{path}x")
    assert not matches(path, f"x/{path}")


@law
@given(st.text("ab*?", min_size=1, max_size=8), st.text("ab", min_size=1, max_size=8))
def test_within_a_directory_a_glob_is_what_fnmatch_says(glob: str, name: str) -> None:
    assert matches(f"d/x{glob}", f"d/x{name}") == fnmatch.fnmatchcase(name, glob)


@law
@given(globs, globs)
def test_any_text_is_a_scope_and_a_path(scope: str, path: str) -> None:
    assert matches(scope, path) in (True, False)
    assert specificity(scope) >= 0
    assert matches("", path)
    assert matches("**", path)


@law
@given(st.lists(paths, min_size=2, max_size=4), paths)
def test_braces_cover_what_their_alternatives_cover(choices: list[str], path: str) -> None:
    assert matches(f"{{{','.join(choices)}}}", path) == any(matches(one, path) for one in choices)


@pytest.mark.parametrize(
    ("scope", "path"),
    [
        ("a*" * 200 + "b", "a" * 2000),
        ("*a" * 200 + "b", "a" * 2000),
        ("**/a*/" * 80 + "b", "a/" * 1000),
        ("{a,b}" * 90, "a" * 90),
        ("{" * 400, "{" * 400),
        ("[" * 400, "[" * 400),
        ("{a,{a,{a,{a,{a,a}}}}}" * 20, "a" * 20),
    ],
)
def test_no_scope_takes_more_steps_than_scope_times_path(scope: str, path: str) -> None:
    calls = itertools.count()

    def count(frame: FrameType, event: str, argument: Any) -> None:
        next(calls)

    sys.setprofile(count)
    try:
        matches(scope, path)
    finally:
        sys.setprofile(None)
    assert next(calls) < 20 * len(scope) * len(path)


def test_a_scope_that_is_too_long_covers_nothing() -> None:
    assert not matches("a" * (LONGEST_SCOPE + 1), "a" * (LONGEST_SCOPE + 1))
    assert specificity("a" * 10**6) == specificity("a" * LONGEST_SCOPE)


def test_the_more_a_scope_spells_out_the_more_specific_it_is() -> None:
    ordered = [
        "src/api/users.py",
        "src/api/u*.py",
        "src/api/*.py",
        "src/api/**",
        "src/api",
        "src/**",
        "src",
        "**",
        "",
    ]
    assert all(matches(scope, "src/api/users.py") for scope in ordered)
    assert sorted(ordered, key=specificity, reverse=True) == ordered
    assert len({specificity(scope) for scope in ordered}) == len(ordered)


def test_a_leading_slash_or_dot_makes_nothing_more_specific() -> None:
    assert specificity("./src/a") == specificity("/src/a") == specificity("src/a")
    assert specificity("{src,lib}/a") == specificity("src/{a,b}") < specificity("src/a")


@law
@given(paths)
def test_the_path_itself_is_the_most_specific_scope_that_covers_it(path: str) -> None:
    folder, _, name = path.rpartition("/")
    others = ["", "**", f"*{name}", f"{path}*", f"{folder}/*" if folder else "*"]
    assert all(specificity(path) > specificity(scope) for scope in others)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ((), (), True),
        ((), ("**",), True),
        (("**/*",), ("",), True),
        (("*/*/**",), (), False),
        (("*",), (), True),
        (("a", "b"), ("b", "a", "b"), True),
        (("./src/api/",), ("src/api",), True),
        (("src/{a,b}/**",), ("src/a/**", "src/b/**"), True),
        (("src/**", "**"), ("web/**", ""), True),
        (("*.py",), ("/*.py",), False),
        (("src/*",), ("src/*/",), False),
        (("src/**",), ("src/**/*.py",), False),
        (("src/**",), (), False),
        (("x" * 501,), (), False),
    ],
)
def test_lists_of_scopes_mean_the_same_files(
    one: tuple[str, ...], other: tuple[str, ...], expected: bool
) -> None:
    assert text_globs.same_scopes(one, other) is expected
    assert text_globs.same_scopes(other, one) is expected


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        (("src/**",), ("web/**",), True),
        (("src/**/*.py",), ("web/**", "docs"), True),
        (("src/api/**",), ("src/apix/**",), True),
        (("src/**",), ("src/api",), False),
        (("src/{a,b}",), ("src/b/c",), False),
        (("src/**", "web/**"), ("web/x",), False),
        (("*.py",), ("web/**",), False),
        (("src/**",), (), False),
        ((), (), False),
    ],
)
def test_lists_of_scopes_that_no_path_is_in_both_of(
    one: tuple[str, ...], other: tuple[str, ...], expected: bool
) -> None:
    assert text_globs.are_disjoint(one, other) is expected
    assert text_globs.are_disjoint(other, one) is expected


@law
@given(st.lists(globs, max_size=3), st.lists(globs, max_size=3), paths)
def test_a_union_covers_what_either_covers_and_what_is_apart_shares_no_path(
    one: list[str], other: list[str], path: str
) -> None:
    def covers(scope: Sequence[str]) -> bool:
        return not scope or any(text_globs.matches(item, path) for item in scope)

    assert covers(text_globs.unite_scopes(one, other)) or not (covers(one) or covers(other))
    assert not (text_globs.are_disjoint(one, other) and covers(one) and covers(other))
    if text_globs.same_scopes(one, other):
        assert covers(one) == covers(other)
