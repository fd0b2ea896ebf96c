"""Episodes: nothing is lost on the way through JSON, and sessions are told as they happened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.episodes.aging import Learning, learnings, plan_aging, synopsis_of
from recollect.episodes.records import build, from_json, to_json
from recollect.episodes.tasks import OUTCOMES, reaction_to_work
from recollect.errors import InvalidInput
from recollect.text.messages import NumberedMessage
from recollect.types.records import Message, Stored, ToolCall
from tests.builders import records as made
from tests.builders.records import DAY, EPISODE, NOW, Talk, only
from tests.builders.sessions import sessions

law = settings(deadline=None, max_examples=150)


# ---------------------------------------------------------------- as JSON


def test_the_example_of_the_format_loads_as_it_is_and_comes_back_equal() -> None:
    episode = from_json(EPISODE)
    assert episode.goal == "Implement POST /api/todos endpoint"
    assert episode.phase == "development"
    assert episode.constraints == ("No third-party deps", "< 200ms response")
    assert episode.at == 1_767_695_400_000_000
    assert [action.t for action in episode.actions] == [0, 5, 120, 140, 180]
    assert episode.actions[2].error == "missing return type"
    assert episode.errors[0].resolution == "Added explicit :void to route handler"
    assert episode.commit == "abc123"
    assert episode.extra == {}
    assert to_json(episode) == EPISODE


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=4), inner, max_size=3)
    ),
    max_leaves=6,
)
times = st.sampled_from(
    [
        "2026-01-06T10:30:00Z",
        "2026-01-06T10:30:00+00:00",
        "2026-01-06T12:30:00.250+02:00",
        "2026-01-06",
    ]
)
texts = st.lists(st.text(max_size=6), max_size=3)
numbers = st.integers() | st.floats(allow_nan=False)
steps = st.fixed_dictionaries(
    {},
    optional={
        "t": numbers,
        "action": st.text(),
        "target": st.text(),
        "result": st.text(),
        "odd": values,
    },
)
failures = st.fixed_dictionaries(
    {},
    optional={
        "type": st.text(),
        "message": st.text(),
        "resolution": st.none() | st.text(),
        "more": values,
    },
)
contexts = st.fixed_dictionaries(
    {},
    optional={"goal": st.text(), "constraints": texts, "files_involved": texts, "budget": values},
)
records = st.fixed_dictionaries(
    {},
    optional={
        "id": st.text(max_size=5),
        "timestamp": times,
        "duration_seconds": numbers,
        "context": contexts | st.none(),
        "action_log": st.lists(steps, max_size=3),
        "outcome": st.sampled_from(OUTCOMES),
        "errors_encountered": st.lists(failures, max_size=2),
        "artifacts_produced": texts,
        "git_commit": st.text(max_size=5) | st.none(),
        "tokens": st.integers(),
        "importance": numbers,
        "mood": values,
        "label": values,
    },
)


@law
@given(records)
def test_whatever_is_given_comes_back(given_: dict[str, Any]) -> None:
    assert to_json(from_json(given_)) == given_


@law
@given(records)
def test_what_came_back_is_read_the_same_again(given_: dict[str, Any]) -> None:
    once = from_json(given_, "agent")
    assert from_json(to_json(once), "agent") == once


def test_a_change_is_written_and_the_rest_stays_as_it_was_given() -> None:
    given_ = {
        **EPISODE,
        "timestamp": "2026-01-06T11:30:00+01:00",
        "git_commit": None,
        "mood": "good",
    }
    changed = from_json(given_)._replace(outcome="failure", commit="fed987")
    assert to_json(changed) == {**given_, "outcome": "failure", "git_commit": "fed987"}


def test_the_label_is_that_of_the_path_and_not_of_the_content() -> None:
    given_ = {"id": "e-1", "label": "user", "origin": "user"}
    assert from_json(given_).label == "import"
    assert from_json(given_, "agent").label == "agent"
    assert to_json(from_json(given_)) == given_


@pytest.mark.parametrize(
    ("given_", "place", "problem"),
    [
        ([], "episode", "a list"),
        ({"outcome": "won"}, "episode.outcome", "not one of success, failure, partial, unknown"),
        ({"timestamp": "noon"}, "episode.timestamp", "not a time"),
        ({"context": "do it"}, "episode", "context: expected an object"),
        ({"context": {"goal": 3}}, "episode.context.goal", "expected a text, found a number"),
        ({"action_log": {}}, "episode.action_log", "expected a list, found an object"),
        ({"action_log": [{"t": "0"}]}, "action_log.t", "expected a number, found a text"),
        ({"errors_encountered": [[]]}, "errors_encountered", "expected a JSON object"),
        ({"tokens": True}, "episode.tokens", "expected a whole number"),
    ],
)
def test_what_cannot_be_understood_is_refused_by_name(
    given_: Any, place: str, problem: str
) -> None:
    with pytest.raises(InvalidInput) as refused:
        from_json(given_)
    assert refused.value.where == place
    assert problem in refused.value.message


# ---------------------------------------------------------------- every call is accounted for


@law
@given(sessions())
def test_every_tool_call_is_in_exactly_one_episode(messages: list[NumberedMessage]) -> None:
    episodes = build(messages, session="s")
    calls = [call for placed in messages for call in placed.message.calls]
    assert sum(len(episode.actions) for episode in episodes) == len(calls)


@law
@given(sessions())
def test_a_built_episode_survives_json_and_is_built_the_same_again(
    messages: list[NumberedMessage],
) -> None:
    episodes = build(messages, session="s", agent="claude-code")
    for episode in episodes:
        assert from_json(to_json(episode), episode.label) == episode
        assert all(error.resolution or error not in episode.resolved for error in episode.errors)
    assert build([(one.seq, one.message) for one in messages], "s", "claude-code") == episodes


def test_calls_with_the_same_id_keep_their_own_results() -> None:
    talk = Talk().user("Fix the build")
    for command, output, wrong in (
        ("make a", "ok", False),
        ("make b", "make: *** [b] Error 1", True),
    ):
        talk.add(
            Message("assistant", "", (ToolCall("REDACTED", "Bash", f'{{"command": "{command}"}}'),))
        )
        talk.add(Message("tool", output, call_id="REDACTED", is_error=wrong))
    assert [action.result for action in only(talk).actions] == ["ok", "fail"]


# ---------------------------------------------------------------- how it ended


def test_a_commit_is_evidence_of_success_and_kept() -> None:
    talk = Talk().user("Rename the flag").edit("src/flags.py")
    talk.shell(
        'git commit -am "Rename the flag"', "[main 469cb2e] Rename the flag\n 1 file changed"
    )
    episode = only(talk)
    assert (episode.outcome, episode.commit) == ("success", "469cb2e")


def test_without_evidence_the_outcome_is_unknown_whatever_the_agent_says() -> None:
    talk = (
        Talk()
        .user("Rename the flag")
        .edit("src/flags.py")
        .agent("Done! Everything works perfectly.")
    )
    assert only(talk).outcome == "unknown"


@pytest.mark.parametrize(
    ("words", "outcome"),
    [
        ("thanks, that works!", "success"),
        ("it still fails with the same error", "failure"),
        ("that doesn't work", "failure"),
        ("what does the flag do?", "unknown"),
    ],
)
def test_the_user_has_the_last_word(words: str, outcome: str) -> None:
    assert only(Talk().user("Rename the flag").edit("src/flags.py").user(words)).outcome == outcome


def test_tests_that_pass_after_a_complaint_outweigh_it() -> None:
    talk = Talk().user("Rename the flag").edit("src/flags.py").user("it still fails")
    assert only(talk.edit("src/flags.py").shell("pytest", "9 passed")).outcome == "success"


def test_a_commit_over_failing_tests_is_a_part_of_the_way() -> None:
    talk = (
        Talk()
        .user("Rename the flag")
        .edit("src/flags.py")
        .shell("pytest", "FAILED test_flags.py::test_a", 1)
    )
    talk.shell("git commit -am wip", "[main 469cb2e] wip")
    assert only(talk).outcome == "partial"


@given(st.text())
def test_any_words_of_the_user_can_be_judged(words: str) -> None:
    assert reaction_to_work(words) in ("good", "bad", "")


# ---------------------------------------------------------------- where tasks begin


def test_another_request_is_another_episode_and_its_complaint_judges_the_one_before() -> None:
    talk = Talk().user("Add a dark theme to the settings page").edit("src/theme.css")
    talk.user("Write a migration that drops the legacy billing tables").edit("db/0007.sql")
    first, second = build(talk.messages, session="s")
    assert first.goal == "Add a dark theme to the settings page"
    assert second.goal == "Write a migration that drops the legacy billing tables"
    assert (first.sources, second.sources) == (
        ("memory://session/s/messages/1-3",),
        ("memory://session/s/messages/4-6",),
    )
    assert first.id != second.id


@pytest.mark.parametrize(
    "words",
    [
        "commit",
        "no, the dark theme must not change the sidebar of the settings page",
        "why is the contrast of the links so low here?",
    ],
)
def test_corrections_and_short_words_go_on_with_the_task(words: str) -> None:
    talk = Talk().user("Add a dark theme to the settings page").edit("src/theme.css")
    assert len(build(talk.user(words).edit("src/theme.css").messages)) == 1


def test_a_command_to_the_agents_program_is_no_goal() -> None:
    talk = Talk().user("/clear").host("cleared").user("Rename the flag of the exporter")
    assert only(talk.edit("src/flags.py")).goal == "Rename the flag of the exporter"
    assert only(Talk().user("/review 14").edit("src/a.py")).goal == "/review 14"
    assert only(Talk().user("/exit  ⎿  See ya!")).goal == "/exit ⎿ See ya!"


def test_talk_without_work_is_an_episode_without_actions() -> None:
    [episode] = build(Talk().user("What is a monad?").agent("A burrito.").messages, "s-1")
    assert (episode.goal, episode.outcome) == ("What is a monad?", "unknown")
    assert (episode.actions, episode.files, episode.errors) == ((), (), ())
    assert episode.sources == ("memory://session/s-1/messages/1-2",)


def test_a_session_in_which_nobody_said_anything_has_no_episode() -> None:
    assert build([NumberedMessage(1, Message("system", "the agent was started"))], "s-1") == []


def test_constraints_files_times_and_tokens_are_kept() -> None:
    talk = Talk().user("Add an export. You must not add third-party dependencies.")
    talk.call("Read", {"file_path": "/repo/src/export.py"}, "def export(): ...")
    talk.add(Message("assistant", "I see.", usage={"input_tokens": 900, "output_tokens": 100}))
    talk.edit("/repo/src/export.py").shell("echo x > /var/scratch.txt")
    episode = only(talk, session="s", agent="codex", cwd="/repo/")
    assert episode.constraints == ("You must not add third-party dependencies.",)
    assert episode.files == episode.artifacts == ("src/export.py",)
    assert (episode.tokens, episode.agent, episode.at) == (1_000, "codex", NOW + 1_000_000)
    assert episode.duration_seconds == 7
    assert 0 < episode.importance <= 1


def test_the_label_is_the_least_trusted_of_what_it_was_made_from() -> None:
    talk = Talk().user("Rename the flag").edit("src/flags.py")
    assert only(talk).label == "tool"
    stored = [Stored("s", one.seq, one.message, "import", "", "") for one in talk.messages]
    assert build(stored)[0].label == "import"


# ---------------------------------------------------------------- growing old


def test_episodes_are_whole_for_a_week_then_told_in_words_then_out_of_the_way() -> None:
    ages = {"e-1": 7, "e-2": 8, "e-3": 30, "e-4": 31, "e-5": 40, "e-6": 40}
    known = {"e-3": "short"}
    told = [
        (made.episode(id, "Tidy the attic", at=NOW - days * DAY), known.get(id, ""))
        for id, days in ages.items()
    ]
    assert [(one.id, one.status, one.reason) for one in plan_aging(told, {"e-5"}, NOW)] == [
        ("e-2", "active", "8 days old"),
        ("e-4", "hidden", "31 days old, and no memory refers to it"),
        ("e-5", "active", "40 days old"),
        ("e-6", "hidden", "40 days old, and no memory refers to it"),
    ]
    assert all(one.synopsis.startswith("Tidy the attic (") for one in plan_aging(told, (), NOW)[:1])


def test_a_synopsis_says_what_was_wanted_done_and_resolved() -> None:
    assert synopsis_of(from_json(EPISODE)).splitlines() == [
        "Implement POST /api/todos endpoint (success, 5 steps)",
        "Files: src/routes/todos.ts, tests/todos.test.ts",
        "TypeScript compilation: Missing return type annotation -> "
        "Added explicit :void to route handler",
        "Commit: abc123",
    ]


@law
@given(records)
def test_any_episode_has_a_short_synopsis(given_: dict[str, Any]) -> None:
    assert 0 < len(synopsis_of(from_json(given_))) <= 600


def test_the_errors_of_episodes_are_listed_by_day_the_newest_first() -> None:
    first = from_json(EPISODE)
    later = first._replace(id="e-2", at=first.at + DAY)
    [newest, oldest] = learnings([first, later, first._replace(errors=())])
    assert (newest.day, oldest.day) == ("2026-01-07", "2026-01-06")
    assert oldest.learnings == (
        Learning(
            "TypeScript compilation",
            "Missing return type annotation",
            "Added explicit :void to route handler",
            "ep-2026-01-06-001",
        ),
    )


def test_a_call_that_is_answered_after_the_next_task_began_has_its_outcome() -> None:
    edit = '{"file_path": "src/login.py", "old_string": "a", "new_string": "b"}'
    build_it = '{"command": "make build"}'
    messages = [
        Message("user", "Please rename the login button on the start page to sign in."),
        Message("assistant", "", (ToolCall("c1", "Edit", edit),)),
        Message("tool", "The file src/login.py has been updated.", call_id="c1"),
        Message("assistant", "", (ToolCall("c2", "Bash", build_it),)),
        Message("user", "Write a migration that adds a column for invoices to the archive table."),
        Message("tool", "built", call_id="c2"),
    ]
    first, _ = build(list(enumerate(messages, 1)), session="s")
    assert [one.result for one in first.actions] == ["ok", "pass"]
