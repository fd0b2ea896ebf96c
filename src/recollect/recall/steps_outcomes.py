"""Find what came of calls and requests (results, replies, the end of a turn), and which hits newer
ones replace."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..archive import sql as archive_sql
from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..storage.database import IndexMatch, Tx
from ..text import display, messages
from ..types.records import UNTRUSTED_ORIGINS, Hit, NearbyMessage
from . import judgement, outdated, questions, ranking, steps_candidates
from .questions import RecallQuestion
from .steps_candidates import FoundCandidate, PreparedQuestion
from .steps_hits import LoadedHit, load_hits, parse_message

MOST_OUTCOMES, WHOLLY = 8, 0.6
"""Calls whose results are shown with them, and the share of the question from which on a call
matches."""

LONGEST_CALL = 20
"""The words of a call for each word of the question, up to which the question is about the call."""

MOST_REPLIES = 3
"""Requests of the user whose replies are shown with them."""

_BEFORE, _BEHIND = 1.01, 0.99

_LAST_TEXTS, _LAST_MESSAGES = 3, 12
"""The texts at the end of a turn of which one tells its outcome, among so many messages."""

_SHORTEST_OUTCOME = 25
"""Characters of a reply that says what came of a request, not just "Done."."""

_LATE = 4
"""Results are looked for among this many messages more than there were calls."""


_Turn = Sequence[archive_sql.MessageRow]


class FoundOutcomes(NamedTuple):
    """What came of calls and requests."""

    entries: dict[IndexMatch, str]
    """The results and replies, each with the address of its call or request."""
    rows: dict[tuple[str, int], archive_sql.MessageRow]
    """Their messages, by session and number."""
    turns: dict[str, _Turn]
    """The ends of the turns that requests began, by the address of the request."""


def find_outcomes(
    tx: Tx,
    called: Sequence[LoadedHit],
    requested: Sequence[LoadedHit],
    shown: Sequence[LoadedHit],
    filters: Mapping[str, Sequence[Any]],
) -> FoundOutcomes:
    """Return those results of these calls, and last replies to these requests, that fulfil the
    filters; and the ends of the turns that these requests, and the `shown` ones, began."""
    results, rows = _find_results(tx, called, filters)
    turns = _read_turns(tx, [*requested, *shown])
    # A memory may be worded as a request, too.
    requested = [one for one in requested if one.hit.kind == "message"]
    last = [(one, row) for one in requested for row in turns[one.hit.address][-1:]]
    ranges = [(row.session, row.seq, row.seq) for _, row in last]
    near = index_sql.find_messages(tx, ranges, filters) if ranges else {}
    replies: dict[IndexMatch, str] = {}
    for one, row in last:
        if (row.session, row.seq) in near:
            replies[near[row.session, row.seq]] = one.hit.address
            rows[row.session, row.seq] = row
    return FoundOutcomes(results | replies, rows, turns)


def _find_results(
    tx: Tx, called: Sequence[LoadedHit], filters: Mapping[str, Sequence[Any]]
) -> tuple[dict[IndexMatch, str], dict[tuple[str, int], archive_sql.MessageRow]]:
    if not called:
        return {}, {}
    ranges = []
    wanted: dict[tuple[str, str], str] = {}
    for one in called:
        session, seq = _find_place(one.hit)
        ranges.append((session, seq + 1, seq + len(one.calls) + _LATE))
        wanted |= {(session, call): one.hit.address for call in one.calls}
    # Neither needs the other's answer: a server gets both at once.
    rows = archive_sql.message_ranges(tx, ranges)
    near = index_sql.find_messages(tx, ranges, filters)
    found: dict[IndexMatch, str] = {}
    for row in rows:
        entry = near.get((row.session, row.seq))
        if entry and row.role == "tool":
            key = (row.session, parse_message(row).call_id)
            found |= {entry: wanted[key]} if key in wanted else {}
    return found, {(row.session, row.seq): row for row in rows}


def began_turn(hit: Hit) -> bool:
    """Check whether a hit is a message of the user, imported or not: what came of it is shown with
    it."""
    return hit.role == "user" and hit.kind == "message"


def _find_place(hit: Hit) -> tuple[str, int]:
    """Return session and number of a message."""
    return hit.session, int(hit.id.rpartition(":")[2])


def read_turns_ahead(
    tx: Tx, found: Sequence[IndexMatch], loaded: Mapping[int, LoadedHit]
) -> dict[int, LoadedHit]:
    """Return the hits of index matches, those that are messages of the user with the ends of the
    turns that they began: a server loads both by one statement."""
    said = [item for item in found if item.source == "message"]
    places = {item.entry: (item.ref, item.seq) for item in said if item.kind == "user"}
    ends = archive_sql.turn_ends(tx, list(places.values()), _LAST_MESSAGES)
    turns = {entry: ends.get(place, ()) for entry, place in places.items()}
    return {entry: one._replace(turn=turns.get(entry)) for entry, one in loaded.items()}


def _read_turns(tx: Tx, loaded: Sequence[LoadedHit]) -> dict[str, _Turn]:
    """Return the ends of the turns that messages of the user among hits began, by their addresses;
    what was read ahead is not read again."""
    asked = [one for one in loaded if began_turn(one.hit)]
    places = [_find_place(one.hit) for one in asked if one.turn is None]
    ends = archive_sql.turn_ends(tx, places, _LAST_MESSAGES)
    return {
        one.hit.address: ends.get(_find_place(one.hit), ()) if one.turn is None else one.turn
        for one in asked
    }


def add_outcomes(
    hits: Sequence[Hit],
    loaded: Mapping[str, tuple[Tx, LoadedHit]],
    searched: Sequence[str],
    most: int,
) -> list[Hit]:
    """Add to the messages of the user among the first hits what came of them, unless it is a hit
    itself.

    loaded: each hit by its address, and its space
    """
    first = list(hits[:most])
    asked = [loaded[hit.address] for hit in first if began_turn(hit)]
    turns: dict[str, _Turn] = {}
    for tx in {id(tx): tx for tx, _ in asked}.values():
        turns |= _read_turns(tx, [one for other, one in asked if other is tx])
    shown = {hit.address for hit in first}
    found: dict[str, NearbyMessage] = {}
    for address, turn in turns.items():
        outcome = _choose_outcome(turn, searched)
        if outcome and outcome.address not in shown:
            found[address] = outcome
    first = [
        hit._replace(outcome=found[hit.address]) if hit.address in found else hit for hit in first
    ]
    return [*first, *hits[most:]]


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
        edited = {best[place].hit.session for place in done if best[place].edit}
        texts = [
            outdated.DoneText(
                session=one.hit.session,
                seq=int(one.hit.id.rpartition(":")[2]),
                shown=one.hit.text,
                edit=one.edit or outdated.NO_EDIT,
                file=one.file,
                asked=_read_call(one) if one.hit.session in edited else "",
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


def _read_call(one: LoadedHit) -> str:
    """Return the command of a result if it is known, or the arguments of the call before it."""
    row = one.before
    if one.command or row is None or not messages.is_unchanged(row.body, row.digest, row.role):
        return one.command
    return " ".join([call.arguments for call in parse_message(row).calls])


class RankedHit(NamedTuple):
    """A loaded candidate with its score so far, and its signals if they are explained."""

    found: FoundCandidate
    loaded: LoadedHit
    score: float
    signs: Mapping[str, float] = {}


def weigh_form(
    loaded: LoadedHit, asked: PreparedQuestion, candidate: ranking.RankingCandidate
) -> float:
    """Return the factor of a message for what it is; a third of the difference if it holds what was
    asked for exactly. A subject is no question: what was done on it says almost as much as an
    answer."""
    factor = questions.FORMS[loaded.form]
    if factor < 1.0 and not asked.ranking.asks:
        factor = 1.0 if loaded.hit.role == "user" else (1.0 + factor) / 2
    if factor < 1.0 and ranking.exact_share(asked.ranking, candidate) > ranking.ALMOST:
        return 1.0 - (1.0 - factor) / 3
    return factor


def with_outcomes(
    tx: Tx,
    ranked: Sequence[RankedHit],
    asked: PreparedQuestion,
    question: RecallQuestion,
    now: int,
) -> list[RankedHit]:
    """Add the results of calls that match, and the replies to requests that do, each just before
    its call or request: outcomes answer, calls do not. A name alone is answered by the call that
    holds it."""
    called, requested = _choose_asked(ranked, asked)
    if not called and not requested:
        return list(ranked)
    beside = _BEHIND if asked.ranking.naming > ranking.NAME_ALONE else _BEFORE
    filters = steps_candidates.build_filters(tx, question)
    # A server is asked at once for what `add_outcomes` may need.
    ahead = ranked if tx.is_remote and question.seen is None else ()
    calls_of, asks_of, shown = (
        [item.loaded for item in some] for some in (called, requested, ahead)
    )
    came = tx.gather(lambda: find_outcomes(tx, calls_of, asks_of, shown, filters))
    known = {item.found.matched.entry for item in ranked}
    calls = {item.loaded.hit.address: item for item in (*called, *requested)}
    # To a subject a reply that does not match by itself is shown with its request.
    outcomes = {
        one: at
        for one, at in came.entries.items()
        if asked.ranking.asks or one.entry in known or calls[at].loaded.calls
    }
    new = [item for item in outcomes if item.entry not in known]
    read = load_hits(tx, new, question, asked.stems, now, (), came.rows) if new else {}
    read = {entry: one for entry, one in read.items() if one.form in ("prose", "output", "receipt")}
    of_entry = {item.entry: calls[address] for item, address in outcomes.items()}
    found = [
        _as_outcome(item, call, asked, beside)
        if (call := of_entry.get(item.found.matched.entry))
        else item
        for item in ranked
    ]
    for item in new:
        call = of_entry[item.entry]
        if item.entry in read:
            candidate = call.found.candidate._replace(
                address=(item.ref, item.seq),
                at=item.at,
                seq=item.seq - 1,
                role=item.kind,
                digest="",
            )
            candidate = candidate._replace(trusted=item.label not in UNTRUSTED_ORIGINS)
            one = RankedHit(FoundCandidate(tx, item, candidate), read[item.entry], 0.0, call.signs)
            found.append(_as_outcome(one, call, asked, beside))
    return [
        item._replace(loaded=item.loaded._replace(turn=came.turns.get(item.loaded.hit.address)))
        for item in found
    ]


def _choose_asked(
    ranked: Sequence[RankedHit], asked: PreparedQuestion
) -> tuple[list[RankedHit], list[RankedHit]]:
    """Return the calls, and the requests of the user, that match a question."""
    share = judgement.matched_share
    whole = [
        item
        for item in sorted(ranked, key=lambda item: -item.score)
        if (item.loaded.calls or item.loaded.stated)
        and share(asked.ranking, item.found.candidate) >= WHOLLY
    ]
    called = [item for item in whole if item.loaded.calls and _is_command(item, asked)]
    asks = asked.ranking.asks
    stated = [item for item in whole if item.loaded.stated and not asked.ranking.speaker]
    requested = [item for item in stated if not asks or questions.requests(item.loaded.stated)]
    return called[:MOST_OUTCOMES], requested[:MOST_REPLIES]


def _is_command(item: RankedHit, asked: PreparedQuestion) -> bool:
    """Check whether a call is what was asked about, not one that carries a long text with the
    words."""
    return item.found.candidate.length <= LONGEST_CALL * max(len(asked.stems), 1)


def _as_outcome(
    item: RankedHit, call: RankedHit, asked: PreparedQuestion, beside: float
) -> RankedHit:
    """Give a result or reply the score and the matches of its call or request, if they are
    better."""
    held = call.found.candidate
    if item.found.matched.kind == "tool":
        item = item._replace(loaded=item.loaded._replace(command=call.loaded.command))
    candidate = item.found.candidate._replace(counts=held.counts, phrase=held.phrase)
    forms = [weigh_form(one.loaded, asked, candidate) for one in (item, call)]
    score = call.score * beside * max(forms[0] / forms[1], 1.0)
    if item.score >= score:
        return item
    factor = call.loaded.factor * score / call.score if call.score else 1.0
    return item._replace(
        found=item.found._replace(candidate=candidate),
        loaded=item.loaded._replace(factor=factor),
        score=score,
    )
