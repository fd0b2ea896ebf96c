"""Claude Code's transcripts: one JSON object a line, one line a content block.

Reads `<config>/projects/<slug>/<session>.jsonl` and the files of subagents next to it. It separates
conversation from other records and typed prompts from added ones. The blocks of one answer share a
request, whose tokens are counted once. A fork repeats its parent's records: they belong to the
parent, under their key there. Checked with 2.0 to 2.1.325.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...text.messages import plain_text
from ...types.records import Json, Message
from ..registry import make_session_id
from ..transcripts.find_io import (
    is_at_or_below,
    list_names,
    make_transcript,
    read_head,
    read_sidecar,
    walk_files,
)
from ..transcripts.normalise import (
    RequestUsage,
    as_dict,
    as_text,
    decode_record,
    drop_own_answers,
    first_text,
    make_entries,
    make_title,
)
from ..transcripts.reader_io import (
    CursorMark,
    RecordReader,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    follow_file,
    parse_time,
    short_digest,
)
from .hooks import is_notice

HOST = "claude-code"
_QUEUE_KEPT = 32
_SYSTEM_SOURCES = ("system", "loop_wakeup", "schedule_wakeup", "poll_event")
_FROM_TOOLS = frozenset({"toolUseResult", "sourceToolUseID", "sourceToolAssistantUUID"})
"""A record with one of these fields was made by a tool, whatever text is next to its result."""

_COMMAND = re.compile(r"<command-name>(.*?)</command-name>", re.DOTALL)
_ARGUMENTS = re.compile(r"<command-args>(.*?)</command-args>", re.DOTALL)
_SHELL = re.compile(r"\s*<bash-input>(.*?)</bash-input>", re.DOTALL)


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the items of a session's or a subagent's file after the cursor."""
    return follow_file(path, cursor, _ClaudeCodeReader(path))


def read_records(
    records: Iterable[Mapping[str, Json]], cursor: Mapping[str, Json] | None, path: str
) -> Iterator[TranscriptItem]:
    """Yield the items of records that are not in a file; the cursor holds only the state."""
    reader = _ClaudeCodeReader(path)
    reader.state = dict((cursor or {}).get("state") or {})
    number = 0
    for number, record in enumerate(records, start=1):
        try:
            yield from reader.read_line(json.dumps(record).encode(), number, 0)
        except ValueError as error:
            yield SkippedRecord(number, f"damaged: {error}", expected=False)
    yield CursorMark({"state": json.loads(json.dumps(reader.state))}, number, number)


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the transcripts of projects at or below the roots; of all projects without roots."""
    base = os.path.join(env.get("CLAUDE_CONFIG_DIR") or os.path.join(home, ".claude"), "projects")
    # The folder's name is lossy, so it only narrows the search; the records hold the directory.
    slugs = tuple(_slug(root) for root in roots)
    chosen = env.get("CLAUDE_CODE_PROJECT_DIR_NAME")
    found = []
    for folder in list_names(base):
        if slugs and not folder.startswith(slugs) and folder != chosen:
            continue
        for path in walk_files(os.path.join(base, folder), ".jsonl", since=since):
            cwd = next((as_text(r["cwd"]) for r in read_head(path) if r.get("cwd")), "")
            if is_at_or_below(cwd, roots):
                found.append(make_transcript(HOST, path, cwd=cwd))
    return found


def _slug(root: str) -> str:
    """Return the folder name of a directory, as JavaScript makes it.

    A character of two UTF-16 units, such as an emoji, becomes two dashes."""
    return re.sub(r"[^A-Za-z0-9]", lambda m: "-" if m[0] < "\U00010000" else "--", root)[:200]


class _ClaudeCodeReader(RecordReader):
    """Converts records to items. `state`: yielded details, token counts and queued prompts."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self.path = path
        self._stem = os.path.basename(path).removesuffix(".jsonl")
        self._usage = RequestUsage()

    def read_record(self, record: dict[str, Json], number: int) -> Iterable[TranscriptItem]:
        kind = as_text(record.get("type"))
        if kind == "user" and as_dict(record.get("message")):
            return self._read_user(record)
        if kind == "assistant" and as_dict(record.get("message")):
            return self._read_assistant(record, number)
        if kind == "queue-operation":
            return self._read_queue(record, number)
        if kind == "attachment":
            return self._read_attachment(record, number)
        if kind in ("custom-title", "ai-title"):
            return self._read_title(record, kind)
        subtype = as_text(record.get("subtype"))
        return (SkippedRecord(number, "/".join(filter(None, (kind or "no type", subtype)))),)

    # ------------------------------------------------------------ records

    def _read_user(self, record: Mapping[str, Json]) -> Iterator[TranscriptItem]:
        session, key = self._locate(record)
        yield from self._describe_session(record, session)
        content = as_dict(record["message"]).get("content")
        messages = decode_record({"role": "user", "content": content}, "anthropic")
        messages = [self._assign_role(record, m) for m in messages]
        yield from self._name_session(session, record, messages)
        at = parse_time(record.get("timestamp"))
        for message, origin, own_key in self._assign_keys(record, messages, key):
            yield from make_entries(session, [message._replace(at=at, key=own_key)], origin, True)

    def _assign_role(self, record: Mapping[str, Json], message: Message) -> Message:
        """Return a user record with the role of its real author."""
        if message.role != "user":
            return message
        text = plain_text(message)
        if record.get("isCompactSummary") is True:
            return message._replace(role="system", name="compact_summary")
        hidden = record.get("isMeta") is True or record.get("isVisibleInTranscriptOnly") is True
        if hidden or not _is_prompt(record) or is_notice(text):
            return message._replace(role="system", name="host")
        if command := _COMMAND.search(text):
            wanted = _ARGUMENTS.search(text)
            typed = f"{command[1].strip()} {wanted[1].strip() if wanted else ''}".strip()
            return message._replace(content=typed, extra=None)
        if shell := _SHELL.match(text):
            return message._replace(content=f"! {shell[1].strip()}", extra=None)
        return message

    def _assign_keys(
        self, record: Mapping[str, Json], messages: list[Message], key: str
    ) -> Iterator[tuple[Message, str, str]]:
        """Yield messages with origin and key; a subagent's prompt comes from the agent."""
        by_agent = record.get("isSidechain") is True or "planContent" in record
        for place, message in enumerate(drop_own_answers(messages, self.state)):
            if message.call_id:
                own_key = f"{key}/{message.call_id}"
            else:
                own_key = f"{key}.{place}" if place else key
            origin = ""
            if (message.role == "user" and by_agent) or message.name == "compact_summary":
                origin = "agent"
            yield message, origin, own_key

    def _read_assistant(self, record: Mapping[str, Json], number: int) -> Iterator[TranscriptItem]:
        answer = as_dict(record["message"])
        if record.get("isApiErrorMessage") is True:
            yield SkippedRecord(number, "assistant/api error")
            return
        session, key = self._locate(record)
        content = answer.get("content")
        messages = [
            m
            for m in decode_record({"role": "assistant", "content": content}, "anthropic")
            if not _is_encrypted(m)
        ]
        request = as_text(answer.get("id"))
        requests = self.state.setdefault("requests", {})
        usage = self._usage.count(requests, request, answer.get("usage"))
        if not messages:
            yield SkippedRecord(number, "assistant/sealed reasoning")
            # The tokens are not lost: they are counted with the next block of the request.
            self._usage.give_back(requests, request, usage)
            return
        yield from self._describe_session(record, session)
        model = as_text(answer.get("model"))
        at = parse_time(record.get("timestamp"))
        for message, origin, own_key in self._assign_keys(record, messages, key):
            extra = {**(message.extra or {}), "request": request} if request else message.extra
            complete = message._replace(
                at=at, key=own_key, model=model, extra=extra, usage=usage or message.usage
            )
            usage = {}
            yield from make_entries(session, [complete], origin, True)

    def _read_attachment(self, record: Mapping[str, Json], number: int) -> Iterator[TranscriptItem]:
        attached = as_dict(record.get("attachment"))
        kind = as_text(attached.get("type"))
        mode = as_text(attached.get("commandMode")) or "prompt"
        source = attached.get("origin", record.get("origin"))
        if kind != "queued_command" or mode != "prompt" or not _is_human(source):
            yield SkippedRecord(number, f"attachment/{kind}")
            return
        yield from self._read_queued(record, attached.get("prompt"), "attached")

    def _read_queue(self, record: Mapping[str, Json], number: int) -> Iterator[TranscriptItem]:
        """Yield prompts typed while the agent worked: used mid-turn, they have no other record."""
        queue = self.state.setdefault("queue", [])
        operation = record.get("operation")
        text = as_text(record.get("content"))
        if operation == "enqueue":
            queue.append(text)
            del queue[:-_QUEUE_KEPT]
        elif operation == "popAll":
            queue.clear()
        elif queue:
            text = queue.pop(queue.index(text) if text in queue else 0)
        if operation == "remove" and text and not is_notice(text):
            yield from self._read_queued(record, text, "removed")
        else:
            yield SkippedRecord(number, f"queue-operation/{as_text(operation)}")

    def _read_queued(
        self, record: Mapping[str, Json], prompt: Json, source_kind: str
    ) -> Iterator[TranscriptItem]:
        """Yield a queued prompt; both kinds of record that mention it get the same key."""
        session, _ = self._locate(record)
        counts = self.state.setdefault(source_kind, {})
        (message,) = decode_record({"role": "user", "content": prompt}, "anthropic") or [
            Message("user")
        ]
        name = short_digest(plain_text(message))
        counts[name] = counts.get(name, 0) + 1
        key = f"{session}:queued:{name}:{counts[name]}"
        at = parse_time(record.get("timestamp"))
        yield from make_entries(session, [message._replace(at=at, key=key)])

    def _read_title(self, record: Mapping[str, Json], kind: str) -> Iterator[TranscriptItem]:
        title = first_text(record, "customTitle", "aiTitle", "title", "name")
        rank = 3 if kind == "custom-title" else 2
        if title and rank >= self.state.get("named", 0):
            self.state["named"] = rank
            yield SessionDetails(self._locate(record)[0], name=make_title(title))

    # ------------------------------------------------------------ session, key, tokens

    def _locate(self, record: Mapping[str, Json]) -> tuple[str, str]:
        """Return the session of a record, and its key there."""
        copied = as_dict(record.get("forkedFrom"))
        owner = as_text(copied.get("sessionId")) or as_text(record.get("sessionId"))
        owner = owner or as_text(self.state.get("session")) or self._stem
        if not copied:
            self.state["session"] = owner
        key = as_text(copied.get("messageUuid")) or as_text(record.get("uuid"))
        agent = as_text(record.get("agentId"))
        if record.get("isSidechain") is True:
            session = make_session_id(HOST, owner, f"agent-{agent}" if agent else "sidechain")
        else:
            session = make_session_id(HOST, owner)
        return session, key or f"{session}:{short_digest(json.dumps(record, sort_keys=True))}"

    def _describe_session(
        self, record: Mapping[str, Json], session: str
    ) -> Iterator[TranscriptItem]:
        branch = as_text(record.get("gitBranch"))
        known = [as_text(record.get("cwd")), "" if branch == "HEAD" else branch]
        described = self.state.setdefault("about", {})
        if known == described.get(session):
            return
        described[session] = known
        parent, agent, name = "", HOST, ""
        if record.get("isSidechain") is True:
            parent = make_session_id(HOST, as_text(record.get("sessionId")))
            about = read_sidecar(self.path.removesuffix(".jsonl") + ".meta.json")
            kind = first_text(about, "agentType") or first_text(record, "attributionAgent")
            agent = f"{HOST}/{kind}" if kind else HOST
            name = make_title(first_text(about, "description"))
        yield SessionDetails(session, name, known[0], known[1], agent, parent)

    def _name_session(
        self, session: str, record: Mapping[str, Json], messages: list[Message]
    ) -> Iterator[TranscriptItem]:
        """Name a session after its first prompt until it has a title."""
        if self.state.get("named") or record.get("isSidechain") is True:
            return
        title = next((make_title(plain_text(m)) for m in messages if m.role == "user"), "")
        if title and not title.startswith("/"):
            self.state["named"] = 1
            yield SessionDetails(session, name=title)


def _is_prompt(record: Mapping[str, Json]) -> bool:
    sources = (record.get("promptSource"), record.get("turnOrigin"))
    if any(s in _SYSTEM_SOURCES for s in sources) or not _FROM_TOOLS.isdisjoint(record):
        return False
    return _is_human(record.get("origin"))


def _is_human(origin: Json) -> bool:
    kind = origin.get("kind") if isinstance(origin, dict) else origin
    return kind in (None, "", "human", "user", "sdk")


def _is_encrypted(message: Message) -> bool:
    """Check whether a message is encrypted reasoning that only its provider can read."""
    blocks = message.content if isinstance(message.content, tuple) else ()
    sealed = [block.get("type") == "reasoning" and not block.get("text") for block in blocks]
    return bool(sealed) and all(sealed) and not message.calls
