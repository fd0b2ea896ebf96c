"""Decide whether a user repeats a request of another session.

A repeated request is a habit, even if it was never stated as a rule. Content words are compared;
words of everyday requests ("commit", "fix the tests") count only together with many others.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cache

from ..fast_typing import NamedTuple
from ..text import terms
from . import authorship, sentences, standalone

LONGEST_UNIT = 240
"""Characters of an instruction. A longer text is about its task."""

MOST_UNITS = 12
"""The most sentences of a message that are read."""

LEAST_SHARED = 0.6
"""The share of the shorter instruction's words that two instructions must have in common."""

LEAST_OF_LONGER = 0.4
"""The same of the longer one's: a long request that holds some words of a short one is another."""

FEWEST_ROUTINE = 5
"""The number of everyday words that make a habit: branch, commit, review, push, draft."""

MOST_BESIDE = 4
"""Words beyond the repeated ones that the wording of a habit may have."""

_FILLERS = """
    ok let get go need want there yeah yes now new make sure thing like know think see look good
    great try do one can again still first then next thank hmm hmmm sorry wait time
"""
_ROUTINE = """
    commit push pr prs open draft fix test lint merge continue run review comment address check
    branch create change update add build issue file code pull request implement plan follow error
    fail work remove move show find start use valid
"""


class Instruction(NamedTuple):
    """An instruction of the user, a sentence or a whole short message, with its content words."""

    text: str
    words: frozenset[str]


def words_of(text: str) -> frozenset[str]:
    """Return the stems of the content words of a text."""
    stems = terms.query_stems(text)
    return frozenset(stem for stem in stems if stem not in _set_of(_FILLERS) and not stem.isdigit())


def find_instructions(text: str) -> list[Instruction]:
    """Return the instructions in a typed message: its sentences, and a short message whole."""
    masked = sentences.mask(text)
    doubt = authorship.doubts(text, masked)
    spans = [span for span in sentences.sentence_spans(masked) if span[0] < span[1]][:MOST_UNITS]
    if any(doubt(span) for span in spans):
        return []
    parts = [Instruction(text[start:end], words_of(masked[start:end])) for start, end in spans]
    if any(re.match(_QUESTION, part.text) for part in parts):
        return []
    found = [part for part in parts if authorship.is_addressed(part.text)]
    whole = " ".join(text.split())
    if found and 1 < len(spans) <= 3 and "\n\n" not in text.strip():
        found.insert(0, Instruction(whole, words_of(whole)))
    return [one for one in found if len(one.text) <= LONGEST_UNIT]


def is_repeated(new: frozenset[str], old: frozenset[str]) -> bool:
    """Check whether two instructions ask for the same thing, by their content words."""
    shared = new & old
    own = shared - _set_of(_ROUTINE)
    if len(shared) < 3:
        return new == old and len(own) == len(shared) == 2
    if not own and len(shared) < FEWEST_ROUTINE:
        return False
    least, most = sorted((len(new), len(old)))
    return len(shared) >= max(LEAST_SHARED * least, LEAST_OF_LONGER * most)


def pick_fullest(repeated: Instruction, others: Iterable[Instruction]) -> Instruction:
    """Return the most complete wording of a repeated request.

    A wording with numbers ("the comment on pr 175"), with many other words or with a pointer to its
    context belongs to one occasion and loses.
    """
    core = len(repeated.words)
    like = (
        one
        for one in others
        if len(one.words & repeated.words) >= LEAST_SHARED * core
        and len(one.words) <= core + MOST_BESIDE
    )
    return max(
        (repeated, *like),
        key=lambda one: (
            not standalone.points_elsewhere(standalone.order_of(one.text)),
            len(one.words) - 2 * len(re.findall(r"\d+", one.text)),
        ),
    )


@cache
def _set_of(words: str) -> frozenset[str]:
    return frozenset(map(terms.stem, words.split()))


_QUESTION = r"(?i)(?:\w+,? )?(?:what|why|how|where|which|who|were|was|did|does|is|are)\b.*\?$"
