"""Which calls, results and commands are our own, in the words of every agent."""

from __future__ import annotations

import json
from typing import Any

import pytest

from recollect.actions import echo
from recollect.interfaces import mcp_tools
from recollect.types.records import Message, ToolCall


def call(name: str, **given: Any) -> ToolCall:
    return ToolCall("c", name, json.dumps(given))


def shell(line: Any, name: str = "Bash", key: str = "command") -> ToolCall:
    return call(name, **{key: line})


def test_the_names_of_our_tools_are_those_that_are_offered() -> None:
    assert set(mcp_tools.list_names(full=True)) == echo.OWN_TOOLS


@pytest.mark.parametrize(
    "name",
    [
        "mcp__recollect__memory_recall",  # Claude Code, Codex
        "mcp__plugin_recollect_recollect__memory_recall",
        "recollect__memory_recall",  # Codex, earlier
        "recollect_memory_recall",  # OpenCode
        "mcp_recollect_memory_recall",  # Gemini CLI, Cursor
        "recollect-memory_recall",  # Copilot
        "recollect.memory_learn",
        "recollect/memory_stats",
        "memory_recall",  # Gemini CLI, where no other server has a tool of that name
        "memory_operations",
    ],
)
def test_a_tool_of_ours_is_known_by_any_name(name: str) -> None:
    assert echo.is_own_call(call(name, query="which port"))


@pytest.mark.parametrize(
    "name", ["memory_search", "mcp__other__memory_recall", "recollection", "Read", "memory", ""]
)
def test_a_tool_of_others_is_not_ours(name: str) -> None:
    assert not echo.is_own_call(call(name, query="which port"))


@pytest.mark.parametrize(
    "line",
    [
        'recollect recall "which port"',
        "recollect learn 'Redis; on port 6380 & more'",
        "cd /w/p && /opt/venv/bin/recollect show m-1 2>&1 | head -20",
        "RECOLLECT_HOME=/x recollect stats",
        "python3 -m recollect recall port --json | jq '.[].text'",
        "/usr/bin/python3.11 -m recollect recall port",
        "uv run recollect recall port",
        "uvx recollect recall port | grep -n redis",
        "recollect recall port; echo ---; recollect recall host",
        'recollect learn "two\nlines"',
        "recollect store plan - <<'EOF'\nrm -rf build\nEOF",
        ["bash", "-lc", "recollect recall port"],
        ["recollect", "recall", "port"],
    ],
)
@pytest.mark.parametrize(("name", "key"), [("Bash", "command"), ("exec_command", "cmd")])
def test_our_command_in_a_shell_is_ours(line: Any, name: str, key: str) -> None:
    assert echo.is_own_call(shell(line, name, key))


@pytest.mark.parametrize(
    "line",
    [
        "recollect recall port; cat notes.txt",
        "recollect recall port && pytest -q",
        "recollect recall port | sh",
        "grep -r recollect .",
        "pip install recollect",
        "cd recollect && make",
        "echo recollect",
        "",
        None,
        [],
        [1],
    ],
)
def test_what_a_line_does_besides_is_worth_keeping(line: Any) -> None:
    assert not echo.is_own_call(shell(line))


@pytest.mark.parametrize(
    ("made", "ours"),
    [
        (call("ReadMcpResourceTool", server="recollect", uri="memory://m-1"), True),
        (call("read_mcp_resource", server="other", uri="memory://m-1"), True),
        (call("CallMcpTool", server="recollect", toolName="memory_recall"), True),
        (call("read_mcp_resource", server="docs", uri="docs://recollect"), False),
        (call("Skill", skill="recollect:recollect-recall", args="port"), True),
        (call("Read", file_path="/w/p/.recollect/CONTINUITY.md"), True),
        (call("read_file", absolute_path="/w/p/.recollect/MEMORY.md"), True),
        (shell("cat .recollect/CONTINUITY.md"), True),
        (shell("cat .recollect/CONTINUITY.md src/app.py"), False),
        (call("Read", file_path="/w/p/src/recollect/app.py"), False),
        (call("Write", file_path="/w/p/.recollect/CONTINUITY.md", content="x"), False),
        (ToolCall("c", "Bash", "recollect recall"), False),
        (ToolCall("c", "Bash", '["recollect"]'), False),
        (ToolCall("c", "Bash", "[" * 100_000 + '"recollect"'), False),
    ],
)
def test_resources_skills_and_pages_of_ours_are_ours(made: ToolCall, ours: bool) -> None:
    assert echo.is_own_call(made) is ours


@pytest.mark.parametrize(
    ("text", "ours"),
    [
        ("/memory search port", True),
        ("/session list", True),
        ("/recollect.memory list", True),  # Gemini CLI
        ("/memory", False),  # of Claude Code and Gemini CLI themselves
        ("/memory\n\nis what I typed", False),
        ("/session", False),
        ("/recollect:memory list", True),
        ("/recollect:recall (MCP) port", True),
        ("/mcp__recollect__memory list", True),
        ("/recollect-memory list", True),
        ("! recollect recall port", True),
        ("/memory/leak.c is broken", False),
        ("/sessions", False),
        ("! ls", False),
        ("What does /memory do?", False),
    ],
)
def test_a_command_that_the_user_types(text: str, ours: bool) -> None:
    assert echo.trace_message(Message("user", text)).command is ours
    assert not echo.trace_message(Message("assistant", text)).command


def test_what_follows_a_command_is_an_echo_until_the_work_goes_on() -> None:
    listener = echo.EchoDetector(lambda call: False, lambda: False)
    heard = [
        listener.is_echo(echo.trace_message(message))
        for message in (
            Message("assistant", "Good morning"),
            Message("user", "/memory list"),
            Message("system", "Run `recollect memory list` and show what it prints"),
            Message("assistant", "", calls=(shell("recollect memory list"),)),
            Message("tool", "Redis listens on port 6380", call_id="c"),
            Message("assistant", "It prints: Redis listens on port 6380"),
            Message("assistant", "Now the tests", calls=(call("Bash", command="pytest"),)),
            Message("tool", "2 passed", call_id="c"),
            Message("assistant", "All green"),
            Message("user", "Good"),
            Message("assistant", "Thanks"),
        )
    ]
    assert heard == [False, True, True, True, True, True, False, False, False, False, False]
