"""Copilot CLI's sessions: `~/.copilot/session-state/<id>/events.jsonl`, one event a line.

Reads the prompt as typed (not as sent), the answers with their tool requests, and the results. Only
output tokens are counted per request. Checked with 1.0.64 and 1.0.102.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message, ToolCall
from ..registry import make_session_id
from ..transcripts.find_io import is_at_or_below, make_transcript, read_head, walk_files
from ..transcripts.normalise import (
    as_dict,
    as_list,
    as_number,
    as_text,
    drop_own_answers,
    first_text,
    make_entries,
    make_title,
)
from ..transcripts.reader_io import (
    RecordReader,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    follow_file,
    parse_time,
)

HOST = "copilot"
_TYPED = ("", "user", "immediate-prompt")


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the items of an event file after the cursor."""
    return follow_file(path, cursor, _CopilotReader(path))


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the event files of sessions at or below the roots."""
    base = os.path.join(env.get("COPILOT_HOME") or os.path.join(home, ".copilot"), "session-state")
    found = []
    for path in walk_files(base, ".jsonl", since=since):
        start = next((as_dict(r.get("data")) for r in read_head(path)), {})
        cwd = first_text(as_dict(start.get("context")), "cwd", "gitRoot")
        if is_at_or_below(cwd, roots):
            found.append(make_transcript(HOST, path, cwd=cwd))
    return found


class _CopilotReader(RecordReader):
    """Converts events to items. `state`: the session and the current model."""

    def __init__(self, path: str) -> None:
        super().__init__()
        stem = os.path.basename(path).removesuffix(".jsonl")
        self.fallback = os.path.basename(os.path.dirname(path)) if stem == "events" else stem

    def read_record(self, record: dict[str, Json], number: int) -> Iterable[TranscriptItem]:
        kind = as_text(record.get("type"))
        data = as_dict(record.get("data"))
        if kind in ("session.start", "session.resume"):
            return self._read_start(data)
        if kind == "session.model_change":
            self.state["model"] = as_text(data.get("newModel"))
        convert = {
            "user.message": self._make_prompt,
            "assistant.message": self._make_answer,
            "tool.execution_complete": self._make_result,
            "system.notification": self._make_notice,
            "session.compaction_complete": self._make_summary,
        }.get(kind)
        if convert is None:
            return (SkippedRecord(number, kind or "no type"),)
        return self._make_items(convert(data), record, data)

    def _make_items(
        self, message: Message, record: Mapping[str, Json], data: Mapping[str, Json]
    ) -> Iterator[TranscriptItem]:
        own = as_text(self.state.get("session")) or self.fallback
        within_call = first_text(data, "parentToolCallId")
        session = (
            make_session_id(HOST, own, within_call) if within_call else make_session_id(HOST, own)
        )
        if within_call and within_call not in self.state.setdefault("spawned", []):
            self.state["spawned"].append(within_call)
            yield SessionDetails(session, agent=HOST, parent=make_session_id(HOST, own))
        if message.role == "user" and not self.state.get("named"):
            self.state["named"] = True
            # The details of the start may have been read before the session had a message.
            yield SessionDetails(
                session,
                name=make_title(str(message.content)),
                cwd=as_text(self.state.get("cwd")),
                branch=as_text(self.state.get("branch")),
                agent=HOST,
            )
        key = as_text(record.get("id")) or f"{session}:{record.get('timestamp')}"
        message = message._replace(key=key, at=parse_time(record.get("timestamp")))
        (message,) = drop_own_answers([message], self.state)
        origin = ""
        if message.name == "compact_summary" or (within_call and message.role == "user"):
            origin = "agent"
        yield from make_entries(session, [message], origin)

    def _read_start(self, data: Mapping[str, Json]) -> Iterator[TranscriptItem]:
        context = as_dict(data.get("context"))
        self.state["session"] = first_text(data, "sessionId") or self.fallback
        self.state["model"] = first_text(data, "selectedModel")
        self.state["cwd"] = first_text(context, "cwd", "gitRoot")
        self.state["branch"] = first_text(context, "branch")
        yield SessionDetails(
            make_session_id(HOST, self.state["session"]),
            cwd=self.state["cwd"],
            branch=self.state["branch"],
            agent=HOST,
        )

    def _make_prompt(self, data: Mapping[str, Json]) -> Message:
        """Return a prompt; a skill's, an instruction file's or autopilot's is the host's."""
        typed = as_text(data.get("source")) in _TYPED and not data.get("isAutopilotContinuation")
        text = as_text(data.get("content"))
        return Message("user", text) if typed else Message("system", text, name="host")

    def _make_answer(self, data: Mapping[str, Json]) -> Message:
        text, thought = as_text(data.get("content")), as_text(data.get("reasoningText"))
        blocks: list[Mapping[str, Json]] = []
        if thought:
            blocks = [{"type": "reasoning", "text": thought}]
            blocks += [{"type": "text", "text": text}] if text else []
        calls = tuple(_make_call(as_dict(request)) for request in as_list(data.get("toolRequests")))
        spent = as_number(data.get("outputTokens"))
        return Message(
            "assistant",
            tuple(blocks) or text,
            calls,
            model=first_text(data, "model") or as_text(self.state.get("model")),
            usage={"output_tokens": spent} if spent else None,
        )

    def _make_result(self, data: Mapping[str, Json]) -> Message:
        given = as_dict(data.get("result"))
        error = data.get("error")
        code = as_dict(data.get("shellExecution")).get("exitCode")
        # A shell's `content` includes the answers of hooks; `detailedContent` is its output alone.
        names = ("content", "detailedContent") if code is None else ("detailedContent", "content")
        text = first_text(given, *names) or as_text(error)
        text = text or first_text(as_dict(error), "message")
        failed = data.get("success") is False or (isinstance(code, int) and code != 0)
        return Message(
            "tool",
            text,
            call_id=as_text(data.get("toolCallId")),
            is_error=failed,
            extra={"exit": code} if isinstance(code, int) else None,
        )

    def _make_notice(self, data: Mapping[str, Json]) -> Message:
        return Message("system", as_text(data.get("content")), name="host")

    def _make_summary(self, data: Mapping[str, Json]) -> Message:
        return Message(
            "system", first_text(data, "summaryContent", "summary"), name="compact_summary"
        )


def _make_call(request: Mapping[str, Json]) -> ToolCall:
    given = request.get("arguments")
    text = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(as_text(request.get("toolCallId")), as_text(request.get("name")), text)
