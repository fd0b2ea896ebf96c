"""Choose the items of a session's start block, with the reason for each and for those left out.

    A  rules       policies, preferences and architecture in the user's own words;
                   then the profile: other statements of the user about themselves
    B  lessons     commands that worked, discoveries, solutions, patterns, pitfalls, unconfirmed
    C  skills      up to 3, proven ones first
    D  history     related episodes

Standing rules of the user get room first, then the state of the work, then passing wishes and
decisions of the user, then the rest in the order above (`_SECTION_RANK`). A rule that was typed,
confirmed or repeated is limited by the budget only. A rule with a scope is left for the moment when
a file of that scope is changed. Never chosen: text of tools and imports, and memories that are
hidden, superseded, quarantined or proposed. The result does not depend on the order of the input.

The printed order of the sections is `rendering.SECTIONS`; the text of lines is made by
`briefing.rendering` and `briefing.wording`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..actions import command_words
from ..fast_typing import NamedTuple
from ..freshness import claims
from ..text.display import format_time as iso
from ..text.terms import split_terms
from ..types.records import (
    BASELINE_KINDS,
    FOREVER,
    PRIORITIES,
    STALE_STATES,
    UNTRUSTED_ORIGINS,
    Memory,
)
from . import matching
from .rendering import (
    ABOUT_USER,
    COMMANDS,
    DISCOVERIES,
    HISTORY,
    PATTERNS,
    PITFALLS,
    SKILLS,
    SOLUTIONS,
    STATE,
    UNCONFIRMED,
    USER_RULES,
    BlockLimits,
    BriefingPlan,
    Item,
    LeftOut,
    RankedItem,
    fit_start,
)

BUDGET = 800
"""The most tokens of a start block."""

# An item is added only while the block is smaller than this, in tokens; otherwise it is shown with
# a prompt that matches it. All but STANDING_AIM were tuned on the first two thirds of the replayed
# sessions, as was SHORT_TEXT.
STANDING_AIM = 400  # rules that the user stated once, for good
AIM = 293  # lessons and skills
STATEMENT_AIM = 235  # statements of the user
PASSING_AIM = 190  # wishes that the user said in passing
HISTORY_AIM = 150  # earlier tasks

LEAST_STRENGTH = 0.3
"""From this strength (times confidence and usefulness) a memory is shown at every start."""

UNCONFIRMED_SHARE = 0.15
"""The most that unconfirmed claims take of the budget."""

SHORT_TEXT = 80
"""Characters. Passing wishes are ordered by length in steps of this size: more short ones fit."""

LONG_TEXT = 200
"""Characters. Longer texts come last in their section."""

MOST_ITEMS = {DISCOVERIES: 15, SOLUTIONS: 15, PATTERNS: 10, PITFALLS: 10, SKILLS: 3, HISTORY: 3}
MOST_TOKENS = {STATE: 150, ABOUT_USER: 100, COMMANDS: 135}

_SECTIONS = {"solution": SOLUTIONS, "pattern": PATTERNS, "pitfall": PITFALLS, "workflow": SKILLS}
"""The section of each kind; other kinds are discoveries."""

_AFTER_MEMORIES = 2
"""Sorts a line behind the memories of its section, which have False or True in this place."""

_COMPARED_PER_TOKEN = 6
"""Characters for each token of the budget: lines cost a token for four, and more for their ids."""

_SIMILAR_SHARE = 0.8
"""The share of common words from which two lines count as the same."""


class Candidate(NamedTuple):
    """A memory that may be shown, with its current state."""

    memory: Memory
    strength: float
    freshness: str = ""
    moved_to: str = ""
    usefulness: float = 1.0
    is_idle: bool = False
    """It was shown five times where it fitted, without effect."""


class Skill(NamedTuple):
    """A procedure that may be shown."""

    id: str
    address: str
    name: str
    description: str
    successes: int = 0
    failures: int = 0
    status: str = "active"
    label: str = "user"
    at: int = 0


class StartMaterial(NamedTuple):
    """Everything that a start block may hold. `lines` are finished items: the state of the work,
    commands, conclusions."""

    memories: tuple[Candidate, ...] = ()
    lines: tuple[Item, ...] = ()
    skills: tuple[Skill, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def plan_start(
    material: StartMaterial,
    budget: int = BUDGET,
    instructions: matching.Instructions = matching.NOTHING,
    withhold: bool = False,
) -> BriefingPlan:
    """Choose the items of the start block.

    instructions: the instruction files that this agent loads
    withhold: leave stale memories out instead of marking them
    """
    ranked = [_rank_line(item, place) for place, item in enumerate(material.lines)]
    left_out = list(material.left_out)
    for candidate in material.memories:
        memory = candidate.memory
        # The cheap reasons first: the others read the text and the instruction files.
        reason = _why_not_at_start(candidate, withhold) or why_excluded(memory, instructions)
        if reason:
            left_out.append(LeftOut(memory.id, memory.address, reason))
        else:
            ranked.append(_rank_memory(candidate))
    for skill in material.skills:
        reason = _why_skill_excluded(skill)
        if reason:
            left_out.append(LeftOut(skill.id, skill.address, reason))
        else:
            sort_key = (_SECTION_RANK[SKILLS], 0, -skill.successes, skill.name)
            ranked.append(RankedItem(skill_item(skill, SKILLS), sort_key, skill.name, AIM))
    ranked.sort(key=lambda one: one.sort_key)
    distinct, similar = _drop_similar(ranked, _COMPARED_PER_TOKEN * budget)
    most_tokens = {**MOST_TOKENS, UNCONFIRMED: int(budget * UNCONFIRMED_SHARE)}
    plan = fit_start(distinct, BlockLimits(budget, MOST_ITEMS, most_tokens))
    return plan._replace(left_out=(*plan.left_out, *similar, *sorted(left_out)))


_SECTION_RANK = {
    USER_RULES: 0,
    STATE: 1,
    ABOUT_USER: 2,
    COMMANDS: 3,
    **dict.fromkeys((DISCOVERIES, SOLUTIONS, PATTERNS, PITFALLS), 4),
    UNCONFIRMED: 5,
    SKILLS: 6,
    HISTORY: 7,
}
"""The order in which sections get room. Passing wishes and decisions of the user rank with
ABOUT_USER."""


def why_excluded(memory: Memory, instructions: matching.Instructions = matching.NOTHING) -> str:
    """Return why a memory is never shown unasked; empty if it may be."""
    if memory.status != "active":
        return f"it is {memory.status}"
    if memory.valid_to != FOREVER:
        return "a newer version took its place"
    if memory.label in UNTRUSTED_ORIGINS:
        return f"it came from {memory.label}: only on explicit recall"
    if memory.label != "user" and command_words.suggests_danger(memory.text):
        return "it names a command that only the user may suggest"
    if file := instructions.find_statement(memory.text):
        return f"{file} says it already"
    return ""


def is_rule(memory: Memory) -> bool:
    """Check whether a memory is a rule of the user."""
    return memory.kind in BASELINE_KINDS and memory.label == "user"


def is_profile(memory: Memory) -> bool:
    """Check whether a memory is a statement of the user about themselves: no rule, lesson or
    skill."""
    is_own = memory.layer == "user" and memory.label == "user"
    return is_own and memory.kind not in _SECTIONS and not is_rule(memory)


def _why_not_at_start(candidate: Candidate, withhold: bool) -> str:
    """Return why a memory is not shown at session start; empty if it may be."""
    memory = candidate.memory
    if withhold and (stale := why_stale(candidate.freshness)):
        return stale
    if candidate.is_idle:
        return "shown five times where it fitted, without effect"
    if memory.scope:
        return "it applies to some files only: it is shown when one of them is changed"
    if is_rule(memory) or is_profile(memory):
        return ""
    if unproven := why_unproven(memory, candidate.freshness):
        return unproven
    strength = candidate.strength * memory.confidence * candidate.usefulness
    if strength >= LEAST_STRENGTH:
        return ""
    # Truncated, not rounded: 0.2996 must not be printed as 0.30.
    return f"strength {int(strength * 1000) / 1000} is below {LEAST_STRENGTH}"


def why_stale(freshness: str) -> str:
    """Return why a stale memory is withheld; empty if its claims about the code hold."""
    return f"withheld: its claims about code are {freshness}" if freshness in STALE_STATES else ""


def has_evidence(memory: Memory, freshness: str) -> bool:
    """Check whether a claim of an agent is supported: it worked, or the code that it names is
    unchanged."""
    return memory.successes > memory.failures or freshness == "fresh"


def why_unproven(memory: Memory, freshness: str) -> str:
    """Return why an agent's claim is not shown unasked; empty if evidence supports it, and for
    memories of other origins."""
    if memory.label != "agent" or has_evidence(memory, freshness):
        return ""
    return "an agent's claim that nothing confirms: only on explicit recall"


def _why_skill_excluded(skill: Skill) -> str:
    if skill.status != "active":
        return f"it is {skill.status}"
    if skill.label in UNTRUSTED_ORIGINS:
        return f"it came from {skill.label}: only on explicit recall"
    return "" if skill.successes else "not proven yet"


def _drop_similar(
    ranked: Sequence[RankedItem], most_compared: int
) -> tuple[list[RankedItem], list[LeftOut]]:
    """Keep the first of each group of similar lines. Items behind the first `most_compared`
    characters are not compared: there is no room for them."""
    kept: list[RankedItem] = []
    seen: list[tuple[str, set[str]]] = []
    dropped: list[LeftOut] = []
    length = 0
    for one in ranked:
        item = one.item
        length += len(item.text)
        if length > most_compared:
            kept.append(one)
            continue
        words = set(split_terms(item.text))
        is_rule = item.section == USER_RULES
        similar = (id for id, others in seen if _are_similar(words, others, is_rule))
        first = "" if item.line else next(similar, "")
        if first:
            dropped.append(LeftOut(item.id, item.address, f"{first} says nearly the same"))
        else:
            kept.append(one)
            seen.append((item.id, words))
    return kept, dropped


def _are_similar(one: set[str], other: set[str], is_rule: bool) -> bool:
    """Check whether two lines have nearly the same words; see also `matching.is_alike`."""
    # The number of words rules out most pairs.
    share = _SIMILAR_SHARE
    if not one or len(one) < share * len(other) or len(other) < share * len(one):
        return False
    if len(one & other) < share * len(one | other):
        return False
    if is_rule and one - other and other - one:
        return False  # "run lint" and "run fmt" are two rules
    # Texts with different numbers are different statements.
    return not any(any(map(str.isdigit, word)) for word in one ^ other)


def _rank_line(item: Item, place: int) -> RankedItem:
    aim = {UNCONFIRMED: AIM, HISTORY: HISTORY_AIM}.get(item.section, 0)
    key = (_SECTION_RANK[item.section], _AFTER_MEMORIES, place)
    return RankedItem(item, key, item.text, aim, is_expected=item.section == STATE)


def _rank_memory(candidate: Candidate) -> RankedItem:
    memory = candidate.memory
    rule, profile = is_rule(memory), is_profile(memory)
    is_captured = "captured" in memory.detail
    priority = PRIORITIES.index(memory.priority)
    # Captured once, without a high priority: the words decide whether it was meant for good.
    is_casual = is_captured and memory.reinforcement < 2 and priority < PRIORITIES.index("high")
    standing = rule and (not is_casual or is_standing(memory))
    strength = f"strength {candidate.strength:.2f}"
    if rule:
        section = USER_RULES
        aim = PASSING_AIM if not standing else STANDING_AIM if is_casual else 0
        why = f"a rule of the user: {memory.kind} of {memory.priority} priority, {strength}"
    elif profile:
        section = ABOUT_USER
        aim = STATEMENT_AIM if is_captured else 0
        why = "about the user, for all projects"
    else:
        by_kind = _SECTIONS.get(memory.kind, DISCOVERIES)
        section = UNCONFIRMED if memory.label == "agent" else by_kind
        is_statement = memory.label == "user" and section == DISCOVERIES
        aim = STATEMENT_AIM if is_statement and is_captured else AIM
        why = f"strong enough for every session: {strength}, confidence {memory.confidence:.2f}"
    own = memory.label == "user" and section in (USER_RULES, ABOUT_USER, DISCOVERIES)
    is_late = (not rule or is_casual) and (
        len(memory.text) > LONG_TEXT or re.search(_ONE_CASE, memory.text) is not None
    )
    sort_key = (
        _SECTION_RANK[USER_RULES if standing else ABOUT_USER if own else section],
        not rule,
        not profile,
        candidate.freshness == "missing",
        candidate.freshness in STALE_STATES,
        memory.label != "user",
        is_late,
        len(memory.text) // SHORT_TEXT if own and not standing else -priority,
        -candidate.strength * candidate.usefulness,
        -memory.last_reinforced,
        memory.text,
        memory.id,
    )
    item = memory_item(memory, section, candidate.freshness, candidate.moved_to)
    words = memory.subject or memory.text
    is_expected = standing or profile
    return RankedItem(item._replace(why=why), sort_key, words, aim, is_expected)


def is_standing(memory: Memory) -> bool:
    """Check whether a captured statement was made for good, by its words: always, never, from now
    on, prefer, don't, stop, use X and not Y. "I want the names back" was said in passing."""
    if len(memory.text) > LONG_TEXT:
        return False  # long texts argue about the work at hand
    text = f"{memory.text}\n{memory.detail.get('quote', '')}".replace("’", "'")
    return re.search(_STANDING, text) is not None


_STANDING = r"""(?imx)
    \b(?:always|never|from\ now\ on|going\ forward|as\ a\ rule|in\ (?:the\ )?future|prefer|whenever
    |(?:each|every)\ time|at\ all\ times|no\ matter\ what|i(?:'d|\ would)(?:\ much)?\ rather)\b
    |(?:^|[,;:(–—-]\ *|\b(?:please|and|also|but|so)\ )
     (?:(?:don'?t|do\ not)(?!\ forget)|stop|avoid|only\ use
     |use\b[^.;]{1,80}\b(?:not|instead\ of|rather\ than|only))\b
    |\binstead\ of\b[^.;]{1,60}\buse\b|\bi\ (?:don'?t\ (?:like|want)|hate)\b
    |以[后後]|今[后後]|从现在|從現在|[总總]是|始[终終]|一律|永[远遠]|不要|これから|常に|必ず|絶対|ないで
    |앞으로|항상|절대|하지\ ?마|선호
    |\b(?:всегда|никогда|впредь|в\ дальнейшем|не\ используй|предпочитаю
    |immer|niemals?|ab\ (?:jetzt|sofort)|von\ nun\ an|künftig|bevorzuge|kein\w*
    |siempre|nunca|adelante|prefiero|prefiro|sempre|diante|a\ partir\ de\ a[hg]ora|evit[ae]
    |toujours|jamais|désormais|dorénavant|à\ l'avenir|à\ partir\ de\ maintenant|préfère
    |évitez?)\b"""


_ONE_CASE = r"(?i:\b(?:prs?|pull request|issue|ticket|phase|step) |#)\d|\b[A-Z]{2,}-\d"
"""Match the number of a ticket, pull request or step: a statement about one case."""


def memory_item(memory: Memory, section: str, freshness: str = "", moved_to: str = "") -> Item:
    """Return a memory as an item of a section."""
    marked = claims.describe_state(freshness, moved_to)
    return Item(
        id=memory.id,
        address=memory.address,
        section=section,
        kind=memory.kind,
        text=memory.text,
        # A teammate is named; their rule is not the user's.
        label=memory.label if memory.label != "teammate" else f"teammate {memory.author}",
        date=iso(memory.valid_from)[:10],
        mark="" if marked == "fresh" else marked,
        note=_note(memory),
    )


def _note(memory: Memory) -> str:
    """Return the scope, how often it worked, and examples in the code."""
    notes = []
    if memory.scope:
        notes.append(f"for {', '.join(memory.scope[:3])}")
    if memory.kind in ("solution", "workflow") and memory.successes + memory.failures:
        notes.append(f"applied {memory.successes + memory.failures}x, worked {memory.successes}x")
    if memory.kind == "pattern" and memory.examples:
        notes.append(f"e.g. {', '.join(memory.examples[:3])}")
    return "; ".join(notes)


def skill_item(skill: Skill, section: str) -> Item:
    """Return a proven skill as an item of a section."""
    worked = f"worked {skill.successes} of {skill.successes + skill.failures} times"
    return Item(
        id=skill.id,
        address=skill.address,
        section=section,
        kind="skill",
        text=f"{skill.name}: {skill.description}" if skill.description else skill.name,
        label=skill.label,
        date=iso(skill.at)[:10],
        note=worked,
        why=worked,
    )
