"""How good a ranking is, and whether one is better than another.

Each measure is the mean over the questions that have it:

    turn recall@10     the share of the evidence turns among the first ten hits
    session recall@5   the same for sessions; a session ranks where its best turn ranks
    session recall@1   the same for the first session
    fresh              of the facts that changed, how often the newest evidence comes before the
                       oldest; a tie, or neither found, is a failure
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from math import inf
from typing import NamedTuple

from .datasets import Query

ROUNDS = 2000

Rows = Mapping[str, Mapping[str, float]]
"""For each question, each measure that it has."""


def measured(
    query: Query, ranked: Sequence[str], session_of: Mapping[str, str]
) -> dict[str, float]:
    """All measures of one question."""
    hits = list(dict.fromkeys(ranked))
    sessions = list(dict.fromkeys(session_of[hit] for hit in hits))
    found = {
        "session recall@5": _recall(sessions[:5], query.sessions),
        "session recall@1": _recall(sessions[:1], query.sessions),
    }
    if query.turns:
        found["turn recall@10"] = _recall(hits[:10], query.turns)
    if query.fresh and query.stale:
        found["fresh"] = float(_first(hits, query.fresh) < _first(hits, query.stale))
    return found


def _recall(found: Sequence[str], gold: frozenset[str]) -> float:
    return len(gold.intersection(found)) / len(gold)


def _first(hits: Sequence[str], wanted: frozenset[str]) -> float:
    return next((rank for rank, hit in enumerate(hits) if hit in wanted), inf)


def mean(rows: Rows, measure: str) -> float:
    """The mean over the questions that have the measure."""
    values = [row[measure] for row in rows.values() if measure in row]
    return sum(values) / len(values)


class Difference(NamedTuple):
    """How much better one ranking is, with the interval that holds 95 of 100 resamples."""

    mean: float
    low: float
    high: float


def difference(ours: Rows, theirs: Rows, measure: str, seed: int = 0) -> Difference:
    """Paired bootstrap over the questions that both answered."""
    pairs = [row[measure] - theirs[name][measure] for name, row in ours.items() if measure in row]
    rng = random.Random(seed)
    means = sorted(sum(rng.choices(pairs, k=len(pairs))) / len(pairs) for _ in range(ROUNDS))
    return Difference(
        sum(pairs) / len(pairs), means[int(ROUNDS * 0.025)], means[int(ROUNDS * 0.975)]
    )
