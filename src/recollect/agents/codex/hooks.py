"""Codex's hooks: parse payloads, format replies, and list the settings that register them.

The format is Claude Code's with closed schemas: an unknown key makes the whole hook fail, so a
reply holds only what the event's schema names. A transcript path may be missing; the rollout is
then found by its session.

Codex runs hooks only after the user reviewed them with `/hooks`, and asks again after any change:
the command must stay the same across releases.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...types.records import Json
from ..events import Event, claude_reply, event_from
from ..settings import entries

HOST = "codex"
EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "PreToolUse": "before_tool",
    "PostToolUse": "tool_use",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse")
_TAKES_NOTICE = (*_TAKES_CONTEXT, "Stop")
_PROMPT_MARK = "## My request for Codex:"
_HEAD_BYTES = 4096


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event; a subagent's stop has the subagent's own rollout."""
    event = event_from(payload, HOST, EVENTS)
    if event.prompt:
        spawned = "thread" if not event.subagent and _is_spawned(event.transcript) else ""
        typed, _ = split_prompt(event.prompt)
        return event._replace(prompt=typed, subagent=event.subagent or spawned)
    if event.name == "tool_use" and event.tool == "Bash":
        return event._replace(tool_failed=_looks_failed(event.tool_output))
    path = payload.get("agent_transcript_path")
    if event.host_event == "SubagentStop" and isinstance(path, str):
        return event._replace(transcript=path)
    return event


def split_prompt(text: str) -> tuple[str, str]:
    """Return the typed text and the context that Codex put before it.

    The extension for editors and the desktop app add open, selected and attached files. The last
    mark counts: a selected file may contain one too.
    """
    added, mark, typed = text.rpartition(_PROMPT_MARK)
    starts_a_line = not added or added.endswith("\n")
    return (typed.strip(), added.strip()) if mark and starts_a_line else (text, "")


def _looks_failed(output: Json) -> bool:
    """Check whether a command's output looks like a failure: Codex reports no exit status."""
    if not isinstance(output, str) or not output.strip():
        return False
    from ...actions import command_output

    return command_output.reports_failure(output[-4_000:])


def _is_spawned(path: str) -> bool:
    """Check whether Codex itself started the thread of a rollout; nobody typed its prompts then."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return b'"subagent"' in file.read(_HEAD_BYTES)
    except OSError:
        return False


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON reply that the event's schema allows, or ""."""
    takes_context = event.host_event in _TAKES_CONTEXT
    takes_notice = event.host_event in _TAKES_NOTICE
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")


# ---------------------------------------------------------------- settings


FORWARDED_VARIABLES = (
    *("RECOLLECT_HOME", "RECOLLECT_DATABASE", "RECOLLECT_REPLICA", "RECOLLECT_MODE"),
    "XDG_DATA_HOME",
)
"""Variables that decide which store is used: Codex passes only a few to its MCP servers."""


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of `hooks.json`."""
    hook = entries.Hook
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "SessionStart": hook(10, "startup|resume|clear|compact"),
                "UserPromptSubmit": hook(5),
                "PreToolUse": hook(5, "Bash|apply_patch|Edit|Write"),
                "PostToolUse": hook(5, "Bash"),
                "PreCompact": hook(10),
                "Stop": hook(60, more={"async": True}),
                "SessionEnd": hook(3),
            }
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of the MCP server entry in `config.toml`."""
    return entries.make_toml_editor(
        lambda command: {**entries.server_entry(command), "env_vars": list(FORWARDED_VARIABLES)},
        "mcp_servers",
        optional=("env_vars",),
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project."""
    return entries.list_files(
        env.get("CODEX_HOME") or os.path.join(home, ".codex"),
        os.path.join(project, ".codex"),
        ("hooks", make_hook_editor(), "hooks.json", "hooks.json"),
        ("mcp", make_server_editor(), "config.toml", "config.toml"),
    )


def find_approval_file(home: str, env: Mapping[str, str] = {}) -> str:
    """Return the file that lists the hooks the user approved."""
    return os.path.join(env.get("CODEX_HOME") or os.path.join(home, ".codex"), "config.toml")


def count_approved(
    approvals: str, path: str, text: str, scope: str, project: str
) -> entries.HookApproval:
    """Count our approved hooks in a file: `[hooks.state."<path>:<event>:<group>:<place>"]`."""
    import tomllib

    try:
        state = tomllib.loads(approvals).get("hooks", {}).get("state", {})
    except (tomllib.TOMLDecodeError, AttributeError):
        state = {}
    own = entries.find_own_handlers(text)
    found = [state.get(f"{path}:{_snake(event)}:{group}:{place}") for event, group, place in own]
    approved = [
        entry
        for entry in found
        if isinstance(entry, dict)
        and entry.get("trusted_hash")
        and entry.get("enabled") is not False
    ]
    return entries.HookApproval(len(approved), len(own), "run /hooks in Codex and approve them")


def _snake(event: str) -> str:
    return "".join(f"_{c.lower()}" if c.isupper() else c for c in event).lstrip("_")
