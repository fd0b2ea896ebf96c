"""Captures on their way into the store: layers, revisions, repetition, undo."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from tests.builders.sessions import claude_code_folder

Talk = Callable[..., None]


@pytest.fixture
def talk(mem: recollect.Recollect, tmp_path: Path) -> Talk:
    """Has a transcript read in which the user says these messages."""
    read = 0

    def call(session: str, *texts: str) -> None:
        nonlocal read
        lines = []
        for number, text in enumerate(texts):
            read += 1
            record = {
                "type": "user",
                "uuid": f"u{read}",
                "parentUuid": None,
                "sessionId": session,
                "timestamp": f"2026-03-01T10:{read:02}:{number:02}.000Z",
                "message": {"role": "user", "content": text},
            }
            lines.append(json.dumps(record))
        path = claude_code_folder(tmp_path) / f"{session}.jsonl"
        path.write_text("\n".join(lines) + "\n")
        mem.import_transcripts(str(path))

    return call


def test_a_preference_about_the_person_goes_to_the_user_layer(
    mem: recollect.Recollect, talk: Talk
) -> None:
    talk("s1", "Please always respond in Thai.", "in src/api, never return bare lists")
    layers = {memory.text: memory.layer for memory in mem.captures.list()}
    assert layers == {
        "Please always respond in Thai.": "user",
        "in src/api, never return bare lists": "project",
    }
    scoped = next(memory for memory in mem.captures.list() if memory.layer == "project")
    assert scoped.scope == ("src/api/**",)


def test_both_layers_can_be_undone_and_other_memories_cannot(
    mem: recollect.Recollect, talk: Talk
) -> None:
    talk("s1", "Please always respond in Thai.", "never push to main")
    learned = mem.learn("The build uses make.", kind="fact")
    for memory in mem.captures.list():
        assert mem.captures.undo(memory.id).status == "hidden"
    assert mem.captures.list() == ()
    with pytest.raises(recollect.NotFound):
        mem.captures.undo(learned.id)


def test_an_instruction_of_two_sessions_is_captured_with_both_quotes(
    mem: recollect.Recollect, talk: Talk
) -> None:
    talk("s1", "we need to get back to main, and pull in latest", "please get back to main")
    assert mem.captures.list() == ()
    talk("s2", "ok please get back to main")
    (habit,) = mem.captures.list()
    assert habit.text == "we need to get back to main, and pull in latest"
    assert (habit.kind, habit.label, habit.status) == ("preference", "user", "active")
    assert set(habit.evidence) == {
        "memory://session/claude-code.s1",
        "memory://session/claude-code.s2",
    }
    assert len(habit.detail["quotes"]) == 2
    talk("s3", "please get back to main")
    (again,) = mem.captures.list()
    assert again.id == habit.id and again.reinforcement > habit.reinforcement
    assert "memory://session/claude-code.s3" in again.evidence


@pytest.mark.parametrize(
    "asked",
    [
        "bring it up to date with upstream, the merge is blocked",
        "address the reviewer comment on pr 175 of the gateway",
        "log a reminder for SEC-02 in the audit notes",
    ],
)
def test_a_request_about_one_occasion_is_no_habit(
    mem: recollect.Recollect, talk: Talk, asked: str
) -> None:
    talk("s1", asked)
    talk("s2", asked)
    assert mem.captures.list() == ()


def test_a_repeated_request_is_kept_as_an_order(mem: recollect.Recollect, talk: Talk) -> None:
    talk("s1", "can you also translate the release notes into French")
    talk("s2", "can you translate the release notes into French")
    (habit,) = mem.captures.list()
    assert habit.text == "translate the release notes into French"


def test_taken_back_a_habit_does_not_return_by_itself(mem: recollect.Recollect, talk: Talk) -> None:
    talk("s1", "please get back to main")
    talk("s2", "please get back to main")
    (habit,) = mem.captures.list()
    mem.captures.undo(habit.id)
    talk("s3", "please get back to main")
    assert mem.captures.list() == ()


def test_a_rule_said_again_in_other_words_gains_a_quote(
    mem: recollect.Recollect, talk: Talk
) -> None:
    talk("s1", "dont forget to branch off main and not the current branch")
    talk("s2", "please branch off main, not off the current branch")
    rules = [item for item in mem.captures.list() if item.detail["captured"] == "remember"]
    assert set(rules[0].evidence) == {
        "memory://session/claude-code.s1",
        "memory://session/claude-code.s2",
    }


def test_remember_this_keeps_the_message_before(mem: recollect.Recollect, talk: Talk) -> None:
    talk("s1", "the staging box reboots at three", "please remember this for next time")
    (kept,) = mem.captures.list()
    assert (kept.text, kept.kind, kept.priority) == (
        "the staging box reboots at three",
        "fact",
        "high",
    )


def test_the_opposite_of_a_captured_rule_is_linked_to_it(
    mem: recollect.Recollect, talk: Talk
) -> None:
    talk("s1", "always use tabs for indentation in this repo")
    talk("s2", "never use tabs for indentation in this repo")
    found = mem.recall("tabs for indentation")
    assert any("contradicts" in hit.why for hit in found)


@pytest.mark.parametrize("command", ["undo", "capture undo"])
def test_undoing_a_captured_correction_brings_back_the_rule_before(
    mem: recollect.Recollect, talk: Talk, command: str
) -> None:
    talk("s1", "Always use port 8080 for the API server")
    (old,) = mem.captures.list()
    talk("s2", "Always use port 9090 for the API server")
    (new,) = [one for one in mem.captures.list() if "9090" in one.text]
    undo = mem.store.undo if command == "undo" else mem.captures.undo
    undo(new.id)
    assert old.id in [one.id for one in mem.captures.list()]
    assert new.id not in [one.id for one in mem.list()]
