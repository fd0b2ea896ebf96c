"""Read a statement: its clauses, its content words and their signs, and which words are names or
values."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from ..fast_typing import NamedTuple
from .terms import stem

_CLAUSE = re.compile(
    r"[.;:!?](?=\s|$)|,(?=\s)|\n| - | – | — |\b(?:but|because|so that)\b", re.IGNORECASE
)
_EDGES = "\"'`()[]{}<>.,;:!?*“”‘’«»"


class ReadWord(NamedTuple):
    """One word as written, and its stem for comparing; a `named` one looks like a name or value."""

    raw: str
    stem: str
    named: bool


@lru_cache(maxsize=256)
def read_clauses(text: str) -> tuple[tuple[ReadWord, ...], ...]:
    """Return the words of each clause of a text."""
    spelled = text.replace("’", "'")
    small = spelled.casefold()
    if "n't" in small or "cannot" in small:
        spelled = re.sub(r"(?i)\bcannot\b|\bcan't\b", "can not", spelled)
        spelled = re.sub(r"(?i)\bwon't\b", "will not", spelled)
        spelled = re.sub(r"(?i)\b(\w+)n't\b", r"\1 not", spelled)
    found = []
    for clause in _CLAUSE.split(spelled):
        words = [_word(piece, not at) for at, piece in enumerate(clause.split())]
        found.append(tuple([word for word in words if word.raw]))
    return tuple([clause for clause in found if clause])


@lru_cache(maxsize=2048)
def _word(piece: str, first: bool) -> ReadWord:
    """Read a word; cached, because the statements that are compared share most of theirs."""
    raw = piece.strip(_EDGES)
    small = raw.casefold()
    inner = any(map(raw.count, "0123456789./_-@:+#"))
    capital = raw[:1].isupper() and not first
    root = stem(small) if small.isalpha() else small
    return ReadWord(
        raw, root, bool(raw) and ("`" in piece or inner or capital or root in _families())
    )


@lru_cache(maxsize=256)
def content_words(text: str) -> Sequence[ReadWord]:
    """Return the content words of a text, in their order."""
    fillers = stems_of(FILLERS)
    return [word for clause in read_clauses(text) for word in clause if word.stem not in fillers]


def is_among(word: ReadWord, listed: str) -> bool:
    """Check whether a word is one of a list, in any inflection."""
    return word.stem in stems_of(listed)


@cache
def set_of(listed: str) -> frozenset[str]:
    """Return the words of a list."""
    return frozenset(listed.split())


@cache
def stems_of(listed: str) -> frozenset[str]:
    """Return the stems of the words in a list."""
    return frozenset(map(stem, listed.split()))


FILLERS = """
    a an the our we i you it its this that these those now currently actually please just still
    already is are be been was has have do does did of as there only really
"""

_FAMILIES = """
    npm pnpm yarn bun deno / pip uv poetry pipenv conda pdm rye hatch /
    postgresql postgres mysql mariadb sqlite mongodb oracle dynamodb cockroachdb duckdb /
    jest vitest mocha jasmine ava / pytest unittest nose / black yapf autopep8 / ruff flake8 pylint
    / eslint biome oxlint tslint / tabs spaces / master main develop trunk /
    webpack vite rollup esbuild parcel turbopack / maven gradle bazel sbt ant /
    react vue svelte angular solid / flask fastapi django starlette / express fastify koa hono /
    redis memcached valkey / kafka rabbitmq nats sqs / docker podman / aws gcp azure /
    jenkins circleci travis / ubuntu debian alpine fedora / node nodejs bun deno /
    mit apache gpl bsd / json yaml toml xml ini / vim neovim emacs vscode / bash zsh fish /
    enabled disabled / true false / on off / yes no / light dark / public private / single double /
    monday tuesday wednesday thursday friday saturday sunday
"""
"""Groups of alternatives, separated by slashes: a thing is or uses only one of a group."""


@cache
def _families() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_FAMILIES.split("/")):
        for word in line.split():
            found.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def find_families(root: str) -> frozenset[int]:
    """Return the numbers of the groups that a stem belongs to."""
    return _families().get(root, frozenset())


# ---------------------------------------------------------------- the sign of words

_NEGATORS = "not never no without avoid stop cannot neither nor instead rather over"
MOODS = """
    always must should shall will would can could may might need ever use prefer choose chose
    with than want ensure to
"""
_OPPOSITES = """
    allowed permitted / forbidden prohibited disallowed banned denied
    required mandatory / optional unnecessary
    safe secure / unsafe insecure
    supported available / unsupported unavailable
    valid correct / invalid incorrect wrong
    stable reliable / unstable unreliable flaky
    possible feasible / impossible infeasible
    include contain / exclude omit
    accept trust / reject refuse distrust
"""


_FOR_GOOD = re.compile(r"(?i)\b(?:from now on|going forward|any ?more)\b,?")


@cache
def _sides() -> dict[str, tuple[str, bool]]:
    """Map each stem to the first word of its line of opposites, and to its side of it."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _OPPOSITES.strip().splitlines():
        sides = [[stem(word) for word in side.split()] for side in line.split("/")]
        for side, words in zip((True, False), sides, strict=True):
            found.update(dict.fromkeys(words, (sides[0][0], side)))
    return found


@cache
def _negative() -> frozenset[str]:
    """Return the stems without which every word of a statement has the positive sign."""
    return stems_of(_NEGATORS) | {word for word, (_, side) in _sides().items() if not side}


def may_negate(statement: tuple[str, str]) -> bool:
    """Check whether a word of a statement may have the negative sign."""
    words = (word for text in statement for clause in read_clauses(text) for word in clause)
    return not _negative().isdisjoint([word.stem for word in words])


@lru_cache(maxsize=256)
def read_signs(statement: tuple[str, str]) -> Mapping[str, bool]:
    """Return every content word with its sign: a negation turns the rest of its clause."""
    found: dict[str, bool] = {}
    negators, silent, sides = stems_of(_NEGATORS), stems_of(FILLERS + MOODS), _sides()
    for text in statement:
        for clause in read_clauses(_FOR_GOOD.sub("", text)):
            sign = True
            for word in clause:
                if word.stem in negators:
                    sign = not sign
                elif word.stem not in silent:
                    name, side = sides.get(word.stem, (word.stem, True))
                    found[name] = sign == side
    return found
