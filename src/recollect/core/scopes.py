"""Where a memory applies: which paths a scope covers, and which of two scopes says more.

A scope is a path inside the project with `/`, or a glob of such paths:

    (empty), **       everywhere
    src/api           the file, or the directory and all below it; never src/api2
    src/api/**        all below src/api
    src/*.py          the Python files in src; `*` and `?` stop at `/`
    *.py, test_*      files of that name anywhere: a glob without `/` is about names
    src/{a,b}/[a-m]*  alternatives and character classes

It knows paths as text only, and no disk. Any text is some scope: a bracket or brace without its
partner stands for itself. Matching takes time proportional to scope times path, whatever they
hold.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

_T = TypeVar("_T")
_I = TypeVar("_I")

LONGEST_SCOPE = 500
"""Longer ones cover nothing."""

MOST_ALTERNATIVES = 64
"""Braces that would make more than this stand for themselves."""

_Segment = tuple[str, ...]
"""The tokens of one path segment: a character, `*`, `?`, or a class such as `[a-z]`."""

_TREE: _Segment = ("*", "*")
"""`**`: any number of segments, also none."""

_BRACES = re.compile(r"\{([^{}]*,[^{}]*)\}")
_TOKEN = re.compile(r"\[[!^]?.[^]]*\]|.", re.DOTALL)
_RANGE = re.compile(r"(.)-(.)|(.)", re.DOTALL)


def matches(scope: str, path: str) -> bool:
    """Whether the scope covers the path."""
    wanted = _plain(path).rstrip("/").split("/")
    return any(_spans(pattern, wanted, _TREE, _fits) for pattern in _compiled(scope))


def specificity(scope: str) -> int:
    """How much a scope spells out: a file more than a glob of it, that more than its directory.

    The empty scope is 0. Among scopes that cover a path, the highest is the most specific.
    """
    if not scope:
        return 0
    patterns = _alternatives(_plain(scope[:LONGEST_SCOPE]))
    spelled = min(sum(not _is_glob(token) for token in _TOKEN.findall(p)) for p in patterns)
    return 1 + 2 * spelled + (len(patterns) == 1 and not _is_glob(patterns[0]))


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
    """The patterns that the braces stand for, innermost braces first."""
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
    """Whether the pattern covers all items, the star any number of them.

    On a mismatch only the last star gives way: whatever an earlier one took, the pieces between
    stars are best placed as early as they fit.
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
