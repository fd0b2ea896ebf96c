"""Recall: find candidates by words and vectors in each space, rank them together, load the best."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..errors import Unavailable
from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import lifecycle
from ..storage.database import IndexMatch, StemFrequencies, Tx
from ..text import dates, globs, terms
from ..types import records
from ..types.records import ROLES, TRUSTED_ORIGINS, Hit, Recalled
from . import outdated, steps_hits
from . import ranking as recall_ranking

COMMON_SHARE = 0.1
"""A term in more than this share of all entries is too common to look up."""

COMMON_FROM, COMMON_FROM_BY_WORDS = 20_000, 5_000
ENOUGH = 4_000
"""From `COMMON_FROM` entries on, the rarest terms are looked up until they promise `ENOUGH`
candidates. Common terms are the most expensive to look up; they only rank what was found."""

MOST_OUTCOMES, WHOLLY = 8, 0.6
"""Calls whose results are shown with them, and the share of the question from which on a call
matches."""

_BEFORE, _BEHIND = 1.01, 0.99
_NAME_ALONE = 0.9

WORDS_ALONE = 40
"""Candidates that are ranked without vectors: fewer signals tell them apart."""

_OTHER_EMBEDDER = (
    "by words only: the vectors are another embedder's; `recollect rebuild --missing` makes ours"
)
_SEARCHED = ("active", "proposed", "hidden")
_FILTERS = (
    *("kinds", "layers", "sources", "statuses", "tags", "file", "session"),
    *("since", "until", "as_of"),
)


class RecallQuestion(NamedTuple):
    """A query with its filters."""

    query: str
    limit: int
    budget: int = 0
    kinds: tuple[str, ...] = ()
    layers: tuple[str, ...] = ()
    sources: tuple[str, ...] = ()
    statuses: tuple[str, ...] = _SEARCHED
    tags: tuple[str, ...] = ()
    file: str = ""
    session: str = ""
    since: int = 0
    until: int = 0
    as_of: int = 0
    around: int = 0
    explain: bool = False
    seen: tuple[str, ...] | None = None
    """Owners whose records may be shown unasked: see `memory.steps_visible`."""
    without: frozenset[tuple[str, int]] = frozenset()
    """Records to leave out, by reference and number: the evaluation hides some."""


class _PreparedQuestion(NamedTuple):
    """A question prepared for ranking, for the index, and as a vector."""

    ranking: recall_ranking.RankingQuestion
    stems: tuple[str, ...]
    """The stems that ranking counts, in the order of its weights."""
    searched: list[str]
    """The stems that are looked up."""
    vector: bytes
    """Empty without an embedder."""
    whole: frozenset[str]
    """All stems of the question: a message without others only restates it."""
    phrases: tuple[str, ...] = ()
    """The question and its quoted parts as stems, each between spaces: see `_find_phrases`."""


class _FoundCandidate(NamedTuple):
    """A candidate, and the space in which it was found."""

    tx: Tx
    matched: IndexMatch
    candidate: recall_ranking.RankingCandidate


def recall(
    txs: Sequence[Tx],
    question: RecallQuestion,
    now: int,
    embedder: records.Embedder | None = None,
) -> Recalled:
    """Return the best records of all given spaces for a question."""
    words: dict[str, str] = {}
    for word in recall_ranking.subject_terms(question.query):
        words.setdefault(terms.stem(word), word)
    if not words:
        return Recalled(notes=("the question has no words to search for",))
    vector, notes = _embed_question(embedder, question.query)
    known = [tx.frequencies(list(words)) for tx in txs]
    asked = _prepare_question(question.query, words, known, embedder if vector else None, now)
    found: list[_FoundCandidate] = []
    for tx, frequencies in zip(txs, known, strict=True):
        if vector and embedder:
            maker = index_steps.embedder_id(tx)
            asked = asked._replace(vector=vector if maker == embedder.id else b"")
            notes += (_OTHER_EMBEDDER,) if maker not in ("", embedder.id) else ()
        near = _find_candidates(tx, asked, question, frequencies.entries)
        found += [
            item for item in near if (item.matched.ref, item.matched.seq) not in question.without
        ]
    best = _rank_hits(found, asked, question, now)
    return steps_hits.pack_hits(best, question.limit, question.budget, notes)


def _embed_question(embedder: records.Embedder | None, query: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the vector of a question; empty, with a note, if the embedder fails."""
    if embedder is None:
        return b"", ()
    try:
        return (embedder.embed([query])[0] if embedder.knows(query) else b""), ()
    except Unavailable as error:
        return b"", (f"by words only: {error.message}",)


def _prepare_question(
    query: str,
    words: Mapping[str, str],
    known: Sequence[StemFrequencies],
    embedder: records.Embedder | None,
    now: int,
) -> _PreparedQuestion:
    entries = sum(one.entries for one in known)
    holding = {stem: sum(one.holding[stem] for one in known) for stem in words}
    stems = tuple(stem for stem, held in holding.items() if held)
    weights = tuple(
        recall_ranking.term_weight(
            entries, holding[stem], embedder.rarity(words[stem]) if embedder else 1.0
        )
        for stem in stems
    )
    average = sum(one.entries * one.average for one in known) / max(entries, 1)
    period = dates.find_period(query, now)
    names = recall_ranking.find_names(stems)
    parts = terms.find_names(query).values()
    wholes = {terms.stem(found[-1]) for found in parts}
    of_names = {terms.stem(term) for found in parts for term in found}
    missing = recall_ranking.term_weight(entries, 0, 1.0)
    unknown = [stem for stem, held in holding.items() if not held]
    rarity = {stem: embedder.rarity(words[stem]) if embedder else 1.0 for stem in unknown}
    weighed = {stem: missing * rarity[stem] for stem in unknown}
    unheld = sum(weighed.values())
    unheld_wholes = sum([weight for stem, weight in weighed.items() if stem in wholes])
    weighed |= dict(zip(stems, weights, strict=True))
    named = sum([weight for stem, weight in weighed.items() if stem in wholes])
    plain = sum([weight for stem, weight in weighed.items() if stem not in of_names])
    ranking = recall_ranking.RankingQuestion(
        weights=weights,
        average=average,
        speaker=recall_ranking.asked_speaker(query),
        period=period,
        names=names,
        wholes=tuple([place for place, stem in enumerate(stems) if stem in wholes]),
        asks=bool(recall_ranking.question_stems(query)),
        naming=named / ((named + plain) or 1.0),
        unknown=unheld,
        unknown_wholes=unheld_wholes,
    )
    searched = choose_stems(stems, entries, holding, embedder is not None)
    return _PreparedQuestion(
        ranking=ranking,
        stems=stems,
        searched=searched,
        vector=b"",
        whole=recall_ranking.question_stems(query),
        phrases=_find_phrases(query),
    )


_QUOTED = re.compile(r"[\"“„«`]([^\"“”„«»`]{3,200})[\"”“»`]")
FEWEST_IN_A_ROW = 3
"""The number of words of a question from which on holding them in a row is more than chance."""


def _find_phrases(query: str) -> tuple[str, ...]:
    """Return the stems of a query, and of what is quoted in it, each between spaces. A text that
    holds a whole question only restates it."""
    found = [f" {terms.stem_text(query)} "]
    if found[0].count(" ") <= FEWEST_IN_A_ROW or recall_ranking.question_stems(query):
        found = []
    found += [f" {terms.stem_text(quoted)} " for quoted in _QUOTED.findall(query)]
    return tuple([one for one in found if one.strip()])


def choose_stems(
    stems: Sequence[str], entries: int, holding: Mapping[str, int], by_meaning: bool
) -> list[str]:
    """Return the stems to look up: all in a small store, the rarest in a large one."""
    if entries < (COMMON_FROM if by_meaning else COMMON_FROM_BY_WORDS):
        return list(stems)
    return terms.pick_rarest(stems, holding, ENOUGH, most=entries * COMMON_SHARE)


def _find_candidates(
    tx: Tx, asked: _PreparedQuestion, question: RecallQuestion, entries: int
) -> list[_FoundCandidate]:
    """Return the best entries of a space by words and the nearest by meaning."""
    depth = (
        recall_ranking.BY_WORDS
        if entries <= recall_ranking.SMALL
        else recall_ranking.BY_WORDS * 3 // 4
    )
    depth = max(depth, question.limit) if asked.vector else max(WORDS_ALONE, 2 * question.limit)
    filters = _build_filters(tx, question)
    matched = index_sql.find_candidates(tx, asked.searched, depth, filters, bool(asked.vector))
    if len(matched) < depth and len(asked.searched) < len(asked.stems) and _is_filtered(question):
        # A filter may leave only entries with the common words.
        matched = index_sql.find_candidates(tx, asked.stems, depth, filters, bool(asked.vector))
    near: dict[int, float] = {}
    if asked.vector:
        held = {item.entry: item.vector for item in matched if item.vector}
        near = index_steps.cosines_by_entry(asked.vector, held)
    found = [_make_candidate(tx, item, asked, near.get(item.entry, 0.0)) for item in matched]
    if asked.vector and recall_ranking.needs_meaning(
        asked.ranking, [item.candidate for item in found], entries
    ):
        known = {_record_key(item.matched) for item in found}
        for item, cosine in _find_by_meaning(tx, asked.vector, filters):
            if _record_key(item) not in known:
                found.append(_make_candidate(tx, item, asked, cosine))
    return found


def _find_by_meaning(
    tx: Tx, vector: bytes, filters: Mapping[str, Sequence[Any]]
) -> list[tuple[IndexMatch, float]]:
    """Return the nearest entries that pass the filters.

    The nearest of all are filtered first, which is enough for most filters; else only entries that
    pass them are compared.
    """
    found: list[tuple[IndexMatch, float]] = []
    for among in (None, filters):
        near = index_steps.find_nearest(tx, vector, recall_ranking.LOOKED_AT, among)
        close = [entry for entry, cosine in near.items() if cosine >= recall_ranking.LEAST_MEANING]
        through = index_sql.filter_entries(tx, close, filters)
        found = [(through[entry], near[entry]) for entry in close if entry in through]
        if len(found) >= recall_ranking.BY_MEANING or len(close) < recall_ranking.BY_MEANING:
            break
    return found[: recall_ranking.BY_MEANING]


def _record_key(item: IndexMatch) -> tuple[str, str, int]:
    return item.source, item.ref, item.seq


def _make_candidate(
    tx: Tx, item: IndexMatch, asked: _PreparedQuestion, cosine: float
) -> _FoundCandidate:
    """Return an index match as a candidate; records other than messages open their own session."""
    is_message, stems = item.source == "message", item.stems
    role = "user" if item.label in TRUSTED_ORIGINS else "assistant"
    candidate = recall_ranking.RankingCandidate(
        entry=item.entry,
        counts=terms.count_stems(stems, asked.stems),
        length=stems.count(" ") + 1,
        cosine=cosine,
        at=item.at,
        session=item.owner if is_message else "",
        seq=item.seq - 1 if is_message else 0,
        role=item.kind if is_message else role,
        trusted=item.label not in lifecycle.UNTRUSTED,
        digest=stems,
        restates=bool(asked.whole) and is_message and asked.whole.issuperset(stems.split()),
        phrase=any(phrase in f" {stems} " for phrase in asked.phrases),
    )
    return _FoundCandidate(tx, item, candidate)


class _RankedHit(NamedTuple):
    """A loaded candidate with its score so far, and its signals if they are explained."""

    found: _FoundCandidate
    loaded: steps_hits.LoadedHit
    score: float
    signs: Mapping[str, float] = {}


def _rank_hits(
    found: Sequence[_FoundCandidate], asked: _PreparedQuestion, question: RecallQuestion, now: int
) -> list[Hit]:
    """Return the hits, best first.

    Records are loaded only for the candidates that can still win: a record changes the score
    little.
    """
    everything = [item.candidate for item in found]
    scores = recall_ranking.score_candidates(asked.ranking, everything)
    signs = recall_ranking.explain_scores(asked.ranking, everything) if question.explain else []
    order = sorted(range(len(found)), key=lambda place: (-scores[place], -found[place].matched.at))
    best = order[: question.limit * 3 // 2 + 5]
    ranked: list[_RankedHit] = []
    for tx in {id(found[place].tx): found[place].tx for place in best}.values():
        places = {found[place].matched.entry: place for place in best if found[place].tx is tx}
        mine = [found[place].matched for place in places.values()]
        read = steps_hits.load_hits(tx, mine, question, asked.stems, now)
        near = [
            _RankedHit(found[place], one, scores[place] * one.nudge, signs[place] if signs else {})
            for entry, one in read.items()
            for place in (places[entry],)
        ]
        ranked += _with_outcomes(tx, near, asked, question, now)
    candidates = [item.found.candidate for item in ranked]
    final = recall_ranking.lift_newest(asked.ranking, candidates, [item.score for item in ranked])
    likely = recall_ranking.calibrate(asked.ranking, candidates, final)
    # What fulfils a filter and holds a word of the question is found.
    least = 0.0 if _is_filtered(question) else recall_ranking.cut_off(asked.ranking, likely)
    newer = _find_outdated([item.loaded for item in ranked], asked.stems)
    answer = sorted(
        [
            (
                -score,
                item.loaded.hit._replace(
                    score=value,
                    why=_explain(asked, item, score),
                    outdated_by=newer.get(number) or item.loaded.hit.outdated_by,
                ),
            )
            for number, (item, score, value) in enumerate(zip(ranked, final, likely, strict=True))
            if value >= least
        ],
        key=lambda one: (one[0], -one[1].at, one[1].address),
    )
    hits = [hit for _, hit in answer]
    if question.session:
        return hits  # a question about one session may be answered by that session alone
    share = recall_ranking.exact_share
    exact = {
        item.loaded.hit.address
        for item in ranked
        if share(asked.ranking, item.found.candidate) > WHOLLY
    }
    return steps_hits.limit_untrusted(hits, exact)


def _with_outcomes(
    tx: Tx,
    ranked: Sequence[_RankedHit],
    asked: _PreparedQuestion,
    question: RecallQuestion,
    now: int,
) -> list[_RankedHit]:
    """Add the results of calls that match, each just before its call: outcomes answer, calls do
    not. A name alone is answered by the call that holds it."""
    share = recall_ranking.matched_share
    calls = {
        item.loaded.hit.address: item
        for item in sorted(ranked, key=lambda item: -item.score)
        if item.loaded.calls and share(asked.ranking, item.found.candidate) >= WHOLLY
    }
    calls = dict(list(calls.items())[:MOST_OUTCOMES])
    if not calls:
        return list(ranked)
    beside = _BEHIND if asked.ranking.naming > _NAME_ALONE else _BEFORE
    called = [item.loaded for item in calls.values()]
    outcomes = steps_hits.find_outcomes(tx, called, _build_filters(tx, question))
    known = {item.found.matched.entry for item in ranked}
    new = [item for item in outcomes if item.entry not in known]
    read = steps_hits.load_hits(tx, new, question, asked.stems, now) if new else {}
    of_entry = {item.entry: calls[address] for item, address in outcomes.items()}
    found = [
        item._replace(score=max(item.score, of_entry[entry].score * beside))
        if (entry := item.found.matched.entry) in of_entry
        else item
        for item in ranked
    ]
    for item in new:
        call = of_entry[item.entry]
        if item.entry in read:
            candidate = call.found.candidate._replace(
                entry=item.entry, at=item.at, seq=item.seq - 1, role=item.kind, digest=""
            )
            candidate = candidate._replace(trusted=item.label not in lifecycle.UNTRUSTED)
            one = _FoundCandidate(tx, item, candidate)
            found.append(_RankedHit(one, read[item.entry], call.score * beside, call.signs))
    return found


def _find_outdated(best: Sequence[steps_hits.LoadedHit], searched: Sequence[str]) -> dict[int, str]:
    """Return the places of hits that a newer statement of the user replaces, with its address."""
    own = [place for place, one in enumerate(best) if one.stated]
    if len(own) < 2 or all(best[place].hit.kind != "message" for place in own):
        return {}
    texts = [
        outdated.DatedText(
            best[place].stated, best[place].hit.at, best[place].hit.kind != "message"
        )
        for place in own
    ]
    found = outdated.find_outdated(texts, set(searched))
    return {own[old]: best[own[new]].hit.address for old, new in found.items()}


_SIGNS = {
    "exact": "holds it word for word",
    "words": "has {words:.0%} of the words",
    "meaning": "is {meaning:.2f} close in meaning",
    "around": "the messages around it have more words",
    "beside": "the messages beside it match",
    "opening": "stands at the beginning",
    "speaker": "is said by the one asked about",
    "period": "is of the time asked about",
}


def _explain(asked: _PreparedQuestion, item: _RankedHit, score: float) -> str:
    """Describe the score of a hit: matched words and meaning, or all amounts that add up to it."""
    words = recall_ranking.matched_share(asked.ranking, item.found.candidate)
    meaning = item.found.candidate.cosine
    parts = [f"words {words:.2f}"]
    if asked.vector:
        parts.append(f"meaning {meaning:.2f}")
    if item.signs:
        named = {
            _SIGNS[name].format(words=words, meaning=meaning): value
            for name, value in item.signs.items()
            if value >= 0.005
        }
        factor = item.loaded.nudge
        rest = score / factor - sum(item.signs.values())
        if abs(rest) >= 0.005:
            named["compared with other hits"] = rest
        told = ", ".join(f"{name} {value:+.2f}" for name, value in named.items())
        parts = [f"{told}; for its record ×{factor:.2f}; together {score:.2f}"]
    return ", ".join([*parts, *filter(None, [item.loaded.hit.why])])


def _is_filtered(question: RecallQuestion) -> bool:
    """Check whether the question has a filter."""
    anything = RecallQuestion(question.query, question.limit)
    return any(getattr(question, name) != getattr(anything, name) for name in _FILTERS)


def _build_filters(tx: Tx, question: RecallQuestion) -> dict[str, Sequence[Any]]:
    filters: dict[str, Sequence[Any]] = {"status": question.statuses}
    if question.as_of:
        filters["status"] = (*_SEARCHED, "superseded")
        filters["until"] = filters["as_of"] = (question.as_of,)
    if question.kinds:
        # The kind of a message's entry is its role.
        roles = ROLES if "message" in question.kinds else ()
        filters["kind"] = (*question.kinds, *roles)
    if question.layers:
        filters["layer"] = question.layers
    if question.seen is not None:
        filters["seen"] = question.seen
    if question.tags or question.file:
        # Only memories have tags and a scope.
        filters["source"] = ("memory",)
    elif question.sources:
        filters["source"] = question.sources
    if question.tags:
        filters["tag"] = question.tags
    if question.file:
        covers = globs.matches
        filters["scope"] = ["", *[s for s in index_sql.list_scopes(tx) if covers(s, question.file)]]
    if question.session:
        filters["owner"] = (question.session,)
    if question.since:
        filters["since"] = (question.since,)
    if question.until:
        filters["until"] = (min(question.until, question.as_of or question.until),)
    return filters
