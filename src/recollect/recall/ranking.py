"""Rank candidates for a question by words, meaning, context and time.

One ranking for all engines and spaces. It works on counts, a cosine, a position and a time, not on
text. Each signal adds a bounded amount to a scale on which a perfect match by words and meaning is
1, so no single signal carries a bad match past a good one; only the exact name that was asked for
(EXACT) counts more. STANDING lifts rules and preferences where a question asks for them, TYPED the
user's own words; the sets below have neither.

The amounts are round numbers from the middle of a range in which results barely change. They were
tuned on one half of each benchmark (`python -m bench.recall`). Results without each signal:

    LoCoMo  rebuilt  fresh  pool   code
     .752    .916    .907   .811   .729   all of them
     .677    .917    .884   .787   .726   without AROUND: what is said a few messages away
     .736    .913    .907   .800   .734   without NEIGHBOUR: the message before and after
     .744    .892    .861   .779   .715   without OPENING: a session opens with its subject
     .752    .883    .814   .803   .729   without SPEAKER: whose words are asked for
     .735    .910    .907   .808   .729   without PERIOD: said in the time asked about
     .752    .917    .907   .805   .671   without NEARBY: what else was done at that time
     .752    .916    .535   .811   .729   without `judgement.NEWEST`: the newer statement first
     .752    .917    .907   .794   .730   with copies of a text in their own right
     .750    .921    .953   .792   .722   without the rarity of a word in English
     .756    .908    .860   .779   .723   with the words that only ask
     .740    .906    .884   .788   .731   without MEANING: the vectors
     .616    .829    .535   .736   .646   the best of words alone, vectors alone, both by rank

What was tried and did not help: reciprocal rank fusion, a vector for each sentence, word pairs in a
row, the distance between words, weights learned by logistic regression (`docs/what-was-tried.md`),
the kind of answer asked for (a number, a date), a bonus for question words not yet covered,
feedback from the first hits, terms weighed by sessions, recency in general.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from itertools import compress
from math import exp, inf, nextafter

from ..fast_typing import NamedTuple

EXACT = 2.0
WORDS = 0.5
MEANING = 0.5
AROUND = 0.6
NEIGHBOUR = 0.2
OPENING = 0.2
SPEAKER = {"user": 0.4, "assistant": 0.1, "": 0.0}
PERIOD = 0.4
STANDING = 0.3
CLOSE = 0.2
TYPED = 0.4
NEARBY = 0.5
_OVER = 1.5
"""The most that an untrusted candidate may have of a signal for which the best trusted one has 1: a
whole match is not buried under half a match."""

LEAST_MEANING = 0.35
"""The least cosine of a candidate without any of the words: below it, nonsense finds hits."""

BY_WORDS, BY_MEANING = 200, 100
"""Candidates to rank: the best by words, and the best by meaning. With half of each, LoCoMo and
pool lose .016."""

NAME_ALONE = 0.9
"""The share of names from which on a question asks for nothing but a name."""

_RIVALS, _COVERAGE = 3, 2.0
"""So many sessions are compared by how much of the question each covers, and what that counts."""

_DOING = ("assistant", "tool")
ALMOST = 0.75
"""The share of a question's names or words from which a candidate holds it."""

_COPY, _RESTATED = 0.8, 0.5
"""Factors of the score: of a copy, and of a message that repeats the question."""

_WINDOW, _SHORT, _SOURCES = 6, 100, 5
"""Messages before and after that count as around; the length of a short text; the hits whose time
lifts others."""

_LATER, _HOUR = 0.5, 3_600_000_000
_NEAR = 6 * _HOUR
_K1, _B = 1.2, 0.75


class RankingQuestion(NamedTuple):
    """A question prepared for ranking. See `recall.questions`."""

    weights: tuple[float, ...]
    """The weight of each searched term."""
    average: float
    """The average number of terms of an entry."""
    speaker: str = ""
    period: tuple[int, int] | None = None
    """The time asked about: first moment included, last excluded (`dates.find_period`)."""
    names: tuple[int, ...] = ()
    """The positions of terms that name one thing among many (`find_names`)."""
    wholes: tuple[int, ...] = ()
    """The positions of terms that are whole names (`text.terms.find_names`)."""
    asks: bool = False
    """Whether it is phrased as a question (`question_stems`), not as a subject or a name."""
    standing: bool = False
    """Whether it asks how things are to be done (`asks_for_rules`)."""
    naming: float = 0.0
    """The weighted share of names in the question: 1 if it has no other words."""
    unknown: float = 0.0
    """The weight of the terms that no entry holds."""
    unknown_wholes: float = 0.0
    """The weight of the whole names among them."""


class RankingCandidate(NamedTuple):
    """A record that may answer. A memory belongs to no session and counts as its opening."""

    address: tuple[str, int]
    """Reference and number of the record. They decide between equals: the order in which records
    were indexed would differ between engines, and after a rebuild."""
    counts: tuple[int, ...]
    """Occurrences of each term of the question, in the order of the weights."""
    length: int
    """The number of its terms."""
    cosine: float
    at: int
    session: str = ""
    seq: int = 0
    """Its position in the session; 0 is the opening."""
    role: str = ""
    """`user` for what the user said or confirmed, `assistant` for what an agent said."""
    trusted: bool = True
    digest: str = ""
    """Equal for equal texts."""
    restates: bool = False
    """Whether it only repeats the question: see `question_stems`."""
    standing: bool = False
    """Whether it is a rule, a convention or a preference."""
    phrase: bool = False
    """Whether it holds the words of the question, or what is quoted in it, in a row."""
    close: bool = False
    """Whether one passage of it holds every word of a question."""
    typed: bool = False
    """Whether the user typed it in a session with tool calls: see `seeks_statement`."""


def held_weight(question: RankingQuestion, candidate: RankingCandidate) -> float:
    """Return the total weight of the terms that a candidate holds."""
    return sum(compress(question.weights, candidate.counts))


def score_candidates(
    question: RankingQuestion, candidates: Sequence[RankingCandidate]
) -> list[float]:
    """Return the score of each candidate, from 0; the newer of equal ones scores higher.

    One scale for all: that of the trusted candidates, if there are any. Untrusted ones lend nothing
    to trusted ones: these have the scores they have among themselves.
    """
    found = [0.0] * len(candidates)
    for places, amounts in _grouped_signals(question, candidates):
        group = [candidates[place] for place in places]
        for place, score in zip(places, _score_group(question, group, amounts), strict=True):
            # Trusted ones keep the score of their own group, which comes first.
            if len(places) < len(candidates) or not (found[place] and candidates[place].trusted):
                found[place] = score
    return found


def explain_scores(
    question: RankingQuestion, candidates: Sequence[RankingCandidate]
) -> list[dict[str, float]]:
    """Return the amount of each signal for each candidate by name."""
    found: list[dict[str, float]] = [{} for _ in candidates]
    for places, amounts in _grouped_signals(question, candidates):
        for place, one in zip(places, amounts, strict=True):
            found[place] = found[place] or dict(zip(_SIGNALS, one, strict=True))
    return found


def _grouped_signals(
    question: RankingQuestion, candidates: Sequence[RankingCandidate]
) -> Iterator[tuple[list[int], list[tuple[float, ...]]]]:
    """Yield the trusted candidates with their signals, then all of them on the same scale."""
    scales = None
    for places in trust_groups(candidates):
        ours = [candidates[place] for place in places]
        amounts, scales = _compute_signals(question, ours, scales)
        yield places, amounts


def trust_groups(candidates: Sequence[RankingCandidate]) -> list[list[int]]:
    """Return the positions of trusted candidates, then all of them if there are others."""
    trusted = [place for place, candidate in enumerate(candidates) if candidate.trusted]
    everything = list(range(len(candidates)))
    return [trusted, everything] if 0 < len(trusted) < len(everything) else [everything]


def _score_group(
    question: RankingQuestion,
    candidates: Sequence[RankingCandidate],
    amounts: Sequence[Sequence[float]],
) -> list[float]:
    pairs = zip(amounts, candidates, strict=True)
    found = [sum(gained) * (_RESTATED if item.restates else 1.0) for gained, item in pairs]
    found = _reduce_copies(candidates, _add_nearby(candidates, found))
    found = _put_whole_first(amounts, found)
    return found if question.asks else _choose_first(question, candidates, found)


def _put_whole_first(amounts: Sequence[Sequence[float]], found: list[float]) -> list[float]:
    """Raise the candidates that hold the whole name or phrase, all by as much, until the best of
    them is above the others: what was done nearby goes behind it."""
    whole = [gained[0] > EXACT * ALMOST for gained in amounts]
    if not any(whole) or all(whole):
        return found
    best = [
        max([score for score, one in zip(found, whole, strict=True) if one is kind])
        for kind in (True, False)
    ]
    lift = max(nextafter(best[1], inf) - best[0], 0.0)
    return [score + lift * one for score, one in zip(found, whole, strict=True)]


def _choose_first(
    question: RankingQuestion, candidates: Sequence[RankingCandidate], found: list[float]
) -> list[float]:
    """Let the session that holds most of a subject go first, among the best few.

    A subject (a commit's message, the goal of a task) is spread over a session; a question is
    answered in one place.
    """
    if len({item.session for item in candidates}) < 2:
        return found
    best: dict[str, int] = {}
    for place in rank_positions(candidates, found):
        best.setdefault(candidates[place].session, place)
    rivals = list(best.items())[:_RIVALS]
    if len(rivals) < 2 or exact_share(question, candidates[rivals[0][1]]) > ALMOST:
        return found
    covered: dict[str, float] = {}
    for session in [session for session, _ in rivals if session]:
        held = bm25_gains(question, [one for one in candidates if one.session == session])
        covered[session] = sum(map(max, zip(*held, strict=True)))
    most = max(covered.values(), default=0.0)
    if not most:
        return found

    share = {session: _COVERAGE * value / most for session, value in covered.items()}
    first = max(rivals, key=lambda rival: found[rival[1]] + share.get(rival[0], 0.0))[1]
    found[first] = max(found[first], nextafter(found[rivals[0][1]], inf))
    return found


_SIGNALS = (
    *("exact", "words", "meaning", "around", "beside", "opening", "speaker", "period", "standing"),
    *("typed", "close"),
)


def _compute_signals(
    question: RankingQuestion,
    candidates: Sequence[RankingCandidate],
    scales: tuple[float, ...] | None = None,
) -> tuple[list[tuple[float, ...]], tuple[float, ...]]:
    """Return the amount of each signal for each candidate, in the order of `_SIGNALS`, and the
    highest values of words, meaning and around."""
    gained = bm25_gains(question, candidates)
    exact = exact_shares(question, candidates)
    alone = list(map(sum, gained))
    raw = (
        alone,
        [max(candidate.cosine, 0.0) for candidate in candidates],
        _score_around(candidates, gained, alone),
    )
    highest = tuple([max(values, default=0.0) for values in raw])
    if scales:
        highest = tuple([scale or own for scale, own in zip(scales, highest, strict=True)])
    words, meaning, around = map(_scale, raw, highest)
    alone = [WORDS * one + MEANING * other for one, other in zip(words, meaning, strict=True)]
    beside = _score_beside(candidates, alone)
    speaker, period, standing = question.speaker, question.period, question.standing
    spoken = SPEAKER[speaker]
    found: list[tuple[float, ...]] = [
        (
            EXACT * whole,
            WORDS * one,
            MEANING * other,
            AROUND * said,
            NEIGHBOUR * near,
            OPENING / (1 + max(item.seq, 0)),
            spoken if item.role == speaker else 0.0,
            PERIOD if period and period[0] <= item.at < period[1] else 0.0,
            STANDING if standing and item.standing else 0.0,
            TYPED if item.typed else 0.0,
            CLOSE if item.close else 0.0,
        )
        for item, whole, one, other, said, near in zip(
            candidates, exact, words, meaning, around, beside, strict=True
        )
    ]
    return found, highest


def _score_beside(candidates: Sequence[RankingCandidate], alone: Sequence[float]) -> list[float]:
    """Return the score of the messages right before and after each candidate of a session."""
    held: dict[tuple[str, int], float] = {}
    for item, score in zip(candidates, alone, strict=True):
        if item.session:
            held[item.session, item.seq] = max(score, held.get((item.session, item.seq), 0.0))
    if not held:
        return [0.0] * len(candidates)
    get = held.get
    # A long message needs less context.
    return [
        (get((item.session, item.seq - 1), 0.0) + get((item.session, item.seq + 1), 0.0))
        * _SHORT
        / (_SHORT + item.length)
        if item.session
        else 0.0
        for item in candidates
    ]


def exact_share(question: RankingQuestion, candidate: RankingCandidate) -> float:
    """Return the weighted share of the question that a candidate holds as whole names; 1 if it
    holds the question, or what is quoted in it, word for word."""
    return exact_shares(question, [candidate])[0]


def exact_shares(question: RankingQuestion, candidates: Sequence[RankingCandidate]) -> list[float]:
    """Return the `exact_share` of each candidate."""
    if not question.wholes:
        return [1.0 if candidate.phrase else 0.0 for candidate in candidates]
    wholes = [(place, question.weights[place]) for place in question.wholes]
    whole = sum([weight for _, weight in wholes]) + question.unknown_wholes
    held = [0.0] * len(candidates)
    for place, weight in wholes:
        held = [
            share + weight if candidate.counts[place] else share
            for candidate, share in zip(candidates, held, strict=True)
        ]
    return [
        1.0 if candidate.phrase else question.naming * share / whole if share else 0.0
        for candidate, share in zip(candidates, held, strict=True)
    ]


def bm25_gains(
    question: RankingQuestion, candidates: Sequence[RankingCandidate]
) -> list[tuple[float, ...]]:
    """Return the BM25 score of each term for each candidate."""
    average = max(question.average, 1.0)
    base, most = 1 - _B, _K1 + 1
    sizes = [_K1 * (base + _B * candidate.length / average) for candidate in candidates]
    # Term by term: candidate by candidate takes twice as long.
    counts = zip(*[candidate.counts for candidate in candidates], strict=True)
    columns = [
        [
            tells * count * most / (count + size) if count else 0.0
            for count, size in zip(column, sizes, strict=True)
        ]
        for tells, column in zip(question.weights, counts, strict=bool(candidates))
    ]
    return list(zip(*columns, strict=True)) if columns else [()] * len(candidates)


def _scale(values: Sequence[float], highest: float) -> list[float]:
    """Scale the values by the highest trusted one."""
    if highest <= 0:
        return [0.0] * len(values)
    scaled = [value / highest for value in values]
    return scaled if max(scaled, default=0.0) <= _OVER else [min(one, _OVER) for one in scaled]


def _score_around(
    candidates: Sequence[RankingCandidate],
    gained: Sequence[Sequence[float]],
    alone: Sequence[float],
) -> list[float]:
    """Return the score of the messages around each candidate.

    Each term counts where it scores best, within a few messages before or after: question and
    answer, and the parts of a long answer, support each other.
    """
    sessions: dict[str, list[int]] = {}
    for place, item in enumerate(candidates):
        if item.session:
            sessions.setdefault(item.session, []).append(place)
    found = list(alone)
    for places in sessions.values():
        places.sort(key=lambda place: candidates[place].seq)
        seqs = [candidates[place].seq for place in places]
        for place, seq in zip(places, seqs, strict=True):
            first, last = bisect_left(seqs, seq - _WINDOW), bisect_right(seqs, seq + _WINDOW)
            if last - first > 1:
                close = [gained[near] for near in places[first:last]]
                found[place] = sum(map(max, *close))
    return found


def _add_nearby(candidates: Sequence[RankingCandidate], found: list[float]) -> list[float]:
    """Add a share of the best hits' scores to candidates of other sessions close in time.

    Work on one thing is often spread over sessions that run side by side or one after another.
    """
    if not any(item.session for item in candidates):
        return found
    first = rank_positions(candidates, found)[:_SOURCES]
    sources = [
        (candidates[place].session, candidates[place].at, found[place])
        for place in first
        if candidates[place].session
    ]
    lifted = list(found)
    for place, item in enumerate(candidates if sources else ()):
        session, at, best = item.session, item.at, 0.0
        for other, moment, score in sources if session else ():
            if -_NEAR < moment - at < _NEAR and other != session:
                hours = (moment - at) / _HOUR
                best = max(best, exp(-abs(hours)) * (1.0 if hours > 0 else _LATER) * score)
        lifted[place] += NEARBY * best
    return lifted


def _reduce_copies(candidates: Sequence[RankingCandidate], found: list[float]) -> list[float]:
    """Lower repeated texts: one copy gets the best score, the others are reduced."""
    for places in find_copies(candidates):
        best = max(found[place] for place in places)
        for place in places:
            found[place] *= _COPY
        found[places[0]] = best
    return found


def find_copies(candidates: Sequence[RankingCandidate]) -> list[list[int]]:
    """Return the positions of texts that there are several of. The one with the lowest address is
    first, but of what an agent did again the newest."""
    texts = [item.digest for item in candidates if item.digest]
    if len({*texts}) == len(texts):
        return []
    same: dict[str, list[int]] = {}
    for place, item in enumerate(candidates):
        if item.digest:
            same.setdefault(item.digest, []).append(place)
    return [
        sorted(places, key=lambda place: (candidates[place].at, candidates[place].address))[::-1]
        if all(candidates[place].role in _DOING for place in places)
        else sorted(places, key=lambda place: candidates[place].address)
        for places in same.values()
        if len(places) > 1
    ]


def rank_positions(candidates: Sequence[RankingCandidate], found: Sequence[float]) -> list[int]:
    """Return the positions, best first; of equals the newer, then by address."""
    keys = [(-found[place], -item.at, item.address) for place, item in enumerate(candidates)]
    return sorted(range(len(keys)), key=keys.__getitem__)
