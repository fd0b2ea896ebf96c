"""Search past sessions: all messages, including those that left the window.

The index picks the candidates. Mode `ranked` ranks them like any recall. Mode `plain` scores words:
the whole query +3, each of its words +1, +1.5 if there are several and most match, +0.5 if the
session's title has one; a message without a match scores nothing.
"""

from __future__ import annotations

import json
import re
from functools import lru_cache
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..errors import InvalidInput
from ..index import sql as index_sql
from ..storage.database import IndexMatch, Tx, read_or_none
from ..text import messages, terms
from ..types.records import Embedder
from . import steps

PHRASE, WORD, DENSE, TITLE = 3.0, 1.0, 1.5, 0.5

DENSE_SHARE = 0.7
"""The share of the words that must match for the density bonus."""

_FIRST_UNSPACED = "\u2e80"
"""From this character on, scripts have no spaces: a word matches anywhere."""


def score_message(query: str, text: str, title: str = "") -> float:
    """Score a message for a query; 0.0 if neither the query nor one of its words matches."""
    words = _split_words(query)
    if not words:
        return 0.0
    found = sum(1 for word in words if _word_pattern(word).search(text))
    phrase = bool(_word_pattern(" ".join(query.split())).search(text))
    if not found and not phrase:
        return 0.0
    score = PHRASE * phrase + WORD * found
    if len(words) > 1 and found >= DENSE_SHARE * len(words):
        score += DENSE
    if any(_word_pattern(word).search(title) for word in words):
        score += TITLE
    return score


def make_preview(text: str, query: str, about: int = 600) -> str:
    """Return about this many characters of a text around the match, on word boundaries."""
    if len(text) <= about:
        return text
    match = _find_first_match(text, query)
    middle = (match.start() + match.end()) // 2 if match else 0
    start = max(0, min(middle - about // 2, len(text) - about))
    end = start + about
    if start > 0 and (space := re.search(r"\s", text[start : start + 40])):
        start += space.end()
    if end < len(text) and (space := re.search(r"\s(?=\S*\Z)", text[end - 40 : end])):
        end = end - 40 + space.start()
    head, tail = "…" if start > 0 else "", "…" if end < len(text) else ""
    return f"{head}{text[start:end].strip()}{tail}"


def _find_first_match(text: str, query: str) -> re.Match[str] | None:
    phrase = _word_pattern(" ".join(query.split())).search(text) if query.strip() else None
    if phrase:
        return phrase
    matches = [match for word in _split_words(query) if (match := _word_pattern(word).search(text))]
    return min(matches, key=lambda match: match.start(), default=None)


def _split_words(query: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(re.findall(r"[^\W_]+", query.casefold())))


@lru_cache(256)
def _word_pattern(words: str) -> re.Pattern[str]:
    """Return a pattern for whole words in a row, with any white space between them."""
    body = r"\s+".join(map(re.escape, words.split()))
    before = r"(?<![^\W_])" if _has_word_boundary(words[:1]) else ""
    after = r"(?![^\W_])" if _has_word_boundary(words[-1:]) else ""
    return re.compile(f"{before}{body}{after}", re.IGNORECASE)


def _has_word_boundary(char: str) -> bool:
    return char.isalnum() and char < _FIRST_UNSPACED


MODES = ("ranked", "plain")

_DEPTH = 400
"""Candidates that the plain mode scores from the whole archive, and from the newest sessions."""


class SessionMatch(NamedTuple):
    """A message that matches, with enough context to be read alone."""

    session: str
    name: str
    role: str
    address: str
    at: int
    score: float
    why: str
    preview: str


def search_messages(
    tx: Tx,
    query: str,
    max_sessions: int,
    max_results: int,
    mode: str,
    now: int,
    embedder: Embedder | None = None,
) -> list[SessionMatch]:
    """Return the best messages of at most `max_sessions` sessions."""
    if mode not in MODES:
        raise InvalidInput(f"{mode!r} is not a mode", where="mode", hint="one of: ranked, plain")
    for name, number in (("max_sessions", max_sessions), ("max_results", max_results)):
        if number < 1:
            raise InvalidInput(f"{name} must be at least 1, not {number}", where=name)
    scored = (
        _search_ranked(tx, query, max_results, now, embedder)
        if mode == "ranked"
        else _search_plain(tx, query, max_sessions)
    )
    chosen: list[SessionMatch] = []
    seen: set[str] = set()
    for found in scored:
        if len(chosen) == max_results:
            break
        if found.session in seen or len(seen) < max_sessions:
            seen.add(found.session)
            chosen.append(found)
    return chosen


def _search_ranked(
    tx: Tx, query: str, max_results: int, now: int, embedder: Embedder | None
) -> list[SessionMatch]:
    question = steps.RecallQuestion(query, max(max_results * 4, 20), sources=("message",))
    names: dict[str, str] = {}
    return [
        SessionMatch(
            session=hit.session,
            name=_session_name(tx, hit.session, names),
            role=hit.role,
            address=hit.address,
            at=hit.at,
            score=hit.score,
            why=hit.why,
            preview=hit.text,
        )
        for hit in steps.recall((tx,), question, now, embedder)
    ]


def _search_plain(tx: Tx, query: str, max_sessions: int) -> list[SessionMatch]:
    names: dict[str, str] = {}
    scored = []
    for match in _find_candidates(tx, query, max_sessions):
        row = archive_sql.message(tx, match.ref, match.seq)
        if row is None:
            continue
        text = messages.searchable_text(messages.message_from_body(json.loads(row.body)))
        title = _session_name(tx, row.session, names)
        score = score_message(query, text, title)
        if score:
            address = messages.range_address(row.session, row.seq, row.seq)
            preview = make_preview(text, query)
            found = SessionMatch(
                session=row.session,
                name=title,
                role=row.role,
                address=address,
                at=row.at,
                score=score,
                why="phrase and words",
                preview=preview,
            )
            scored.append((-score, -row.at, row.session, -row.seq, found))
    return [found for *_, found in sorted(scored, key=lambda item: item[:4])]


def _find_candidates(tx: Tx, query: str, max_sessions: int) -> set[IndexMatch]:
    wanted = terms.query_stems(query)
    filters = {"source": ("message",)}
    newest = [session.id for session in archive_sql.latest_sessions(tx, max_sessions)]
    anywhere = index_sql.find_candidates(tx, wanted, _DEPTH, filters)
    near = (
        index_sql.find_candidates(tx, wanted, _DEPTH, {**filters, "owner": newest})
        if newest
        else []
    )
    best = {(match.ref, match.seq): match for match in (*anywhere, *near)}
    return set(best.values())


def _session_name(tx: Tx, session: str, names: dict[str, str]) -> str:
    if session not in names:
        held = read_or_none(lambda: archive_sql.get(tx, session))
        names[session] = held.name if held else ""
    return names[session]
