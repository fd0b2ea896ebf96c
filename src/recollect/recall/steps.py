"""Recall: candidates by words and by meaning from each space, one ranking, the best that fit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..errors import Unavailable
from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import lifecycle
from ..storage.database import IndexMatch, StemFrequencies, Tx
from ..text import dates, globs, terms
from ..types import records
from ..types.records import ROLES, Hit, Recalled
from . import outdated, steps_hits
from . import ranking as recall_ranking

COMMON_SHARE = 0.1
"""A term held by more than this share of all entries says next to nothing about any."""

COMMON_FROM, COMMON_FROM_BY_WORDS = 20_000, 5_000
ENOUGH = 4_000
"""In a store of at least so many entries the rarest terms are looked up until they promise this
many candidates; more common ones only rank what was found, and are what a look-up costs most."""

WORDS_ALONE = 40
"""How many candidates are ranked without vectors: there are fewer signs to tell them apart."""

FROM_ONE_SOURCE = 2
"""Of ten hits, so many may come from one source that is not trusted."""

_OF_ANOTHER = (
    "by words only: the vectors are another embedder's; `recollect rebuild --missing` makes ours"
)
_SEARCHED = ("active", "proposed", "archived")
_FILTERS = (
    *("kinds", "layers", "sources", "statuses", "tags", "file", "session"),
    *("since", "until", "as_of"),
)


class RecallQuestion(NamedTuple):
    """What is asked, and which records may answer."""

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
    """Who may see the answer, when nobody asked for it: see `memory.steps_visible`."""
    without: frozenset[tuple[str, int]] = frozenset()
    """What is not there, by reference and number, for whoever measures."""


class _PreparedQuestion(NamedTuple):
    """A question on its way: for ranking, for the index, and as a vector."""

    ranking: recall_ranking.RankingQuestion
    stems: tuple[str, ...]
    """What ranking counts, in the order of its weights."""
    searched: list[str]
    """What is looked up."""
    vector: bytes
    """Empty without meaning."""
    whole: frozenset[str]
    """What a message that only restates the question is made of."""


class _FoundCandidate(NamedTuple):
    """A candidate, and where it was found."""

    tx: Tx
    matched: IndexMatch
    candidate: recall_ranking.RankingCandidate


def recall(
    txs: Sequence[Tx],
    question: RecallQuestion,
    now: int,
    embedder: records.Embedder | None = None,
) -> Recalled:
    """The best records of all given spaces for a question; nothing when nothing matches."""
    words: dict[str, str] = {}
    for word in recall_ranking.subject_terms(question.query):
        words.setdefault(terms.stem(word), word)
    if not words:
        return Recalled(notes=("the question has no words to search for",))
    vector, notes = _vector(embedder, question.query)
    known = [tx.frequencies(list(words)) for tx in txs]
    asked = _asked(question.query, words, known, embedder if vector else None, now)
    found: list[_FoundCandidate] = []
    for tx, frequencies in zip(txs, known, strict=True):
        if vector and embedder:
            maker = index_steps.embedder_id(tx)
            asked = asked._replace(vector=vector if maker == embedder.id else b"")
            notes += (_OF_ANOTHER,) if maker not in ("", embedder.id) else ()
        near = _candidates(tx, asked, question, frequencies.entries)
        found += [item for item in near if item.matched[2:4] not in question.without]
    best = _ranked(found, asked, question, now)
    # Who names a session wants all of it.
    best = best if question.session else _without_flood(best)
    return steps_hits.pack_hits(best, question.limit, question.budget, notes)


def words_missing(tx: Tx) -> bool:
    """Whether nothing can be found before `things.rebuild` has indexed a space again."""
    return index_sql.needs_reindex(tx)


def _vector(embedder: records.Embedder | None, query: str) -> tuple[bytes, tuple[str, ...]]:
    """The question as a vector, and why there is none."""
    if embedder is None:
        return b"", ()
    try:
        return (embedder.embed([query])[0] if embedder.knows(query) else b""), ()
    except Unavailable as error:
        return b"", (f"by words only: {error.message}",)


def _asked(
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
        weights, average, recall_ranking.asked_speaker(query), period, names
    )
    searched = choose_stems(stems, entries, holding, embedder is not None)
    return _PreparedQuestion(ranking, stems, searched, b"", recall_ranking.question_stems(query))


def choose_stems(
    stems: Sequence[str], entries: int, holding: Mapping[str, int], by_meaning: bool
) -> list[str]:
    """The stems to look up: all of them in a small store, the rarest ones in a large one."""
    if entries < (COMMON_FROM if by_meaning else COMMON_FROM_BY_WORDS):
        return list(stems)
    return terms.pick_rarest(stems, holding, ENOUGH, most=entries * COMMON_SHARE)


def _candidates(
    tx: Tx, asked: _PreparedQuestion, question: RecallQuestion, entries: int
) -> list[_FoundCandidate]:
    """What a space holds for the question: the best by words and the nearest by meaning."""
    depth = (
        recall_ranking.BY_WORDS
        if entries <= recall_ranking.SMALL
        else recall_ranking.BY_WORDS * 3 // 4
    )
    depth = max(depth, question.limit) if asked.vector else max(WORDS_ALONE, 2 * question.limit)
    filters = _filters(tx, question)
    matched = index_sql.find_candidates(tx, asked.searched, depth, filters, bool(asked.vector))
    if len(matched) < depth and len(asked.searched) < len(asked.stems) and _chosen(question):
        # A filter may leave only what holds the common words.
        matched = index_sql.find_candidates(tx, asked.stems, depth, filters, bool(asked.vector))
    near: dict[int, float] = {}
    if asked.vector:
        held = {item.entry: item.vector for item in matched if item.vector}
        near = index_steps.cosines_by_entry(asked.vector, held)
    found = [_found(tx, item, asked, near.get(item.entry, 0.0)) for item in matched]
    if asked.vector and recall_ranking.needs_meaning(
        asked.ranking, [item.candidate for item in found], entries
    ):
        things = {item.matched[1:4] for item in found}
        for item, cosine in _by_meaning(tx, asked.vector, filters):
            if item[1:4] not in things:
                found.append(_found(tx, item, asked, cosine))
    return found


def _by_meaning(
    tx: Tx, vector: bytes, filters: Mapping[str, Sequence[Any]]
) -> list[tuple[IndexMatch, float]]:
    """The nearest entries that the filters let through. Most filters let enough of the nearest
    through; if not, those that fulfil them are looked for."""
    found: list[tuple[IndexMatch, float]] = []
    for among in (None, filters):
        near = index_steps.find_nearest(tx, vector, recall_ranking.LOOKED_AT, among)
        close = [entry for entry, cosine in near.items() if cosine >= recall_ranking.LEAST_MEANING]
        through = index_sql.filter_entries(tx, close, filters)
        found = [(through[entry], near[entry]) for entry in close if entry in through]
        if len(found) >= recall_ranking.BY_MEANING or len(close) < recall_ranking.BY_MEANING:
            break
    return found[: recall_ranking.BY_MEANING]


def _found(tx: Tx, item: IndexMatch, asked: _PreparedQuestion, cosine: float) -> _FoundCandidate:
    entry, source, _, seq, kind, owner, label, at, stems, *_ = item
    if source != "message":
        kind = "user" if label in ("system", "user") else "assistant"
        owner, seq = "", 1
    candidate = recall_ranking.RankingCandidate(
        entry,
        terms.count_stems(stems, asked.stems),
        stems.count(" ") + 1,
        cosine,
        at,
        owner,
        seq - 1,
        kind,
        label not in lifecycle.UNTRUSTED,
        stems,
        bool(asked.whole) and source == "message" and asked.whole.issuperset(stems.split()),
    )
    return _FoundCandidate(tx, item, candidate)


def _ranked(
    found: Sequence[_FoundCandidate], asked: _PreparedQuestion, question: RecallQuestion, now: int
) -> list[Hit]:
    """The hits, best first. Records are read only for those that can come out on top: what a
    record adds to its score is small."""
    everything = [item.candidate for item in found]
    scores = recall_ranking.score_candidates(asked.ranking, everything)
    order = sorted(range(len(found)), key=lambda place: (-scores[place], -found[place].matched.at))
    best = order[: question.limit * 3 // 2 + 5]
    loaded: dict[int, steps_hits.LoadedHit] = {}
    for tx in {id(found[place].tx): found[place].tx for place in best}.values():
        places = {found[place].matched.entry: place for place in best if found[place].tx is tx}
        mine = [found[place].matched for place in places.values()]
        read = steps_hits.load_hits(tx, mine, question, asked.stems, now)
        loaded.update({places[entry]: one for entry, one in read.items()})
    best = [place for place in best if place in loaded]
    nudged = [scores[place] * loaded[place].nudge for place in best]
    candidates = [found[place].candidate for place in best]
    final = recall_ranking.lift_newest(asked.ranking, candidates, nudged)
    newer = _replaced([loaded[place] for place in best], asked.stems)
    signs = recall_ranking.explain_scores(asked.ranking, everything) if question.explain else []
    answer = [
        loaded[place].hit._replace(
            score=score / (1.0 + score),
            why=_why(asked, found[place], loaded[place], signs[place] if signs else {}),
            outdated_by=newer.get(number) or loaded[place].hit.outdated_by,
        )
        for number, (place, score) in enumerate(zip(best, final, strict=True))
    ]
    return sorted(answer, key=lambda hit: (-hit.score, -hit.at, hit.address))


def _replaced(best: Sequence[steps_hits.LoadedHit], searched: Sequence[str]) -> dict[int, str]:
    """The hits that state what the user stated otherwise since, with the address of the newer."""
    own = [place for place, one in enumerate(best) if one.stated]
    if len(own) < 2 or all(best[place].hit.kind != "message" for place in own):
        return {}
    said = outdated.DatedText
    texts = [
        said(best[place].stated, best[place].hit.at, best[place].hit.kind != "message")
        for place in own
    ]
    found = outdated.find_outdated(texts, set(searched))
    return {own[old]: best[own[new]].hit.address for old, new in found.items()}


def _why(
    asked: _PreparedQuestion,
    found: _FoundCandidate,
    loaded: steps_hits.LoadedHit,
    signs: Mapping[str, float],
) -> str:
    """What speaks for a hit: how much of the question it holds, how near it is, and its record."""
    said = [f"words {recall_ranking.matched_share(asked.ranking, found.candidate):.2f}"]
    if asked.vector:
        said.append(f"meaning {found.candidate.cosine:.2f}")
    said += [f"{name} +{value:.2f}" for name, value in signs.items() if value]
    if signs:
        said.append(f"record ×{loaded.nudge:.2f}")
    return ", ".join([*said, *filter(None, [loaded.hit.why])])


def _without_flood(best: Iterable[Hit]) -> list[Hit]:
    """What is not trusted cannot fill the answer: in ten hits, two of one source."""
    kept: list[Hit] = []
    taken: dict[str, int] = {}
    for hit in best:
        if hit.trust in lifecycle.UNTRUSTED:
            source = hit.session or hit.address
            taken[source] = taken.get(source, 0) + 1
            if taken[source] > FROM_ONE_SOURCE * (1 + len(kept) // 10):
                continue
        kept.append(hit)
    return kept


def _chosen(question: RecallQuestion) -> bool:
    """Whether the question lets only some records answer."""
    anything = RecallQuestion(question.query, question.limit)
    return any(getattr(question, name) != getattr(anything, name) for name in _FILTERS)


def _filters(tx: Tx, question: RecallQuestion) -> dict[str, Sequence[Any]]:
    filters: dict[str, Sequence[Any]] = {"status": question.statuses}
    if question.as_of:
        filters["status"] = (*_SEARCHED, "superseded")
        filters["until"] = filters["as_of"] = (question.as_of,)
    if question.kinds:
        # The entry of a message has its role for a kind.
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
