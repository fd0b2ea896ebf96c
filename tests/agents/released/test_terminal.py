"""The agents at a terminal: approve the hooks, see the notice, compact."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.agents.released import harness
from tests.agents.released.conftest import need
from tests.agents.released.harness import Machine
from tests.agents.released.model_server import Step
from tests.agents.released.terminal import Terminal

RULE = "From now on always run make lint before you commit."
LONG = harness.PATIENCE


@contextmanager
def at_terminal(machine: Machine, agent: str, *words: str) -> Iterator[Terminal]:
    command = [harness.find_program(agent), *words]
    terminal = Terminal(command, machine.project, machine.variables(agent))
    try:
        yield terminal
    finally:
        terminal.close()


def blocks(machine: Machine) -> str:
    return "\n".join(block for one in machine.model.take() if one.is_turn for block in one.blocks)


def ask(machine: Machine, terminal: Terminal, prompt: str) -> str:
    """Type a prompt, wait for the answer, and return our blocks in the request."""
    machine.model.take()
    terminal.submit(prompt)
    asked = terminal.read_until(lambda: machine.model.wait_for_turns(1, 0), LONG)
    assert asked, terminal.text[-2000:]
    terminal.wait_for("Done.", seconds=LONG)
    terminal.settle(1)
    return blocks(machine)


DOWN = "\x1b[B"


def get_ready(terminal: Terminal, agent: str) -> None:
    """Answer what the agent asks at its first start: trust the folder, or our hooks."""
    asked = {
        "claude-code": ("Yes, I trust", "? for shortcuts"),
        "codex": ("Trust all and continue",),
        "gemini": ("Type your message",),
        "opencode": ("Ask anything",),
        "copilot": ("Do you trust the files",),
    }[agent]
    shown = terminal.wait_for(*asked, seconds=LONG)
    assert shown, terminal.text[-2000:]
    terminal.settle(1)
    # The first choice of Claude Code is to leave, that of Codex to look at the hooks.
    keys = {"Yes, I trust": (DOWN, "\r"), "Trust all and continue": (DOWN, "\r")}
    for key in keys.get(shown, ("\r",) if agent == "copilot" else ()):
        terminal.type(key)
        terminal.settle(1)
    if agent == "copilot":  # it draws its input line before it takes keys
        terminal.wait_for("MCP Servers reloaded", seconds=LONG)
    terminal.settle(3)


def test_claude_code_at_a_terminal(machine: Machine) -> None:
    need("claude-code")
    machine.learn("The staging port is 6380", "fact")
    with at_terminal(machine, "claude-code") as terminal:
        get_ready(terminal, "claude-code")
        first = ask(machine, terminal, RULE)
        assert "staging port is 6380" in first
        assert terminal.wait_for("Recollect saved", seconds=LONG), terminal.text[-2000:]
        terminal.mark = 0  # a changed line is drawn in pieces
        assert terminal.wait_for("recollect: 1 memory ·", seconds=LONG), terminal.text[-2000:]
        machine.model.take()
        terminal.submit("/compact")
        assert terminal.wait_for("Compacted", "compacted", seconds=LONG), terminal.text[-2000:]
        terminal.settle(2)
        after = ask(machine, terminal, "Go on.")
        assert "make lint" in after and "staging port is 6380" in after
    assert machine.failed_hooks() == []


def test_codex_at_a_terminal(machine: Machine) -> None:
    need("codex")
    machine.learn("The staging port is 6380", "fact")
    before = machine.recollect_status("doctor")
    assert "needs approval" in before
    with at_terminal(machine, "codex") as terminal:
        get_ready(terminal, "codex")
        first = ask(machine, terminal, RULE)
        assert "staging port is 6380" in first, terminal.text[-3000:]
        assert terminal.wait_for("Recollect saved", seconds=LONG), terminal.text[-2000:]
        terminal.submit("/compact")
        assert terminal.wait_for("compacted", "Compacted", seconds=LONG), terminal.text[-2000:]
        terminal.settle(2)
        after = ask(machine, terminal, "Go on.")
        assert "make lint" in after and "staging port is 6380" in after
    assert "needs approval" not in machine.recollect_status("doctor")
    # Its terminal rewrote config.toml: nothing of ours is left in it after --remove.
    machine.recollect("init", "--remove", "--yes")
    left = tomllib.loads((machine.home / ".codex" / "config.toml").read_text())
    assert "recollect" not in left.get("mcp_servers", {})
    assert left["model_provider"] == "loopback"
    assert machine.failed_hooks() == []


COMPACTED = {
    "gemini": ("/compress", "compressed from"),
    "opencode": ("/compact", "Compaction ·"),
    "copilot": ("/compact", "Compaction completed"),
}


@pytest.mark.parametrize("agent", COMPACTED)
def test_the_other_agents_at_a_terminal(machine: Machine, agent: str) -> None:
    need(agent)
    machine.learn("The staging port is 6380", "fact")
    with at_terminal(machine, agent) as terminal:
        get_ready(terminal, agent)
        # Gemini CLI compacts only what becomes shorter by it, in the tokens that the model reports.
        machine.model.plan(Step("Done.", tokens=50_000))
        first = ask(machine, terminal, RULE)
        assert "staging port is 6380" in first, terminal.text[-3000:]
        if agent == "copilot":  # it shows a hook's words to the model alone
            assert "Recollect saved" in first
        else:
            assert terminal.wait_for("Recollect saved", seconds=LONG), terminal.text[-2000:]
        command, done = COMPACTED[agent]
        terminal.submit(command)
        assert terminal.wait_for(done, seconds=LONG), terminal.text[-2000:]
        terminal.settle(2)
        after = ask(machine, terminal, "Go on.")
        assert "make lint" in after and "staging port is 6380" in after
    assert machine.failed_hooks() == []


@pytest.mark.parametrize("agent", ["claude-code", "codex", "gemini", "opencode"])
def test_a_notice_of_a_run_without_a_terminal_is_shown_at_the_next_one(
    machine: Machine, agent: str
) -> None:
    need(agent)
    machine.run(agent, RULE)
    assert "make lint" in machine.recollect("notices")
    with at_terminal(machine, agent) as terminal:
        get_ready(terminal, agent)
        terminal.mark = 0  # also what was drawn before keys were typed
        if agent in ("codex", "opencode"):  # their session starts with the first prompt
            ask(machine, terminal, "Say hello.")
            terminal.mark = 0
        assert terminal.wait_for("Recollect saved", seconds=LONG), terminal.text[-2000:]
    assert "make lint" not in machine.recollect("notices")
