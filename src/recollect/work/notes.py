"""Render, parse and lint NOTES.md, session notes and todo lists; the rules of work events.

NOTES.md contains only the active objective. `RULES` is the table of layers that are read and
written at each event.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple

MOST_LINES = 20
MOST_BULLETS = 3


class Notes(NamedTuple):
    """The active objective, its phase, blockers and pending items."""

    objective: str = ""
    phase: str = ""
    blockers: tuple[str, ...] = ()
    pending: tuple[str, ...] = ()


class Finding(NamedTuple):
    """A broken rule, the first and last line, and advice."""

    rule: str
    first: int
    last: int
    advice: str


# ---------------------------------------------------------------- NOTES.md


def render_notes(notes: Notes) -> str:
    """Render NOTES.md; raise InvalidInput if it would break its own rules."""
    text = "\n".join(
        (
            "# Notes",
            "",
            "## Objective",
            _one_line(notes.objective) or "none",
            f"Phase: {_one_line(notes.phase) or 'none'}",
            "",
            "## Blockers",
            *_render_list(notes.blockers),
            "",
            "## Pending",
            *_render_list(notes.pending),
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


def prune_notes(notes: Notes, finished: str, following: str, settled: Iterable[str]) -> Notes:
    """Return the notes after the end of a phase: the next phase, without the blockers and pending
    items that name the finished one or that were settled."""
    done = {_key(one) for one in (finished, *settled) if one}

    def is_stale(item: str) -> bool:
        key = _key(item)
        return key in done or bool(re.match(rf"{re.escape(_key(finished))}\s*[:–-]", key))

    phase = following if _key(notes.phase) == _key(finished) else notes.phase
    return notes._replace(
        phase=phase,
        blockers=tuple(one for one in notes.blockers if not is_stale(one)),
        pending=tuple(one for one in notes.pending if not is_stale(one)),
    )


def _key(text: str) -> str:
    return " ".join(text.casefold().split()).rstrip(".")


def _one_line(text: str) -> str:
    return " ".join(text.split())


def _render_list(items: Sequence[str]) -> list[str]:
    return [f"- {_one_line(item)}" for item in items] or ["none"]


def parse_notes(text: str) -> Notes:
    """Parse NOTES.md, which may have been edited: headings can be in any order."""
    sections: dict[str, list[str]] = {}
    heading = "objective"
    for line in text.splitlines():
        if found := re.match(_HEADING, line):
            heading = _SECTIONS.get(found[1].strip().casefold(), "")
        elif line.strip():
            sections.setdefault(heading, []).append(line.strip())
    objective = sections.get("objective", [])
    phases = [found for line in objective if (found := re.match(_PHASE, line))]
    other = [line for line in objective if not re.match(_PHASE, line)]
    return Notes(
        _drop_none(" ".join(line.removeprefix("- ") for line in other)),
        _drop_none(phases[-1][1].strip())
        if phases
        else _drop_none(" ".join(sections.get("phase", []))),
        _parse_items(sections.get("blockers", [])),
        _parse_items(sections.get("pending", [])),
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
_HEADING = r"#{1,6}\s+(.*?)\s*#*$"
_ITEM = r"\s*(?:[-*+]|\d+[.)])\s+"
_PHASE = r"(?i)(?:[-*+]\s+)?\**phase\**:\**\s*(.*)"


def _drop_none(text: str) -> str:
    return "" if text.strip(" .").casefold() in ("none", "nothing", "n/a", "-") else text


def _parse_items(lines: Iterable[str]) -> tuple[str, ...]:
    return tuple(item for line in lines if (item := _drop_none(re.sub(_ITEM, "", line, count=1))))


# ---------------------------------------------------------------- lint


def lint_notes(text: str) -> list[Finding]:
    """Return every broken rule of NOTES.md, in the order of lines."""
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
                found.append(_code_finding(fence, number))
            fence = 0 if fence else number
            continue
        if fence:
            continue
        if re.search(_LOG_ENTRY, line):
            found.append(Finding("task-history", number, number, _HISTORY))
        if re.match(_ITEM, line):
            bullets.append(number)
        elif line.strip() and not line.startswith("  "):
            if len(bullets) > MOST_BULLETS:
                found.append(Finding("too-many-bullets", bullets[0], bullets[-1], _BULLETS))
            bullets = []
    if fence:
        found.append(_code_finding(fence, len(lines)))
    return sorted(found, key=lambda one: (one.first, one.rule))


_BULLETS = (
    f"Keep at most {MOST_BULLETS} bullets under a heading: the rest belongs to the task's plan."
)
_HISTORY = "Task history belongs to the task: memory://task/<slug>/…"


def _code_finding(first: int, last: int) -> Finding:
    return Finding(
        "code-fence", first, last, "Code belongs to the repository or to a task artifact."
    )


_LOG_ENTRY = (
    r"(?i)\b(?:phase|step|iteration|revision|attempt|round)-\d+-\w"
    r"|\b(?:iteration|attempt|revision|round|run) #?\d+\b.{0,40}"
    r"\b(?:pass(?:ed)?|fail(?:ed)?|done|complete[d]?|finished|started)\b"
    r"|\bphase #?\d+\b.{0,20}\b(?:done|complete[d]?|finished|passed)\b"
    r"|^\s*(?:[-*+]\s+)?\[?(?:\d{4}-\d\d-\d\d[T ])?\d\d:\d\d(?::\d\d)?\b"
    r"|^\s*[-*+]\s+\[[xX]\]|\bat \d\d:\d\d\b"
)
"""Match log entries: `phase-3-…`, `iteration 4 passed`, a leading time, a ticked box."""


# ---------------------------------------------------------------- session notes

SESSION_SECTIONS = (
    "Current State",
    "Files and Functions",
    "Errors & Corrections",
    "Key Results",
    "Worklog",
)


def render_session_notes(title: str) -> str:
    """Render the template of session notes."""
    head = f"# Session notes: {_one_line(title)}" if title.strip() else "# Session notes"
    return "\n\n".join((head, *(f"## {name}" for name in SESSION_SECTIONS))) + "\n"


# ---------------------------------------------------------------- events


class Access(NamedTuple):
    """Something that is read or written in a layer."""

    layer: str
    what: str


class EventRule(NamedTuple):
    """The data that is read and written at an event."""

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
"""Which layer is read and written at which event."""


def rule_for_event(name: str) -> EventRule:
    """Return the rule of an event; `phase start` may be written `phase_start` or `Phase-Start`."""
    wanted = " ".join(re.split(r"[\s_-]+", name.strip().casefold()))
    for rule in RULES:
        if rule.event == wanted:
            return rule
    raise InvalidInput.choice("event", name, [rule.event for rule in RULES])


# ---------------------------------------------------------------- todo list

Todo = tuple[str, bool]
"""An item, and whether it is done."""


def parse_todos(text: str) -> list[Todo]:
    """Return the items of a todo list."""
    found = re.findall(r"(?m)^- \[([ x])\] (.+)$", text)
    return [(item, mark == "x") for mark, item in found]


def change_todos(items: Sequence[Todo], add: Iterable[str], done: Iterable[str]) -> list[Todo]:
    """Return a todo list with the items of `add` appended, and those of `done` ticked off."""
    changed = list(items)
    for named in done:
        places = [
            at
            for at, (item, _) in enumerate(changed)
            if named == str(at + 1) or _key(item) == _key(named)
        ]
        if not places:
            raise InvalidInput(f"there is no item {named!r} in the list", where="done")
        changed[places[0]] = (changed[places[0]][0], True)
    known = {_key(item) for item, _ in changed}
    for item in map(_one_line, add):
        if item and _key(item) not in known:
            changed.append((item, False))
    return changed


def render_todos(items: Sequence[Todo]) -> str:
    """Render a todo list as Markdown."""
    return "".join(f"- [{'x' if done else ' '}] {item}\n" for item, done in items)
