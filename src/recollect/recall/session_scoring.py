"""How well a message of a past session answers a query, by words alone, and what to show of it.

The plain mode of `recall_sessions`: the whole query found +3, each of its words +1, +1.5 when
there are several words and most are there, +0.5 when the session's title has one. Without a
match in the message itself there is no score. It does not know sessions or the store, and it is
not the ranking of the general search.
"""

from __future__ import annotations

import re
from functools import lru_cache

PHRASE, WORD, DENSE, TITLE = 3.0, 1.0, 1.5, 0.5
MOST = 0.7
"""The share of the words that has to be there for the density bonus."""

_FIRST_UNSPACED = "\u2e80"
"""From here on, scripts are written without spaces: a word is found wherever it stands."""


def score_seed(query: str, text: str, title: str = "") -> float:
    """The score of a message; 0.0 when neither the query nor a word of it is there."""
    words = _words(query)
    if not words:
        return 0.0
    found = sum(1 for word in words if _pattern(word).search(text))
    phrase = bool(_pattern(" ".join(query.split())).search(text))
    if not found and not phrase:
        return 0.0
    score = PHRASE * phrase + WORD * found
    if len(words) > 1 and found >= MOST * len(words):
        score += DENSE
    if any(_pattern(word).search(title) for word in words):
        score += TITLE
    return score


def preview(text: str, query: str, about: int = 600) -> str:
    """About so many characters of a text around the match, on word boundaries."""
    if len(text) <= about:
        return text
    match = _first_match(text, query)
    middle = (match.start() + match.end()) // 2 if match else 0
    start = max(0, min(middle - about // 2, len(text) - about))
    end = start + about
    if start > 0 and (space := re.search(r"\s", text[start : start + 40])):
        start += space.end()
    if end < len(text) and (space := re.search(r"\s(?=\S*\Z)", text[end - 40 : end])):
        end = end - 40 + space.start()
    head, tail = "…" if start > 0 else "", "…" if end < len(text) else ""
    return f"{head}{text[start:end].strip()}{tail}"


def _first_match(text: str, query: str) -> re.Match[str] | None:
    phrase = _pattern(" ".join(query.split())).search(text) if query.strip() else None
    if phrase:
        return phrase
    matches = [match for word in _words(query) if (match := _pattern(word).search(text))]
    return min(matches, key=lambda match: match.start(), default=None)


def _words(query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[^\W_]+", query.casefold())))


@lru_cache(256)
def _pattern(words: str) -> re.Pattern[str]:
    """Finds whole words in a row, whatever white space stands between them."""
    body = r"\s+".join(map(re.escape, words.split()))
    before = r"(?<![^\W_])" if _bounded(words[:1]) else ""
    after = r"(?![^\W_])" if _bounded(words[-1:]) else ""
    return re.compile(f"{before}{body}{after}", re.IGNORECASE)


def _bounded(char: str) -> bool:
    return char.isalnum() and char < _FIRST_UNSPACED
