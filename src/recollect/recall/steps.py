"""Recall: find candidates by words and vectors in each space, rank them together, load the best."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import Unavailable
from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..index import steps_nearest as index_steps_nearest
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
    return _recall(txs, question, now, embedder) or Recalled()


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
    for word in recall_ranking.subject_terms(question.query):
        words.setdefault(terms.stem(word), word)
    if not words:
        return Recalled(notes=("the question has no words to search for",))
    vector, notes = _embed_question(embedder, question.query)
    known = [tx.frequencies(list(words)) for tx in txs]
    local = embedder is not None and embedder.local
    if if_indexed and any(one.outdated or (one.unembedded and local) for one in known):
        return None
    asked = _prepare_question(question.query, words, known, embedder if vector else None, now)
    found: list[_FoundCandidate] = []
    for tx, frequencies in zip(txs, known, strict=True):
        if vector and embedder:
            maker = frequencies.embedder
            asked = asked._replace(vector=vector if maker == embedder.id else b"")
            notes += (_OTHER_EMBEDDER,) if maker not in ("", embedder.id) else ()
        near = _find_candidates(tx, asked, question, frequencies.entries)
        found += [
            item for item in near if (item.matched.ref, item.matched.seq) not in question.without
        ]
    best = _rank_hits(found, asked, question, now)
    # A question about one session may be answered by that session alone.
    best = best if question.session else steps_hits.limit_untrusted(best)
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
    ranking = recall_ranking.RankingQuestion(
        weights=weights,
        average=average,
        speaker=recall_ranking.asked_speaker(query),
        period=period,
        names=names,
    )
    searched = choose_stems(stems, entries, holding, embedder is not None)
    return _PreparedQuestion(
        ranking=ranking,
        stems=stems,
        searched=searched,
        vector=b"",
        whole=recall_ranking.question_stems(query),
    )


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
    matched = index_sql.find_candidates(tx, asked.searched, depth, filters, asked.vector)
    if len(matched) < depth and len(asked.searched) < len(asked.stems) and _is_filtered(question):
        # A filter may leave only entries with the common words.
        matched = index_sql.find_candidates(tx, asked.stems, depth, filters, asked.vector)
    near: dict[int, float] = {}
    if asked.vector:
        held = {item.entry: item.vector for item in matched if item.vector}
        near = index_steps.cosines_by_entry(asked.vector, held)
    found = [_make_candidate(tx, item, asked, near.get(item.entry, 0.0)) for item in matched]
    if asked.vector and recall_ranking.needs_meaning(
        asked.ranking, [item.candidate for item in found], entries
    ):
        known = {_record_key(item.matched) for item in found}
        near_records = index_steps_nearest.find_near_records(
            tx, asked.vector, filters, recall_ranking.BY_MEANING, recall_ranking.LEAST_MEANING
        )
        for item, cosine in near_records:
            if _record_key(item) not in known:
                found.append(_make_candidate(tx, item, asked, cosine))
    return found


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
    )
    return _FoundCandidate(tx, item, candidate)


def _rank_hits(
    found: Sequence[_FoundCandidate], asked: _PreparedQuestion, question: RecallQuestion, now: int
) -> list[Hit]:
    """Return the hits, best first.

    Records are loaded only for the candidates that can still win: a record changes the score
    little.
    """
    everything = [item.candidate for item in found]
    scores = recall_ranking.score_candidates(asked.ranking, everything)
    order = sorted(range(len(found)), key=lambda place: (-scores[place], -found[place].matched.at))
    best = order[: question.limit * 3 // 2 + 5]
    loaded: dict[int, steps_hits.LoadedHit] = {}
    chosen = [found[place].matched for place in best]
    everywhere = sorted({one.ref for one in chosen if one.source == "memory" and not one.seq})
    for tx in {id(found[place].tx): found[place].tx for place in best}.values():
        places = {found[place].matched.entry: place for place in best if found[place].tx is tx}
        mine = [found[place].matched for place in places.values()]
        read = steps_hits.load_hits(tx, mine, question, asked.stems, now, everywhere)
        loaded.update({places[entry]: one for entry, one in read.items()})
    best = [place for place in best if place in loaded]
    nudged = [scores[place] * loaded[place].nudge for place in best]
    candidates = [found[place].candidate for place in best]
    final = recall_ranking.lift_newest(asked.ranking, candidates, nudged)
    newer = _find_outdated([loaded[place] for place in best], asked.stems)
    signs = recall_ranking.explain_scores(asked.ranking, everything) if question.explain else []
    answer = [
        loaded[place].hit._replace(
            score=score / (1.0 + score),
            why=_explain(asked, found[place], loaded[place], signs[place] if signs else {}),
            outdated_by=newer.get(number) or loaded[place].hit.outdated_by,
        )
        for number, (place, score) in enumerate(zip(best, final, strict=True))
    ]
    return sorted(answer, key=lambda hit: (-hit.score, -hit.at, hit.address))


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


def _explain(
    asked: _PreparedQuestion,
    found: _FoundCandidate,
    loaded: steps_hits.LoadedHit,
    signs: Mapping[str, float],
) -> str:
    """Describe the score of a hit: matched words, meaning, signals and its record."""
    parts = [f"words {recall_ranking.matched_share(asked.ranking, found.candidate):.2f}"]
    if asked.vector:
        parts.append(f"meaning {found.candidate.cosine:.2f}")
    parts += [f"{name} +{value:.2f}" for name, value in signs.items() if value]
    if signs:
        parts.append(f"record ×{loaded.nudge:.2f}")
    return ", ".join([*parts, *filter(None, [loaded.hit.why])])


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
