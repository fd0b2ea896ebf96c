"""What a record adds to a match: trust and strength nudge, and its text is cut to be read.

The factors are bounded, so that nothing outranks a clearly better match by being trusted, fresh
or often used. It does not know how the match was found: see `recall.ranking`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import Protocol
from ..types.records import KINDS

DAY = 86_400_000_000
HALF_LIFE_DAYS = 90
_TRUST = {"system": 1.02, "user": 1.02, "agent": 1.0, "tool": 0.9, "import": 0.85}
_STATUS = {"active": 1.0, "proposed": 0.95, "archived": 0.8, "superseded": 0.7, "quarantined": 0.6}
_SATURATION = 8.0
UNTRUSTED = frozenset({"tool", "import"})
"""Labels of what anybody may have written: it gives no evidence for other records."""


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


def words_score(match: float) -> float:
    """A word match on a scale from 0 to 1, so that several spaces can be compared."""
    return match / (match + _SATURATION) if match > 0 else 0.0


def nudge(label: str, status: str, strong: float = 1.0) -> float:
    """By how much a record's trust (±15 %), status and strength (±10 %) raise or lower a match."""
    return _TRUST[label] * _STATUS[status] * (0.9 + 0.2 * strong / (strong + 1.0))


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
