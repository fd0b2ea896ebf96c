"""Claude Code and Codex at a terminal: approve the hooks, see the notice, compact."""

from __future__ import annotations

import tomllib
from collections.abc import Iterator
from contextlib import contextmanager

from tests.agents.released import harness
from tests.agents.released.conftest import need
from tests.agents.released.harness import Machine
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


def test_claude_code_at_a_terminal(machine: Machine) -> None:
    need("claude-code")
    machine.learn("The staging port is 6380", "fact")
    with at_terminal(machine, "claude-code") as terminal:
        shown = terminal.wait_for("Yes, I trust", "? for shortcuts", seconds=LONG)
        assert shown, terminal.text[-2000:]
        terminal.settle(1)
        if shown != "? for shortcuts":
            terminal.type("\x1b[B")  # its first choice is to leave
            terminal.settle(1)
            terminal.type("\r")
            terminal.settle(3)
        first = ask(machine, terminal, RULE)
        assert "staging port is 6380" in first
        assert terminal.wait_for("Recollect noted", seconds=LONG), terminal.text[-2000:]
        assert terminal.wait_for("recollect: 2 memories", seconds=LONG), terminal.text[-2000:]
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
        assert terminal.wait_for("Trust all and continue", seconds=LONG), terminal.text[-2000:]
        terminal.settle(1)
        terminal.type("\x1b[B")
        terminal.settle(1)
        terminal.type("\r")
        terminal.settle(2)
        first = ask(machine, terminal, RULE)
        assert "staging port is 6380" in first, terminal.text[-3000:]
        assert terminal.wait_for("Recollect noted", seconds=LONG), terminal.text[-2000:]
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
