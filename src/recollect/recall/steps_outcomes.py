"""Find what came of calls and requests (results, replies, the end of a turn), and which hits newer
ones replace."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence

from ..archive import sql as archive_sql
from ..fast_typing import Any
from ..index import sql as index_sql
from ..storage.database import IndexMatch, Tx
from ..text import display, messages
from ..types.records import Hit, NearbyMessage
from . import outdated, questions
from .steps_hits import LoadedHit, parse_message

_LAST_TEXTS, _LAST_MESSAGES = 3, 12
"""The texts at the end of a turn of which one tells its outcome, among so many messages."""

_SHORTEST_OUTCOME = 25
"""Characters of a reply that says what came of a request, not just "Done."."""

_LATE = 4
"""Results are looked for among this many messages more than there were calls."""


def find_outcomes(
    tx: Tx, called: Sequence[LoadedHit], filters: Mapping[str, Sequence[Any]]
) -> dict[IndexMatch, str]:
    """Return those results of these calls that fulfil the filters, each with its call's address."""
    ranges = []
    wanted: dict[tuple[str, str], str] = {}
    for one in called:
        seq = int(one.hit.id.rpartition(":")[2])
        ranges.append((one.hit.session, seq + 1, seq + len(one.calls) + _LATE))
        wanted |= {(one.hit.session, call): one.hit.address for call in one.calls}
    found = {
        (row.session, row.seq): wanted[key]
        for row in archive_sql.message_ranges(tx, ranges)
        if row.role == "tool" and (key := (row.session, parse_message(row).call_id)) in wanted
    }
    near = index_sql.find_messages(tx, list(found), filters) if found else []
    return {item: found[item.ref, item.seq] for item in near}


def find_replies(
    tx: Tx, requested: Sequence[LoadedHit], filters: Mapping[str, Sequence[Any]]
) -> dict[IndexMatch, str]:
    """Return the last messages of the turns that requests of the user began, each with the address
    of its request."""
    places = {
        (one.hit.session, int(one.hit.id.rpartition(":")[2])): one.hit.address
        for one in requested
        if one.hit.kind == "message"  # a memory may be worded as a request, too
    }
    ends = archive_sql.turn_ends(tx, list(places))
    found = {(session, end): places[session, seq] for (session, seq), end in ends.items()}
    near = index_sql.find_messages(tx, list(found), filters) if found else []
    return {item: found[item.ref, item.seq] for item in near}


def add_outcomes(
    txs: Sequence[Tx], hits: Sequence[Hit], searched: Sequence[str], most: int
) -> list[Hit]:
    """Add to the messages of the user among the first hits what came of them, unless it is a hit
    itself."""
    first = list(hits[:most])
    if any(hit.role == "user" for hit in first):
        shown = {hit.address for hit in first}
        for tx in txs:
            first = _add_outcomes(tx, first, searched, shown)
    return [*first, *hits[most:]]


def _add_outcomes(
    tx: Tx, hits: Sequence[Hit], searched: Sequence[str], shown: Collection[str]
) -> list[Hit]:
    places = {
        (hit.session, int(hit.id.rpartition(":")[2])): hit.address
        for hit in hits
        if hit.role == "user" and hit.trust == "user"
    }
    ends = archive_sql.turn_ends(tx, list(places)) if places else {}
    ranges = [
        (session, max(seq + 1, end - _LAST_MESSAGES), end) for (session, seq), end in ends.items()
    ]
    rows = archive_sql.message_ranges(tx, ranges, "assistant") if ranges else []
    found: dict[str, NearbyMessage] = {}
    for (session, seq), end in ends.items():
        turn = [row for row in rows if row.session == session and seq < row.seq <= end]
        outcome = _choose_outcome(turn, searched)
        if outcome and outcome.address not in shown:
            found[places[session, seq]] = outcome
    return [
        hit._replace(outcome=found[hit.address]) if hit.address in found else hit for hit in hits
    ]


def _choose_outcome(
    turn: Sequence[archive_sql.MessageRow], searched: Sequence[str]
) -> NearbyMessage | None:
    """Return the longest of the last texts of a turn: after its answer an agent may still say that
    a task in the background has ended."""
    last: list[tuple[str, archive_sql.MessageRow]] = []
    for row in reversed(turn):
        if len(last) < _LAST_TEXTS and messages.is_unchanged(row.body, row.digest, row.role):
            message = parse_message(row)
            text = messages.plain_text(message).strip()
            if not message.calls and len(text) >= _SHORTEST_OUTCOME:
                last.append((text, row))
    last = [(text, row) for text, row in last if not questions.announces_only(text)]
    if not last:
        return None
    text, row = max(last, key=lambda one: len(one[0]))
    address = messages.range_address(row.session, row.seq, row.seq)
    return NearbyMessage(address, row.role, display.cut_snippet(text, searched))


def find_outdated(best: Sequence[LoadedHit], searched: Sequence[str]) -> dict[int, int]:
    """Return the places of hits that a newer statement, result or edit replaces, with the place of
    that one."""
    if len(best) < 2:
        return {}
    done = [place for place, one in enumerate(best) if one.edit or one.hit.role == "tool"]
    marks: dict[int, int] = {}
    if len(done) > 1:
        texts = [
            outdated.DoneText(
                session=one.hit.session,
                seq=int(one.hit.id.rpartition(":")[2]),
                shown=one.hit.text,
                edit=one.edit or ("", ""),
                command=one.command if one.hit.role == "tool" else "",
            )
            for one in map(best.__getitem__, done)
        ]
        replaced = outdated.find_replaced(texts, set(searched))
        marks = {done[old]: done[new] for old, new in replaced.items()}
    own = [place for place, one in enumerate(best) if one.stated]
    if len(own) < 2 or all(best[place].hit.kind != "message" for place in own):
        return marks
    dated = [
        outdated.DatedText(one.stated, one.hit.at, one.hit.kind != "message")
        for one in map(best.__getitem__, own)
    ]
    found = outdated.find_outdated(dated, set(searched))
    return marks | {own[old]: own[new] for old, new in found.items()}
