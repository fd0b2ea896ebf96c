"""Where a text is cut before its words are looked up in the static model.

It decides what a word is (a run of letters of one kind, a hump of `camelCase`, a number) and how
a word that is not in the vocabulary falls into pieces that are: from the left, the longest
first, a piece inside a word marked with `##`. It does not know the vocabulary nor the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from functools import cache
from itertools import pairwise
from typing import NamedTuple

from ...text import inflection, terms
from .glossary import GLOSSARY

_WORD = re.compile(
    r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{1,40}|[\uac00-\ud7a3]{1,40}|[^\W0-9_A-Za-z]+"
)

LONGEST_WORD = 40

"""A longer run is a digest or encoded bytes: it means nothing."""


def split_words(text: str) -> list[str]:
    """The words of a text in their order, without accents, in lower case."""
    if not text.isascii():
        text = _without_accents(text)
    return [word.lower() for word in _WORD.findall(text) if len(word) <= LONGEST_WORD]


def _without_accents(text: str) -> str:
    from unicodedata import combining, normalize

    apart = normalize("NFD", text)
    # The marks of later scripts are letters: か and が are two.
    bare = [char for char in apart if char > "\u0700" or not combining(char)]
    return normalize("NFC", "".join(bare))


def split_pieces(word: str, number_of: Callable[[str], int]) -> tuple[int, ...]:
    """The numbers of a word's pieces; none if a part of it is in no vocabulary.

    `number_of` gives a piece's number, or -1 when there is no such piece.
    """
    found: list[int] = []
    start = 0
    while start < len(word):
        mark = "##" if start else ""
        for end in range(len(word), start, -1):
            number = number_of(mark + word[start:end])
            if number >= 0:
                break
        else:
            return ()
        found.append(number)
        start = end
    return tuple(found)


_LONGEST_ENTRY = 8

_BEGINNING = 6


class WordParts(NamedTuple):
    """The English words for a word, and the grams of what they do not cover."""

    known: list[str]
    grams: list[str]


def split_script(word: str) -> WordParts:
    """What a word is known by."""
    if _is_unspaced(word[0]):
        return _of_run(inflection.strip_particles(word))
    known = _glossary().get(terms.stem(word))
    if known or not terms.is_content_word(word):
        return WordParts(list(known or ()), [])
    beginning = f"^{word[:_BEGINNING]}"
    triples = [beginning[at : at + 3] for at in range(max(len(beginning) - 2, 1))]
    return WordParts([], [f"={terms.stem(word)}", *triples])


def _is_unspaced(char: str) -> bool:
    """Whether it is written without spaces, or with particles behind: Chinese, Japanese, Korean."""
    return (
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\uf900" <= char <= "\ufaff"
    )


def _of_run(run: str) -> WordParts:
    """From the left the longest entries of the glossary, and the grams of what lies between."""
    held = _glossary()
    found = WordParts([], [])
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
    return [part for part in parts if not inflection.is_question_word(part)]


@cache
def _glossary() -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    for line in GLOSSARY.split("\n"):
        english, *others = line.split() or [""]
        for word in others:
            key = word if _is_unspaced(word[0]) else terms.stem(terms.split_terms(word)[0])
            found[key] = (*found.get(key, ()), english)
    return found
