"""Copilot CLI's hooks: parse payloads, format replies, and list the settings that register them.

Event names in Claude Code's spelling give Claude Code's payloads, without a transcript path.
Context is a member of its own, except before a tool. It reaches the model at the start, with a
prompt, and before and after a tool; a resumed or compacted session has lost the context of its
start. Replies are not shown to the user, so a notice goes to the model, in a block of ours. A shell
command that fails is a successful tool call whose output ends with the exit code. Checked with
1.0.102.
"""

from __future__ import annotations

import os
import re
from collections.abc import Mapping

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

    # Of the notices only those about captures, which come with a prompt, are for the model too.
    notice = notice if event.name == "user_prompt" else ""
    return fit_reply(context, notice, shape) if event.host_event in _TAKES_CONTEXT else ""


# ---------------------------------------------------------------- settings


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of a hook file."""
    hook = entries.Hook
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "SessionStart": hook(10),
                "UserPromptSubmit": hook(5),
                "PreToolUse": hook(5, "Bash|Edit|MultiEdit|Write"),
                "PostToolUse": hook(5, "Bash"),
                "PostToolUseFailure": hook(5),
                "PreCompact": hook(10),
                "Stop": hook(30),
                "SessionEnd": hook(5),
            },
            is_grouped=False,
            extras={"version": 1},
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of `mcp-config.json`."""
    return entries.make_json_editor(
        servers="mcpServers",
        server=lambda command: {"type": "local", **entries.server_entry(command), "tools": ["*"]},
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project.

    In a project the server is added to `.github/mcp.json`, not to `.mcp.json`: Claude Code reads
    that too, and needs an entry in another format.
    """
    return entries.list_files(
        env.get("COPILOT_HOME") or os.path.join(home, ".copilot"),
        os.path.join(project, ".github"),
        ("hooks", make_hook_editor(), "hooks/recollect.json", "hooks/recollect.json"),
        ("mcp", make_server_editor(), "mcp-config.json", "mcp.json"),
    )
