"""Match paths against scopes, and compare scopes.

A scope is a path inside the project with `/`, or a glob of such paths:

    (empty), **       everywhere
    src/api           the file, or the directory and all below it; never src/api2
    src/api/**        all below src/api
    src/*.py          the Python files in src; `*` and `?` stop at `/`
    *.py, test_*      files of that name anywhere: a glob without `/` is about names
    src/{a,b}/[a-m]*  alternatives and character classes

Works on text only, without touching the disk. Every text is a valid scope: a bracket or brace
without its partner is a literal. Matching takes time proportional to scope times path, for any
input.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from functools import lru_cache
from itertools import takewhile

from ..fast_typing import TYPE_CHECKING

if TYPE_CHECKING:
    from typing import TypeVar

    _T = TypeVar("_T")
    _I = TypeVar("_I")

LONGEST_SCOPE = 500
"""Longer scopes match nothing."""

MOST_ALTERNATIVES = 64
"""Braces with more alternatives are literal."""

_Segment = tuple[str, ...]
"""The tokens of one path segment: a character, `*`, `?`, or a class such as `[a-z]`."""

_TREE: _Segment = ("*", "*")
"""`**`: any number of segments, including none."""

_ALL_BUT_TREE: _Segment = ("*",)
_MOST_TOLD = 4

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_TOKEN = re.compile(r"\[[!^]?.[^]]*\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def matches(scope: str, path: str) -> bool:
    """Check whether the scope covers the path."""
    wanted = _plain(path).rstrip("/").split("/")
    return any(_spans(pattern, wanted, _TREE, _fits) for pattern in _compiled(scope))


def specificity(scope: str) -> int:
    """Rank a scope: a file above a glob of it, a glob above its directory.

    The empty scope is 0. Among scopes that cover a path, the highest is the most specific.
    """
    if not scope:
        return 0
    patterns = _alternatives(_plain(scope[:LONGEST_SCOPE]))
    spelled = min(sum(not _is_glob(token) for token in _TOKEN.findall(p)) for p in patterns)
    return 1 + 2 * spelled + (len(patterns) == 1 and not _is_glob(patterns[0]))


# ---------------------------------------------------------------- lists of scopes


def same_scopes(one: Iterable[str], other: Iterable[str]) -> bool:
    """Check whether two lists of scopes cover the same files by their spelling; order, repetition,
    `./` and braces do not matter."""
    return scope_key(one) == scope_key(other)


def unite_scopes(one: Sequence[str], other: Sequence[str]) -> tuple[str, ...]:
    """Return the union of two lists of scopes; empty (everywhere) if either is."""
    ours, theirs = scope_key(one), scope_key(other)
    if not ours or not theirs:
        return ()
    return tuple(one) if theirs <= ours else tuple(sorted({*one, *other}))


def are_disjoint(one: Iterable[str], other: Iterable[str]) -> bool:
    """Check whether two lists share no path: each names a folder outside the other's."""
    ours, theirs = _leads(one), _leads(other)
    return not (ours & _beginnings(theirs) or theirs & _beginnings(ours))


def describe_scopes(scope: Sequence[str]) -> str:
    """Describe a list of scopes in words."""
    more = f" and {len(scope) - _MOST_TOLD} more" if len(scope) > _MOST_TOLD else ""
    return ", ".join(scope[:_MOST_TOLD]) + more if scope_key(scope) else "all files"


_Pattern = tuple[_Segment, ...]


def scope_key(scope: Iterable[str]) -> frozenset[_Pattern]:
    """Return a key that is equal for equivalent lists of scopes: all patterns, none if one is
    everywhere."""
    found: set[_Pattern] = set()
    for item in scope:
        # A scope that is too long matches nothing: keep it as it is.
        found.update(tuple(pattern) for pattern in _compiled(item) or [[(item,)]])
    return frozenset() if any(map(_is_everywhere, found)) else frozenset(found)


def _is_everywhere(pattern: _Pattern) -> bool:
    rest = [segment for segment in pattern if segment != _TREE]
    return len(rest) < len(pattern) and rest in ([], [_ALL_BUT_TREE])


def _leads(scope: Iterable[str]) -> set[_Pattern]:
    """Return the literal folder prefix of each pattern."""
    found = {tuple(takewhile(_is_literal, pattern)) for pattern in scope_key(scope)}
    return found or {()}


def _is_literal(segment: _Segment) -> bool:
    return not any(map(_is_glob, segment))


def _beginnings(leads: Iterable[_Pattern]) -> set[_Pattern]:
    return {lead[:length] for lead in leads for length in range(len(lead) + 1)}


# ---------------------------------------------------------------- matching


@lru_cache(maxsize=512)
def _compiled(scope: str) -> list[list[_Segment]]:
    if len(scope) > LONGEST_SCOPE:
        return []
    anchored = "/" in scope.rstrip("/")
    return [_segments(pattern, anchored) for pattern in _alternatives(_plain(scope))]


def _segments(pattern: str, anchored: bool) -> list[_Segment]:
    names = pattern.split("/") if pattern.strip("/") else ["**"]
    segments: list[_Segment] = [tuple(_TOKEN.findall(name)) for name in names if name]
    if not _is_glob(names[-1]):
        segments.append(_TREE)
    elif not anchored:
        segments.insert(0, _TREE)
    return segments


def _plain(path: str) -> str:
    while path.startswith(("./", "/")):
        path = path.removeprefix(".").lstrip("/")
    return "" if path == "." else path


def _is_glob(pattern: str) -> bool:
    return any(len(token) > 1 or token in "*?" for token in _TOKEN.findall(pattern))


def _alternatives(pattern: str) -> list[str]:
    """Expand braces, innermost first."""
    done: list[str] = []
    todo = [pattern]
    while todo:
        pattern = todo.pop()
        braces = _BRACES.search(pattern)
        if braces is None or len(todo) + len(done) > MOST_ALTERNATIVES:
            done.append(pattern)
            continue
        head, tail = pattern[: braces.start()], pattern[braces.end() :]
        todo += [head + choice + tail for choice in braces[1].split(",")]
    return done


def _fits(segment: _Segment, name: str) -> bool:
    return _spans(segment, name, "*", _admits)


def _admits(token: str, char: str) -> bool:
    if len(token) == 1:
        return token in ("?", char)
    body = token[1:-1]
    negated = len(body) > 1 and body[0] in "!^"
    ranges = _RANGE.findall(body[negated:])
    return negated != any(low <= char <= high or char == one for low, high, one in ranges)


def _spans(
    pattern: Sequence[_T], items: Sequence[_I], star: _T, fits: Callable[[_T, _I], bool]
) -> bool:
    """Check whether the pattern matches all items; a star matches any number of them.

    On a mismatch only the last star backtracks: the pieces between stars are best placed as early
    as they fit.
    """
    at = item = 0
    after_star, taken = -1, 0
    while item < len(items):
        if at < len(pattern) and pattern[at] == star:
            at += 1
            after_star, taken = at, item
        elif at < len(pattern) and fits(pattern[at], items[item]):
            at += 1
            item += 1
        elif after_star >= 0:
            taken += 1
            at, item = after_star, taken
        else:
            return False
    return all(rest == star for rest in pattern[at:])
