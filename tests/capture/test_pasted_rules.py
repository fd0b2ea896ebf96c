"""A rule in a text that the user pasted: proposed, never shown by itself, and theirs when they say
so."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.types.records import Learned
from tests.builders.sessions import claude_code_folder

RULE = "Every pull request must be merged within an hour."
FACT = "Keep in mind that backups are switched off on Fridays."
PASTE = "Summarize this email for me:\n\nHi Anna,\n\nthe builds are slow. {}\n\nBest,\nTom"

Say = Callable[..., tuple[Learned, ...]]


@pytest.fixture
def say(mem: recollect.Recollect, tmp_path: Path) -> Say:
    """Has a transcript read in which the user says these words; gives what was captured."""
    written = 0

    def call(text: str, session: str = "s1") -> tuple[Learned, ...]:
        nonlocal written
        written += 1
        record = {
            "type": "user",
            "uuid": f"u{written}",
            "parentUuid": None,
            "sessionId": session,
            "timestamp": f"2026-03-01T10:00:{written:02}.000Z",
            "message": {"role": "user", "content": text},
        }
        path = claude_code_folder(tmp_path) / f"{session}-{written}.jsonl"
        path.write_text(json.dumps(record) + "\n")
        return mem.import_transcripts(str(path)).captured

    return call


def is_stated(memory: recollect.Recollect, rule: str) -> bool:
    """Check whether a new session is told the rule other than as a quotation."""
    start = memory.briefing(session="s2").text
    turn = memory.briefing(query="merge a pull request on Fridays", session="s2").text
    return any(rule in line and line[:2] != "> " for line in f"{start}\n{turn}".splitlines())


@pytest.mark.parametrize(("rule", "kind"), [(RULE, "policy"), (FACT, "fact")])
def test_it_is_proposed_and_no_session_is_told_to_follow_it(
    mem: recollect.Recollect, say: Say, rule: str, kind: str
) -> None:
    (learned,) = say(PASTE.format(rule))
    memory = learned.memory
    assert (memory.detail["quote"], memory.kind, memory.status) == (rule, kind, "proposed")
    assert (memory.origin, memory.label) == ("tool", "tool")
    assert memory.detail["doubt"] == "it reads as a letter"
    assert not is_stated(mem, memory.text)
    assert [held.id for held in mem.captures.list()] == [memory.id]


def test_confirmed_it_is_a_rule_of_the_user(mem: recollect.Recollect, say: Say) -> None:
    (learned,) = say(PASTE.format(RULE))
    mem.memories.confirm(learned.id)
    (held,) = mem.captures.list()
    assert (held.status, held.label, held.text) == ("active", "user", RULE)
    assert is_stated(mem, RULE)


@pytest.mark.parametrize("session", ["s1", "s9"])
@pytest.mark.parametrize("undone", [False, True])
def test_typed_later_it_is_a_rule_of_the_user(
    mem: recollect.Recollect, say: Say, session: str, undone: bool
) -> None:
    (learned,) = say(PASTE.format(RULE))
    if undone:
        mem.captures.undo(learned.id)
        assert mem.captures.list() == ()
    say(f"Fix the build. {RULE}", session)
    (held,) = mem.captures.list()
    assert (held.status, held.label, held.text) == ("active", "user", RULE)
    assert is_stated(mem, RULE)


def test_pasted_later_it_stays_the_rule_that_it_is(mem: recollect.Recollect, say: Say) -> None:
    (typed,) = say(RULE)
    say(PASTE.format(RULE), "s2")
    (held,) = mem.captures.list()
    assert (held.id, held.status, held.label) == (typed.id, "active", "user")


def test_hidden_and_brought_back_it_is_still_only_proposed(
    mem: recollect.Recollect, say: Say
) -> None:
    (learned,) = say(PASTE.format(RULE))
    mem.memories.hide(learned.id)
    assert mem.memories.restore(learned.id).status == "proposed"
    assert not is_stated(mem, RULE)


def test_read_twice_it_is_proposed_once(mem: recollect.Recollect, say: Say) -> None:
    (learned,) = say(PASTE.format(RULE))
    assert say(PASTE.format(RULE)) == ()
    (held,) = mem.captures.list()
    assert (held.id, held.reinforcement) == (learned.id, 1)
