"""Which of several texts were replaced by newer ones.

Texts that share their words are about the same thing at most. One replaces another only if a
sentence of it is a statement of the other with another value, or its opposite: what `similar` says
of two memories before one supersedes the other. Questions, conditions and errands state nothing.

Precision comes before recall: whoever reads a mark stops reading what is marked.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from functools import cache
from itertools import permutations

from ..capture.sentences import pasted
from ..fast_typing import NamedTuple
from ..memory import similarity
from ..text.terms import stem

LONGEST, MOST = 4_000, 8
"""Nobody states anything in a page of text: so much of a text is looked at, and so many of its
sentences that are about the question."""

FEWEST_WORDS, MOST_WORDS = 3, 25
_ALIKE = 0.3
"""With less in common two sentences are not the same but for a value."""


class DatedText(NamedTuple):
    """A text, when it was said, and whether it is a memory: of two memories it is known already
    whether one supersedes the other."""

    text: str
    at: int
    settled: bool


class _Statement(NamedTuple):
    text: str
    words: frozenset[str]


def find_outdated(texts: Sequence[DatedText], searched: Collection[str]) -> dict[int, int]:
    """The places of texts that do not hold any more, each with that of the newest that says so, as
    far as they state anything with one of the stems in it that are searched for."""
    stated = [_about(one.text, searched) for one in texts]
    found: dict[int, int] = {}
    for old, new in permutations([place for place, said in enumerate(stated) if said], 2):
        one, other = texts[old], texts[new]
        if one.at >= other.at or (one.settled and other.settled):
            continue
        if other.at > texts[found.get(old, old)].at and _replaces(stated[new], stated[old]):
            found[old] = new
    return found


def _about(text: str, searched: Collection[str]) -> list[_Statement]:
    found = [
        _Statement(one, similarity.split_words("", one)) for one in split_statements(_typed(text))
    ]
    return [one for one in found if any(stem(word) in searched for word in one.words)][:MOST]


def _typed(text: str) -> str:
    """What is left without what was pasted: others state that."""
    text = text[:LONGEST]
    kept, at = [], 0
    for start, end in pasted(text):
        kept.append(text[at:start])
        at = end
    return "\n".join([*kept, text[at:]])


def split_statements(text: str) -> list[str]:
    """The sentences of a text that state something by themselves."""
    found = []
    for piece in _ends().split(text):
        sentence = _bullet().sub("", piece.strip())
        if FEWEST_WORDS <= len(sentence.split()) <= MOST_WORDS and not _unstated().search(sentence):
            found.append(sentence)
    return found


def _replaces(new: Sequence[_Statement], old: Sequence[_Statement]) -> bool:
    return any(
        similarity.jaccard(one.words, other.words) >= _ALIKE
        and similarity.find_relation(("", one.text), ("", other.text)) in ("revises", "contradicts")
        for one in old
        for other in new
    )


@cache
def _ends() -> re.Pattern[str]:
    return re.compile(r"(?<=[.!?…])(?=\s|$)|(?<=[。！？])|\n+")


@cache
def _bullet() -> re.Pattern[str]:
    return re.compile(r"^(?:[-*•+>]|\d{1,3}[.)]|#{1,6})\s+")


@cache
def _unstated() -> re.Pattern[str]:
    return re.compile(
        r"[?？]\s*$|^(?:(?:and|but|so|ok|okay|also),? )*(?:what|which|who|whose|when|where|why|how|"
        r"is|are|was|were|do|does|did|can|could|should|would|will|has|have|if|maybe|perhaps|let's|"
        r"let me|please)\b",
        re.IGNORECASE,
    )
