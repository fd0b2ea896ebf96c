"""Where Cursor looks for hooks and MCP servers, and what we put there."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from ...types.records import Json
from ..settings.entries import NO_ENV, Command, HookFormat, SettingsFile, make_json_editor


def _handler(seconds: int) -> Callable[[str], dict[str, Json]]:
    return lambda line: {"command": line, "timeout": seconds}


def _server(command: Command) -> dict[str, Json]:
    """Cursor starts servers of the user's own settings in the home directory, and puts the folder
    that is open into their arguments: without it all projects would share one memory."""
    place = ["--project", "${workspaceFolder}"]
    return {"command": command[0], "args": [*command[1:], "mcp", *place]}


HOOKS = make_json_editor(
    hooks=HookFormat(
        {
            "sessionStart": _handler(10),
            "beforeSubmitPrompt": _handler(5),
            "preCompact": _handler(10),
            "stop": _handler(30),
            "sessionEnd": _handler(5),
        },
        beside={"version": 1},
    )
)
MCP = make_json_editor(servers="mcpServers", server=_server)


def places(home: str, project: str, env: Mapping[str, str] = NO_ENV) -> tuple[SettingsFile, ...]:
    """The user's own files and the project's."""
    return (
        SettingsFile(os.path.join(home, ".cursor", "hooks.json"), "hooks", "user", HOOKS),
        SettingsFile(os.path.join(project, ".cursor", "hooks.json"), "hooks", "project", HOOKS),
        SettingsFile(os.path.join(home, ".cursor", "mcp.json"), "mcp", "user", MCP),
        SettingsFile(os.path.join(project, ".cursor", "mcp.json"), "mcp", "project", MCP),
    )
