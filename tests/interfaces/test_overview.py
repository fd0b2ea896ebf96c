"""Status, seen, pause, sizes, settings, edit and undo, as a person uses them."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import recollect
from recollect.agents import steps_hooks
from recollect.briefing import instruction_files_io
from recollect.interfaces.screens import terminal
from recollect.interfaces.screens.results import show
from tests.conftest import Clock
from tests.interfaces.screens import load_tool
from tests.interfaces.test_origin import SERVER

AtTerminal = Callable[..., str]


@pytest.fixture
def at_terminal(project: Path, variables: dict[str, str]) -> AtTerminal:
    """Runs a command at a person's terminal; returns the screen."""
    tool = load_tool()

    def run(*words: str, keys: tuple[tuple[str, str], ...] = (), **more: str) -> str:
        command = [sys.executable, "-c", SERVER, sys.executable, "-m", "recollect", *words]
        environment = {
            **variables,
            "TERM": "xterm",
            "NO_COLOR": "1",
            "COLUMNS": "100",
            "LINES": "40",
            "RECOLLECT_PAGER": "cat",
            **more,
        }
        said, _ = tool.run(command, (100, 40), environment, project, keys)
        return str(said).replace("\r", "")

    return run


# ---------------------------------------------------------------- settings


def test_what_a_repository_raises_in_vain_is_told(project: Path, variables: dict[str, str]) -> None:
    (project / "recollect.toml").write_text("recall_limit = 5\nbriefing_budget = 2000\n")
    with recollect.open(project, environment=variables) as memory:
        assert memory.config.get("briefing_budget")[1:3] == ("800", "default")
        assert memory.config.get("briefing_budget").ignored == "2000"
        assert memory.config.get("recall_limit").ignored == ""
        told = "briefing_budget = 2000 in recollect.toml has no effect"
        assert show("config list", memory.config.list()).count(told) == 1
        (check,) = [one for one in memory.store.doctor().checks if one.name == "settings"]
        assert check.ok and "recollect.toml:2: briefing_budget = 2000" in check.detail


# ---------------------------------------------------------------- status


def test_status_tells_what_is_there_and_what_to_do_next(mem: recollect.Recollect) -> None:
    empty = mem.store.status()
    assert not empty.by_kind and not empty.messages
    assert [step.command for step in empty.next] == [
        "recollect init NAME",
        'recollect learn "…"',
    ]
    mem.learn("Never push to main", kind="policy")
    mem.record("s-1", "hello")
    mem.context.origin = "agent"
    mem.learn("Always use tabs", kind="preference")
    status = mem.store.status()
    assert status.by_kind == {"policy": 1, "preference": 1}
    assert (status.sessions, status.messages, status.waiting) == (1, 1, 1)
    assert status.start_tokens > 0
    assert "recollect review" in [step.command for step in status.next]
    assert "2 memories: 1 policy, 1 preference" in show("status", status)


def test_status_makes_no_store(project: Path, variables: dict[str, str]) -> None:
    with recollect.open(project, environment=variables) as memory:
        assert not memory.store.status().exists
    assert os.listdir(project) == []


# ---------------------------------------------------------------- what agents were shown


def test_seen_says_what_a_session_was_shown_and_why(mem: recollect.Recollect) -> None:
    assert mem.agents.seen().items == ()
    rule = mem.learn("Never push to main", kind="policy").id
    mem.briefing(session="claude-code.5b0c")
    seen = mem.agents.seen("claude-code")
    assert seen.session == "claude-code.5b0c"
    (item,) = seen.items
    assert (item.id, item.kind, item.moment) == (rule, "policy", "start")
    assert item.why and item.tokens < seen.tokens == mem.store.status().start_tokens
    assert mem.agents.seen() == seen
    with pytest.raises(recollect.NotFound):
        mem.agents.seen("codex")


def test_one_key_stops_an_item(
    at_terminal: AtTerminal, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn("Never push to main", kind="policy")
        memory.briefing(session="s-1")
    said = at_terminal("seen", keys=(("q quits", "a"),))
    assert "policy: Never push to main (hidden now)" in said
    with recollect.open(project, environment=variables, origin="user") as memory:
        assert not memory.list()
        assert memory.store.undo().what.startswith("hid ")
        assert memory.list()


# ---------------------------------------------------------------- pause


def test_a_pause_silences_the_hooks_until_resumed(project: Path, variables: dict[str, str]) -> None:
    from recollect.agents.events import Event
    from recollect.agents.operations_events import answer_event
    from recollect.opening import open_context

    with recollect.open(project, environment=variables, origin="user") as memory:
        memory.learn("Never push to main", kind="policy")

    def start(session: str) -> str:
        context = open_context(str(project), variables, incognito=False, origin="user")
        event = Event("codex", "session_start", "SessionStart", session, cwd=str(project))
        return answer_event(context, event).context

    assert "Never push to main" in start("s-1")
    with recollect.open(project, environment=variables, origin="user") as memory:
        assert memory.agents.pause().changed
        assert not memory.agents.pause().changed
        assert memory.store.status().paused == "project"
        assert start("s-2") == ""
        assert memory.agents.resume().changed
        assert "Never push to main" in start("s-3")
        memory.agents.pause(all=True)
        assert start("s-4") == ""
        assert memory.agents.resume().still == "all"
        assert memory.agents.resume(all=True).still == ""
    with recollect.open(project, environment=variables, origin="agent") as memory:
        with pytest.raises(recollect.Refused):
            memory.agents.pause()
        assert steps_hooks.find_pause(variables, str(project)) == ""


# ---------------------------------------------------------------- sizes and settings


def test_sizes_add_up_to_the_store(mem: recollect.Recollect) -> None:
    mem.learn("a fact")
    mem.record("s-1", "hello")
    sizes = mem.store.sizes()
    assert {part.name for part in sizes.project} >= {"memories", "conversations", "log"}
    assert sum(part.bytes for part in sizes.project) > 50_000
    assert [part.bytes for part in sizes.project] == sorted(
        (part.bytes for part in sizes.project), reverse=True
    )
    assert "how to reduce it" in show("sizes", sizes)


def test_settings_are_read_written_and_traced_to_their_source(
    project: Path, variables: dict[str, str]
) -> None:
    def opened(**more: str) -> recollect.Recollect:
        return recollect.open(project, environment={**variables, **more}, origin="user")

    with opened() as memory:
        assert memory.config.get("briefing_budget")[1:3] == ("800", "default")
        done = memory.config.set("briefing_budget", "300")
        assert Path(done.path).read_text() == "briefing_budget = 300\n"
        Path(done.path).write_text(
            "# mine\nbriefing_budget = 300 # low\n\n[embedder]\nmodel = 'x'\n"
        )
        memory.config.set("briefing_budget", "200")
        memory.config.set("capture", "off")
        assert Path(done.path).read_text() == (
            "# mine\nbriefing_budget = 200\n\ncapture = false\n[embedder]\nmodel = 'x'\n"
        )
        assert memory.config.set("memories.maxRolloutAgeDays", "9").name == (
            "memories_max_rollout_age_days"
        )
        memory.config.unset("memories.maxRolloutAgeDays")
        memory.config.set("recall_limit", "5", scope="project")
        assert (project / "recollect.toml").read_text() == "recall_limit = 5\n"
        assert memory.config.get("recall_limit")[1:3] == ("5", "project")
    with opened(RECOLLECT_BRIEFING_BUDGET="100", RECOLLECT_EMBEDDER_KEY="sk-1") as memory:
        assert memory.config.unset("briefing_budget")[3:] == ("100", "environment")
        assert memory.config.get("embedder_key").value == "(set, not shown)"
        assert {one.name for one in memory.config.list()} >= {"mode", "database"}
        with pytest.raises(recollect.InvalidInput, match="can only reduce recall_limit"):
            memory.config.set("recall_limit", "50", scope="project")
        for wrong in (("briefing_budget", "lots"), ("briefing_bugdet", "1"), ("mode", "quiet")):
            with pytest.raises(recollect.ConfigError):
                memory.config.set(*wrong)
        with pytest.raises(recollect.InvalidInput):
            memory.config.set("database", "postgresql://x", scope="project")
    with (
        recollect.open(project, environment=variables, origin="agent") as memory,
        pytest.raises(recollect.Refused),
    ):
        memory.config.set("capture", "true")


def test_an_editor_changes_a_memory_and_its_files(
    at_terminal: AtTerminal, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        id = memory.learn("Redis listens on 6379").id
    said = at_terminal("edit", id[:6], EDITOR="sed -i -e s/6379/6380/ -e 's,^files:,& src/**,'")
    assert "changed the text and files of" in said
    with recollect.open(project, environment=variables, origin="user") as memory:
        (now,) = memory.list()
        assert (now.text, now.scope) == ("Redis listens on 6380", ("src/**",))
    assert "nothing was changed" in at_terminal("edit", EDITOR="true")
    assert "the editor 'no-such-editor' was not found" in at_terminal(
        "edit", VISUAL="no-such-editor"
    )
    assert terminal.parse_edited("# note\n# Heading\ntext\n\nfiles: a b\n") == ("text", ("a", "b"))


def test_settings_with_a_mistake_can_be_edited(
    at_terminal: AtTerminal, variables: dict[str, str]
) -> None:
    home = Path(variables["RECOLLECT_HOME"])
    home.mkdir()
    (home / "config.toml").write_text("briefing_budget = 'lots'\n")
    assert "must be a whole number" in at_terminal("list")
    assert "checked " in at_terminal("config", "edit", EDITOR="sed -i s/.lots./400/")
    assert "400  (user)" in at_terminal("config", "get", "briefing_budget")


# ---------------------------------------------------------------- undo


def test_undo_takes_back_the_last_change_whatever_it_was(
    mem: recollect.Recollect, clock: Clock
) -> None:
    with pytest.raises(recollect.NotFound):
        mem.store.undo()
    id = mem.learn("Redis listens on 6379").id
    mem.memories.correct(id, "Redis listens on 6380")
    assert mem.store.undo(print=True).applied is False
    assert mem.list()[0].text == "Redis listens on 6380"
    assert "changed the text" in mem.store.undo().what
    assert mem.list()[0].text == "Redis listens on 6379"
    other = mem.learn("Use uv").id
    assert mem.store.undo().what == "saved fact"
    assert [one.id for one in mem.list()] == [id]
    mem.memories.restore(other)
    mem.memories.hide(id)
    assert mem.store.undo().what == f"hid {id}"
    assert mem.store.undo().what == f"restored {other}"
    mem.memories.prune(min_confidence=1.0, apply=True)
    assert not mem.list()
    assert mem.store.undo().what == f"hid {id}"
    mem.memories.clear(apply=True)
    assert mem.store.undo().what == "clear"
    assert [one.id for one in mem.list()] == [id]
    mem.scratch.store("todo", "one")
    mem.scratch.store("todo", "two")
    assert mem.store.undo().what == "stored the note todo"
    assert mem.scratch.retrieve("todo").text == "one"
    mem.scratch.delete("todo")
    assert mem.store.undo().what == "deleted the note todo"
    assert mem.scratch.retrieve("todo").text == "one"


def test_undo_takes_back_links_procedures_tasks_notes_and_settings(
    mem: recollect.Recollect, project: Path
) -> None:
    one, other = mem.learn("Use uv").id, mem.learn("Use ruff").id
    mem.links.add(one, "related_to", other, reason="tools")
    mem.links.add(one, "related_to", other, remove=True)
    assert mem.store.undo().what == f"removed the link {one} related_to {other}"
    assert [hit.id for hit in mem.links.list(one).reached] == [other]
    assert mem.store.undo().what == f"linked {one} related_to {other}"
    assert not mem.links.list(one).reached

    mem.procedures.learn("add-endpoint", "Add an API endpoint", steps=["Read the spec"])
    mem.procedures.revise("add-endpoint", steps=["Read the spec", "Write it"])
    mem.procedures.use("add-endpoint", "failure")
    assert mem.store.undo().what == "recorded a failure of the procedure add-endpoint"
    assert mem.procedures.show("add-endpoint").failures == 0
    assert mem.store.undo().what == "revised the procedure add-endpoint"
    assert mem.procedures.show("add-endpoint").procedure.steps == ("Read the spec",)
    assert any(hit.kind == "procedure" for hit in mem.recall("API endpoint"))
    assert mem.store.undo().what == "saved the procedure add-endpoint"
    assert not mem.procedures.list()
    assert not any(hit.kind == "procedure" for hit in mem.recall("API endpoint"))
    mem.procedures.learn("add-endpoint", "Add an endpoint", steps=["Write it"])
    assert mem.procedures.show("add-endpoint").description == "Add an endpoint"
    mem.store.undo()

    mem.notes.set("Add login", phase="design")
    mem.notes.set(phase="build")
    assert mem.store.undo().what == "changed the notes"
    assert mem.notes.show().notes.phase == "design"
    assert "design" in (project / ".recollect" / "NOTES.md").read_text()
    mem.store.undo()
    assert not (project / ".recollect" / "NOTES.md").exists()
    assert not mem.notes.show().notes.objective

    mem.tasks.start("Feature X", phases=["design", "build"])
    mem.tasks.phase("feature-x", "design")
    mem.tasks.phase("feature-x", "design", report="One table")
    mem.tasks.decide("feature-x", "Use one table")
    assert mem.store.undo().text == "Use one table"
    assert not mem.tasks.show("feature-x").task.get("decisions")
    assert mem.store.undo().what == "ended the phase design of the task feature-x"
    assert mem.tasks.show("feature-x").phase == "design"
    mem.store.undo()
    assert mem.store.undo().what == "started the task feature-x"
    assert not mem.tasks.list()

    given = mem.handoffs.give("qa-001", done="Login form")
    mem.handoffs.accept(given.id, agent="qa-001")
    assert mem.store.undo().what == f"accepted the handoff {given.id}"
    assert not mem.handoffs.list()[0].accepted
    mem.store.undo()
    assert not mem.handoffs.list()

    mem.config.set("briefing_budget", "400")
    mem.config.set("briefing_budget", "300")
    assert mem.store.undo().what == "set briefing_budget"
    assert mem.config.get("briefing_budget").value == "400"
    mem.config.unset("briefing_budget")
    assert mem.store.undo().what == "removed the setting briefing_budget"
    assert mem.config.get("briefing_budget").value == "400"
    mem.store.undo()
    assert mem.config.get("briefing_budget").source == "default"
    assert mem.store.undo().what == "saved fact"


def test_undo_takes_back_what_one_call_saved_together(mem: recollect.Recollect) -> None:
    mem.learn("Use uv")
    mem.learn_many([{"text": "Use ruff"}, {"text": "Use mypy"}])
    assert mem.store.undo().what == "saved 2 memories"
    assert [one.text for one in mem.list()] == ["Use uv"]


def test_an_undo_that_would_lose_a_later_change_is_refused(mem: recollect.Recollect) -> None:
    mem.scratch.store("todo", "one")
    mem.context.project_space.write(
        lambda tx: tx.run("UPDATE documents SET valid_to = 5 WHERE space = :space")
    )
    with pytest.raises(recollect.Conflict, match="changed since"):
        mem.store.undo()


def test_an_agent_cannot_undo_a_task_of_the_user(mem: recollect.Recollect) -> None:
    mem.tasks.start("Feature X")
    mem.context.origin = "agent"
    with pytest.raises(recollect.Refused):
        mem.store.undo()


@pytest.mark.parametrize("name", ["database", "replica", "embedder", "models_default"])
@pytest.mark.parametrize(
    "address",
    [
        "postgresql://ann:s3cr3t-word@db.example.org/memory",
        "postgresql://db.example.org/memory?user=ann&password=s3cr3t-word",
        "postgresql://ann@db.example.org/memory?sslpassword=s3cr3t-word",
        "host=db.example.org user=ann password='s3cr3t-word'",
    ],
)
def test_no_setting_shows_the_password_in_an_address(
    project: Path, variables: dict[str, str], name: str, address: str
) -> None:
    given = {**variables, f"RECOLLECT_{name.upper()}": address}
    with recollect.open(project, origin="user", environment=given) as memory:
        shown = memory.config.get(name).value
        assert "db.example.org" in shown
        assert "s3cr3t-word" not in shown + str(memory.config.list())


@pytest.mark.parametrize("name", ["embedder_key", "models_key"])
@pytest.mark.parametrize("key", ["sk-ant-api03-" + "a1B2c3D4" * 8, "a word of my own"])
def test_a_secret_setting_is_neither_shown_nor_kept_for_an_undo(
    mem: recollect.Recollect, variables: dict[str, str], name: str, key: str
) -> None:
    assert mem.config.set(name, key).value == "(set, not shown)"
    assert key not in str(mem.config.list()) and key not in str(mem.config.get(name))
    mem.config.set(name, "")
    with pytest.raises(recollect.Conflict, match="secret"):
        mem.store.undo()
    assert key.encode() not in b"".join(
        path.read_bytes() for path in Path(variables["RECOLLECT_HOME"]).glob("*.db*")
    )


def test_an_agent_cannot_undo_what_the_user_stated(mem: recollect.Recollect) -> None:
    mem.learn("Never push to main", kind="policy")
    mem.context.origin = "agent"
    with pytest.raises(recollect.Refused):
        mem.store.undo()


def test_undo_says_what_a_consolidation_changed(mem: recollect.Recollect) -> None:
    for goal in ("Fix the build", "Speed up the parser"):
        mem.episodes.record(goal, "success", errors=["KeyError: no name => read it once"])
    mem.lessons.consolidate()
    assert mem.store.undo(print=True).text == "takes back 1 pitfall"
    assert show("undo", mem.store.undo()).startswith("undone: consolidation: took back 1 pitfall")


def test_undo_tells_an_empty_store_from_one_where_all_is_undone(mem: recollect.Recollect) -> None:
    def hint() -> str:
        with pytest.raises(recollect.NotFound) as refused:
            mem.store.undo()
        return refused.value.hint

    assert hint() == "nothing was saved or changed here yet"
    mem.record("s-1", "hello")
    assert "the archive of conversations stays" in hint()
    mem.learn("Use uv")
    mem.store.undo()
    assert "everything that was saved here is undone already" in hint()


def test_learn_recognises_a_rule_by_its_words(at_terminal: AtTerminal) -> None:
    said = at_terminal("learn", "always use pnpm,", "never npm")
    assert "(preference, project, active)" in said
    assert "saved as a preference, by its words. Another kind: recollect undo" in said
    assert "(policy," in at_terminal("learn", "You must run make lint before each commit")
    plain = at_terminal("learn", "The API listens on port 8080")
    assert "(fact, project, active)" in plain and "its words" not in plain
    assert "(fact," in at_terminal("learn", "never use yarn", "-k", "fact")


def test_undo_asks_at_a_terminal(
    at_terminal: AtTerminal, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        id = memory.learn("Use uv").id
    said = at_terminal("undo", keys=(("[Y/n] ", "n\n"),))
    assert "saved fact: Use uv" in said and "nothing was changed" in said
    said = at_terminal("undo", keys=(("[Y/n] ", "\n"),))
    assert f"undone: saved fact: Use uv\nredo it: recollect restore {id[:6]}" in said


def test_long_output_goes_through_the_pager(
    at_terminal: AtTerminal, project: Path, variables: dict[str, str]
) -> None:
    with recollect.open(project, environment=variables, origin="user") as memory:
        for number in range(60):
            memory.scratch.store(f"note-{number}", "x")
    pager = "sed s/^/paged:/"
    said = at_terminal("scratch", "list", RECOLLECT_PAGER=pager)
    assert said.count("paged:note-") == 60
    assert "paged:" not in at_terminal("scratch", "list", "--json", RECOLLECT_PAGER=pager)
    assert "paged:" not in at_terminal("status", RECOLLECT_PAGER=pager)


def test_a_summary_of_a_change_is_not_paged(
    at_terminal: AtTerminal, project: Path, tmp_path: Path
) -> None:
    rules = tmp_path / "rules.md"
    rules.write_text("- Use uv\n" + "- \n" * 3)
    talk = tmp_path / "talk.jsonl"
    talk.write_text('{"role": "user", "content": "All migrations must be reversible."}\n')
    paged = {"RECOLLECT_PAGER": "sed s/^/paged:/", "LINES": "4"}
    for words in (("import", str(talk)), ("load", str(rules))):
        said = at_terminal(*words, **paged)
        assert said.count("\n") >= 2 and "paged:" not in said
    assert "paged:" in at_terminal("import", "--help", **paged)
    found = at_terminal("recall", "migrations reversible")
    assert "from an import" in found and "from you" not in found


# ---------------------------------------------------------------- rules in files


@pytest.mark.parametrize(
    ("before", "after"),
    [
        ("", "## Rules\n\n- Use uv\n"),
        ("# Shop\n", "# Shop\n\n## Rules\n\n- Use uv\n"),
        ("## Rules\n\n- One\n\n## More\n", "## Rules\n\n- One\n- Use uv\n\n## More\n"),
        ("## Rules\n\n- Use uv\n", "## Rules\n\n- Use uv\n"),
    ],
)
def test_a_rule_is_added_to_its_section(before: str, after: str) -> None:
    assert instruction_files_io.add_rule(before, "Use uv") == after


def test_a_kept_rule_is_written_after_its_diff_was_shown(
    at_terminal: AtTerminal, project: Path, variables: dict[str, str]
) -> None:
    (project / "CLAUDE.md").write_text("# Shop\n")
    with recollect.open(project, environment=variables, origin="agent") as memory:
        memory.learn("Use uv", kind="preference")
    said = at_terminal(
        "review", keys=(("q quit", "w"), ("y/N", "y"), ("any other key", "u"), ("q quit", "w"),
                        ("y/N", "y"), ("any other key", "x")),
    )  # fmt: skip
    assert "+- Use uv" in said
    assert (project / "CLAUDE.md").read_text() == "# Shop\n\n## Rules\n\n- Use uv\n"
    with recollect.open(project, environment=variables, origin="user") as memory:
        assert [one.status for one in memory.list()] == ["active"]
        assert "Use uv" not in memory.briefing().text


def test_statistics_are_drawn(mem: recollect.Recollect, tmp_path: Path, clock: Clock) -> None:
    mem.learn("Never push to main", kind="policy")
    clock.advance(days=90)
    mem.learn("Redis listens on 6380", kind="reference")
    picture = tmp_path / "stats.svg"
    assert mem.store.plot(str(picture)).path == str(picture)
    text = picture.read_text()
    assert "policy 1" in text and "reference 1" in text and "of 800 tokens" in text
    mem.record("s-1", "Where is the heron protocol described?")
    mem.record("s-1", {"role": "assistant", "content": "In docs/heron.md, with its nonce."})
    drawn = tmp_path / "eval.svg"
    mem.store.plot_evaluation(str(drawn))
    assert "Recall@10" in drawn.read_text()
    for path in (picture, drawn):
        from xml.etree import ElementTree

        ElementTree.fromstring(path.read_text())


def test_windows_is_told_to_use_wsl(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    from recollect import __main__

    monkeypatch.setattr(sys, "platform", "win32")
    monkeypatch.setattr(sys, "argv", ["recollect", "list"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == recollect.errors.EXIT_STATUS["unavailable"]
    assert "WSL" in capsys.readouterr().err
    monkeypatch.setattr(sys, "argv", ["recollect", "hook"])
    with pytest.raises(SystemExit) as ended:
        __main__.main()
    assert ended.value.code == 0


def test_json_of_the_overview_has_no_surprise(mem: recollect.Recollect) -> None:
    from recollect.text import display

    for value in (mem.store.status(), mem.store.sizes(), mem.agents.seen(), mem.config.list()):
        json.loads(display.format_json(value))


def test_a_hook_loads_nothing_of_the_terminal(project: Path, variables: dict[str, str]) -> None:
    import subprocess

    payload = {"hook_event_name": "UserPromptSubmit", "session_id": "s-1", "cwd": str(project),
               "prompt": "why do the tests hang?"}  # fmt: skip
    done = subprocess.run(
        [sys.executable, "-X", "importtime", "-m", "recollect", "hook"],
        input=json.dumps(payload), env=variables, capture_output=True, text=True, cwd=project,
    )  # fmt: skip
    loaded = {line.rpartition("|")[2].strip() for line in done.stderr.splitlines()}
    assert "recollect.agents.steps_hooks" in loaded
    foreign = ("recollect.interfaces.screens", "recollect.interfaces.cli", "recollect.maintenance",
               "recollect.interfaces.manual", "recollect.interfaces.completion",
               "recollect.text.charts")  # fmt: skip
    assert not [name for name in loaded if name.startswith(foreign)]
