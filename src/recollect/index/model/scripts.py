"""What stands for a word in a script that the static model was not made of.

Its own pieces for such scripts are single letters, which make all texts of a language look the
same. Instead a word is known by the English words that the glossary gives for it. What is not
in the glossary is known by its grams: single characters and pairs where words are not spaced,
the stem and the triples of its beginning where they are; so texts that have such words in
common, or words of one root, are alike. It does not know vectors.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ...text import inflection, terms
from .glossary import GLOSSARY

_LONGEST_ENTRY = 8
_BEGINNING = 6


class Parts(NamedTuple):
    """The English words for a word, and the grams of what they do not cover."""

    known: list[str]
    grams: list[str]


def parts_of(word: str) -> Parts:
    """What a word is known by."""
    if _is_unspaced(word[0]):
        return _of_run(inflection.without_particles(word))
    known = _glossary().get(terms.stem(word))
    if known or not terms.tells(word):
        return Parts(list(known or ()), [])
    beginning = f"^{word[:_BEGINNING]}"
    triples = [beginning[at : at + 3] for at in range(max(len(beginning) - 2, 1))]
    return Parts([], [f"={terms.stem(word)}", *triples])


def _is_unspaced(char: str) -> bool:
    """Whether it is written without spaces, or with particles behind: Chinese, Japanese, Korean."""
    return (
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\uf900" <= char <= "\ufaff"
    )


def _of_run(run: str) -> Parts:
    """From the left the longest entries of the glossary, and the grams of what lies between."""
    held = _glossary()
    found = Parts([], [])
    start = unknown = 0
    while start < len(run):
        for end in range(min(len(run), start + _LONGEST_ENTRY), start, -1):
            if run[start:end] in held:
                found.known.extend(held[run[start:end]])
                found.grams.extend(_grams(run[unknown:start]))
                unknown = end
                break
        else:
            end = start + 1
        start = end
    found.grams.extend(_grams(run[unknown:]))
    return found


def _grams(run: str) -> list[str]:
    parts = [*run, *map("".join, pairwise(run))]
    return [part for part in parts if not inflection.only_asks(part)]


@cache
def _glossary() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in GLOSSARY.split("\n"):
        english, *others = line.split() or [""]
        for word in others:
            key = word if _is_unspaced(word[0]) else terms.stem(terms.terms(word)[0])
            found[key] = (*found.get(key, ()), english)
    return found
