"""Read a statement: its clauses, its content words and their signs, and which words are names or
values."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
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


_UNCLEAR = "\0"


@lru_cache(maxsize=256)
def skim_stems(text: str) -> tuple[str, ...] | None:
    """Return the stems of `content_words`, at a tenth of the cost; None for a few texts, which must
    be read."""
    small = text.replace("’", "'").casefold()
    if not small.isascii() or " - " in small:
        small = re.sub(" [-–—] ", " ", small)
    if "so that" in small:
        small = re.sub(r"\bso that\b", " ", small)
    found = tuple(filter(None, map(_skim_stem, small.split())))
    return None if _UNCLEAR in found else found


@lru_cache(maxsize=4096)
def _skim_stem(piece: str) -> str:
    """Return the stem of a word in lower case; empty for one that is not a content word."""
    small = piece.strip(_EDGES)
    if small in ("but", "because"):
        return ""
    if "n't" in small or "cannot" in small or re.search(r"\b(?:but|because)\b", small):
        return _UNCLEAR
    root = stem(small) if small.isalpha() else small
    return "" if root in stems_of(FILLERS) else root


def differ_in_much(before: str, after: str, most: int) -> bool:
    """Check from stems alone whether two texts differ in more than one run of `most` words, or than
    numbers: then they need not be read word by word. False if that is not known."""
    ours, theirs = skim_stems(before), skim_stems(after)
    if ours is None or theirs is None:
        return False
    shortest, longest = sorted((len(ours), len(theirs)))
    start = end = 0
    while start < shortest and ours[start] == theirs[start]:
        start += 1
    while end < shortest - start and ours[-1 - end] == theirs[-1 - end]:
        end += 1
    if longest - start - end <= most:
        return False
    if shortest < longest:
        return True
    changed = [pair for pair in zip(ours, theirs, strict=True) if pair[0] != pair[1]]
    return any(stem.isalpha() and stem not in set_of(NUMERALS) for pair in changed for stem in pair)


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

NUMERALS = "two three four five six seven eight nine ten twelve twenty thirty sixty"


class WordChange(NamedTuple):
    """The one run of words that differs, and what stands in front of it and behind it."""

    old: Sequence[ReadWord]
    new: Sequence[ReadWord]
    lead: Sequence[ReadWord]
    rest: Sequence[ReadWord]


def find_change(
    before: Sequence[ReadWord], after: Sequence[ReadWord], longest: int
) -> WordChange | None:
    """Return the one run of at most `longest` words that differs; None if there are several."""
    shortest = min(len(before), len(after))
    start = 0
    while start < shortest and before[start].stem == after[start].stem:
        start += 1
    end = 0
    while end < shortest - start and before[-1 - end].stem == after[-1 - end].stem:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not 0 < len(old) <= longest or not 0 < len(new) <= longest:
        return None
    return WordChange(old, new, before[:start], before[len(before) - end :])


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


_LANGUAGES = """
    arabic chinese czech danish dutch english finnish french german greek hebrew hindi indonesian
    italian japanese korean norwegian polish portuguese romanian russian spanish swedish turkish
    ukrainian vietnamese
"""
_WRITTEN = "answer reply respond response comment docstring message"
"""Texts that are written in one language, unlike documents, which may be translated."""

_FORMATTERS = ("black ruff yapf autopep8", "prettier biome dprint")
CHOSEN = " ".join((_LANGUAGES, *_FORMATTERS))
_FORMATTING = "format formatter reformat"
"""Ruff beside black is a second formatter only where the statement is about formatting."""


def find_choice(text: str) -> list[ReadWord]:
    """Return the words of a statement without those that only say that it holds from now on."""
    words = content_words(re.sub(_FOR_GOOD, "", text))
    return [word for word in words if not is_among(word, MOODS)]


def are_rivals(one: str, other: str, before: Sequence[str], behind: Sequence[str]) -> bool:
    """Check whether two stems are two languages to answer in, or two formatters, by the stems that
    stand before and behind both."""
    languages = stems_of(_LANGUAGES)
    if one in languages and other in languages:
        return not behind and before[-1:] == ["in"] and not stems_of(_WRITTEN).isdisjoint(before)
    formats = not stems_of(_FORMATTING).isdisjoint((*before, *behind))
    return formats and any({one, other} <= stems_of(group) for group in _FORMATTERS)


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
    for text in statement:
        stems = skim_stems(text)
        if stems is None:
            stems = tuple([word.stem for clause in read_clauses(text) for word in clause])
        if not _negative().isdisjoint(stems):
            return True
    return False


_LASTING = "from now", "going forward", "anymore", "any more"


@lru_cache(maxsize=256)
def skim_signs(statement: tuple[str, str]) -> frozenset[str] | None:
    """Return the words of `read_signs`, without their signs, at a tenth of the cost; None if they
    may be others."""
    subject, text = map(skim_stems, statement)
    if subject is None or text is None:
        return None
    small = " ".join(statement).casefold()
    for lasting in _LASTING:
        if lasting in small:
            return None
    return frozenset(filter(None, map(_skim_name, subject + text)))


@lru_cache(maxsize=4096)
def _skim_name(root: str) -> str:
    """Return the name by which `read_signs` knows a stem; empty for one that it leaves out."""
    silent = root in stems_of(_NEGATORS) or root in stems_of(FILLERS + MOODS)
    return "" if silent else _sides().get(root, (root, True))[0]


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


# ---------------------------------------------------------------- acts

_ACTS = """
    test run check build deploy release ship publish verify try execute start launch install push
    merge review meet notify ask tell post report scan compile validate
"""
"""Acts that are repeated with another version, day or place."""

_SAID_BEFORE = f"{MOODS} we you i please just also"
_STATES = "is are was were be"
"""With one of these a sentence tells how something is: "test command is …"."""


def adds_up(text: str, values: Collection[str]) -> bool:
    """Check whether a text asks for an act that can be done with several values: another order to
    test with another version does not end it. An amount, `8 workers`, is one value."""
    for clause in read_clauses(text):
        words = [one for one in clause if not is_among(one, _SAID_BEFORE)]
        at = next((place for place, one in enumerate(words) if one.stem in values), 0)
        small = [one.raw.casefold() for one in clause]
        if not at or "only" in small:
            continue
        is_amount = (
            words[at].raw[:1].isdigit() and words[at + 1 : at + 2] and _is_plural(words[at + 1])
        )
        is_order = words[0].raw.casefold() in set_of(_ACTS) and not set_of(_STATES) & {*small}
        if not is_amount and (is_order or "support" in [one.stem for one in words]):
            return True
    return False


def _is_plural(word: ReadWord) -> bool:
    return word.raw.casefold().endswith("s") and not is_among(word, FILLERS)
