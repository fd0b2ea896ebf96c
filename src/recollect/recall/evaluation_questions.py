"""Make evaluation questions with known answers from a history, without a model, and score rankings.

    commits    a commit's subject -> the sessions that it was made in
    answers    what a person asked -> what was said and done in reply
    files      a file's name -> the sessions that changed it
    memories   half of the words of a memory -> the memory

The messages that a question is made from are hidden from the search. Two sessions with the same
commit both count as answers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from hashlib import blake2b
from typing import NamedTuple

from ..actions.call_results import CallAttempt, list_attempts
from ..actions.command_output import find_commits
from ..text.messages import PlacedMessage, plain_text, range_address, strip_injected
from ..text.terms import is_content_word, query_terms

SOURCES = ("commits", "answers", "files", "memories")

LEAST_TERMS, MOST_TERMS = 3, 40
"""Fewer terms say too little (`go on`), more are a pasted text."""

LEAST_ANSWER = 40
"""Characters of an answer: fewer are `done.`"""

MOST_HOMES = 5
"""A question with more answering sessions than this has no clear answer."""

_HOUR = 3_600_000_000


class RepositoryCommit(NamedTuple):
    """A commit of the repository; `at` is in microseconds."""

    hash: str
    at: int
    subject: str
    files: tuple[str, ...]


class AnsweredQuestion(NamedTuple):
    """A question of the user, its number and time, and the last message of the reply; 0 if none."""

    asked: int
    text: str
    at: int
    end: int


class SessionHistory(NamedTuple):
    """The times of a session, its questions, commits and changed files."""

    session: str
    first: int
    last: int
    exchanges: tuple[AnsweredQuestion, ...]
    commits: Mapping[str, tuple[str, tuple[int, ...]]]
    """By the first seven digits of the hash: the subject, and the messages about making it."""
    files: Mapping[str, tuple[int, ...]]
    """Each changed file with the messages that changed it."""


class EvaluationQuestion(NamedTuple):
    """A question, its answers (sessions or records), and what is hidden from the search."""

    source: str
    text: str
    answers: frozenset[str]
    hidden: frozenset[tuple[str, int]] = frozenset()
    at: int = 0
    """The time of the question; 0 for now."""
    reply: tuple[str, int, int] = ("", 0, 0)
    """The session and messages, both ends included, that together are one answer."""


def collect_facts(session: str, messages: Sequence[PlacedMessage]) -> SessionHistory:
    """Collect times, questions, commits and changed files from a session's messages."""
    times = [one.message.at for one in messages if one.message.at] or [0]
    commits: dict[str, tuple[str, tuple[int, ...]]] = {}
    files: dict[str, tuple[int, ...]] = {}
    for attempt in list_attempts(messages):
        places = (attempt.asked, attempt.answered)
        for commit in _find_commits(attempt):
            _, known = commits.get(commit[0], ("", ()))
            commits[commit[0]] = (commit[1], (*known, *places))
        if attempt.state == "ok":
            for path in attempt.writes:
                files[path] = (*files.get(path, ()), *places)
    return SessionHistory(
        session=session,
        first=min(times),
        last=max(times),
        exchanges=tuple(_find_questions(messages)),
        commits=commits,
        files=files,
    )


def _find_commits(attempt: CallAttempt) -> Iterable[tuple[str, str]]:
    git = attempt.git
    found = find_commits(git, attempt.output) if git else []
    return [(commit.hash[:7], commit.subject) for commit in found if commit.made]


def _find_questions(messages: Sequence[PlacedMessage]) -> Iterable[AnsweredQuestion]:
    """Yield each question of the user with the last message before the next one."""
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
    """Check whether a text is a person's sentence; output of programs begins with a sign."""
    return (
        text[:1].isalnum()
        and LEAST_TERMS <= sum(map(is_content_word, query_terms(text))) <= MOST_TERMS
    )


# ---------------------------------------------------------------- the questions


def ask_commits(
    sessions: Sequence[SessionHistory], commits: Iterable[RepositoryCommit]
) -> list[EvaluationQuestion]:
    """Make questions of commit subjects.

    A commit was made in the sessions that report it, and in those active at that time that had
    changed one of its files.
    """
    made: dict[str, set[str]] = {}
    hidden: dict[str, set[tuple[str, int]]] = {}
    for one in sessions:
        for _, (subject, places) in one.commits.items():
            made.setdefault(subject, set()).add(one.session)
            hidden.setdefault(subject, set()).update(_hidden_messages(one, places))
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
    """Check whether one of the changed paths is one of a commit's files."""
    ends = tuple(f"/{name}" for name in files)
    return bool(ends) and any(f"/{path}".endswith(ends) for path in changed)


def ask_answers(sessions: Iterable[SessionHistory]) -> list[EvaluationQuestion]:
    """Make questions of what the user asked; the reply up to its last message is the answer."""
    return [
        EvaluationQuestion(
            source="answers",
            text=exchange.text,
            answers=frozenset([range_address(one.session, exchange.asked + 1, exchange.end)]),
            hidden=frozenset(_hidden_messages(one, (exchange.asked,))),
            at=exchange.at,
            reply=(one.session, exchange.asked + 1, exchange.end),
        )
        for one in sessions
        for exchange in one.exchanges
    ]


def ask_files(sessions: Iterable[SessionHistory]) -> list[EvaluationQuestion]:
    """Make questions of file names; the sessions that changed the file are the answers."""
    homes: dict[str, set[str]] = {}
    hidden: dict[str, set[tuple[str, int]]] = {}
    for one in sessions:
        for path, places in one.files.items():
            name = "/".join(path.replace("\\", "/").split("/")[-2:])
            homes.setdefault(name, set()).add(one.session)
            hidden.setdefault(name, set()).update(_hidden_messages(one, places))
    return [
        EvaluationQuestion("files", name, frozenset(found), frozenset(hidden[name]))
        for name, found in homes.items()
        if len(found) <= MOST_HOMES and query_terms(name)
    ]


def ask_memories(memories: Iterable[tuple[str, str]]) -> list[EvaluationQuestion]:
    """Make questions of every other content word of a memory, given by address and text."""
    found = []
    for address, text in memories:
        words = query_terms(text)
        if len(words) >= 2 * LEAST_TERMS:
            found.append(EvaluationQuestion("memories", " ".join(words[::2]), frozenset([address])))
    return found


def _hidden_messages(one: SessionHistory, places: Iterable[int]) -> list[tuple[str, int]]:
    return [(one.session, place) for place in places if place]


def sample_questions(
    questions: Sequence[EvaluationQuestion], count: int, seed: int
) -> list[EvaluationQuestion]:
    """Return `count` questions, the same for a seed, and mostly the same as the history grows."""

    def lot(asked: EvaluationQuestion) -> bytes:
        return blake2b(f"{seed} {asked.text}".encode(), digest_size=8).digest()

    return sorted(questions, key=lot)[:count]


# ---------------------------------------------------------------- the measures


class QuestionScore(NamedTuple):
    """The share of answers among the first five and ten hits, and the reciprocal rank."""

    recall_5: float
    recall_10: float
    reciprocal: float


def score_ranking(ranked: Iterable[str], answers: frozenset[str]) -> QuestionScore:
    """Score a ranking of sessions or records against the answers of a question."""
    found = list(dict.fromkeys(ranked))
    first = next((1 / place for place, one in enumerate(found, 1) if one in answers), 0.0)
    shares = [len(answers.intersection(found[:depth])) / len(answers) for depth in (5, 10)]
    return QuestionScore(shares[0], shares[1], first)
