"""Which hit comes first: the words decide, trust and strength nudge.

One pure function for both engines and all spaces; the factors are bounded, so that nothing
outranks a clearly better match by being trusted, fresh or often used. It does not know how
candidates were found.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import log
from typing import TYPE_CHECKING

from ..types import KINDS

if TYPE_CHECKING:
    from typing import Protocol
else:
    Protocol = object  # a real one takes a third of a millisecond to make, in every process

DAY = 86_400_000_000
HALF_LIFE_DAYS = 90
_TRUST = {"system": 1.05, "user": 1.05, "agent": 1.0, "tool": 0.9, "import": 0.85}
_STATUS = {"active": 1.0, "proposed": 0.95, "archived": 0.8, "superseded": 0.7, "quarantined": 0.6}
_SATURATION = 8.0
_COMMON = 1e-6
"""The rarity of a word that most entries hold, as both engines score it."""


class Reinforced(Protocol):
    """Whatever fades: a memory, or a sketch of one."""

    @property
    def kind(self) -> str: ...
    @property
    def reinforcement(self) -> int: ...
    @property
    def recalls(self) -> int: ...
    @property
    def last_reinforced(self) -> int: ...


def strength(memory: Reinforced, now: int) -> float:
    """`weight × 0.5^(days since last reinforcement / 90) × reinforcements`, never stored. A recall
    counts as a reinforcement, but does not reset the clock."""
    weight = KINDS[memory.kind].weight
    if memory.kind == "policy":
        return weight * (memory.reinforcement + memory.recalls)
    days = max(now - memory.last_reinforced, 0) / DAY
    return float(weight * 0.5 ** (days / HALF_LIFE_DAYS) * (memory.reinforcement + memory.recalls))


def scale(total: int, counts: Iterable[int]) -> float:
    """By how much to raise matches in a store so small that its words are not rare.

    Measured by what a text with all the terms would bring (the sum of their rarities): in a small
    store that is next to nothing, and the only right answer must not look like a wrong one."""
    whole = sum(max(log((total - held + 0.5) / (held + 0.5)), _COMMON) for held in counts)
    return _SATURATION / min(max(whole, _COMMON), _SATURATION)


def words_score(match: float) -> float:
    """A word match on a scale from 0 to 1, so that several spaces can be compared."""
    return match / (match + _SATURATION) if match > 0 else 0.0


def score(match: float, label: str, status: str, strong: float = 1.0) -> float:
    """The final score: the match, nudged by trust (±15 %), status and strength (±10 %)."""
    nudge = 0.9 + 0.2 * strong / (strong + 1.0)
    return words_score(match) * _TRUST[label] * _STATUS[status] * nudge


def coverage(asked: Sequence[str], held: Sequence[str]) -> float:
    """How much of the question a text speaks to: from 0.7 for almost nothing to 1 for all of it."""
    return 0.7 + 0.3 * len(set(asked).intersection(held)) / len(asked)


def snippet(text: str, terms: Sequence[str], width: int = 600) -> str:
    """The part of a long text around the first place where a term stands."""
    if len(text) <= width:
        return text
    small = text.casefold()
    places = [place for place in (small.find(term) for term in terms) if place >= 0]
    start = max(min(places, default=0) - width // 4, 0)
    if start:
        blank = text.find(" ", start, start + 40)
        start = blank + 1 if blank >= 0 else start
    end = start + width
    return ("…" if start else "") + text[start:end].strip() + ("…" if end < len(text) else "")
