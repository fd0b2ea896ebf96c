"""Codex's hook payloads and replies: Claude Code's format with closed schemas.

A key that Codex does not know makes the whole hook fail, so nothing is said that an event's
schema does not name. A transcript path may be missing; the rollout is then found by session.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from ...types.records import Json
from ..events import Event, claude_reply, event_from

_ASKED = "## My request for Codex:"


def split_prompt(text: str) -> tuple[str, str]:
    """What was typed, and what the program put before it. The last mark counts: what is selected
    or attached may hold one too."""
    added, mark, typed = text.rpartition(_ASKED)
    starts_a_line = not added or added.endswith("\n")
    return (typed.strip(), added.strip()) if mark and starts_a_line else (text, "")


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
    if event.prompt:
        asked_by = "thread" if not event.subagent and _is_spawned(event.transcript) else ""
        return event._replace(
            prompt=split_prompt(event.prompt)[0], subagent=event.subagent or asked_by
        )
    path = payload.get("agent_transcript_path")
    if event.host_event == "SubagentStop" and isinstance(path, str):
        return event._replace(transcript=path)
    return event


_BEGINNING = 4096


def _is_spawned(path: str) -> bool:
    """Whether a rollout is that of a thread which Codex started: nobody typed its prompts."""
    if not os.path.isfile(path):
        return False
    try:
        with open(path, "rb") as file:
            return b'"subagent"' in file.read(_BEGINNING)
    except OSError:
        return False


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Codex takes for this event, or nothing."""
    takes_context = event.host_event in _TAKES_CONTEXT
    takes_notice = event.host_event in _TAKES_NOTICE
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")
