"""`recollect eval`: recall on a real repository and recorded sessions."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

import recollect
from recollect import InvalidInput, Message, ToolCall
from recollect.agents.operations_import import Progress
from recollect.interfaces.screens.recall import render_evaluation
from tests.conftest import Clock

WORK = {
    "upload": "Retry uploads that time out",
    "login": "Lock accounts after failed logins",
    "report": "Sort monthly reports by customer",
}


def git(folder: Path, *words: str) -> str:
    done = subprocess.run(
        ["git", "-c", "user.name=t", "-c", "user.email=t@example.org", *words],
        cwd=folder,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.fixture
def history(project: Path, clock: Clock) -> Iterator[recollect.Recollect]:
    """Three sessions, each with a question, a change, a commit and an answer."""
    git(project, "init", "-q", "-b", "main")
    with recollect.open(project, clock=clock, origin="user") as memory:
        for name, subject in WORK.items():
            clock.advance(days=1)
            say = session_of(memory, name, clock)
            path = project / f"{name}.py"
            say(Message("user", f"The {name} is broken for large companies, please repair it"))
            path.write_text(f"{name} = 1\n")
            call(say, "Write", {"file_path": str(path), "content": name}, "written")
            git(project, "add", ".")
            call(say, "Bash", {"command": "git commit"}, git(project, "commit", "-m", subject))
            say(
                Message("assistant", f"I changed how the {name} module behaves; companies are fine")
            )
        yield memory


def session_of(memory: recollect.Recollect, name: str, clock: Clock):  # type: ignore[no-untyped-def]
    return lambda message: memory.record(name, message._replace(at=clock()))


def call(say, tool: str, arguments: dict[str, str], output: str) -> None:  # type: ignore[no-untyped-def]
    given = json.dumps(arguments)
    say(Message("assistant", calls=(ToolCall(f"{tool}-1", tool, given),)))
    say(Message("tool", output, call_id=f"{tool}-1"))


def test_every_source_of_the_history_is_asked(history: recollect.Recollect) -> None:
    history.learn("Reports of more than a thousand rows are split into several files by month")
    done = history.store.evaluate()
    lines = {line.source: line for line in done.lines if line.by == "words"}
    assert done.sessions == 3
    assert {name: line.questions for name, line in lines.items()} == {
        "commits": 3,
        "answers": 3,
        "files": 3,
        "memories": 1,
    }
    assert all(line.recall_5 <= line.recall_10 <= 1 for line in done.lines)
    assert lines["answers"].recall_10 == lines["files"].recall_10 == 1.0
    assert lines["memories"].mrr == 1.0
    ways = {(line.source, line.questions): set[str]() for line in done.lines}
    for line in done.lines:
        ways[line.source, line.questions].add(line.by)
    assert all(by == {"words", "words and meaning"} for by in ways.values())


def test_without_meaning_only_words_are_measured(history: recollect.Recollect) -> None:
    history.context.settings = history.settings._replace(embedder="off")
    assert {line.by for line in history.store.evaluate().lines} == {"words"}


def test_a_commit_is_not_found_by_the_messages_that_made_it(history: recollect.Recollect) -> None:
    """Only the commit's own output holds its words: without it nothing is left to find."""
    history.record("bare", Message("user", "Do it", at=1))
    made = "[main 1a2b3c4] Quantise wavelets polyphonically"
    call(lambda message: history.record("bare", message), "Bash", {"command": "git commit"}, made)
    history.record("other", Message("user", f"I saw it: {made}", at=1))
    done = history.store.evaluate(source=["commits"], missed=9)
    assert {line.questions for line in done.lines} == {4}
    assert [one.question for one in done.missed] == ["Quantise wavelets polyphonically"]
    assert done.missed[0].answers == ("bare",)


def test_a_question_asked_twice_is_not_its_own_answer(history: recollect.Recollect) -> None:
    asked = "Which zebra crossing do wavelets prefer on sundays?"
    for name in ("one", "two"):
        history.record(name, asked)
        history.record(name, "They take whatever is nearest, and nobody minds that.", "assistant")
    done = history.store.evaluate(source=["answers"], missed=9)
    assert asked in [one.question for one in done.missed]


def test_the_same_seed_asks_the_same(history: recollect.Recollect) -> None:
    assert history.store.evaluate(sample=1, seed=4) == history.store.evaluate(sample=1, seed=4)
    assert history.store.evaluate(sample=1).questions == 3


def test_a_sample_is_asked_unless_all_are_wanted_and_the_screen_says_so(
    history: recollect.Recollect,
) -> None:
    some = history.store.evaluate(sample=2)
    assert (some.questions, some.possible) == (6, 9)
    assert history.store.evaluate(sample=2, all=True).questions == 9
    shown = render_evaluation(some)
    assert shown.startswith("a sample of 6 of 9 questions from 3 sessions (--all asks every one)")
    assert "the share of the answers among the first five" in shown


def test_measuring_changes_nothing(history: recollect.Recollect) -> None:
    memory = history.learn("Uploads of more than twenty megabytes are refused by the proxy").memory
    history.store.evaluate()
    assert history.list()[0] == memory


def test_an_empty_history_is_reported(mem: recollect.Recollect) -> None:
    for _ in range(2):
        done = mem.store.evaluate()
        assert (done.questions, done.lines) == (0, ())
        assert "nothing to ask yet" in done.notes[0]
        mem.learn("short")


def test_one_session_is_not_asked_which_session_it_was(mem: recollect.Recollect) -> None:
    mem.record("s", "Why do large uploads fail in production?")
    mem.record("s", "The proxy refuses everything above twenty megabytes.", "assistant")
    done = mem.store.evaluate()
    assert {line.source for line in done.lines} == {"answers"}
    assert "when there are two" in done.notes[0]


@pytest.mark.parametrize("wrong", [{"source": ["weather"]}, {"sample": 0}, {"seed": -1}])
def test_invalid_options_are_refused(mem: recollect.Recollect, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        mem.store.evaluate(**wrong)  # type: ignore[arg-type]


def test_progress_is_reported_for_every_question(history: recollect.Recollect) -> None:
    heard: list[Progress] = []
    history.progress = heard.append
    history.store.evaluate()
    told = [(one.done, one.total) for one in heard if one.path == "questions"]
    total = told[-1][1]
    assert told == [(done, total) for done in range(1, total + 1)]


def test_the_table_is_shown_in_a_terminal(history: recollect.Recollect, project: Path) -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    run = [sys.executable, "-m", "recollect", "eval", "--project", str(project)]
    shown = subprocess.run(run, capture_output=True, text=True, env=environment, check=True).stdout
    assert shown.splitlines()[0] == "9 questions from 3 sessions"
    assert "RECALL@10" in shown
    found = subprocess.run(
        [*run, "--json"], capture_output=True, text=True, env=environment, check=True
    ).stdout
    assert json.loads(found)["lines"][0]["source"] == "commits"
