"""Choose what the start block of a session holds, and say why or why not.

    A  rules       policies, preferences and architecture in the user's own words;
                   then the profile: what else the user said of themselves for all projects
    B  lessons     commands that worked, discoveries, solutions, patterns, pitfalls, unconfirmed
    C  skills      up to 3, proven ones first
    D  history     related episodes

Room is given first to the standing rules of the user, then to where things stand, to what the user
said in passing or decided, and to the rest in the order above (`_SECTION_RANK`). A rule that was
typed, confirmed or repeated has no limit but the budget; one for some files only is shown when
such a file is changed. The order in which the sections are printed is `rendering.SECTIONS`. Never
by itself: text of tools and imports, and memories that are hidden, superseded, quarantined or only
proposed. The same input in any order gives the same plan.

It is given how strong, how fresh and how useful a memory is; it knows no store, no clock and no
wording (`briefing.rendering` and `briefing.wording` do).
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..actions import command_words
from ..fast_typing import NamedTuple
from ..freshness import claims
from ..text import tokens
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
    Wanted,
    fit_start,
)

BUDGET = 800
"""The most tokens of a start block."""

# Up to which size of the block, in tokens, items are added. What is left out is shown with the
# prompt that it fits. All but the first were tuned on the first two thirds of the replayed
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
"""Characters. What the user said in passing is served by its length in such steps, because more of
it fits."""

LONG_TEXT = 200
"""Characters. What is longer is served last in its section."""

MOST_ITEMS = {DISCOVERIES: 15, SOLUTIONS: 15, PATTERNS: 10, PITFALLS: 10, SKILLS: 3, HISTORY: 3}
MOST_TOKENS = {STATE: 150, ABOUT_USER: 100, COMMANDS: 135}

_SECTIONS = {"solution": SOLUTIONS, "pattern": PATTERNS, "pitfall": PITFALLS, "workflow": SKILLS}
"""The sections of kinds; other kinds are discoveries."""

_AFTER_MEMORIES = 2
"""The second part of the sort key of a worded line: a memory has a truth value there."""

_REACH = 6
"""Characters for each token of the budget: lines cost a token for four, and more for their ids."""

_ALIKE = 0.8
"""The share of common words from which two lines are one."""


class Candidate(NamedTuple):
    """A memory that may be shown, with its current state."""

    memory: Memory
    strength: float
    freshness: str = ""
    moved_to: str = ""
    usefulness: float = 1.0
    is_idle: bool = False
    """Whether it was shown five times where it fitted, without effect."""


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
    """Everything that a start block may hold. `lines` are items that other modules worded: where
    things stand, commands, conclusions."""

    memories: tuple[Candidate, ...] = ()
    lines: tuple[Item, ...] = ()
    skills: tuple[Skill, ...] = ()
    left_out: tuple[LeftOut, ...] = ()


def plan_start(
    material: StartMaterial,
    budget: int = BUDGET,
    instructions: matching.Instructions = matching.NOTHING,
    withhold: bool = False,
    count: tokens.TokenCounter | None = None,
) -> BriefingPlan:
    """Return the start block; `withhold` leaves stale memories out, else they are marked.

    instructions: what the instruction files say that this agent loads
    """
    wanted = [_of_line(item, place) for place, item in enumerate(material.lines)]
    left_out = list(material.left_out)
    for candidate in material.memories:
        memory = candidate.memory
        # The cheap reasons first: the others read the text and the instruction files.
        reason = _why_not_now(candidate, withhold) or why_never(memory, instructions)
        if reason:
            left_out.append(LeftOut(memory.id, memory.address, reason))
        else:
            wanted.append(_of_memory(candidate))
    for skill in material.skills:
        reason = _why_no_skill(skill)
        if reason:
            left_out.append(LeftOut(skill.id, skill.address, reason))
        else:
            place = (_SECTION_RANK[SKILLS], 0, -skill.successes, skill.name)
            wanted.append(Wanted(skill_item(skill, SKILLS), place, skill.name, AIM))
    distinct, alike = _distinct(sorted(wanted, key=lambda one: one.sort_key), _REACH * budget)
    share = {**MOST_TOKENS, UNCONFIRMED: int(budget * UNCONFIRMED_SHARE)}
    limits = BlockLimits(budget, MOST_ITEMS, share)
    plan = fit_start(distinct, limits, count)
    return plan._replace(left_out=(*plan.left_out, *alike, *sorted(left_out)))


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
"""Which sections get room first when the budget runs out. What the user said in passing or decided
is served with their profile."""


def why_never(memory: Memory, instructions: matching.Instructions = matching.NOTHING) -> str:
    """Return why a memory is never shown unasked; empty if it may be."""
    if memory.status != "active":
        return f"it is {memory.status}"
    if memory.valid_to != FOREVER:
        return "a newer version took its place"
    if memory.label in UNTRUSTED_ORIGINS:
        return f"it came from {memory.label}: only on explicit recall"
    if memory.label != "user" and command_words.suggests_danger(memory.text):
        return "it names a command that only the user may suggest"
    if place := instructions.where(memory.text):
        return f"{place} says it already"
    return ""


def is_rule(memory: Memory) -> bool:
    """Check whether a memory speaks as the user's rule."""
    return memory.kind in BASELINE_KINDS and memory.label == "user"


def is_profile(memory: Memory) -> bool:
    """Check whether a memory is a statement of the user about themselves: no rule, lesson or
    skill."""
    told = memory.layer == "user" and memory.label == "user"
    return told and memory.kind not in _SECTIONS and not is_rule(memory)


def _why_not_now(candidate: Candidate, withhold: bool) -> str:
    """Return why a memory is not shown at session start; empty if it is."""
    memory = candidate.memory
    if withhold and candidate.freshness in STALE_STATES:
        return f"withheld: what it says of the code is {candidate.freshness}"
    if candidate.is_idle:
        return "shown five times where it fitted, without effect"
    if memory.scope:
        return "it applies to some files only: it is shown when one of them is changed"
    if is_rule(memory) or is_profile(memory):
        return ""
    if unproven := why_unproven(memory, candidate.freshness):
        return unproven
    strength = candidate.strength * memory.confidence * candidate.usefulness
    low = strength < LEAST_STRENGTH
    # Cut off, not rounded: 0.2996 is no 0.30.
    return f"strength {int(strength * 1000) / 1000} is below {LEAST_STRENGTH}" if low else ""


def has_evidence(memory: Memory, freshness: str) -> bool:
    """Check whether a claim has evidence besides the agent's word: it worked, or the code that it
    names is unchanged."""
    return memory.successes > memory.failures or freshness == "fresh"


def why_unproven(memory: Memory, freshness: str) -> str:
    """Return why a claim of an agent is not shown unasked; empty with evidence, or if it is not an
    agent's."""
    if memory.label != "agent" or has_evidence(memory, freshness):
        return ""
    return "an agent's claim that nothing confirms: only on explicit recall"


def _why_no_skill(skill: Skill) -> str:
    if skill.status != "active":
        return f"it is {skill.status}"
    if skill.label in UNTRUSTED_ORIGINS:
        return f"it came from {skill.label}: only on explicit recall"
    return "" if skill.successes else "not proven yet"


def _distinct(wanted: Sequence[Wanted], reach: int) -> tuple[list[Wanted], list[LeftOut]]:
    """Keep the first of each group of lines that say nearly the same. Only the first `reach`
    characters are compared: for what comes after them there is no room."""
    kept: list[Wanted] = []
    seen: list[tuple[str, set[str]]] = []
    alike: list[LeftOut] = []
    length = 0
    for one in wanted:
        length += len(one.item.text)
        if length > reach:
            kept.append(one)
            continue
        words = set(split_terms(one.item.text))
        rule = one.item.section == USER_RULES
        like = (id for id, had in seen if _similar(words, had, rule))
        twin = "" if one.item.line else next(like, "")
        if twin:
            alike.append(LeftOut(one.item.id, one.item.address, f"{twin} says nearly the same"))
        else:
            kept.append(one)
            seen.append((one.item.id, words))
    return kept, alike


def _similar(one: set[str], other: set[str], is_rule: bool) -> bool:
    # Most are told apart by their number of words.
    if not one or len(one) < _ALIKE * len(other) or len(other) < _ALIKE * len(one):
        return False
    if len(one & other) < _ALIKE * len(one | other):
        return False
    if is_rule and one - other and other - one:
        return False  # "run lint" and "run fmt" are two rules
    # Another number is another statement.
    return not any(any(map(str.isdigit, word)) for word in one ^ other)


def _of_line(item: Item, place: int) -> Wanted:
    aim = {UNCONFIRMED: AIM, HISTORY: HISTORY_AIM}.get(item.section, 0)
    key = (_SECTION_RANK[item.section], _AFTER_MEMORIES, place)
    return Wanted(item, key, item.text, aim, is_expected=item.section == STATE)


def _of_memory(candidate: Candidate) -> Wanted:
    memory = candidate.memory
    rule, profile = is_rule(memory), is_profile(memory)
    section = USER_RULES if rule else _SECTIONS.get(memory.kind, DISCOVERIES)
    if profile:
        section = ABOUT_USER
    if memory.label == "agent":
        section = UNCONFIRMED
    item = item_of(memory, section, candidate.freshness, candidate.moved_to)
    strength = f"strength {candidate.strength:.2f}"
    why = (
        f"a rule of the user: {memory.kind} of {memory.priority} priority, {strength}"
        if rule
        else "about the user, for all projects"
        if profile
        else f"strong enough for every session: {strength}, confidence {memory.confidence:.2f}"
    )
    own = memory.label == "user" and section in (USER_RULES, ABOUT_USER, DISCOVERIES)
    once = "captured" in memory.detail and memory.reinforcement < 2
    low = PRIORITIES.index(memory.priority) < PRIORITIES.index("high")
    standing = rule and not (once and low and not is_standing(memory))
    aim = STATEMENT_AIM if own and "captured" in memory.detail else 0 if profile else AIM
    if rule:
        aim = (STANDING_AIM if once and low else 0) if standing else PASSING_AIM
    is_late = (not rule or (once and low)) and (
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
        len(memory.text) // SHORT_TEXT
        if own and not standing
        else -PRIORITIES.index(memory.priority),
        -candidate.strength * candidate.usefulness,
        -memory.last_reinforced,
        memory.text,
        memory.id,
    )
    item = item._replace(why=why)
    words = memory.subject or memory.text
    return Wanted(item, sort_key, words, aim, is_expected=standing or profile)


def is_standing(memory: Memory) -> bool:
    """Check whether a captured statement was made for good, by its words: always, never, from now
    on, prefer, don't, stop, use X and not Y. "I want the names back" was said in passing."""
    if len(memory.text) > LONG_TEXT:
        return False  # it argues about the work at hand
    said = f"{memory.text}\n{memory.detail.get('quote', '')}".replace("’", "'")
    return re.search(_STANDING, said) is not None


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


def item_of(memory: Memory, section: str, freshness: str = "", moved_to: str = "") -> Item:
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
    """Return where it applies, how often it worked and where it can be seen."""
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
