"""Compute how a memory decays: its strength, when it is hidden, and how feedback moves it.

Strength is computed when read and never stored. Nothing here deletes: the answer is a plan of what
to hide and why, which is shown before it is applied.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from math import log2

from ..errors import InvalidInput
from ..fast_typing import NamedTuple, Protocol
from ..types.records import FOREVER, KINDS, STATUSES_IN_USE, Json, Memory
from ..types.trust import TOOL_NOTE_DAYS

DAY = 86_400_000_000
HALF_LIFE_DAYS = 90


class Reinforced(Protocol):
    """A memory, or some columns of one, whose strength can be computed."""

    @property
    def kind(self) -> str: ...
    @property
    def reinforcement(self) -> int: ...
    @property
    def recalls(self) -> int: ...
    @property
    def last_reinforced(self) -> int: ...


def compute_strength(memory: Reinforced, now: int) -> float:
    """Return `weight × 0.5^(days since last reinforcement / 90) × (reinforcements + recalls)`. A
    policy does not decay."""
    return compute_weight(memory, now) * (memory.reinforcement + memory.recalls)


def compute_weight(memory: Reinforced, now: int) -> float:
    """Return the strength of a memory for each time that it was reinforced or recalled."""
    weight = KINDS[memory.kind].weight
    if memory.kind == "policy":
        return weight
    days = max(now - memory.last_reinforced, 0) / DAY
    return float(weight * 0.5 ** (days / HALF_LIFE_DAYS))


WEAK = 0.1
"""Below this strength a memory is hidden."""

FADED = "faded"
"""The detail with the day on which a memory was hidden by itself: such a one comes back when it is
needed again. One that a person hid does not."""

MAX_AGE_DAYS = 90

MIN_CONFIDENCE = 0.3
_OVER = f"a note from a tool, older than {TOOL_NOTE_DAYS} days"
LEAST_USEFUL, MOST_USEFUL = 0.5, 1.5

_NEUTRAL_VERDICTS = 2.0
"""Added to the verdicts that were given, so that a single one has a third of the full effect."""


class Hiding(NamedTuple):
    """A memory to be hidden, and why."""

    id: str
    reason: str
    text: str = ""


class Ageing(Reinforced, Protocol):
    """A memory, or some columns of one, that is hidden when it has faded."""

    @property
    def id(self) -> str: ...
    @property
    def status(self) -> str: ...
    @property
    def origin(self) -> str: ...
    @property
    def label(self) -> str: ...
    @property
    def first_seen(self) -> int: ...
    @property
    def valid_to(self) -> int: ...


def find_decay_limits(now: int) -> tuple[int, int]:
    """Return two limits for the query: only a memory last reinforced before the first can be weak,
    only a note of a tool first seen before the second can have expired."""
    days = HALF_LIFE_DAYS * log2(min(kind.weight for kind in KINDS.values()) / WEAK)
    return now - int(days * DAY), now - TOOL_NOTE_DAYS * DAY


def is_weak(memory: Ageing, now: int) -> bool:
    """Check whether a memory has decayed so far that it is hidden; a policy never does."""
    return memory.kind != "policy" and compute_strength(memory, now) < WEAK


def is_over(memory: Ageing, now: int) -> bool:
    """Check whether a note from a tool has expired. Only consolidation that finds it again in new
    work prolongs it; a confirmation gives it another label."""
    since = memory.last_reinforced if memory.origin == "system" else memory.first_seen
    return memory.label == "tool" and now - since > TOOL_NOTE_DAYS * DAY


def find_weak(memories: Sequence[Ageing], now: int) -> list[Hiding]:
    """Plan what the weekly consolidation hides: expired notes, then the weakest first."""
    used = [item for item in memories if _in_use(item)]
    over = sorted(item.id for item in used if is_over(item, now))
    weak = [(compute_strength(item, now), item.id) for item in used if is_weak(item, now)]
    found = {id: Hiding(id, _OVER) for id in over}
    for power, id in sorted(weak):
        found.setdefault(id, Hiding(id, f"strength {power:.2f} is below {WEAK}"))
    return list(found.values())


def plan_pruning(
    memories: Sequence[Memory],
    now: int,
    max_age_days: float = MAX_AGE_DAYS,
    min_confidence: float = MIN_CONFIDENCE,
) -> list[Hiding]:
    """Plan what pruning hides, oldest first: too old or too doubtful, a policy never by age."""
    if max_age_days <= 0:
        raise InvalidInput(f"{max_age_days:g} days is not a valid age", where="max_age_days")
    if not 0.0 <= min_confidence <= 1.0:
        raise InvalidInput(f"{min_confidence:g} is not from 0 to 1", where="min_confidence")
    plan = []
    for memory in sorted(memories, key=lambda item: (_last_alive(item), item.id)):
        if not _in_use(memory):
            continue
        age = (now - _last_alive(memory)) / DAY
        reasons = []
        if memory.kind != "policy" and age > max_age_days:
            reasons.append(f"not reinforced for {int(age)} days, more than {max_age_days:g}")
        if is_over(memory, now):
            reasons.append(_OVER)
        if memory.confidence < min_confidence:
            reasons.append(f"confidence {memory.confidence:.2f} is below {min_confidence:g}")
        if reasons:
            plan.append(Hiding(memory.id, "; ".join(reasons), memory.text))
    return plan


def mark_faded(detail: Mapping[str, Json], now: int) -> dict[str, Json]:
    """Return the details of a memory that is hidden because it faded."""
    from ..types.json_records import write_time

    return {**detail, FADED: write_time(now)[:10]}


def unmark_faded(detail: Mapping[str, Json]) -> dict[str, Json]:
    """Return the details of a memory without the mark that it faded."""
    return {name: value for name, value in detail.items() if name != FADED}


def _in_use(memory: Ageing) -> bool:
    return memory.valid_to == FOREVER and memory.status in STATUSES_IN_USE


def _last_alive(memory: Memory) -> int:
    """Return when a memory was last reinforced or confirmed; a recall does neither."""
    return max(memory.last_reinforced, memory.last_confirmed)


def rate_usefulness(helped: int, wrong: int, stale: int) -> float:
    """Return the factor of a memory's rank for its feedback: 1 without any, from 0.5 to 1.5.

    Staleness counts half of wrongness: it was right once, and its freshness is checked too.
    """
    verdicts = helped + wrong + stale
    return 1.0 + 0.5 * (helped - wrong - 0.5 * stale) / (verdicts + _NEUTRAL_VERDICTS)


CAPTURED = "captured"
"""The detail of a memory that was captured from a message of the user: by which rule."""


def was_typed_in(memory: Memory, session: str, since: int) -> bool:
    """Check whether the user typed a captured memory in this session after a time: the model's
    context that began then has it."""
    is_here = CAPTURED in memory.detail and f"memory://session/{session}" in memory.evidence
    return is_here and memory.last_confirmed >= since
