"""Render MEMORY.md, memory_summary.md and the skills; read a person's edits of MEMORY.md.

Every line of MEMORY.md ends with the numbers of its sources; the addresses are at the end of the
file. A line that a person deleted is not written again; a line that they wrote or changed stays.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..procedures.skills import Procedure, to_skill_md
from ..text import display
from ..text.addresses import slugify
from ..text.messages import text_digest
from ..types.records import Json
from .merging import Workflow, workflows
from .statements import (
    CLAIMS,
    COMMANDS,
    DECISIONS,
    HISTORY,
    RULES,
    SECTIONS,
    Extraction,
    PageStatement,
)

HEAD = (
    "# Memory\n\n"
    "Made of {sessions} by Recollect. Edit this file as you like: lines that you delete do "
    "not come back, lines that you change or add stay. Memory is a hint, not authority: repository "
    "and user win. Lines that begin with > quote what was said."
)
SOURCES = "Sources"
HAND = "hand:"
MOST_IN_SUMMARY = {COMMANDS: 8, HISTORY: 2, CLAIMS: 2}
"""The most statements of a section in the summary: the best commands, the newest of others."""

RARE = 0.2
"""Commands below this share of the weight of the best one for their purpose are left out."""

LONGEST_LINE = 158
_SUMMARY = (RULES, COMMANDS, DECISIONS, CLAIMS, HISTORY)
"""The sections of the summary. Errors are shown when they occur, places before an edit."""


class HandLine(NamedTuple):
    """A line that a person wrote: its section, and its text with addresses in place of numbers."""

    section: str
    text: str

    @property
    def key(self) -> str:
        return HAND + text_digest(f"{self.section}\n{self.text}")[:16]


class Edits(NamedTuple):
    """A person's edits of MEMORY.md: the keys of the removed lines, and the lines they wrote."""

    removed: frozenset[str] = frozenset()
    lines: tuple[HandLine, ...] = ()


class MemoryPage(NamedTuple):
    """MEMORY.md as it was written. `keys` are the keys of its lines, by line; `sources` the
    addresses by number, from 1."""

    text: str = ""
    keys: Mapping[str, str] = {}
    sources: tuple[str, ...] = ()
    edits: Edits = Edits()


class SummaryLine(NamedTuple):
    """A line of memory_summary.md, and the refs of the start block's items that it holds."""

    text: str
    refs: tuple[str, ...] = ()


class Outputs(NamedTuple):
    """The three outputs of phase 2. `block` is memory_summary.md inside its prompt."""

    page: MemoryPage
    summary: tuple[SummaryLine, ...]
    block: tuple[str, str]
    skills: Mapping[str, str]
    problem: str = ""
    """Why the configured model was not used; empty if it was."""

    @property
    def summary_text(self) -> str:
        return "\n".join(one.text for one in self.summary) + "\n" if self.summary else ""


# ---------------------------------------------------------------- MEMORY.md


def render_memory(statements: Sequence[PageStatement], edits: Edits, count: int) -> MemoryPage:
    """Return MEMORY.md; `count` is the number of its sessions."""
    numbers: dict[str, int] = {}
    keys: dict[str, str] = {}
    parts = [HEAD.format(sessions=display.format_count(count, "session"))]
    others = [one.section for one in edits.lines if one.section not in SECTIONS]
    for section in dict.fromkeys((*SECTIONS, *others)):
        lines = []
        for one in statements:
            if one.section == section and one.key not in edits.removed:
                marks = "".join(_mark(address, numbers) for address in one.sources)
                lines.append((f"{one.line} {marks}".rstrip(), one.key))
        for hand in edits.lines:
            if hand.section == section:
                lines.append((_numbered(hand.text, numbers), hand.key))
        if lines:
            title = [f"## {section}"] if section else []
            parts.append("\n".join([*title, *(line for line, _ in lines)]))
            keys |= dict(lines)
    sources = tuple(numbers)
    if sources:
        notes = [f"[^{number}]: {address}" for address, number in numbers.items()]
        parts.append("\n".join([f"## {SOURCES}", *notes]))
    return MemoryPage("\n\n".join(parts) + "\n", keys, sources, edits)


def _mark(address: str, numbers: dict[str, int]) -> str:
    return f"[^{numbers.setdefault(address, len(numbers) + 1)}]"


def _numbered(text: str, numbers: dict[str, int]) -> str:
    """Return a hand-written line with numbers for the addresses of its sources."""
    return re.sub(r"\[\^(memory://[^\]\s]+)\]", lambda found: _mark(found[1], numbers), text)


def read_edits(text: str, page: MemoryPage) -> Edits:
    """Return a person's edits of the file since the page was written, and earlier ones."""
    found = set(text.splitlines())
    gone = {key for line, key in page.keys.items() if line not in found}
    known = {*page.text.splitlines(), ""}
    kept = [one for one in page.edits.lines if one.key not in gone]
    new: list[HandLine] = []
    section = ""
    for line in text.splitlines():
        if line.startswith("## "):
            section = line[3:].strip()
        elif line.strip() and line not in known and not line.startswith(("# ", "[^")):
            new.append(HandLine(section, _with_addresses(line.rstrip(), page.sources)))
    removed = page.edits.removed | {key for key in gone if not key.startswith(HAND)}
    return Edits(frozenset(removed), tuple(dict.fromkeys((*kept, *new))))


def _with_addresses(line: str, sources: Sequence[str]) -> str:
    """Return a line with the addresses of its sources in place of numbers, which change."""

    def address(found: re.Match[str]) -> str:
        number = int(found[1])
        return f"[^{sources[number - 1]}]" if 0 < number <= len(sources) else found[0]

    return re.sub(r"\[\^(\d{1,6})\]", address, line)


def page_to_json(page: MemoryPage) -> dict[str, Json]:
    """Return all of a page but its text as JSON."""
    return {
        "keys": [[line, key] for line, key in page.keys.items()],
        "sources": list(page.sources),
        "removed": sorted(page.edits.removed),
        "hand": [list(one) for one in page.edits.lines],
    }


def page_from_json(text: str, fields: Mapping[str, Json]) -> MemoryPage:
    """Parse a page that `page_to_json` wrote."""
    edits = Edits(frozenset(fields["removed"]), tuple(HandLine(*one) for one in fields["hand"]))
    return MemoryPage(text, dict(fields["keys"]), tuple(fields["sources"]), edits)


# ---------------------------------------------------------------- memory_summary.md


def summary_lines(
    statements: Sequence[PageStatement],
    edits: Edits,
    skills: Sequence[Procedure],
    budget: int,
    count: Callable[[str], int],
) -> list[SummaryLine]:
    """Return the lines of memory_summary.md, as many as fit into a budget of tokens."""
    lines: list[SummaryLine] = []
    for section in _SUMMARY:
        shown = [
            one
            for one in _first(statements, section)
            if one.in_summary and one.key not in edits.removed
        ]
        inside = [SummaryLine(one.short or one.line, one.refs) for one in shown]
        inside = _by_purpose(shown) if section == COMMANDS else inside
        inside += [
            SummaryLine(f"> by hand in MEMORY.md: {display.quote_data(_bare(one.text))}")
            for one in edits.lines
            if one.section == section or (section == DECISIONS and one.section not in _SUMMARY)
        ]
        lines += [SummaryLine(f"{section}:"), *inside] if inside else []
    if skills:
        lines.append(SummaryLine("Skills, each at memory://root/skills/NAME/SKILL.md:"))
        lines += [
            SummaryLine(f"- {one.name}: {one.description.partition('. ')[0]}") for one in skills
        ]
    return _fitting(lines, budget, count)


def _first(statements: Sequence[PageStatement], section: str) -> list[PageStatement]:
    """Return the statements of a section that may be in the summary, in their order."""
    inside = [one for one in statements if one.section == section]
    if section not in (HISTORY, CLAIMS):
        return inside
    return sorted(inside, key=lambda one: (-one.at, one.key))[: MOST_IN_SUMMARY[section]]


def _by_purpose(commands: Sequence[PageStatement]) -> list[SummaryLine]:
    """Return lines with several commands each, grouped by purpose, without those that are used far
    less than the best one for their purpose."""
    best: dict[str, float] = {}
    for one in commands:
        best.setdefault(one.line.partition(":")[0], one.weight)
    often = [one for one in commands if one.weight >= RARE * best[one.line.partition(":")[0]]]
    order = list(best)
    often.sort(key=lambda one: order.index(one.line.partition(":")[0]))
    lines: list[SummaryLine] = []
    last = ""
    for one in often[: MOST_IN_SUMMARY[COMMANDS]]:
        purpose = one.line.partition(":")[0]
        whole = f"{purpose}: {one.short}"
        text = one.short if purpose == last else whole.removeprefix("- ")
        last = purpose
        if lines and len(lines[-1].text) + len(text) < LONGEST_LINE:
            before = lines.pop()
            lines.append(SummaryLine(f"{before.text}; {text}", (*before.refs, *one.refs)))
        else:
            line = whole if lines else one.line
            lines.append(SummaryLine(line, one.refs))
    return lines


def _bare(text: str) -> str:
    """Return a hand-written line without bullet and sources."""
    return re.sub(r"\[\^[^\]\s]+\]", "", text).strip().removeprefix("- ").removeprefix("> ").strip()


def _fitting(
    lines: Iterable[SummaryLine], budget: int, count: Callable[[str], int]
) -> list[SummaryLine]:
    """Return the first lines that fit; a heading is kept only with a line below it."""
    kept: list[SummaryLine] = []
    used, waiting = 0, []
    for line in lines:
        waiting.append(line)
        if line.text.endswith(":") and not line.text.startswith(("-", ">")):
            waiting = [line]
            continue
        price = sum(count(one.text + "\n") for one in waiting)
        if used + price <= budget:
            kept += waiting
            used += price
            waiting = []
        else:
            waiting = waiting[:-1]
    return kept


# ---------------------------------------------------------------- skills


def workflow_skill(seen: Workflow) -> Procedure:
    """Return a skill for commands that sessions ran before a commit: facts, not instructions."""
    often = f"{seen.sessions} sessions, last on {display.format_time(seen.last)[:10]}"
    return Procedure(
        name=slugify(f"before commit {' '.join(seen.purposes)}"),
        description=f"Commands that were run before a commit in {often}. Observed, not a rule: "
        "use it before a commit where it still applies.",
        title="Before a commit",
        intro=f"Seen in {often}. Sources: {', '.join(seen.sources)}",
        steps=tuple(f"`{step}`" for step in seen.steps),
        exit_criteria=tuple(f"`{step}` passes" for step in seen.steps),
        successes=seen.sessions,
    )


def choose_skills(
    extractions: Sequence[Extraction],
    procedures: Iterable[Procedure],
    refused: Container[str],
    hidden: frozenset[str] = frozenset(),
) -> list[Procedure]:
    """Return the procedures in use, and the observed workflows before commits as procedures;
    without those of a refused name, or with a hidden command."""
    observed = map(workflow_skill, workflows(extractions, hidden))
    named = {one.name: one for one in (*observed, *procedures)}
    return [one for one in named.values() if one.name not in refused]


def command_skills(
    chosen: Iterable[tuple[str, Sequence[str]]], statements: Iterable[PageStatement]
) -> Iterator[Procedure]:
    """Yield the skills that a model composed from names and the keys of commands that worked."""
    known = {one.key: one for one in statements}
    for name, keys in chosen:
        inside = [known[key] for key in keys if key in known]
        if len(inside) < 2:
            continue  # the model named steps that it dropped
        sources = dict.fromkeys(one.sources[0] for one in inside)
        yield Procedure(
            name=name,
            description="Commands that worked here, put in order by a model. Proposed, not a rule.",
            title=name.replace("-", " ").capitalize(),
            intro=f"Sources: {', '.join(sources)}",
            steps=tuple(f"`{one.refs[0].partition(':')[2]}`" for one in inside),
        )


def render_skills(procedures: Iterable[Procedure]) -> dict[str, str]:
    """Return the skills as SKILL.md texts by name; the first of a name wins."""
    found: dict[str, str] = {}
    for one in procedures:
        found.setdefault(one.name, to_skill_md(one))
    return found
