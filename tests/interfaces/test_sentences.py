"""What commands say is true, and what people type works."""

from __future__ import annotations

import io
import json
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

import recollect
from recollect.errors import EXIT_STATUS
from recollect.interfaces import cli, commands, origin
from recollect.interfaces.screens import style, terminal
from recollect.operation_table import OPERATIONS, SHORT_COMMANDS

Say = Callable[..., tuple[int, str]]


@pytest.fixture
def say(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> Iterator[Say]:
    """Runs a command in the project; returns its status and what it printed."""
    monkeypatch.chdir(project)

    def run(*words: str, stdin: bytes = b"") -> tuple[int, str]:
        source = io.TextIOWrapper(io.BytesIO(stdin), encoding="utf-8")
        monkeypatch.setattr(sys, "stdin", source)
        status = cli.main(words)
        said = capsys.readouterr()
        return status, said.out + said.err

    yield run
    style.use_page(style.Page())


def test_an_empty_briefing_tells_the_budget_from_knowing_nothing(say: Say, project: Path) -> None:
    assert "(empty: nothing is known yet" in say("briefing")[1]
    with recollect.open(project, origin="user") as memory:
        for number in range(3):
            memory.learn(f"Never deploy on day {number} of the week", kind="policy")
    said = say("briefing", "--budget", "10")[1]
    assert "(empty: 3 items did not fit into the budget" in said


def test_an_empty_list_tells_limit_and_filter_from_having_none(say: Say) -> None:
    assert say("list")[1].startswith("no memories yet")
    say("learn", "a fact")
    assert say("list", "--limit", "0")[1] == "a limit of 0 shows nothing: leave -n out\n"
    assert say("list", "-k", "policy")[1] == "no memory with --kind policy\n"
    assert say("list", "--offset", "5")[1] == "no memory after the first 5\n"


def test_an_empty_search_tells_budget_and_filter_from_finding_nothing(say: Say) -> None:
    say("learn", "Redis listens on port 6380 " * 20)
    assert "found, but too long for the budget" in say("recall", "redis", "--budget", "3")[1]
    assert "nothing found with --kind" in say("recall", "zebra", "-k", "policy")[1]
    assert say("recall", "zebra")[1] == "nothing found in your memories and conversations\n"


def test_a_rule_for_all_files_is_not_denied(say: Say) -> None:
    say("learn", "Never push to main")
    said = say("for-file", "README.md")[1]
    assert said == "no memory is limited to this file. Those for all files: recollect list\n"


def test_removing_where_nothing_is_keeps_nothing(say: Say, project: Path) -> None:
    said = say("init", "--remove")[1]
    assert "no memory is here" in said and "is kept" not in said
    say("learn", "a fact")
    assert f"the memory is kept: {project}" in say("init", "--remove")[1]


def test_the_log_of_an_unknown_task_is_an_error(say: Say) -> None:
    assert say("task", "log", "nope")[0] == EXIT_STATUS["not_found"]
    say("task", "start", "Add login")
    assert say("task", "log", "add-login")[0] == 0


@pytest.mark.parametrize(
    "data", [b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR", bytes(range(128, 256)), b"a\0b"]
)
def test_binary_input_is_refused(say: Say, data: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
    status, said = say("learn", "-", stdin=data)
    assert status == EXIT_STATUS["invalid_input"]
    assert "standard input is not text" in said
    assert say("list")[1].startswith("no memories yet")


def test_text_with_a_stray_byte_or_colours_is_taken(say: Say) -> None:
    assert say("learn", "-", stdin=b"caf\xe9 au lait, from an old file")[0] == 0
    assert say("learn", "-", stdin=b"\x1b[31mred\x1b[0m from a terminal\r\n")[0] == 0


def test_words_are_joined_and_short_options_understood(say: Say) -> None:
    say("add", "Redis", "listens", "on", "6380", "-k", "reference", "-t", "db")
    (one,) = json.loads(say("ls", "-j")[1])
    assert (one["text"], one["kind"], one["tags"]) == ("Redis listens on 6380", "reference", ["db"])
    assert "Redis listens on 6380" in say("search", "redis", "port", "-n1")[1]
    assert say("remember", "use", "pytest", "-x", "here")[0] == 0
    texts = [item["text"] for item in json.loads(say("list", "--json")[1])]
    assert "use pytest -x here" in texts
    assert say("rm", one["id"][:6])[0] == 0
    assert len(json.loads(say("ls", "--json")[1])) == 1


def test_short_options_name_parameters_that_exist() -> None:
    known = {
        item.name
        for name in OPERATIONS
        for item in (*commands.load_command(name).parameters, *commands.COMMON_OPTIONS)
    }
    assert set(commands.SHORT_FLAGS.values()) <= known
    assert not {flag for flag in commands.SHORT_FLAGS if len(flag) != 2}


def test_another_project_is_named_before_or_after_the_command(say: Say, tmp_path: Path) -> None:
    other = tmp_path / "other"
    other.mkdir()
    assert say("-C", str(other))[1].startswith(f"Memory of {other}\n")
    assert say("-C", str(other), "learn", "elsewhere")[0] == 0
    assert "elsewhere" in say("list", "-C", str(other))[1]
    assert say("list")[1].startswith("no memories yet")


def test_a_plot_is_an_option_of_its_command(say: Say, project: Path) -> None:
    say("learn", "a fact")
    for words in (
        ("stats", "--plot", "a.svg"),
        ("stats", "--plot=b.svg"),
        ("eval", "--plot", "c.svg"),
    ):
        assert say(*words)[1].startswith(f"wrote {project}/")
    assert sorted(path.name for path in project.glob("*.svg")) == ["a.svg", "b.svg", "c.svg"]


def test_search_finds_everything_that_was_kept(say: Say) -> None:
    say("learn", "The heron protocol wants a nonce")
    say("record", "s-1", "the heron in a conversation")
    say("store", "todo", "a scratch note about the heron")
    say("procedure", "learn", "heron-release", "Release the heron", "--step", "push")
    say("episode", "record", "--goal", "Fix the heron", "--outcome", "success")
    found = json.loads(say("search", "heron", "--json", "-n", "20")[1])["hits"]
    kinds = {hit["kind"] for hit in found}
    assert {"fact", "scratch", "procedure", "episode"} <= kinds
    assert any(hit["role"] for hit in found)


_NO_FILE = ("cannot be read", "No such file", "another", "already")
"""What an example may say because its file is not there, or the store is one's own."""

_NO_SERVER = ("a store in a file has no members", "PostgreSQL cannot be reached")
"""What an example of `server` and `migrate` says where no PostgreSQL is."""


@pytest.mark.parametrize("name", sorted(OPERATIONS))
def test_every_command_has_help_and_examples_that_run(
    say: Say, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Examples name records of nobody: they may find nothing, but are never wrong."""
    command = commands.load_command(name)
    status, told = say(*name.split(), "--help")
    assert status == 0 and "examples:" in told
    for parameter in command.parameters:
        assert parameter.help, f"{name} says nothing about {parameter.name}"
    monkeypatch.setattr(origin, "identify_caller", lambda environment: origin.Caller("user"))
    say("learn", "a fact")
    needs_server = name == "migrate" or name.startswith("server ")
    excuses = _NO_SERVER if needs_server else _NO_FILE
    for example in command.examples:
        # What our command reads may come from another one; here it reads nothing.
        status, said = say(*shlex.split(example.rpartition(" | ")[2])[1:])
        excused = any(words in said for words in excuses) or name in ("doctor", "init")
        assert status in (0, EXIT_STATUS["not_found"]) or excused, (example, said)


def test_aliases_lead_to_commands() -> None:
    assert set(SHORT_COMMANDS.values()) <= set(OPERATIONS)
    assert not set(SHORT_COMMANDS) & set(OPERATIONS)


def test_what_is_kept_after_an_interruption_is_said(
    say: Say, monkeypatch: pytest.MonkeyPatch
) -> None:
    def interrupt(command: object, given: object) -> object:
        raise KeyboardInterrupt

    monkeypatch.setattr(cli, "run_command", interrupt)
    assert say("import") == (130, f"\nstopped. {terminal.KEPT['import']}\n")
    assert say("list") == (130, "\nstopped.\n")
    assert {name for name in terminal.KEPT if name != "demo"} <= set(OPERATIONS)
