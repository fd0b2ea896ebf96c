"""All agents on one project: at once in three worktrees, and disconnected again."""

from __future__ import annotations

import json
from pathlib import Path

from tests.agents.released import harness
from tests.agents.released.conftest import need
from tests.agents.released.harness import PROGRAMS, Machine
from tests.agents.released.model_server import Step, serve

AGENTS = ("claude-code", "codex", "gemini", "copilot")


def test_four_agents_at_once_in_three_worktrees_lose_nothing(machine: Machine) -> None:
    need(*AGENTS)
    trees = [machine.project]
    for name in ("second", "third"):
        trees.append(machine.project.parent / name)
        machine.git("worktree", "add", "-q", str(trees[-1]), "-b", name)
    rules = {agent: f"From now on always sign the {agent} release notes." for agent in AGENTS}
    machine.model.plan(*(Step(shell="echo working") for _ in range(8)))
    running = [
        machine.start(agent, rule, cwd=trees[place % 3])
        for place, (agent, rule) in enumerate(rules.items())
    ]
    for child in running:
        assert child.wait(harness.PATIENCE) == 0
    machine.settle()
    assert machine.failed_hooks() == []
    assert sorted(machine.listed()) == sorted(rules.values())
    machine.recollect("import")
    sessions = json.loads(machine.recollect("session", "list", "--json"))
    assert {one["agent"] for one in sessions} == set(AGENTS)
    stores = [path for tree in trees for path in tree.glob(".recollect/*.db")]
    assert stores == [machine.project / ".recollect" / "memory.db"]


def read_home(home: Path) -> dict[str, bytes]:
    """Return the settings of all agents, which nobody else writes to."""
    return {
        str(path.relative_to(home)): path.read_bytes() for path in home.rglob("*") if path.is_file()
    }


def test_removal_restores_every_byte_of_settings_that_no_agent_rewrote(tmp_path: Path) -> None:
    need(*PROGRAMS)
    with serve() as model:
        machine = Machine(tmp_path, model)
        before = read_home(machine.home)
        machine.recollect("init", "--yes")
        assert read_home(machine.home) != before
        machine.recollect("init", "--remove", "--yes")
        assert read_home(machine.home) == before


def test_removal_leaves_no_key_of_ours_where_an_agent_rewrote_its_settings(
    machine: Machine,
) -> None:
    need(*PROGRAMS)
    for agent in PROGRAMS:
        machine.run(agent, "Say hello.")
    machine.recollect("init", "--remove", "--yes")
    told = machine.recollect_status("init", "--check")
    assert "  current  " not in told and "  stale  " not in told, told
    for name in (".claude.json", ".codex/config.toml", ".gemini/settings.json"):
        text = (machine.home / name).read_text()
        assert "/bin/recollect" not in text, text
