"""Recall: find candidates in each space, rank them together, and load the best as hits."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping, Sequence

from ..storage.database import StemFrequencies, Tx
from ..text import dates, display, terms
from ..types import records
from ..types.records import Hit, Recalled
from . import judgement, outdated, questions, ranking, steps_candidates, steps_hits, steps_outcomes
from .questions import RecallQuestion as RecallQuestion
from .steps_candidates import FoundCandidate, PreparedQuestion
from .steps_outcomes import RankedHit

_MOST_STATED = 4
"""Memories with all words of the question that are loaded beside the best."""

_DONE = ("call", "output", "receipt", "announcement")
"""What known commands were read from: it is not shown beside them."""

_PRINTED = ("call", "output", "receipt")
"""What is shown once if it says the same."""

_SPELLED, _SPELLED_ALONE, _MOST_SPELLED = 1.15, 2.0, 20
"""The factors of a message with a name in the spelling of the question, which may be that name
alone, less if it names a file so; and how many such messages are loaded beside the best."""

_OTHER_EMBEDDER = (
    "by words only: the vectors are another embedder's; `recollect rebuild --missing` makes ours"
)


def recall(
    txs: Sequence[Tx], question: RecallQuestion, now: int, embedder: records.Embedder | None = None
) -> Recalled:
    """Return the best records of all given spaces for a question."""
    found = recall_if_indexed(txs, question, now, embedder)
    return Recalled() if found is None else found  # an empty one has its reasons


def recall_if_indexed(
    txs: Sequence[Tx],
    question: RecallQuestion,
    now: int,
    embedder: records.Embedder | None,
    hurried: Collection[str] | None = None,
) -> Recalled | None:
    """Return the same; with `hurried` spaces, None when records must be indexed first, or wait for
    a local embedder in another space. A search learns both from a statement that it needs anyway.
    """
    words: dict[str, str] = {}
    for word in questions.subject_terms(question.query):
        words.setdefault(terms.stem(word), word)
    if not words:
        return Recalled(notes=("the question has no words to search for",))
    known = steps_candidates.count_stems(txs, list(words), question)
    local = embedder is not None and embedder.local
    if hurried is not None and any(
        one.outdated or (one.unembedded and local and tx.space not in hurried)
        for tx, one in zip(txs, known, strict=True)
    ):
        return None
    spaces = [
        steps_candidates.apply_filters(tx, question, one)
        for tx, one in zip(txs, known, strict=True)
    ]
    if not any(space.left is None or space.left for space in spaces):
        return Recalled()  # no entry fulfils the filters
    vector, notes = steps_candidates.embed_question(embedder, question.query)
    asked = _prepare_question(question.query, words, known, embedder if vector else None, now)
    found: list[FoundCandidate] = []
    own = [asked] * len(txs)
    if vector and embedder:
        makers = [frequencies.embedder for frequencies in known]
        own = [asked._replace(vector=vector if one == embedder.id else b"") for one in makers]
        notes += (_OTHER_EMBEDDER,) * sum([one not in ("", embedder.id) for one in makers])
        asked = own[-1] if own else asked
    steps_candidates.search_ahead(txs, own, question, spaces)
    for tx, one, space in zip(txs, own, spaces, strict=True):
        near = steps_candidates.find_candidates(tx, one, question, space)
        if without := question.without:
            near = [item for item in near if (item.matched.ref, item.matched.seq) not in without]
        found += near
    ranked = _load_best(found, asked, question, now)
    best, exact, explain = _rank_hits(ranked, asked, question)
    # A question about one session, or about results, may be answered by one source alone.
    alone = question.session or "tool" in question.kinds
    shown = best if alone else judgement.limit_untrusted(best, exact)
    if len(shown) < len(best):
        notes += _describe_held_back({*best[: question.limit]} - {*shown})
    if question.seen is None:  # what is shown unasked has to be short
        loaded = {one.loaded.hit.address: (one.found.tx, one.loaded) for one in ranked}
        shown = steps_outcomes.add_outcomes(shown, loaded, asked.stems, question.limit)
    return judgement.pack_hits(shown, question.limit, question.budget, explain, notes)


def _prepare_question(
    query: str,
    words: Mapping[str, str],
    known: Sequence[StemFrequencies],
    embedder: records.Embedder | None,
    now: int,
) -> PreparedQuestion:
    """Weigh the terms of a question, and choose those to look up."""
    entries = sum(one.entries for one in known)
    holding = {stem: sum(one.holding[stem] for one in known) for stem in words}
    stems = tuple(stem for stem, held in holding.items() if held)
    weights = tuple(
        questions.term_weight(
            entries, holding[stem], embedder.rarity(words[stem]) if embedder else 1.0
        )
        for stem in stems
    )
    average = sum(one.entries * one.average for one in known) / max(entries, 1)
    period = dates.find_period(query, now)
    whole = questions.question_stems(query)
    names = questions.find_names(stems)
    parts = terms.find_names(query).values()
    wholes = {terms.stem(found[-1]) for found in parts}
    of_names = {terms.stem(term) for found in parts for term in found}
    missing = questions.term_weight(entries, 0, 1.0)
    unknown = [stem for stem, held in holding.items() if not held]
    rarity = {stem: embedder.rarity(words[stem]) if embedder else 1.0 for stem in unknown}
    weighed = {stem: missing * rarity[stem] for stem in unknown}
    unheld = sum(weighed.values())
    unheld_wholes = sum([weight for stem, weight in weighed.items() if stem in wholes])
    weighed |= dict(zip(stems, weights, strict=True))
    named = sum([weight for stem, weight in weighed.items() if stem in wholes])
    plain = sum([weight for stem, weight in weighed.items() if stem not in of_names])
    weighed_question = ranking.RankingQuestion(
        weights=weights,
        average=average,
        speaker=questions.asked_speaker(query),
        period=period,
        names=names,
        wholes=tuple([place for place, stem in enumerate(stems) if stem in wholes]),
        asks=bool(whole),
        standing=questions.asks_for_rules(query),
        naming=named / ((named + plain) or 1.0),
        unknown=unheld,
        unknown_wholes=unheld_wholes,
    )
    has_messages = any(one.messages for one in known)
    chosen = questions.choose_stems(stems, entries, holding, embedder is not None)
    return PreparedQuestion(
        ranking=weighed_question,
        stems=stems,
        searched=questions.drop_weightless(chosen, entries, holding, has_messages),
        vector=b"",
        whole=whole,
        phrases=questions.find_phrases(query),
    )


def _describe_held_back(hits: Collection[Hit]) -> tuple[str, ...]:
    """Return a note on hits that an untrusted source has too many of, and how to see them."""
    if not hits:
        return ()
    sessions = sorted({hit.session for hit in hits if hit.session})
    number = display.format_count(len(hits), "more hit")
    shown = f"; all hits of it: --session {' or '.join(sessions)}" if sessions else ""
    return (f"left out: {number} of an untrusted source{shown}",)


def _rank_hits(
    ranked: Sequence[RankedHit], asked: PreparedQuestion, question: RecallQuestion
) -> tuple[list[Hit], set[str], Callable[[Hit], str]]:
    """Return the hits, best first, the addresses of those with all that was asked for, and what
    explains a hit that is shown."""
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
    if question.is_filtered:
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
        if share > steps_outcomes.WHOLLY
    }
    hits = [hit for _, hit in answer]
    if not question.is_filtered and any(hit.role for hit in hits):  # no memory repeats another
        hits = _merge_repeats(answer, ranked, asked, question)
    scored = {
        one.loaded.hit.address: (one, score) for one, score in zip(ranked, final, strict=True)
    }
    return hits, exact, lambda hit: _explain(asked, *scored[hit.address], hit.score)


def _merge_repeats(
    answer: Sequence[tuple[float, Hit]],
    ranked: Sequence[RankedHit],
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
) -> list[RankedHit]:
    """Score the candidates, and load the best with the outcomes of their calls.

    Records are loaded only for the candidates that can still win: a record changes the score
    little.
    """
    everything = [item.candidate for item in found]
    scores = ranking.score_candidates(asked.ranking, everything)
    signs = ranking.explain_scores(asked.ranking, everything) if question.explain else []
    order = ranking.rank_positions(everything, scores)
    best = order[: question.loaded]
    rest = [one for one in order[len(best) :] if found[one].matched.source == "memory"]
    best += [one for one in rest if all(found[one].candidate.counts)][:_MOST_STATED]
    exact: list[int] = []
    if alone := asked.ranking.naming > ranking.NAME_ALONE:
        exact = _find_exact(found, asked, [one for one in order if one not in {*best}])
    spelled = _SPELLED_ALONE if alone else _SPELLED
    chosen = [found[place].matched for place in best]
    everywhere = sorted({one.ref for one in chosen if one.source == "memory" and not one.seq})
    ranked: list[RankedHit] = []
    txs = [*{id(found[place].tx): found[place].tx for place in (*best, *exact)}.values()]

    def load() -> list[dict[int, steps_hits.LoadedHit]]:
        read = []
        left = _MOST_SPELLED
        for tx in txs:
            mine, others = (
                [found[place].matched for place in places if found[place].tx is tx]
                for places in (best, exact)
            )
            hits = steps_hits.load_hits(tx, mine, question, asked.stems, now, everywhere)
            if tx.is_remote and question.seen is None:
                hits = steps_outcomes.read_turns_ahead(tx, mine, hits)
            rows = steps_hits.find_spelled(tx, others, question.query, left) if others else {}
            more = [one for one in others if (one.ref, one.seq) in rows]
            left -= len(more)
            read.append(hits | steps_hits.load_hits(tx, more, question, asked.stems, now, (), rows))
        return read

    loaded = txs[0].gather(load) if txs else []
    for tx in txs[:1]:
        tx.settle()
    for tx, read in zip(txs, loaded, strict=True):
        places = {
            found[place].matched.entry: place for place in (*best, *exact) if found[place].tx is tx
        }
        near = []
        for entry, one in read.items():
            place = places[entry]
            factor = one.factor * steps_outcomes.weigh_form(one, asked, found[place].candidate)
            factor = factor * spelled**one.spelled if one.spelled else factor
            one = one._replace(factor=factor) if factor != one.factor else one
            sign = signs[place] if signs else {}
            near.append(RankedHit(found[place], one, scores[place] * one.factor, sign))
        ranked += steps_outcomes.with_outcomes(tx, near, asked, question, now)
    return ranked


def _find_exact(
    found: Sequence[FoundCandidate], asked: PreparedQuestion, order: Sequence[int]
) -> list[int]:
    """Return the places, among these, of records that may spell the name asked for as the question
    does. An index without case and endings cannot tell them from `endpoint` for `ENDPOINTS`."""
    shares = ranking.exact_shares(asked.ranking, [found[place].candidate for place in order])
    places = [place for place, share in zip(order, shares, strict=True) if share > ranking.ALMOST]
    # Of several parts of a record one is enough.
    parts = {
        (id(found[place].tx), found[place].matched.ref, found[place].matched.seq): place
        for place in places
    }
    return list(parts.values())


def _explain(asked: PreparedQuestion, item: RankedHit, score: float, shown: float) -> str:
    about = (item.signs, item.loaded.factor, score, shown)
    told = judgement.describe_score(asked.ranking, item.found.candidate, bool(asked.vector), *about)
    return ", ".join([told, *filter(None, [item.loaded.hit.why])])
