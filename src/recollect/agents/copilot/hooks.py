"""Copilot CLI's hooks: parse payloads, format replies, and list the settings that register them.

Event names in Claude Code's spelling give Claude Code's payloads, without a transcript path.
Context is a member of its own, except before a tool. It reaches the model at the start, with a
prompt, and before and after a tool; a resumed or compacted session has lost that of its start. The
user is shown nothing of a reply, so a notice goes to the model, in a block of ours. A failing shell
command is a tool call that worked: its output ends with the exit code. Checked with 1.0.102.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Mapping

from ...types.records import Json
from ..events import Event, claude_reply, event_from, fit_reply, wrap_notice
from ..settings import entries

HOST = "copilot"
EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "PreToolUse": "before_tool",
    "PostToolUse": "tool_use",
    "PostToolUseFailure": "tool_use",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse", "PostToolUseFailure")
_EXIT = re.compile(r"<shellId: \S+ completed with exit code (\d+)>\s*\Z")


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event with the text that the model saw of a tool's result."""
    event = event_from(payload, HOST, EVENTS)
    if event.name == "session_start" and event.source == "resume":
        return event._replace(context="fresh")
    result = payload.get("tool_result")
    if isinstance(result, dict):
        shown = result.get("text_result_for_llm")
        text = shown if isinstance(shown, str) else ""
        code = find_exit_code(text)
        failed = event.tool_failed or code not in ("", "0")
        return event._replace(tool_output=text, tool_failed=failed)
    return event


def find_exit_code(output: str) -> str:
    """Return the exit code at the end of a shell's output, or ""."""
    found = _EXIT.search(output[-200:])
    return found[1] if found else ""


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON reply for this event, or ""."""
    if event.host_event == "PreToolUse":
        return claude_reply(event, context, "")

    def shape(context: str, notice: str) -> dict[str, Json]:
        added = "\n".join(filter(None, (context, wrap_notice(notice))))
        return {"additionalContext": added} if added else {}

    # What waits for review is for the person only; what was captured comes with a prompt.
    notice = notice if event.name == "user_prompt" else ""
    return fit_reply(context, notice, shape) if event.host_event in _TAKES_CONTEXT else ""


# ---------------------------------------------------------------- settings


def _make_handler(seconds: int, matcher: str = "") -> Callable[[str], dict[str, Json]]:
    def wrap(line: str) -> dict[str, Json]:
        handler: dict[str, Json] = {"type": "command", "command": line, "timeout": seconds}
        return {**({"matcher": matcher} if matcher else {}), **handler}

    return wrap


def _make_server(command: entries.Command) -> dict[str, Json]:
    return {
        "type": "local",
        "command": command[0],
        "args": [*command[1:], "mcp"],
        "tools": ["*"],
    }


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of a hook file."""
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "SessionStart": _make_handler(10),
                "UserPromptSubmit": _make_handler(5),
                "PreToolUse": _make_handler(5, "Bash|Edit|MultiEdit|Write"),
                "PostToolUse": _make_handler(5, "Bash"),
                "PostToolUseFailure": _make_handler(5),
                "PreCompact": _make_handler(10),
                "Stop": _make_handler(30),
                "SessionEnd": _make_handler(5),
            },
            extras={"version": 1},
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of `mcp-config.json`."""
    return entries.make_json_editor(servers="mcpServers", server=_make_server)


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project.

    `.mcp.json` in a project is Claude Code's too, with an entry of another form: Copilot CLI also
    reads `.github/mcp.json`.
    """
    own = env.get("COPILOT_HOME") or os.path.join(home, ".copilot")
    shared = os.path.join(project, ".github")
    hooks, server = make_hook_editor(), make_server_editor()
    return (
        entries.SettingsFile(os.path.join(own, "hooks", "recollect.json"), "hooks", "user", hooks),
        entries.SettingsFile(
            os.path.join(shared, "hooks", "recollect.json"), "hooks", "project", hooks
        ),
        entries.SettingsFile(os.path.join(own, "mcp-config.json"), "mcp", "user", server),
        entries.SettingsFile(os.path.join(shared, "mcp.json"), "mcp", "project", server),
    )
