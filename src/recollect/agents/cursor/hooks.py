"""Cursor's hooks: parse payloads, format replies, and list the settings that register them.

Cursor waits for a JSON object even when there is nothing to say. Context can be added when a
conversation starts and with each prompt. Nothing can be shown to the user alone, so a notice goes
to the model, in a block of ours. After a stop the only possible reply would be a follow-up prompt,
and we never write prompts in the user's name.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...types.records import Json
from ..events import Event, event_from, fit_reply, wrap_notice
from ..settings import entries

HOST = "cursor"
EVENTS = {
    "sessionStart": "session_start",
    "beforeSubmitPrompt": "user_prompt",
    "postToolUse": "tool_use",
    "preCompact": "before_compact",
    "stop": "stop",
    "sessionEnd": "session_end",
}


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event; its directory is the first workspace root."""
    return event_from(payload, HOST, EVENTS, env.get("CURSOR_PROJECT_DIR", ""))


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON reply for this event: `{}` when there is nothing to say."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if event.name == "user_prompt":
            body["continue"] = True
        added = "\n".join(filter(None, (context, wrap_notice(notice))))
        if added and event.name in ("session_start", "user_prompt"):
            body["additional_context"] = added
        return body

    return fit_reply(context, notice, shape) or "{}"


# ---------------------------------------------------------------- settings


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of `hooks.json`."""
    hook = entries.Hook
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "sessionStart": hook(10),
                "beforeSubmitPrompt": hook(5),
                "preCompact": hook(10),
                "stop": hook(30),
                "sessionEnd": hook(5),
            },
            lead={},
            is_grouped=False,
            extras={"version": 1},
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of `mcp.json`.

    Cursor starts the servers of the user's own settings in the home directory: without --project
    all projects would share one memory.
    """
    return entries.make_json_editor(
        servers="mcpServers",
        server=lambda command: entries.server_entry(command, "--project", "${workspaceFolder}"),
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project."""
    return entries.list_files(
        os.path.join(home, ".cursor"),
        os.path.join(project, ".cursor"),
        ("hooks", make_hook_editor(), "hooks.json", "hooks.json"),
        ("mcp", make_server_editor(), "mcp.json", "mcp.json"),
    )
