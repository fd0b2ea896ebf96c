"""Judge ranked candidates: which of two statements is the newer, and how likely a hit is right.

`ranking` decides which candidate is better by its signals. What is decided here depends on the
other candidates: whether words suffice, which of two about the same thing is newer, how likely a
hit is right (so that it can be compared between questions), and which hits are shown.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, nextafter

from ..text import display, tokens
from ..types.records import KINDS, TRUSTED_ORIGINS, UNTRUSTED_ORIGINS, Hit, Recalled
from . import ranking
from .ranking import RankingCandidate, RankingQuestion

NEWEST = 5
"""Among this many first hits, the newer of two about the same thing goes first."""

SUFFICE = 0.6
"""The weighted share of a question that one entry must hold for words to suffice."""

SMALL, WHOLLY, FEWEST = 20_000, 0.95, 3
"""In a store of up to so many entries, the share that one must hold, and the words that a question
must have at least."""

PROBABLY_WRONG = 0.3
"""A hit that is less likely right than this probably is not."""

_FALL = 1.5
"""How fast a hit gets less likely with its share of the best score: the exponent of that share."""

# `is_tail` drops what is below these shares of the best score:
_FAR_MEMORY = 0.1  # a memory
_FAR = 0.3  # a message
_FAR_ASKED = 0.5  # a message, for a question
_FAR_RAW = 0.7  # a call or raw output without the names asked for, for a question
_UNLIKELY_RAW = 0.6  # the same, as a share of the best likelihood
_CUT_NAME = 0.1  # what is less likely than this, where a name alone was asked for and found

_EXACT_ONES = 12
"""So many hits that hold the names, or the words in a row, are compared beside the first ones."""

_SAME_THING = 0.5
"""The weighted share of common terms from which on two candidates are about the same thing."""

_DONE = 0.6
"""The share of the older one's score from which on a newer result or edit goes first: one with the
same words is the newer state of the same thing."""


def seeks_statement(question: RankingQuestion) -> bool:
    """Check whether a subject is most likely found in what the user typed, if agents worked on it:
    neither a question, nor a name, nor about a speaker. Of the decisions that users stated in real
    sessions .90 are among the first five with this signal, .74 without."""
    return not question.asks and not question.speaker and question.naming < 0.5


def needs_meaning(
    question: RankingQuestion, found: Sequence[RankingCandidate], entries: int
) -> bool:
    """Check whether to search the vectors after the candidates found by words.

    In a large store only if no entry holds most of the question by weight: four of five questions
    do not need it (LoCoMo loses .016, LongMemEval .005). In one of up to `SMALL` entries always,
    unless it is a question of some words and one entry holds all of them (LoCoMo stays, LongMemEval
    loses .002 if small stores do so too, whose vectors are compared anyway). A subject is spread
    over a session: coding sessions lose .002.
    """
    enough = SUFFICE * sum(question.weights)
    if entries <= SMALL:
        if not question.asks or len(question.weights) < FEWEST:
            return True
        enough = WHOLLY * (sum(question.weights) + question.unknown)
    return not any(ranking.held_weight(question, item) >= enough > 0 for item in found)


def matched_share(question: RankingQuestion, candidate: RankingCandidate) -> float:
    """Return the weighted share of the question that a candidate holds, from 0 to 1."""
    return ranking.held_weight(question, candidate) / (sum(question.weights) or 1.0)


def lift_newest(
    question: RankingQuestion, candidates: Sequence[RankingCandidate], scores: Sequence[float]
) -> list[float]:
    """Lift the newer of two candidates about the same thing just above the older one.

    The newer one must be among the first hits of a question (of a subject only what was done), or
    among those that hold its names or its words in a row, of the same speaker, almost as good, and
    hold the same words of the question and all its names. A question about a certain time does not
    ask for the newest. `recall.outdated` decides whether one replaces the other. The candidates may
    be only the best.
    """
    found = list(scores)
    if not question.period:
        for places in reversed(ranking.trust_groups(candidates)):
            ours = [candidates[place] for place in places]
            lifted = _lift_group(question, ours, [scores[place] for place in places])
            for place, score in zip(places, lifted, strict=True):
                found[place] = score
    return found


def _lift_group(
    question: RankingQuestion, candidates: Sequence[RankingCandidate], found: list[float]
) -> list[float]:
    times = [item.at for item in candidates]
    for places in ranking.find_copies(candidates):
        newest = max(times[place] for place in places)
        for place in places:
            times[place] = newest if place == places[0] else 0
    ranked = ranking.rank_positions(candidates, found)
    shares = ranking.exact_shares(question, candidates)
    exact = [place for place in ranked if shares[place] > ranking.ALMOST]
    near = [at for at in ranked[:NEWEST] if question.asks or candidates[at].role == "tool"]
    first = [place for place in ranked if place in {*near, *exact[:_EXACT_ONES]}]
    for rank, place in enumerate(first):
        item = candidates[place]
        for other in first[:rank] + first[rank + 1 :]:
            older = candidates[other]
            if (
                _is_newer(times[place], item, times[other], older)
                and not item.restates
                and found[place]
                >= (_DONE if item.role == "tool" else ranking.ALMOST) * found[other]
                and item.role == older.role
                and _may_replace(item, older, question.asks)
                and (item.trusted or not older.trusted)
                and _shared_weight(question, item, older) >= _SAME_THING
                and all(item.counts[name] or not older.counts[name] for name in question.names)
            ):
                if item.trusted and not older.trusted:
                    # What is not trusted lifts nothing that is.
                    found[other] = min(found[other], nextafter(found[place], -inf))
                else:
                    found[place] = max(found[place], nextafter(found[other], inf))
    return found


def lift_replacing(
    candidates: Sequence[RankingCandidate], scores: Sequence[float], newer: Mapping[int, int]
) -> list[float]:
    """Lift each candidate that replaces an older one, by position, just above the best of these;
    what is not trusted lifts above nothing that is."""
    found = list(scores)
    for old, new in newer.items():
        if candidates[new].trusted or not candidates[old].trusted:
            found[new] = max(found[new], nextafter(found[old], inf))
    return found


def lift_stated(
    question: RankingQuestion,
    candidates: Sequence[RankingCandidate],
    scores: Sequence[float],
    hits: Sequence[Hit],
) -> list[float]:
    """Lift the user's own memories that hold every word of the question above all else, in their
    order: a rule of today goes before an old log that has the word more often."""
    found = list(scores)
    if question.period or question.speaker == "assistant" or question.unknown:
        return found
    whole = [
        place
        for place, (one, hit) in enumerate(zip(candidates, hits, strict=True))
        if hit.kind in KINDS and hit.trust in TRUSTED_ORIGINS and hit.status == "active"
        if one.counts and all(one.counts)
    ]
    top = max([score for place, score in enumerate(found) if place not in whole], default=0.0)
    for place in reversed(ranking.rank_positions(candidates, found) if whole else ()):
        if place in whole:
            top = found[place] = nextafter(max(top, found[place]), inf)
    return found


def calibrate(
    question: RankingQuestion, candidates: Sequence[RankingCandidate], scores: Sequence[float]
) -> list[float]:
    """Return how likely each candidate is right, from 0 to 1, in the order of the scores.

    A score tells which candidate is better, not whether one is good. That depends on how much of
    the question it holds, words that no entry holds included, and on its distance to the best. On
    the benchmarks one of two hits above 0.8 is right, one in twenty below 0.2, and 99 of 100
    questions that nothing answers get less than `PROBABLY_WRONG`.
    """
    found = [0.0] * len(scores)
    order = sorted(range(len(scores)), key=lambda at: (-scores[at], -candidates[at].at))
    done: list[int] = []
    for places in ranking.trust_groups(candidates):
        group = set(places)
        ours = [place for place in order if place in group]
        for place, value in zip(ours, _pool(question, candidates, scores, ours), strict=True):
            if place not in done:
                found[place] = value
        done += places
    trusted = [place for place in order if candidates[place].trusted]
    # An untrusted one stays between the trusted ones around it, whose values do not depend on it.
    for rank, place in enumerate(order):
        if trusted and not candidates[place].trusted:
            above = min(
                [found[one] for one in order[:rank] if candidates[one].trusted], default=1.0
            )
            below = max(
                [found[one] for one in order[rank:] if candidates[one].trusted], default=0.0
            )
            found[place] = min(max(found[place], below), above)
    return found


def _pool(
    question: RankingQuestion,
    candidates: Sequence[RankingCandidate],
    scores: Sequence[float],
    order: Sequence[int],
) -> list[float]:
    """Return the likelihoods of the candidates in this order, pooled until none is above the one
    before it."""
    best = max([scores[place] for place in order], default=0.0) or 1.0
    exact = ranking.exact_shares(question, candidates)
    whole = sum(question.weights) + question.unknown
    blocks: list[tuple[float, int]] = []
    for place in order:
        share = (max(scores[place], 0.0) / best) ** _FALL
        blocks.append((_evidence(question, candidates[place], whole, exact[place]) * share, 1))
        while len(blocks) > 1 and blocks[-1][0] > blocks[-2][0]:
            (one, many), (other, more) = blocks.pop(), blocks.pop()
            blocks.append(((one * many + other * more) / (many + more), many + more))
    return [value for value, count in blocks for _ in range(count)]


def is_tail(
    question: RankingQuestion,
    candidates: Sequence[RankingCandidate],
    likely: Sequence[float],
    scores: Sequence[float],
    raw: Sequence[bool],
) -> list[bool]:
    """Return for each candidate whether it is dropped: a memory far behind the best; a message less
    far, and for a question even less, also if it is unlikely and a call or raw output without the
    names asked for; or what is unlikely where a name alone was asked for, and found."""
    best, most = max(scores, default=0.0), max(likely, default=0.0)
    far = _FAR_ASKED if question.asks else _FAR
    exact = ranking.exact_shares(question, candidates)
    done = [
        question.asks and one and share <= ranking.ALMOST
        for one, share in zip(raw, exact, strict=True)
    ]
    one_name = question.naming > ranking.NAME_ALONE and len(question.wholes) == 1
    named = one_name and most >= 0.5
    return [
        score < (_FAR_RAW if one else far if item.session else _FAR_MEMORY) * best
        or (one and value < _UNLIKELY_RAW * most)
        or (named and value < _CUT_NAME)
        for item, value, score, one in zip(candidates, likely, scores, done, strict=True)
    ]


def _evidence(
    question: RankingQuestion, candidate: RankingCandidate, whole: float, exact: float
) -> float:
    words = ranking.held_weight(question, candidate) / whole if whole else 0.0
    meaning = min(max((candidate.cosine - ranking.LEAST_MEANING) / 0.5, 0.0), 1.0)
    found = max(exact, 0.8 * words + 0.2 * meaning)
    # The parts of a name are no evidence for the name.
    return min(found * (1.0 - 0.7 * question.naming * (1.0 - exact)), 1.0)


def _is_newer(at: int, item: RankingCandidate, before: int, older: RankingCandidate) -> bool:
    """Check whether one came after the other; 0 is the time of a copy."""
    same = bool(item.session) and item.session == older.session
    return at > before > 0 or (same and at == before > 0 and item.seq > older.seq)


def _may_replace(item: RankingCandidate, older: RankingCandidate, asks: bool) -> bool:
    """Check whether one may be the newer version of the other: for a question, if it is of another
    session; inside a session only of what was done, where messages about one thing otherwise
    support each other."""
    if not item.session or item.session != older.session:
        return asks
    return item.role == "tool" and [*map(bool, item.counts)] == [*map(bool, older.counts)]


def _shared_weight(
    question: RankingQuestion, one: RankingCandidate, other: RankingCandidate
) -> float:
    """Return the weighted share of common terms among those that either candidate holds."""
    both = either = 0.0
    for tells, mine, others in zip(question.weights, one.counts, other.counts, strict=False):
        if mine or others:
            either += tells
            both += tells if mine and others else 0.0
    return both / either if either else 0.0


# ---------------------------------------------------------------- what is shown

FROM_ONE_SOURCE = 2
"""Hits in every ten that may come from one untrusted source."""


def limit_untrusted(best: Iterable[Hit], exact: Collection[str] = ()) -> list[Hit]:
    """Drop hits of an untrusted source beyond two in ten, so that it cannot flood the answer. Those
    at the `exact` addresses stay: they hold what was asked for word for word."""
    kept: list[Hit] = []
    counts: dict[str, int] = {}
    for hit in best:
        if hit.trust in UNTRUSTED_ORIGINS and hit.address not in exact:
            # What was loaded from files is one source: a file has no name here.
            source = hit.session or hit.trust
            counts[source] = counts.get(source, 0) + 1
            if counts[source] > FROM_ONE_SOURCE * (1 + len(kept) // 10):
                continue
        kept.append(hit)
    return kept


_OUTCOME_TOKENS = tokens.estimate_tokens(display.SNIPPET)


def pack_hits(
    found: Sequence[Hit],
    limit: int,
    budget: int,
    explain: Callable[[Hit], str],
    notes: tuple[str, ...] = (),
) -> Recalled:
    """Return the best hits that fit into limit and budget, explained, and count the rest."""
    chosen: list[Hit] = []
    spent = unspent = 0
    for hit in found:
        beside = (*hit.around, hit.outcome) if hit.outcome else hit.around
        cost = tokens.count_text(hit.text)
        cost += sum([tokens.count_text(nearby.text) for nearby in beside])
        if len(chosen) < limit and (not budget or spent + cost <= budget):
            chosen.append(hit._replace(tokens=cost, why=explain(hit)))
            spent += cost
        else:
            # Shown, a message of the user may come with its outcome.
            unspent += cost + (_OUTCOME_TOKENS if hit.role == "user" and not hit.outcome else 0)
    left = len(found) - len(chosen)
    if left and len(chosen) < limit:
        notes += (f"{left} more did not fit into {budget} tokens",)
    recalled = Recalled(chosen, left, spent, notes)
    if left and 0 < budget < spent + unspent:
        recalled.budget_for_all = (spent + unspent) // 1000 * 1000 + 1000
    return recalled


_SIGNS = {
    "exact": "it holds {exact}",
    "words": "it has {words:.0%} of the words",
    "meaning": "it is {meaning:.2f} close in meaning",
    "around": "it and the messages around it have the words",
    "beside": "the messages beside it match",
    "opening": "it stands at the beginning or alone",
    "speaker": "it is said by the one asked about",
    "period": "it is of the time asked about",
    "standing": "it is a rule or a preference",
    "typed": "the user typed it",
    "close": "one passage of it has all the words",
}


def describe_score(
    question: RankingQuestion,
    candidate: RankingCandidate,
    by_meaning: bool,
    signs: Mapping[str, float],
    factor: float,
    score: float,
    shown: float,
) -> str:
    """Describe a score: the matched words and meaning, or the share that each signal has in the
    score as it is shown, so that the shares add up to it."""
    words, meaning = matched_share(question, candidate), candidate.cosine
    if not signs:
        return f"words {words:.2f}" + (f", meaning {meaning:.2f}" if by_meaning else "")
    if not candidate.session:
        # A memory counts as the opening of a session with no message but itself.
        signs = {**signs, "words": signs["words"] + signs["around"], "around": 0.0}
    exact = "it word for word" if candidate.phrase else "names of the question"
    amounts = {
        "because " + _SIGNS[name].format(words=words, meaning=meaning, exact=exact): value
        for name, value in signs.items()
    }
    amounts["by comparison with other hits"] = score / factor - sum(signs.values())
    amounts["for its form and record"] = score - score / factor
    scale = shown / score if score else 0.0
    parts = {why: round(value * scale, 3) for why, value in amounts.items()}
    most = max(parts, key=parts.__getitem__)
    parts[most] += round(shown, 3) - sum(parts.values())  # the rest of rounding
    told = ", ".join(f"{value:+.3f} {why}" for why, value in parts.items() if abs(value) >= 0.0005)
    return f"{shown:.3f} = {told}" if told else f"{shown:.3f}"
