"""Gemini CLI's chats: `~/.gemini/tmp/<project>/chats/session-….jsonl`, older ones `.json`.

A line is a message, or a longer version of the message before it, so a message is held back until
the next one begins. Later additions (a result, a longer text) are recorded under a new key. Control
lines (`$set`, `$rewindTo`) change the view, not the conversation.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from ...types.records import Json, Message, ToolCall
from ..registry import make_session_id
from ..transcripts.find_io import file_stem, is_at_or_below, list_names, make_transcript, walk_files
from ..transcripts.normalise import (
    as_dict,
    as_list,
    as_text,
    drop_own_answers,
    first_text,
    make_entries,
    make_title,
    normalise_usage,
    subtract_usage,
)
from ..transcripts.reader_io import (
    RecordReader,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    follow_file,
    load_document,
    open_regular_file,
    parse_time,
    short_digest,
    yield_document,
)
from .hooks import split_prompt, strip_own_output

HOST = "gemini"
_KEPT = 64
_LONGEST_PATH = 4096


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the items of a chat after the cursor, in the old format or the new one."""
    if _is_document(path):
        value, mark = load_document(path)
        return yield_document(path, cursor, _read_document(as_dict(value), path), mark)
    return follow_file(path, cursor, _GeminiReader(path))


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the chats of projects at or below the roots, where the folder names its project."""
    base = os.path.join(env.get("GEMINI_CLI_HOME") or home, ".gemini", "tmp")
    hashes = {_hash_project(root): root for root in roots}
    found = []
    for folder in list_names(base):
        cwd = hashes.get(folder) or _read_project_root(os.path.join(base, folder))
        if is_at_or_below(cwd, roots):
            chats = walk_files(os.path.join(base, folder, "chats"), ".jsonl", ".json", since=since)
            found += [make_transcript(HOST, path, cwd=cwd) for path in chats]
    return found


class _GeminiReader(RecordReader):
    """Converts lines to items. `state`: the session, and the yielded version of each message."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.fallback = file_stem(path)
        self.parent = _find_parent(path)
        self.pending: dict[str, Json] = {}

    @property
    def has_pending(self) -> bool:
        return bool(self.pending)

    def read_record(self, record: dict[str, Json], number: int) -> Iterator[TranscriptItem]:
        """Yield the items that a record completes: those of the message before it."""
        if "sessionId" in record and "content" not in record:
            yield from self._read_start(record)
        elif record.get("type") in ("user", "gemini") and as_text(record.get("id")):
            if self.pending.get("id") != record["id"]:
                yield from self.flush()
            self.pending = record
        else:
            control = next((key for key in record if key.startswith("$")), "")
            yield SkippedRecord(number, control or as_text(record.get("type")) or "no type")

    def flush(self) -> Iterator[TranscriptItem]:
        record, self.pending = self.pending, {}
        if not record:
            return
        session = self._current_session()
        yielded = self.state.setdefault("told", {})
        before = as_dict(yielded.get(record["id"]))
        text = json.dumps(record.get("content"))
        usage = normalise_usage(record.get("tokens"))
        yielded[record["id"]] = {"text": short_digest(text), "usage": usage}
        for stale in list(yielded)[:-_KEPT]:
            del yielded[stale]
        messages = _make_messages(record)
        if before and before.get("text") != short_digest(text):
            messages[0] = messages[0]._replace(key=f"{record['id']}@{short_digest(text)}")
        grown = subtract_usage(usage, as_dict(before.get("usage")))
        messages[0] = messages[0]._replace(usage=grown or None)
        if messages[0].role == "user" and messages[0].content and not self.state.get("named"):
            self.state["named"] = True
            yield SessionDetails(session, name=make_title(str(messages[0].content)))
        by_agent = self.parent or self.state.get("kind") == "subagent"
        for message in drop_own_answers(messages, self.state):
            asked = message.role == "user" and by_agent
            yield from make_entries(session, [message], "agent" if asked else "")

    def _read_start(self, record: Mapping[str, Json]) -> Iterator[TranscriptItem]:
        self.state["session"] = as_text(record.get("sessionId"))
        self.state["kind"] = as_text(record.get("kind"))
        name = first_text(record, "summary", "title")
        if name:
            self.state["named"] = True
        above = make_session_id(HOST, self.parent) if self.parent else ""
        cwd = first_text(record, "cwd")
        yield SessionDetails(
            self._current_session(), name=make_title(name), cwd=cwd, agent=HOST, parent=above
        )

    def _current_session(self) -> str:
        return make_session_id(HOST, as_text(self.state.get("session")) or self.fallback)


def _find_parent(path: str) -> str:
    """Return the parent session of a subagent's chat: `chats/<parent>/<id>.jsonl`."""
    folder = os.path.dirname(os.path.abspath(path))
    return os.path.basename(folder) if os.path.basename(os.path.dirname(folder)) == "chats" else ""


def _make_messages(record: Mapping[str, Json]) -> list[Message]:
    """Return the messages of a record: the text, the tool calls, and one for each result."""
    at = parse_time(record.get("timestamp"))
    key = as_text(record.get("id"))
    text = _join_text(record.get("content"))
    if record.get("type") == "user":
        prompt = split_prompt(text)
        if not prompt.typed and prompt.added:
            return [Message("system", prompt.added, name="host", at=at, key=key)]
        found = [Message("user", prompt.typed, at=at, key=key)]
        if prompt.added:
            found.append(Message("system", prompt.added, name="host", at=at, key=f"{key}/added"))
        return found
    thoughts = [_format_thought(as_dict(thought)) for thought in as_list(record.get("thoughts"))]
    content: str | tuple[Mapping[str, Json], ...] = text
    if thoughts:
        blocks: list[Mapping[str, Json]] = [{"type": "text", "text": text}] if text else []
        content = ({"type": "reasoning", "text": "\n\n".join(thoughts)}, *blocks)
    model = as_text(record.get("model"))
    messages = [Message("assistant", content, model=model, at=at, key=key)]
    results = []
    for call in map(as_dict, as_list(record.get("toolCalls"))):
        name, own = as_text(call.get("name")), first_text(call, "id")
        arguments = json.dumps(call.get("args"), ensure_ascii=False)
        when = parse_time(call.get("timestamp")) or at
        calls = (ToolCall(own, name, arguments),)
        messages.append(Message("assistant", calls=calls, model=model, at=at, key=f"{key}/{own}"))
        status = call.get("status")
        if call.get("result") is not None or status in ("error", "cancelled"):
            out = _tool_output(call.get("result")) or as_text(call.get("resultDisplay"))
            failed = status in ("error", "cancelled")
            result = Message("tool", out, call_id=own, is_error=failed, name=name)
            results.append(result._replace(at=when, key=f"{key}/{own}/out"))
    return messages + results


def _join_text(content: Json) -> str:
    if isinstance(content, str):
        return content
    parts = content if isinstance(content, list) else [content]
    return "\n".join(as_text(as_dict(part).get("text")) for part in parts if part)


def _format_thought(thought: Mapping[str, Json]) -> str:
    return ": ".join(
        filter(None, (first_text(thought, "subject"), first_text(thought, "description")))
    )


def _tool_output(result: Json) -> str:
    parts = []
    for part in result if isinstance(result, list) else [result]:
        answer = as_dict(as_dict(part).get("functionResponse")).get("response")
        shown = first_text(as_dict(answer), "output", "error") or _join_text(part)
        parts.append(shown or (json.dumps(answer, ensure_ascii=False) if answer else ""))
    return strip_own_output("\n".join(filter(None, parts)))


def _is_document(path: str) -> bool:
    """Check whether the file is one JSON object over several lines: the old format."""
    try:
        with open_regular_file(path) as stream:
            start = stream.read(64).lstrip()
    except OSError:
        return False
    return start.startswith(b"{") and start[1:].lstrip(b" \t\r")[:1] == b"\n"


def _read_document(value: dict[str, Json], path: str) -> Iterator[TranscriptItem]:
    reader = _GeminiReader(path)
    messages = as_list(value.pop("messages", []))
    yield from reader.read_record(value, 0)
    for place, record in enumerate(messages, 1):
        yield from reader.read_record(as_dict(record), place)
    yield from reader.flush()


def _hash_project(root: str) -> str:
    from hashlib import sha256

    return sha256(root.encode()).hexdigest()


def _read_project_root(folder: str) -> str:
    try:
        with open_regular_file(os.path.join(folder, ".project_root")) as stream:
            return stream.read(_LONGEST_PATH).decode().strip()
    except (OSError, UnicodeDecodeError):
        return ""
