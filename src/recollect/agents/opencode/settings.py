"""Where OpenCode looks for plugins and MCP servers, and what we put there.

The plugin is a file of ours; a file of that name that is somebody else's is never touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...errors import Refused
from ...types.records import Json
from ..settings.entries import (
    NO_ENV,
    Command,
    SettingsEditor,
    SettingsFile,
    make_json_editor,
    render_hook_command,
)

_OURS = "// recollect:"


def _source(command: Command) -> str:
    with open(os.path.join(os.path.dirname(__file__), "plugin.js"), encoding="utf-8") as stream:
        return stream.read().replace('"@COMMAND@"', json.dumps(render_hook_command(command)))


def _install(text: str, command: Command) -> str:
    _remove(text)
    return _source(command)


def _remove(text: str) -> str:
    if text.strip() and not text.startswith(_OURS):
        raise Refused(
            "the plugin file is not one that we wrote",
            hint="Move it out of the way and try again; nothing was changed.",
        )
    return ""


def _status(text: str, command: Command) -> str:
    if not text.startswith(_OURS):
        return "missing"
    return "current" if text == _source(command) else "stale"


def _server(command: Command) -> dict[str, Json]:
    return {"type": "local", "command": [*command, "mcp"], "enabled": True}


PLUGIN = SettingsEditor(_install, _remove, _status)
MCP = make_json_editor(servers="mcp", server=_server)


def places(home: str, project: str, env: Mapping[str, str] = NO_ENV) -> tuple[SettingsFile, ...]:
    """The user's own files and the project's."""
    config = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode")
    return (
        SettingsFile(os.path.join(config, "plugins", "recollect.js"), "plugin", "user", PLUGIN),
        SettingsFile(
            os.path.join(project, ".opencode", "plugins", "recollect.js"),
            "plugin",
            "project",
            PLUGIN,
        ),
        SettingsFile(_settings(config), "mcp", "user", MCP),
        SettingsFile(_settings(project), "mcp", "project", MCP),
    )


def _settings(folder: str) -> str:
    """The settings file that is there, with comments or without; the plain one if none is."""
    commented = os.path.join(folder, "opencode.jsonc")
    return commented if os.path.isfile(commented) else os.path.join(folder, "opencode.json")
