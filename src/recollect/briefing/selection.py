"""What is put in front of the model, under a hard budget, and why.

    A  baseline    policy, architecture, preference of high priority: always
    B  contextual  the rest, when it is strong (session start) or fits the turn
    C  procedures  up to 3 that fit, proven ones first
    D  history     up to 3 pointers, from what is left of the budget

A is served first, then B, C, D. What does not fit is left out whole and counted; nothing relevant
means an empty briefing. Never by itself: what came from tools or imports, and what is archived,
superseded, quarantined or only proposed. The same input in any order gives the same plan.

It is told how strong, how fresh and how well matching a memory is, and how tokens are counted; it
knows no store, no clock and no wording (`briefing.rendering` does).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..freshness.claims import describe_state, is_stale
from ..text.display import format_time as iso
from ..text.tokens import DEFAULT_RATIO, TokenMeasure
from ..types.records import FOREVER, PRIORITIES, Memory
from .budget import Wanted, fitted
from .rendering import HISTORY, STABLE, TURN, Item, LeftOut, Plan

BUDGET = 800
"""Tokens of a briefing unless a setting lowers them."""

LEAST_STRENGTH = 0.3
"""At the start of a session, from this strength (times confidence and usefulness)."""

LEAST_MATCH, SHARE_OF_BEST = 0.2, 0.4
"""In a turn, from this match, and from this share of the best match of all."""

SCOPED_MATCH, NAMED_MATCH = 0.7, 0.6
"""What it is worth that a memory applies to a file in play, or names it."""

CAPS: Mapping[str, int] = {
    "Key Discoveries": 15,
    "Problem Solutions": 15,
    "Code Patterns": 10,
    "Avoid These": 10,
    "Applicable Skills": 3,
    HISTORY: 3,
}
"""So many items of a section are shown at most; the baseline has no such limit."""

_BASELINE = ("policy", "architecture", "preference")
_SECTIONS = {
    "solution": "Problem Solutions",
    "pattern": "Code Patterns",
    "pitfall": "Avoid These",
    "workflow": "Applicable Skills",
}
_UNTRUSTED = ("tool", "import")


class Candidate(NamedTuple):
    """A memory that may be shown, with what is known of it now; `match` is from 0 to 1."""

    memory: Memory
    strength: float
    match: float = 0.0
    freshness: str = ""
    moved_to: str = ""
    usefulness: float = 1.0


class Skill(NamedTuple):
    """A procedure that may be shown."""

    id: str
    address: str
    name: str
    description: str
    successes: int = 0
    failures: int = 0
    match: float = 0.0
    status: str = "active"
    label: str = "user"
    at: int = 0


class Pointer(NamedTuple):
    """A past episode or session that may be pointed to."""

    address: str
    text: str
    match: float
    kind: str = "episode"
    label: str = "agent"
    at: int = 0


class Moment(NamedTuple):
    """What the briefing is for: a question, files in play; none of both at the session's start.

    `frozen` says that a stable block was given already, `shown` which ids are in it.
    """

    query: str = ""
    files: tuple[str, ...] = ()
    frozen: bool = False
    shown: frozenset[str] = frozenset()

    @property
    def is_start(self) -> bool:
        return not (self.query or self.files or self.frozen)


def plan(
    candidates: Sequence[Candidate],
    moment: Moment,
    budget: int = BUDGET,
    measure: TokenMeasure = DEFAULT_RATIO,
    skills: Sequence[Skill] = (),
    pointers: Sequence[Pointer] = (),
    withhold: bool = False,
) -> Plan:
    """The briefing for this moment; `withhold` leaves stale memories out, else they are marked."""
    wanted: list[Wanted] = []
    left_out: list[LeftOut] = []
    best = max((one.match for one in candidates if not _barred(one, moment, withhold)), default=0.0)
    for candidate in candidates:
        memory = candidate.memory
        reason = _barred(candidate, moment, withhold) or _irrelevant(candidate, moment, best)
        if reason:
            left_out.append(LeftOut(memory.id, memory.address, reason))
        else:
            wanted.append(_of_memory(candidate, moment))
    for skill in skills:
        reason = _barred_skill(skill, moment)
        if reason:
            left_out.append(LeftOut(skill.id, skill.address, reason))
        else:
            wanted.append(_of_skill(skill, moment))
    for pointer in pointers:
        if pointer.match < LEAST_MATCH or moment.is_start:
            left_out.append(LeftOut(pointer.address, pointer.address, "not about this turn"))
        else:
            wanted.append(_of_pointer(pointer))
    found = fitted(sorted(wanted, key=lambda one: one.place), CAPS, moment.frozen, budget, measure)
    return found._replace(left_out=(*found.left_out, *sorted(left_out)))


# ---------------------------------------------------------------- who may, who should


def _barred(candidate: Candidate, moment: Moment, withhold: bool) -> str:
    """Why a memory is never shown by itself; empty when it may be."""
    memory = candidate.memory
    if memory.status != "active":
        return f"it is {memory.status}"
    if memory.valid_to != FOREVER:
        return "a newer version took its place"
    if memory.label in _UNTRUSTED:
        return f"it came from {memory.label}: only on explicit recall"
    if memory.id in moment.shown:
        return "it is in the stable block already"
    if withhold and is_stale(candidate.freshness):
        return f"withheld: what it says of the code is {candidate.freshness}"
    return ""


def _barred_skill(skill: Skill, moment: Moment) -> str:
    if skill.status != "active":
        return f"it is {skill.status}"
    if skill.label in _UNTRUSTED:
        return f"it came from {skill.label}: only on explicit recall"
    if skill.id in moment.shown:
        return "it is in the stable block already"
    if moment.is_start:
        return "" if skill.successes else "not proven yet"
    return "" if skill.match >= LEAST_MATCH else f"match {skill.match:.2f} is below {LEAST_MATCH}"


def _is_baseline(memory: Memory) -> bool:
    high = PRIORITIES.index(memory.priority) >= PRIORITIES.index("high")
    return memory.kind in _BASELINE and high


def _irrelevant(candidate: Candidate, moment: Moment, best: float) -> str:
    """Why a memory is not for this moment; empty when it is."""
    if _is_baseline(candidate.memory):
        return ""
    if moment.is_start:
        strength = _start_strength(candidate)
        low = strength < LEAST_STRENGTH
        return f"strength {strength:.2f} is below {LEAST_STRENGTH}" if low else ""
    if moment.files and candidate.memory.scope and not _applying(candidate.memory, moment):
        return "its scope covers none of the files in play"
    least = max(LEAST_MATCH, SHARE_OF_BEST * best)
    relevance = _relevance(candidate, moment)
    return f"match {relevance:.2f} is below {least:.2f}" if relevance < least else ""


def _start_strength(candidate: Candidate) -> float:
    return candidate.strength * candidate.memory.confidence * candidate.usefulness


def _relevance(candidate: Candidate, moment: Moment) -> float:
    """How well a memory fits a turn: by its words, by its scope, by the files it names."""
    memory = candidate.memory
    scoped = SCOPED_MATCH if _applying(memory, moment) else 0.0
    named = NAMED_MATCH if _named(memory, moment) else 0.0
    return max(candidate.match, scoped, named) * candidate.usefulness


def _applying(memory: Memory, moment: Moment) -> str:
    """The file in play that a scope of the memory covers."""
    if not (moment.files and memory.scope):
        return ""
    from ..text.globs import matches

    return next(
        (file for file in moment.files if any(matches(scope, file) for scope in memory.scope)), ""
    )


def _named(memory: Memory, moment: Moment) -> str:
    """The file in play that the memory names."""
    if not moment.files:
        return ""
    cited = (str(item.get("path", "")) for item in memory.citations)
    told = {*memory.examples, *(path.partition("#")[0].partition(":")[0] for path in cited)}
    return next((file for file in moment.files if file in told), "")


# ---------------------------------------------------------------- items


def _of_memory(candidate: Candidate, moment: Moment) -> Wanted:
    memory = candidate.memory
    layer = "A" if _is_baseline(memory) else ("C" if memory.kind == "workflow" else "B")
    item = Item(
        memory.id,
        memory.address,
        layer,
        "Rules" if layer == "A" else _SECTIONS.get(memory.kind, "Key Discoveries"),
        memory.kind,
        memory.text,
        memory.label,
        _date(memory.valid_from),
        describe_state(candidate.freshness, candidate.moved_to),
        _note(memory),
        _why(candidate, moment, layer),
    )
    proven = layer == "C" and memory.successes > 0
    relevance = 0.0 if layer == "A" or moment.is_start else _relevance(candidate, moment)
    priority = PRIORITIES.index(memory.priority)
    power = candidate.strength * candidate.usefulness
    place = (layer, -proven, -relevance, -priority, -power, memory.id)
    block = STABLE if moment.is_start or (layer == "A" and not moment.frozen) else TURN
    return Wanted(item, block, place, memory.subject or memory.text)


def _why(candidate: Candidate, moment: Moment, layer: str) -> str:
    memory = candidate.memory
    strength = f"strength {candidate.strength:.2f}"
    if layer == "A":
        return f"baseline: {memory.kind} of {memory.priority} priority, {strength}"
    if moment.is_start:
        return f"strong enough for every session: {strength}, confidence {memory.confidence:.2f}"
    if file := _applying(memory, moment):
        return f"applies to {file}, {strength}"
    if file := _named(memory, moment):
        return f"names {file}, {strength}"
    return f"matches the question: {candidate.match:.2f}, {strength}"


def _note(memory: Memory) -> str:
    """Where it applies, how often it worked, where it can be seen."""
    notes = []
    if memory.scope:
        notes.append(f"for {', '.join(memory.scope[:3])}")
    if memory.kind in ("solution", "workflow") and memory.successes + memory.failures:
        notes.append(f"applied {memory.successes + memory.failures}x, worked {memory.successes}x")
    if memory.kind == "pattern" and memory.examples:
        notes.append(f"e.g. {', '.join(memory.examples[:3])}")
    return "; ".join(notes)


def _of_skill(skill: Skill, moment: Moment) -> Wanted:
    tried = skill.successes + skill.failures
    item = Item(
        skill.id,
        skill.address,
        "C",
        "Applicable Skills",
        "skill",
        f"{skill.name}: {skill.description}" if skill.description else skill.name,
        skill.label,
        _date(skill.at),
        note=f"worked {skill.successes} of {tried} times" if tried else "",
        why=f"worked {skill.successes} of {tried} times, match {skill.match:.2f}",
    )
    place = ("C", -(skill.successes > 0), -skill.match, 0, -skill.successes, skill.id)
    return Wanted(item, STABLE if moment.is_start else TURN, place, skill.name)


def _of_pointer(pointer: Pointer) -> Wanted:
    item = Item(
        pointer.address.removeprefix("memory://"),
        pointer.address,
        "D",
        HISTORY,
        pointer.kind,
        pointer.text,
        pointer.label,
        _date(pointer.at),
        why=f"related: match {pointer.match:.2f}",
    )
    place = ("D", 0, -pointer.match, 0, -pointer.at, pointer.address)
    return Wanted(item, TURN, place, pointer.text)


def _date(at: int) -> str:
    return iso(at)[:10]
