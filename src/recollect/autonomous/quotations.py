"""Statements that quote: memories in force, conclusions, what a model picked, and past tasks."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

from ..actions import command_words
from ..briefing import rendering, selection, wording
from ..fast_typing import NamedTuple
from ..lessons import findings
from ..text import display, terms
from ..types.records import BASELINE_KINDS, Memory
from .statements import (
    CLAIMS,
    DECISIONS,
    HISTORY,
    PROPOSED,
    RULES,
    Evidence,
    PageStatement,
    addresses_of,
)

MOST_SOURCES = 6
FEWEST_WORDS = 4
"""A goal with fewer content words tells nothing to a reader who was not there."""

MOST_FILES, LONGEST_GOAL, LONGEST_QUOTE = 3, 160, 400
_RULE_KINDS = (*BASELINE_KINDS, "workflow")


class CitedMemory(NamedTuple):
    """A memory in force, and the addresses of the messages that it was said in."""

    memory: Memory
    sources: tuple[str, ...]


class SessionEvidence(NamedTuple):
    """Evidence, and the session that gave it."""

    session: str
    evidence: Evidence


def sources_of(seen: Iterable[SessionEvidence], each: int = 2) -> tuple[str, ...]:
    """Return the addresses of the first spans of each session, the newest sessions first."""
    found = [
        address for one in seen for address in addresses_of(one.session, one.evidence.spans[:each])
    ]
    return tuple(dict.fromkeys(found))[:MOST_SOURCES]


def memory_statement(cited: CitedMemory) -> list[PageStatement]:
    """Return a memory as a statement; none when it is never shown by itself."""
    memory, sources = cited
    if selection.why_never(memory) or not sources or _is_of_the_moment(memory):
        return []
    section = CLAIMS
    if memory.label in ("user", "system"):
        section = RULES if memory.kind in _RULE_KINDS else DECISIONS
    item = selection.item_of(memory, "")
    scope = f"for {', '.join(memory.scope)}" if memory.scope else ""
    line = rendering.line(item._replace(note=scope))
    # A claim of an agent waits for evidence before it is shown unasked.
    shown = section != CLAIMS or selection.has_evidence(memory, "")
    return [
        PageStatement(
            key=f"memory:{memory.root}",
            section=section,
            line=line,
            label=memory.label,
            sources=sources[:MOST_SOURCES],
            at=memory.last_reinforced or memory.valid_from,
            weight=memory.reinforcement + memory.confidence,
            refs=(memory.id,),
            in_summary=shown,
        )
    ]


def _is_of_the_moment(memory: Memory) -> bool:
    """Check whether a sentence that was heard in a conversation asks for something once: it is a
    question, or names a ticket or pull request."""
    if "captured" not in memory.detail or memory.kind not in ("preference", "fact", "reference"):
        return False
    return bool(_once().search(memory.text))


@cache
def _once() -> re.Pattern[str]:
    return re.compile(
        r"^(?:can|could|would|will) (?:you|we)\b|^(?:lets|let's) |^i (?:wonder|think|am)\b"
        r"|\?\s*$|\bpr #?\d+|\b(?:on|to) (?:the|that|this) pr\b|\b[A-Z]{2,}-\d+\b"
        r"|\bmerge conflicts\b|^(?:this|that|it) (?:is|was)\b|^instead\b"
        r"|^(?:before|after) you go\b|\bstill failing\b",
        re.IGNORECASE,
    )


def conclusion_statement(
    subject: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> list[PageStatement]:
    """Return what an agent concluded, quoted."""
    known = findings.conclusion(finding.body, finding.at)
    if command_words.suggests_danger(known.text):
        return []
    item = wording.conclusion_line(known)
    return [
        PageStatement(
            key=f"conclusion:{subject}",
            section=CLAIMS,
            line=rendering.line(item),
            label="agent",
            sources=sources_of(seen),
            at=finding.at,
            refs=(item.address,),
        )
    ]


def quotes_statement(subject: str, seen: Sequence[SessionEvidence]) -> list[PageStatement]:
    """Return what a model picked out of a session: the quoted words, never the model's own."""
    newest = seen[0].evidence
    body = newest.body
    if newest.label not in ("user", "agent") or command_words.suggests_danger(str(body["quote"])):
        return []
    is_users = newest.label == "user"
    who = "user" if is_users else f"unconfirmed {body['kind']}, agent"
    date = display.format_time(newest.at)[:10]
    quote = display.quote_data(str(body["quote"])[:LONGEST_QUOTE])
    return [
        PageStatement(
            key=f"quote:{subject}",
            section=PROPOSED if is_users else CLAIMS,
            line=f"> {who} {date}: {quote}",
            label=newest.label,
            sources=sources_of(seen),
            at=newest.at,
            weight=len(seen),
            in_summary=not is_users and bool(body.get("evidence")),
        )
    ]


def task_statement(subject: str, seen: Sequence[SessionEvidence]) -> list[PageStatement]:
    """Return a task without a commit: the request, quoted, what was changed, the last check."""
    newest = seen[0].evidence
    body = newest.body
    wanted = _plain_goal(str(body["goal"]))
    if not body["outcome"] or not body["files"] or body["commit"]:
        return []
    words = set(terms.query_terms(wanted))
    if len(words - _PASSING) < FEWEST_WORDS or words & _ELSEWHERE or not _is_apart(wanted):
        return []
    told = f"asked: {display.quote_data(_short(wanted))}{_changed(body['files'])}"
    return [_past(f"task:{subject}", f"{told}; {body['outcome']}", seen)]


def commit_statement(subject: str, seen: Sequence[SessionEvidence]) -> list[PageStatement]:
    """Return a commit of an agent with the files that were edited for it; its subject is quoted."""
    body = seen[0].evidence.body
    title = str(body["subject"])
    words = set(terms.query_terms(title))
    if len(words - _PASSING) < FEWEST_WORDS - 1 or words & (_ELSEWHERE | _CHORES):
        return []
    if title.lower().startswith(("docs:", "docs(", "style:", "style(")):
        return []
    digest = rendering.code(str(body["hash"])[:10])
    told = f"committed {display.quote_data(_short(title))} ({digest})"
    return [_past(f"commit:{subject}", f"{told}{_changed(body['files'])}", seen)]


def _past(key: str, told: str, seen: Sequence[SessionEvidence]) -> PageStatement:
    newest = seen[0].evidence
    return PageStatement(
        key=key,
        section=HISTORY,
        line=f"> {display.format_time(newest.at)[:10]}: {told}",
        label="agent",
        sources=sources_of(seen, each=MOST_SOURCES),
        at=newest.at,
    )


def _changed(files: Sequence[str]) -> str:
    named = [path for path in files if "REDACTED" not in path]
    if not named:
        return ""
    more = len(files) - len(named[:MOST_FILES])
    told = ", ".join(map(rendering.code, named[:MOST_FILES]))
    return f"; changed {told}" + (f" and {more} more" if more > 0 else "")


_PASSING = frozenset((
    *("can", "could", "please", "look", "take", "address", "fix", "review", "pr", "comment"),
    *("comments", "branch", "changes", "open", "implement", "following", "plan", "need", "let"),
    *("think", "want", "see", "check", "update", "make", "feedback", "issue", "issues"),
))  # fmt: skip
"""Words that say what kind of work it was, and not what about."""

_ELSEWHERE = frozenset(("comment", "comments", "feedback", "pr", "coderabbit", "bugbot", "image"))
"""A goal with one of these points at a text that is not in it."""

_CHORES = frozenset(
    ("review", "findings", "todo", "todos", "nit", "typo", "changelog", "bump", "conversation")
)
"""A commit with one of these in its subject says little about the code."""

_GOING_ON = frozenset((
    *("ok", "okay", "and", "but", "so", "now", "also", "yes", "no", "then", "while", "there"),
    *("theres", "it", "its", "this", "that", "these", "those", "before", "i", "we", "still"),
    *("can", "could", "have", "please"),
))  # fmt: skip


def _is_apart(goal: str) -> bool:
    """Check whether a goal can be understood without what was said before it."""
    first = goal.split()[0].strip(".,:;!?'\"").lower() if goal.split() else ""
    return first not in _GOING_ON and not goal.startswith(("/", "[")) and not first.isdigit()


def _plain_goal(goal: str) -> str:
    """Return a goal without the words that agents put before a plan."""
    for lead in ("Implement the following plan: ", "Plan: "):
        goal = goal.removeprefix(lead)
    return goal


def _short(text: str) -> str:
    return text if len(text) <= LONGEST_GOAL else f"{text[: LONGEST_GOAL - 1].rstrip()}…"
