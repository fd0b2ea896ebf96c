"""Find the candidates for a question by words and vectors, with its filters, in one space."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..errors import Unavailable
from ..fast_typing import Any, NamedTuple
from ..index import sql as index_sql
from ..index import steps_nearest as index_steps_nearest
from ..storage.database import IndexMatch, StemFrequencies, Tx
from ..types import records
from ..types.records import BASELINE_KINDS, ROLES, TRUSTED_ORIGINS, UNTRUSTED_ORIGINS
from . import judgement, questions
from . import ranking as recall_ranking
from .questions import RecallQuestion

NAMED, NAMED_ALONE = 100, 600
"""Candidates that hold a name of the question, which may be that name alone, beside those by words:
its spelling is compared later."""

WORDS_ALONE = 40
"""Candidates that are ranked without vectors: fewer signals tell them apart."""

ALONE = 60
"""Memories and other records among the candidates by words. Messages are more, because they support
each other."""

FEW_WORDS, STATED = 3, 8
"""For so few words, so many memories are candidates, beside messages that hold them more often."""

COUNTED = 200
"""So many entries with a stem are counted in a large store of SQLite, more are estimated."""

LOOKED_THROUGH = 20_000
"""Matches by words of which a server finds the memories in one search."""

_STANDING_KINDS = frozenset({*BASELINE_KINDS, "pattern", "workflow"})
_MESSAGES = frozenset({"message", *ROLES})


class PreparedQuestion(NamedTuple):
    """A question prepared for ranking, for the index, and as a vector."""

    ranking: recall_ranking.RankingQuestion
    stems: tuple[str, ...]
    """The stems that ranking counts, in the order of its weights."""
    searched: Sequence[str]
    """The stems that are looked up."""
    vector: bytes
    """Empty without an embedder."""
    whole: frozenset[str]
    """All stems of the question: a message without others only restates it."""
    phrases: tuple[str, ...] = ()
    """The question and its quoted parts as stems, each between spaces: see
    `questions.find_phrases`."""


class SearchedSpace(NamedTuple):
    """A space with the filters of a question, and the frequencies of its stems there."""

    known: StemFrequencies
    filters: Mapping[str, Sequence[Any]]
    left: Sequence[int] | None
    """The entries that the filters leave; None if they are many."""


class FoundCandidate(NamedTuple):
    """A candidate, and the space in which it was found."""

    tx: Tx
    matched: IndexMatch
    candidate: recall_ranking.RankingCandidate


def embed_question(embedder: records.Embedder | None, query: str) -> tuple[bytes, tuple[str, ...]]:
    """Return the vector of a question; empty, with a note, if the embedder fails."""
    if embedder is None:
        return b"", ()
    try:
        return (embedder.embed([query])[0] if embedder.knows(query) else b""), ()
    except Unavailable as error:
        return b"", (f"by words only: {error.message}",)


def count_stems(
    txs: Sequence[Tx], stems: Sequence[str], question: RecallQuestion
) -> list[StemFrequencies]:
    """Count the entries with each stem in each space. A server is asked for the scopes in use at
    the same time."""
    known = [tx.frequencies(stems) for tx in txs]
    for tx in txs:
        if question.file and tx.is_remote:
            build_filters(tx, question)
    for tx in txs[:1]:
        tx.settle()
    return known


def build_filters(tx: Tx, question: RecallQuestion) -> dict[str, Sequence[Any]]:
    """Return the filters of a question for the index of a space."""
    return questions.build_filters(question, lambda: index_sql.list_scopes(tx))


def apply_filters(tx: Tx, question: RecallQuestion, known: StemFrequencies) -> SearchedSpace:
    """Return what the filters of a question leave in a space."""
    filters = build_filters(tx, question)
    left = index_sql.list_few(tx, filters) if index_sql.is_selective(filters) else None
    return SearchedSpace(known, filters, left)


def search_ahead(
    txs: Sequence[Tx],
    asked: Sequence[PreparedQuestion],
    question: RecallQuestion,
    spaces: Sequence[SearchedSpace],
) -> None:
    """Let a server answer all searches at once that `find_candidates` may do one after the other:
    a transaction keeps what it was answered."""
    wanted: list[Callable[[], object]] = []
    for tx, one, (held, filters, _) in zip(txs, asked, spaces, strict=True):
        if not tx.is_remote:
            continue
        depth, near_depth = _choose_depths(one, question, held, filters)
        search = partial(index_sql.search_words, tx, filters=filters, vector=one.vector, known=held)
        wanted.append(partial(search, one.searched, depth))
        # More entries than hold the stems cannot match.
        if sum([held.holding[stem] for stem in one.searched]) >= depth:
            named = _choose_named(one, held)
            wanted += [partial(search, *named[:2], few=named[2])] if named else []
            if _seeks_memories(one, filters):
                wanted.append(partial(_find_memories, tx, one, held, search, filters))
        if question.is_filtered and len(one.searched) < len(one.stems):
            wanted.append(partial(search, one.stems, depth))
        if one.vector and tx.finds_nearest:
            least = recall_ranking.LEAST_MEANING
            wanted.append(
                partial(index_sql.find_nearest, tx, one.vector, near_depth, filters, least)
            )
    if wanted:
        txs[0].gather(lambda: [search() for search in wanted])
        txs[0].settle()


def find_candidates(
    tx: Tx, asked: PreparedQuestion, question: RecallQuestion, space: SearchedSpace
) -> list[FoundCandidate]:
    """Return the best entries of a space by words and the nearest by meaning."""
    known, filters, left = space
    if left is not None and not left:
        return []
    entries = known.entries
    depth, near_depth = _choose_depths(asked, question, known, filters)
    compared = None
    if asked.vector:
        compared = index_steps_nearest.compare_all(tx, asked.vector, entries, left)
    vector = asked.vector if compared is None else b""
    held = None if left is None else index_sql.load_entries(tx, left)
    search = partial(
        index_sql.search_words, tx, filters=filters, vector=vector, held=held, known=known
    )
    matched = search(asked.searched, depth, holding=_count_holding(tx, asked.searched, known))
    few = len(matched) < question.limit and len(asked.searched) < len(asked.stems)
    if few and question.is_filtered and tx.is_answered:
        # A filter may leave only entries with the common words.
        matched = search(asked.stems, depth)
    is_full, cosines = len(matched) == depth, _compare(matched, asked, compared)
    if cosines and entries > judgement.SMALL:
        names = [asked.stems[place] for place in asked.ranking.wholes]
        matched = index_steps_nearest.keep_promising(matched, cosines, names, question.limit)
    counted = _count_stems(matched, asked)
    if is_full:
        more = _find_named(tx, asked, known, search, counted)
        stated = [item.source for item in matched].count("memory")
        if stated < STATED and _seeks_memories(asked, filters):
            own = _find_memories(tx, asked, known, search, filters)
            more += [item for item in own if item not in matched and item not in more]
        cosines |= _compare(more, asked, compared)
        matched = [*matched, *more]
        counted |= _count_stems(more, asked)
    matched = _leave_alone(matched, asked, max(ALONE, 2 * question.limit), counted)
    compared_ones = [(item, cosines.get(item.entry, 0.0)) for item in matched]
    found = _make_candidates(tx, compared_ones, asked, counted)
    # Where every vector is compared, to leave the nearest out saves little.
    near_too = entries <= index_steps_nearest.SMALL
    if asked.vector and (
        near_too
        or judgement.needs_meaning(asked.ranking, [item.candidate for item in found], entries)
    ):
        records = {(item.source, item.ref, item.seq) for item in matched}
        least = recall_ranking.LEAST_MEANING
        with_cosine = {one[0].entry: one for one in compared_ones if one[0].entry in cosines}
        near_records = index_steps_nearest.find_near_records(
            tx, asked.vector, filters, near_depth, least, with_cosine, compared
        )
        new = [
            one for one in near_records if (one[0].source, one[0].ref, one[0].seq) not in records
        ]
        found += _make_candidates(tx, new, asked, _count_stems([item for item, _ in new], asked))
    return _mark_typed(found) if judgement.seeks_statement(asked.ranking) else found


def _compare(
    matched: Sequence[IndexMatch],
    asked: PreparedQuestion,
    compared: index_steps_nearest.ComparedEntries | None,
) -> dict[int, float]:
    """Return the cosines of the matches, by entry."""
    # Without vectors the module is not needed: a command starts cold.
    compares = asked.vector and matched
    return index_steps_nearest.compare_matches(asked.vector, matched, compared) if compares else {}


def _count_holding(tx: Tx, stems: Sequence[str], known: StemFrequencies) -> int | None:
    """Return how many entries have one of the stems at most; None if that was estimated."""
    holding = [known.holding[stem] for stem in stems]
    counted = known.entries <= judgement.SMALL or max(holding, default=0) < COUNTED
    return sum(holding) if counted and not tx.is_remote else None


def _choose_depths(
    asked: PreparedQuestion,
    question: RecallQuestion,
    known: StemFrequencies,
    filters: Mapping[str, Sequence[Any]],
) -> tuple[int, int]:
    """Return the number of candidates by words, and of those by meaning."""
    fewest = max(WORDS_ALONE, 2 * question.limit)
    named = min(sum([known.holding[asked.stems[place]] for place in asked.ranking.wholes]), NAMED)
    if not asked.vector:
        return fewest + named, 0
    searched = filters.get("source", question.kinds or ("message",)) if known.messages else ()
    by_meaning = recall_ranking.BY_MEANING
    if _MESSAGES.isdisjoint(searched):
        by_meaning = question.loaded
    if "message" not in searched:
        return max(ALONE, fewest) + named, by_meaning  # more are not kept
    by_words = recall_ranking.BY_WORDS
    if known.entries > judgement.SMALL:
        by_words, by_meaning = by_words * 3 // 4, by_meaning // 2
    return max(by_words, question.limit), by_meaning


def _count_stems(
    matched: Sequence[IndexMatch], asked: PreparedQuestion
) -> dict[int, tuple[int, ...]]:
    """Return how often each match holds each stem of the question, by entry."""
    counted = questions.count_stems([item.stems for item in matched], asked.stems)
    return dict(zip([item.entry for item in matched], counted, strict=True))


def _leave_alone(
    matched: Sequence[IndexMatch],
    asked: PreparedQuestion,
    most: int,
    counted: Mapping[int, tuple[int, ...]],
) -> list[IndexMatch]:
    """Drop all but the first records that are no messages and hold no name of the question: no
    other candidate supports them."""
    if len(matched) <= most:
        return list(matched)
    wholes = asked.ranking.wholes
    kept = []
    for item in matched:
        holds = counted[item.entry].__getitem__
        alone = item.source != "message" and not any(map(holds, wholes))
        most -= alone
        if not alone or most >= 0:
            kept.append(item)
    return kept


def _find_named(
    tx: Tx,
    asked: PreparedQuestion,
    known: StemFrequencies,
    search: Callable[..., list[IndexMatch]],
    counted: Mapping[int, tuple[int, ...]],
) -> list[IndexMatch]:
    """Return more entries than the `counted` that hold a name of the question: a long text with a
    name is behind short ones with parts of it."""
    wanted = _choose_named(asked, known)
    if wanted is None:
        return []
    # A server estimates how many entries of a large store hold a stem; SQLite counts up to 200.
    if (known.entries <= judgement.SMALL or not tx.is_remote) and all(
        known.holding[asked.stems[place]] <= sum([counts[place] > 0 for counts in counted.values()])
        for place in asked.ranking.wholes
    ):
        return []
    wholes, most, few = wanted
    named = search(wholes, most, few=few)
    return [item for item in named if item.entry not in counted]


def _choose_named(
    asked: PreparedQuestion, known: StemFrequencies
) -> tuple[list[str], int, bool] | None:
    """Return the names of the question, how many entries with them are candidates, and whether
    there are no more; None if a search for names finds nothing else."""
    wholes = [asked.stems[place] for place in asked.ranking.wholes]
    alone = asked.ranking.naming > recall_ranking.NAME_ALONE
    if not wholes or not (alone or len(wholes) < len(asked.searched)):
        return None
    most = NAMED_ALONE if alone else NAMED
    return wholes, most, sum([known.holding[stem] for stem in wholes]) <= most


def _seeks_memories(asked: PreparedQuestion, filters: Mapping[str, Sequence[Any]]) -> bool:
    """Check whether memories are candidates beside messages that hold the words more often."""
    return len(asked.stems) <= FEW_WORDS and "memory" in filters.get("source", ("memory",))


def _find_memories(
    tx: Tx,
    asked: PreparedQuestion,
    known: StemFrequencies,
    search: Callable[..., list[IndexMatch]],
    filters: Mapping[str, Sequence[Any]],
) -> list[IndexMatch]:
    """Return the best memories. Among the best of all entries there may be few: a server looks
    through all matches at once, unless they are many, and is not asked twice."""
    few = tx.is_remote and sum([known.holding[stem] for stem in asked.searched]) <= LOOKED_THROUGH
    return search(asked.searched, STATED, filters={**filters, "source": ("memory",)}, few=few)


def _mark_typed(found: Sequence[FoundCandidate]) -> list[FoundCandidate]:
    """Mark what the user typed in sessions with tool calls: there it is rare among all the rest."""
    working = {item.candidate.session for item in found if item.candidate.role == "tool"}
    return [
        item._replace(candidate=item.candidate._replace(typed=True))
        if item.candidate.role == "user" and item.candidate.session in working
        else item
        for item in found
    ]


def _make_candidates(
    tx: Tx,
    items: Sequence[tuple[IndexMatch, float]],
    asked: PreparedQuestion,
    counted: Mapping[int, tuple[int, ...]],
) -> list[FoundCandidate]:
    """Return index matches with their cosines as candidates; records other than messages open their
    own session."""
    whole = asked.whole
    quoting = questions.hold_phrases([item.stems for item, _ in items], asked.phrases)
    ranking = asked.ranking
    by_passage = ranking.asks and ranking.speaker != "user" and not ranking.unknown
    by_passage = by_passage and len(asked.stems) >= questions.FEWEST_CLOSE
    found = []
    # Called directly, a constructor takes a third of the time.
    make, kinds = recall_ranking.RankingCandidate.__new__, recall_ranking.RankingCandidate
    for (item, cosine), quotes in zip(items, quoting, strict=True):
        entry, source, ref, seq, kind, owner, label, at, stems, _, _ = item
        is_message = source == "message"
        candidate = make(
            kinds,
            address=(ref, seq),
            counts=counted[entry],
            length=stems.count(" ") + 1,
            cosine=cosine,
            at=at,
            session=owner if is_message else "",
            seq=seq - 1 if is_message else 0,
            role=kind if is_message else "user" if label in TRUSTED_ORIGINS else "assistant",
            trusted=label not in UNTRUSTED_ORIGINS,
            digest=stems,
            # Its first stem alone mostly tells that it has others than the question.
            restates=bool(whole)
            and is_message
            and whole.issuperset(stems.split(None, 1)[:1])
            and whole.issuperset(stems.split()),
            standing=source == "memory" and kind in _STANDING_KINDS,
            phrase=quotes,
            close=by_passage
            and all(counted[entry])
            and questions.holds_closely(stems, asked.stems),
        )
        found.append(FoundCandidate(tx, item, candidate))
    return found
