"""Gemini CLI's hook payloads and replies. Its standard output must be JSON and nothing else.

What it is told when a session starts it keeps in memory only, so a session that is resumed has
lost it. Before every call of its model it says that it may compress, and not whether it did; only
when the user asks for it is a compression certain.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...fast_typing import NamedTuple
from ...types.records import Json
from ..events import Event, claude_reply, event_from

_FILES = "--- Content from referenced files ---"

_OPENED, _CLOSED = "<hook_context>", "</hook_context>"

_RAN, _GAVE = "I ran the following shell command:\n", "\n\nThis produced the following result:\n"

_OURS = "&lt;recollect-memory"


class PromptParts(NamedTuple):
    """What a person typed, and what the program added to it."""

    typed: str
    added: str = ""


def split_prompt(text: str) -> PromptParts:
    """The words of a prompt, told apart. What hooks answered is left out."""
    if text.startswith(_RAN) and _GAVE in text:
        command, _, printed = text.removeprefix(_RAN).partition(_GAVE)
        return PromptParts(f"! {command.strip().removeprefix('```sh').strip('`').strip()}", printed)
    typed, at = [], 0
    start, files = text.find(_OPENED), text.find(_FILES)
    # Behind the first file nothing is looked for: a file can hold any mark.
    while start >= 0 and not 0 <= files < start:
        typed.append(text[at:start])
        end = text.find(_CLOSED, start)
        at = end + len(_CLOSED) if end >= 0 else len(text)
        start = text.find(_OPENED, at)
        files = text.find(_FILES, at) if 0 <= files < at else files
    own, _, added = text[at:].partition(_FILES)
    return PromptParts("".join([*typed, own]).strip(), strip_hook_output(added).strip())


def strip_hook_output(text: str) -> str:
    """The text without what hooks answered at its end."""
    if not text.rstrip().endswith(_CLOSED):
        return text
    return text[: text.rfind(_OPENED)].rstrip() if _OPENED in text else text


def strip_own_output(text: str) -> str:
    """What a tool gave, without what we said of it."""
    return strip_hook_output(text) if _OURS in text else text


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
        return event._replace(prompt=split_prompt(event.prompt).typed)
    if event.name == "session_start" and event.source == "resume":
        return event._replace(context="fresh")
    if event.name == "before_compact" and event.source != "manual":
        return event._replace(context="")
    answer = event.tool_output
    if isinstance(answer, dict):
        failed = bool(answer.get("error"))
        shown = answer.get("llmContent", answer.get("returnDisplay"))
        return event._replace(tool_output=shown, tool_failed=failed)
    return event


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Gemini CLI takes for this event, or nothing."""
    takes_context = event.host_event in _TAKES_CONTEXT
    takes_notice = event.name != "session_end"
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")
