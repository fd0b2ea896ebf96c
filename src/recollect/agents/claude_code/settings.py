"""Where Claude Code looks for hooks and MCP servers, and what we put there.

One shell string per hook: VS Code and Codex read the same files and know no argument lists.
What a prompt waits for has a short time limit; what happens after an answer runs beside it.
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


def make_group(
    seconds: int, matcher: str = "", *, beside: bool = False
) -> Callable[[str], dict[str, Json]]:
    """A matcher group around one command; `beside` lets the agent go on without waiting."""

    def around(line: str) -> dict[str, Json]:
        handler: dict[str, Json] = {"type": "command", "command": line, "timeout": seconds}
        if beside:
            handler["async"] = True
        return {**({"matcher": matcher} if matcher else {}), "hooks": [handler]}

    return around


def make_server(command: Command) -> dict[str, Json]:
    """Our entry among MCP servers, as most agents write it."""
    return {"type": "stdio", "command": command[0], "args": [*command[1:], "mcp"]}


HOOKS = make_json_editor(
    hooks=HookFormat(
        {
            "SessionStart": make_group(10, "startup|resume|clear|compact|fork"),
            "UserPromptSubmit": make_group(5),
            "PostToolUse": make_group(5, "Edit|MultiEdit|NotebookEdit|Write"),
            "PreCompact": make_group(10),
            "Stop": make_group(60, beside=True),
            "SessionEnd": make_group(5),
        }
    )
)
MCP = make_json_editor(servers="mcpServers", server=make_server)


def places(home: str, project: str, env: Mapping[str, str] = NO_ENV) -> tuple[SettingsFile, ...]:
    """The user's own files and the project's. Claude Code itself rewrites `.claude.json`: where
    its command line is at hand, `claude mcp add` is the better way to get in there."""
    moved = env.get("CLAUDE_CONFIG_DIR")
    folder = moved or os.path.join(home, ".claude")
    return (
        SettingsFile(os.path.join(folder, "settings.json"), "hooks", "user", HOOKS),
        SettingsFile(os.path.join(project, ".claude", "settings.json"), "hooks", "project", HOOKS),
        SettingsFile(os.path.join(moved or home, ".claude.json"), "mcp", "user", MCP),
        SettingsFile(os.path.join(project, ".mcp.json"), "mcp", "project", MCP),
    )


_ACCEPTED = "hasTrustDialogAccepted"


def trust_file(home: str, env: Mapping[str, str] = NO_ENV) -> str:
    """Where Claude Code notes in which folders the user trusts it."""
    return os.path.join(env.get("CLAUDE_CONFIG_DIR") or home, ".claude.json")


def trust(noted: str, path: str, text: str, scope: str, project: str) -> HookApproval:
    """Whether the trust dialog of the project, or of a folder around it, was accepted. A project
    that Claude Code has not seen yet is not told of."""
    try:
        folders = json.loads(noted or "{}").get("projects")
    except (ValueError, AttributeError):
        folders = None
    around = [project]
    while (above := os.path.dirname(around[-1])) != around[-1]:
        around.append(above)
    known = folders if isinstance(folders, dict) else {}
    said = [known[place].get(_ACCEPTED) for place in around if isinstance(known.get(place), dict)]
    wanted = len(find_own_handlers(text)) if any(one is not None for one in said) else 0
    step = "start Claude Code in the project and accept its trust dialog"
    return HookApproval(wanted if any(said) else 0, wanted, step)
