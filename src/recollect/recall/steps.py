"""Recall: find candidates in each space, rank them together, and load the best as hits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Tx
from ..text import display, terms
from ..types import records
from ..types.records import UNTRUSTED_ORIGINS, Hit, Recalled
from . import (
    judgement,
    outdated,
    questions,
    ranking,
    steps_candidates,
    steps_hits,
    steps_outcomes,
)
from .steps_candidates import FoundCandidate, PreparedQuestion
from .steps_candidates import RecallQuestion as RecallQuestion

_MOST_STATED = 4
"""Memories with all words of the question that are loaded beside the best."""

MOST_OUTCOMES, WHOLLY = 8, 0.6
"""Calls whose results are shown with them, and the share of the question from which on a call
matches."""

LONGEST_CALL = 20
"""The words of a call for each word of the question, up to which the question is about the call."""

MOST_REPLIES = 3
"""Requests of the user whose replies are shown with them."""

_BEFORE, _BEHIND = 1.01, 0.99
_DONE = ("call", "output", "receipt", "announcement")
"""What known commands were read from: it is not shown beside them."""

_PRINTED = ("call", "output", "receipt")
"""What is shown once if it says the same."""

_SPELLED, _SPELLED_ALONE, _MOST_SPELLED = 1.15, 2.0, 20
"""The factors of a message with a name in the spelling of the question, which may be that name
alone; and how many such messages are loaded beside the best."""

_OTHER_EMBEDDER = (
    "by words only: the vectors are another embedder's; `recollect rebuild --missing` makes ours"
)


def recall(
    txs: Sequence[Tx], question: RecallQuestion, now: int, embedder: records.Embedder | None = None
) -> Recalled:
    """Return the best records of all given spaces for a question."""
    found = _recall(txs, question, now, embedder)
    return Recalled() if found is None else found  # an empty one has its reasons


def recall_if_indexed(
    txs: Sequence[Tx], question: RecallQuestion, now: int, embedder: records.Embedder | None
) -> Recalled | None:
    """Return the same; None when records must be indexed first, or wait for a local embedder. A
    search learns both from a statement that it needs anyway."""
    return _recall(txs, question, now, embedder, if_indexed=True)


def _recall(
    txs: Sequence[Tx],
    question: RecallQuestion,
    now: int,
    embedder: records.Embedder | None,
    if_indexed: bool = False,
) -> Recalled | None:
    words: dict[str, str] = {}
    for word in questions.subject_terms(question.query):
        words.setdefault(terms.stem(word), word)
    if not words:
        return Recalled(notes=("the question has no words to search for",))
    vector, notes = steps_candidates.embed_question(embedder, question.query)
    known = [tx.frequencies(list(words)) for tx in txs]
    local = embedder is not None and embedder.local
    if if_indexed and any(one.outdated or (one.unembedded and local) for one in known):
        return None
    asked = steps_candidates.prepare_question(
        question.query, words, known, embedder if vector else None, now
    )
    found: list[FoundCandidate] = []
    for tx, frequencies in zip(txs, known, strict=True):
        if vector and embedder:
            maker = frequencies.embedder
            asked = asked._replace(vector=vector if maker == embedder.id else b"")
            notes += (_OTHER_EMBEDDER,) if maker not in ("", embedder.id) else ()
        near = steps_candidates.find_candidates(tx, asked, question, frequencies)
        if without := question.without:
            near = [one for one in near if (one.matched.ref, one.matched.seq) not in without]
        found += near
    best, exact, explain = _rank_hits(found, asked, question, now)
    # A question about one session, or about results, may be answered by one source alone.
    alone = question.session or "tool" in question.kinds
    shown = best if alone else judgement.limit_untrusted(best, exact)
    if len(shown) < len(best):
        notes += _describe_held_back({*best[: question.limit]} - {*shown})
    if question.seen is None:  # what is shown unasked has to be short
        shown = steps_outcomes.add_outcomes(txs, shown, asked.stems, question.limit)
    return judgement.pack_hits(shown, question.limit, question.budget, explain, notes)


def _describe_held_back(hits: Collection[Hit]) -> tuple[str, ...]:
    """Return a note on hits that an untrusted source has too many of, and how to see them."""
    if not hits:
        return ()
    sessions = sorted({hit.session for hit in hits if hit.session})
    number = display.format_count(len(hits), "more hit")
    shown = f"; all hits of it: --session {' or '.join(sessions)}" if sessions else ""
    return (f"left out: {number} of an untrusted source{shown}",)


class _RankedHit(NamedTuple):
    """A loaded candidate with its score so far, and its signals if they are explained."""

    found: FoundCandidate
    loaded: steps_hits.LoadedHit
    score: float
    signs: Mapping[str, float] = {}


def _rank_hits(
    found: Sequence[FoundCandidate], asked: PreparedQuestion, question: RecallQuestion, now: int
) -> tuple[list[Hit], set[str], Callable[[Hit], str]]:
    """Return the hits, best first, the addresses of those with all that was asked for, and what
    explains a hit that is shown.

    Records are loaded only for the candidates that can still win: a record changes the score
    little.
    """
    ranked = _load_best(found, asked, question, now)
    if question.answered:
        ranked = [item for item in ranked if item.loaded.form not in _DONE]
    candidates = [item.found.candidate for item in ranked]
    # An edit is the newest state of what was read before it: compare it with results.
    done = [
        one._replace(role="tool") if item.loaded.edit else one
        for item, one in zip(ranked, candidates, strict=True)
    ]
    final = [item.score for item in ranked]
    loaded = [item.loaded for item in ranked]
    newer = steps_outcomes.find_outdated(loaded, asked.stems)
    if not questions.asks_why_failed(question.query):
        final = judgement.lift_newest(asked.ranking, done, final)
        final = judgement.lift_replacing(candidates, final, newer)
    final = judgement.lift_stated(asked.ranking, candidates, final, [one.hit for one in loaded])
    likely = judgement.calibrate(asked.ranking, candidates, final)
    raw = [item.loaded.form not in ("prose", "reasoning") for item in ranked]
    tail = judgement.is_tail(asked.ranking, candidates, likely, final, raw)
    filtered = steps_candidates.is_filtered(question)
    if filtered:
        tail = [False] * len(tail)  # what fulfils a filter and holds a word is found
    addresses = {old: ranked[new].loaded.hit.address for old, new in newer.items()}
    answer = sorted(
        [
            (
                -score,
                item.loaded.hit._replace(
                    score=value,
                    outdated_by=addresses.get(number) or item.loaded.hit.outdated_by,
                ),
            )
            for number, (item, score, value) in enumerate(zip(ranked, final, likely, strict=True))
            if not tail[number]
        ],
        key=lambda one: (one[0], -one[1].at, one[1].address),
    )
    shares = ranking.exact_shares(asked.ranking, candidates)
    exact = {
        item.loaded.hit.address
        for item, share in zip(ranked, shares, strict=True)
        if share > WHOLLY
    }
    hits = [hit for _, hit in answer]
    if not filtered:
        hits = _merge_repeats(answer, ranked, asked, question)
    scored = {
        one.loaded.hit.address: (one, score) for one, score in zip(ranked, final, strict=True)
    }
    return hits, exact, lambda hit: _explain(asked, *scored[hit.address], hit.score)


def _merge_repeats(
    answer: Sequence[tuple[float, Hit]],
    ranked: Sequence[_RankedHit],
    asked: PreparedQuestion,
    question: RecallQuestion,
) -> list[Hit]:
    """Return the hits of an answer, of those that say the same only one."""
    loaded = {item.loaded.hit.address: item.loaded for item in ranked}
    by_command = asked.ranking.asks or bool(asked.ranking.wholes)
    texts = [
        outdated.RankedText(
            hit=hit,
            score=-score,
            printed=loaded[hit.address].form in _PRINTED,
            command=loaded[hit.address].command if by_command else "",
        )
        for score, hit in answer
    ]
    by_time = not (asked.ranking.period or questions.asks_why_failed(question.query))
    return outdated.merge_repeats(texts, by_time)


def _load_best(
    found: Sequence[FoundCandidate], asked: PreparedQuestion, question: RecallQuestion, now: int
) -> list[_RankedHit]:
    """Score the candidates, and load the best with the outcomes of their calls."""
    everything = [item.candidate for item in found]
    scores = ranking.score_candidates(asked.ranking, everything)
    signs = ranking.explain_scores(asked.ranking, everything) if question.explain else []
    keys = [(-score, -item.at) for score, item in zip(scores, everything, strict=True)]
    order = sorted(range(len(found)), key=keys.__getitem__)
    best = order[: question.loaded]
    rest = [one for one in order[len(best) :] if found[one].matched.source == "memory"]
    best += [one for one in rest if all(found[one].candidate.counts)][:_MOST_STATED]
    if asked.ranking.naming > ranking.NAME_ALONE:
        taken = {*best}
        best += _find_spelled(found, asked, question, [one for one in order if one not in taken])
    spelled = _SPELLED_ALONE if asked.ranking.naming > ranking.NAME_ALONE else _SPELLED
    chosen = [found[place].matched for place in best]
    everywhere = sorted({one.ref for one in chosen if one.source == "memory" and not one.seq})
    ranked: list[_RankedHit] = []
    txs = [*{id(found[place].tx): found[place].tx for place in best}.values()]

    def load() -> list[dict[int, steps_hits.LoadedHit]]:
        mine = [[one.matched for one in map(found.__getitem__, best) if one.tx is tx] for tx in txs]
        return [
            steps_hits.load_hits(tx, matches, question, asked.stems, now, everywhere)
            for tx, matches in zip(txs, mine, strict=True)
        ]

    for tx, read in zip(txs, txs[0].gather(load) if txs else (), strict=True):
        places = {found[place].matched.entry: place for place in best if found[place].tx is tx}
        near = []
        for entry, one in read.items():
            place = places[entry]
            factor = one.factor * _weigh_form(one, asked, found[place].candidate)
            factor = factor * spelled if one.spelled else factor
            one = one._replace(factor=factor) if factor != one.factor else one
            sign = signs[place] if signs else {}
            near.append(_RankedHit(found[place], one, scores[place] * one.factor, sign))
        ranked += _with_outcomes(tx, near, asked, question, now)
    return ranked


def _weigh_form(
    loaded: steps_hits.LoadedHit, asked: PreparedQuestion, candidate: ranking.RankingCandidate
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


def _find_spelled(
    found: Sequence[FoundCandidate],
    asked: PreparedQuestion,
    question: RecallQuestion,
    order: Sequence[int],
) -> list[int]:
    """Return the places, among these, of messages that may spell the name asked for as the question
    does. An index without case and endings cannot tell them from `endpoint` for `ENDPOINTS`."""
    shares = ranking.exact_shares(asked.ranking, [found[place].candidate for place in order])
    places = [place for place, share in zip(order, shares, strict=True) if share > ranking.ALMOST]
    spelled: list[int] = []
    for tx in {id(found[place].tx): found[place].tx for place in places}.values():
        ours = {
            (found[place].matched.ref, found[place].matched.seq): place
            for place in places
            if found[place].tx is tx
        }
        near = [found[place].matched for place in ours.values()]
        keys = steps_hits.find_spelled(tx, near, question.query, _MOST_SPELLED)
        spelled += [ours[key] for key in keys]
    return spelled[:_MOST_SPELLED]


def _with_outcomes(
    tx: Tx,
    ranked: Sequence[_RankedHit],
    asked: PreparedQuestion,
    question: RecallQuestion,
    now: int,
) -> list[_RankedHit]:
    """Add the results of calls that match, and the replies to requests that do, each just before
    its call or request: outcomes answer, calls do not. A name alone is answered by the call that
    holds it."""
    share = judgement.matched_share
    whole = [
        item
        for item in sorted(ranked, key=lambda item: -item.score)
        if (item.loaded.calls or item.loaded.stated)
        and share(asked.ranking, item.found.candidate) >= WHOLLY
    ]
    called = [item for item in whole if item.loaded.calls and _is_command(item, asked)]
    called = called[:MOST_OUTCOMES]
    asks = asked.ranking.asks
    stated = [item for item in whole if item.loaded.stated and not asked.ranking.speaker]
    requested = [item for item in stated if not asks or questions.requests(item.loaded.stated)]
    requested = requested[:MOST_REPLIES]
    if not called and not requested:
        return list(ranked)
    beside = _BEHIND if asked.ranking.naming > ranking.NAME_ALONE else _BEFORE
    filters = steps_candidates.build_filters(tx, question)
    outcomes = steps_outcomes.find_outcomes(tx, [item.loaded for item in called], filters)
    known = {item.found.matched.entry for item in ranked}
    replies = steps_outcomes.find_replies(tx, [item.loaded for item in requested], filters)
    # To a subject a reply that does not match by itself is shown with its request.
    outcomes |= {one: at for one, at in replies.items() if asks or one.entry in known}
    new = [item for item in outcomes if item.entry not in known]
    read = steps_hits.load_hits(tx, new, question, asked.stems, now) if new else {}
    read = {entry: one for entry, one in read.items() if one.form in ("prose", "output", "receipt")}
    calls = {item.loaded.hit.address: item for item in (*called, *requested)}
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
                entry=item.entry, at=item.at, seq=item.seq - 1, role=item.kind, digest=""
            )
            candidate = candidate._replace(trusted=item.label not in UNTRUSTED_ORIGINS)
            one = _RankedHit(FoundCandidate(tx, item, candidate), read[item.entry], 0.0, call.signs)
            found.append(_as_outcome(one, call, asked, beside))
    return found


def _is_command(item: _RankedHit, asked: PreparedQuestion) -> bool:
    """Check whether a call is what was asked about, not one that carries a long text with the
    words."""
    return item.found.candidate.length <= LONGEST_CALL * max(len(asked.stems), 1)


def _as_outcome(
    item: _RankedHit, call: _RankedHit, asked: PreparedQuestion, beside: float
) -> _RankedHit:
    """Give a result or reply the score and the matches of its call or request, if they are
    better."""
    held = call.found.candidate
    if item.found.matched.kind == "tool":
        item = item._replace(loaded=item.loaded._replace(command=call.loaded.command))
    candidate = item.found.candidate._replace(counts=held.counts, phrase=held.phrase)
    forms = [_weigh_form(one.loaded, asked, candidate) for one in (item, call)]
    score = call.score * beside * max(forms[0] / forms[1], 1.0)
    if item.score >= score:
        return item
    factor = call.loaded.factor * score / call.score if call.score else 1.0
    return item._replace(
        found=item.found._replace(candidate=candidate),
        loaded=item.loaded._replace(factor=factor),
        score=score,
    )


def _explain(asked: PreparedQuestion, item: _RankedHit, score: float, shown: float) -> str:
    about = (item.signs, item.loaded.factor, score, shown)
    told = judgement.describe_score(asked.ranking, item.found.candidate, bool(asked.vector), *about)
    return ", ".join([told, *filter(None, [item.loaded.hit.why])])
