"""What a model sees of our memory when the released agents run without a terminal.

    RECOLLECT_AGENTS=FOLDER python -m pytest -n 0 tests/agents/released

Assertions are on the requests that reached the model.
"""

from __future__ import annotations

import json
from collections.abc import Iterable

import pytest

from tests.agents.released.conftest import need
from tests.agents.released.harness import PROGRAMS, Machine
from tests.agents.released.model_server import ModelRequest, Step

AGENTS = tuple(PROGRAMS)
RULES = {
    "claude-code": "From now on always run make lint before you commit.",
    "codex": "Never push to the release branch without a tag.",
    "gemini": "We always name migrations after their ticket.",
    "opencode": "Remember that the staging database is called harbor.",
    "copilot": "From now on always squash commits before merging.",
}
of = pytest.mark.parametrize


def blocks(requests: Iterable[ModelRequest]) -> str:
    return "\n".join(block for one in requests for block in one.blocks)


@of("agent", AGENTS)
def test_a_stated_rule_is_kept_and_starts_the_next_session(machine: Machine, agent: str) -> None:
    need(agent)
    said = machine.run(agent, RULES[agent])
    assert said.status == 0, said.err
    assert any(RULES[agent] in one.text for one in said.turns), "the prompt did not arrive"
    (kept,) = machine.listed()
    assert kept.rstrip(".") in RULES[agent] or RULES[agent].rstrip(".").endswith(kept.rstrip("."))
    later = machine.run(agent, "Say hello.")
    assert kept in blocks(later.turns[:1])
    assert machine.failed_hooks() == []


def test_a_rule_stated_in_any_agent_is_in_the_next_start_block_of_every_other(
    machine: Machine,
) -> None:
    need(*AGENTS)
    for agent in AGENTS:
        machine.run(agent, RULES[agent])
    kept = machine.listed()
    assert len(kept) == len(AGENTS)
    for agent in AGENTS:
        start = blocks(machine.run(agent, "Say hello.").turns[:1])
        missing = [text for text in kept if text not in start]
        assert not missing, f"{agent} did not see {missing}"
    assert machine.failed_hooks() == []


@of("agent", AGENTS)
def test_a_resumed_session_is_told_what_is_new_and_keeps_what_it_knew(
    machine: Machine, agent: str
) -> None:
    need(agent)
    machine.learn("Deploys go through the harbor queue", "fact")
    machine.run(agent, RULES[agent])
    machine.learn("Feature flags live in flags.toml", "fact")
    resumed = machine.run(agent, "Go on.", resume=True)
    assert resumed.status == 0, resumed.err
    seen = blocks(resumed.turns[:1])
    assert "harbor queue" in seen or "harbor queue" in resumed.turns[0].text
    assert "flags.toml" in seen, seen
    assert RULES[agent] in resumed.turns[0].text


KILLED_THEN = dict(zip(AGENTS, (*AGENTS[1:], AGENTS[0]), strict=True))


@of("killed", AGENTS)
def test_the_next_agent_catches_up_with_a_killed_one(machine: Machine, killed: str) -> None:
    need(killed, KILLED_THEN[killed])
    machine.model.plan(Step(shell="echo the kraken-exporter was renamed"), Step(seconds=60))
    machine.kill(killed, "Please look at the kraken-exporter and its walrus cache.")
    machine.model.plan()
    machine.run(KILLED_THEN[killed], "Say hello.")
    hosts = {one["agent"] for one in json.loads(machine.recollect("session", "list", "--json"))}
    assert killed in hosts, machine.hook_log()
    found = machine.recollect("recall", "walrus cache kraken-exporter")
    assert "walrus" in found


BUILD = """\
if [ ! -e generated ]; then
  echo "error: generated sources are missing (codegen was not run)" >&2
  exit 1
fi
echo built
"""


@of("agent", AGENTS)
def test_a_failure_brings_what_fixed_it_before(machine: Machine, agent: str) -> None:
    need(agent)
    (machine.project / "build.sh").write_text(BUILD)
    (machine.project / "codegen.sh").write_text("touch generated; echo done\n")
    fix = (Step(shell="sh build.sh"), Step(shell="sh codegen.sh"), Step(shell="sh build.sh"))
    machine.model.plan(*fix)
    machine.run(agent, "Build it.")
    (machine.project / "generated").unlink()
    machine.model.plan(Step(shell="sh build.sh"))
    again = machine.run(agent, "Build it once more.")
    known = again.turns[0].blocks  # the start block may list the command, too
    told = [block for one in again.turns[1:] for block in one.blocks if block not in known]
    assert "this error went away once" in "\n".join(told), told


def write_step(machine: Machine, agent: str, name: str) -> Step:
    path, text = str(machine.project / name), "TOTAL = 1\n"
    patch = f"*** Begin Patch\n*** Add File: {name}\n+{text}*** End Patch\n"
    return {
        "claude-code": Step(tool="Write", arguments={"file_path": path, "content": text}),
        "codex": Step(shell=f"apply_patch <<'EOF'\n{patch}EOF"),
        "gemini": Step(tool="write_file", arguments={"file_path": path, "content": text}),
        "opencode": Step(tool="write", arguments={"filePath": path, "content": text}),
        "copilot": Step(tool="create", arguments={"path": path, "file_text": text}),
    }[agent]


@of("agent", AGENTS)
def test_a_rule_for_some_files_comes_when_one_of_them_is_changed(
    machine: Machine, agent: str
) -> None:
    need(agent)
    (machine.project / "src" / "billing").mkdir(parents=True)
    rule = "Amounts are integers in cents"
    machine.learn(rule, "policy", scope=["src/billing/**"])
    machine.model.plan(write_step(machine, agent, "src/billing/total.py"))
    done = machine.run(agent, "Add the total.")
    assert (machine.project / "src" / "billing" / "total.py").exists(), done.out + done.err
    assert rule in blocks(done.turns[1:]), [one.tools for one in done.turns[:1]]


@of("agent", AGENTS)
def test_three_recalls_in_a_row_have_the_same_first_hit(machine: Machine, agent: str) -> None:
    need(agent)
    for text in ("The exporter writes to the kraken queue", "Kraken is our queue of exports"):
        machine.learn(text, "fact")
    name = "mcp__recollect__memory_recall" if agent == "claude-code" else "memory_recall"
    step = Step(tool=name, arguments={"query": "which queue does the exporter use"})
    warm = Step(shell="sleep 3")  # a server that starts with the session is there after it
    machine.model.plan(warm, step, step, step)
    done = machine.run(agent, "Find it.")
    answers = [
        text for text in done.turns[-1].texts() if "memory://" in text and "kraken" in text.lower()
    ]
    firsts = [text[text.index("memory://") :].split()[0].strip('",') for text in answers]
    assert len(firsts) >= 3, done.turns[-1].text[-3000:]
    assert len(set(firsts[-3:])) == 1, firsts


def test_gemini_starts_no_process_before_each_model_call(machine: Machine) -> None:
    need("gemini")
    machine.model.plan(*(Step(shell="echo again") for _ in range(4)))
    machine.run("gemini", "Do it five times.")
    events = [line.split()[2] for line in machine.hook_log()]
    assert "before_compact" not in events, events
