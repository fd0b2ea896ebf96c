"""Gemini CLI's hook payloads and replies. Its standard output must be JSON and nothing else.

What it is told when a session starts it keeps in memory only, so a session that is resumed has
lost it. Before every call of its model it says that it may compress, and not whether it did; only
when the user asks for it is a compression certain.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types.records import Json
from ..events import Event, claude_reply, event_from
from .typed_text import parted

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


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """The event; a prompt is what the person typed, a tool's answer what the model saw of it."""
    event = event_from(payload, HOST, EVENTS, env.get("GEMINI_PROJECT_DIR", ""))
    if event.name == "user_prompt":
        return event._replace(prompt=parted(event.prompt).typed)
    if event.name == "session_start" and event.source == "resume":
        return event._replace(context="fresh")
    if event.name == "before_compact" and event.source != "manual":
        return event._replace(context="")
    answer = event.tool_output
    if isinstance(answer, dict):
        shown = answer.get("llmContent", answer.get("returnDisplay"))
        failed = bool(answer.get("error")) or _says_failed(shown)
        return event._replace(tool_output=shown, tool_failed=failed)
    return event


def _says_failed(shown: Json) -> bool:
    """Check whether a shell's answer holds another exit code than 0."""
    if not isinstance(shown, str) or "Exit Code" not in shown:
        return False
    code = shown.rpartition("Exit Code:")[2].split()[:1]
    return bool(code) and code[0].isdigit() and code[0] != "0"


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Gemini CLI takes for this event, or nothing."""
    takes_context = event.host_event in _TAKES_CONTEXT
    takes_notice = event.name != "session_end"
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")
