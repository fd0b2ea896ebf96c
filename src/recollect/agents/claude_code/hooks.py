"""Claude Code's hook payloads and replies; VS Code sends the same with other spellings.

Context may be added where a turn begins, before a tool runs and after it. A stop is never
prevented: that would make the model go on. Before a compaction no context can be added, but plain
text is taken as instructions for the summary; the session start that follows it (source `compact`)
is the place for memory.
"""

from __future__ import annotations

from collections.abc import Mapping

from ...types.records import Json
from ..events import LONGEST_REPLY, Event, claude_reply, event_from, shortened

HOST = "claude-code"
EVENTS = {
    "SessionStart": "session_start",
    "UserPromptSubmit": "user_prompt",
    "PreToolUse": "before_tool",
    "PostToolUse": "tool_use",
    "PostToolUseFailure": "tool_use",
    "PreCompact": "before_compact",
    "Stop": "stop",
    "SubagentStop": "stop",
    "SessionEnd": "session_end",
}
_TAKES_CONTEXT = ("session_start", "user_prompt", "before_tool", "tool_use")
_SILENT = ("before_compact", "session_end", "other")


def parse(payload: Mapping[str, Json], env: Mapping[str, str]) -> Event:
    """The event; a subagent's stop comes with the subagent's own transcript."""
    event = event_from(payload, HOST, EVENTS, env.get("CLAUDE_PROJECT_DIR", ""))
    if event.name == "before_compact":
        # VS Code runs the same hooks, spells its fields otherwise, and takes JSON only.
        return event._replace(plain="hook_event_name" in payload)
    if event.host_event == "SubagentStop":
        if not payload.get("agent_type"):
            # The summariser of a compaction also ends as a nameless subagent.
            return event._replace(name="other")
        path = payload.get("agent_transcript_path")
        return event._replace(transcript=path if isinstance(path, str) else "")
    return event


def reply(event: Event, context: str = "", notice: str = "") -> str:
    """The JSON that Claude Code takes for this event, or nothing; plain words for a compaction."""
    if event.plain:
        return shortened(context, LONGEST_REPLY)
    takes_context = event.name in _TAKES_CONTEXT
    takes_notice = event.name not in _SILENT
    return claude_reply(event, context if takes_context else "", notice if takes_notice else "")
