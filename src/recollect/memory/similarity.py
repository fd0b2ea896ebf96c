"""Whether two statements say the same, the opposite, or the same with another value.

A statement is a subject and a text. Five answers, the first that holds:

    contradicts   the same words with the opposite sign        always use tabs / never use tabs
    revises       the same words but for the value of a thing  PostgreSQL 14 / PostgreSQL 16
                  that has one value at a time
    contradicts   the same words but for a value, where it is  test with Node 18 / with Node 20
                  unclear whether both hold
    replaces      the new one says that its value is gone      CI uses npm / CI moved from npm to uv
    near          Jaccard over the words of `subject|text` of at least 0.85
    (nothing)     related at most; two prohibitions            never on Fridays / never on Sundays

It decides from the words alone. It does not know what is true, which statement is trusted, or
what the writer wants: near, opposite and replaced ones are shown to the writer, never merged here.
Precision comes before recall: a revision supersedes what was believed before.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

from ..text.replacements import (
    LONGEST_VALUE,
    STATING,
    find_gone,
    find_purposes,
    is_plain,
    is_stating,
    split_replaced,
)
from ..text.statements import (
    CHOSEN,
    MOODS,
    NUMERALS,
    ReadWord,
    WordChange,
    adds_up,
    are_rivals,
    content_words,
    differ_in_much,
    find_change,
    find_choice,
    find_families,
    is_among,
    may_negate,
    read_clauses,
    read_signs,
    set_of,
    skim_signs,
    stems_of,
)
from ..text.terms import split_lower_words

Statement = tuple[str, str]
"""A subject, which may be empty, and a text."""

NEAR = 0.85
"""The similarity from which two statements are shown as near-duplicates."""

_NUMBER = re.compile(r"[0-9]+(?:[.,][0-9]+)*")
_VALUE = re.compile(r"[<>=~^$€£#]*v?[0-9]+(?:[.,:/-][0-9]+)*(?:%|[a-z]{1,3})?")


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
    """Return the relation of the new statement to the old one; empty without one."""
    if contradicts(old, new):
        return "contradicts"
    found = _compare_values(old, new) or _compare_gone(old, new)
    if not found and (_denies(old, new) or _rivals(old, new)):
        return "contradicts"
    return found or ("near" if is_near(old, new) else "")


# ---------------------------------------------------------------- the opposite


def contradicts(a: Statement, b: Statement) -> bool:
    """Check whether two statements differ in the sign of a word and in little else."""
    if not (may_negate(a) or may_negate(b)):
        return False
    names, others = skim_signs(a), skim_signs(b)
    if names is not None and others is not None and jaccard(names, others) < NEAR:
        return False
    ours, theirs = read_signs(a), read_signs(b)
    shared = ours.keys() & theirs.keys()
    if not shared or len(shared) / (len(ours) + len(theirs) - len(shared)) < NEAR:
        return False
    return any(ours[word] != theirs[word] for word in shared)


def _denies(old: Statement, new: Statement) -> bool:
    """Check whether the new statement forbids what the old one asks for, in fewer or other words:
    at least two words are negated, and all stand in the old one, with its first word."""
    denied = _find_denied(new)
    if len(denied) < 2:
        return False
    names = skim_signs(old)
    if names is not None and not denied <= {*map(_shorten, names)}:
        return False
    ours = read_signs(old)
    asked = [_shorten(word) for word, sign in ours.items() if sign]
    return denied <= set(asked) and asked[0] in denied and all(ours.values())


@lru_cache(maxsize=256)
def _find_denied(statement: Statement) -> frozenset[str]:
    """Return the beginnings of the words that a statement negates."""
    if not may_negate(statement):
        return frozenset()
    silent, signs = stems_of(STATING), read_signs(statement)
    return frozenset(
        [_shorten(word) for word, sign in signs.items() if not sign and word not in silent]
    )


def _rivals(old: Statement, new: Statement) -> bool:
    """Check whether both statements choose a language to answer in, or a formatter, and not the
    same: mostly the second replaces the first, but a person should say so."""
    words = split_words(*new)  # known by now, and most statements choose neither
    if words.isdisjoint(set_of(CHOSEN)) or may_negate(old) or may_negate(new):
        return False
    change = find_change(find_choice(old[1]), find_choice(new[1]), 1)
    if change is None:
        return False
    sides = _stems(change.lead), _stems(change.rest)
    return are_rivals(change.old[0].stem, change.new[0].stem, *sides)


def _shorten(word: str) -> str:
    """Return the beginning of a word: `indent` of `indentation`."""
    return word[:6] if word.isalpha() else word


# ---------------------------------------------------------------- another value

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
_LIMIT = re.compile(
    r"(?i)\b(?:(?:more|less|fewer|\w+er) than|above|below|under|beyond|exceed\w*|longer|at (?:most|"
    r"least)|up to)\b"
)


def revises(old: Statement, new: Statement) -> bool:
    """Check whether the new statement is the old one with another value, and only one can hold."""
    return not contradicts(old, new) and _compare_values(old, new) == "revises"


def _compare_values(old: Statement, new: Statement) -> str:
    """Return the relation of two statements that differ in a value; empty if they do not, or if
    both hold."""
    if not _has_another_value(old, new):
        return ""
    if split_replaced(new[1])[1] is not None:
        return "revises"  # the new one names the old value
    ours, theirs = read_signs(old), read_signs(new)
    changed = ours.keys() ^ theirs.keys()
    signs = {one.get(word, True) for one in (ours, theirs) for word in changed if word in one}
    if signs == {False}:
        # Two prohibitions hold, unless both are limits: “never more than 3 retries”.
        is_limit = all(_LIMIT.search(text) for _, text in (old, new))
        return "contradicts" if is_limit else ""
    return "contradicts" if adds_up(old[1], changed) or adds_up(new[1], changed) else "revises"


def _has_another_value(old: Statement, new: Statement) -> bool:
    """Check whether two statements that do not contradict each other differ in a value."""
    if not _same_subject(old, new):
        return False
    text, was = split_replaced(new[1])
    if not (old[0] and new[0]) and differ_in_much(old[1], text, LONGEST_VALUE):
        return False
    before, after = content_words(old[1]), content_words(text)
    subject = content_words(new[0]) if old[0] else []
    if len(before) == len(after):
        changed = [pair for pair in zip(before, after, strict=True) if pair[0].stem != pair[1].stem]
        if not changed:
            return False
        if all(_masked(one) == _masked(other) for one, other in changed):
            return bool(subject or _unnumbered(before)) and _other_values(old[1], text)
    if subject and _other_labelled_number(before, after):
        return True
    change = find_change(before, after, LONGEST_VALUE)
    if change is None:
        return False
    if was is not None:
        gone = _stems(content_words(was))
        replaced = {word.stem for word in change.old if not is_among(word, MOODS)}
        context = subject or change.lead or change.rest
        if replaced <= set(gone) and context and find_purposes(text) <= set(_stems(before)):
            return True
    return _is_another_value(change, subject)


def _same_subject(old: Statement, new: Statement) -> bool:
    """Check whether both have the same subject; an empty one fits any."""
    given = old[0].strip() and new[0].strip()
    return not given or split_words(old[0], "") == split_words(new[0], "")


def _stems(words: Sequence[ReadWord]) -> list[str]:
    return [word.stem for word in words]


def _masked(word: ReadWord) -> str:
    if word.stem.isalpha():
        return "0" if word.stem in set_of(NUMERALS) else word.stem
    # `w444` is a name: another one is another thing, not the same thing with another value.
    return _NUMBER.sub("0", word.stem) if _VALUE.fullmatch(word.stem) else word.stem


def _is_number(word: ReadWord) -> bool:
    return "0" in _masked(word)


def _unnumbered(words: Sequence[ReadWord]) -> list[ReadWord]:
    return [word for word in words if not _is_number(word)]


def _other_values(old: str, new: str) -> bool:
    """Check whether every number that changed is a value, and not part of a name."""
    ours, theirs = _numbers(old), _numbers(new)
    changed = [pair for pair in zip(ours, theirs, strict=False) if pair[0][0] != pair[1][0]]
    return bool(changed) and all(one[1] and other[1] for one, other in changed)


def _numbers(text: str) -> list[tuple[str, bool]]:
    """Return each number, and whether it is a value: not `step 2`, not `Python 3.11 supports …`."""
    words = [word for clause in read_clauses(text) for word in clause]
    verb = next((at for at, word in enumerate(words) if is_among(word, _FINITE)), 0)
    chosen = any(word.raw.casefold() in _CHOICES.split() for word in words[verb:])
    found = []
    for at, word in enumerate(words):
        if _is_number(word):
            label = word.raw.startswith("#") or _NUMBER.sub("", word.stem).strip("-")
            counted = label is True or label in stems_of(_ORDINALS)
            counted = counted or (at > 0 and is_among(words[at - 1], _ORDINALS))
            found.append((word.stem, not counted and (at >= verb or chosen)))
    return found


def _other_labelled_number(before: Sequence[ReadWord], after: Sequence[ReadWord]) -> bool:
    """Check whether all numbers have the same word in front (`port 6379`), and one differs."""
    ours, theirs = _labelled(before), _labelled(after)
    if not ours or ours.keys() != theirs.keys() or ours == theirs:
        return False
    return jaccard(frozenset(map(_masked, before)), frozenset(map(_masked, after))) >= 0.5


def _labelled(words: Sequence[ReadWord]) -> dict[str, str]:
    return {
        words[at - 1].stem: word.stem
        for at, word in enumerate(words)
        if at and _is_number(word) and not is_among(words[at - 1], _ORDINALS)
    }


def _is_another_value(change: WordChange, subject: Sequence[ReadWord]) -> bool:
    """Check whether the words that differ are two values of the same thing."""
    old, new = _unnumbered(change.old), _unnumbered(change.new)
    context = [*subject, *change.lead, *change.rest]
    alike = len(old) == len(new) == 1 and find_families(old[0].stem) & find_families(new[0].stem)
    if alike and context:
        return True
    named = all(word.named for word in (*change.old[:1], *change.new[:1]))
    if named and _is_slot(change.lead):
        return True
    key = bool(subject) and any(map(subject[-1].raw.count, "._/"))
    chosen = bool(change.lead) and change.lead[-1].stem in ("use", "with", "via", "to", "on", "in")
    return (key or _is_slot(subject)) and (named or chosen)


def _is_slot(words: Sequence[ReadWord]) -> bool:
    """Check whether the last of some words names a thing with one value: no plural does."""
    if not words:
        return False
    small = words[-1].raw.casefold()
    if small in ("called", "named") and len(words) > 1:
        return True
    if small in _SLOTS.split() or (small in _VAGUE_SLOTS.split() and len(words) > 1):
        return True
    doer = len(small) > 5 and small.isalpha() and small.endswith(("er", "or"))
    return doer and small not in _NO_SLOTS.split()


# ---------------------------------------------------------------- a value that is said to be gone


def _compare_gone(old: Statement, new: Statement) -> str:
    """Return whether the new statement replaces the old one, because it says that the value of the
    old one is gone: all other words of the old one say nothing, or stand in the new one, too. With
    some other words it contradicts, if it is said in plain words ("X, not Y")."""
    gone, come = find_gone(new[1])
    if not gone or not _same_subject(old, new):
        return ""
    values, words = _stems(gone), list(content_words(old[0]))
    for clause in read_clauses(old[1]):
        held = [word for word in clause if not is_stating(word)]
        words += held
        places = range(len(held) - len(gone) + 1)
        if found := [at for at in places if _stems(held[at : at + len(gone)]) == values]:
            break
    else:
        return ""
    before = set(_stems(find_gone(old[1])[0]))
    chosen = {word.stem for word in come if word.named} - set(values)
    signs = read_signs(old)
    if before & set(values) or not all(signs.get(value, True) for value in values):
        return ""
    rest = set(_stems(words)) - set(values) - before
    # The number of "4 spaces" goes with the spaces.
    rest -= {word.stem for word in held[max(found[0] - 1, 0) : found[0]] if _is_number(word)}
    said = {word.stem for word in come if not is_stating(word)} - set(values) - chosen
    plain = is_plain(new[1])
    is_chosen = plain and bool(chosen) and not chosen <= rest and said <= rest
    if is_chosen and not said:
        return "replaces"  # "use pnpm, not npm" is said of all that npm is used for
    named = any(word.named for word in _unnumbered(gone))
    about = {word.stem for text in new for word in content_words(text)}
    left = rest - about - (stems_of(_SLOTS) if named else set())
    if (chosen and chosen <= rest) or (not plain and left):
        return ""
    if plain and (left or not find_purposes(new[1]) <= rest):
        # The old one says more, or the new one is about a part: both may hold in part.
        is_unclear = is_chosen or (len(rest & about) >= len(left) and (left or named))
        return "contradicts" if is_unclear else ""
    # A number or a plain word is said of much: it must be the value of something named in both.
    is_value = plain or _stems(held[-len(gone) :]) == values
    return "replaces" if named or (rest & about and is_value) else ""
