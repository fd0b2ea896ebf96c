"""Which phase of work a goal is in, and what counts how much before a task of that phase.

Before a task three sources are blended: what is known (semantic), what happened (episodic) and
how things are done (skills). It does not know how their matches were found; a match is a number
from 0 to 1.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..errors import InvalidInput


class Weights(NamedTuple):
    """What the three sources weigh; they add up to 1."""

    semantic: float
    episodic: float
    skills: float


DEFAULT = "implementation"

WEIGHTS: Mapping[str, Weights] = {
    # What others found there before is worth the most.
    "exploration": Weights(0.5, 0.4, 0.1),
    "implementation": Weights(0.5, 0.3, 0.2),
    # The same error may have happened.
    "debugging": Weights(0.35, 0.5, 0.15),
    # Rules and conventions are what a review is about.
    "review": Weights(0.7, 0.2, 0.1),
    "refactoring": Weights(0.5, 0.2, 0.3),
}

_SIGNS = {
    "debugging": "debug debugging bug bugs bugfix error errors exception exceptions crash crashes "
    "crashed crashing fail fails failed failing failure broken traceback stacktrace regression "
    "diagnose troubleshoot flaky hang hangs fix fixes fixing hotfix reproduce",
    "review": "review reviews reviewing audit audits auditing critique inspect proofread "
    "code-review feedback approve",
    "refactoring": "refactor refactors refactoring refactored rename restructure reorganize "
    "reorganise cleanup simplify deduplicate dedupe extract modernize modernise decouple split "
    "inline tidy",
    "exploration": "explore exploring exploration research investigate investigating understand "
    "learn find locate search discover compare evaluate analyze analyse explain overview spike",
    "implementation": "implement implements implementing add adds adding build builds building "
    "create creates creating write writes writing develop make integrate support introduce extend "
    "feature endpoint migrate port",
}
_QUESTIONS = frozenset(("where", "how", "why", "what", "which", "who", "when"))
"""Asking is exploring, if no other word says what the work is."""

OUTCOMES: Mapping[str, float] = {"success": 1.0, "partial": 0.7, "unknown": 0.6, "failure": 0.5}
"""What an episode's match is worth: a success shows a way, a failure only what to avoid."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


@cache
def _phase_of_word() -> dict[str, str]:
    return {word: phase for phase, words in _SIGNS.items() for word in words.split()}


def phase_of(goal: str) -> str:
    """The phase that most words of a goal speak of, the first word breaking a tie."""
    words = _WORD.findall(goal.casefold())
    found = [phase for word in words if (phase := _phase_of_word().get(word, ""))]
    if not found:
        return DEFAULT if _QUESTIONS.isdisjoint(words) else "exploration"
    return max(_SIGNS, key=lambda phase: _votes(phase, found))


def _votes(phase: str, found: Sequence[str]) -> tuple[int, int]:
    return found.count(phase), -found.index(phase) if phase in found else -len(found)


def checked(phase: str, goal: str = "") -> str:
    """The phase that was named, or that the goal speaks of when none was."""
    if not phase:
        return phase_of(goal)
    if phase not in WEIGHTS:
        raise InvalidInput(
            f"{phase!r} is not a phase", where="phase", hint=f"one of: {', '.join(WEIGHTS)}"
        )
    return phase


class Found(NamedTuple):
    """One thing that may matter for a task: where it comes from, and how well it matches."""

    id: str
    source: str
    match: float
    outcome: str = ""


class Blended(NamedTuple):
    """A thing that was found, and what it is worth in this phase."""

    found: Found
    score: float
    why: str


def blend(found: Sequence[Found], phase: str = DEFAULT) -> list[Blended]:
    """All that was found, best first; ties by id."""
    weights = WEIGHTS[phase]._asdict()
    blended = []
    for item in found:
        worth = OUTCOMES.get(item.outcome, 1.0) if item.source == "episodic" else 1.0
        score = weights[item.source] * worth * max(0.0, min(item.match, 1.0))
        why = f"{item.source} {item.match:.2f} for {phase}"
        if item.source == "episodic" and item.outcome:
            why += f", {item.outcome}"
        blended.append(Blended(item, score, why))
    return sorted(blended, key=lambda item: (-item.score, item.found.id))
