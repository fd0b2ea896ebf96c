"""The payloads and replies between us and our own OpenCode plugin (see `plugin.js`).

OpenCode has no hooks that start programs, so a small plugin does: it sends Claude Code's field
names with `host` set, and takes `context` and `notice`.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types.records import Json
from ..events import NAMES, Event, event_from, fitted

HOST = "opencode"
_TAKES_CONTEXT = ("session_start", "user_prompt", "before_tool", "tool_use", "before_compact")


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """The event; the plugin uses our own names for events."""
    event = event_from(payload, HOST, {name: name for name in NAMES})
    return event._replace(prompt=unwrapped(event.prompt))


def unwrapped(prompt: str) -> str:
    """Return a prompt without the quotes that `opencode run "…"` puts around it."""
    inside = prompt.strip()[1:-1]
    if prompt.strip() != f'"{inside}"' or '"' in inside.replace('\\"', ""):
        return prompt
    return inside.replace('\\"', '"')


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that the plugin takes, or nothing."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if context and event.name in _TAKES_CONTEXT:
            body["context"] = context
        if notice:
            body["notice"] = notice
        return body

    return fitted(context, notice, shape)
