"""Where a text is cut before its words are looked up in the static model.

It decides what a word is (a run of letters of one kind, a hump of `camelCase`, a number) and how
a word that is not in the vocabulary falls into pieces that are: from the left, the longest
first, a piece inside a word marked with `##`. It does not know the vocabulary nor the vectors.
"""

from __future__ import annotations

import re
from collections.abc import Callable

_WORD = re.compile(
    r"[A-Z]{2,}s?(?![a-z])|[A-Z]?[a-z]+|[A-Z]+|[0-9]+"
    r"|[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]{1,40}|[\uac00-\ud7a3]{1,40}|[^\W0-9_A-Za-z]+"
)
LONGEST_WORD = 40
"""A longer run is a digest or encoded bytes: it means nothing."""


def words(text: str) -> list[str]:
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


def pieces(word: str, number_of: Callable[[str], int]) -> tuple[int, ...]:
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
