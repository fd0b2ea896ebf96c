"""Tasks of a session: where each begins, how it ended, and which phase of work its goal is in.

A request of the user begins a new task when work was done before it and it is about something else,
or when it comes after a long pause. Corrections, questions and short messages continue the task.

The outcome follows from evidence: checks that passed, commits, and the words of the user. Later
evidence outweighs earlier evidence, the user outweighs the checks, and without evidence the outcome
is unknown: an agent's own "done" counts for nothing.

Before a task, matches of three sources are blended by the phase: memories (semantic), episodes
(episodic) and procedures (skills). A match is a number from 0 to 1.
"""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Container, Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..actions.call_results import CallAttempt, Words
from ..actions.command_output import GitCommit, find_commits, is_error_line
from ..actions.command_words import is_check
from ..actions.tool_calls import find_notices
from ..capture.sentences import find_pasted
from ..errors import InvalidInput
from ..text.messages import PlacedMessage, plain_text
from ..text.terms import query_terms, stem_all

SHORT = 50
"""A message of fewer characters continues the task."""

NEW_WORDS = 0.7
"""A request with more than this share of new words is a new task."""

PAUSE = 6 * 3_600_000_000
"""After a longer pause the next request is a new task."""


class Span(NamedTuple):
    """The messages of a task, and the message of the user that came after it."""

    messages: tuple[PlacedMessage, ...]
    after: PlacedMessage | None


def task_spans(messages: Sequence[PlacedMessage]) -> list[Span]:
    """Return the tasks of a session: every message is in exactly one."""
    tasks = [_Task()]
    for placed in messages:
        if placed.message.role == "user" and tasks[-1].ends_before(placed):
            tasks.append(_Task())
        tasks[-1].add(placed)
    following = [task.messages[0] for task in tasks[1:]]
    pairs = zip(tasks, [*following, None], strict=True)
    return [Span(tuple(task.messages), after) for task, after in pairs if task.messages]


def attempts_in(span: Span, tried: Sequence[CallAttempt]) -> list[CallAttempt]:
    """Return those calls of a session that a task made."""
    first, last = span.messages[0].seq, span.messages[-1].seq
    return [one for one in tried if first <= one.asked <= last]


class _Task:
    """A task while it is read: its messages, and the words in them."""

    def __init__(self) -> None:
        self.messages: list[PlacedMessage] = []
        self._works = False
        self._words: set[str] = set()
        self._unread: list[str] = []
        self._answers: deque[str] = deque(maxlen=2)

    def add(self, placed: PlacedMessage) -> None:
        message = placed.message
        self.messages.append(placed)
        self._works = self._works or _works(placed)
        if message.role == "user":
            self._unread.append(plain_text(message)[:4_000])
        elif message.role == "assistant" and (answer := plain_text(message)):
            self._answers.append(answer[-3_000:])
        self._unread += [call.arguments[:400] for call in message.calls]

    def ends_before(self, placed: PlacedMessage) -> bool:
        """Check whether a message of the user begins another task."""
        words = typed_words(plain_text(placed.message))
        if not self._works or len(words) < SHORT or re.match(_GOES_ON, words):
            return False
        last = self.messages[-1].message.at
        if last and placed.message.at - last > PAUSE:
            return True
        # Split into words only here: few tasks come to this test.
        self._words.update(*map(_roots, self._unread))
        self._unread = []
        asked = _roots(words)
        new = asked - self._words
        return len(new.difference(*map(_roots, self._answers))) > NEW_WORDS * len(asked)


def _roots(text: str) -> set[str]:
    return set(stem_all(query_terms(text)))


def _works(placed: PlacedMessage) -> bool:
    """Check whether a message shows work: a call, or an agent's notice of an edit."""
    return bool(placed.message.calls) or any(one.kind != "tokens" for one in find_notices(placed))


_GOES_ON = (
    r"(?i)(?:ok(?:ay)?|yes|no|nope|yeah|sure|also|and|but|so|still|now|then|hmm+|sorry|wait|"
    r"actually|great|thanks|perfect|continue|instead|it|that|this|the (?:error|issue)|why|"
    r"what|how|can it|commit|push|remote:|error)\b"
    r"|(?:is|are|was|do|does|did|can|could|should|would|will) [^.?]{0,30}?"
    r"\b(?:this|it|that|these|those)\b"
)


# ---------------------------------------------------------------- phases


class Weights(NamedTuple):
    """The weights of the three sources; their sum is 1."""

    semantic: float
    episodic: float
    skills: float


DEFAULT = "implementation"

WEIGHTS: Mapping[str, Weights] = {
    # Known facts and earlier work help most.
    "exploration": Weights(0.5, 0.4, 0.1),
    "implementation": Weights(0.5, 0.3, 0.2),
    # The same error may have happened.
    "debugging": Weights(0.35, 0.5, 0.15),
    # Rules and conventions are typical of a review.
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
"""Words of a question: exploration, unless another word names a phase."""

_WORD = re.compile(r"[a-z]+(?:-[a-z]+)*")


@cache
def _phase_of_word() -> dict[str, str]:
    return {word: phase for phase, words in _SIGNS.items() for word in words.split()}


def phase_of(goal: str) -> str:
    """Return the phase that most words of a goal indicate; the first word breaks a tie."""
    words = _WORD.findall(goal.casefold())
    found = [phase for word in words if (phase := _phase_of_word().get(word, ""))]
    if not found:
        return DEFAULT if _QUESTIONS.isdisjoint(words) else "exploration"
    return max(_SIGNS, key=lambda phase: _votes(phase, found))


def _votes(phase: str, found: Sequence[str]) -> tuple[int, int]:
    return found.count(phase), -found.index(phase) if phase in found else -len(found)


def choose_phase(phase: str, goal: str = "") -> str:
    """Return the given phase, or else the one that the goal indicates."""
    if not phase:
        return phase_of(goal)
    if phase not in WEIGHTS:
        raise InvalidInput(
            f"{phase!r} is not a phase", where="phase", hint=f"one of: {', '.join(WEIGHTS)}"
        )
    return phase


_WORTH: Mapping[str, float] = {"success": 1.0, "partial": 0.7, "unknown": 0.6, "failure": 0.5}
"""The factor of an episode's match by its outcome: a success shows a way that works."""


class TaskMatch(NamedTuple):
    """A record that matches a task, its source (a field of `Weights`), its match, and the outcome
    of an episode."""

    id: str
    source: str
    match: float
    outcome: str = ""


def blend(matches: Sequence[TaskMatch], phase: str = DEFAULT) -> list[TaskMatch]:
    """Return the matches by their weight in a phase, best first; ties by id."""
    weights = WEIGHTS[phase]._asdict()

    def key(one: TaskMatch) -> tuple[float, str]:
        worth = weights[one.source] * _WORTH.get(one.outcome, 1.0)
        return -worth * max(0.0, min(one.match, 1.0)), one.id

    return sorted(matches, key=key)


# ---------------------------------------------------------------- outcomes


OUTCOMES = ("success", "failure", "partial", "unknown")
LONGEST_REACTION = 400


class Reaction(NamedTuple):
    """A verdict of the user on the work so far: good, bad, or "" for neither; `seq` is the
    message."""

    seq: int
    verdict: str


def outcome_of(
    attempts: Sequence[CallAttempt],
    reactions: Iterable[Reaction],
    committed: Iterable[int] = (),
    resolved: Container[int] = (),
) -> str:
    """Return the outcome of a task.

    committed: the numbers of messages that asked for a commit
    resolved: the numbers of messages with calls that failed and worked later
    """
    passing: dict[Words, tuple[int, bool]] = {}
    for attempt in attempts:
        if attempt.state == "ok" or (attempt.state == "failed" and attempt.asked not in resolved):
            for command in filter(is_check, attempt.commands):
                key = tuple(word for word in command[:3] if not word.startswith("-"))
                passing[key] = attempt.asked, attempt.state == "ok"
    failing = [at for at, good in passing.values() if not good]
    proven = [at for at, good in passing.values() if good]
    commits = list(committed)
    verdicts = [reaction for reaction in reactions if reaction.verdict]
    last = verdicts[-1] if verdicts else Reaction(0, "")
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
        for commit in reversed(find_commits(attempt.git, attempt.output))
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


# ---------------------------------------------------------------- reactions of the user


def reaction_to_work(text: str) -> str:
    """Return "good" or "bad" if a message of the user judges the work so, else ""."""
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
    """Return the words that the user typed, without pasted text."""
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
