"""What stands for a word in a script that the static model was not made of.

Its own pieces for such scripts are single letters, which make all texts of a language look the
same. Instead a word is known by the English words that the glossary gives for it, and by its
grams: pairs and single characters where words are not spaced, its stem and the triples of its
beginning where they are. Texts with words in common, or words of one root, have grams in common.
It does not know vectors.
"""

from __future__ import annotations

from functools import cache
from itertools import pairwise

from ..core import inflection, terms
from .glossary import GLOSSARY

_LONGEST_ENTRY = 8
_BEGINNING = 6


def is_unspaced(char: str) -> bool:
    """Whether words are not spaced where this character stands, or carry particles: Chinese,
    Japanese, Korean."""
    return (
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\uf900" <= char <= "\ufaff"
    )


def known_words(word: str) -> list[str]:
    """The English words for what is in the glossary, the longest entries first."""
    held = _glossary()
    if not is_unspaced(word[0]):
        return list(held.get(terms.stem(word), ()))
    found: list[str] = []
    start = 0
    while start < len(word):
        for end in range(min(len(word), start + _LONGEST_ENTRY), start, -1):
            if word[start:end] in held:
                found += held[word[start:end]]
                break
        else:
            end = start + 1
        start = end
    return found


def grams(word: str) -> list[str]:
    """The parts of a word that texts can have in common, without those that only ask."""
    if not is_unspaced(word[0]):
        if not terms.tells(word):
            return []
        beginning = f"^{word[:_BEGINNING]}"
        triples = [beginning[at : at + 3] for at in range(max(len(beginning) - 2, 1))]
        return [f"={terms.stem(word)}", *triples]
    bare = inflection.without_particles(word)
    parts = [*bare, *map("".join, pairwise(bare))]
    return [part for part in parts if not inflection.only_asks(part)]


@cache
def _glossary() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in GLOSSARY.split("\n"):
        english, *others = line.split() or [""]
        for word in others:
            key = word if is_unspaced(word[0]) else terms.stem(terms.terms(word)[0])
            found[key] = (*found.get(key, ()), english)
    return found
