"""OpenCode's hooks: the payloads and replies of our plugin, and the files that install it.

OpenCode has no hooks that start programs, so a small plugin (`plugin.js`) does: it sends Claude
Code's field names with `host` set, and reads `context` and `notice`. A plugin file of the same name
that we did not write is never touched.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...errors import Refused
from ...types.records import Json
from ..events import NAMES, Event, event_from, fit_reply
from ..settings import entries

HOST = "opencode"
_TAKES_CONTEXT = ("session_start", "user_prompt", "before_tool", "tool_use", "before_compact")
_OWN_MARK = "// recollect:"


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event; the plugin uses our own names for events."""
    event = event_from(payload, HOST, {name: name for name in NAMES})
    return event._replace(prompt=unwrap_prompt(event.prompt))


def unwrap_prompt(prompt: str) -> str:
    """Return a prompt without the quotes that `opencode run "…"` puts around it."""
    inside = prompt.strip()[1:-1]
    if prompt.strip() != f'"{inside}"' or '"' in inside.replace('\\"', ""):
        return prompt
    return inside.replace('\\"', '"')


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON that the plugin reads, or ""."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if context and event.name in _TAKES_CONTEXT:
            body["context"] = context
        if notice:
            body["notice"] = notice
        return body

    return fit_reply(context, notice, shape)


# ---------------------------------------------------------------- settings


def _render_plugin(command: entries.Command) -> str:
    with open(os.path.join(os.path.dirname(__file__), "plugin.js"), encoding="utf-8") as stream:
        line = json.dumps(entries.render_hook_command(command))
        return stream.read().replace('"@COMMAND@"', line)


def _install_plugin(text: str, command: entries.Command) -> str:
    _remove_plugin(text)
    return _render_plugin(command)


def _remove_plugin(text: str) -> str:
    if text.strip() and not text.startswith(_OWN_MARK):
        raise Refused(
            "recollect did not write this plugin file",
            hint="Move the file away and try again. It was not changed.",
        )
    return ""


def _plugin_status(text: str, command: entries.Command) -> str:
    if not text.startswith(_OWN_MARK):
        return "missing"
    return "current" if text == _render_plugin(command) else "stale"


def make_plugin_editor() -> entries.SettingsEditor:
    """Return the editor of the plugin file."""
    return entries.SettingsEditor(_install_plugin, _remove_plugin, _plugin_status)


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of the MCP server entry in `opencode.json`."""
    return entries.make_json_editor(
        servers="mcp",
        server=lambda command: {"type": "local", "command": [*command, "mcp"], "enabled": True},
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project."""
    config = os.path.join(env.get("XDG_CONFIG_HOME") or os.path.join(home, ".config"), "opencode")
    return entries.list_files(
        config,
        project,
        ("plugin", make_plugin_editor(), "plugins/recollect.js", ".opencode/plugins/recollect.js"),
        ("mcp", make_server_editor(), _settings_name(config), _settings_name(project)),
    )


def _settings_name(folder: str) -> str:
    """Return `opencode.jsonc` if the folder has it, else `opencode.json`."""
    commented = os.path.isfile(os.path.join(folder, "opencode.jsonc"))
    return "opencode.jsonc" if commented else "opencode.json"
