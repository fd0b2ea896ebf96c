"""Where Gemini CLI looks for hooks and MCP servers, and what we put there.

One file holds both. Time limits are in milliseconds. A changed command must be approved again.
"""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping

from ...types.records import Json
from ..settings.entries import (
    NO_ENV,
    Command,
    HookApproval,
    HookFormat,
    SettingsFile,
    find_own_handlers,
    make_json_editor,
)


def _group(milliseconds: int, matcher: str = "") -> Callable[[str], dict[str, Json]]:
    def group(line: str) -> dict[str, Json]:
        handler = {"name": "recollect", "type": "command", "command": line, "timeout": milliseconds}
        return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}

    return group


def _server(command: Command) -> dict[str, Json]:
    return {"command": command[0], "args": [*command[1:], "mcp"]}


SETTINGS = make_json_editor(
    hooks=HookFormat(
        {
            "SessionStart": _group(10_000),
            "BeforeAgent": _group(5_000),
            "AfterTool": _group(5_000, "write_file|replace"),
            "PreCompress": _group(10_000),
            "AfterAgent": _group(30_000),
            "SessionEnd": _group(5_000),
        }
    ),
    servers="mcpServers",
    server=_server,
)


def places(home: str, project: str, env: Mapping[str, str] = NO_ENV) -> tuple[SettingsFile, ...]:
    """The user's own file and the project's."""
    return (
        SettingsFile(
            os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini", "settings.json"),
            "hooks and mcp",
            "user",
            SETTINGS,
        ),
        SettingsFile(
            os.path.join(project, ".gemini", "settings.json"), "hooks and mcp", "project", SETTINGS
        ),
    )


def trust_file(home: str, env: Mapping[str, str] = NO_ENV) -> str:
    """Where Gemini CLI notes which hooks of which project the user approved."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini", "trusted_hooks.json")


def trust(noted: str, path: str, text: str, scope: str, project: str) -> HookApproval:
    """How many of our hooks in a project's file are approved; the user's own need no approval."""
    own = find_own_handlers(text)
    if scope == "user":
        return HookApproval(len(own), len(own))
    try:
        approved = json.loads(noted or "{}").get(project, [])
    except (ValueError, AttributeError):
        approved = []
    hooks = json.loads(text)["hooks"] if own else {}
    handlers = [hooks[event][group]["hooks"][place] for event, group, place in own]
    known = [one for one in handlers if f"{one.get('name')}:{one['command']}" in approved]
    return HookApproval(len(known), len(own), "start Gemini CLI in the project and approve them")
