"""Completion: the candidates, and the scripts in real shells."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import recollect
from recollect.interfaces import commands, completion, manual
from recollect.operation_table import EVERYDAY, OPERATIONS
from recollect.types.records import KINDS
from tests.interfaces.screens import load_tool


def offered(*words: str) -> list[str]:
    return [value for value, _ in completion.complete(words)]


def test_every_command_can_be_completed() -> None:
    first = offered("")
    assert first[: len(EVERYDAY)] == list(EVERYDAY)
    for name in (*OPERATIONS, *commands.OTHER_COMMANDS):
        word, _, more = name.partition(" ")
        assert word in first
        assert not more or more in offered(word, "")


def test_options_and_values_come_from_the_operation() -> None:
    assert {"--kind", "-k", "--json", "-j", "--scope"} <= set(offered("learn", "x", "-"))
    assert offered("learn", "--kind", "p") == [kind for kind in KINDS if kind.startswith("p")]
    assert offered("add", "-k", "pol") == ["policy"]
    assert "briefing_budget" in offered("config", "set", "")
    assert offered("-C", "/tmp", "completion", "") == ["bash", "zsh", "fish"]
    assert offered("init", "codex", "c") == ["claude-code", "copilot", "cursor"]
    assert offered("review", "m-1", "k") == []
    assert "keep" in offered("review", "answer", "m-1", "")


@pytest.fixture
def id(project: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.setenv("RECOLLECT_PROJECT", str(project))
    with recollect.open(project) as memory:
        return memory.learn("Redis listens on 6380").id


def test_ids_are_completed_with_their_texts(id: str) -> None:
    assert list(completion.complete(["hide", "m-"])) == [(id[:6], "Redis listens on 6380")]
    assert offered("edit", id[:3]) == [id[:6]]


def test_a_project_without_a_store_has_no_ids_and_no_error(
    project: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RECOLLECT_PROJECT", str(project))
    assert completion.print_candidates(["plain", "hide", ""]) == 0
    assert capsys.readouterr().out == ""
    assert not (project / ".recollect").exists()


@pytest.fixture
def program(tmp_path: Path) -> Path:
    """A `recollect` on the path, as an installation has one."""
    folder = tmp_path / "bin"
    folder.mkdir()
    script = folder / "recollect"
    script.write_text(f'#!/bin/sh\nexec {sys.executable} -m recollect "$@"\n')
    script.chmod(0o755)
    return folder


def shell(name: str) -> str:
    found = shutil.which(name)
    if not found:
        pytest.skip(f"{name} is not installed: its completion is not tested here")
    return found


def environment(program: Path, project: Path, tmp_path: Path) -> dict[str, str]:
    return {
        "PATH": f"{program}:/usr/local/bin:/usr/bin:/bin",
        "HOME": str(tmp_path),
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "RECOLLECT_PROJECT": str(project),
        "PYTHONPATH": str(Path(recollect.__file__).parent.parent),
        "TERM": "xterm",
    }


def test_bash_completes(program: Path, project: Path, tmp_path: Path, id: str) -> None:
    script = """
eval "$(recollect completion bash)"
for line in "recollect rec" "recollect learn x --kind pol" "recollect hide m-"; do
  COMP_WORDS=($line); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
  _recollect; printf '%s\\n' "${COMPREPLY[*]}"
done
complete -p recollect
"""
    done = subprocess.run(
        [shell("bash"), "--norc", "-c", script],
        env=environment(program, project, tmp_path), capture_output=True, text=True, cwd=project,
    )  # fmt: skip
    words = done.stdout.splitlines()
    assert words[0].split() == ["recall", "record", "recover"]
    assert words[1:3] == ["policy", id[:6]]
    assert words[3].endswith("-F _recollect recollect")


def test_zsh_completes(program: Path, project: Path, tmp_path: Path, id: str) -> None:
    """Types at a real prompt: only there zsh completes."""
    tool = load_tool()
    set_up = (
        "autoload -U compinit; compinit -u -D; source <(recollect completion zsh); PS1='REA''DY> '"
    )
    quoted = "\x01print -r -- '<\x05>'\n"  # the line is printed between marks, not run
    keys = (
        ("START> ", f"{set_up}\n"),
        ("READY> ", "recollect learn x --kind pol\t"),
        ("icy", quoted),
        ("READY> ", "recollect hide m-\t"),
        (id[2:6], quoted),
        ("READY> ", "exit\n"),
    )
    variables = {**environment(program, project, tmp_path), "PS1": "START> "}
    said, _ = tool.run([shell("zsh"), "-f", "-i"], (100, 40), variables, project, keys)
    assert "\n<recollect learn x --kind policy>" in said.replace("\r", "")
    assert f"\n<recollect hide {id[:6]}>" in said.replace("\r", "")


def test_fish_completes(program: Path, project: Path, tmp_path: Path, id: str) -> None:
    script = """
recollect completion fish | source
complete -C "recollect rec"
complete -C "recollect learn x --kind pol"
complete -C "recollect hide m-"
"""
    done = subprocess.run(
        [shell("fish"), "--no-config", "-c", script],
        env=environment(program, project, tmp_path), capture_output=True, text=True, cwd=project,
    )  # fmt: skip
    words = [line.partition("\t")[0] for line in done.stdout.splitlines()]
    assert words == ["recall", "record", "recover", "policy", id[:6]], done.stderr


def test_the_manual_page_is_current_and_can_be_read() -> None:
    from recollect.version import __version__

    page = manual.render_manual(__version__)
    for name in (*OPERATIONS, *commands.OTHER_COMMANDS):
        assert f"\n.B {name.replace('-', chr(92) + '-')}" in page
    reader = shutil.which("groff")
    if not reader:
        pytest.skip("groff is not installed: the manual page is not rendered here")
    done = subprocess.run(
        [reader, "-man", "-Tascii", "-ww", "-b"], input=page, capture_output=True, text=True
    )
    assert done.returncode == 0
    assert done.stderr == ""
    assert "EVERYDAY COMMANDS" in re.sub(".\x08", "", done.stdout)
