"""Episodes: nothing is lost on the way through JSON, and sessions are told as they happened."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.core.episodes import Episode, build, from_json, to_json
from recollect.core.messages import Numbered
from recollect.core.outcomes import OUTCOMES, reaction_to_work
from recollect.errors import InvalidInput
from recollect.types import Message, Stored, ToolCall

from .records import EPISODE, NOW, Talk
from .sessions import sessions

law = settings(deadline=None, max_examples=150)


def only(talk: Talk, **fields: str) -> Episode:
    [episode] = build(talk.messages, **fields)
    return episode


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
        ({"outcome": "won"}, "episode.outcome", "none of success, failure, partial, unknown"),
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
def test_every_tool_call_is_in_exactly_one_episode(messages: list[Numbered]) -> None:
    episodes = build(messages, session="s")
    calls = [call for placed in messages for call in placed.message.calls]
    assert sum(len(episode.actions) for episode in episodes) == len(calls)


@law
@given(sessions())
def test_a_built_episode_survives_json_and_is_built_the_same_again(
    messages: list[Numbered],
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


# ---------------------------------------------------------------- errors and what resolved them

LINT = "src/a.ts:7:1: `total` is unused (noUnusedVariables)"


def test_an_error_is_paired_with_the_edit_that_resolved_it() -> None:
    talk = Talk().user("Add a total to the invoice").edit("/repo/src/a.ts", "", "let total = 0")
    talk.shell("npm run lint", LINT, 1).agent("The variable is not needed.")
    talk.edit("/repo/src/a.ts", "let total = 0\nreturn sum", "return sum").shell("npm run lint")
    episode = only(talk, cwd="/repo")
    [error] = episode.errors
    assert (error.type, error.message) == ("lint", LINT)
    assert error.resolution == "edited src/a.ts (removed `let total = 0`)"
    assert error.reason == "The variable is not needed."
    assert episode.outcome == "success"
    assert episode.artifacts == ("src/a.ts",)


def test_an_error_that_never_went_away_has_no_resolution() -> None:
    talk = Talk().user("Fix the tests").shell("pytest", "E  ValueError: no rows", 1)
    talk.edit("src/rows.py").shell("pytest", "E  ValueError: no rows", 1)
    episode = only(talk)
    assert [error.resolution for error in episode.errors] == [""]
    assert episode.resolved == ()
    assert episode.outcome == "failure"


def test_running_it_again_until_it_works_resolves_nothing() -> None:
    talk = (
        Talk()
        .user("Deploy")
        .shell("make deploy", "connect: timed out", 2)
        .shell("make deploy", "done")
    )
    assert only(talk).resolved == ()


def test_what_was_installed_in_between_is_the_resolution() -> None:
    talk = (
        Talk()
        .user("Run the report")
        .shell("python report.py", "ModuleNotFoundError: No module named 'yaml'", 1)
    )
    talk.shell("pip install pyyaml", "Successfully installed").shell("python report.py", "written")
    [error] = only(talk).resolved
    assert error.type == "missing module"
    assert error.resolution == "ran `pip install pyyaml`"


def test_a_command_that_was_called_wrongly_is_resolved_by_the_right_call() -> None:
    talk = (
        Talk()
        .user("Show the last change")
        .shell("git show --no-stat HEAD", "fatal: unrecognized argument: --no-stat", 128)
    )
    talk.shell("git show HEAD", "commit 1234567")
    [error] = only(talk).resolved
    assert (error.type, error.resolution) == ("usage", "ran `git show HEAD`")


def test_a_similar_command_much_later_is_another_command() -> None:
    talk = Talk().user("Clean up").shell("gh run list --status gone", "unknown flag: --status", 1)
    for number in range(9):
        talk.shell(f"git branch -D old-{number}", "Deleted")
    assert only(talk.shell("gh run list --limit 3", "none")).resolved == ()


def test_only_the_edits_that_have_to_do_with_an_error_are_named() -> None:
    talk = (
        Talk()
        .user("Add the users page")
        .shell("tsc -p .", "src/users.ts(3,5): error TS2304: Cannot find name 'Usr'.", 2)
    )
    talk.edit("docs/readme.md", "old words", "new words").edit(
        "src/users.ts", "let u: Usr", "let u: User"
    )
    talk.edit("src/theme.css", "red", "blue").shell("tsc -p .")
    [error] = only(talk).resolved
    assert error.type == "TypeScript compilation"
    assert error.resolution == "edited src/users.ts (`let u: Usr` → `let u: User`)"


def test_each_error_of_a_chain_is_resolved_by_what_lies_before_the_next() -> None:
    talk = Talk().user("Fix the build")
    talk.shell("go build ./...", "main.go:3:2: undefined: Foo", 1).edit("main.go", "Foo()", "Bar()")
    talk.shell("go build ./...", "util.go:9:1: undefined: Baz", 1).edit("util.go", "Baz()", "Qux()")
    talk.shell("go build ./...")
    assert [error.resolution for error in only(talk).errors] == [
        "edited main.go (`Foo()` → `Bar()`)",
        "edited util.go (`Baz()` → `Qux()`)",
    ]


def test_another_target_that_works_is_no_resolution() -> None:
    talk = (
        Talk()
        .user("Fix the parser")
        .shell("pytest tests/test_parser.py", "FAILED tests/test_parser.py::test_a", 1)
    )
    talk.edit("src/other.py").shell("pytest tests/test_other.py", "3 passed")
    assert only(talk).resolved == ()


def test_a_wider_run_of_the_same_check_is_a_resolution() -> None:
    talk = (
        Talk()
        .user("Fix the parser")
        .shell("pytest tests/test_parser.py", "FAILED tests/test_parser.py::test_a", 1)
    )
    talk.edit("src/parser.py").shell("pytest", "90 passed")
    assert len(only(talk).resolved) == 1


def test_a_test_that_was_meant_to_fail_is_no_error_to_learn_from() -> None:
    talk = (
        Talk()
        .user("Add a parser, tests first")
        .shell("pytest tests/test_parser.py", "E  ImportError: no parser", 1)
    )
    talk.agent("The tests fail as expected. Now the code.").edit(
        "src/parser.py", "", "def parse(): ..."
    )
    talk.shell("pytest tests/test_parser.py", "2 passed")
    assert only(talk).resolved == ()


def test_parallel_calls_do_not_resolve_each_other() -> None:
    talk = Talk().user("Check it all")
    calls = tuple(ToolCall(f"c{n}", "Bash", '{"command": "make check"}') for n in (1, 2))
    talk.add(Message("assistant", "", calls))
    talk.add(Message("tool", "Exit code 2\nmake: *** [check] Error 1", call_id="c1", is_error=True))
    talk.add(Message("tool", "fine", call_id="c2"))
    assert only(talk).resolved == ()


# ---------------------------------------------------------------- what is not an error


@pytest.mark.parametrize(
    ("name", "arguments", "output", "result"),
    [
        (
            "Bash",
            {"command": "npm test"},
            "The user doesn't want to proceed with this tool use.",
            "refused",
        ),
        (
            "Edit",
            {"file_path": "a.ts"},
            "<tool_use_error>Sibling tool call errored</tool_use_error>",
            "skipped",
        ),
        ("Bash", {"command": "grep -rn nowhere src"}, "Exit code 1", "missed"),
        ("Bash", {"command": "git branch | rg gone"}, "Exit code 1", "missed"),
        (
            "Read",
            {"file_path": "gone.ts"},
            "<tool_use_error>File does not exist.</tool_use_error>",
            "missed",
        ),
    ],
)
def test_refusals_and_searches_that_find_nothing_are_no_errors(
    name: str, arguments: dict[str, str], output: str, result: str
) -> None:
    episode = only(Talk().user("Look for it").call(name, arguments, output, error=True))
    assert episode.errors == ()
    assert [action.result for action in episode.actions] == [result]


def test_a_check_whose_status_a_pipe_swallowed_has_failed_all_the_same() -> None:
    talk = (
        Talk()
        .user("Run the tests")
        .shell("go test ./... 2>&1 | tail -5", "--- FAIL: TestSum (0.00s)\nFAIL")
    )
    episode = only(talk)
    assert [error.message for error in episode.errors] == ["--- FAIL: TestSum (0.00s)"]
    assert episode.outcome == "failure"


def test_a_log_line_about_a_failure_does_not_fail_a_run_that_ended_well() -> None:
    talk = (
        Talk()
        .user("Run the tests")
        .shell("bun run test", "[queue] Task 2 failed: retry\n 12 pass\n 0 fail")
    )
    assert only(talk).errors == ()


# ---------------------------------------------------------------- the agents' own shapes


@pytest.mark.parametrize(
    ("name", "arguments", "failure", "edit"),
    [
        (
            "Bash",
            {"command": "npm test"},
            ("Exit code 1\n✗ adds up", True),
            ("Edit", {"file_path": "sum.js", "old_string": "-", "new_string": "+"}),
        ),
        (
            "exec_command",
            {"cmd": "npm test"},
            ("Process exited with code 1\nOutput:\n✗ adds up", False),
            (
                "apply_patch",
                "*** Begin Patch\n*** Update File: sum.js\n-  a - b\n+  a + b\n*** End Patch",
            ),
        ),
        (
            "shell",
            {"command": ["bash", "-lc", "npm test"]},
            ('{"output": "✗ adds up", "metadata": {"exit_code": 1}}', False),
            (
                "apply_patch",
                {
                    "input": "*** Begin Patch\n*** Update File: sum.js\n-  a - b\n+  a + b\n*** End Patch"
                },
            ),
        ),
        (
            "run_shell_command",
            {"command": "npm test"},
            ("Output: ✗ adds up\nExit Code: 1", False),
            ("replace", {"file_path": "sum.js", "old_string": "-", "new_string": "+"}),
        ),
        (
            "bash",
            {"command": "npm test", "sessionId": "0"},
            ("✗ adds up\n<exited with exit code 1>", False),
            ("edit", {"path": "sum.js", "old_str": "-", "new_str": "+"}),
        ),
        (
            "bash",
            {"command": "npm test", "description": "tests"},
            ("✗ adds up", True),
            ("edit", {"filePath": "sum.js", "oldString": "-", "newString": "+"}),
        ),
        (
            "terminal_operations",
            {"operation": "exec", "command": "npm test"},
            ("✗ adds up", True),
            (
                "file_operations",
                {
                    "operation": "replace_string",
                    "path": "sum.js",
                    "old_string": "-",
                    "new_string": "+",
                },
            ),
        ),
    ],
    ids=["claude-code", "codex", "codex-shell", "gemini", "copilot", "opencode", "clio"],
)
def test_the_same_story_is_read_from_every_agent(
    name: str, arguments: dict[str, Any], failure: tuple[str, bool], edit: tuple[str, Any]
) -> None:
    talk = Talk().user("The sum is wrong, please fix it").call(name, arguments, *failure)
    talk.call(*edit, "Success").call(name, arguments, "1 passing")
    episode = only(talk)
    assert [action.result for action in episode.actions] == ["fail", "ok", "pass"]
    assert episode.artifacts == ("sum.js",)
    assert "edited sum.js" in episode.resolved[0].resolution
    assert episode.outcome == "success"


def test_a_command_in_the_background_ends_where_it_is_polled() -> None:
    talk = (
        Talk()
        .user("Run the tests")
        .call("exec_command", {"cmd": "make test"}, "Process running with session ID 41")
    )
    talk.call("write_stdin", {"session_id": 41}, "still going")
    talk.call(
        "write_stdin", {"session_id": 41}, "Process exited with code 2\nmake: *** [test] Error 1"
    )
    episode = only(talk)
    assert [action.result for action in episode.actions] == ["running", "running", "fail"]
    assert episode.actions[-1].target == "make test"


def test_an_agent_without_tool_calls_is_read_from_its_notices() -> None:
    talk = Talk().user("Sort the exports in index.ts").agent("Here is the block.")
    talk.host("The LLM did not conform to the edit format.\nTokens: 1.5k sent, 200 received.")
    talk.agent("Corrected.").host(
        "Applied edit to src\\index.ts\nCommit 9bb94e7 refactor: sort exports"
    )
    episode = only(talk)
    assert episode.artifacts == ("src/index.ts",)
    assert (episode.commit, episode.outcome, episode.tokens) == ("9bb94e7", "success", 1_700)
    assert (
        episode.resolved[0].resolution == "sent the edit of src/index.ts again with its exact text"
    )


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


def test_talk_without_work_makes_no_episode() -> None:
    assert build(Talk().user("What is a monad?").agent("A burrito.").messages) == []
    assert build([]) == []


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
