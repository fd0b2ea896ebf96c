"""Which items of a briefing fit into its budget, in the order they come.

The budget is hard: headings, rules, tags and the footer count, whichever way tokens are counted.
An item that does not fit is left out whole and counted in the footer; a smaller one after it may
still fit. It knows prices and nothing of what the items say (`briefing.selection` ordered them).
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import NamedTuple
from ..text.terms import query_terms
from ..text.tokens import TokenMeasure, count_text
from .rendering import (
    LONGEST_WORD,
    MOST_WORDS,
    RULES,
    SAME_RULES,
    STABLE,
    TURN,
    Item,
    LeftOut,
    Plan,
    frame,
    heading,
    line,
    longest_footer,
    render,
)


class Wanted(NamedTuple):
    """An item that should be in: its block, its place in the queue, words that find it."""

    item: Item
    block: str
    place: tuple[str, int, float, int, float, str]
    words: str


def fitted(
    wanted: Sequence[Wanted],
    caps: Mapping[str, int],
    frozen: bool,
    budget: int,
    measure: TokenMeasure,
) -> Plan:
    """As many as fit, in their order; `caps` limits the items of a section."""
    chosen = _chosen(wanted, caps, frozen, budget, measure)
    if len(chosen) < len(wanted):
        # Room for the footer is kept only when there will be one.
        rest = budget - _cost(longest_footer(), measure)
        chosen = _chosen(wanted, caps, frozen, rest, measure)
    while True:
        plan = _planned(chosen, wanted, caps, frozen)
        cost = sum(count_text(text, measure) for text in render(plan) if text)
        # By a counter of the caller's, a whole may cost more than its parts.
        if cost <= budget or not chosen:
            return plan._replace(tokens=cost)
        chosen = chosen[:-1]


def _chosen(
    wanted: Sequence[Wanted],
    caps: Mapping[str, int],
    frozen: bool,
    budget: int,
    measure: TokenMeasure,
) -> list[Wanted]:
    chosen: list[Wanted] = []
    there: set[str] = set()
    filled: dict[str, int] = {}
    for one in wanted:
        section = one.item.section
        if filled.get(section, 0) >= caps.get(section, len(wanted)):
            continue
        # The dearer rules are priced: whether a stable block will be there is not known yet.
        rules = SAME_RULES if one.block == TURN and frozen else RULES
        around = {one.block: frame(one.block, rules), f"{one.block}/{section}": [heading(section)]}
        new = [text for part, texts in around.items() if part not in there for text in texts]
        own = _cost(line(one.item), measure)
        cost = own + sum(_cost(text, measure) for text in new)
        if cost <= budget:
            budget -= cost
            there |= around.keys()
            filled[section] = filled.get(section, 0) + 1
            chosen.append(one._replace(item=one.item._replace(tokens=own)))
    return chosen


def _cost(text: str, measure: TokenMeasure) -> int:
    return count_text(f"{text}\n", measure)


def _planned(
    chosen: Sequence[Wanted], wanted: Sequence[Wanted], caps: Mapping[str, int], frozen: bool
) -> Plan:
    kept = {one.item.address for one in chosen}
    rest = [one for one in wanted if one.item.address not in kept]
    sections = [one.item.section for one in chosen]
    missed = []
    for one in rest:
        full = sections.count(one.item.section) >= caps.get(one.item.section, len(wanted))
        reason = f"{one.item.section} is full" if full else "no room for it in the budget"
        missed.append(LeftOut(one.item.id, one.item.address, reason, wanted=True))
    return Plan(
        tuple(one.item for one in chosen if one.block == STABLE),
        tuple(one.item for one in chosen if one.block == TURN),
        tuple(missed),
        _words(rest),
        frozen,
    )


def _words(rest: Sequence[Wanted]) -> tuple[str, ...]:
    """Words that find what was left out: the first telling one of each."""
    found: dict[str, None] = {}
    for one in rest:
        telling = [word for word in query_terms(one.words[:200]) if 2 < len(word) <= LONGEST_WORD]
        found.update(dict.fromkeys(telling[:1]))
    return tuple(found)[:MOST_WORDS]
