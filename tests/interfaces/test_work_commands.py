"""Every command of episodes, lessons and work memory, run once."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.errors import EXIT_STATUS
from recollect.interfaces import cli, manual
from recollect.interfaces.screens.work import SCREENS


@pytest.fixture
def say(project: Path, capsys: pytest.CaptureFixture[str]) -> Say:
    return Say(project, capsys)


class Say:
    """Runs commands and remembers which."""

    def __init__(self, project: Path, capsys: pytest.CaptureFixture[str]) -> None:
        self._project, self._capsys = project, capsys
        self.said: set[str] = set()

    def __call__(self, *words: str, status: int = 0) -> str:
        self.said.add(manual.find_command(list(words))[0])
        assert cli.main([*words, "--project", str(self._project)]) == status
        return self._capsys.readouterr().out


def test_each_command_prints_its_result(say: Say, project: Path) -> None:
    error = "TypeError: no len() => pass a list"
    file = ("--file", "src/login.py")
    say("episode", "record", "Add the login page", "--outcome", "success", "--error", error, *file)
    say("episode", "record", "Add a login page for customers", "--outcome", "success", *file)
    say("record", "s-1", "hello")
    assert "read 1 sessions" in say("episode", "build")
    first = json.loads(say("episode", "list", "--json"))[0]["id"]
    assert "Add a login page" in say("episode", "list")
    assert "trusted as agent" in say("episode", "show", first)
    assert "(unknown)" in say("episode", "replay", first)
    assert "  TypeError: no len()" in say("learnings")
    assert "nothing was changed" in say("consolidate", "--dry-run")
    assert "+ pattern" in say("consolidate")
    assert "undid" in say("consolidate", "undo")
    steps = ("--step", "Read the spec", "--step", "Write it")
    assert "proposed" in say("procedure", "learn", "add-endpoint", "Add an endpoint", *steps)
    assert "add-endpoint" in say("procedure", "list")
    assert "1. Read the spec" in say("procedure", "show", "add-endpoint")
    assert "worked 1 times" in say("procedure", "use", "add-endpoint")
    assert "version 2" in say("procedure", "revise", "add-endpoint", "--step", "Write it")
    skill = say("procedure", "export", "add-endpoint")
    assert "name: add-endpoint" in skill
    refused = EXIT_STATUS["refused"]
    say("procedure", "export", "add-endpoint", "--folder", str(project / "skills"), status=refused)
    (project / "SKILL.md").write_text(skill)
    say("procedure", "load", str(project / "SKILL.md"))
    # Only a person at a terminal accepts.
    say("procedure", "accept", "add-endpoint", status=EXIT_STATUS["refused"])
    formats = Path(__file__).parent.parent / "fixtures" / "formats"
    assert "created e-" in say("episode", "load", str(formats / "episode.json"))
    assert "quarantined" in say("pattern", "load", str(formats / "pattern.json"))
    (project / "AGENTS.md").write_text("- Never push to main\n")
    assert "1 record read, 1 new (quarantined); form: rules" in say(
        "load", str(project / "AGENTS.md")
    )
    assert "1 record read, none of them new; form: rules" in say("load", str(project / "AGENTS.md"))
    assert '"category": "typescript"' in say("pattern", "show", "sem-001")
    memory = json.loads(say("learn", "the login page is plain HTML", "--json"))["id"]
    assert "no links" in say("links", memory)
    assert "derived_from" in say("link", memory, "derived_from", first)
    assert first in say("links", memory)
    assert "digraph" in say("links", memory, "--format", "dot")


def test_each_command_of_work_memory_prints_its_result(say: Say) -> None:
    assert "no notes yet" in say("notes", "show")
    assert "Feature X" in say("notes", "set", "Feature X", "--phase", "build")
    assert "no problems found" in say("notes", "lint")
    assert "login page" in say("continuity", "the login page")
    assert "no tasks yet" in say("task", "list")
    assert "not started" in say("task", "start", "Feature X", "--phase", "build")
    say("task", "phase", "feature-x", "build")
    assert "decided" in say("task", "decide", "feature-x", "one table")
    assert "verified a works" in say("task", "verify", "feature-x", "--item", "a works")
    assert "LOST" in say("task", "verify", "feature-x", "--revise", "again")
    assert "feature-x" in say("task", "deliver", "feature-x", "schema", "One table")
    assert "run it" in say("todo", "--add", "run it")
    assert "to read" in say("event", "phase start", "--task", "feature-x")
    assert '"type":"phase start"' in say("task", "log", "feature-x")
    say("task", "phase", "feature-x", "build", "--report", "done")
    assert "between phases" in say("task", "show", "feature-x")
    assert "completed" in say("task", "complete", "feature-x")
    assert "feature-x" in say("task", "list")
    assert "12" in say("ledger", "eng", "--ledger", '{"tasks_completed": 12}')
    given = json.loads(say("handoff", "give", "--to", "qa", "--done", "Login", "--json"))
    assert "waiting" in say("handoff", "list")
    assert "accepted" in say("handoff", "accept", given["id"])
    say("learn", "The exporter writes CSV", "--layer", "task", "--owner", "feature-x")
    assert "defer" in say("promote", "feature-x")
    assert "# Audit" in say("audit")


def test_every_command_of_this_group_is_tested() -> None:
    text = Path(__file__).read_text(encoding="utf-8")
    for command in SCREENS:
        words = ", ".join(f'"{word}"' for word in command.split())
        assert f"say({words}" in text, command


def test_a_contradicted_hit_is_marked(say: Say) -> None:
    say("learn", "always use tabs in python files", "--kind", "policy")
    say("learn", "never use tabs in python files", "--kind", "policy")
    assert say("recall", "tabs in python").count("contradicted by m-") == 2
