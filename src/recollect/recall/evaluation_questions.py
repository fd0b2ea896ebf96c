"""Questions whose answers are known, out of what was said and done; no model takes part.

It decides what can be asked of a history, and how good a ranking of the answers is:

    commits    a commit's subject -> the sessions that it was made in
    answers    what a person asked -> what was said and done in reply
    files      a file's name -> the sessions that changed it
    memories   half of the words of a memory -> the memory

What a question is made from is hidden: it is neither an answer nor a rival, nor does it speak for
what stands beside it. Two sessions with the same commit both count. It does not know how anything
is searched.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_output import find_commits
from ..actions.tool_calls import read_effects
from ..text.messages import PlacedMessage, plain_text, range_address, strip_injected
from ..text.terms import is_content_word, query_terms

SOURCES = ("commits", "answers", "files", "memories")

LEAST_TERMS, MOST_TERMS = 3, 40
"""Fewer say too little to be asked (`go on`), more are a pasted text."""

LEAST_ANSWER = 40
"""Characters of an answer: less is `done.`"""

MOST_HOMES = 5
"""What was done in more sessions than this is a question without an answer."""

_HOUR = 3_600_000_000


class RepositoryCommit(NamedTuple):
    """A commit of the repository; `at` is in microseconds."""

    hash: str
    at: int
    subject: str
    files: tuple[str, ...]


class AnsweredQuestion(NamedTuple):
    """What a person asked, where and when, and where the reply ends; 0 if there was none."""

    asked: int
    text: str
    at: int
    end: int


class SessionHistory(NamedTuple):
    """What is known of one session: when it was, what it asked, committed and changed."""

    session: str
    first: int
    last: int
    exchanges: tuple[AnsweredQuestion, ...]
    commits: Mapping[str, tuple[str, tuple[int, ...]]]
    """By the first seven digits: the subject, and the messages that speak of making it."""
    files: Mapping[str, tuple[int, ...]]
    """Each changed file with the messages that changed it."""


class EvaluationQuestion(NamedTuple):
    """A question, what answers it (sessions or records), and what must not."""

    source: str
    text: str
    answers: frozenset[str]
    hidden: frozenset[tuple[str, int]] = frozenset()
    at: int = 0
    """When it was asked; 0 for now."""
    reply: tuple[str, int, int] = ("", 0, 0)
    """The session and messages, both ends included, that answer together as one."""


def collect_facts(session: str, messages: Sequence[PlacedMessage]) -> SessionHistory:
    """What a session's messages say of themselves."""
    times = [one.message.at for one in messages if one.message.at] or [0]
    commits: dict[str, tuple[str, tuple[int, ...]]] = {}
    files: dict[str, tuple[int, ...]] = {}
    for attempt in list_attempts(messages):
        places = (attempt.asked, attempt.answered)
        for commit in _commits(attempt):
            _, known = commits.get(commit[0], ("", ()))
            commits[commit[0]] = (commit[1], (*known, *places))
        if attempt.state == "ok":
            for path in attempt.writes:
                files[path] = (*files.get(path, ()), *places)
    return SessionHistory(
        session, min(times), max(times), tuple(_exchanges(messages)), commits, files
    )


def _commits(attempt: CallAttempt) -> Iterable[tuple[str, str]]:
    git = read_effects(attempt.call).git
    found = find_commits(git, attempt.output) if git else []
    return [(commit.hash[:7], commit.subject) for commit in found if commit.made]


def _exchanges(messages: Sequence[PlacedMessage]) -> Iterable[AnsweredQuestion]:
    """Each question of a person, with all that came before the next, if something was said."""
    asked: AnsweredQuestion | None = None
    for one in messages:
        if one.message.role == "user":
            if asked and asked.end:
                yield asked
            words = strip_injected(plain_text(one.message), "user").strip()
            asked = (
                AnsweredQuestion(one.seq, words, one.message.at, 0)
                if _can_be_asked(words)
                else None
            )
        elif (
            asked
            and one.message.role == "assistant"
            and len(plain_text(one.message)) >= LEAST_ANSWER
        ):
            asked = asked._replace(end=one.seq)
    if asked and asked.end:
        yield asked


def _can_be_asked(text: str) -> bool:
    """Whether it is somebody's sentence; what a program writes begins with a sign."""
    return (
        text[:1].isalnum()
        and LEAST_TERMS <= sum(map(is_content_word, query_terms(text))) <= MOST_TERMS
    )


# ---------------------------------------------------------------- the questions


def ask_commits(
    sessions: Sequence[SessionHistory], commits: Iterable[RepositoryCommit]
) -> list[EvaluationQuestion]:
    """The subject of a commit: it was made in the sessions that say so, and in those that were
    going on at that time and had changed one of its files."""
    made: dict[str, set[str]] = {}
    hidden: dict[str, set[tuple[str, int]]] = {}
    for one in sessions:
        for _, (subject, places) in one.commits.items():
            made.setdefault(subject, set()).add(one.session)
            hidden.setdefault(subject, set()).update(_messages(one, places))
    for commit in commits:
        for one in sessions:
            if one.first <= commit.at <= one.last + _HOUR and _touches(one.files, commit.files):
                made.setdefault(commit.subject, set()).add(one.session)
    return [
        EvaluationQuestion("commits", subject, frozenset(homes), frozenset(hidden.get(subject, ())))
        for subject, homes in made.items()
        if _can_be_asked(subject) and len(homes) <= MOST_HOMES
    ]


def _touches(changed: Iterable[str], files: Iterable[str]) -> bool:
    """Whether one of the changed paths is one of a commit's files."""
    ends = tuple(f"/{name}" for name in files)
    return bool(ends) and any(f"/{path}".endswith(ends) for path in changed)


def ask_answers(sessions: Iterable[SessionHistory]) -> list[EvaluationQuestion]:
    """What a person asked, when it was asked: everything up to the last word on it answers."""
    return [
        EvaluationQuestion(
            "answers",
            exchange.text,
            frozenset([range_address(one.session, exchange.asked + 1, exchange.end)]),
            frozenset(_messages(one, (exchange.asked,))),
            exchange.at,
            (one.session, exchange.asked + 1, exchange.end),
        )
        for one in sessions
        for exchange in one.exchanges
    ]


def ask_files(sessions: Iterable[SessionHistory]) -> list[EvaluationQuestion]:
    """The end of a file's path: the sessions that changed it, found by anything but the change."""
    homes: dict[str, set[str]] = {}
    hidden: dict[str, set[tuple[str, int]]] = {}
    for one in sessions:
        for path, places in one.files.items():
            name = "/".join(path.replace("\\", "/").split("/")[-2:])
            homes.setdefault(name, set()).add(one.session)
            hidden.setdefault(name, set()).update(_messages(one, places))
    return [
        EvaluationQuestion("files", name, frozenset(found), frozenset(hidden[name]))
        for name, found in homes.items()
        if len(found) <= MOST_HOMES and query_terms(name)
    ]


def ask_memories(memories: Iterable[tuple[str, str]]) -> list[EvaluationQuestion]:
    """Every other telling word of a memory, which is given by its address and its text."""
    found = []
    for address, text in memories:
        words = query_terms(text)
        if len(words) >= 2 * LEAST_TERMS:
            found.append(EvaluationQuestion("memories", " ".join(words[::2]), frozenset([address])))
    return found


def _messages(one: SessionHistory, places: Iterable[int]) -> list[tuple[str, int]]:
    return [(one.session, place) for place in places if place]


def sample_questions(
    questions: Sequence[EvaluationQuestion], count: int, seed: int
) -> list[EvaluationQuestion]:
    """So many of them, always the same for a seed, and mostly the same as the history grows."""

    def lot(asked: EvaluationQuestion) -> bytes:
        return blake2b(f"{seed} {asked.text}".encode(), digest_size=8).digest()

    return sorted(questions, key=lot)[:count]


# ---------------------------------------------------------------- the measures


class QuestionScore(NamedTuple):
    """How well one question was answered: the share of its answers among the first five and ten,
    and one by the place of the first."""

    recall_5: float
    recall_10: float
    reciprocal: float


def score_ranking(ranked: Iterable[str], answers: frozenset[str]) -> QuestionScore:
    """A ranking of sessions or records against what answers the question."""
    found = list(dict.fromkeys(ranked))
    first = next((1 / place for place, one in enumerate(found, 1) if one in answers), 0.0)
    shares = [len(answers.intersection(found[:depth])) / len(answers) for depth in (5, 10)]
    return QuestionScore(shares[0], shares[1], first)
