"""Measure recall on the user's own history: gather questions, ask them, report the results.

Nothing is written, and no recall is counted. `recall.evaluation_questions` makes the questions.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..memory import sql_lists as memory_sql_lists
from ..storage.database import Tx
from ..text import messages
from ..types.records import Hit, Recalled
from . import evaluation_questions, steps
from .evaluation_questions import (
    EvaluationQuestion,
    QuestionScore,
    RepositoryCommit,
    SessionHistory,
)

MOST_SESSIONS, MOST_MEMORIES = 500, 10_000
"""Questions are made from this many of the newest sessions and memories; all are searched."""

DEPTH, SESSIONS_DEPTH = 30, 60
"""Hits to ask for, so that ten different answers, or ten sessions, can be ranked from them."""

RANKED = 10
_PAGE = 1_000
_NOTHING = (
    "there is nothing to ask yet: questions come from recorded sessions and from memories "
    "(`recollect import` brings in the sessions of your agents)"
)

Ranker = Callable[[Sequence[Tx], steps.RecallQuestion, int], Recalled]
"""A function that answers a question at a time."""


class EvaluationOptions(NamedTuple):
    """The number of questions of each source (0 for all), the seed, the sources, and the failures
    to show."""

    sample: int
    seed: int
    sources: tuple[str, ...]
    missed: int


class EvaluationLine(NamedTuple):
    """How well one way of searching answered the questions of one source."""

    source: str
    by: str
    questions: int
    recall_5: float
    recall_10: float
    mrr: float


class MissedQuestion(NamedTuple):
    """A question without an answer among the first ten hits."""

    source: str
    question: str
    answers: tuple[str, ...]


class Evaluation(NamedTuple):
    """The results, and the number of sessions and questions behind them."""

    sessions: int
    questions: int
    lines: tuple[EvaluationLine, ...]
    missed: tuple[MissedQuestion, ...]
    notes: tuple[str, ...]
    possible: int = 0
    """The number of questions that this history has answers for."""
    unanswered: int = 0
    """The number of questions without an answer among the first ten hits of the last way."""


class GatheredQuestions(NamedTuple):
    """The questions to ask, how many there could be, and the number of sessions they were made
    from."""

    sessions: int
    asked: tuple[EvaluationQuestion, ...]
    notes: tuple[str, ...]
    possible: int


def gather_questions(
    tx: Tx, commits: Sequence[RepositoryCommit], wanted: EvaluationOptions
) -> GatheredQuestions:
    """Make the questions that this history has answers for, from each source up to the sample."""
    found = [
        _collect_session(tx, session.id)
        for session in archive_sql.latest_sessions(tx, MOST_SESSIONS)
    ]
    kept = [
        (memory.address, memory.text)
        for memory in memory_sql_lists.list_open(tx, {}, MOST_MEMORIES)
        if memory.status in ("active", "proposed")
    ]
    made: dict[str, list[EvaluationQuestion]] = {
        "answers": evaluation_questions.ask_answers(found),
        "memories": evaluation_questions.ask_memories(kept),
    }
    notes: tuple[str, ...] = ()
    if len(found) > 1:
        made["commits"] = evaluation_questions.ask_commits(found, commits)
        made["files"] = evaluation_questions.ask_files(found)
    elif found:
        notes = ("which session something was done in can be asked when there are two",)
    sources = [one for one in evaluation_questions.SOURCES if one in (wanted.sources or made)]
    asked = [
        one
        for source in sources
        for one in evaluation_questions.sample_questions(
            made.get(source, []), wanted.sample or len(made.get(source, [])), wanted.seed
        )
    ]
    return GatheredQuestions(
        sessions=len(found),
        asked=tuple(asked),
        notes=notes if asked else (_NOTHING,),
        possible=sum(len(made.get(source, ())) for source in sources),
    )


def empty_evaluation() -> Evaluation:
    """Return the result for an empty history."""
    return Evaluation(sessions=0, questions=0, lines=(), missed=(), notes=(_NOTHING,))


def _collect_session(tx: Tx, session: str) -> SessionHistory:
    """Collect the facts of a session; its texts are released one by one."""
    return evaluation_questions.collect_facts(session, list(_read_messages(tx, session)))


def _read_messages(tx: Tx, session: str) -> Iterator[messages.NumberedMessage]:
    first = 1
    while rows := archive_sql.messages(tx, session, first, first + _PAGE - 1, _PAGE):
        for row in rows:
            message = messages.message_from_body(json.loads(row.body))
            yield messages.NumberedMessage(row.seq, message._replace(at=row.at))
        first += _PAGE


def run_evaluation(
    txs: Sequence[Tx],
    gathered: GatheredQuestions,
    rankers: Mapping[str, Ranker],
    wanted: EvaluationOptions,
    now: int,
    report: Callable[[int], object] | None = None,
) -> Evaluation:
    """Ask every question with every ranker. The project's space comes first."""
    lines: list[EvaluationLine] = []
    missed: list[MissedQuestion] = []
    for source in dict.fromkeys(one.source for one in gathered.asked):
        asked = [one for one in gathered.asked if one.source == source]
        for by, ranker in rankers.items():
            found = []
            for one in asked:
                found.append(
                    evaluation_questions.score_ranking(
                        _rank_answers(txs, one, ranker, now), one.answers
                    )
                )
                if report:
                    report(1)
            lines.append(_summarise(source, by, found))
        missed += [
            MissedQuestion(source, one.text, tuple(sorted(one.answers)))
            for one, row in zip(asked, found, strict=True)
            if not row.reciprocal
        ]
    return Evaluation(
        sessions=gathered.sessions,
        questions=len(gathered.asked),
        lines=tuple(lines),
        missed=tuple(missed[: wanted.missed]),
        notes=gathered.notes,
        possible=gathered.possible,
        unanswered=len(missed),
    )


def _summarise(source: str, by: str, found: Sequence[QuestionScore]) -> EvaluationLine:
    means = [round(sum(column) / len(found), 4) for column in zip(*found, strict=True)]
    return EvaluationLine(source, by, len(found), *means)


def _rank_answers(
    txs: Sequence[Tx], asked: EvaluationQuestion, ranker: Ranker, now: int
) -> list[str]:
    """Return the first ten sessions or records, excluding the record the question was made from."""
    sources = () if asked.source == "memories" else ("message",)
    depth = SESSIONS_DEPTH if asked.source in ("commits", "files") else DEPTH
    question = steps.RecallQuestion(asked.text, depth, sources=sources, without=asked.hidden)
    whole = _normalise(asked.text) if asked.source in ("commits", "answers") else ""
    ranked: dict[str, None] = {}
    for hit in ranker(txs, question, asked.at or now):
        if whole and _contains_question(txs[0], hit, whole):
            continue
        ranked[_answer_of(asked, hit)] = None
        if len(ranked) == RANKED:
            break
    return list(ranked)


def _answer_of(asked: EvaluationQuestion, hit: Hit) -> str:
    """Return what a hit counts as: its session, a reply as a whole, or itself."""
    if asked.source in ("commits", "files"):
        return hit.session
    session, first, last = asked.reply
    if session and hit.session == session and first <= _message_number(hit) <= last:
        return messages.range_address(session, first, last)
    return hit.address


def _message_number(hit: Hit) -> int:
    return int(hit.id.rpartition(":")[2])


def _contains_question(tx: Tx, hit: Hit, whole: str) -> bool:
    """Check whether a message contains the question word for word."""
    row = archive_sql.message(tx, hit.session, _message_number(hit))
    if row is None:
        return True
    return whole in _normalise(
        messages.searchable_text(messages.message_from_body(json.loads(row.body)))
    )


def _normalise(text: str) -> str:
    return " ".join(text.casefold().split())
