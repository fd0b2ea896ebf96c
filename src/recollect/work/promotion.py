"""Decide which notes of a session or task may be promoted to durable memory.

`review_note` takes a note through the checklist and stops at the first step that it does not pass.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..fast_typing import NamedTuple
from ..memory import hygiene
from ..memory.similarity import Statement, find_relation
from ..text import globs

_SOURCES = {
    "pointing": r"(?:it|this|that|they|these|those|he|she) "
    r"(?:is|are|was|were|has|have|does|do|can)\b",
    "moving": r"\b(?:currently|at the moment|right now|these days|latest version|so far|"
    r"as of (?:now|today)|will (?:soon|probably|likely) (?:change|move|be)|"
    r"(?:is|are) (?:still )?in flux)\b",
    "passing": r"\b(?:this (?:task|pr|ticket|sprint|change|branch|refactoring|session)|for now|"
    r"temporar(?:y|ily)|until (?:we|i|the|this|it|then)|as a stopgap|hotfix for|"
    r"current (?:task|plan|sprint|objective)|work in progress|wip|experiment(?:al)? branch|"
    r"not yet (?:done|finished|merged))\b",
}


@cache
def _pattern(name: str) -> re.Pattern[str]:
    return re.compile(_SOURCES[name], re.IGNORECASE)


class Note(NamedTuple):
    """What a session or a task wants to leave behind, with the five fields of a durable fact."""

    text: str
    kind: str
    subject: str = ""
    citations: Sequence[object] = ()
    reason: str = ""
    category: str = ""
    scope: Sequence[str] = ()


class KnownNote(NamedTuple):
    """What is kept already: its id, what it says, and where it applies."""

    id: str
    statement: Statement
    scope: Sequence[str] = ()


class Verdict(NamedTuple):
    """`promote`, `defer` or `drop`, the step that decided, the reason, and the notes it is like."""

    decision: str
    step: str
    reason: str
    like: tuple[str, ...] = ()


def review_note(note: Note, known: Sequence[KnownNote]) -> Verdict:
    """Apply the promotion checklist to a note; `known` is what was promoted before."""
    refused = hygiene.find_refusal(note.text, note.kind, "project")
    if refused:
        return Verdict("drop", "classify", f"{refused.rule}; {refused.where}")
    passing = _pattern("passing").search(note.text)
    if passing and note.kind not in hygiene.NEVER_REFUSED:
        return Verdict("drop", "durable", f"“{passing[0]}” ties it to this task: it stays there")
    return _fleeting(note) or _duplicate(note, known) or _incomplete(note) or _promoted(note)


MOST_SENTENCES = 2
"""A fact that needs more is several facts, or a document."""


def _fleeting(note: Note) -> Verdict | None:
    """Defer a note that cannot be understood alone, is likely to change, or is too long for a
    fact."""
    if note.kind in hygiene.NEVER_REFUSED:
        return None
    pointing = _pattern("pointing").match(note.text.strip())
    if pointing:
        return Verdict("defer", "durable", f"“{pointing[0]}” points at something that is not told")
    moving = _pattern("moving").search(note.text)
    if moving:
        return Verdict("defer", "durable", f"“{moving[0]}”: it is likely to change")
    count = len(hygiene.split_sentences(note.text))
    if note.kind == "fact" and count > MOST_SENTENCES:
        return Verdict("defer", "short", f"a fact has one or two sentences, this one has {count}")
    return None


def _duplicate(note: Note, known: Sequence[KnownNote]) -> Verdict | None:
    found: dict[str, list[str]] = {}
    mine = (note.subject, note.text)
    for id, statement, scope in known:
        name = find_relation(statement, mine)
        if statement[1].strip() == note.text.strip():
            if globs.same_scopes(scope, note.scope):
                return Verdict("drop", "duplicate", "the same text is kept already", (id,))
            name = "elsewhere"
        elif name == "contradicts" and globs.are_disjoint(scope, note.scope):
            continue
        found.setdefault(name, []).append(id)
    for name, reason in (
        (
            "elsewhere",
            "it is kept for other files: skip it, merge it, or create it with a reason",
        ),
        ("contradicts", "it says the opposite of what is kept: settle which holds"),
        ("near", "nearly the same is kept: skip it, merge it, or create it with a reason"),
    ):
        if name in found:
            return Verdict("defer", "duplicate", reason, tuple(found[name]))
    return None


def _incomplete(note: Note) -> Verdict | None:
    fields = {
        "subject": note.subject.strip(),
        "fact": note.text.strip(),
        "citations": note.citations,
        "reason": note.reason.strip(),
        "category": note.category.strip(),
    }
    missing = [name for name, value in fields.items() if not value]
    if not missing:
        return None
    return Verdict("defer", "fields", f"it still needs: {', '.join(missing)}")


def _promoted(note: Note) -> Verdict:
    return Verdict("promote", "fields", f"durable {note.kind} with all five fields")
