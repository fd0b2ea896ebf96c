"""Where Codex looks for hooks and MCP servers, and what we put there.

Hooks are run only after the user reviewed them with `/hooks`, and again after any change to
them: the command must stay the same from release to release.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...types.records import Json
from ..claude_code.settings import make_group
from ..settings.entries import (
    NO_ENV,
    Command,
    HookApproval,
    HookFormat,
    SettingsFile,
    find_own_handlers,
    make_json_editor,
    make_toml_editor,
)


def _server(command: Command) -> dict[str, Json]:
    return {"command": command[0], "args": [*command[1:], "mcp"]}


HOOKS = make_json_editor(
    hooks=HookFormat(
        {
            "SessionStart": make_group(10, "startup|resume|clear|compact"),
            "UserPromptSubmit": make_group(5),
            "PostToolUse": make_group(5, "apply_patch|Edit|Write"),
            "PreCompact": make_group(10),
            "Stop": make_group(60, beside=True),
            "SessionEnd": make_group(3),
        }
    )
)
MCP = make_toml_editor(_server, "mcp_servers")


def places(home: str, project: str, env: Mapping[str, str] = NO_ENV) -> tuple[SettingsFile, ...]:
    """The user's own files and the project's."""
    folder = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    return (
        SettingsFile(os.path.join(folder, "hooks.json"), "hooks", "user", HOOKS),
        SettingsFile(os.path.join(project, ".codex", "hooks.json"), "hooks", "project", HOOKS),
        SettingsFile(os.path.join(folder, "config.toml"), "mcp", "user", MCP),
        SettingsFile(os.path.join(project, ".codex", "config.toml"), "mcp", "project", MCP),
    )


def trust_file(home: str, env: Mapping[str, str] = NO_ENV) -> str:
    """Where Codex notes which hooks the user approved."""
    return os.path.join(env.get("CODEX_HOME") or os.path.join(home, ".codex"), "config.toml")


def trust(noted: str, path: str, text: str, scope: str, project: str) -> HookApproval:
    """How many of our hooks in a file are approved: `[hooks.state."<path>:<event>:<n>:<n>"]`."""
    import tomllib

    try:
        state = tomllib.loads(noted).get("hooks", {}).get("state", {})
    except (tomllib.TOMLDecodeError, AttributeError):
        state = {}
    own = find_own_handlers(text)
    found = [state.get(f"{path}:{_snake(event)}:{group}:{place}") for event, group, place in own]
    approved = [
        entry
        for entry in found
        if isinstance(entry, dict)
        and entry.get("trusted_hash")
        and entry.get("enabled") is not False
    ]
    return HookApproval(len(approved), len(own), "run /hooks in Codex and approve them")


def _snake(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
