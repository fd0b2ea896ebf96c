"""What was captured without a terminal is shown when a person is there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect
from recollect.interfaces import hooks, origin

RULE = "From now on always run the linter before committing."


def hook(project: Path, environment: dict[str, str], event: str, entry: str, **more: str) -> str:
    """Answer an event of Claude Code; return the notice of the reply."""
    payload = {
        "hook_event_name": event,
        "session_id": f"s-{entry}-{event}",
        "cwd": str(project),
        "transcript_path": "/home/dev/.claude/projects/p/s.jsonl",
        **more,
    }
    # Not as a process: on a busy machine that would give up in time.
    hook = hooks._HookProcess({**environment, "CLAUDE_CODE_ENTRYPOINT": entry})
    reply = hook.answer(json.dumps(payload).encode())
    return str(json.loads(reply or "{}").get("systemMessage", ""))


def test_a_headless_capture_is_told_at_the_next_interactive_start_once(
    project: Path, environment: dict[str, str]
) -> None:
    assert RULE in hook(project, environment, "UserPromptSubmit", "sdk-cli", prompt=RULE)
    with recollect.open(project, environment=environment) as memory:
        (waiting,) = memory.agents.notices()
    assert RULE in waiting
    assert hook(project, environment, "SessionStart", "sdk-cli", source="startup") == ""
    assert RULE in hook(project, environment, "SessionStart", "cli", source="startup")
    assert RULE not in hook(project, environment, "SessionStart", "cli", source="clear")
    with recollect.open(project, environment=environment) as memory:
        assert memory.agents.notices() == ()


def test_an_interactive_capture_is_not_told_twice(
    project: Path, environment: dict[str, str]
) -> None:
    assert RULE in hook(project, environment, "UserPromptSubmit", "cli", prompt=RULE)
    assert RULE not in hook(project, environment, "SessionStart", "cli", source="startup")


@pytest.mark.parametrize(
    ("words", "headless"),
    [
        (["/opt/codex/codex", "exec", "say hello"], True),
        (["/opt/codex/codex"], False),
        (["node", "/opt/node_modules/.bin/gemini", "--yolo", "-p", "hi"], True),
        (["node", "/opt/node_modules/.bin/gemini"], False),
        (["opencode", "run", "hi"], True),
        (["/usr/bin/copilot", "-p", "hi"], True),
        (["/usr/bin/copilot", "-i", "hi"], False),
        (["/bin/bash", "-p"], False),
    ],
)
def test_an_agent_without_a_terminal_is_known_by_its_words(
    monkeypatch: pytest.MonkeyPatch, words: list[str], headless: bool
) -> None:
    process = origin.Process(
        pid=7, parent=1, name="", words=tuple(words), has_terminal=True, marks=()
    )
    monkeypatch.setattr(origin, "_parents", lambda: iter([process]))
    assert origin.is_headless({}) == headless
