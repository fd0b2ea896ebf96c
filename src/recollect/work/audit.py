"""The audit: what is wrong with what is remembered, as a report that changes nothing.

Finds groups of near-duplicates and the one of each to keep, statements that contradict each other,
citations that have gone stale, and pollution: notes nobody uses, facts that keep changing, work
notes that have drifted. Whether a citation is stale is told, not known here.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from difflib import SequenceMatcher
from typing import NamedTuple

from ..index.clusters import TextFeatures, choose_keys, extract_features, find_neighbours
from ..memory.duplicates import RELATED, make_statement, rank_key
from ..memory.lifecycle import DAY
from ..memory.similarity import NEAR, find_relation, jaccard, split_words
from ..text import globs
from ..text.terms import stem_all
from ..types.records import FOREVER, Memory
from .notes import Finding, lint_notes

UNUSED_DAYS = 30
CHANGING_REVISIONS = 3
CHANGING_DAYS = 14
LONG_RUN = 4
"""So many words in a row in both memories, if they are half of one of them, are the same words."""


class Duplicates(NamedTuple):
    """Memories that say nearly the same: the one to keep, and the others."""

    keep: str
    others: tuple[str, ...]
    reason: str


class Problem(NamedTuple):
    """A memory, and what is wrong with it."""

    id: str
    reason: str


class Audit(NamedTuple):
    """What an audit found."""

    duplicates: tuple[Duplicates, ...] = ()
    stale: tuple[Problem, ...] = ()
    unused: tuple[Problem, ...] = ()
    changing: tuple[Problem, ...] = ()
    drift: tuple[Finding, ...] = ()
    useless: tuple[Problem, ...] = ()
    """Chosen for a model often where feedback was given, and never said to have helped."""
    contradicting: tuple[Problem, ...] = ()

    @property
    def clean(self) -> bool:
        """Whether nothing was found."""
        return not any(self)


def run_audit(
    memories: Sequence[Memory],
    now: int,
    stale: Mapping[str, Sequence[str]] | None = None,
    notes: str = "",
    shown: Mapping[str, int] | None = None,
    opposite: Sequence[tuple[str, str]] = (),
) -> Audit:
    """Look at what is in use. `stale` says for ids which citations do not hold any more; `notes`
    is the text of NOTES.md; `shown` how often a memory was injected without ever helping;
    `opposite` pairs those that contradict each other."""
    used = sorted(
        (
            one
            for one in memories
            if one.valid_to == FOREVER and one.status in ("active", "proposed")
        ),
        key=lambda one: one.id,
    )
    told = stale or {}
    return Audit(
        tuple(_duplicates(used)),
        tuple(Problem(one.id, "; ".join(told[one.id])) for one in used if told.get(one.id)),
        tuple(Problem(one.id, _age(one, now)) for one in used if _unused(one, now)),
        tuple(Problem(one.id, _pace(one)) for one in used if _changing(one)),
        tuple(lint_notes(notes)),
        tuple(
            Problem(one.id, f"injected {shown[one.id]} times, never the one that helped")
            for one in used
            if shown and one.id in shown
        ),
        tuple(_contradictions(used, opposite)),
    )


def _contradictions(used: Sequence[Memory], pairs: Iterable[tuple[str, str]]) -> Iterator[Problem]:
    texts = {one.id: one.text for one in used}
    for one, other in sorted({(min(pair), max(pair)) for pair in pairs}):
        if one in texts and other in texts:
            yield Problem(one, f'"{texts[one]}" contradicts {other} "{texts[other]}"')


def _duplicates(memories: Sequence[Memory]) -> list[Duplicates]:
    """Groups of near-duplicates. Another value, the opposite or other files make no duplicate."""
    words = [split_words(*make_statement(one)) for one in memories]
    keys = choose_keys([TextFeatures(frozenset(stem_all(one))) for one in words])
    runs = [_runs(one) for one in memories]

    def shared(one: int, other: int) -> float:
        likeness = jaccard(words[one], words[other])
        return likeness if likeness >= NEAR or runs[one] & runs[other] else 0.0

    edges = find_neighbours(range(len(memories)), keys, shared, RELATED)
    found: list[Duplicates] = []
    taken: set[int] = set()
    for place in sorted(edges, key=lambda one: rank_key(memories[one])):
        if place in taken:
            continue
        others = [
            other
            for other in sorted(edges[place], key=lambda one: rank_key(memories[one]))
            if other not in taken
            and globs.same_scopes(memories[place].scope, memories[other].scope)
            and is_near_duplicate(memories[place], memories[other])
        ]
        if others:
            taken.update((place, *others))
            reason = "they say nearly the same, and it is the surest of them"
            ids = tuple(memories[one].id for one in others)
            found.append(Duplicates(memories[place].id, ids, reason))
    return found


def is_near_duplicate(one: Memory, other: Memory) -> bool:
    """Whether two memories share nearly all words, or one long run of them and differ in nothing
    that says something: the same command, described in other words."""
    told = find_relation(make_statement(one), make_statement(other))
    if told:
        return told == "near"
    first, second = (_words(memory) for memory in (one, other))
    run = SequenceMatcher(None, first, second, autojunk=False).find_longest_match()
    if run.size < LONG_RUN or 2 * run.size < min(len(first), len(second)):
        return False
    around = [
        extract_features(" ".join((*words[:start], *words[start + run.size :]))).words
        for words, start in ((first, run.a), (second, run.b))
    ]
    return around[0] <= around[1] or around[1] <= around[0]


def _runs(memory: Memory) -> set[tuple[str, ...]]:
    words = _words(memory)
    return {tuple(words[at : at + LONG_RUN]) for at in range(len(words) - LONG_RUN + 1)}


def _words(memory: Memory) -> list[str]:
    return re.sub(r"[\W_]+", " ", f"{memory.subject} {memory.text}".casefold()).split()


def _unused(memory: Memory, now: int) -> bool:
    seen = max(memory.last_recalled, memory.last_confirmed, memory.last_reinforced)
    old = now - seen > UNUSED_DAYS * DAY
    return old and not memory.last_recalled and memory.kind not in ("policy", "preference")


def _age(memory: Memory, now: int) -> str:
    return f"{memory.layer} note, never recalled in {(now - memory.first_seen) // DAY} days"


def _changing(memory: Memory) -> bool:
    if memory.revision < CHANGING_REVISIONS:
        return False
    return _days_per_revision(memory) < CHANGING_DAYS


def _days_per_revision(memory: Memory) -> float:
    return (memory.valid_from - memory.first_seen) / DAY / (memory.revision - 1)


def _pace(memory: Memory) -> str:
    return f"{memory.revision} versions, a new one every {_days_per_revision(memory):.0f} days"


def render_audit(found: Audit) -> str:
    """The audit as a report."""
    if found.clean:
        return "# Audit\n\nNothing was found.\n"
    sections = (
        (
            "Near-duplicates",
            [f"keep {g.keep}, drop {', '.join(g.others)}: {g.reason}" for g in found.duplicates],
        ),
        ("Contradictions: one of each two should go", _lines(found.contradicting)),
        ("Stale citations", _lines(found.stale)),
        ("Pollution: unused notes", _lines(found.unused)),
        ("Pollution: facts that keep changing", _lines(found.changing)),
        ("Injected often, never useful", _lines(found.useless)),
        ("Pollution: NOTES drift", [f"line {f.first}: {f.rule}. {f.advice}" for f in found.drift]),
    )
    parts = [
        "\n".join((f"## {heading}", *(f"- {line}" for line in lines)))
        for heading, lines in sections
        if lines
    ]
    return "\n\n".join(("# Audit", *parts)) + "\n"


def _lines(problems: Sequence[Problem]) -> list[str]:
    return [f"{one.id}: {one.reason}" for one in problems]
