"""Errors of sessions: what resolved them, what is none, and that every agent's shapes are read."""

from __future__ import annotations

from typing import Any

import pytest

from recollect.types.records import Message, ToolCall
from tests.builders.records import Talk, only

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


REFUSED = "E   redis.exceptions.ConnectionError: localhost:6380. Connection refused."


def test_a_service_that_was_started_in_between_is_the_resolution() -> None:
    talk = Talk().user("Why do they hang?").shell("pytest -q tests/integration", REFUSED, 1)
    talk.shell("cat Makefile", "redis-test:").shell("make redis-test", "started")
    talk.shell("pytest -q tests/integration", "12 passed")
    [error] = only(talk).resolved
    assert error.resolution == "ran `make redis-test`"


@pytest.mark.parametrize(
    "between",
    ["git status", "sleep 5", "redis-cli ping", "pytest -q tests/unit", "make lint", "echo hi"],
)
def test_what_starts_no_service_resolves_no_refused_connection(between: str) -> None:
    talk = Talk().user("Run them").shell("pytest -q tests/integration", REFUSED, 1)
    talk.shell(between).shell("pytest -q tests/integration", "12 passed")
    assert only(talk).resolved == ()


def test_a_line_of_options_alone_is_no_check() -> None:
    talk = Talk().user("Run them").shell("pytest -q", "E   ValueError: no rows", 1)
    talk.shell("--maxfail 2; -x > log").shell("pytest -q", "12 passed")
    assert only(talk).outcome == "success"


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


TESTS_FAIL = "FAIL src/a.test.ts\n1 failed"


def test_a_check_of_which_only_the_beginning_is_shown_proves_nothing() -> None:
    talk = Talk().user("Make the tests pass").shell("npx vitest", TESTS_FAIL, 1).edit("src/a.ts")
    shown = "\n".join(f"test {number} …" for number in range(20))
    cut = talk.shell("npx vitest 2>&1 | head -20", shown)
    assert only(cut).resolved == ()
    whole = cut.shell("npx vitest 2>&1 | head -50", shown)
    assert len(only(whole).resolved) == 1


def test_a_run_that_fails_in_colours_has_failed() -> None:
    talk = Talk().user("Make the tests pass").shell("npx playwright test", TESTS_FAIL, 1)
    talk.edit("src/a.ts")
    talk.shell("npx playwright test | grep failed", "\x1b[1A\x1b[2K  1 failed")
    assert only(talk).resolved == ()
    talk.edit("src/a.ts", "b", "c")
    talk.shell("npx playwright test | tail -3", "\x1b[32m  2 passed\x1b[39m")
    assert len(only(talk).resolved) == 2


def test_the_same_check_in_another_folder_resolves_nothing() -> None:
    talk = Talk().user("Fix the types")
    talk.shell("cd /repo/api && npx tsc", "src/a.ts(3,1): error TS2345: no", 2).edit("web/b.ts")
    talk.shell("cd /repo/web && npx tsc", "")
    assert only(talk).resolved == ()


def test_a_remedy_that_fails_itself_is_no_resolution() -> None:
    talk = Talk().user("Pull the changes").shell("git pull", "error: cannot lock ref", 1)
    talk.shell("rm .git/x && git pull", "rm: .git/x: No such file or directory", 1)
    talk.shell("git pull", "Already up to date.")
    assert all("rm .git" not in error.resolution for error in only(talk).resolved)


def test_a_lock_that_somebody_else_held_is_an_outage_that_passes() -> None:
    locked = "fatal: Unable to create '/r/.git/index.lock': File exists.\nAnother git process seems"
    talk = Talk().user("Go to main").shell("git checkout main && git pull", locked, 128)
    talk.shell("git checkout main", "Switched to branch 'main'")
    assert only(talk).resolved == ()


def test_asking_where_a_program_is_does_not_bring_it() -> None:
    talk = (
        Talk().user("List the containers").shell("docker ps", "zsh: command not found: docker", 127)
    )
    talk.shell("which docker || docker ps || echo 'not found'", "docker not found")
    assert only(talk).resolved == ()


def test_how_much_of_an_output_is_shown_is_no_difference() -> None:
    failed = "TimeoutError: locator.waitFor: Timeout 30000ms exceeded.\n1 failed"
    talk = Talk().user("Fix the spec").shell("npm test 2>&1 | tail -120", failed, 1)
    talk.edit("tests/a.spec.ts", "click", "await click").shell("npm test | tail -9", "20 passed")
    [error] = only(talk).resolved
    assert error.type == "TimeoutError"
    assert error.resolution == "edited tests/a.spec.ts (`click` → `await click`)"


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


@pytest.mark.parametrize(
    "words",
    ["Verified: it fails without the fix.", "The test is load-bearing.", "The guard is proven."],
)
def test_a_failure_that_was_provoked_to_prove_a_test_is_no_error_to_learn_from(words: str) -> None:
    talk = (
        Talk()
        .user("Guard the parser")
        .shell("pytest tests/test_parser.py", "FAILED test_parser.py::test_a", 1)
    )
    talk.agent(words).edit("src/parser.py").shell("pytest tests/test_parser.py", "2 passed")
    assert only(talk).resolved == ()


def test_working_without_the_changes_is_no_resolution() -> None:
    talk = (
        Talk()
        .user("Lint the docs")
        .edit("docs/faq.md")
        .shell("npm run lint", "faq.md:11:1 too long", 1)
    )
    talk.shell("git stash && npm run lint").edit("docs/faq.md").shell("npm run lint")
    assert only(talk).resolved == ()


def test_an_outage_that_passes_is_resolved_by_nothing() -> None:
    talk = Talk().user("Review").shell("make review", "the model is temporarily unavailable", 1)
    talk.edit("Makefile").shell("make review", "fine")
    assert only(talk).resolved == ()


def test_something_else_that_is_found_is_no_resolution_of_what_was_not() -> None:
    talk = (
        Talk()
        .user("Read the docs")
        .shell("gh api repos/a/b/contents/cache.go", "gh: Not Found (HTTP 404)", 1)
    )
    talk.shell("gh api repos/a/b/contents/prompt.go", "package prompt")
    assert only(talk).resolved == ()
    talk.shell("gh api repos/a/b/contents/src/cache.go", "package cache")
    assert len(only(talk).resolved) == 1


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
        ("Bash", {"command": "gh pr checks 12"}, "Exit code 8\nlint pending", "missed"),
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
