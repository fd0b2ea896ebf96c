"""A person changes their mind: what they take back goes, and nothing beside it."""

from __future__ import annotations

from pathlib import Path

import pytest

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.interfaces.screens import results
from tests.conftest import Clock


class Person:
    """A person at an agent: each prompt goes through the hook and into the archive."""

    def __init__(self, memory: recollect.Recollect, root: Path, clock: Clock) -> None:
        self.memory, self.root, self.clock = memory, root, clock
        self.count = 0
        self.notice = ""

    def hook(self, event: str, session: str, **fields: str) -> str:
        """Send an event; return what the model is told, and keep the notice."""
        self.count += 1
        self.clock.advance(seconds=60)
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.root),
            "transcript_path": f"/home/dev/.claude/projects/p/{session}.jsonl",
            "prompt_id": f"p-{self.count}",
            **fields,
        }
        answer = answer_event(
            self.memory.context, registry.load_hooks("claude-code").parse(payload, {})
        )
        assert answer.trouble is None
        self.notice = answer.notice
        return answer.context

    def says(self, session: str, *prompts: str) -> str:
        """Send prompts; return what the model was told with the last one."""
        told = ""
        for prompt in prompts:
            told = self.hook("UserPromptSubmit", session, prompt=prompt)
            self.memory.record(f"claude-code.{session}", prompt, role="user")
        return told

    def starts(self, session: str) -> str:
        self.clock.advance(hours=1)
        return self.hook("SessionStart", session, source="startup")

    def texts(self, status: str = "") -> set[str]:
        return {one.text for one in self.memory.list(status=status)}

    def id_of(self, text: str) -> str:
        (id,) = [one.id for one in self.memory.list() if one.text == text]
        return id


@pytest.fixture
def person(mem: recollect.Recollect, project: Path, clock: Clock) -> Person:
    return Person(mem, project, clock)


FOUR = (
    "Never deploy on Fridays.",
    "Always keep commits small.",
    "We use Postgres for all services.",
    "The customer is called Acme Rockets. Remember that.",
)
CUSTOMER = "The customer is called Acme Rockets."


# ---------------------------------------------------------------- forget


def test_forgetting_a_text_leaves_what_other_messages_of_the_session_taught(
    person: Person,
) -> None:
    person.says("s1", *FOUR)
    planned = person.memory.memories.forget(text="Acme Rockets")
    assert planned.rows == {"memories": 1, "messages": 1}
    screen = results.SCREENS["forget"](planned).splitlines()
    assert all(line.endswith("(contains the text)") for line in screen[1:3])
    person.memory.memories.forget(text="Acme Rockets", yes=True)
    assert person.texts() == set(FOUR[:3])
    person.says("s2", FOUR[0])
    assert person.notice.startswith("Recollect noted a preference: “Never deploy on Fridays.”")


def test_forgetting_a_memory_leaves_its_neighbours(person: Person) -> None:
    person.says("s1", *FOUR[:3], "Never push to main. Always sign your commits with -s.")
    person.memory.memories.forget(person.id_of("Never push to main."), yes=True)
    assert person.texts() == {*FOUR[:3], "Always sign your commits with -s."}


def test_what_was_captured_only_from_a_forgotten_message_goes_and_the_preview_says_why(
    person: Person,
) -> None:
    person.says("s1", FOUR[0], f"{CUSTOMER} Always answer them within a day.", FOUR[1])
    planned = person.memory.memories.forget(text="Acme Rockets")
    why = "(derived only from session/claude-code.s1/messages/2)"
    assert [one for one in planned.examples if one.endswith(why)]
    person.memory.memories.forget(text="Acme Rockets", yes=True)
    assert person.texts() == set(FOUR[:2])


def test_what_was_said_in_another_message_too_stays(person: Person) -> None:
    person.says("s1", f"{CUSTOMER} {FOUR[0]}", FOUR[0])
    person.memory.memories.forget(text="Acme Rockets", yes=True)
    assert person.texts() == {FOUR[0]}


def test_what_was_derived_from_a_forgotten_memory_only_goes_with_it(
    mem: recollect.Recollect,
) -> None:
    first = mem.learn("the vault opens at dawn")
    mem.learn("somebody gets up early", evidence=[first.address])
    kept = mem.learn("the port is 5433", evidence=[first.address, mem.record("s", "5433").address])
    mem.memories.forget(first.id, yes=True)
    assert [one.id for one in mem.list()] == [kept.id]


# ---------------------------------------------------------------- learned again


def test_a_forgotten_rule_is_not_noted_and_the_notice_says_so(person: Person) -> None:
    person.says("s1", FOUR[0])
    person.memory.memories.forget(person.id_of(FOUR[0]), yes=True)
    person.says("s2", FOUR[0])
    assert "Recollect noted" not in person.notice
    assert "this was forgotten on 2026-" in person.notice
    assert "recollect learn --again" in person.notice
    assert person.texts() == set()


def test_a_person_learns_a_forgotten_text_again_on_purpose(person: Person) -> None:
    mem = person.memory
    mem.memories.forget(mem.learn(FOUR[0]).id, yes=True)
    assert mem.learn(FOUR[0], again=True).action == "created"
    assert mem.learn(FOUR[0]).action == "reinforced"


def test_an_agent_does_not_learn_a_forgotten_text_again(
    mem: recollect.Recollect, project: Path, environment: dict[str, str]
) -> None:
    mem.memories.forget(mem.learn(FOUR[0]).id, yes=True)
    with (
        recollect.open(project, environment=environment, origin="agent") as agent,
        pytest.raises(recollect.Refused),
    ):
        agent.learn(FOUR[0], again=True)


# ---------------------------------------------------------------- undo


def test_undo_of_a_hidden_memory_brings_it_back(mem: recollect.Recollect) -> None:
    one, other = mem.learn(FOUR[0]), mem.learn(FOUR[1])
    mem.memories.hide(one.id)
    mem.memories.hide(other.id)
    mem.store.undo(one.id)
    assert [memory.id for memory in mem.list()] == [one.id]


def test_one_undo_brings_back_what_a_session_taught_in_both_layers(person: Person) -> None:
    person.says("s1", FOUR[0], "Always answer me in English, in every project.")
    assert len(person.texts()) == 2
    person.memory.memories.retract("memory://session/claude-code.s1", yes=True)
    assert person.texts() == set()
    person.memory.store.undo()
    assert len(person.texts()) == 2
