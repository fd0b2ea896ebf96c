"""Connect agents: exactly the shown changes are written, and removal leaves nothing."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.agents import events, registry, steps_hooks
from recollect.agents.settings import plan_io
from recollect.interfaces.screens.results import show
from recollect.types import reports

FOREIGN = {
    ".claude/settings.json": '{\n  "model": "opus",\n  "hooks": {"Stop": [{"hooks": [{"type": "command", "command": "say done"}]}]}\n}\n',
    ".claude.json": '{"projects": {}, "mcpServers": {"other": {"command": "x"}}}',
    ".codex/hooks.json": '{\n\t"hooks": {}\n}',
    ".codex/config.toml": '# mine\nmodel = "gpt"\n\n[mcp_servers.other]\ncommand = "x"',
    ".gemini/settings.json": '{"theme": "dark", "mcpServers": {}}\r\n',
    ".config/opencode/opencode.jsonc": '{\n  // a comment\n  "theme": "dark",\n}\n',
    ".cursor/hooks.json": '{"version": 1, "hooks": {}}\n',
    ".cursor/mcp.json": "{}\n",
    ".copilot/mcp-config.json": '{\n  "mcpServers": {}\n}',
}
Memory = Callable[[], recollect.Recollect]
SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home in which every agent has settings of its own."""
    home = tmp_path / "home-of-agents"
    for name, text in FOREIGN.items():
        path = home / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text.encode())
        path.chmod(0o640)
    return home


@pytest.fixture
def variables(home: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(home),
        "RECOLLECT_HOME": str(tmp_path / "h"),
        "PATH": os.environ["PATH"],
        "TERM": "dumb",
    }


@pytest.fixture
def opened(project: Path, variables: dict[str, str]) -> Memory:
    return lambda: recollect.open(project, environment=variables)


def files(home: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


def states(done: reports.Initialised) -> set[str]:
    return {change.state for change in done.changes}


def test_setup_check_and_removal_leave_foreign_settings_byte_identical(
    home: Path, opened: Memory
) -> None:
    before = files(home)
    with opened() as memory:
        planned = memory.agents.init()
        assert {change.agent for change in planned.changes} == set(registry.AGENTS_WITH_HOOKS)
        assert (states(planned), planned.applied, planned.ok) == ({"missing"}, False, True)
        assert files(home) == before
        assert not memory.agents.init(check=True).ok
        assert memory.agents.init(yes=True).applied
        connected = files(home)
        checked = memory.agents.init(check=True)
        assert (checked.ok, states(checked)) == (True, {"current"})
        assert not any(change.pending for change in memory.agents.init(yes=True).changes)
        assert files(home) == connected
        for name, text in FOREIGN.items():
            assert connected[name] != text.encode(), name
        memory.agents.init(remove=True, yes=True)
    assert files(home) == before
    assert (home / ".claude/settings.json").stat().st_mode & 0o777 == 0o640


@pytest.mark.parametrize("blank", ["", "\n", "  \n\n\n", None])
def test_removal_restores_an_empty_file_and_removes_a_created_one(
    home: Path, opened: Memory, blank: str | None
) -> None:
    for name in FOREIGN:
        (home / name).unlink()
        if blank is not None:
            (home / name).write_text(blank)
    before = files(home)
    with opened() as memory:
        memory.agents.init(yes=True)
        assert states(memory.agents.init(check=True)) == {"current"}
        # Written by another version: it is replaced, and what was there is still known.
        for name in (".claude/settings.json", ".codex/config.toml"):
            text = (home / name).read_text()
            (home / name).write_text(text.replace("/recollect", "/old/recollect"))
        assert "stale" in states(memory.agents.init(check=True))
        memory.agents.init(yes=True)
        assert states(memory.agents.init(check=True)) == {"current"}
        memory.agents.init(remove=True, yes=True)
    assert files(home) == before


def test_no_empty_folder_is_left_in_a_repository(project: Path, opened: Memory) -> None:
    (project / ".cursor" / "rules").mkdir(parents=True)
    with opened() as memory:
        memory.agents.init(scope="project", yes=True)
        assert (project / ".opencode" / "plugins" / "recollect.js").exists()
        memory.agents.init(scope="project", remove=True, yes=True)
    assert {path.name for path in project.iterdir()} == {".cursor", ".recollect"}
    assert (project / ".cursor" / "rules").is_dir()


def test_doctor_claims_no_plugin_when_the_hooks_were_removed(
    project: Path, opened: Memory, variables: dict[str, str]
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
        firing = events.HookRun("2026-01-01T00:00:00Z", "claude-code", "stop", 40, "ok")
        steps_hooks.append_run(str(project), variables, firing)
        told = {check.name: check.detail for check in memory.store.doctor().checks}
        assert "connected, last used 2026-01-01" in told["agent claude-code"]
        memory.agents.init(agent=["claude-code"], remove=True, yes=True)
        told = {check.name: check.detail for check in memory.store.doctor().checks}
    assert told["agent claude-code"].startswith("not in its settings")


def test_a_hook_that_failed_in_one_directory_is_no_fault_of_another_project(
    project: Path, opened: Memory, variables: dict[str, str], tmp_path: Path
) -> None:
    elsewhere = tmp_path / "read-only"
    elsewhere.mkdir()
    failed = events.HookRun("2026-01-01T00:00:00Z", "claude-code", "stop", 40, "store_read_only")
    steps_hooks.append_run(str(elsewhere), variables, failed)
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
        told = {check.name: check for check in memory.store.doctor().checks}
    assert told["agent claude-code"].ok
    assert "failed" not in told["agent claude-code"].detail
    with recollect.open(elsewhere, environment=variables) as memory:
        told = {check.name: check for check in memory.store.doctor().checks}
    assert "1 of the last 1 hooks failed: store_read_only" in told["agent claude-code"].detail


def test_files_of_a_killed_writer_are_removed(home: Path, opened: Memory) -> None:
    folder = home / ".claude"
    old, young, other = (
        folder / f"settings.json.{end}"
        for end in ("0a1b2c3d.partial", "1a1b2c3d.partial", "x.partial")
    )
    for path in (old, young, other):
        path.write_text("half")
    for path in (old, other):
        os.utime(path, (1, 1))
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
    assert [path.exists() for path in (old, young, other)] == [False, True, True]


def test_each_agent_can_be_connected_alone(home: Path, opened: Memory) -> None:
    for agent in registry.AGENTS_WITH_HOOKS:
        before = files(home)
        with opened() as memory:
            done = memory.agents.init(agent=[agent], yes=True)
            assert {change.agent for change in done.changes} == {agent}
            assert memory.agents.init(agent=[agent], check=True).ok
            memory.agents.init(agent=[agent], remove=True, yes=True)
        assert files(home) == before


def test_the_former_text_of_a_file_is_backed_up(
    home: Path, opened: Memory, variables: dict[str, str]
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
    kept = list((Path(variables["RECOLLECT_HOME"]) / "backups" / "agents").iterdir())
    assert {path.read_text() for path in kept} == {
        FOREIGN[".claude/settings.json"],
        FOREIGN[".claude.json"],
    }
    assert {path.stat().st_mode & 0o777 for path in kept} == {0o600}


def test_a_file_that_cannot_be_parsed_is_not_changed(home: Path, opened: Memory) -> None:
    broken = home / ".gemini" / "settings.json"
    broken.write_text('{"theme": ')
    with opened() as memory:
        done = memory.agents.init(yes=True)
    assert not done.ok
    assert [change.agent for change in done.changes if change.error] == ["gemini"]
    assert broken.read_text() == '{"theme": '
    assert "recollect" in (home / ".cursor" / "mcp.json").read_text()


def test_an_agent_with_a_broken_file_is_not_half_connected(home: Path, opened: Memory) -> None:
    broken = home / ".claude" / "settings.json"
    broken.write_text('{"model": "opus", ')
    before = (home / ".claude.json").read_bytes()
    for agents in (["claude-code"], ["claude-code", "codex"]):
        with opened() as memory:
            done = memory.agents.init(agent=agents, yes=True)
        told = show("init", done)
        assert not done.ok
        assert (home / ".claude.json").read_bytes() == before
        assert "BAD  claude-code" in told and "because of the error in settings.json" in told
        assert "Nothing was changed" not in told and "start a new session" not in told
        assert ("to finish" in told) == ("codex" in agents)
    assert "recollect" in (home / ".codex" / "config.toml").read_text()


def test_a_file_that_changed_since_the_plan_is_not_changed(
    home: Path, project: Path, tmp_path: Path
) -> None:
    where = plan_io.SettingsPlaces(str(home), str(project), {})
    changes = plan_io.plan_changes(("cursor",), where, ("/bin/recollect",), remove=False)
    (home / ".cursor" / "hooks.json").write_text('{"version": 1, "hooks": {"stop": []}}')
    with pytest.raises(recollect.Conflict):
        plan_io.apply_changes(changes, str(tmp_path / "backups"), "now")
    assert (home / ".cursor" / "hooks.json").read_text() == '{"version": 1, "hooks": {"stop": []}}'


def test_a_linked_file_stays_a_link(home: Path, opened: Memory, tmp_path: Path) -> None:
    real = tmp_path / "dotfiles.json"
    real.write_text("{}\n")
    link = home / ".cursor" / "mcp.json"
    link.unlink()
    link.symlink_to(real)
    with opened() as memory:
        memory.agents.init(agent=["cursor"], yes=True)
    assert link.is_symlink()
    assert "recollect" in real.read_text()


def test_a_link_in_a_repository_is_not_followed(
    home: Path, project: Path, opened: Memory, tmp_path: Path
) -> None:
    (project / ".mcp.json").symlink_to(tmp_path / "anywhere.json")
    (project / ".claude").symlink_to(home / ".claude")
    before = files(home)
    with opened() as memory:
        done = memory.agents.init(agent=["claude-code"], scope="project", yes=True)
    assert ["leads out of the project" in change.error for change in done.changes] == [True, True]
    assert not (tmp_path / "anywhere.json").exists()
    assert files(home) == before


def test_a_pipe_in_place_of_a_settings_file_does_not_block(home: Path, opened: Memory) -> None:
    for name, make in ((".cursor/mcp.json", os.mkfifo), (".cursor/hooks.json", os.mkdir)):
        (home / name).unlink()
        make(home / name)
    with opened() as memory:
        done = memory.agents.init(agent=["cursor"], yes=True)
        assert all("cannot be read" in change.error for change in done.changes)
        assert not memory.store.doctor().ok


def test_an_agent_whose_settings_were_moved_is_found_there(
    project: Path, variables: dict[str, str], tmp_path: Path
) -> None:
    moved = {name: tmp_path / name for name in ("CLAUDE_CONFIG_DIR", "CODEX_HOME")}
    for folder in moved.values():
        folder.mkdir()
    elsewhere = {name: str(folder) for name, folder in moved.items()}
    environment = {**variables, "HOME": str(tmp_path / "nobody"), **elsewhere}
    with recollect.open(project, environment=environment) as memory:
        memory.agents.init(yes=True)
    written = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.glob("C*/*"))
    assert written == [
        "CLAUDE_CONFIG_DIR/.claude.json",
        "CLAUDE_CONFIG_DIR/settings.json",
        "CODEX_HOME/config.toml",
        "CODEX_HOME/hooks.json",
    ]


def test_only_the_wanted_scope_is_written(home: Path, project: Path, opened: Memory) -> None:
    before = files(home)
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], scope="project", yes=True)
        with pytest.raises(recollect.InvalidInput):
            memory.agents.init(scope="galaxy")
    assert files(home) == before
    assert json.loads((project / ".mcp.json").read_text())["mcpServers"]["recollect"]


def test_the_commands_that_agents_are_given_run(
    home: Path, opened: Memory, project: Path, variables: dict[str, str]
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
    settings = json.loads((home / ".claude" / "settings.json").read_text())
    line = settings["hooks"]["UserPromptSubmit"][0]["hooks"][0]["command"]
    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s", "cwd": str(project)}
    payload["prompt"] = "Don't ever push directly to main."
    done = subprocess.run(
        line, shell=True, env=variables, input=json.dumps(payload), capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    assert "recollect undo m-" in json.loads(done.stdout)["systemMessage"]


def test_agents_that_were_never_started_are_offered(
    project: Path, tmp_path: Path, variables: dict[str, str]
) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    for name in ("codex", "gemini"):
        (programs / name).write_text("#!/bin/sh\n")
        (programs / name).chmod(0o755)
    new = tmp_path / "new-home"
    (new / ".codex").mkdir(parents=True)
    environment = {**variables, "HOME": str(new), "PATH": str(programs)}
    with recollect.open(project, environment=environment, origin="user") as memory:
        done = memory.agents.init()
        assert done.unstarted == ("gemini",)
        assert "never started: gemini. Connect: recollect init gemini" in show("init", done)
        assert memory.agents.init(agent=["gemini"]).unstarted == ()
    (new / ".codex").rmdir()
    with recollect.open(project, environment=environment, origin="user") as memory:
        assert memory.store.status().next[0].command == "recollect init codex gemini"


def test_agents_are_named_without_an_option(project: Path, variables: dict[str, str]) -> None:
    def init(*words: str) -> str:
        given = [sys.executable, "-m", "recollect", "init", *words, "-C", str(project)]
        return subprocess.run(given, env=variables, capture_output=True, text=True).stdout

    said = init("claude", "codex")
    assert "claude-code  hooks" in said and "codex        hooks" in said
    assert "gemini" not in said


def test_print_and_check_create_nothing(home: Path, project: Path, opened: Memory) -> None:
    before = files(home)
    with opened() as memory:
        memory.agents.init(diff=True)
        memory.agents.init(check=True)
        memory.agents.init(check=True, yes=True)
    assert files(home) == before
    assert list(project.iterdir()) == []


def test_doctor_says_which_agents_are_connected(opened: Memory) -> None:
    with opened() as memory:
        memory.agents.init(agent=["codex"], yes=True)
        told = {check.name: check for check in memory.store.doctor().checks}
    assert "connected, not used yet" in told["agent codex"].detail
    assert "not connected" in told["agent cursor"].detail
    assert "0 of 7 hooks are approved: run /hooks" in told["agent codex"].detail
    assert told["agent cursor"].ok and not told["agent codex"].ok


def test_doctor_tells_what_needs_approval_from_what_is_broken(home: Path, opened: Memory) -> None:
    with opened() as memory:
        memory.agents.init(agent=["codex", "cursor"], yes=True)
        (home / ".cursor" / "mcp.json").write_text("{")
        told = {check.name: check for check in memory.store.doctor().checks}
    codex, cursor = told["agent codex"], told["agent cursor"]
    assert (codex.ok, codex.waits) == (False, True)
    assert "needs approval: " in codex.detail
    assert (cursor.ok, cursor.waits) == (False, False)
    assert "needs approval" not in cursor.detail


@pytest.mark.parametrize(("late", "ok"), [(1, True), (10, False)])
def test_doctor_says_when_hooks_run_out_of_time(
    project: Path, variables: dict[str, str], opened: Memory, late: int, ok: bool
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["cursor"], yes=True)
        for number in range(40):
            outcome = events.TOO_LATE if number < late else "ok"
            run = events.HookRun(f"2026-01-01T10:{number}", "cursor", "stop", 3000, outcome)
            steps_hooks.append_run(str(project), variables, run)
        told = {check.name: check for check in memory.store.doctor().checks}["agent cursor"]
    assert f"{late} of the last 40 hooks ran out of time" in told.detail
    assert told.ok == ok


def approve(home: Path, scope: str, project: Path, switched_off: str = "") -> None:
    """Note the approval of every hook in a file, as Codex does."""
    path = (home if scope == "user" else project) / ".codex" / "hooks.json"
    lines = []
    for event, groups in json.loads(path.read_text())["hooks"].items():
        snake = re.sub("(?<!^)([A-Z])", r"_\1", event).lower()
        for group, held in enumerate(groups):
            for place, _ in enumerate(held["hooks"]):
                lines.append(f'[hooks.state."{path}:{snake}:{group}:{place}"]')
                lines.append(
                    f'trusted_hash = "sha256:0"\nenabled = {str(snake != switched_off).lower()}'
                )
    with (home / ".codex" / "config.toml").open("a") as file:
        file.write("\n" + "\n".join(lines) + "\n")


@pytest.mark.parametrize("scope", ["user", "project"])
def test_doctor_reads_what_the_user_approved_in_codex(
    home: Path, project: Path, opened: Memory, scope: str
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["codex"], scope=scope, yes=True)
        approve(home, scope, project)
        told = {check.name: check for check in memory.store.doctor().checks}["agent codex"]
        assert (told.ok, "connected, hooks approved" in told.detail) == (True, True)
        memory.agents.init(agent=["codex"], scope=scope, remove=True, yes=True)
        assert (
            "approved"
            not in {c.name: c.detail for c in memory.store.doctor().checks}["agent codex"]
        )


@pytest.mark.parametrize("name", ["marks", "tui", "mcp-add"])
def test_codex_may_rewrite_its_settings_after_init(home: Path, opened: Memory, name: str) -> None:
    config = home / ".codex" / "config.toml"
    (home / ".codex" / "hooks.json").unlink()
    with opened() as memory:
        memory.agents.init(agent=["codex"], yes=True)
        ours = tomllib.loads(config.read_text())["mcp_servers"]["recollect"]["command"]
        text = (SAMPLES / f"codex-0.166.0.config-{name}.toml").read_text()
        text = text.replace("/home/dev", str(home)).replace("/opt/recollect/bin/recollect", ours)
        config.write_text(text)
        checked = memory.agents.init(agent=["codex"], check=True)
        assert (checked.ok, states(checked)) == (True, {"current"})
        told = {check.name: check for check in memory.store.doctor().checks}["agent codex"]
        # The settings were recorded before we had a hook before tool calls.
        assert "6 of 7 hooks are approved" in told.detail
        assert memory.agents.init(agent=["codex"], remove=True, yes=True).ok
    expected = tomllib.loads(text)
    del expected["mcp_servers"]["recollect"]
    left = tomllib.loads(config.read_text())
    assert {"mcp_servers": {}, **left} == expected


def test_a_hook_that_was_switched_off_in_codex_is_not_trusted(
    home: Path, project: Path, opened: Memory
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["codex"], yes=True)
        approve(home, "user", project, switched_off="stop")
        told = {check.name: check for check in memory.store.doctor().checks}["agent codex"]
    assert not told.ok and "6 of 7 hooks" in told.detail


def test_doctor_reads_what_the_user_approved_in_gemini(
    home: Path, project: Path, opened: Memory
) -> None:
    noted = home / ".gemini" / "trusted_hooks.json"
    with opened() as memory:

        def said() -> tuple[bool, str]:
            told = {check.name: check for check in memory.store.doctor().checks}["agent gemini"]
            return told.ok, told.detail

        memory.agents.init(agent=["gemini"], yes=True)
        assert said()[0], "the user's own hooks need no approval"
        memory.agents.init(agent=["gemini"], scope="project", yes=True)
        assert said()[0] is False and "0 of 6 hooks are approved" in said()[1]
        written = json.loads((project / ".gemini" / "settings.json").read_text())
        command = written["hooks"]["SessionStart"][0]["hooks"][0]["command"]
        noted.write_text(json.dumps({str(project): [f"recollect:{command}"]}))
        assert said()[0]
        noted.write_text("not JSON")
        assert not said()[0]


def test_doctor_reads_whether_claude_code_trusts_the_folder(
    home: Path, project: Path, opened: Memory
) -> None:
    noted = home / ".claude.json"

    def said(entry: object) -> tuple[bool, str]:
        told = json.loads(noted.read_text())
        noted.write_text(json.dumps(told | {"projects": {str(project.parent): entry}}))
        found = {check.name: check for check in memory.store.doctor().checks}["agent claude-code"]
        return found.ok, found.detail

    with opened() as memory:
        memory.agents.init(agent=["claude-code"], yes=True)
        assert said({}) == (True, "connected, not used yet")
        ok, detail = said({"hasTrustDialogAccepted": False})
        assert not ok and "accept its trust dialog" in detail
        ok, detail = said({"hasTrustDialogAccepted": True})
        assert ok and "hooks approved" in detail
        for odd in ("[]", '{"projects": 7}', '{"projects": {"/": 7}}'):
            noted.write_text(odd)
            memory.store.doctor()


def test_doctor_says_which_part_is_missing_and_which_file_is_broken(
    home: Path, opened: Memory
) -> None:
    with opened() as memory:
        memory.agents.init(agent=["cursor"], yes=True)
        (home / ".cursor" / "mcp.json").write_text("{ broken")
        told = {check.name: check for check in memory.store.doctor().checks}["agent cursor"]
    assert not told.ok
    assert "connected (hooks; no mcp" in told.detail
    assert f"{home / '.cursor' / 'mcp.json'}: not valid JSON" in told.detail


def past(home: Path, project: Path, count: int) -> None:
    """Conversations that an agent wrote down before we came."""
    folder = home / ".claude" / "projects" / re.sub("[^A-Za-z0-9]", "-", str(project))
    folder.mkdir(parents=True)
    for number in range(count):
        record = {
            "type": "user",
            "uuid": f"u{number}",
            "sessionId": f"s{number}",
            "cwd": str(project),
            "timestamp": "2026-03-01T10:00:00Z",
            "message": {"role": "user", "content": f"question {number}"},
        }
        (folder / f"s{number}.jsonl").write_text(json.dumps(record) + "\n")


def test_init_counts_past_conversations_and_imports_them_on_request(
    home: Path, project: Path, opened: Memory
) -> None:
    past(home, project, 3)
    with opened() as memory:
        assert memory.agents.init(diff=True).past == 0
        assert memory.agents.init().past == 3
        assert memory.store.stats().messages == 0
        done = memory.agents.init(import_=True)
        assert (done.past, done.imported and done.imported.messages) == (0, 3)
        assert memory.agents.init().past == 0


@pytest.mark.parametrize(("answer", "written"), [
    ("y", True), ("n", False), ("", False), ("d\ny", True), ("cursor", True), ("codex\nn", False)
])  # fmt: skip
def test_a_user_sees_a_summary_and_is_asked(
    home: Path, project: Path, variables: dict[str, str], answer: str, written: bool
) -> None:
    primary, secondary = pty.openpty()
    process = subprocess.Popen(
        [sys.executable, "-m", "recollect", "init", "--agent", "cursor"],
        cwd=project, env=variables, stdin=secondary, stdout=secondary, stderr=secondary,
    )  # fmt: skip
    os.close(secondary)
    os.write(primary, f"{answer}\n".encode())
    told = b""
    try:
        while chunk := os.read(primary, 4096):
            told += chunk
    except OSError:
        pass
    assert process.wait() == 0, told
    os.close(primary)
    assert b"Write 2 files? A backup of each is kept. [y/N]" in told
    shown = b"beforeSubmitPrompt" in told
    assert shown == (answer == "d\ny"), "the changed lines are shown on request"
    assert (b"backups:" in told) == written
    assert ("recollect" in (home / ".cursor" / "mcp.json").read_text()) == written


def test_the_plugin_has_the_hooks_the_server_and_skills_by_the_convention(
    project: Path, tmp_path: Path, opened: Memory
) -> None:
    with opened() as memory:
        done = memory.agents.plugin(str(tmp_path / "plugin"))
        assert memory.agents.plugin(str(tmp_path / "plugin")) == done
    folder = Path(done.path)
    assert json.loads((folder / ".claude-plugin/plugin.json").read_text())["name"] == "recollect"
    events = json.loads((folder / "hooks/hooks.json").read_text())["hooks"]
    assert {"SessionStart", "UserPromptSubmit", "PreCompact", "Stop", "SessionEnd"} <= set(events)
    assert "recollect" in json.loads((folder / ".mcp.json").read_text())["mcpServers"]
    skills = sorted((folder / "skills").iterdir())
    assert len(skills) == 2
    for skill in skills:
        head, body = (skill / "SKILL.md").read_text().removeprefix("---\n").split("\n---\n")
        fields = dict(line.split(": ", 1) for line in head.splitlines())
        assert set(fields) == {"name", "description", "license"}
        assert fields["name"] == skill.name
        assert len(fields["description"]) <= 1024
        assert body.strip().startswith("# ")


def test_a_plugin_is_not_written_to_a_foreign_folder(tmp_path: Path, opened: Memory) -> None:
    (tmp_path / "notes.txt").write_text("mine")
    with opened() as memory, pytest.raises(recollect.Refused):
        memory.agents.plugin(str(tmp_path))
