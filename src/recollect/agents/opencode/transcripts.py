"""OpenCode's sessions: each part of a message becomes a message of ours, a tool part two.

The last answer of a session is left out until it is complete. Session, message and part ids are
OpenCode's own and unique.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping

from ...types.records import Json, Message, ToolCall
from ..registry import make_session_id
from ..transcripts.find_io import is_at_or_below, list_names, make_transcript
from ..transcripts.normalise import (
    as_dict,
    as_number,
    as_text,
    drop_own_answers,
    first_text,
    make_entries,
    make_title,
)
from ..transcripts.reader_io import (
    CursorMark,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
    parse_time,
    short_digest,
)
from .hooks import unwrap_prompt
from .stores import open_store

HOST = "opencode"


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the items of one session, or of all, that changed since the cursor."""
    store = open_store(path)
    seen = dict(as_dict(dict(cursor or {}).get("seen")))
    sessions = store.sessions(session)
    for done, about in enumerate(sessions, 1):
        name = as_text(about.get("id"))
        if not name:
            continue
        messages = list(store.messages(name))
        mark = short_digest(json.dumps([about, messages], sort_keys=True, default=repr))
        if seen.get(name) != mark:
            yield from _read_session(about, messages)
            seen[name] = mark
        yield CursorMark({"v": 1, "seen": dict(seen)}, done, len(sessions))


def discover(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the sessions at or below the roots; each is named in `session`."""
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    base = os.path.join(data, "opencode")
    stores = [os.path.join(base, name) for name in list_names(base) if name.endswith(".db")]
    if env.get("OPENCODE_DB"):
        stores = [env["OPENCODE_DB"]]
    if not stores and os.path.isdir(os.path.join(base, "storage")):
        stores = [os.path.join(base, "storage")]
    found = []
    for path in stores:
        store = open_store(path)
        for about in store.sessions(""):
            cwd = as_text(about.get("directory"))
            changed = parse_time(about.get("updated"))
            if is_at_or_below(cwd, roots) and changed >= since * 1_000_000:
                one = make_transcript(HOST, path, as_text(about.get("id")), cwd)
                found.append(one._replace(modified=changed))
    return found


def _read_session(
    about: Mapping[str, Json], messages: list[dict[str, Json]]
) -> Iterator[TranscriptItem]:
    session = make_session_id(HOST, as_text(about.get("id")))
    parent = as_text(about.get("parent"))
    yield SessionDetails(
        session,
        name=make_title(as_text(about.get("title"))),
        cwd=as_text(about.get("directory")),
        agent=HOST,
        parent=make_session_id(HOST, parent) if parent else "",
    )
    state: dict[str, Json] = {}
    called: set[str] = set()
    for place, message in enumerate(messages, 1):
        if place == len(messages) and _is_unfinished(message):
            yield SkippedRecord(place, "the last answer is not complete yet")
            return
        converted = _convert_message(message, place, called)
        yield from [one for one in converted if isinstance(one, SkippedRecord)]
        made = drop_own_answers([one for one in converted if isinstance(one, Message)], state)
        by_agent = bool(parent) and message.get("role") == "user"
        yield from make_entries(session, made, "agent" if by_agent else "")


def _is_unfinished(message: Mapping[str, Json]) -> bool:
    times = as_dict(message.get("time"))
    return message.get("role") == "assistant" and not times.get("completed")


def _convert_message(
    message: Mapping[str, Json], place: int, called: set[str]
) -> list[Message | SkippedRecord]:
    role = "user" if message.get("role") == "user" else "assistant"
    base = Message(
        role,
        model=first_text(message, "modelID") if role == "assistant" else "",
        at=parse_time(as_dict(message.get("time")).get("created")),
    )
    if message.get("summary") is True:
        base = base._replace(role="system", name="compact_summary")
    found: list[Message | SkippedRecord] = []
    for part in message.get("parts", []):
        kind = as_text(part.get("type"))
        key = as_text(part.get("id"))
        text = as_text(part.get("text"))
        if kind == "text" and not (part.get("synthetic") or part.get("ignored")):
            found += _convert_text(part, base, text, key)
        elif kind == "reasoning" and text:
            found.append(base._replace(content=({"type": "reasoning", "text": text},), key=key))
        elif kind == "tool":
            found += _convert_tool(part, base, key, called)
        else:
            found.append(SkippedRecord(place, f"part/{kind}"))
    usage = _read_usage(as_dict(message.get("tokens")))
    for number, one in enumerate(found):
        if usage and isinstance(one, Message) and one.role != "tool":
            found[number] = one._replace(usage=usage)
            break
    return found


def _convert_text(part: Mapping[str, Json], base: Message, text: str, key: str) -> list[Message]:
    """Return the message of a text part.

    Where our plugin noted the typed command, that is the prompt; the command's expansion was
    written by its author.
    """
    typed = as_text(as_dict(part.get("metadata")).get("recollect"))
    if base.role == "user" and not typed:
        return [base._replace(content=unwrap_prompt(text), key=key)]
    if base.role != "user":
        return [base._replace(content=text, key=key)]
    expansion = base._replace(role="system", content=text, name="host", key=f"{key}/added")
    return [base._replace(content=typed, key=key), expansion]


def _convert_tool(
    part: Mapping[str, Json], base: Message, key: str, called: set[str]
) -> list[Message]:
    state = as_dict(part.get("state"))
    own = as_text(part.get("callID"))
    # A redacted export has the same call id everywhere; the ids of parts stay unique.
    own = key if not own or own in called else own
    called.add(own)
    name = as_text(part.get("tool"))
    arguments = json.dumps(state.get("input", {}), ensure_ascii=False)
    made = [base._replace(calls=(ToolCall(own, name, arguments),), key=key)]
    status = state.get("status")
    if status in ("completed", "error"):
        broken = status == "error"
        out = as_text(state.get("error" if broken else "output"))
        at = parse_time(as_dict(state.get("time")).get("end")) or base.at
        # A failed command is a completed call: only its exit status shows the failure.
        code = as_dict(state.get("metadata")).get("exit")
        failed = broken or (isinstance(code, int) and code != 0)
        extra = {"exit": code} if isinstance(code, int) else None
        result = Message("tool", out, call_id=own, is_error=failed, name=name, at=at, extra=extra)
        made.append(result._replace(key=f"{key}/out"))
    return made


def _read_usage(tokens: Mapping[str, Json]) -> dict[str, int]:
    cache = as_dict(tokens.get("cache"))
    cached, written = as_number(cache.get("read")), as_number(cache.get("write"))
    usage = {
        # OpenCode counts the cached parts of a prompt separately.
        "input_tokens": as_number(tokens.get("input")) + cached + written,
        "output_tokens": as_number(tokens.get("output")),
        "cache_read_tokens": cached,
        "cache_write_tokens": written,
        "reasoning_tokens": as_number(tokens.get("reasoning")),
    }
    return {name: count for name, count in usage.items() if count > 0}
