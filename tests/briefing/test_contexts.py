"""What an agent's model is told when its context starts, goes on, or was thrown away."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.agents import registry
from recollect.agents.operations_events import answer_event
from recollect.briefing.rendering import READING_RULES
from tests.conftest import Clock

Mem = recollect.Recollect
Say = Callable[..., str]
SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"
OLD, NEW = "Never commit secrets", "Never push to main"
FILE_RULE = "Billing amounts are integers in cents"


def recorded(name: str, event: str, source: str) -> dict[str, Any]:
    """The payload that the agent sent; of a source that was not recorded, in the same shape."""
    lines = [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]
    found = [line for line in lines if line["hook_event_name"] == event]
    exact = [line for line in found if line.get("source", "") == source]
    shape = {**(exact or found or lines[-1:])[0], "hook_event_name": event}
    return {**shape, **({"source": source} if source else {})}


def claude(event: str, source: str = "") -> dict[str, Any]:
    return recorded("claude-code-2.1.325.hook-stdin.jsonl", event, source)


def codex(event: str, source: str = "") -> dict[str, Any]:
    return recorded("codex-0.166.0.hook-stdin.jsonl", event, source)


def gemini(event: str, source: str = "") -> dict[str, Any]:
    names = {"UserPromptSubmit": "BeforeAgent", "PreCompact": "PreCompress"}
    path = "/home/dev/.gemini/tmp/p/chats/session-1.jsonl"
    payload = {"session_id": "g-1", "transcript_path": path, "timestamp": "2026-01-01T00:00:00Z"}
    more = {"trigger": "manual"} if event == "PreCompact" else {"source": source} if source else {}
    return {**payload, "hook_event_name": names.get(event, event), **more}


def opencode(event: str, source: str = "") -> dict[str, Any]:
    names = {
        "SessionStart": "session_start",
        "UserPromptSubmit": "user_prompt",
        "PreCompact": "before_compact",
        "PostToolUse": "tool_use",
    }
    more = {"source": source} if source else {}
    return {"host": "opencode", "hook_event_name": names[event], "session_id": "o-1", **more}


def cursor(event: str, source: str = "") -> dict[str, Any]:
    names = {
        "SessionStart": "sessionStart",
        "UserPromptSubmit": "beforeSubmitPrompt",
        "PreCompact": "preCompact",
    }
    return {"conversation_id": "k-1", "hook_event_name": names[event]}


AGENTS = {
    "claude-code": claude,
    "codex": codex,
    "gemini": gemini,
    "opencode": opencode,
    "cursor": cursor,
}


def of(*names: str) -> pytest.MarkDecorator:
    return pytest.mark.parametrize("agent", names)


@pytest.fixture
def say(mem: Mem, clock: Clock, project: Path) -> Say:
    """What the model of an agent is told at an event, a minute after the one before."""

    def told(agent: str, event: str, source: str = "", **more: Any) -> str:
        clock.advance(seconds=60)
        payload = {**AGENTS[agent](event, source), "cwd": str(project), **more}
        assert registry.detect_agent(payload, {}) == agent
        return str(answer_event(mem.context, registry.load_hooks(agent).parse(payload, {})).context)

    return told


def prompt(say: Say, agent: str, text: str, turn: str) -> str:
    key = {"codex": "turn_id", "cursor": "generation_id"}.get(agent, "prompt_id")
    return say(agent, "UserPromptSubmit", prompt=text, **{key: turn})


@of("claude-code", "codex", "gemini", "opencode")
def test_a_context_that_starts_twice_is_told_the_same_bytes(mem: Mem, say: Say, agent: str) -> None:
    mem.learn(OLD, kind="policy")
    first = say(agent, "SessionStart", "startup")
    mem.learn(NEW, kind="policy")
    assert OLD in first and say(agent, "SessionStart", "startup") == first


@of("claude-code", "codex", "opencode")
@pytest.mark.parametrize("announced", [True, False])
def test_after_a_compaction_the_block_has_the_rule_stated_since(
    mem: Mem, say: Say, agent: str, announced: bool
) -> None:
    mem.learn(OLD, kind="policy")
    say(agent, "SessionStart", "startup")
    mem.learn(NEW, kind="policy")
    if announced:
        say(agent, "PreCompact")
    told = say(agent, "SessionStart", "compact")
    assert OLD in told and NEW in told
    assert told.count(READING_RULES) == 1
    assert say(agent, "SessionStart", "startup") in told, "the new block is the one that stays now"


@of("claude-code", "codex", "gemini")
def test_after_a_clear_the_block_has_the_rule_stated_since(mem: Mem, say: Say, agent: str) -> None:
    mem.learn(OLD, kind="policy")
    say(agent, "SessionStart", "startup")
    mem.learn(NEW, kind="policy")
    told = say(agent, "SessionStart", "clear")
    assert OLD in told and NEW in told


@of("gemini", "cursor")
def test_where_no_start_follows_a_compaction_the_next_prompt_brings_the_block(
    mem: Mem, say: Say, agent: str
) -> None:
    mem.learn(OLD, kind="policy")
    assert OLD in say(agent, "SessionStart", "startup")
    assert prompt(say, agent, "go on", "t1") == ""
    mem.learn(NEW, kind="policy")
    say(agent, "PreCompact")
    told = prompt(say, agent, "go on with it", "t2")
    assert OLD in told and NEW in told
    assert prompt(say, agent, "go on with that", "t3") == ""


def test_gemini_says_before_every_call_that_it_may_compress(mem: Mem, say: Say) -> None:
    mem.learn(OLD, kind="policy")
    say("gemini", "SessionStart", "startup")
    say("gemini", "PreCompact", trigger="auto")
    assert prompt(say, "gemini", "go on", "t1") == ""


@of("claude-code", "codex", "opencode")
def test_a_resumed_context_is_told_only_what_is_new_and_that_once(
    mem: Mem, say: Say, agent: str
) -> None:
    mem.learn(OLD, kind="policy")
    first = say(agent, "SessionStart", "startup")
    assert say(agent, "SessionStart", "resume") == "", "the transcript has the block"
    mem.learn(NEW, kind="policy")
    told = say(agent, "SessionStart", "resume")
    assert NEW in told and OLD not in told and "<recollect-memory" in told
    assert prompt(say, agent, "go on", "t1") == ""
    assert say(agent, "SessionStart", "resume") == ""
    assert say(agent, "SessionStart", "startup") == first


@of("claude-code", "codex", "opencode", "gemini")
def test_a_resumed_context_that_never_had_the_block_is_told_it_once(
    mem: Mem, say: Say, agent: str
) -> None:
    mem.learn(OLD, kind="policy")
    assert OLD in say(agent, "SessionStart", "resume")
    assert prompt(say, agent, "go on", "t1") == ""


def test_gemini_keeps_no_block_when_it_resumes(mem: Mem, say: Say) -> None:
    """What a hook says at its start is in Gemini CLI's memory, not in its transcript."""
    mem.learn(OLD, kind="policy")
    say("gemini", "SessionStart", "startup")
    mem.learn(NEW, kind="policy")
    told = say("gemini", "SessionStart", "resume")
    assert OLD in told and NEW in told


def test_what_a_turn_showed_is_not_said_again_on_resume(mem: Mem, say: Say) -> None:
    mem.agents.init()
    assert say("claude-code", "SessionStart", "startup") == ""
    mem.learn(OLD, kind="policy")
    mem.learn(NEW, kind="policy")
    assert NEW in prompt(say, "claude-code", "may I push to main?", "t1")
    told = say("claude-code", "SessionStart", "resume")
    assert OLD in told and NEW not in told


def test_a_full_block_does_not_keep_a_new_rule_out_of_a_resumed_context(mem: Mem, say: Say) -> None:
    for number in range(80):
        mem.learn(f"Rule w{number} says thing x{number} stays untouched by hand", kind="policy")
    first = say("claude-code", "SessionStart", "startup")
    assert "more did not fit" in first
    mem.learn(NEW, kind="policy")
    told = say("claude-code", "SessionStart", "resume")
    assert NEW in told
    assert told.count("untouched") <= 1, "what had no place before has hardly any now"


@of("claude-code", "codex", "opencode")
def test_after_a_compaction_what_applies_to_a_file_is_said_again(
    mem: Mem, say: Say, project: Path, agent: str
) -> None:
    mem.learn(FILE_RULE, kind="pattern", scope=["src/billing/**"], confidence=0.1)

    def edit(call: str) -> str:
        edited = {"file_path": str(project / "src" / "billing" / "tax.py")}
        return say(agent, "PostToolUse", tool_name="Edit", tool_input=edited, tool_use_id=call)

    assert FILE_RULE not in say(agent, "SessionStart", "startup")
    assert FILE_RULE in edit("c1")
    assert edit("c2") == ""
    say(agent, "SessionStart", "resume")
    assert edit("c3") == "", "the context keeps it"
    say(agent, "SessionStart", "compact")
    assert FILE_RULE in edit("c4")
    assert edit("c5") == ""


def test_a_subagents_compaction_is_not_that_of_its_parent(mem: Mem, say: Say) -> None:
    mem.learn(OLD, kind="policy")
    say("claude-code", "SessionStart", "startup")
    say("claude-code", "PreCompact", agent_id="a1")
    assert prompt(say, "claude-code", "go on", "t1") == ""


def test_the_persons_own_rules_are_told_once_where_the_project_has_no_store(
    mem: Mem, say: Say
) -> None:
    mem.learn("Answer in short sentences", kind="policy", layer="user")
    assert "short sentences" in say("claude-code", "SessionStart", "startup")
    assert prompt(say, "claude-code", "what is this project about?", "t1") == ""
    assert say("claude-code", "SessionStart", "resume") == ""
    assert "short sentences" in say("claude-code", "SessionStart", "compact")


def test_a_window_that_was_trimmed_gets_a_block_made_afresh(mem: Mem) -> None:
    mem.learn(OLD, kind="policy")
    first = mem.briefing("s-1").stable
    for number in range(40):
        mem.record("s-1", f"question {number}: " + "many words of it " * 40)
        mem.record("s-1", "an answer", role="assistant")
    mem.learn(NEW, kind="policy")
    mem.prepare("s-1", 1_000_000)
    assert mem.briefing("s-1").stable == first, "nothing left the window"
    assert mem.prepare("s-1", 8_000).trimmed
    assert NEW in mem.briefing("s-1").stable
