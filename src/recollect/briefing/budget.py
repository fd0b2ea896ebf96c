"""Decide which items of a briefing fit into its token budget, in the given order.

The budget is a hard limit: headings, reading rules, tags and the footer count. An item that does
not fit is left out whole and counted in the footer; a smaller one after it may still fit.
`briefing.selection` chooses and orders the items.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..text.terms import query_terms
from ..text.tokens import TokenCounter, count_tokens
from ..types.records import Json
from .rendering import (
    CLOSE,
    LONGEST_WORD,
    MOST_WORDS,
    OPEN,
    QUOTES,
    READING_RULES,
    BriefingPlan,
    Item,
    LeftOut,
    Wanted,
    heading,
    line,
    longest_footer,
    short_block,
    start_block,
    wrap_block,
)


class BlockLimits(NamedTuple):
    """The limits of a block: tokens in all, items and tokens of each section."""

    budget: int
    items: Mapping[str, int] = {}
    tokens: Mapping[str, int] = {}


def fit_start(
    wanted: Sequence[Wanted], limits: BlockLimits, count: TokenCounter = count_tokens
) -> BriefingPlan:
    """Return as many items as fit into a start block, in their order."""
    count = cache(count)
    chosen, reasons = _chosen(wanted, limits, count)
    if len(chosen) < len(wanted):
        # Room for the footer is kept only when there will be one.
        room = limits.budget - _cost(longest_footer(), count)
        chosen, reasons = _chosen(wanted, limits._replace(budget=room), count)
        chosen = _with_more(chosen, wanted, reasons, limits.budget, count)
    while True:
        plan = _plan(chosen, wanted, reasons)
        cost = count(start_block(plan)) if chosen else 0
        # By a counter of the caller's, a whole may cost more than its parts.
        if cost <= limits.budget or not chosen:
            return plan._replace(tokens=cost)
        reasons[chosen[-1].item.address] = _NO_ROOM
        chosen = chosen[:-1]


def fit_lines(
    wanted: Sequence[Item], budget: int, count: TokenCounter = count_tokens
) -> BriefingPlan:
    """Return as many items as fit into the short block of another moment, in their order."""
    kept: list[Item] = []
    left: list[LeftOut] = []
    for item in wanted:
        own = _cost(line(item), count)
        if count(short_block([*kept, item])) <= budget:
            kept.append(item._replace(tokens=own))
        else:
            left.append(LeftOut(item.id, item.address, _NO_ROOM, wanted=True))
    return BriefingPlan(tuple(kept), tuple(left), (), count(short_block(kept)) if kept else 0)


TRIES = 6
"""So many items are tried again when the real footer is known: the reserved one is longer."""


def _with_more(
    chosen: list[Wanted],
    wanted: Sequence[Wanted],
    reasons: dict[str, str],
    budget: int,
    count: TokenCounter,
) -> list[Wanted]:
    """Return the chosen items with one more that fits beside the real footer."""
    kept = {one.item.address for one in chosen}
    rest = [one for one in wanted if reasons.get(one.item.address) == _NO_ROOM]
    for one in rest[:TRIES]:
        more = [each for each in wanted if each.item.address in kept or each is one]
        without = {key: why for key, why in reasons.items() if key != one.item.address}
        if count(start_block(_plan(more, wanted, without))) <= budget:
            del reasons[one.item.address]
            own = _cost(line(one.item), count)
            added = one._replace(item=one.item._replace(tokens=own))
            priced = {each.item.address: each for each in (*chosen, added)}
            return [priced[each.item.address] for each in more]
    return chosen


_NO_ROOM = "no room for it in the budget"
_SHORTEST = 6
"""Tokens: no line costs less. In a full block the others are not counted."""


def _chosen(
    wanted: Sequence[Wanted], limits: BlockLimits, count: TokenCounter
) -> tuple[list[Wanted], dict[str, str]]:
    chosen: list[Wanted] = []
    reasons: dict[str, str] = {}
    number: dict[str, int] = {}
    spent: dict[str, int] = {}
    used = sum(_cost(text, count) for text in (OPEN, READING_RULES + QUOTES, CLOSE))
    for one in wanted:
        section = one.item.section
        if used + _SHORTEST > limits.budget:
            reasons[one.item.address] = _NO_ROOM
            continue
        own = _cost(line(one.item), count)
        cost = own + (0 if section in number else _cost(heading(section), count))
        full = number.get(section, 0) >= limits.items.get(section, len(wanted))
        share = limits.tokens.get(section, limits.budget)
        if full or spent.get(section, 0) + cost > share:
            reasons[one.item.address] = f"{section} is full"
        elif used + cost > limits.budget:
            reasons[one.item.address] = _NO_ROOM
        elif one.aim and used + cost > one.aim:
            reasons[one.item.address] = f"the block is at its aim of {one.aim} tokens"
        else:
            used += cost
            number[section] = number.get(section, 0) + 1
            spent[section] = spent.get(section, 0) + cost
            chosen.append(one._replace(item=one.item._replace(tokens=own)))
    return chosen, reasons


def _cost(text: str, count: TokenCounter) -> int:
    return count(f"{text}\n")


def _plan(
    chosen: Sequence[Wanted], wanted: Sequence[Wanted], reasons: Mapping[str, str]
) -> BriefingPlan:
    kept = {one.item.address for one in chosen}
    rest = [one for one in wanted if one.item.address not in kept]
    missed = tuple(
        LeftOut(one.item.id, one.item.address, reason, wanted=reason == _NO_ROOM)
        for one in rest
        if (reason := reasons[one.item.address])
    )
    unfitting = [one for one in rest if reasons[one.item.address] == _NO_ROOM]
    return BriefingPlan(tuple(one.item for one in chosen), missed, _words(unfitting))


def _words(rest: Sequence[Wanted]) -> tuple[str, ...]:
    """Return words that find what was left out: the first telling one of each."""
    found: dict[str, None] = {}
    for one in rest:
        telling = [word for word in query_terms(one.words[:200]) if 2 < len(word) <= LONGEST_WORD]
        found.update(dict.fromkeys(telling[:1]))
        if len(found) == MOST_WORDS:
            break
    return tuple(found)


# ---------------------------------------------------------------- memory_summary.md

SUMMARY_ADDRESS = "memory://root"
IN_SUMMARY = "memory_summary.md says it"
"""Why a line is left out of the start block: the summary above it says the same."""


class InjectedSummary(NamedTuple):
    """The summary as a block, and the names under which the start block would show the same."""

    text: str = ""
    refs: frozenset[str] = frozenset()
    tokens: int = 0


NO_SUMMARY = InjectedSummary()


def fit_summary(
    fields: Mapping[str, Json], limit: int, is_said: Callable[[str], str]
) -> InjectedSummary:
    """Return the summary as a block within a limit of tokens. A line that `is_said` finds in an
    instruction file is left out; a heading without lines too."""
    frame = [str(fields["head"]), str(fields["tail"])]
    used = count_tokens(wrap_block("memory_summary", "\n".join(frame)))
    refs: set[str] = set()
    kept: list[str] = []
    title = ""
    for item, names in fields["lines"]:
        if item.endswith(":") and not item.startswith(("-", ">")):
            title = str(item)
            continue
        if is_said(_without_bullet(item)):
            continue
        lines = [title, item] if title else [item]
        price = count_tokens("\n".join(lines) + "\n")
        if used + price <= limit:
            kept += lines
            used += price
            title = ""
            refs.update(map(str, names))
    if not kept:
        return NO_SUMMARY
    text = wrap_block("memory_summary", "\n".join(filter(None, (frame[0], *kept, frame[1]))))
    return InjectedSummary(text, frozenset(refs), used)


def _without_bullet(line: str) -> str:
    """Return a line without its bullet and id."""
    text = line.removeprefix("- ")
    return text.partition("] ")[2] if text.startswith("[") else text
