"""Search past sessions: everything that was ever said, whether or not it left a window.

The words index picks the candidates. The general search ranks them, or the plain scoring of
`recall.session_scoring` does.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..errors import InvalidInput
from ..index import sql as index_sql
from ..storage.database import Matched, Tx
from ..storage.rows import readable
from ..text import messages, terms
from . import session_scoring, steps

MODES = ("ranked", "plain")
_DEPTH = 400
"""How many candidates the plain scoring looks at, from the whole archive and again from the
newest sessions: a common word stands in more messages than anybody wants to read."""


class Found(NamedTuple):
    """A message that answers, enough to be read alone."""

    session: str
    name: str
    role: str
    address: str
    at: int
    score: float
    why: str
    preview: str


def find(
    tx: Tx, query: str, max_sessions: int, max_results: int, mode: str, now: int
) -> list[Found]:
    """The best messages, from at most so many sessions; nothing when nothing matches."""
    if mode not in MODES:
        raise InvalidInput(f"{mode!r} is not a mode", where="mode", hint="one of: ranked, plain")
    for name, number in (("max_sessions", max_sessions), ("max_results", max_results)):
        if number < 1:
            raise InvalidInput(f"{name} must be at least 1, not {number}", where=name)
    scored = (
        _ranked(tx, query, max_results, now)
        if mode == "ranked"
        else _plain(tx, query, max_sessions)
    )
    chosen: list[Found] = []
    seen: set[str] = set()
    for found in scored:
        if len(chosen) == max_results:
            break
        if found.session in seen or len(seen) < max_sessions:
            seen.add(found.session)
            chosen.append(found)
    return chosen


def _ranked(tx: Tx, query: str, max_results: int, now: int) -> list[Found]:
    question = steps.Question(query, max(max_results * 4, 20), sources=("message",))
    names: dict[str, str] = {}
    return [
        Found(
            hit.session,
            _name(tx, hit.session, names),
            hit.role,
            hit.address,
            hit.at,
            hit.score,
            hit.why,
            hit.text,
        )
        for hit in steps.recall((tx,), question, now)
    ]


def _plain(tx: Tx, query: str, max_sessions: int) -> list[Found]:
    names: dict[str, str] = {}
    scored = []
    for match in _candidates(tx, query, max_sessions):
        row = archive_sql.message(tx, match.ref, match.seq)
        if row is None:
            continue
        text = messages.text_of(messages.message_from_body(json.loads(row.body)))
        title = _name(tx, row.session, names)
        score = session_scoring.score_seed(query, text, title)
        if score:
            address = messages.address_of(row.session, row.seq, row.seq)
            preview = session_scoring.preview(text, query)
            found = Found(
                row.session, title, row.role, address, row.at, score, "phrase and words", preview
            )
            scored.append((-score, -row.at, row.session, -row.seq, found))
    return [found for *_, found in sorted(scored, key=lambda item: item[:4])]


def _candidates(tx: Tx, query: str, max_sessions: int) -> set[Matched]:
    wanted = terms.query_stems(query)
    filters = {"source": ("message",)}
    newest = [session.id for session in archive_sql.latest(tx, max_sessions)]
    anywhere = index_sql.candidates(tx, wanted, _DEPTH, filters)
    near = index_sql.candidates(tx, wanted, _DEPTH, {**filters, "owner": newest}) if newest else []
    best = {(match.ref, match.seq): match for match in (*anywhere, *near)}
    return set(best.values())


def _name(tx: Tx, session: str, names: dict[str, str]) -> str:
    if session not in names:
        held = readable(lambda: archive_sql.get(tx, session))
        names[session] = held.name if held else ""
    return names[session]
