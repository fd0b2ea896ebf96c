"""Whether two statements say the same, the opposite, or the same with another value.

A statement is a subject and a text. Four answers, the first that holds:

    contradicts   the same words with the opposite sign        always use tabs / never use tabs
    revises       the same words but for a value               PostgreSQL 14 / PostgreSQL 16
    near          Jaccard over the words of `subject|text` of at least 0.85
    (nothing)     related at most

It decides from the words alone. It does not know what is true, which statement is trusted, or
what the writer wants: near and opposite statements are shown to the writer, never merged here.
Precision comes before recall: a revision supersedes what was believed before.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache, lru_cache

from ..fast_typing import NamedTuple
from ..text.terms import split_lower_words, stem

Statement = tuple[str, str]
"""A subject, which may be empty, and a text."""

NEAR = 0.85
"""The similarity from which two statements are shown as near-duplicates."""

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_VALUE = re.compile(r"[<>=~^$€£#]*v?[0-9]+(?:[.,:/-][0-9]+)*(?:%|[a-z]{1,3})?")
_CLAUSE = re.compile(
    r"[.;:!?](?=\s|$)|,(?=\s)|\n| - | – | — |\b(?:but|because|so that)\b", re.IGNORECASE
)
_EDGES = "\"'`()[]{}<>.,;:!?*“”‘’«»"


@lru_cache(maxsize=256)
def split_words(subject: str, text: str) -> frozenset[str]:
    """Return the words of `subject|text`: lower case, punctuation to spaces."""
    return frozenset(split_lower_words(f"{subject}|{text}"))


def jaccard(a: frozenset[str], b: frozenset[str]) -> float:
    """Return the share of words that two sets have in common; 0 for two empty sets."""
    shared = len(a & b)
    return shared / (len(a) + len(b) - shared) if a or b else 0.0


def is_near(a: Statement, b: Statement) -> bool:
    """Check whether two statements share enough words that a writer should see both."""
    return jaccard(split_words(*a), split_words(*b)) >= NEAR


def find_relation(old: Statement, new: Statement) -> str:
    """Return the relation of the new statement to the old: contradicts, revises, near or none."""
    if contradicts(old, new):
        return "contradicts"
    if _has_another_value(old, new):
        return "revises"
    return "near" if is_near(old, new) else ""


# ---------------------------------------------------------------- reading


class _Word(NamedTuple):
    """One word as it stands, and as it is compared; a `named` one looks like a name or value."""

    raw: str
    stem: str
    named: bool


@lru_cache(maxsize=256)
def _clauses(text: str) -> tuple[tuple[_Word, ...], ...]:
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
def _word(piece: str, first: bool) -> _Word:
    """Read a word; cached, because the statements that are compared share most of theirs."""
    raw = piece.strip(_EDGES)
    small = raw.casefold()
    inner = any(map(raw.count, "0123456789./_-@:+#"))
    capital = raw[:1].isupper() and not first
    root = stem(small) if small.isalpha() else small
    return _Word(raw, root, bool(raw) and ("`" in piece or inner or capital or root in _families()))


@lru_cache(maxsize=256)
def _content(text: str) -> Sequence[_Word]:
    """Return the content words of a text, in their order."""
    fillers = _stems_of(_FILLERS)
    return [word for clause in _clauses(text) for word in clause if word.stem not in fillers]


def _among(word: _Word, listed: str) -> bool:
    return word.stem in _stems_of(listed)


@cache
def _set_of(listed: str) -> frozenset[str]:
    return frozenset(listed.split())


@cache
def _stems_of(listed: str) -> frozenset[str]:
    return frozenset(map(stem, listed.split()))


_FILLERS = """
    a an the our we i you it its this that these those now currently actually please just still
    already is are be been was has have do does did of as there only really
"""

# ---------------------------------------------------------------- the opposite

_NEGATORS = "not never no without avoid stop cannot neither nor instead rather over"
_MOODS = """
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


@cache
def _sides() -> dict[str, tuple[str, bool]]:
    """Map each stem to the first word of its line of opposites, and to its side of it."""
    found: dict[str, tuple[str, bool]] = {}
    for line in _OPPOSITES.strip().splitlines():
        sides = [[stem(word) for word in side.split()] for side in line.split("/")]
        for side, words in zip((True, False), sides, strict=True):
            found.update(dict.fromkeys(words, (sides[0][0], side)))
    return found


@lru_cache(maxsize=256)
def _signed(statement: Statement) -> Mapping[str, bool]:
    """Return every content word with its sign: a negation turns the rest of its clause."""
    found: dict[str, bool] = {}
    negators, silent, sides = _stems_of(_NEGATORS), _stems_of(_FILLERS + _MOODS), _sides()
    for text in statement:
        for clause in _clauses(text):
            sign = True
            for word in clause:
                if word.stem in negators:
                    sign = not sign
                elif word.stem not in silent:
                    name, side = sides.get(word.stem, (word.stem, True))
                    found[name] = sign == side
    return found


def contradicts(a: Statement, b: Statement) -> bool:
    """Check whether two statements differ in the sign of a word and in little else."""
    ours, theirs = _signed(a), _signed(b)
    shared = ours.keys() & theirs.keys()
    if not shared or len(shared) / (len(ours) + len(theirs) - len(shared)) < NEAR:
        return False
    return any(ours[word] != theirs[word] for word in shared)


# ---------------------------------------------------------------- another value

_FAMILIES = """
    npm pnpm yarn bun deno
    pip uv poetry pipenv conda pdm rye hatch
    postgresql postgres mysql mariadb sqlite mongodb oracle dynamodb cockroachdb duckdb
    jest vitest mocha jasmine ava
    pytest unittest nose
    black yapf autopep8
    ruff flake8 pylint
    eslint biome oxlint tslint
    tabs spaces
    master main develop trunk
    webpack vite rollup esbuild parcel turbopack
    maven gradle bazel sbt ant
    react vue svelte angular solid
    flask fastapi django starlette
    express fastify koa hono
    redis memcached valkey
    kafka rabbitmq nats sqs
    docker podman
    aws gcp azure
    jenkins circleci travis
    ubuntu debian alpine fedora
    node nodejs bun deno
    mit apache gpl bsd
    json yaml toml xml ini
    vim neovim emacs vscode
    bash zsh fish
    enabled disabled
    true false
    on off
    yes no
    light dark
    public private
    single double
    monday tuesday wednesday thursday friday saturday sunday
"""
"""What one thing is or uses out of several: a line is a choice of one."""

_SLOTS = """
    version branch command port host hostname url database db store framework library language
    license region zone directory encoding timezone locale default limit timeout size budget level
    mode strategy protocol registry image platform theme indentation endpoint bucket queue cluster
    provider threshold interval retries maximum minimum width length email channel tag stack
"""
_VAGUE_SLOTS = "name path key value tool format style target count address folder file"
"""What has one value at a time; the vague ones only with a word in front. So has whatever does
something: manager, runner, formatter."""

_NO_SLOTS = "user member developer customer number order error other parameter folder never paper"
_ORDINALS = """
    step phase part chapter section worker shard replica ticket issue bug task pr rfc adr item
    line option rule case test sprint week day iteration round attempt example question figure
    table layer stage milestone host server machine player team error http status code user
    fact note message memory entry record number statement sample document page session episode
"""
_FINITE = """
    is are was were has have use uses used run runs support supports need needs require requires
    take takes listen listens fail fails work works break breaks ship ships add adds handle handles
    must should can will cannot
"""
_CHOICES = """
    required used minimum needed installed pinned supported deployed default target latest expected
    mandatory
"""
_REPLACED = re.compile(
    r"(?i),?\s\(?(?:instead of|rather than|no longer|in place of|replacing|formerly|previously)\s"
    r"|,\s*not\s|\s\(was\s"
)
_NUMERALS = "two three four five six seven eight nine ten twelve twenty thirty sixty"
LONGEST_VALUE = 4
"""A changed value of more words than this is another statement."""


@cache
def _families() -> dict[str, frozenset[int]]:
    found: dict[str, set[int]] = {}
    for number, line in enumerate(_FAMILIES.strip().splitlines()):
        for word in line.split():
            found.setdefault(stem(word), set()).add(number)
    return {word: frozenset(numbers) for word, numbers in found.items()}


def _family(root: str) -> frozenset[int]:
    return _families().get(root, frozenset())


def revises(old: Statement, new: Statement) -> bool:
    """Check whether the new statement is the old one with another value."""
    return not contradicts(old, new) and _has_another_value(old, new)


def _has_another_value(old: Statement, new: Statement) -> bool:
    """Check the same of two statements that do not contradict each other."""
    if not _same_subject(old, new):
        return False
    replaced = _REPLACED.search(new[1])
    text = new[1][: replaced.start()] if replaced else new[1]
    before, after = _content(old[1]), _content(text)
    if _stems(before) == _stems(after):
        return False
    subject = _content(new[0]) if old[0] else []
    if len(before) == len(after) and list(map(_masked, before)) == list(map(_masked, after)):
        return bool(subject or _unnumbered(before)) and _other_values(old[1], text)
    if subject and _other_labelled_number(before, after):
        return True
    change = _change(before, after)
    if change is None:
        return False
    if replaced:
        gone = _stems(_content(new[1][replaced.end() :]))
        if set(_stems(change.old)) <= set(gone) and (subject or change.lead or change.rest):
            return True
    return _is_another_value(change, subject)


def _same_subject(old: Statement, new: Statement) -> bool:
    """Check whether both have the same subject; an empty one fits any."""
    given = old[0].strip() and new[0].strip()
    return not given or split_words(old[0], "") == split_words(new[0], "")


def _stems(words: Sequence[_Word]) -> list[str]:
    return [word.stem for word in words]


def _masked(word: _Word) -> str:
    if word.stem.isalpha():
        return "0" if word.stem in _set_of(_NUMERALS) else word.stem
    # `w444` is a name: another one is another thing, not the same thing with another value.
    return _NUMBER.sub("0", word.stem) if _VALUE.fullmatch(word.stem) else word.stem


def _is_number(word: _Word) -> bool:
    return "0" in _masked(word)


def _unnumbered(words: Sequence[_Word]) -> list[_Word]:
    return [word for word in words if not _is_number(word)]


def _other_values(old: str, new: str) -> bool:
    """Check whether every number that changed is a value, and not part of a name."""
    ours, theirs = _numbers(old), _numbers(new)
    changed = [pair for pair in zip(ours, theirs, strict=False) if pair[0][0] != pair[1][0]]
    return bool(changed) and all(one[1] and other[1] for one, other in changed)


def _numbers(text: str) -> list[tuple[str, bool]]:
    """Return each number, and whether it is a value: not `step 2`, not `Python 3.11 supports …`."""
    words = [word for clause in _clauses(text) for word in clause]
    verb = next((at for at, word in enumerate(words) if _among(word, _FINITE)), 0)
    chosen = any(word.raw.casefold() in _CHOICES.split() for word in words[verb:])
    found = []
    for at, word in enumerate(words):
        if _is_number(word):
            label = word.raw.startswith("#") or _NUMBER.sub("", word.stem).strip("-")
            counted = label is True or label in _stems_of(_ORDINALS)
            counted = counted or (at > 0 and _among(words[at - 1], _ORDINALS))
            found.append((word.stem, not counted and (at >= verb or chosen)))
    return found


def _other_labelled_number(before: Sequence[_Word], after: Sequence[_Word]) -> bool:
    """Check whether all numbers have the same word in front (`port 6379`), and one differs."""
    ours, theirs = _labelled(before), _labelled(after)
    if not ours or ours.keys() != theirs.keys() or ours == theirs:
        return False
    return jaccard(frozenset(map(_masked, before)), frozenset(map(_masked, after))) >= 0.5


def _labelled(words: Sequence[_Word]) -> dict[str, str]:
    return {
        words[at - 1].stem: word.stem
        for at, word in enumerate(words)
        if at and _is_number(word) and not _among(words[at - 1], _ORDINALS)
    }


class _Change(NamedTuple):
    """The one run of words that differs, and what stands in front of it and behind it."""

    old: Sequence[_Word]
    new: Sequence[_Word]
    lead: Sequence[_Word]
    rest: Sequence[_Word]


def _change(before: Sequence[_Word], after: Sequence[_Word]) -> _Change | None:
    shortest = min(len(before), len(after))
    start = 0
    while start < shortest and before[start].stem == after[start].stem:
        start += 1
    end = 0
    while end < shortest - start and before[-1 - end].stem == after[-1 - end].stem:
        end += 1
    old, new = before[start : len(before) - end], after[start : len(after) - end]
    if not 0 < len(old) <= LONGEST_VALUE or not 0 < len(new) <= LONGEST_VALUE:
        return None
    return _Change(old, new, before[:start], before[len(before) - end :])


def _is_another_value(change: _Change, subject: Sequence[_Word]) -> bool:
    """Check whether the words that differ are two values of the same thing."""
    old, new = _unnumbered(change.old), _unnumbered(change.new)
    context = [*subject, *change.lead, *change.rest]
    alike = len(old) == len(new) == 1 and _family(old[0].stem) & _family(new[0].stem)
    if alike and context:
        return True
    named = all(word.named for word in (*change.old[:1], *change.new[:1]))
    if named and _is_slot(change.lead):
        return True
    key = bool(subject) and any(map(subject[-1].raw.count, "._/"))
    chosen = bool(change.lead) and change.lead[-1].stem in ("use", "with", "via", "to", "on", "in")
    return (key or _is_slot(subject)) and (named or chosen)


def _is_slot(words: Sequence[_Word]) -> bool:
    """Check whether the last of some words names a thing with one value: no plural does."""
    if not words:
        return False
    small = words[-1].raw.casefold()
    if small in _SLOTS.split() or (small in _VAGUE_SLOTS.split() and len(words) > 1):
        return True
    doer = len(small) > 5 and small.isalpha() and small.endswith(("er", "or"))
    return doer and small not in _NO_SLOTS.split()
