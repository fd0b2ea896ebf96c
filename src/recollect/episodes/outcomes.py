"""Decide how a task ended, by evidence: checks that passed, commits, and the words of the user.

Later evidence outweighs earlier one, the user outweighs the checks, and without evidence the
outcome is unknown: an agent's own "done" counts for nothing. It also says how much an episode is
worth remembering. It does not know episodes, only attempts and words.
"""

from __future__ import annotations

import re
from collections.abc import Container, Iterable, Sequence
from typing import NamedTuple

from ..actions.call_results import CallAttempt, Words
from ..actions.command_output import GitCommit, find_commits, is_error_line
from ..actions.command_words import is_check
from ..actions.tool_calls import read_effects
from ..capture.sentences import find_pasted

OUTCOMES = ("success", "failure", "partial", "unknown")
LONGEST_REACTION = 400


class Reaction(NamedTuple):
    """What the user said about the work so far: good, bad, or nothing of it; at which message."""

    seq: int
    verdict: str


def outcome_of(
    attempts: Sequence[CallAttempt],
    reactions: Iterable[Reaction],
    committed: Iterable[int] = (),
    resolved: Container[int] = (),
) -> str:
    """Return how it ended. `committed` and `resolved` are the numbers of the messages that asked
    for a commit, and for what failed and worked later."""
    passing: dict[Words, tuple[int, bool]] = {}
    for attempt in attempts:
        if attempt.state == "ok" or (attempt.state == "failed" and attempt.asked not in resolved):
            for command in filter(is_check, attempt.commands):
                key = tuple(word for word in command[:3] if not word.startswith("-"))
                passing[key] = attempt.asked, attempt.state == "ok"
    failing = [at for at, good in passing.values() if not good]
    proven = [at for at, good in passing.values() if good]
    commits = list(committed)
    told = [reaction for reaction in reactions if reaction.verdict]
    last = told[-1] if told else Reaction(0, "")
    evidence = max([*proven, *commits], default=0)
    if last.verdict == "bad" and last.seq > evidence:
        return "failure"
    if last.verdict == "good" and last.seq > max(failing, default=0):
        return "success"
    if failing:
        return "partial" if commits or proven else "failure"
    return "success" if evidence else "unknown"


def commits_of(attempts: Iterable[CallAttempt]) -> list[tuple[int, GitCommit]]:
    """Return the commits that were made, with the message that asked for them, in their order."""
    return [
        (attempt.asked, commit)
        for attempt in attempts
        if attempt.state in ("ok", "failed") and attempt.script
        for commit in reversed(find_commits(read_effects(attempt.call).git, attempt.output))
        if commit.made
    ]


def importance_of(attempts: Sequence[CallAttempt], fixed: int, bad: int, commits: int) -> float:
    """Rate an episode from 0 to 1 by its changes, resolved errors and corrections."""
    files = {path for attempt in attempts if attempt.state == "ok" for path in attempt.writes}
    parts = (
        0.2,
        0.05 * min(len(files), 4),
        0.1 * min(fixed, 2),
        0.15 * min(bad, 1),
        0.1 * min(commits, 1),
        0.05 * min(len(attempts) / 20, 1),
        0.1 * any(attempt.state == "refused" for attempt in attempts),
    )
    return round(min(sum(parts), 1.0), 3)


# ---------------------------------------------------------------- what the user said


def reaction_to_work(text: str) -> str:
    """Check whether a message of the user says that what was done is good or bad; "" for
    neither."""
    words = typed_words(text)
    if len(words) > LONGEST_REACTION:
        words = words[:LONGEST_REACTION].rpartition(".")[0]
    if re.search(_BAD, words):
        return "bad"
    if re.search(_GOOD, words):
        return "good"
    only_shown = not words and any(map(is_error_line, text.splitlines()[:40]))
    return "bad" if only_shown else ""


def typed_words(text: str) -> str:
    """Return the words that the user wrote, without what was pasted between them."""
    kept, at = [], 0
    for start, end in find_pasted(text):
        kept.append(text[at:start])
        at = end
    kept.append(text[at:])
    return " ".join(" ".join(kept).split())


_BAD = (
    r"(?i)\bstill (?:fail|broken|not|doesn't|does not|get|see|the same|wrong|happen|crash)"
    r"|\b(?:doesn't|does not|didn't|did not|isn't|not|don't) (?:seem to )?work"
    r"|\b(?:broke|broken|wrong|incorrect|useless|regress\w*)\b|\bsame (?:error|problem|issue)"
    r"|\bthat'?s not (?:what|right|it)|\brevert (?:it|this|that|your)|\bundo (?:it|this|that)"
    r"|\b(?:ci|tests?|build|lint|it|this|that) (?:(?:is|are|has|have) )?(?:now )?"
    r"fail(?:s|ed|ing)?\b|\bgetting (?:this|an|the|the same) error|\bnow i'?m getting\b"
    r"|\bno,? (?:that|this|it)\b|\bi lost\b"
)
_GOOD = (
    r"(?i)\b(?:thanks|thank you|thx|perfect|awesome|excellent|lgtm|well done|great (?:work|job)"
    r"|nice(?: work| job)?|works (?:now|great|fine|well|perfectly)|(?:it|that|this) works"
    r"|looks (?:good|great)|all good|ship it)\b|^(?:great|cool|good)\b[.!]?"
)
