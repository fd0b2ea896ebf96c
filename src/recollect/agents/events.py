"""The events of all agents in one form, and the size limits of an answer.

The agents' hook payloads are similar: Claude Code's field names with small differences.
`event_from` reads them all, given the names of an agent's events; each agent's `hooks` module has
those names and the form of its replies. Every prompt loads this module, so it imports little.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping

from ..fast_typing import NamedTuple
from ..types.records import Json
from .registry import make_session_id

LONGEST_REPLY = 8_000
"""Characters. Claude Code cuts at 10,000, Codex at about 2,500 tokens."""

NAMES = (
    "session_start",
    "user_prompt",
    "before_tool",
    "tool_use",
    "before_compact",
    "stop",
    "session_end",
    "command",
    "other",
)


class Event(NamedTuple):
    """One event of an agent. `name` is one of `NAMES`, `host_event` the agent's own name for it.

    source: why a session starts or ends, or what triggered a compaction
    turn: the agent's id of the current prompt, to recognise duplicates
    subagent: the subagent it happened in, "" for the conversation with the user
    typed: whether a person typed the prompt; false for one that the agent scheduled itself
    plain: whether the agent expects plain text as the answer, not JSON
    context: `fresh` if the model's context was discarded or is about to be; `kept` if a resumed
        session still has it; empty if a new session starts, or nothing changes
    """

    host: str
    name: str
    host_event: str
    session: str
    cwd: str = ""
    transcript: str = ""
    prompt: str = ""
    typed: bool = True
    tool: str = ""
    tool_input: Json = None
    tool_output: Json = None
    tool_failed: bool = False
    call_id: str = ""
    source: str = ""
    mode: str = ""
    turn: str = ""
    subagent: str = ""
    plain: bool = False
    context: str = ""


TOO_LATE = "too_late"
"""The outcome of a hook that gave up before its agent would have killed it."""


class HookRun(NamedTuple):
    """One run of our hook: time, agent, event, duration and outcome."""

    at: str
    host: str
    event: str
    milliseconds: int
    outcome: str


def event_from(
    payload: Mapping[str, Json], host: str, names: Mapping[str, str], cwd: str = ""
) -> Event:
    """Return the event of a payload, in any spelling of its fields."""

    def text(*keys: str) -> str:
        return next((v for k in keys if isinstance(v := payload.get(k), str) and v), "")

    host_event = text("hook_event_name", "hookEventName")
    session = text("session_id", "sessionId", "conversation_id")
    roots = payload.get("workspace_roots")
    root = roots[0] if isinstance(roots, list) and roots and isinstance(roots[0], str) else ""
    name = names.get(host_event, "other")
    source = text("source", "reason", "trigger")
    return Event(
        host=host,
        name=name,
        host_event=host_event,
        session=make_session_id(host, session) if session else "",
        cwd=text("cwd") or root or cwd,
        transcript=text("transcript_path"),
        prompt=text("prompt"),
        typed=text("source") not in _SCHEDULED,
        tool=text("tool_name"),
        tool_input=payload.get("tool_input"),
        tool_output=_given(payload, "tool_response", "tool_output", "error"),
        tool_failed=bool(payload.get("error")),
        call_id=text("tool_use_id", "tool_call_id"),
        source=source,
        mode=text("permission_mode"),
        turn=text("prompt_id", "turn_id", "generation_id"),
        subagent=text("agent_id"),
        context=_context(name, source),
    )


_CONTEXTS = {"compact": "fresh", "clear": "fresh", "resume": "kept"}
"""The state of the model's context (`Event.context`) by the reason for a session start."""


def _context(name: str, source: str) -> str:
    if name == "session_start":
        return _CONTEXTS.get(source, "")
    # Not every agent reports the end of a compaction, and it may be closed right after it.
    return "fresh" if name == "before_compact" else ""


_FILE = ("file_path", "filePath", "notebook_path", "absolute_path", "target_file", "path")
_MOST_FILES = 20


def files_touched(event: Event) -> tuple[str, ...]:
    """Return the files of a tool call, as the agent names them."""
    given = event.tool_input
    if isinstance(given, dict):
        named = [value for key in _FILE if isinstance(value := given.get(key), str) and value]
        patch = next(
            (v for k in ("patch", "input", "command") if isinstance(v := given.get(k), str)), ""
        )
    else:
        named, patch = [], given if isinstance(given, str) else ""
    for line in patch.splitlines() if "*** Begin Patch" in patch else ():
        if line.startswith(("*** Update File: ", "*** Add File: ", "*** Move to: ")):
            named.append(line.partition(": ")[2].strip())
    return tuple(dict.fromkeys(named))[:_MOST_FILES]


def may_be_answered(event: Event) -> bool:
    """Check whether an event may get an answer, without opening a store."""
    if event.name == "before_tool":
        return bool(command_line(event) or files_touched(event))
    if event.name == "tool_use":
        return event.tool_failed or bool(files_touched(event))
    return event.name != "other"


def command_line(event: Event) -> str:
    """Return the shell line that a tool runs; empty when it runs none."""
    given = event.tool_input
    line = given.get("command") if isinstance(given, dict) else None
    if isinstance(line, list):
        line = " ".join(word for word in line if isinstance(word, str))
    return line if isinstance(line, str) and "*** Begin Patch" not in line else ""


def output_text(event: Event) -> str:
    """Return the output of a tool as text."""
    output = event.tool_output
    if isinstance(output, str):
        return output
    if isinstance(output, dict):
        parts = [output[key] for key in _OUTPUT if isinstance(output.get(key), str)]
        if parts:
            return "\n".join(parts)
    return json.dumps(output, ensure_ascii=False) if output is not None else ""


_OUTPUT = ("error", "stdout", "stderr", "output")
_SCHEDULED = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")


def _given(payload: Mapping[str, Json], *keys: str) -> Json:
    return next((payload[key] for key in keys if payload.get(key) is not None), None)


def fit_reply(context: str, notice: str, shape: Callable[[str, str], dict[str, Json]]) -> str:
    """Return the reply as one line of JSON of at most `LONGEST_REPLY` characters.

    The context is cut at a line end, and an open block is closed, so that the block is recognised
    as ours in the transcript.
    """
    room = LONGEST_REPLY
    while True:
        body = shape(shorten_text(context, room), notice[:1_000])
        if not body:
            return ""
        reply = json.dumps(body, ensure_ascii=False)
        if len(reply) <= LONGEST_REPLY:
            return reply
        room -= len(reply) - LONGEST_REPLY


def wrap_notice(notice: str) -> str:
    """Return a notice as a block for the model, for agents that cannot show the user a notice."""
    return f'<recollect-memory block="notice">\n{notice}\n</recollect-memory>' if notice else ""


def claude_reply(event: Event, context: str, notice: str) -> str:
    """Return the reply in Claude Code's form, which other agents use too."""

    def shape(context: str, notice: str) -> dict[str, Json]:
        body: dict[str, Json] = {}
        if context:
            body["hookSpecificOutput"] = {
                "hookEventName": event.host_event,
                "additionalContext": context,
            }
        if notice:
            body["systemMessage"] = notice
        return body

    return fit_reply(context, notice, shape)


def shorten_text(text: str, room: int) -> str:
    """Return the text cut to a number of characters, at a line end, with its last tag closed."""
    if len(text) <= room:
        return text
    last_line = text.rstrip().rpartition("\n")[2]
    closing = f"\n{last_line}" if last_line.startswith("</") else ""
    kept = text[: max(0, room - len(closing) - 2)].rpartition("\n")[0]
    return f"{kept}\n…{closing}" if kept else ""
