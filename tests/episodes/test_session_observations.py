"""What a session says about commands, errors, places and conclusions, from its calls alone."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from typing import Any

import pytest

from recollect.actions.command_output import signatures
from recollect.actions.command_words import suggests_danger
from recollect.episodes.session_errors import SessionObservation
from recollect.episodes.session_observations import observe
from recollect.lessons import findings
from recollect.types.records import Message, Stored, ToolCall

Call = tuple[str, dict[str, str], str, bool]
LABELS = {"user": "user", "assistant": "agent", "tool": "tool"}


def shell(line: str, output: str = "ok", failed: bool = False) -> Call:
    return "Bash", {"command": line}, output, failed


def edit(path: str, old: str = "a", new: str = "b") -> Call:
    given = {"file_path": path, "old_string": old, "new_string": new}
    return "Edit", given, "The file has been updated.", False


def session(*calls: Call, label: str = "", end: str = "") -> list[Stored]:
    messages = [Message("user", "Please do the work that was planned for today, all of it")]
    for number, (name, given, output, failed) in enumerate(calls):
        call = ToolCall(f"c{number}", name, json.dumps(given))
        messages.append(Message("assistant", "", (call,), at=number + 1))
        messages.append(Message("tool", output, call_id=call.id, is_error=failed))
    if end:
        messages.append(Message("assistant", end, at=99))
    return [
        Stored("s-1", number, message, label or LABELS[message.role], "", "")
        for number, message in enumerate(messages, 1)
    ]


def found(kind: str, messages: list[Stored]) -> list[SessionObservation]:
    return [one for one in observe(messages, "/p", {}) if one.kind == kind]


def subjects(kind: str, calls: Iterable[Call]) -> list[str]:
    return [one.subject for one in found(kind, session(*calls))]


FAILED = "FAILED tests/test_a.py::test_login - TypeError: login() missing 1 argument: 'user'"
UNKNOWN = "error: unknown option '--fast'"


# ---------------------------------------------------------------- commands


def test_a_command_is_counted_once_a_wording_and_with_its_exit_status() -> None:
    (one,) = found("command", session(shell("make test"), shell("cd /p && make test 2>&1 | tail")))
    assert one.subject == "make test"
    assert (one.body["ok"], one.body["failed"], one.body["purpose"]) == (2, 0, "test")


def test_a_test_that_fails_does_not_make_its_command_bad() -> None:
    (one,) = found("command", session(shell("make test"), shell("make test", FAILED, True)))
    assert one.body["failed"] == 0
    missing = shell("pnpm test", "zsh:1: command not found: pnpm", True)
    (bad,) = found("command", session(missing))
    assert bad.body["failed"] == 1


def test_a_form_that_worked_right_after_replaces_the_one_that_failed() -> None:
    missing = shell("pytest -q", "zsh:1: command not found: pytest", True)
    told = {
        one.subject: one.body
        for one in found("command", session(missing, shell("uv run pytest -q")))
    }
    assert told["pytest"]["replaced_by"] == "uv run pytest"


def test_another_command_of_the_same_program_replaces_nothing() -> None:
    broken = shell("go test ./...", "zsh:1: command not found: go", True)
    told = found("command", session(broken, shell("go clean -testcache")))
    assert all("replaced_by" not in one.body for one in told)


@pytest.mark.parametrize("line", ["git push", "npm publish", "ls", "recollect list", "make deploy"])
def test_dangerous_looking_and_our_own_commands_teach_nothing(line: str) -> None:
    assert observe(session(shell(line)), "/p", {}) == []


def test_what_was_imported_teaches_nothing() -> None:
    assert observe(session(shell("make test"), label="import"), "/p", {}) == []


# ---------------------------------------------------------------- errors


def test_a_failing_test_is_resolved_by_the_file_that_was_edited() -> None:
    calls = (shell("pytest", FAILED, True), edit("/p/src/login.py"), shell("pytest"))
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["files"] == ("src/login.py",)
    assert "typeerror: login() missing" in one.subject


def test_a_wrong_call_is_resolved_by_the_words_that_it_gained_or_lost() -> None:
    (lost,) = found("error", session(shell("tool go --fast", UNKNOWN, True), shell("tool go")))
    assert lost.body["remedy"]["lost"] == ("--fast",)
    missing = "error: the option --target is missing and must be given"
    calls = (shell("tool go", missing, True), shell("tool go --target web"))
    (gained,) = found("error", session(*calls))
    assert gained.body["remedy"]["gained"] == ("--target", "web")


@pytest.mark.parametrize(
    ("broken", "worked"),
    [
        ("go test ./...", "go test ./... -run TestLogin"),
        ("go test ./... -run TestLogin", "go test ./... -run TestLogout"),
        ("go test ./...", "go test ./pkg/login -v -run 'TestLogin|TestLogout' -count 1"),
        ("pytest", "pytest -k logout"),
        ("pytest", "pytest tests/test_b.py::test_logout"),
        ("python -m pytest -q", "python -m pytest -q tests/test_b.py --deselect tests/test_a.py"),
        ("npx jest", "npx jest -t logout"),
        ("npx vitest run", "npx vitest run logout.test.ts"),
        ("npx mocha --grep login", "npx mocha"),
        ("dotnet test", "dotnet test --filter Name=Logout"),
        ("cargo test", "cargo test logout"),
        ("npm test", "npm test -- --testNamePattern=logout"),
    ],
)
def test_a_run_of_other_tests_resolves_nothing(broken: str, worked: str) -> None:
    calls = (shell(broken, FAILED, True), shell(worked))
    assert [one.body["remedy"] for one in found("error", session(*calls))] == []


@pytest.mark.parametrize(
    ("broken", "worked", "gained"),
    [
        ("go test ./...", "go test -tags sqlite ./...", ("-tags", "sqlite")),
        ("pytest", "pytest -c ci.ini tests/test_a.py", ("-c", "ci.ini")),
        ("npx jest", "npx jest -c config/jest.ci.js", ("-c", "config/jest.ci.js")),
        ("cargo test", "cargo test --features tls", ("--features", "tls")),
    ],
)
def test_other_options_of_a_test_run_resolve_its_error(
    broken: str, worked: str, gained: tuple[str, ...]
) -> None:
    (one,) = found("error", session(shell(broken, FAILED, True), shell(worked)))
    assert set(one.body["remedy"]["gained"]) <= set(gained)
    assert set(one.body["remedy"]["gained"]) & set(gained)


def test_a_wrong_option_that_chooses_tests_is_resolved_without_it() -> None:
    unknown = "error: unknown option '--only-fast'"
    calls = (shell("npx mocha --only-fast", unknown, True), shell("npx mocha"))
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["lost"] == ("--only-fast",)


def test_of_lines_that_differ_in_several_words_the_whole_one_that_worked_is_told() -> None:
    wrong = "fatal: Needed a single revision"
    broken = shell("git merge-base --fork-point --all origin/main topic", wrong, True)
    (whole,) = found(
        "error", session(broken, shell("git merge-base --fork-point --all main topic-2"))
    )
    assert whole.body["remedy"]["other_form"] == "git merge-base --fork-point --all main topic-2"
    assert (
        found("error", session(broken, shell("git merge-base --fork-point --all $BASE topic-2")))
        == []
    )
    assert found("error", session(broken, shell("git merge-base HEAD v1 v2 v3"))) == []


def test_a_file_that_was_moved_in_between_is_no_step_to_tell() -> None:
    wrong = "error: the folder build does not exist and must be made before"
    calls = (shell("tool go", wrong, True), shell("mkdir -p /p/build"), shell("tool go"))
    assert found("error", session(*calls)) == []


def test_a_failed_stash_can_be_resolved_by_the_next_one() -> None:
    wrong = "error: Your local changes to the following files would be overwritten by merge:"
    calls = (
        shell("git stash pop", wrong, True),
        shell("git checkout notes.txt && git stash pop"),
    )
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["other_form"] == "git checkout notes.txt && git stash pop"


@pytest.mark.parametrize("code", ["node -e 'f()'", "python3 -c 'f()'", "bun -e 'f()'"])
def test_code_on_the_command_line_has_no_remedy_for_other_code(code: str) -> None:
    wrong = "TypeError: sdk.registerProviders is not a function"
    calls = session(shell(code, wrong, True), shell(f"{code} --experimental"))
    for one in found("error", calls):
        assert findings.read_resolutions(_merged(one), one.body["commands"]) == []


def _merged(one: SessionObservation) -> Mapping[str, Any]:
    merged = findings.merge_observations("error", [one.body], [one.at])
    assert merged is not None
    return merged.body


def test_an_error_that_only_names_a_path_has_no_signature() -> None:
    for line in (
        "Error: Cannot find module '/home/x/y.js'",
        "cat: /a/b: No such file or directory",
    ):
        assert signatures(f"Exit code 1\n{line}") == ()
    assert signatures("Error: Cannot find module 'left-pad'")


def test_a_step_before_and_another_folder_are_remedies() -> None:
    stale = "error: the generated client is missing, cannot compile"
    calls = (shell("make build", stale, True), shell("make generate"), shell("make build"))
    (step,) = found("error", session(*calls))
    assert step.body["remedy"]["step_before"] == "make generate"
    lost = "error: could not find `Cargo.toml` in `/p` or any parent directory: No such file"
    elsewhere = shell("cd /p/apps/desktop && cargo test")
    (place,) = found("error", session(shell("cargo test", lost, True), elsewhere))
    assert place.body["remedy"]["step_before"] == "cd apps/desktop"


@pytest.mark.parametrize(
    "between",
    [
        (),
        (("Read", {"file_path": "/p/a.py"}, "text", False),),
        (shell("sleep 5"), shell("cat a.py")),
        (shell("git stash"),),
        (edit("/tmp/try.py"),),
        (shell("make lint", "error: something else is broken here", True),),
    ],
)
def test_a_rerun_a_read_a_poll_and_a_temporary_file_are_no_remedies(
    between: Iterable[Call],
) -> None:
    assert subjects("error", (shell("pytest", FAILED, True), *between, shell("pytest"))) == []


NOCTX = "src/a.go:7:2: os/exec.Command must not be called. use os/exec.CommandContext (noctx)"


def test_an_error_that_names_its_file_is_resolved_by_an_edit_of_that_file() -> None:
    other = edit("/p/src/b.go", "logging.Init()", "err := logging.Init()")
    own = edit("/p/src/a.go", 'exec.Command("git")', 'exec.CommandContext(ctx, "git") // why')
    (one,) = found(
        "error", session(shell("make lint", NOCTX, True), other, own, shell("make lint"))
    )
    remedy = one.body["remedy"]
    assert (remedy["files"], remedy["added"]) == (("src/a.go",), ("exec.CommandContext",))
    assert subjects("error", (shell("make lint", NOCTX, True), other, shell("make lint"))) == []


def test_the_address_in_an_added_line_is_no_name_of_code() -> None:
    failed = "src/a.go:7:2: host example.org has no scheme"
    own = edit("/p/src/a.go", 'host := ""', 'host := "https://example.org/x_y" + hostPath')
    (one,) = found("error", session(shell("make lint", failed, True), own, shell("make lint")))
    assert one.body["remedy"]["added"] == ("hostPath",)


def test_of_several_edits_that_the_output_does_not_name_none_is_the_remedy() -> None:
    edits = edit("/p/src/a.py"), edit("/p/src/b.py")
    assert subjects("error", (shell("pytest", FAILED, True), *edits, shell("pytest"))) == []


def test_the_log_of_passing_tests_is_no_error() -> None:
    output = (
        "Error: context deadline exceeded\n--- FAIL: TestSave (0.01s)\n    a_test.go:9: no root"
    )
    calls = shell("go test ./...", output, True), edit("/p/a_test.go"), shell("go test ./...")
    assert all("deadline" not in name for name in subjects("error", calls))


def test_the_log_of_a_failing_test_before_its_failure_is_no_error() -> None:
    output = (
        "--- FAIL: TestSave (0.01s)\n    a_test.go:7: Initial feature HEAD: e11f237\n"
        "    a_test.go:8: Phase 2: Starting session and creating first checkpoint\n"
        "    a_test.go:9: the sessions branch should exist\nFAIL"
    )
    calls = shell("go test ./...", output, True), edit("/p/a_test.go"), shell("go test ./...")
    told = " ".join(subjects("error", calls))
    assert "should exist" in told and "testsave" in told
    assert "initial feature" not in told and "starting session" not in told


def test_a_formatter_resolves_no_test_and_nothing_that_was_edited_elsewhere() -> None:
    failed = "--- FAIL: TestSave (0.01s)\n    a_test.go:9: no root"
    lint = "a.go:3:6: exported: func name will be used as redact.RedactBytes, that stutters"
    fmt, clone = shell("mise run fmt"), edit("/elsewhere/clone/a.go")
    tests = shell("mise run test", failed, True), fmt, shell("mise run test")
    assert subjects("error", tests) == []
    edited = shell("mise run lint", lint, True), clone, fmt, shell("mise run lint")
    assert subjects("error", edited) == []
    (one,) = found("error", session(edited[0], fmt, edited[3]))
    assert one.body["remedy"]["step_before"] == "mise run fmt"


def test_a_service_that_was_started_is_the_remedy_of_a_refused_connection() -> None:
    refused = "E   redis.exceptions.ConnectionError: localhost:6380. Connection refused."
    calls = (shell("pytest -q", refused, True), shell("make redis-test"), shell("pytest -q"))
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["step_before"] == "make redis-test"
    other = (shell("pytest -q", "E   ValueError: no rows", True), *calls[1:])
    assert found("error", session(*other)) == []
    for line in ("make api-test", "PORT=6380", "env", "sudo"):
        idle = (calls[0], shell(line), calls[-1])
        assert found("error", session(*idle)) == []


def test_an_interpreter_is_named_with_its_script() -> None:
    missing = "error: the option --target is missing and must be given"
    calls = shell("sh codegen.sh", missing, True), shell("sh codegen.sh --target web")
    (one,) = found("error", session(*calls))
    assert one.body["commands"] == ["sh codegen.sh"]


def test_what_did_not_keep_the_error_away_is_no_remedy() -> None:
    calls = [shell("pytest", FAILED, True), edit("/p/a.py"), shell("pytest")]
    assert subjects("error", [*calls, shell("pytest", FAILED, True)]) == []
    again = [*calls, shell("pytest", FAILED, True), edit("/p/b.py"), shell("pytest")]
    (one,) = found("error", session(*again))
    assert one.body["remedy"]["files"] == ("b.py",)


def test_a_signature_leaves_out_what_changes_and_what_any_failure_says() -> None:
    one, other = (
        signatures(f"Exit code 1\n{path}:{n}:1: undefined: parseHeader (typecheck)\n1 failed")
        for path, n in (("src/a.go", 3), ("lib/b.go", 77))
    )
    assert one == other == ("<path>: undefined: parseHeader (typecheck)",)
    assert signatures("Exit code 1\nTests: 3 failed, 2 passed\nerror: exit status 2") == ()


@pytest.mark.parametrize(
    "line",
    [
        "make: *** [Makefile:3: lint] Error 1",
        "make[2]: *** [lint] Error 2",
        "ninja: build stopped: subcommand failed.",
        "✖ markdownlint --fix:",
        "husky - pre-commit script failed (code 1)",
    ],
)
def test_a_line_that_reports_the_failure_of_another_program_identifies_no_error(line: str) -> None:
    assert signatures(f"Exit code 1\n{line}") == ()


def test_the_code_of_an_error_is_part_of_its_identity() -> None:
    one, other = (signatures(f"a.py:3:1: {code} imported names") for code in ("F401", "F811"))
    assert one != other


# ---------------------------------------------------------------- the rest


def test_files_changed_in_one_session_are_changed_together() -> None:
    calls = (
        edit("/p/src/a.py"),
        edit("/p/docs/b.md"),
        edit("/p/tests/test_a.py"),
        edit("/tmp/x/y"),
    )
    assert {one.subject: one.body["files"] for one in found("place", session(*calls))} == {
        "src/a.py": ["docs/b.md"],
        "docs/b.md": ["src/a.py", "tests/test_a.py"],
        "tests/test_a.py": ["docs/b.md"],
    }


def test_many_files_are_not_changed_for_one_thing_but_count_as_changed() -> None:
    places = found("place", session(*(edit(f"/p/src/{number}.py") for number in range(9))))
    assert [one.body["files"] for one in places] == [[]] * 9


def test_commands_between_an_edit_and_a_commit_are_a_workflow() -> None:
    calls = (
        edit("/p/src/a.py"),
        shell("make fmt && make lint"),
        shell("make test"),
        shell("git commit -m x"),
    )
    assert subjects("workflow", calls) == ["make fmt && make lint && make test"]


CAUSE = "All done. The test failed because `useShares` fetched only on mount. Anything else?"


def test_a_conclusion_needs_evidence_a_cause_and_no_foreign_words() -> None:
    work = (edit("/p/src/a.py"), shell("make test"))
    (one,) = found("conclusion", session(*work, end=CAUSE))
    assert one.body["text"] == "The test failed because `useShares` fetched only on mount."
    assert one.body["evidence"] == "the last check passed"
    assert found("conclusion", session(edit("/p/src/a.py"), end=CAUSE)) == []
    assert found("conclusion", session(*work, shell("make test", FAILED, True), end=CAUSE)) == []
    assert found("conclusion", session(*work, end="All done, it works now.")) == []
    web = ("WebFetch", {"url": "https://example.org"}, "text", False)
    assert found("conclusion", session(web, *work, end=CAUSE)) == []


@pytest.mark.parametrize(
    ("script", "output"),
    [
        ("pnpm biome check src | tail -5", 'ERR_PNPM_RECURSIVE_EXEC Command "biome" not found'),
        ("npx playwright test 2>&1 | tail", "sh: 1: playwright: not found"),
        ("pnpm --filter e2e test | tail -20", "No tests found"),
        ("pnpm lint | tail -3", ""),
        ("go build ./... 2>&1 | head -30", "cmd/a.go:64:23: cannot use x as string value"),
        ("cargo test | tail -3", "error: could not find `Cargo.toml` in `/p`"),
    ],
)
def test_a_command_whose_failure_a_pipe_hid_did_not_work(script: str, output: str) -> None:
    assert not [one for one in found("command", session(shell(script, output))) if one.body["ok"]]


def test_a_command_that_failed_as_it_stands_is_told_as_it_worked() -> None:
    broken = shell("pnpm install", "ERR_PNPM_OUTDATED_LOCKFILE Cannot install", True)
    worked = shell("CI=true pnpm install --no-frozen-lockfile")
    (one,) = found("command", session(broken, worked))
    assert one.body["wording"] == "CI=true pnpm install --no-frozen-lockfile"
    (again,) = found("command", session(broken, edit("/p/package.json"), shell("pnpm install")))
    assert again.body["wording"] == "pnpm install"
    hidden = shell("TOKEN=$(cat x) pnpm install")
    (one,) = found("command", session(broken, hidden))
    assert one.body["wording"] == "TOKEN=… pnpm install"


@pytest.mark.parametrize("failure", ["E   ModuleNotFoundError: No module named 'app'", "1 failed"])
def test_what_made_a_check_pass_is_shown_with_it(failure: str) -> None:
    broken = shell("pytest -q", failure, True)
    worked = shell("PYTHONPATH=src pytest -q")
    (one,) = found("command", session(broken, worked))
    assert (one.body["ran"], one.body["broken"]) == (["PYTHONPATH=src pytest -q"], ["pytest -q"])
    (one,) = found("command", session(broken, worked, shell("pytest -q")))
    assert "pytest -q" in one.body["ran"] and "broken" not in one.body


def test_a_script_of_this_session_is_no_command_of_the_project() -> None:
    made = edit("/p/try/test.sh")
    assert found("command", session(made, shell("cd /p/try && ./test.sh"))) == []


def test_the_folder_of_what_a_command_was_given_is_kept() -> None:
    calls = shell("go test ./cmd/cli/a/... -v"), shell("go test ./cmd/cli/b -run X")
    (one,) = found("command", session(*calls))
    assert (one.body["below"], one.body["aimed"]) == ("cmd/cli", True)
    (bare,) = found("command", session(shell("go test ./...")))
    assert "aimed" not in bare.body


def test_a_shell_stays_in_the_folder_it_went_to() -> None:
    calls = (shell("cd /p/apps/api && ls"), shell("npx jest --coverage"), shell("npx jest"))
    folders = [one.body["folder"] for one in found("command", session(*calls))]
    assert set(folders) == {"apps/api"}
    back = (*calls, shell("cd /p/apps/web && pnpm test"), shell("cd /p && make build"))
    told = {one.subject: one.body.get("folder") for one in found("command", session(*back))}
    assert told["pnpm test"] == "apps/web"
    assert told["make build"] is None


def test_a_copied_example_is_a_remedy_with_its_paths() -> None:
    missing = "E   KeyError: 'STRIPE_KEY is not set in the environment'"
    calls = shell("pytest", missing, True), shell("cp .env.example .env"), shell("pytest")
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["step_before"] == "cp .env.example .env"
    # It would overwrite an existing file of credentials: only the user may suggest it.
    assert suggests_danger("after running `cp .env.example .env`")
    assert suggests_danger("after running `cp .env.local .env`")


def test_a_remedy_keeps_its_sudo_and_the_module_of_an_interpreter() -> None:
    refused = "docker.errors.DockerException: connection refused by the docker daemon"
    start = shell("sudo systemctl start docker")
    calls = shell("python -m pytest -q", refused, True), start, shell("python -m pytest -q")
    (one,) = found("error", session(*calls))
    assert one.body["remedy"]["step_before"] == "sudo systemctl start docker"
    assert one.body["commands"] == ["python -m pytest"]


def test_a_module_keeps_the_digit_of_its_name() -> None:
    line = "psycopg2.OperationalError: could not connect to server on port 5432"
    calls = shell("make run", line, True), shell("DB_PORT=6000 make run")
    (one,) = found("error", session(*calls))
    assert one.body["line"] == (
        "psycopg2.OperationalError: could not connect to server on port <number>"
    )
