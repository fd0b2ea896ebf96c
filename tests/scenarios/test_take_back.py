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
    assert person.notice.startswith(f"Recollect knows this already, a rule: “{FOUR[0]}”")


def test_forgetting_a_memory_leaves_its_neighbours(person: Person) -> None:
    person.says("s1", *FOUR[:3], "Never push to main. Always sign your commits with -s.")
    person.memory.memories.forget(person.id_of("Never push to main."), yes=True)
    assert person.texts() == {*FOUR[:3], "Always sign your commits with -s."}


def test_what_was_captured_only_from_a_forgotten_message_goes_and_the_preview_says_why(
    person: Person,
) -> None:
    person.says("s1", FOUR[0], f"{CUSTOMER} Always answer customers within a day.", FOUR[1])
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
    assert "Recollect saved" not in person.notice
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


# ---------------------------------------------------------------- rules that change


def test_a_rule_that_names_the_old_one_takes_its_place_and_undo_brings_it_back(
    person: Person,
) -> None:
    person.says("s1", "Always use npm for installs.")
    old = person.id_of("Always use npm for installs.")
    person.says("s2", "From now on always use pnpm, not npm.")
    assert f"takes the place of {old}: Always use npm for installs." in person.notice
    assert person.texts() == {"From now on always use pnpm, not npm."}
    told = person.starts("s3")
    assert "pnpm" in told
    assert "Always use npm" not in told
    person.memory.store.undo(person.id_of("From now on always use pnpm, not npm."))
    assert person.texts() == {"Always use npm for installs."}


def test_of_two_rules_that_cannot_both_hold_the_newer_is_shown_and_review_asks(
    person: Person,
) -> None:
    old, new = "Always indent with 4 spaces.", "Never indent with spaces, always use tabs."
    person.says("s1", old)
    person.says("s2", new)
    assert person.id_of(old) in person.notice
    told = person.starts("s3")
    assert new in told
    assert old not in told
    (waiting,) = person.memory.memories.review()
    assert waiting.id == person.id_of(new)
    person.memory.memories.answer(waiting.id, "both")
    told = person.starts("s4")
    assert new in told
    assert old in told


@pytest.mark.parametrize(
    "withdrawal",
    [
        "You no longer need to run make lint before you commit.",
        "stop running make lint before commits",
        "You don't have to run make lint anymore.",
        "Forget the make lint rule.",
        "No longer run make lint before you commit, CI does that.",
        "Don't run make lint before commits any more.",
        "We don't need the make lint rule any more.",
        "forget what I said about make lint",
    ],
)
def test_a_rule_that_is_named_is_taken_back_with_a_notice_and_undo(
    person: Person, withdrawal: str
) -> None:
    rule = "From now on always run make lint before you commit."
    person.says("s1", rule, "Always run the unit tests before you push.")
    id = person.id_of(rule)
    person.says("s2", withdrawal)
    assert person.notice.endswith(f"(recollect undo {id})")
    assert f"took back a rule: “{rule}”" in person.notice
    assert rule not in person.starts("s3")
    person.memory.store.undo(id)
    assert rule in person.texts()


@pytest.mark.parametrize(
    ("rule", "withdrawal"),
    [
        ("I prefer answers in German.", "I no longer want answers in German."),
        ("Always answer me in German.", "I don't want you to answer in German any more."),
        ("Please always reply in German.", "You no longer need to reply in German."),
        ("I prefer short answers.", "I no longer prefer short answers"),
        ("Always reply in German.", "forget the German rule"),
    ],
)
def test_a_preference_for_all_projects_is_taken_back_in_the_users_own_words(
    person: Person, rule: str, withdrawal: str
) -> None:
    person.says("s1", rule)
    assert "for all your projects" in person.notice
    id = person.id_of(rule)
    person.says("s2", withdrawal)
    assert person.notice == f"Recollect took back a rule: “{rule}” (recollect undo {id})"
    assert person.texts() == set()
    assert rule not in person.starts("s3")
    assert person.texts("hidden") == {rule}
    person.memory.store.undo(id)
    assert rule in person.texts()


def test_a_rule_that_was_saved_for_all_projects_is_taken_back_from_any(person: Person) -> None:
    saved = person.memory.learn(
        "Always run make lint before you commit.", kind="preference", layer="user"
    )
    person.says("s1", "You no longer need to run make lint before you commit.")
    assert saved.id in person.notice
    assert person.texts() == set()


def test_a_sentence_that_takes_back_a_rule_of_the_other_space_is_not_saved_itself(
    person: Person,
) -> None:
    saved = person.memory.learn("Always write tests with mocks.", kind="preference", layer="user")
    person.says("s1", "We no longer want to write tests with mocks.")
    assert saved.id in person.notice
    assert person.texts() == set()


@pytest.mark.parametrize(
    "sentence",
    [
        "Don't run make lint any more tests than these.",
        "No longer is make lint run before you commit.",
        "You no longer need to run make lint, always run make check instead.",
        "Don't run make lint before commits.",
        "Don't run make lint any more, because this is a hotfix.",
        "Stop running make lint, we are in a hurry right now.",
        "Stop running make lint, it’s blocking the port.",
    ],
)
def test_a_rule_stays_unless_it_is_surely_taken_back(person: Person, sentence: str) -> None:
    rule = "From now on always run make lint before you commit."
    person.says("s1", rule)
    person.says("s2", sentence)
    assert rule in person.texts()


def test_what_takes_the_place_of_a_rule_that_is_taken_back_is_saved(person: Person) -> None:
    rule = "From now on always run make lint before you commit."
    instead = "Don't run make lint any more, we use make check."
    person.says("s1", rule)
    person.says("s2", instead)
    assert "takes the place of" in person.notice
    assert person.texts() == {instead}


def test_a_preference_that_takes_nothing_back_is_saved_as_one(person: Person) -> None:
    person.says("s1", "I no longer want long answers.")
    (kept,) = person.memory.list()
    assert (kept.kind, kept.layer, kept.text) == (
        "preference",
        "user",
        "I no longer want long answers.",
    )


@pytest.mark.parametrize(
    "other",
    [
        "Stop the dev server before you run make lint.",
        "You no longer need to commit.",
        "Forget the last commit, open the other one.",
        "You no longer need to run the old benchmark.",
        "Somebody wrote: you no longer need to run make lint before you commit.",
    ],
)
def test_a_sentence_that_does_not_name_the_rule_takes_nothing_back(
    person: Person, other: str
) -> None:
    rule = "Always run make lint before you commit."
    person.says("s1", rule)
    person.says("s2", other)
    assert rule in person.texts()


def test_a_prohibition_said_again_is_not_taken_back(person: Person) -> None:
    person.says("s1", "Never use exclamation marks in replies.")
    person.says("s2", "Stop using exclamation marks in replies.")
    assert "Never use exclamation marks in replies." in person.texts()


def test_a_rule_that_is_stated_after_it_was_taken_back_is_back(person: Person) -> None:
    rule = "Always run make lint before you commit."
    person.says("s1", rule, "You no longer need to run make lint before you commit.")
    person.says("s2", rule)
    assert person.texts() == {rule}


def test_a_rule_that_is_edited_so_that_both_hold_is_shown_again(person: Person) -> None:
    old, new = "Always indent with 4 spaces.", "Never indent with spaces, always use tabs."
    person.says("s1", old)
    person.says("s2", new)
    person.memory.memories.correct(person.id_of(old), text="YAML files have a final newline.")
    assert "YAML files have a final newline." in person.starts("s3")


def test_pasted_text_does_not_keep_a_rule_out_of_the_answer(person: Person) -> None:
    rule = "Always run make lint before you commit."
    person.says("s1", rule)
    told = person.says(
        "s2", "Summarize this email:\n\nHi all,\nnever run make lint before you commit.\nBest, Ann"
    )
    assert rule in told
    person.says("s3", "From the docs: you no longer need to run make lint before you commit.")
    assert rule in person.texts()


def test_work_at_hand_takes_no_rule_back(person: Person) -> None:
    rule = "Always add comments to every file."
    person.says("s1", rule)
    person.says("s2", "stop adding comments to this file")
    assert rule in person.texts()


# ---------------------------------------------------------------- facts that change


@pytest.mark.parametrize(
    "correction",
    [
        "No, the staging DB is called bar_stage",
        "the staging database is now bar_stage, no longer foo_stage",
        "Actually the staging DB is called bar_stage now.",
    ],
)
def test_a_corrected_fact_takes_the_place_of_the_old_one_at_once(
    person: Person, correction: str
) -> None:
    person.says("s1", "staging DB is called foo_stage")
    told = person.says("s2", correction)
    assert "takes the place of" in person.notice
    assert "is called foo_stage" not in told
    (text,) = person.texts()
    assert "bar_stage" in text


def test_a_fact_whose_value_is_named_as_gone_is_replaced_and_not_shown_again(
    person: Person,
) -> None:
    person.says("s1", "we store sessions in redis")
    told = person.says("s2", "we store sessions in postgres now, not in redis")
    assert "takes the place of" in person.notice
    assert "in redis" not in told
    assert person.texts() == {"we store sessions in postgres now, not in redis"}


def test_two_prohibitions_of_two_prompts_are_both_shown(person: Person) -> None:
    person.says("s1", "never deploy on Fridays")
    person.says("s2", "never deploy on Sundays")
    told = person.starts("s3")
    assert "Fridays" in told
    assert "Sundays" in told


# ---------------------------------------------------------------- one text, two kinds


def test_a_fact_with_the_text_of_a_rule_strengthens_the_rule(mem: recollect.Recollect) -> None:
    text = "Never edit files under email/mime, they are vendored."
    rule = mem.learn(text, kind="preference")
    again = mem.learn(text)
    assert (again.action, again.id) == ("reinforced", rule.id)
    assert len(mem.list()) == 1


def test_a_fact_of_the_user_confirms_the_rule_of_an_agent_and_keeps_its_kind(
    mem: recollect.Recollect, project: Path, environment: dict[str, str]
) -> None:
    text = "Amounts are stored in cents everywhere."
    with recollect.open(project, environment=environment, origin="agent") as agent:
        rule = agent.learn(text, kind="pattern")
    again = mem.learn(text)
    assert (again.action, again.memory.kind) == ("reinforced", "pattern")
    assert again.memory.root == rule.memory.root


def test_the_same_text_as_another_kind_of_rule_is_shown_as_similar(
    mem: recollect.Recollect,
) -> None:
    text = "Never edit files under email/mime, they are vendored."
    rule = mem.learn(text, kind="preference")
    other = mem.learn(text, kind="pitfall")
    assert (other.action, other.similar) == ("created", (rule.id,))


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


# ---------------------------------------------------------------- said again


def test_two_prompts_of_one_turn_of_codex_are_both_read_and_a_repeated_one_once(
    person: Person,
) -> None:
    def says(turn: str, prompt: str) -> str:
        payload = {
            "hook_event_name": "UserPromptSubmit",
            "session_id": "c1",
            "cwd": str(person.root),
            "turn_id": turn,
            "prompt": prompt,
        }
        event = registry.load_hooks("codex").parse(payload, {})
        return answer_event(person.memory.context, event).notice

    assert "Recollect saved" in says("t1", FOUR[0])
    assert "Recollect saved" in says("t1", FOUR[1])
    assert says("t1", FOUR[1]) == ""
    person.clock.advance(seconds=300)
    assert says("t1", FOUR[0]) == ""
    assert says("t2", FOUR[0]) == ""


def test_a_rule_stated_in_another_session_again_is_not_announced_as_new(person: Person) -> None:
    person.says("s1", FOUR[0])
    told = person.says("s2", "hello there", FOUR[0])
    assert person.notice.startswith(
        f"Recollect knows this already, a rule: “{FOUR[0]}” ({person.id_of(FOUR[0])}"
    )
    assert FOUR[0] not in told, "the prompt says it"
