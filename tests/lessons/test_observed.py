"""What sessions found out together: merged by subject, shown best first, rebuilt at any time."""

from __future__ import annotations

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.briefing import operations as briefing_operations
from recollect.briefing import steps as briefing_steps
from recollect.briefing import steps_action, wording
from recollect.lessons import findings
from recollect.lessons import sql as lessons_sql
from recollect.lessons import steps_observed as lessons_steps_observed
from recollect.lessons.findings import KnownCommand
from recollect.lessons.manifests_io import read
from recollect.storage.database import Tx
from recollect.types.records import Message, ToolCall
from tests.conftest import Clock

Mem = recollect.Recollect
FAILED = "FAILED tests/test_a.py::test_login - TypeError: login() missing 1 argument: 'user'"
KINDS = ("command", "error", "place", "conclusion", "workflow")
MISSING = "zsh:1: command not found: pytest"


def work(
    mem: Mem,
    clock: Clock,
    session: str,
    *calls: tuple[str, str, bool],
    goal: str = "Please do the work that was planned",
) -> None:
    """Record a session of shell lines, or edits of `file:…`, and learn from it."""
    mem.record(session, Message("user", goal, at=clock()))
    for number, (line, output, failed) in enumerate(calls):
        given = {"command": line}
        name = "Bash"
        if line.startswith("file:"):
            name, given = "Edit", {"file_path": line[5:], "old_string": "a", "new_string": "b"}
        clock.advance(seconds=1)
        call = ToolCall(f"c-{number}-{clock()}", name, json.dumps(given))
        mem.record(session, Message("assistant", "", (call,), at=clock()))
        mem.record(session, Message("tool", output, call_id=call.id, is_error=failed, at=clock()))
    mem.sessions.end(session)
    mem.episodes.build()


def known(mem: Mem, clock: Clock) -> list[KnownCommand]:
    return mem.context.project_space.read(
        lambda tx: lessons_steps_observed.known_commands(tx, now=clock())
    )


def ask(mem: Mem, function: Any, *given: Any) -> Any:
    return mem.context.project_space.read(lambda tx: function(tx, *given))


def good(line: str) -> tuple[str, str, bool]:
    return line, "ok", False


def test_commands_are_best_first_and_counted_by_session(mem: Mem, clock: Clock) -> None:
    work(mem, clock, "s-1", good("make test"), good("make test"), good("make lint"))
    work(mem, clock, "s-2", good("cd . && make test 2>&1 | tail"))
    first, second = known(mem, clock)
    assert (first.form, first.sessions_succeeded, first.purpose) == ("make test", 2, "test")
    assert (second.form, second.sessions_succeeded, second.retired) == ("make lint", 1, None)


NO_MODULE = "E   ModuleNotFoundError: No module named 'shop'"


def test_a_command_is_shown_in_a_form_that_worked(mem: Mem, clock: Clock) -> None:
    for name in ("s-1", "s-2", "s-3"):
        bare = ("python -m pytest -q", NO_MODULE, True)
        work(mem, clock, name, bare, good("PYTHONPATH=src python -m pytest -q"))
    work(mem, clock, "s-4", ("go test ./...", "dial tcp: refused", True))
    work(mem, clock, "s-5", good("DATABASE_URL=postgres://app:Tr0ub4dor@db/x go test ./..."))
    work(mem, clock, "s-6", good("docker compose run --rm app make lint"))
    assert [(one.form, one.sessions_succeeded) for one in known(mem, clock)] == [
        ("PYTHONPATH=src python -m pytest -q", 3),
        ("docker compose run --rm app make lint", 1),
        ("DATABASE_URL=… go test ./...", 1),
    ]


def test_the_bare_command_is_shown_where_it_works_too(mem: Mem, clock: Clock) -> None:
    work(mem, clock, "s-1", good("CI=1 make test"))
    work(mem, clock, "s-2", good("CI=1 make test"), good("make test"))
    assert [one.form for one in known(mem, clock)] == ["make test"]
    work(mem, clock, "s-3", ("make test", "no CI", True), good("CI=1 make test"))
    assert [one.form for one in known(mem, clock)] == ["CI=1 make test"]


def test_a_finding_of_an_early_version_is_shown_until_a_run_is_seen(mem: Mem, clock: Clock) -> None:
    old = {"wording": "pytest -q", "purpose": "test", "ok": 1, "failed": 0, "last_ok": 5}
    bodies: list[dict[str, Any]] = [{**old, "last_failed": 0}] * 2
    merged = findings.merge_observations("command", bodies, [5, 5])
    assert merged and merged.body["wording"] == "pytest -q"
    bodies.insert(0, {**bodies[0], "wording": "A=1 pytest -q", "ran": ["A=1 pytest -q"]})
    merged = findings.merge_observations("command", bodies, [6, 5, 5])
    assert merged and (merged.body["wording"], merged.sessions) == ("A=1 pytest -q", 3)


def test_a_hidden_command_stays_hidden_in_every_wording(mem: Mem, clock: Clock) -> None:
    work(mem, clock, "s-1", good("make test"))
    mem.memories.hide("command:make test")
    work(mem, clock, "s-2", ("make test", "no CI", True), good("CI=1 make test"))
    assert [(one.form, one.retired) for one in known(mem, clock)] == [("CI=1 make test", "hidden")]
    mem.memories.restore("command:CI=1 make test")
    assert [one.retired for one in known(mem, clock)] == [None]


def test_a_command_is_told_as_it_was_written_without_a_target(mem: Mem, clock: Clock) -> None:
    work(mem, clock, "s-1", good("go build ./cmd/a"), good("go build ./..."))
    work(mem, clock, "s-2", good("go build ./cmd/b"))
    work(mem, clock, "s-3", good("go build -o app ./cmd/c"), good("go build ./..."))
    (one,) = known(mem, clock)
    assert (one.form, one.sessions_succeeded) == ("go build ./...", 3)
    (line,) = wording.command_lines([one])
    assert "worked in 3 sessions" in line.line


def test_a_session_that_goes_on_is_counted_once(mem: Mem, clock: Clock) -> None:
    for _ in range(3):
        work(mem, clock, "s-1", good("make test"))
    (one,) = known(mem, clock)
    assert one.sessions_succeeded == 1


def test_a_command_is_out_after_two_failures_and_when_it_is_not_used(
    mem: Mem, clock: Clock
) -> None:
    work(mem, clock, "s-0", good("make run"))
    work(mem, clock, "s-1", good("pytest -q"), good("make run"))
    for name in ("s-2", "s-3"):
        work(mem, clock, name, ("pytest -q", MISSING, True))
    retired = {one.form: one.retired for one in known(mem, clock)}
    assert retired == {"make run": None, "pytest -q": "failed in the last 2 sessions"}
    clock.advance(days=31)
    for number in range(30):
        assert "make run" in [one.form for one in known(mem, clock) if not one.retired]
        clock.advance(days=1)
        work(mem, clock, f"s-4{number}", good("make test"))
    assert [one.retired for one in known(mem, clock) if one.form == "make run"] == [
        "not used for 61 days while other commands were"
    ]


def test_commands_of_a_project_that_rested_for_a_year_are_known(mem: Mem, clock: Clock) -> None:
    for name in ("s-1", "s-2"):
        work(mem, clock, name, good("make test"), good("make lint"))
    clock.advance(days=365)
    assert {one.form for one in known(mem, clock) if not one.retired} == {"make test", "make lint"}


def test_a_command_without_a_successor_stays_when_the_work_went_on_for_some_days(
    mem: Mem, clock: Clock
) -> None:
    for number in range(10):
        work(mem, clock, f"old-{number}", good("mise run lint"))
    for number in range(5):
        clock.advance(days=20)
        work(mem, clock, f"new-{number}", good("go build ./..."))
    clock.advance(days=145)
    assert "mise run lint" in [one.form for one in known(mem, clock) if not one.retired]


def test_a_wrong_command_or_fix_can_be_hidden_undone_and_restored(mem: Mem, clock: Clock) -> None:
    for name in ("s-1", "s-2"):
        broken = ("tool go --fast", "error: unexpected argument '--fast' found", True)
        work(mem, clock, name, good("make test"), broken, good("tool go"))
    assert "`make test`" in mem.briefing().text
    (fix,) = mem.lessons.list().fixes
    hidden = mem.memories.hide("command:make test")
    assert hidden == recollect.HiddenLesson("command:make test", "hidden")
    assert "`make test`" not in mem.briefing().text
    assert mem.lessons.list().commands[-1].left_out == "hidden"
    assert mem.store.undo().what == "hid command:make test"
    assert "`make test`" in mem.briefing().text
    mem.memories.hide(fix.id)
    assert mem.lessons.list().fixes == ()
    mem.memories.restore(fix.id)
    assert mem.lessons.list().fixes == (fix,)
    with pytest.raises(recollect.NotFound):
        mem.memories.hide("command:make nothing")


def _learn_fix(mem: Mem, clock: Clock) -> tuple[dict[str, str], str]:
    """Let two sessions resolve an error; return the arguments and output of the failed call."""
    broken = ("tool go --fast", "error: unexpected argument '--fast' found", True)
    for name in ("s-1", "s-2"):
        work(mem, clock, name, good("make test"), good("make lint"), broken, good("tool go"))
    return {"command": broken[0]}, broken[1]


@pytest.mark.parametrize("engine", ["postgres"])
def test_two_people_hide_at_the_same_time(
    mem: Mem, clock: Clock, environment: dict[str, str], project: Path
) -> None:
    at_once = {**environment, "RECOLLECT_LOCK_WAIT": "0.2"}
    with recollect.open(project, clock=clock, environment=at_once, origin="user") as other:

        def first(tx: Tx) -> None:
            lessons_steps_observed.set_hidden(tx, "command:make test", True, clock())
            other.context.project_space.write(second)

        def second(tx: Tx) -> None:
            lessons_steps_observed.set_hidden(tx, "command:make lint", True, clock())

        mem.context.project_space.write(first)
    hidden = ask(mem, lessons_steps_observed.hidden_refs)
    assert hidden == {"command:make test", "command:make lint"}


def test_erasing_a_text_leaves_the_other_commands_hidden(mem: Mem, clock: Clock) -> None:
    _learn_fix(mem, clock)
    mem.memories.hide("command:make test")
    mem.memories.hide("command:make lint")
    mem.memories.forget(text="make lint", yes=True)
    assert ask(mem, lessons_steps_observed.hidden_refs) == {"command:make test"}
    assert "`make test`" not in mem.briefing().text


def test_an_agent_cannot_undo_that_a_person_hid_a_command(
    mem: Mem, clock: Clock, environment: dict[str, str], project: Path
) -> None:
    _learn_fix(mem, clock)
    mem.memories.hide("command:make test")
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as agent:
        assert agent.store.undo(print=True).what == "hid command:make test"
        with pytest.raises(recollect.Refused):
            agent.store.undo()
    assert ask(mem, lessons_steps_observed.hidden_refs) == {"command:make test"}


def test_a_fix_is_hidden_and_restored_by_the_id_that_seen_shows(mem: Mem, clock: Clock) -> None:
    arguments, output = _learn_fix(mem, clock)
    asked = briefing_steps.Ask("s-3")
    briefing_operations.brief_failure(mem.context, asked, arguments, output)
    (item,) = mem.agents.seen("s-3").items
    assert item.id.startswith("resolution:tool go:") and item.status == ""
    for _ in range(2):
        assert mem.memories.hide(item.id).status == "hidden"
        assert mem.agents.seen("s-3").items[0].status == "hidden"
    assert mem.memories.restore(item.id).status == "active"
    assert mem.agents.seen("s-3").items[0].status == ""
    assert len(mem.lessons.list().fixes) == 1


def test_a_warning_is_hidden_by_the_id_that_seen_shows(mem: Mem, clock: Clock) -> None:
    for name in ("s-1", "s-2"):
        work(mem, clock, name, ("pytest -q", MISSING, True), good("uv run pytest -q"))
    asked = briefing_steps.Ask("s-3")
    warned = ask(mem, lambda tx: steps_action.before_command([tx], "s-3", "pytest -q", ""))
    briefing_operations.brief_command(mem.context, asked, warned)
    shown = sorted(item.id for item in mem.agents.seen("s-3").items)
    assert [id.partition(":")[0] for id in shown] == ["avoid", "command"]
    assert [mem.memories.hide(id).id for id in shown] == [
        id.replace("avoid:", "command:") for id in shown
    ]
    assert [item.status for item in mem.agents.seen("s-3").items] == ["hidden"] * 2
    assert ask(mem, lessons_steps_observed.advice_for_command, "pytest -q") == []


@pytest.mark.parametrize(
    ("shown", "id"),
    [
        ("command:npm run a:b", "command:npm run a:b"),
        ("avoid:npm run a:b", "command:npm run a:b"),
        ("resolution:npm run a:b:Error: no port", findings.fix_ref("error: no port")),
        ("m-4k9w2c", "m-4k9w2c"),
    ],
)
def test_an_id_that_was_shown_leads_to_the_id_to_hide(shown: str, id: str) -> None:
    assert id in findings.lesson_refs(shown)


def test_a_command_that_others_took_the_place_of_is_out(mem: Mem, clock: Clock) -> None:
    for number in range(12):
        work(mem, clock, f"old-{number}", good("npm test"), good("npm run lint"))
        clock.advance(hours=20)
    clock.advance(days=31)
    for number in range(3):
        work(mem, clock, f"new-{number}", good("pnpm test"), good("pnpm lint"))
        clock.advance(days=1)
    used = {one.form for one in known(mem, clock) if not one.retired}
    assert used == {"pnpm test", "pnpm lint"}


def test_a_form_that_failed_twice_is_answered_with_the_one_that_works(
    mem: Mem, clock: Clock
) -> None:
    broken = ("pytest -q", MISSING, True)
    line = "cd src && pytest tests/test_a.py"
    work(mem, clock, "s-1", broken, good("uv run pytest -q"))
    assert ask(mem, lessons_steps_observed.advice_for_command, line) == []
    work(mem, clock, "s-2", broken, good("uv run pytest -q"))
    (advice,) = ask(mem, lessons_steps_observed.advice_for_command, line)
    assert (advice.form, advice.better) == ("pytest", "uv run pytest -q")
    assert (advice.sessions_failed, advice.sessions_succeeded) == (2, 2)
    (better, _) = known(mem, clock)
    assert better.replaces == ("pytest",)
    assert ask(mem, lessons_steps_observed.advice_for_command, "make test") == []


def test_an_error_is_answered_with_what_resolved_it_confirmed_first(
    mem: Mem, clock: Clock, project: Path
) -> None:
    for name in ("s-1", "s-2"):
        calls = ("pytest", FAILED, True), good(f"file:{project}/src/login.py"), good("pytest")
        work(mem, clock, name, *calls)
        given = {"command": "pytest -x"}, FAILED.replace("test_a", "test_b")
        (one,) = ask(mem, lessons_steps_observed.resolutions_for_failure, *given)
        assert one.remedy.files == ("src/login.py",)
        assert (one.sessions, one.confirmed) == ((1, False) if name == "s-1" else (2, True))
    other = {"command": "make docs"}, FAILED
    assert ask(mem, lessons_steps_observed.resolutions_for_failure, *other) == []


def test_files_changed_together_in_two_sessions_are_known(
    mem: Mem, clock: Clock, project: Path
) -> None:
    files = [good(f"file:{project}/{name}") for name in ("src/a.py", "docs/a.md")]
    work(mem, clock, "s-1", *files)
    assert ask(mem, lessons_steps_observed.places_for_file, "src/a.py") == []
    work(mem, clock, "s-2", *files)
    (place,) = ask(mem, lessons_steps_observed.places_for_file, "src/a.py")
    assert (place.files, place.sessions) == (("docs/a.md",), 2)


def test_commands_that_three_sessions_ran_before_a_commit_are_proposed(
    mem: Mem, clock: Clock, project: Path
) -> None:
    calls = (
        good(f"file:{project}/src/a.py"),
        good("make lint && make test"),
        good("git commit -m x"),
    )
    for name in ("s-1", "s-2"):
        work(mem, clock, name, *calls)
    space = mem.context.project_space
    ids = iter(("p-1", "p-2"))

    def propose() -> list[str]:
        return space.write(
            lambda tx: lessons_steps_observed.propose_workflows(tx, clock(), lambda _: next(ids))
        )

    assert propose() == []
    work(mem, clock, "s-3", *calls)
    assert propose() == ["before-commit-lint-test"]
    assert propose() == []
    (procedure,) = mem.procedures.list()
    assert (procedure.status, procedure.label) == ("proposed", "system")


def test_everything_can_be_made_again_from_the_archive(mem: Mem, clock: Clock) -> None:
    work(mem, clock, "s-1", good("make test"))
    before = known(mem, clock)

    def remove(tx: Tx) -> None:
        for table in ("observations", "findings"):
            tx.run(f"DELETE FROM {table} WHERE space = :space")

    mem.context.project_space.write(remove)
    assert known(mem, clock) == []
    mem.episodes.build("s-1")
    assert known(mem, clock) == before


def test_a_secret_in_a_command_is_not_stored(mem: Mem, clock: Clock) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0" + "k1L2m3N4o5P6q7R8"
    failed = f"error: the header {token} was refused by the registry mirror"
    work(mem, clock, "s-1", (f"make test TOKEN={token}", failed, True), good("make test"))
    rows = mem.context.project_space.read(lambda tx: lessons_sql.list_findings(tx, "error", 0, 9))
    assert token.lower() not in str(rows).lower()


# ---------------------------------------------------------------- manifests


def test_scripts_are_read_from_manifests_of_many_kinds(tmp_path: Path) -> None:
    (tmp_path / "package.json").write_text('{"scripts": {"lint": "eslint ."}}')
    (tmp_path / "apps" / "web").mkdir(parents=True)
    (tmp_path / "apps" / "web" / "package.json").write_text('{"scripts": {"dev": "vite"}}')
    (tmp_path / "Makefile").write_text("VAR := 1\ntest: deps\n\tgo test ./...\n.PHONY: test\n")
    (tmp_path / "mise.toml").write_text('[tasks.dup]\nrun = "golangci-lint run"\n')
    (tmp_path / "pyproject.toml").write_text('[tool.poe.tasks]\ncov = "pytest --cov"\n')
    (tmp_path / "justfile").write_text("bench name:\n  cargo bench\n")
    (tmp_path / "Taskfile.yml").write_text("version: 3\ntasks:\n  seed:\n    cmds: []\n")
    scripts, complete = read(str(tmp_path))
    assert complete
    assert {"lint": "eslint .", "dev": "vite", "test": "go test ./..."}.items() <= scripts.items()
    assert {"dup": "golangci-lint run", "cov": "pytest --cov"}.items() <= scripts.items()
    assert {"bench", "seed"} <= scripts.keys()
    assert "VAR" not in scripts


def test_a_manifest_that_cannot_be_read_retires_nothing(tmp_path: Path) -> None:
    assert not read(str(tmp_path)).complete
    (tmp_path / "package.json").write_text('"scripts": {')
    assert not read(str(tmp_path)).complete


@pytest.mark.parametrize(("scripts", "retired"), [(None, False), (["lint"], False), ([], True)])
def test_a_script_that_is_gone_from_its_manifest_retires_its_command(
    scripts: list[str] | None, retired: bool
) -> None:
    body = {
        "wording": "",
        "purpose": "lint",
        "ok": [5],
        "failed": 0,
        "in_a_row": 0,
        "script": "lint",
    }
    command = findings.read_command("npm run lint", body, 6, scripts)
    assert (command.retired == "the script lint is gone") == retired


def test_clearing_hides_what_was_learned_from_work_and_undo_brings_it_back(
    mem: Mem, clock: Clock, project: Path
) -> None:
    files = [good(f"file:{project}/{name}") for name in ("src/a.py", "docs/a.md")]
    fixed = ("pytest", FAILED, True), good(f"file:{project}/src/a.py"), good("pytest")
    given = {"command": "pytest -x"}, FAILED

    def everything() -> list[Any]:
        return [
            [(one.form, one.sessions_succeeded) for one in known(mem, clock)],
            ask(mem, lessons_steps_observed.resolutions_for_failure, *given),
            ask(mem, lessons_steps_observed.places_for_file, "src/a.py"),
            {kind for kind in KINDS if ask(mem, lessons_sql.list_findings, kind, 0, 1)},
        ]

    for name in ("s-1", "s-2"):
        work(mem, clock, name, *files, *fixed, good("make test"))
    before = everything()
    assert all(before)
    cleared = mem.memories.clear(apply=True)
    assert cleared.lessons and cleared.undo
    clock.advance(seconds=1)
    assert not any(everything())
    work(mem, clock, "s-3", good("make test"))
    assert everything() == [[("make test", 1)], [], [], {"command"}]
    mem.memories.undo_clear()
    commands, *rest = everything()
    assert ("make test", 3) in commands and rest == before[1:]


@pytest.mark.parametrize(
    ("changes", "others", "told"),
    [
        ({}, (), None),
        ({"purpose": "install"}, (), "every project has such a command"),
        ({"purpose": ""}, (), "with an unknown purpose"),
        ({"aimed": True}, (), "for one target only"),
        ({"aimed": True, "below": "src"}, (), None),
        ({}, range(6, 14), "not in 8 sessions since"),
        ({"ok": [4, 5]}, range(6, 14), None),
    ],
)
def test_a_command_that_worked_once_is_shown_only_if_it_says_something_of_the_project(
    changes: dict[str, Any], others: Sequence[int], told: str | None
) -> None:
    body = {"wording": "", "purpose": "test", "ok": [5], "failed": 0, "in_a_row": 0, **changes}
    retired = findings.read_command("tool go", body, 20, None, others).retired
    assert retired is None if told is None else told in str(retired)


def test_a_question_how_to_run_something_is_answered_with_the_commands_that_worked(
    mem: Mem, clock: Clock
) -> None:
    for number in range(3):
        work(mem, clock, f"s{number}", good("make test"), good("npm run lint"), good("make deploy"))
        clock.advance(days=1)
    found = mem.recall("how do I run the tests")
    (line,) = found.commands
    assert line.startswith("test: `make test` worked in 3 sessions")
    assert not any(hit.role in ("assistant", "tool") for hit in found), "what they were read from"
    assert (
        mem.recall("which command is for linting?").commands[0].startswith("lint: `npm run lint`")
    )
    for other in ("why did the tests fail", "how did we fix the lint", "how do I deploy"):
        assert mem.recall(other).commands == ()
    assert mem.recall("how do I run the tests", kind=["fact"]).commands == ()


def test_a_command_that_holds_a_word_of_the_question_comes_before_more_used_ones(
    mem: Mem, clock: Clock
) -> None:
    for number in range(3):
        work(mem, clock, f"s{number}", good("pnpm --filter api test"))
        clock.advance(days=1)
    work(mem, clock, "s9", good("pnpm --filter e2e test"))
    for asked, first in (("the tests", "api"), ("the e2e tests locally", "e2e")):
        assert (
            f"`pnpm --filter {first} test`"
            in mem.recall(f"how do I run {asked}").commands[0].partition(";")[0]
        ), asked


def test_a_known_command_does_not_hide_what_an_agent_explained(mem: Mem, clock: Clock) -> None:
    for number in range(3):
        work(mem, clock, f"s{number}", good("make test"))
        clock.advance(days=1)
    told = "To test the payment webhook, run stripe listen beside the server first."
    mem.record("s9", Message("assistant", told))
    found = mem.recall("how do we test the payment webhook")
    assert found.commands and told in [hit.text for hit in found]


def test_the_id_of_a_lesson_shows_where_it_came_from(mem: Mem, clock: Clock) -> None:
    broken, fixed = ("pytest -q", NO_MODULE, True), good("PYTHONPATH=src pytest -q")
    work(mem, clock, "s-1", broken, fixed)
    work(mem, clock, "s-2", broken, fixed)
    lessons = mem.lessons.list()
    command, fix = lessons.commands[0].command, lessons.fixes[0]
    shown = mem.show(f"command:{command}").lesson
    assert shown and (shown.text, shown.status) == ("PYTHONPATH=src pytest -q", "in use")
    assert [one.what for one in shown.sources[:2]] == [
        "worked: PYTHONPATH=src pytest -q",
        "failed: pytest -q",
    ]
    shown = mem.show(fix.id).lesson
    assert shown and shown.text == fix.error
    assert {one.what for one in shown.sources} == {
        "went away after running `pytest` with `PYTHONPATH=src`"
    }
    for id in (fix.id, "command:pytest", f"avoid:{command}"):
        sources = mem.memories.blame(id).sources
        assert sources == ("memory://session/s-2", "memory://session/s-1")
    with pytest.raises(recollect.NotFound):
        mem.show("fix:000000")
    (day,) = mem.episodes.learnings()
    assert {one.resolution for one in day.learnings} == {"ran `PYTHONPATH=src pytest -q`"}


def test_recall_finds_a_fix_by_its_error(mem: Mem, clock: Clock) -> None:
    down = ("docker compose up", "Cannot connect to the Docker daemon. Is it running?", True)
    steps = down, good("systemctl start docker"), good("docker compose up")
    work(mem, clock, "s-1", *steps, goal="Let's use Postgres for orders, and start the stack")
    found = mem.recall("docker daemon")
    (fix,) = found.fixes
    assert fix.startswith("`Cannot connect to the Docker daemon. Is it running?`: Unconfirmed: ")
    assert "after running `systemctl start docker` [fix:" in fix
    (episode,) = [hit for hit in found if hit.kind == "episode"]
    assert "; in it: Cannot connect to the Docker daemon" in episode.text
    assert mem.recall("orders").fixes == ()
    mem.memories.hide(fix.rpartition("[")[2].rstrip("]"))
    assert mem.recall("docker daemon").fixes == ()


def test_a_fix_that_needs_root_is_listed_for_the_person_only(mem: Mem, clock: Clock) -> None:
    down = ("docker compose up", "Cannot connect to the Docker daemon. Is it running?", True)
    steps = down, good("sudo systemctl start docker"), good("docker compose up")
    work(mem, clock, "s-1", *steps)
    (fix,) = mem.lessons.list().fixes
    assert "`systemctl start docker` as root" in fix.fix
    assert mem.recall("docker daemon").fixes == ()
