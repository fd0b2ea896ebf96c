"""Evaluation questions: which are asked, and what must not count as an answer."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.recall import evaluation_questions
from recollect.recall.evaluation_questions import EvaluationQuestion, RepositoryCommit
from recollect.text.messages import NumberedMessage
from recollect.types.records import Message, ToolCall

HOUR = 3_600_000_000


def shell(number: int, command: str, output: str, at: int = HOUR) -> list[Message]:
    call = ToolCall(f"c{number}", "Bash", json.dumps({"command": command}))
    return [
        Message("assistant", calls=(call,), at=at),
        Message("tool", output, call_id=f"c{number}", at=at),
    ]


def write(number: int, path: str, at: int = HOUR) -> list[Message]:
    call = ToolCall(f"w{number}", "Write", json.dumps({"file_path": path, "content": "x"}))
    return [
        Message("assistant", calls=(call,), at=at),
        Message("tool", "written", call_id=f"w{number}", at=at),
    ]


def session(name: str, *messages: Message) -> evaluation_questions.SessionHistory:
    return evaluation_questions.collect_facts(
        name, [NumberedMessage(seq, one) for seq, one in enumerate(messages, 1)]
    )


COMMITTED = shell(
    1, "git commit -m 'Retry uploads that time out'", "[main 1a2b3c4] Retry uploads that time out"
)


def test_a_commit_was_made_in_the_session_that_says_so_and_its_messages_are_hidden() -> None:
    told = session("s", Message("user", "Why do uploads fail?", at=HOUR), *COMMITTED)
    (asked,) = evaluation_questions.ask_commits([told], [])
    assert asked == EvaluationQuestion(
        "commits", "Retry uploads that time out", frozenset(["s"]), frozenset([("s", 2), ("s", 3)])
    )


def test_a_commit_belongs_to_the_session_that_was_changing_its_files_at_that_time() -> None:
    then = session("then", *write(1, "/home/me/app/src/upload.py"))
    later = session("later", *write(1, "/home/me/app/src/upload.py", at=9 * HOUR))
    other = session("other", *write(1, "/home/me/app/src/my_upload.py"))
    commit = RepositoryCommit("f" * 40, HOUR + 5, "Retry uploads that time out", ("src/upload.py",))
    (asked,) = evaluation_questions.ask_commits([then, later, other], [commit])
    assert asked.answers == {"then"}


@pytest.mark.parametrize("subject", ["wip", "Update it", "Merge"])
def test_a_subject_that_says_nothing_is_not_asked(subject: str) -> None:
    told = session("s", *shell(1, "git commit", f"[main 1a2b3c4] {subject}"))
    assert evaluation_questions.ask_commits([told], []) == []


def test_a_commit_that_was_only_listed_was_not_made_there() -> None:
    told = session("s", *shell(1, "git log --oneline", "1a2b3c4 Retry uploads that time out"))
    assert evaluation_questions.ask_commits([told], []) == []


def test_the_answer_to_a_question_is_what_was_said_and_done_before_the_next() -> None:
    told = session(
        "s",
        Message("user", "Why do large uploads fail in production?", at=7),
        Message("assistant", "I look at the logs of the proxy first, then at the server."),
        *shell(1, "tail log", "413"),
        Message("assistant", "The proxy refuses everything above twenty megabytes."),
        Message("assistant", "Done."),
        Message("user", "thanks"),
        Message("assistant", "You are welcome; tell me if it happens again, please."),
    )
    (asked,) = evaluation_questions.ask_answers([told])
    assert asked.text == "Why do large uploads fail in production?"
    assert asked.answers == {"memory://session/s/messages/2-5"}
    assert asked.reply == ("s", 2, 5)
    assert asked.hidden == {("s", 1)}
    assert asked.at == 7


@pytest.mark.parametrize(
    "text", ["go on", "What's this?", "<command>fix the upload of files</command>", "word " * 3, ""]
)
def test_a_text_that_is_no_question_is_not_asked(text: str) -> None:
    told = session("s", Message("user", text), Message("assistant", "a long answer " * 9))
    assert evaluation_questions.ask_answers([told]) == []


def test_a_question_without_an_answer_is_not_asked() -> None:
    assert (
        evaluation_questions.ask_answers(
            [session("s", Message("user", "Why do uploads fail here?"))]
        )
        == []
    )


def test_a_file_is_looked_for_in_the_sessions_that_changed_it_but_not_by_the_change() -> None:
    told = session("s", Message("user", "todo routes"), *write(1, "/a/src/routes/todos.ts"))
    failed = session(
        "t",
        Message("assistant", calls=(ToolCall("w", "Write", '{"file_path": "src/routes/x.ts"}'),)),
        Message("tool", "no such directory", call_id="w", is_error=True),
    )
    (asked,) = evaluation_questions.ask_files([told, failed])
    assert asked.text == "routes/todos.ts"
    assert asked.answers == {"s"}
    assert asked.hidden == {("s", 2), ("s", 3)}


def test_a_file_changed_in_many_sessions_is_not_asked() -> None:
    sessions = [session(f"s{n}", *write(1, "CHANGELOG.md")) for n in range(6)]
    assert evaluation_questions.ask_files(sessions) == []
    assert len(evaluation_questions.ask_files(sessions[:5])) == 1


def test_half_of_the_words_of_a_memory_are_asked() -> None:
    kept = [("memory://m-1", "Integration tests need Redis on port 6380 and a clean database")]
    (asked,) = evaluation_questions.ask_memories(kept)
    assert asked.text == "integration need port clean"
    assert asked.answers == {"memory://m-1"}
    assert evaluation_questions.ask_memories([("memory://m-2", "Use tabs")]) == []


@given(st.lists(st.text(min_size=1), unique=True), st.integers(0, 9), st.integers(0, 9))
def test_a_sample_is_the_same_again_whatever_the_order(
    texts: list[str], count: int, seed: int
) -> None:
    every = [EvaluationQuestion("answers", text, frozenset("a")) for text in texts]
    chosen = evaluation_questions.sample_questions(every, count, seed)
    assert len(chosen) == min(count, len(every))
    assert chosen == evaluation_questions.sample_questions(every[::-1], count, seed)


def test_measures_count_what_is_found() -> None:
    ranked = [*"xxab", *map(str, range(7)), "c"]
    assert evaluation_questions.score_ranking(ranked, frozenset("a")) == (1.0, 1.0, 1 / 2)
    assert evaluation_questions.score_ranking(ranked, frozenset("bc")) == (0.5, 0.5, 1 / 3)
    assert evaluation_questions.score_ranking(ranked, frozenset("5")) == (0.0, 1.0, 1 / 9)
    assert evaluation_questions.score_ranking([], frozenset("a")) == (0.0, 0.0, 0.0)
