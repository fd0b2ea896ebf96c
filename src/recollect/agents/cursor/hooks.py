"""Cursor's hooks: parse payloads, format replies, and list the settings that register them.

Cursor waits for a JSON object even when there is nothing to say. Context can be added when a
conversation starts and with each prompt. Nothing can be shown to the user alone, so a notice goes
to the model, in a block of ours. After a stop the only possible reply would be a follow-up prompt,
and we never write prompts in the user's name.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

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


def _make_handler(seconds: int) -> Callable[[str], dict[str, Json]]:
    return lambda line: {"command": line, "timeout": seconds}


def _make_server(command: entries.Command) -> dict[str, Json]:
    """Return the server entry with the open folder as its project.

    Cursor starts the servers of the user's own settings in the home directory: without --project
    all projects would share one memory.
    """
    place = ["--project", "${workspaceFolder}"]
    return {"command": command[0], "args": [*command[1:], "mcp", *place]}


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of `hooks.json`."""
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "sessionStart": _make_handler(10),
                "beforeSubmitPrompt": _make_handler(5),
                "preCompact": _make_handler(10),
                "stop": _make_handler(30),
                "sessionEnd": _make_handler(5),
            },
            extras={"version": 1},
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of `mcp.json`."""
    return entries.make_json_editor(servers="mcpServers", server=_make_server)


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project."""
    own, shared = os.path.join(home, ".cursor"), os.path.join(project, ".cursor")
    hooks, server = make_hook_editor(), make_server_editor()
    return (
        entries.SettingsFile(os.path.join(own, "hooks.json"), "hooks", "user", hooks),
        entries.SettingsFile(os.path.join(shared, "hooks.json"), "hooks", "project", hooks),
        entries.SettingsFile(os.path.join(own, "mcp.json"), "mcp", "user", server),
        entries.SettingsFile(os.path.join(shared, "mcp.json"), "mcp", "project", server),
    )
