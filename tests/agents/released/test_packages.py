"""The packages of this repository in the released agents, without `init`."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.agents.released import harness
from tests.agents.released.conftest import need
from tests.agents.released.model_server import Step, serve
from tools.build_packages import EXTENSION, PLUGIN, ROOT

RULE = "From now on always use tabs."


@pytest.fixture
def bare(tmp_path: Path) -> Iterator[harness.Machine]:
    """A machine with the program on the search path, and no agent connected."""
    with serve() as model:
        machine = harness.Machine(tmp_path, model)
        machine.path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        machine.learn("The staging port is 6380", "fact")
        yield machine
        machine.settle()
        machine.stop_daemons()


def manage(machine: harness.Machine, agent: str, *words: str) -> str:
    done = subprocess.run(
        [harness.find_program(agent), *words],
        cwd=machine.project,
        env=machine.variables(agent),
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=harness.PATIENCE,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


def test_the_plugin_and_the_marketplace_pass_strict_validation(bare: harness.Machine) -> None:
    need("claude-code")
    for folder in (ROOT, ROOT / PLUGIN):
        told = manage(bare, "claude-code", "plugin", "validate", "--strict", str(folder))
        assert "Validation passed" in told


INSTALL = {
    "claude-code": (
        ("plugin", "marketplace", "add", str(ROOT)),
        ("plugin", "install", "recollect@recollect"),
    ),
    "codex": (
        ("plugin", "marketplace", "add", str(ROOT)),
        ("plugin", "add", "recollect@recollect"),
    ),
    "gemini": (
        ("extensions", "validate", str(ROOT / EXTENSION)),
        ("extensions", "install", str(ROOT / EXTENSION), "--consent"),
    ),
    "copilot": (
        ("plugin", "marketplace", "add", str(ROOT)),
        ("plugin", "install", "recollect@recollect"),
    ),
}


@pytest.mark.parametrize("agent", INSTALL)
def test_an_installed_package_has_hooks_and_the_server(bare: harness.Machine, agent: str) -> None:
    need(agent)
    for words in INSTALL[agent]:
        manage(bare, agent, *words)
    bare.model.plan(Step(shell="sleep 3"), Step("Done."))
    done = bare.run(agent, RULE)
    assert "staging port is 6380" in "\n".join(done.turns[0].blocks), done.err
    assert RULE in bare.listed()
    if agent != "claude-code":  # it loads tools of servers when it looks for them
        assert any("memory_recall" in tool for tool in done.turns[-1].tools)
    assert bare.failed_hooks() == []


def test_a_slash_command_of_the_plugin_asks_no_model(bare: harness.Machine) -> None:
    need("claude-code")
    for words in INSTALL["claude-code"]:
        manage(bare, "claude-code", *words)
    done = bare.run("claude-code", "/recollect:memory list")
    assert "The staging port is 6380" in done.out
    assert done.requests == []
