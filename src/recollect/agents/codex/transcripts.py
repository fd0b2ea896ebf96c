"""Codex's rollouts: Responses items with events around them, one JSON object a line.

Reads `sessions/YYYY/MM/DD/rollout-….jsonl`, also compressed. Paginated rollouts hold everything
twice (`response_item` and `item_completed`); only the items are read. Token counts come after their
answer, so an answer is held back until its count, the next answer or the end. A forked rollout
starts with a copy of its parent's lines, all written at once: they belong to the parent's session.
`transcripts.reader_io` reads the file and parses its lines; this module says what a line means.
Checked with Codex 0.140 to 0.166.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..registry import make_session_id
from ..transcripts.find_io import is_at_or_below, make_transcript, read_head, walk_files
from ..transcripts.normalise import (
    as_dict,
    as_list,
    as_text,
    decode_record,
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
    TranscriptEntry,
    TranscriptItem,
    follow_file,
    parse_time,
    short_digest,
)
from .hooks import split_prompt

HOST = "codex"
_BURST = 1_000_000
"""Microseconds. Copied lines follow each other faster; a person or a model takes longer."""

_INJECTED = re.compile(
    r"\s*(?:# AGENTS\.md instructions|<(?:environment_context|user_instructions|turn_aborted|"
    r"skill|permissions instructions|collaboration_mode|subagent_notification|INSTRUCTIONS|"
    r"user_shell_command|model_switch|personality_spec)\b)"
)
_EXIT = re.compile(r'(?:Process exited with code |Exit code: |"exit_code": ?)(-?\d+)')
_NOISE = ("id", "internal_chat_message_metadata_passthrough", "metadata", "phase")


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the items of a rollout after the cursor."""
    return follow_file(path, cursor, _CodexReader(path))


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the rollouts, live and archived, of threads at or below the roots."""
    base = env.get("CODEX_HOME") or os.path.join(home, ".codex")
    found = []
    for folder in ("sessions", "archived_sessions"):
        for path in walk_files(os.path.join(base, folder), ".jsonl", ".jsonl.zst", since=since):
            if not os.path.basename(path).startswith("rollout-"):
                continue
            meta = next((as_dict(r.get("payload")) for r in read_head(path)), {})
            cwd = as_text(meta.get("cwd"))
            # The directory of a compressed rollout is not known before it is decompressed.
            if is_at_or_below(cwd, roots) or path.endswith(".zst"):
                found.append(make_transcript(HOST, path, cwd=cwd))
    return found


class _CodexReader(RecordReader):
    """Converts lines to items. `state`: the thread of these lines, the model, token counts."""

    def __init__(self, path: str) -> None:
        super().__init__()
        self._stem = os.path.basename(path).partition(".")[0]
        self.pending: list[TranscriptEntry] = []

    @property
    def has_pending(self) -> bool:
        return bool(self.pending)

    def read_record(self, record: dict[str, Json], number: int) -> Iterable[TranscriptItem]:
        payload = as_dict(record.get("payload"))
        kind = as_text(record.get("type"))
        at = parse_time(record.get("timestamp"))
        self._watch_copying(at)
        if kind == "session_meta":
            return self._read_meta(payload)
        if kind == "turn_context":
            return self._read_turn(payload)
        if kind == "response_item":
            return self._read_item(payload, at, number)
        if kind == "compacted":
            return self._read_compaction(payload, at)
        if kind == "token_usage_record":
            self.state["exact_usage"] = True
            return self._add_usage(normalise_usage(payload.get("usage")))
        if kind == "event_msg":
            return self._read_event(payload, number)
        return (SkippedRecord(number, kind or "no type"),)

    def flush(self) -> Iterable[TranscriptItem]:
        pending, self.pending = self.pending, []
        return pending

    # ------------------------------------------------------------ records

    def _read_meta(self, payload: Mapping[str, Json]) -> Iterator[TranscriptItem]:
        yield from self.flush()
        thread = first_text(payload, "id", "session_id")
        # Codex also starts threads itself: a guardian, a review, its memory.
        own = as_dict(payload.get("source"))
        by_codex = "subagent" in own or payload.get("thread_source") == "subagent"
        spawned = as_dict(as_dict(own.get("subagent")).get("thread_spawn"))
        parent = first_text(payload, "parent_thread_id") or first_text(spawned, "parent_thread_id")
        forked = first_text(payload, "forked_from_id")
        if "thread" not in self.state:
            self.state.update(thread=thread, spawned=by_codex or bool(parent))
        elif thread != self.state["thread"]:
            self.state["copying"] = thread
        role = first_text(payload, "agent_role") or first_text(spawned, "agent_role")
        yield SessionDetails(
            make_session_id(HOST, thread),
            cwd=as_text(payload.get("cwd")),
            branch=first_text(as_dict(payload.get("git")), "branch"),
            agent=f"{HOST}/{role}" if role else HOST,
            parent=make_session_id(HOST, parent or forked) if parent or forked else "",
        )

    def _read_turn(self, payload: Mapping[str, Json]) -> Iterator[TranscriptItem]:
        self.state["model"] = as_text(payload.get("model"))
        cwd = as_text(payload.get("cwd"))
        if cwd and cwd != self.state.get("cwd"):
            self.state["cwd"] = cwd
            yield SessionDetails(self._current_session(), cwd=cwd)

    def _read_item(
        self, payload: Mapping[str, Json], at: int, number: int
    ) -> Iterator[TranscriptItem]:
        kind = as_text(payload.get("type"))
        item = {name: value for name, value in payload.items() if name not in _NOISE}
        if payload.get("role") == "user":
            item["content"] = _drop_marked_blocks(payload)
        injected = _find_injection(item)
        if injected:
            yield SkippedRecord(number, injected)
            return
        messages = drop_own_answers(decode_record(item, "responses"), self.state)
        if kind == "reasoning":
            messages = [
                _strip_encrypted(message) for message in messages if _reasoning_text(message)
            ]
            if not messages:
                yield SkippedRecord(number, "reasoning/sealed")
                return
        session = self._current_session()
        key = self._make_key(payload, session)
        made = [self._complete(message, key, at) for message in messages]
        if payload.get("role") == "user":
            # The first prompt of a spawned thread is its parent's, not a person's.
            by_agent = self.state.get("spawned") and "copying" not in self.state
            yield from self.flush()
            made = [part for message in made for part in _split_message(message)]
            yield from self._name_session(session, made)
            yield from make_entries(session, made, "agent" if by_agent else "", True)
            return
        if self.pending and made[0].role == "assistant" and self.pending[-1].message.role == "tool":
            # A new answer begins and the last one has no count.
            yield from self.flush()
        self.pending += [
            one for one in make_entries(session, made, "", True) if isinstance(one, TranscriptEntry)
        ]

    def _complete(self, message: Message, key: str, at: int) -> Message:
        model = as_text(self.state.get("model")) if message.role == "assistant" else ""
        failed = message.role == "tool" and (message.is_error or _has_failed(message))
        return message._replace(key=key, at=at, model=model, is_error=failed)

    def _read_compaction(self, payload: Mapping[str, Json], at: int) -> Iterator[TranscriptItem]:
        yield from self.flush()
        session = self._current_session()
        text = as_text(payload.get("message"))
        key = f"{session}:compacted:{short_digest(text, str(at))}"
        message = Message("system", text, name="compact_summary", at=at, key=key)
        yield from make_entries(session, [message], "agent")

    def _read_event(self, payload: Mapping[str, Json], number: int) -> Iterator[TranscriptItem]:
        kind = as_text(payload.get("type"))
        if kind in ("thread_name_updated", "session_name_updated"):
            name = first_text(payload, "thread_name", "name", "title")
            yield SessionDetails(self._current_session(), name=make_title(name))
            return
        info = as_dict(payload.get("info"))
        if kind == "token_count" and info and not self.state.get("exact_usage"):
            total = normalise_usage(info.get("total_token_usage"))
            before = self.state.get("total")
            self.state["total"] = total
            # An aborted request is in the next total, but has no count of its own.
            last = normalise_usage(info.get("last_token_usage"))
            grown = last if before is None else subtract_usage(total, as_dict(before))
            if grown:
                yield from self._add_usage(grown)
                return
        yield SkippedRecord(number, f"event_msg/{kind}")

    # ------------------------------------------------------------ session, key, tokens

    def _add_usage(self, usage: Mapping[str, int]) -> Iterator[TranscriptItem]:
        """Add a token count to the pending answer; without one, keep it for the next answer."""
        owed = as_dict(self.state.pop("owed", {}))
        usage = {k: usage.get(k, 0) + owed.get(k, 0) for k in {*usage, *owed}}
        for place, one in enumerate(self.pending):
            if one.message.role == "assistant":
                counted = one.message._replace(usage=dict(sorted(usage.items())))
                self.pending[place] = one._replace(message=counted)
                break
        else:
            self.state["owed"] = usage
        yield from self.flush()

    def _current_session(self) -> str:
        thread = self.state.get("copying") or self.state.get("thread") or self._stem
        return make_session_id(HOST, as_text(thread))

    def _watch_copying(self, at: int) -> None:
        """Detect the end of the lines copied from the parent: they were written in one burst."""
        before = self.state.get("at", at)
        if at:
            self.state["at"] = at
        if self.state.get("copying") and at - before > _BURST:
            del self.state["copying"]

    def _make_key(self, payload: Mapping[str, Json], session: str) -> str:
        """Return the key of an item: its id, the same in every copy, else a digest."""
        kind = as_text(payload.get("type"))
        call = as_text(payload.get("call_id"))
        own = as_text(payload.get("id"))
        if call:
            return f"{session}:{'out' if kind.endswith('_output') else 'call'}:{call}"
        if own:
            return f"{session}:{own}"
        seen = self.state.setdefault("seen", {}).setdefault(session, {})
        name = short_digest(kind, as_text(payload.get("role")), repr(payload))[:12]
        seen[name] = seen.get(name, 0) + 1
        return f"{session}:{name}:{seen[name]}"

    def _name_session(self, session: str, messages: list[Message]) -> Iterator[TranscriptItem]:
        if self.state.get("named") != session and not self.state.get("spawned"):
            text = messages[0].content if messages else ""
            if isinstance(text, str) and text.strip():
                self.state["named"] = session
                yield SessionDetails(session, name=make_title(text))


def _split_message(message: Message) -> Iterator[Message]:
    """Yield the typed prompt, then the text that Codex put before it."""
    if isinstance(message.content, str):
        typed, added = split_prompt(message.content)
        yield message._replace(content=typed)
    else:
        parts = [split_prompt(as_text(block.get("text"))) for block in message.content]
        added = "\n".join(filter(None, (put for _, put in parts)))
        blocks = zip(message.content, parts, strict=True)
        kept = tuple({**block, "text": own} if put else block for block, (own, put) in blocks)
        yield message._replace(content=kept)
    if added:
        key = f"{message.key}/added"
        yield message._replace(role="system", content=added, name="host", key=key)


def _drop_marked_blocks(payload: Mapping[str, Json]) -> list[Json]:
    """Return the blocks of a user item without those that are marked as added by the host."""
    blocks = as_list(payload.get("content"))
    about = as_dict(payload.get("internal_chat_message_metadata_passthrough"))
    kinds = [as_text(kind) for kind in as_list(about.get("content_item_kinds"))]
    if len(kinds) != len(blocks):
        return blocks
    return [
        block
        for block, kind in zip(blocks, kinds, strict=True)
        if kind.startswith("user.") or kind == "unknown"
    ]


def _find_injection(item: Mapping[str, Json]) -> str:
    """Return why a message item was written by the host; "" if it was not."""
    role = item.get("role")
    if role in ("developer", "system"):
        return f"instructions/{role}"
    if role != "user":
        return ""
    blocks = as_list(item.get("content"))
    for block in blocks:
        match = _INJECTED.match(as_text(as_dict(block).get("text")))
        if match:
            return f"injected/{match[0].strip(' <#')}"
    return "" if blocks else "injected/by the host"


def _reasoning_text(message: Message) -> str:
    blocks = message.content if isinstance(message.content, tuple) else ()
    return "".join(as_text(block.get("text")) for block in blocks)


def _strip_encrypted(message: Message) -> Message:
    """Return reasoning without its encrypted part: only the text is useful."""
    return message._replace(content=({"type": "reasoning", "text": _reasoning_text(message)},))


def _has_failed(message: Message) -> bool:
    if not isinstance(message.content, str):
        return False
    match = _EXIT.search(message.content[:400])
    return bool(match and match[1] != "0")
