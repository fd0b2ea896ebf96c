"""Split a text into the words and pieces that the static model knows.

A word is a run of letters of one kind, a hump of `camelCase`, or a number. A word outside the
vocabulary is split into pieces: from the left, the longest first, a piece inside a word marked with
`##`.

The model's own pieces for other scripts are single letters, which make all texts of a language look
alike. Such a word is represented by the English words that the glossary gives for it, and otherwise
by grams: characters and pairs where words are not spaced, else the stem and the triples of its
beginning. So texts with common words, or words of one root, are alike.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import cache
from itertools import chain, pairwise

from ...fast_typing import NamedTuple
from ...text import inflection, terms
from . import glossary

_ASCII_WORD = re.compile(r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+")
_OTHER_WORD = (
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{1,40}|[\uac00-\ud7a3]{1,40}|[^\W0-9_A-Za-z]+"
)
_LONG = 2_000
LONGEST_WORD = 40
"""A longer run is a digest or encoded bytes, without meaning."""


def split_words(text: str) -> list[str]:
    """Return the words of a text in order, without accents, in lower case."""
    return [word.lower() for word in find_words(text) if len(word) <= LONGEST_WORD]


def find_words(text: str) -> Iterable[str]:
    """Return the words of a text without accents, as they are written: line by line if the text is
    long, because most callers need few."""
    if len(text) < _LONG:
        return _find_all_words(text)
    return chain.from_iterable(map(_find_all_words, text.split("\n")))


def _find_all_words(text: str) -> list[str]:
    bare = text if text.isascii() else _strip_accents(text)
    return (_ASCII_WORD if bare.isascii() else _any_word()).findall(bare)


@cache
def _any_word() -> re.Pattern[str]:
    """Compile at first use: it takes longer than to embed a question."""
    return re.compile(_ASCII_WORD.pattern + _OTHER_WORD)


def _strip_accents(text: str) -> str:
    bare = terms.strip_signs(text)
    if bare.isascii():
        return bare
    from unicodedata import normalize

    return normalize("NFC", _accents().sub("", normalize("NFD", bare)))


@cache
def _accents() -> re.Pattern[str]:
    """Return a pattern of accents. The marks of later scripts are letters: か and が differ."""
    from unicodedata import combining

    return re.compile(f"[{''.join(filter(combining, map(chr, range(0x300, 0x701))))}]+")


def split_pieces(word: str, number_of: Callable[[str], int]) -> tuple[int, ...]:
    """Return the numbers of a word's pieces; none if a part is not in the vocabulary.

    `number_of` returns a piece's number, or -1.
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
    """The English words for a word, and the grams of the rest."""

    known: list[str]
    grams: list[str]


def split_script(word: str) -> WordParts:
    """Return the glossary words and grams of a non-ASCII word."""
    if _is_unspaced(word[0]):
        return _of_run(inflection.strip_particles(word))
    known = _glossary().get(terms.stem(word))
    if known or not terms.is_content_word(word):
        return WordParts(list(known or ()), [])
    beginning = f"^{word[:_BEGINNING]}"
    triples = [beginning[at : at + 3] for at in range(max(len(beginning) - 2, 1))]
    return WordParts([], [f"={terms.stem(word)}", *triples])


def _is_unspaced(char: str) -> bool:
    """Check for a script without spaces or with particles: Chinese, Japanese, Korean."""
    return (
        "\u3040" <= char <= "\u9fff" or "\uac00" <= char <= "\ud7a3" or "\uf900" <= char <= "\ufaff"
    )


def _of_run(run: str) -> WordParts:
    """Match the longest glossary entries from the left, and gram the text between them."""
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
    for line in glossary.GLOSSARY.split("\n"):
        english, *others = line.split() or [""]
        for word in others:
            key = word if _is_unspaced(word[0]) else terms.stem(terms.split_terms(word)[0])
            found[key] = (*found.get(key, ()), english)
    return found
