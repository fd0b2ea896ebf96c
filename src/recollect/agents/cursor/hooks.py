"""Cursor's hook payloads and replies. It waits for a JSON object, also when we have no word.

Context can be given when a conversation starts and with each prompt. Nothing can be shown to the
user alone, so a notice goes to the model, in a block of ours. After a stop the only answer would be
a follow-up prompt, and we never put words into the user's mouth.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types.records import Json
from ..events import Event, event_from, fitted

HOST = "cursor"
EVENTS = {
    "sessionStart": "session_start",
    "beforeSubmitPrompt": "user_prompt",
    "postToolUse": "tool_use",
    "preCompact": "before_compact",
    "stop": "stop",
    "sessionEnd": "session_end",
}


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """The event; the first workspace root is where it happened."""
    return event_from(payload, HOST, EVENTS, env.get("CURSOR_PROJECT_DIR", ""))


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Cursor takes for this event: `{}` when there is nothing to say."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if event.name == "user_prompt":
            body["continue"] = True
        told = "\n".join(filter(None, (context, _told(notice))))
        if told and event.name in ("session_start", "user_prompt"):
            body["additional_context"] = told
        return body

    return fitted(context, notice, shape) or "{}"


def _told(notice: str) -> str:
    return f'<recollect-memory block="notice">\n{notice}\n</recollect-memory>' if notice else ""
