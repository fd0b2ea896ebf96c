"""Measure recall on the user's own history: gather questions, ask them all, say what was found.

Nothing is written, and no recall is counted. `recall.evaluation_questions` decides
what can be asked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..memory import sql as memory_sql
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
"""Questions are made from so many sessions and memories, the newest; all are searched."""

DEPTH = 100
"""How many hits are asked for, so that ten sessions can be ranked from them."""

RANKED = 10
_PAGE = 1_000
_NOTHING = (
    "there is nothing to ask yet: questions come from recorded sessions and from memories "
    "(`recollect import` brings in the sessions of your agents)"
)

Ranker = Callable[[Sequence[Tx], steps.RecallQuestion, int], Recalled]
"""A way to answer a question at a time."""


class EvaluationOptions(NamedTuple):
    """How many questions of each source, which ones, and how many failures to show."""

    sample: int
    seed: int
    sources: tuple[str, ...]
    missed: int


class EvaluationLine(NamedTuple):
    """How well the questions of one source were answered by one way of searching."""

    source: str
    by: str
    questions: int
    recall_5: float
    recall_10: float
    mrr: float


class MissedQuestion(NamedTuple):
    """A question none of whose answers was among the first ten."""

    source: str
    question: str
    answers: tuple[str, ...]


class Evaluation(NamedTuple):
    """The measures, and how many sessions and questions they rest on."""

    sessions: int
    questions: int
    lines: tuple[EvaluationLine, ...]
    missed: tuple[MissedQuestion, ...]
    notes: tuple[str, ...]


class GatheredQuestions(NamedTuple):
    """The questions to ask, and what they were made from."""

    sessions: int
    asked: tuple[EvaluationQuestion, ...]
    notes: tuple[str, ...]


def gather_questions(
    tx: Tx, commits: Sequence[RepositoryCommit], wanted: EvaluationOptions
) -> GatheredQuestions:
    """The questions that this history has answers for, of each source as many as are wanted."""
    found = [_told(tx, session.id) for session in archive_sql.latest_sessions(tx, MOST_SESSIONS)]
    kept = [
        (memory.address, memory.text)
        for memory in memory_sql.list_open(tx, {}, MOST_MEMORIES)
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
    asked = [
        one
        for source in evaluation_questions.SOURCES
        if source in (wanted.sources or evaluation_questions.SOURCES)
        for one in evaluation_questions.sample_questions(
            made.get(source, []), wanted.sample, wanted.seed
        )
    ]
    return GatheredQuestions(len(found), tuple(asked), notes if asked else (_NOTHING,))


def empty_evaluation() -> Evaluation:
    """What is said where there is no history."""
    return Evaluation(0, 0, (), (), (_NOTHING,))


def _told(tx: Tx, session: str) -> SessionHistory:
    """A session with only what questions are made from: its texts are let go one by one."""
    return evaluation_questions.collect_facts(session, list(_messages(tx, session)))


def _messages(tx: Tx, session: str) -> Iterator[messages.NumberedMessage]:
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
    tell: Callable[[int], object] | None = None,
) -> Evaluation:
    """Put every question to every way of searching. The project's space comes first."""
    lines: list[EvaluationLine] = []
    missed: list[MissedQuestion] = []
    for source in dict.fromkeys(one.source for one in gathered.asked):
        asked = [one for one in gathered.asked if one.source == source]
        for by, ranker in rankers.items():
            found = []
            for one in asked:
                found.append(
                    evaluation_questions.score_ranking(_ranking(txs, one, ranker, now), one.answers)
                )
                if tell:
                    tell(1)
            lines.append(_line(source, by, found))
        missed += [
            MissedQuestion(source, one.text, tuple(sorted(one.answers)))
            for one, row in zip(asked, found, strict=True)
            if not row.reciprocal
        ]
    return Evaluation(
        gathered.sessions,
        len(gathered.asked),
        tuple(lines),
        tuple(missed[: wanted.missed]),
        gathered.notes,
    )


def _line(source: str, by: str, found: Sequence[QuestionScore]) -> EvaluationLine:
    means = [round(sum(column) / len(found), 4) for column in zip(*found, strict=True)]
    return EvaluationLine(source, by, len(found), *means)


def _ranking(txs: Sequence[Tx], asked: EvaluationQuestion, ranker: Ranker, now: int) -> list[str]:
    """The first ten sessions or records, without what the question was made from."""
    sources = () if asked.source == "memories" else ("message",)
    question = steps.RecallQuestion(asked.text, DEPTH, sources=sources, without=asked.hidden)
    whole = _plain(asked.text) if asked.source in ("commits", "answers") else ""
    ranked: dict[str, None] = {}
    for hit in ranker(txs, question, asked.at or now):
        if whole and _holds(txs[0], hit, whole):
            continue
        ranked[_name(asked, hit)] = None
        if len(ranked) == RANKED:
            break
    return list(ranked)


def _name(asked: EvaluationQuestion, hit: Hit) -> str:
    """What a hit stands for: a session, a reply as a whole, or itself."""
    if asked.source in ("commits", "files"):
        return hit.session
    session, first, last = asked.reply
    if session and hit.session == session and first <= _place(hit) <= last:
        return messages.range_address(session, first, last)
    return hit.address


def _place(hit: Hit) -> int:
    return int(hit.id.rpartition(":")[2])


def _holds(tx: Tx, hit: Hit, whole: str) -> bool:
    """Whether a message has the question in it word for word."""
    row = archive_sql.message(tx, hit.session, _place(hit))
    if row is None:
        return True
    return whole in _plain(
        messages.searchable_text(messages.message_from_body(json.loads(row.body)))
    )


def _plain(text: str) -> str:
    return " ".join(text.casefold().split())
