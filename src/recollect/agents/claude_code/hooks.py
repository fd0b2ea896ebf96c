"""Claude Code's hooks: parse payloads, format replies, and list the settings that register them.

VS Code sends the same payloads with other spellings. Context can be added where a turn begins,
before a tool runs and after it. A stop is never blocked: that would make the model go on. Before a
compaction no context can be added, but plain text is used as instructions for the summary; memory
is added at the session start that follows it (source `compact`).

The settings hold one shell string per hook: VS Code and Codex read the same files and do not know
argument lists. Hooks that a prompt waits for have a short timeout; those after an answer run in the
background.
"""

from __future__ import annotations

import json
import os
from collections.abc import Mapping

from ...types.records import Json
from ..events import LONGEST_REPLY, Event, claude_reply, event_from, shorten_text
from ..settings import entries

HOST = "claude-code"
EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "UserPromptExpansion": "command",
    "PreToolUse": "before_tool",
    "PostToolUse": "tool_use",
    "PostToolUseFailure": "tool_use",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("session_start", "user_prompt", "before_tool", "tool_use")
_SILENT = ("before_compact", "session_end", "command", "other")
_ACCEPTED = "hasTrustDialogAccepted"


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event; a subagent's stop has the subagent's own transcript."""
    event = event_from(payload, HOST, EVENTS, env.get("CLAUDE_PROJECT_DIR", ""))
    if event.name == "before_compact":
        # VS Code runs the same hooks with other field names, and accepts JSON only.
        return event._replace(plain="hook_event_name" in payload)
    if event.name == "command":
        name, words = (str(payload.get(key) or "") for key in ("command_name", "command_args"))
        return event._replace(prompt=f"{name.partition(':')[2]} {words}".strip())
    if event.name == "user_prompt":
        return event._replace(typed=event.typed and not is_notice(event.prompt))
    if event.host_event == "SubagentStop":
        if not payload.get("agent_type"):
            # The summariser of a compaction also ends as a subagent without a type.
            return event._replace(name="other")
        path = payload.get("agent_transcript_path")
        return event._replace(transcript=path if isinstance(path, str) else "")
    return event


_NOTICES = (
    *("<local-command-", "<bash-std", "<task-notification", "<teammate-message", "<channel>"),
    *("<channel ", "<user-prompt-submit-hook", "<system-reminder", "<agent-notification"),
    *("<cross-session-message", "[Request interrupted by user", '{"task_id"'),
    "Caveat: The messages below were generated",
)


def is_notice(prompt: str) -> bool:
    """Check whether Claude Code wrote a prompt itself: a background task that ended, the output of
    a command, a message of another session."""
    return prompt.lstrip().startswith(_NOTICES)


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON reply for this event, plain text before a compaction, or ""."""
    if event.plain:
        return shorten_text(context, LONGEST_REPLY)
    takes_context = event.name in _TAKES_CONTEXT
    takes_notice = event.name not in _SILENT
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")


def reply_command(text: str) -> str:
    """Return the reply that shows the result of a command of ours without asking the model."""
    return json.dumps({"decision": "block", "reason": text}, ensure_ascii=False)


# ---------------------------------------------------------------- settings


def make_hook_editor() -> entries.SettingsEditor:
    """Return the editor of the hooks in `settings.json`."""
    hook = entries.Hook
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "SessionStart": hook(10, "startup|resume|clear|compact|fork"),
                "UserPromptSubmit": hook(5),
                "PreToolUse": hook(5, "Bash|Edit|MultiEdit|NotebookEdit|Write"),
                "PostToolUseFailure": hook(5),
                "PreCompact": hook(10),
                "Stop": hook(60, more={"async": True}),
                "SessionEnd": hook(5),
            }
        )
    )


def make_server_editor() -> entries.SettingsEditor:
    """Return the editor of the MCP server entry."""
    return entries.make_json_editor(
        servers="mcpServers",
        server=lambda command: {"type": "stdio", **entries.server_entry(command)},
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project.

    Claude Code itself rewrites `.claude.json`: where its command line is available,
    `claude mcp add` is the safer way to add the server. Only the user's own file gets a status
    line: one in a repository would take the place of everyone's own.
    """
    moved = env.get("CLAUDE_CONFIG_DIR")
    own = os.path.join(moved or os.path.join(home, ".claude"), "settings.json")
    shared = os.path.join(project, ".claude", "settings.json")
    hooks, servers = make_hook_editor(), ("mcp", make_server_editor(), ".claude.json", ".mcp.json")
    return (
        entries.SettingsFile(own, "hooks and status line", "user", entries.add_status_line(hooks)),
        entries.SettingsFile(shared, "hooks", "project", hooks),
        *entries.list_files(moved or home, project, servers),
    )


def find_approval_file(home: str, env: Mapping[str, str] = {}) -> str:
    """Return the file that lists the folders the user trusts."""
    return os.path.join(env.get("CLAUDE_CONFIG_DIR") or home, ".claude.json")


def count_approved(
    approvals: str, path: str, text: str, scope: str, project: str
) -> entries.HookApproval:
    """Check whether the trust dialog was accepted for the project or a folder above it.

    A project that Claude Code has not opened yet wants no approval.
    """
    try:
        folders = json.loads(approvals or "{}").get("projects")
    except (ValueError, AttributeError):
        folders = None
    above = [project]
    while (parent := os.path.dirname(above[-1])) != above[-1]:
        above.append(parent)
    known = folders if isinstance(folders, dict) else {}
    answers = [known[place].get(_ACCEPTED) for place in above if isinstance(known.get(place), dict)]
    asked = any(answer is not None for answer in answers)
    wanted = len(entries.find_own_handlers(text)) if asked else 0
    step = "start Claude Code in the project and accept its trust dialog"
    return entries.HookApproval(wanted if any(answers) else 0, wanted, step)
