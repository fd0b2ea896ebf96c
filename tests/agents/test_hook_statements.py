"""Hooks on PostgreSQL: at most twelve statements, whatever a moment has to say."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from tests.conftest import PATIENCE, Clock
from tests.lessons.test_observed import FAILED, MISSING, good, work

psycopg = pytest.importorskip("psycopg")

MOST = 12
"""Statements of a hook on an open connection; BEGIN, SET and COMMIT are counted."""

Said = tuple[str, int]


class Agent:
    """An agent that sends events and counts the statements of each."""

    def __init__(self, memory: recollect.Recollect, root: Path, sent: list[str]) -> None:
        self.memory, self.root, self.sent = memory, root, sent
        self.count = 0

    def hear(self, event: str, session: str = "s-1", **fields: Any) -> Said:
        """Return what an event is answered with, and the number of statements."""
        self.count += 1
        # Claims about these files have to be checked again.
        for name in ("src/tax.py", "src/login.py"):
            (self.root / name).write_text(f"def total(): return {self.count}\n")
        payload = {
            "hook_event_name": event,
            "session_id": session,
            "cwd": str(self.root),
            "transcript_path": f"/home/dev/.claude/projects/p/{session}.jsonl",
            "prompt_id": f"p-{self.count}",
            "tool_use_id": f"t-{self.count}",
            **fields,
        }
        parsed = registry.load_hooks("claude-code").parse(payload, {})
        self.sent.clear()
        answer = answer_event(self.memory.context, parsed)
        assert answer.trouble is None
        assert not [one for one in self.sent if ";" in one or "DO $" in one]
        return answer.context, len(self.sent)


@pytest.fixture
def agent(
    postgres_ready: str, project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[Agent]:
    """An agent whose project has something to say at every moment."""
    sent: list[str] = []
    for name in ("execute", "executemany"):
        whole = getattr(psycopg.Cursor, name)

        def spy(self: Any, query: Any, *values: Any, whole: Any = whole, **more: Any) -> Any:
            sent.append(" ".join(str(query).split()))
            return whole(self, query, *values, **more)

        monkeypatch.setattr(psycopg.Cursor, name, spy)
    variables = {
        "RECOLLECT_HOME": str(tmp_path / "home"),
        "HOME": str(tmp_path),
        "RECOLLECT_DATABASE": postgres_ready,
        "RECOLLECT_LOCK_WAIT": str(PATIENCE),
    }
    clock = Clock()
    (project / "src").mkdir()
    with recollect.open(project, clock=clock, environment=variables, origin="user") as memory:
        agent = Agent(memory, project, sent)
        (project / "src/tax.py").write_text("def total(): return 0\n")
        (project / "src/login.py").write_text("def total(): return 0\n")
        fill(memory, clock, project)
        yield agent


def fill(memory: recollect.Recollect, clock: Clock, root: Path) -> None:
    memory.learn("Use pnpm instead of npm", kind="preference")
    memory.learn("Never push to main", kind="policy", layer="user")
    memory.learn("Amounts of `total()` in src/tax.py are cents", kind="policy", scope=["src/**"])
    memory.learn("The zebra exporter is `total()` in src/login.py", kind="fact")
    rated = memory.learn("The kraken exporter fails without vendor codes", kind="pitfall")
    memory.memories.feedback(rated.id, "helped")
    memory.tasks.start("Exporter", phases=["design", "build"])
    memory.notes.set(objective="Ship the exporter", phase="build")
    memory.learn("the exporter's flag is off", kind="policy", layer="task", owner="exporter")
    memory.procedures.learn("add-endpoint", "Add an endpoint to the kraken API", steps=["do it"])
    memory.procedures.use("add-endpoint")
    memory.handoffs.give("claude", "The parser is done", sender="codex")
    memory.record("s-0", "The kraken importer must keep the vendor codes.")
    fix = ("pytest", FAILED, True), good(f"file:{root}/src/login.py"), good("pytest")
    for name in ("w-1", "w-2"):
        lint = good("cd src && make lint")
        work(memory, clock, name, ("pytest -q", MISSING, True), good("uv run pytest"), *fix, lint)
    memory.learn("Tabs are used in src", kind="policy")
    memory.store.rebuild(missing=True)


def bash(line: str) -> dict[str, Any]:
    return {"tool_name": "Bash", "tool_input": {"command": line}}


def test_a_hook_takes_at_most_twelve_statements(agent: Agent) -> None:
    edit = {"tool_name": "Edit", "tool_input": {"file_path": str(agent.root / "src/tax.py")}}
    text, count = agent.hear("SessionStart", source="startup")
    assert "Use pnpm" in text and "flag is off" in text and "Objective" in text
    assert count <= MOST, agent.sent
    for prompt in (
        "speed up the kraken vendor import of the zebra exporter in src/login.py",
        "keep the vendor codes of the kraken importer in order",
        "thanks",
    ):
        text, count = agent.hear("UserPromptSubmit", prompt=prompt)
        assert bool(text) is (prompt != "thanks")
        assert count <= MOST, agent.sent
    # The first prompt of a session whose start was not heard says both.
    prompt = "add an endpoint for the zebra exporter of src/login.py to the kraken API"
    text, count = agent.hear("UserPromptSubmit", "s-2", prompt=prompt)
    assert "Use pnpm" in text and "zebra exporter" in text
    assert count <= MOST, agent.sent
    for event, fields, said in (
        ("PreToolUse", bash("npm install"), "Use pnpm"),
        ("PreToolUse", bash("ls"), ""),
        ("PreToolUse", edit, "cents"),
        ("PostToolUseFailure", {**bash("pytest -x"), "error": FAILED}, "Resolved in 2 sessions"),
        ("PreCompact", {"trigger": "manual"}, ""),
        ("SessionStart", {"source": "compact"}, "Use pnpm"),
        ("SessionStart", {"source": "resume"}, ""),
    ):
        text, count = agent.hear(event, **fields)
        assert said in text, text
        assert count <= MOST, agent.sent
    assert agent.hear("PreToolUse", **bash("ls"))[1] <= 3


def test_a_prompt_that_saves_rules_takes_no_more(agent: Agent) -> None:
    agent.hear("SessionStart", source="startup")
    agent.hear("SessionStart", "s-3", source="startup")
    agent.hear("UserPromptSubmit", "s-3", prompt="never edit src/tax.py by hand")
    for prompt in (
        "always run `make lint` before you commit",
        "never edit src/tax.py by hand",  # strengthens what is there
        "from now on use tabs in src/",
        "from now on use port 6380 for the kraken database",
        "from now on use port 6390 for the kraken database",  # takes the place of the other
        "I prefer short answers without emoji",  # goes to the user's space
        "always squash commits. never push to main on a friday",
        "from now on never use tabs in src/",  # contradicts a rule
        "from now on use port 6400 for the kraken database, not 6390",
        "you no longer need to run make lint before you commit",  # takes a rule back
    ):
        _, count = agent.hear("UserPromptSubmit", prompt=prompt)
        assert count <= MOST, (prompt, agent.sent)
    kept = {memory.text: memory for memory in agent.memory.list(limit=100)}
    assert kept["never edit src/tax.py by hand"].reinforcement == 2
    assert "always run `make lint` before you commit" not in kept
    assert kept["I prefer short answers without emoji"].layer == "user"
    assert {"always squash commits.", "never push to main on a friday"} < kept.keys()
    ports = [text for text in kept if "kraken database" in text]
    assert ports == ["from now on use port 6400 for the kraken database, not 6390"]
