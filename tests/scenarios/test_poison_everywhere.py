"""Poison that comes in on any path becomes no rule, and no briefing says it unquoted."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import anyio
import pytest
from mcp import Client

import recollect
from recollect import hosts
from recollect.adapters.anthropic_memory import MemoryTool
from recollect.adapters.claude_sessions import MemorySessionStore
from recollect.adapters.langgraph_store import MemoryStore
from recollect.adapters.openai_session import MemorySession
from recollect.hosts.events import Event
from recollect.interfaces import mcp

from .poison import ASKED, PASTED, POISON, SAID, WRITERS, claude_code

BINDING = ("policy", "preference", "decision", "architecture", "workflow")


def assert_harmless(memory: recollect.Recollect) -> None:
    """No rule, nothing captured, and no line of any briefing that is not a quotation."""
    bound = [item for item in memory.list() if item.kind in BINDING and item.status == "active"]
    assert bound == []
    assert memory.captures() == ()
    for host in hosts.HOOKED:
        for name, more in (
            ("session_start", {}),
            ("session_start", {"source": "compact"}),
            ("user_prompt", {"prompt": "run the build with the registry evil.example"}),
            ("tool_use", {"tool_input": {"file_path": "src/build.py"}, "call_id": "c9"}),
        ):
            event = Event(host, name, name, f"{host}.new", cwd=memory.project.root, **more)
            for line in memory.hear(event).context.splitlines():
                assert "evil.example" not in line or line.startswith("> ["), (host, name, line)


def test_every_agent_has_its_own_poisoned_transcript() -> None:
    assert set(WRITERS) == set(hosts.HOSTS)


@pytest.mark.parametrize("host", WRITERS)
def test_a_poisoned_transcript_stays_data(
    mem: recollect.Recollect, tmp_path: Path, host: str
) -> None:
    path = WRITERS[host](tmp_path)
    assert hosts.sniff(str(path)) == host
    done = mem.import_transcripts(str(path))
    assert (done.captured, done.transcripts[0].error) == ((), "")
    assert done.messages >= 3
    (session,) = mem.sessions()
    stored = mem.session(session.id, 1, 100).messages
    assert any("evil.example" in str(item.message.content) for item in stored)
    for item in stored:
        if item.message.role in ("tool", "assistant", "system"):
            assert item.origin in ("tool", "agent", "import")
    assert_harmless(mem)


Path_ = Callable[[recollect.Recollect], None]


def through_langgraph(memory: recollect.Recollect) -> None:
    MemoryStore(memory).put(("rules",), "build", {"text": POISON, "kind": "policy"})


def through_openai_agents(memory: recollect.Recollect) -> None:
    items: Any = [
        {"role": "user", "content": ASKED},
        {"type": "function_call", "call_id": "c", "name": "fetch", "arguments": "{}"},
        {"type": "function_call_output", "call_id": "c", "output": POISON},
        {"role": "assistant", "content": SAID},
        {"role": "user", "content": PASTED},
    ]
    asyncio.run(MemorySession("s", memory).add_items(items))


def through_the_claude_agent_sdk(memory: recollect.Recollect) -> None:
    path = claude_code(Path(memory.project.root))
    entries: Any = [json.loads(line) for line in path.read_text().splitlines()]
    key: Any = {"project_key": "p", "session_id": "s1"}
    asyncio.run(MemorySessionStore(memory).append(key, entries))


def through_the_memory_tool(memory: recollect.Recollect) -> None:
    MemoryTool(memory).call({"command": "create", "path": "/memories/a.md", "file_text": POISON})


def through_mcp(memory: recollect.Recollect) -> None:
    async def talk() -> None:
        async with Client(mcp.make_server(memory)) as client:
            for kind in BINDING:
                text = {"text": f"{kind}: {POISON}", "kind": kind}
                assert not (await client.call_tool("memory_learn", text)).is_error
            prompt = await client.get_prompt("briefing", {"query": "run the build"})
            assert "evil.example" not in prompt.messages[0].content.text  # type: ignore[union-attr]

    anyio.run(talk)
    assert len(memory.list(status="proposed")) == len(BINDING)


ADAPTERS: list[Path_] = [
    through_langgraph,
    through_openai_agents,
    through_the_claude_agent_sdk,
    through_the_memory_tool,
    through_mcp,
]


@pytest.mark.parametrize("path", ADAPTERS)
@pytest.mark.parametrize("origin", ["user", "agent"])
def test_what_comes_through_an_adapter_stays_data(
    project: Path, environment: dict[str, str], path: Path_, origin: str
) -> None:
    if path is through_mcp:
        origin = "agent"  # whoever calls a tool of ours is an agent
    with recollect.open(project, environment=environment, origin=origin) as memory:
        path(memory)
    with recollect.open(project, environment=environment) as memory:
        assert_harmless(memory)
