"""Gemini CLI's hooks: parse payloads, format replies, and list the settings that register them.

Gemini CLI expects JSON and nothing else on standard output. It keeps the context of a session start
in memory only, so a resumed session has lost it. `PreCompress` fires before every model call, also
when nothing is compressed: its matcher selects compressions that the user requests, so that no
process is started for the others.

One settings file holds hooks and MCP servers. Timeouts are in milliseconds. A changed command must
be approved again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...fast_typing import NamedTuple
from ...types.records import Json
from ..events import Event, claude_reply, event_from
from ..settings import entries

HOST = "gemini"
EVENTS = {
    "SessionStart": "session_start",
    "BeforeAgent": "user_prompt",
    "AfterTool": "tool_use",
    "PreCompress": "before_compact",
    "AfterAgent": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("SessionStart", "BeforeAgent", "AfterTool")
_FILES = "--- Content from referenced files ---"
_OPENED, _CLOSED = "<hook_context>", "</hook_context>"
_RAN, _GAVE = "I ran the following shell command:\n", "\n\nThis produced the following result:\n"
_OWN_BLOCK = "&lt;recollect-memory"
_OF_GEMINI = ("System: Please continue.", "System: Potential loop detected.", "<session_context>")
"""Beginnings of prompts that Gemini CLI sends itself."""


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """Return the event with the typed prompt, or the tool output that the model saw."""
    event = event_from(payload, HOST, EVENTS, env.get("GEMINI_PROJECT_DIR", ""))
    if event.name == "user_prompt":
        return event._replace(prompt=split_prompt(event.prompt).typed)
    if event.name == "session_start" and event.source == "resume":
        return event._replace(context="fresh")
    if event.name == "before_compact" and event.source != "manual":
        # Fired before every model call: nothing is looked up, kept or logged.
        return event._replace(name="other", context="")
    answer = event.tool_output
    if isinstance(answer, dict):
        shown = answer.get("llmContent", answer.get("returnDisplay"))
        failed = bool(answer.get("error")) or _has_exit_code(shown)
        return event._replace(tool_output=shown, tool_failed=failed)
    return event


def _has_exit_code(shown: Json) -> bool:
    """Check whether shell output ends with a non-zero exit code."""
    if not isinstance(shown, str) or "Exit Code" not in shown:
        return False
    code = shown.rpartition("Exit Code:")[2].split()[:1]
    return bool(code) and code[0].isdigit() and code[0] != "0"


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """Return the JSON reply for this event, or ""."""
    takes_context = event.host_event in _TAKES_CONTEXT
    takes_notice = event.name != "session_end"
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")


# ---------------------------------------------------------------- prompts


class PromptParts(NamedTuple):
    """The text a person typed, and the text that Gemini CLI added to it."""

    typed: str
    added: str = ""


def split_prompt(text: str) -> PromptParts:
    """Separate typed text from added text; the output of hooks is dropped.

    After a prompt come the contents of files named with `@`; before or after it comes hook output
    with `<` and `>` escaped, so our own block is not recognised by its tag. A command typed after
    `!` is followed by its output.
    """
    if text.startswith(_OF_GEMINI):
        return PromptParts("", text)
    if text.startswith(_RAN) and _GAVE in text:
        command, _, printed = text.removeprefix(_RAN).partition(_GAVE)
        return PromptParts(f"! {command.strip().removeprefix('```sh').strip('`').strip()}", printed)
    typed, at = [], 0
    start, files = text.find(_OPENED), text.find(_FILES)
    # Stop at the first file: a file can contain any mark.
    while start >= 0 and not 0 <= files < start:
        typed.append(text[at:start])
        end = text.find(_CLOSED, start)
        at = end + len(_CLOSED) if end >= 0 else len(text)
        start = text.find(_OPENED, at)
        files = text.find(_FILES, at) if 0 <= files < at else files
    own, _, added = text[at:].partition(_FILES)
    return PromptParts("".join([*typed, own]).strip(), strip_hook_output(added).strip())


def strip_hook_output(text: str) -> str:
    """Remove hook output at the end of a text."""
    if not text.rstrip().endswith(_CLOSED):
        return text
    return text[: text.rfind(_OPENED)].rstrip() if _OPENED in text else text


def strip_own_output(text: str) -> str:
    """Remove our own hook output from a tool result."""
    return strip_hook_output(text) if _OWN_BLOCK in text else text


# ---------------------------------------------------------------- settings


def make_editor() -> entries.SettingsEditor:
    """Return the editor of hooks and MCP server in `settings.json`."""
    hook = entries.Hook
    return entries.make_json_editor(
        hooks=entries.HookFormat(
            {
                "SessionStart": hook(10_000),
                "BeforeAgent": hook(5_000),
                # Context before a tool does not reach the model: the first read of a file is used.
                "AfterTool": hook(5_000, "read_file|write_file|replace|run_shell_command"),
                "PreCompress": hook(10_000, "manual"),
                "AfterAgent": hook(30_000),
                "SessionEnd": hook(5_000),
            },
            lead={"name": "recollect", "type": "command"},
        ),
        servers="mcpServers",
        server=entries.server_entry,
    )


def list_settings_files(
    home: str, project: str, env: Mapping[str, str] = {}
) -> tuple[entries.SettingsFile, ...]:
    """Return the settings files of the user and of the project."""
    both = ("hooks and mcp", make_editor(), ".gemini/settings.json", ".gemini/settings.json")
    return entries.list_files(env.get("GEMINI_CLI_HOME") or home, project, both)


def find_approval_file(home: str, env: Mapping[str, str] = {}) -> str:
    """Return the file that lists the approved hooks of each project."""
    return os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini", "trusted_hooks.json")


def count_approved(
    approvals: str, path: str, text: str, scope: str, project: str
) -> entries.HookApproval:
    """Count our approved hooks in a project's file; the user's own file needs no approval."""
    import json

    own = entries.find_own_handlers(text)
    if scope == "user":
        return entries.HookApproval(len(own), len(own))
    try:
        approved = json.loads(approvals or "{}").get(project, [])
    except (ValueError, AttributeError):
        approved = []
    hooks = json.loads(text)["hooks"] if own else {}
    handlers = [hooks[event][group]["hooks"][place] for event, group, place in own]
    known = [one for one in handlers if f"{one.get('name')}:{one['command']}" in approved]
    step = "start Gemini CLI in the project and approve them"
    return entries.HookApproval(len(known), len(own), step)
