"""Work notes: what NOTES.md, CONTINUITY.md and session notes hold, and what they must not.

NOTES.md is the active objective and nothing else: it is rendered, read back when somebody edited
it, and linted. CONTINUITY.md refers to memories by id and never repeats them; what a person wrote
into it stays. Which layer is read and written at which event is a table. It does not know files or
documents.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache
from typing import NamedTuple

from ..documents import continuity
from ..errors import InvalidInput
from ..text.display import quote_data

MOST_LINES = 20
MOST_BULLETS = 3
LONGEST_TITLE = 120


class Notes(NamedTuple):
    """The active objective: what it is, its phase, what is in the way, what is next."""

    objective: str = ""
    phase: str = ""
    blockers: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class Finding(NamedTuple):
    """A rule that a text breaks, from which line to which, and what to do about it."""

    rule: str
    first: int
    last: int
    advice: str


# ---------------------------------------------------------------- NOTES.md


def render_notes(notes: Notes) -> str:
    """The text of NOTES.md; InvalidInput if it would break a rule of its own."""
    text = "\n".join(
        (
            "# Notes",
            "",
            "## Objective",
            _line(notes.objective) or "none",
            f"Phase: {_line(notes.phase) or 'none'}",
            "",
            "## Blockers",
            *_listed(notes.blockers),
            "",
            "## Pending",
            *_listed(notes.pending),
            "",
        )
    )
    broken = lint_notes(text)
    if broken:
        raise InvalidInput(
            f"NOTES.md would break its own rules: {', '.join(one.rule for one in broken)}",
            where="notes",
            hint=" ".join(dict.fromkeys(one.advice for one in broken))
            + " `recollect notes set` with --blocker or --pending writes a list anew.",
        )
    return text


def _line(text: str) -> str:
    return " ".join(text.split())


def _listed(items: Sequence[str]) -> list[str]:
    return [f"- {_line(item)}" for item in items] or ["none"]


def parse_notes(text: str) -> Notes:
    """What NOTES.md says, also after somebody edited it: headings in any order, words unchanged."""
    sections: dict[str, list[str]] = {}
    heading = "objective"
    for line in text.splitlines():
        if found := _heading().match(line):
            heading = _SECTIONS.get(found[1].strip().casefold(), "")
        elif line.strip():
            sections.setdefault(heading, []).append(line.strip())
    objective = sections.get("objective", [])
    phases = [found for line in objective if (found := _phase().match(line))]
    told = [line for line in objective if not _phase().match(line)]
    return Notes(
        _none(" ".join(line.removeprefix("- ") for line in told)),
        _none(phases[-1][1].strip()) if phases else _none(" ".join(sections.get("phase", []))),
        _items(sections.get("blockers", [])),
        _items(sections.get("pending", [])),
    )


_SECTIONS = {
    "objective": "objective",
    "active objective": "objective",
    "current objective": "objective",
    "goal": "objective",
    "notes": "objective",
    "phase": "phase",
    "current phase": "phase",
    "blockers": "blockers",
    "blockers and risks": "blockers",
    "unresolved blockers": "blockers",
    "pending": "pending",
    "next": "pending",
    "todo": "pending",
}


@cache
def _heading() -> re.Pattern[str]:
    return re.compile(r"#{1,6}\s+(.*?)\s*#*$")


@cache
def _phase() -> re.Pattern[str]:
    return re.compile(r"(?:[-*+]\s+)?\**phase\**:\**\s*(.*)", re.IGNORECASE)


def _none(text: str) -> str:
    return "" if text.strip(" .").casefold() in ("none", "nothing", "n/a", "-") else text


def _items(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(
        item
        for line in lines
        if (item := _none(continuity.bullet_pattern().sub("", line, count=1)))
    )


# ---------------------------------------------------------------- lint


def lint_notes(text: str) -> list[Finding]:
    """Every rule of NOTES.md that a text breaks, in the order of its lines."""
    lines = text.rstrip("\n").split("\n") if text.strip() else []
    found: list[Finding] = []
    if len(lines) > MOST_LINES:
        advice = f"Keep at most {MOST_LINES} lines: move what is done to the task's artifacts."
        found.append(Finding("too-long", MOST_LINES + 1, len(lines), advice))
    fence = 0
    bullets: list[int] = []
    for number, line in enumerate([*lines, "#"], 1):
        if line.lstrip().startswith(("```", "~~~")):
            if fence:
                found.append(_code(fence, number))
            fence = 0 if fence else number
            continue
        if fence:
            continue
        if _history().search(line):
            found.append(Finding("task-history", number, number, _HISTORY))
        if continuity.bullet_pattern().match(line):
            bullets.append(number)
        elif line.strip() and not line.startswith("  "):
            if len(bullets) > MOST_BULLETS:
                found.append(Finding("too-many-bullets", bullets[0], bullets[-1], _BULLETS))
            bullets = []
    if fence:
        found.append(_code(fence, len(lines)))
    return sorted(found, key=lambda one: (one.first, one.rule))


_BULLETS = (
    f"Keep at most {MOST_BULLETS} bullets under a heading: the rest belongs to the task's plan."
)
_HISTORY = "Task history belongs to the task: memory://task/<slug>/…"


def _code(first: int, last: int) -> Finding:
    return Finding(
        "code-fence", first, last, "Code belongs to the repository or to a task artifact."
    )


@cache
def _history() -> re.Pattern[str]:
    """Words of a log: `phase-3-…`, `iteration 4 passed`, a time in front, a box that is ticked."""
    return re.compile(
        r"\b(?:phase|step|iteration|revision|attempt|round)-\d+-\w"
        r"|\b(?:iteration|attempt|revision|round|run) #?\d+\b.{0,40}"
        r"\b(?:pass(?:ed)?|fail(?:ed)?|done|complete[d]?|finished|started)\b"
        r"|\bphase #?\d+\b.{0,20}\b(?:done|complete[d]?|finished|passed)\b"
        r"|^\s*(?:[-*+]\s+)?\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\b"
        r"|^\s*[-*+]\s+\[[xX]\]|\bat \d\d:\d\d\b",
        re.IGNORECASE,
    )


# ---------------------------------------------------------------- CONTINUITY.md


class Reference(NamedTuple):
    """A record by its id, with a title to recognise it by; `by` says who stated it, if it was not
    the user: such a title is quoted."""

    id: str
    title: str
    by: str = ""


def render_continuity(
    doing: str,
    relevant: Iterable[Reference] = (),
    avoid: Iterable[Reference] = (),
    by_hand: continuity.HandWritten = continuity.HandWritten(),  # noqa: B008 - it cannot change
) -> str:
    """What is going on right now. Records are named by id, each once, and never repeated."""
    mistakes = {one.id: one for one in avoid}
    memories = {one.id: one for one in relevant if one.id not in mistakes}
    parts = [f"# Continuity\n\n## {continuity.NOW}\n{_line(doing) or 'nothing'}"]
    for heading, listed, own in (
        (continuity.RELEVANT, memories, by_hand.relevant),
        (continuity.AVOID, mistakes, by_hand.avoid),
    ):
        lines = [f"- [{one.id}] {_named(one)}".rstrip() for one in listed.values()]
        lines += [f"- {line}" for line in own]
        if lines:
            parts.append("\n".join((f"## {heading}", *lines)))
    return "\n\n".join((*parts, *by_hand.more)) + "\n"


def _named(one: Reference) -> str:
    title = _title(one.title)
    return f"by {one.by}: {quote_data(title)}" if one.by else title


def _title(text: str) -> str:
    line = _line(text)
    return line if len(line) <= LONGEST_TITLE else line[: LONGEST_TITLE - 1].rstrip() + "…"


def find_references(text: str) -> tuple[str, ...]:
    """The ids that a CONTINUITY.md refers to."""
    found = re.findall(r"^- \[([^\]\n]+)\]", text, re.MULTILINE)
    return tuple(dict.fromkeys(found))


# ---------------------------------------------------------------- session notes

SESSION_SECTIONS = (
    "Current State",
    "Files and Functions",
    "Errors & Corrections",
    "Key Results",
    "Worklog",
)


def render_session_notes(title: str = "", filled: Iterable[tuple[str, str]] = ()) -> str:
    """The template of session notes with its five sections; `filled` has texts for some."""
    texts = dict(filled)
    unknown = [name for name in texts if name not in SESSION_SECTIONS]
    if unknown:
        raise InvalidInput(
            f"session notes have no section {unknown[0]!r}",
            where="session notes",
            hint=f"One of: {', '.join(SESSION_SECTIONS)}.",
        )
    head = f"# Session notes: {_line(title)}" if title.strip() else "# Session notes"
    bodies = (f"## {name}\n{texts.get(name, '').strip()}".rstrip() for name in SESSION_SECTIONS)
    return "\n\n".join((head, *bodies)) + "\n"


# ---------------------------------------------------------------- what to read and write when


class Access(NamedTuple):
    """Something in a layer that is read or written."""

    layer: str
    what: str


class EventRule(NamedTuple):
    """What is read and what is written at an event."""

    event: str
    read: tuple[Access, ...]
    write: tuple[Access, ...]


RULES = (
    EventRule(
        "context start",
        (Access("session", "session notes, if they exist"), Access("project", "NOTES.md")),
        (),
    ),
    EventRule(
        "phase start",
        (Access("task", "relevant files"),),
        (
            Access("session", "session note"),
            Access("project", "durable cross-plan facts, promoted through the hygiene checklist"),
        ),
    ),
    EventRule(
        "phase end", (), (Access("task", "completion report"), Access("project", "NOTES.md"))
    ),
    EventRule("task complete", (), (Access("project", "durable facts"),)),
    EventRule("conversation end", (), (Access("session", "session files cleared"),)),
)
"""When which layer is read and written."""


def rule_for_event(name: str) -> EventRule:
    """The rule of an event: `phase start`, however it is spelled."""
    wanted = " ".join(re.split(r"[\s_-]+", name.strip().casefold()))
    for rule in RULES:
        if rule.event == wanted:
            return rule
    raise InvalidInput(
        f"{name!r} is not an event",
        where="event",
        hint=f"One of: {', '.join(rule.event for rule in RULES)}.",
    )
