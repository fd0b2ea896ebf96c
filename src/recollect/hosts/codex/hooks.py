"""Codex's hook payloads and replies: Claude Code's format with closed schemas.

A key that Codex does not know makes the whole hook fail, so nothing is said that an event's
schema does not name. A transcript path may be missing; the rollout is then found by session.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types import Json
from ..events import Event, event_from, fitted

HOST = "codex"
EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "PostToolUse": "tool_use",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("SessionStart", "UserPromptSubmit", "PostToolUse")
_TAKES_NOTICE = (*_TAKES_CONTEXT, "Stop")


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """The event; a subagent's stop comes with the subagent's own rollout."""
    event = event_from(payload, HOST, EVENTS)
    path = payload.get("agent_transcript_path")
    if event.host_event == "SubagentStop" and isinstance(path, str):
        return event._replace(transcript=path)
    return event


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Codex takes for this event, or nothing."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if context and event.host_event in _TAKES_CONTEXT:
            body["hookSpecificOutput"] = {
                "hookEventName": event.host_event,
                "additionalContext": context,
            }
        if notice and event.host_event in _TAKES_NOTICE:
            body["systemMessage"] = notice
        return body

    return fitted(context, notice, shape)
