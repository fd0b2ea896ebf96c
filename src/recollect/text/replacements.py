"""Read which value a statement names as gone: "use cents, not Decimal", "moved from npm to uv"."""

from __future__ import annotations

import re
from functools import lru_cache

from .statements import FILLERS, MOODS, ReadWord, content_words, is_among, read_clauses

LONGEST_VALUE = 4
"""A changed value of more words than this is another statement."""

_REPLACED = re.compile(
    r"(?i),?\s\(?(?:instead of|rather than|no longer|in place of|replacing|formerly|previously)\s"
    r"|,\s*not\s|\s\(was\s"
)
_REPLACING = (
    *("not", "(was", "instead", "longer", "rather", "previously", "formerly", "in place"),
    "replacing",
)


def find_replaced(text: str) -> re.Match[str] | None:
    """Find where a text begins to name a value that does not hold any more."""
    small = text.casefold()
    return _REPLACED.search(text) if any(map(small.__contains__, _REPLACING)) else None


@lru_cache(maxsize=256)
def split_replaced(text: str) -> tuple[str, str | None]:
    """Return what a text says, and what it says is not so any more; None without that."""
    found = find_replaced(text)
    return (text[: found.start()], text[found.end() :]) if found else (text, None)


_MOVED = re.compile(
    r"(?i)\b(?:(?:up|down)graded|migrated|moved|switched|renamed|bumped|changed|converted|ported|went"
    r"|raised|lowered|increased|reduced)\b[^.;\n]*?\bfrom\s(.{1,60}?)\s(?:over\s)?(?:in)?to\s(.+)"
    r"|\breplaced\s(.{1,60}?)\s(?:with|by)\s(.+)"
)
_UNSURE = re.compile(
    r"(?i)n't\b|\b(?:not|never|if|when|once|until|before|be|being|should|would|can)\b"
)
STATING = " in on at by for from via and run go live call name set host stay listen"
_PLACING = " store keep save put send everywhere anywhere throughout all"


@lru_cache(maxsize=256)
def find_gone(text: str) -> tuple[list[ReadWord], list[ReadWord]]:
    """Return the value that a text says is gone, and the words for the one in its place."""
    small = text.casefold()
    moved = "from" in small or "replaced" in small
    if moved and (found := _MOVED.search(text)) and not _UNSURE.search(text[: found.start()]):
        gone, new = (found[1] or found[3]), (found[2] or found[4])
    elif found := find_replaced(text):
        gone, new = text[found.end() :], text[: found.start()]
    else:
        return [], []
    words = [word for word in (read_clauses(f"the {gone}") or [()])[0] if not is_stating(word)]
    return (words if len(words) <= LONGEST_VALUE else []), list(content_words(new))


def is_plain(text: str) -> bool:
    """Check whether a text names the value that it replaces: "X, not Y", "no longer Y"."""
    return find_replaced(text) is not None


def is_stating(word: ReadWord) -> bool:
    """Check whether a word only says that something is somewhere, or is used."""
    return is_among(word, FILLERS + MOODS + STATING + _PLACING)


def find_purposes(text: str) -> set[str]:
    """Return the words that say what a chosen value is for: `money` of "use cents for money"."""
    _, named, purpose = split_replaced(text)[0].rpartition(" for ")
    return {word.stem for word in content_words(purpose)} if named else set()
