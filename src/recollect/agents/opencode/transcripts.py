"""OpenCode's sessions: an SQLite file, an exported session, or (older) a folder of JSON files.

All hold the same, and are read and never written: messages with parts (a newer table of the SQLite
file holds them in one: `newer`). Each part becomes a message of ours, a tool part two. The last
answer of a session is left alone until it is complete. Session, message and part ids are
OpenCode's own and unique. Seen with 1.18; the store changes between versions, so a missing table
or column is an error that says so, never an empty result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import InvalidInput, NotFound
from ...types.records import Json, Message, ToolCall
from ..session_names import make_session_id
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
    load_document,
    open_regular_file,
    parse_time,
    short_digest,
)
from .hooks import unwrapped
from .stores import convert_row

if TYPE_CHECKING:
    import sqlite3

HOST = "opencode"
_NEWER = "session_message"


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The items of one session, or of all, in a database or a storage folder."""
    store = _store(path)
    seen = dict(as_dict(dict(cursor or {}).get("seen")))
    told = store.sessions(session)
    for done, about in enumerate(told, 1):
        name = as_text(about.get("id"))
        if not name:
            continue
        messages = list(store.messages(name))
        mark = short_digest(json.dumps([about, messages], sort_keys=True, default=repr))
        if seen.get(name) != mark:
            yield from _session(about, messages)
            seen[name] = mark
        yield CursorMark({"v": 1, "seen": dict(seen)}, done, len(told))


def discover(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """The sessions that ran at or below the roots; each names itself in `session`."""
    data = env.get("XDG_DATA_HOME") or os.path.join(home, ".local", "share")
    base = os.path.join(data, "opencode")
    stores = [os.path.join(base, name) for name in list_names(base) if name.endswith(".db")]
    if env.get("OPENCODE_DB"):
        stores = [env["OPENCODE_DB"]]
    if not stores and os.path.isdir(os.path.join(base, "storage")):
        stores = [os.path.join(base, "storage")]
    found = []
    for path in stores:
        store = _store(path)
        for about in store.sessions(""):
            cwd = as_text(about.get("directory"))
            if is_at_or_below(cwd, roots):
                one = make_transcript(HOST, path, as_text(about.get("id")), cwd)
                found.append(one._replace(modified=parse_time(about.get("updated"))))
    return found


def _store(path: str) -> _Database | _Folder | _Export:
    if os.path.isdir(path):
        return _Folder(path)
    if path.endswith((".json", ".jsonl")):
        return _Export(path)
    return _Database(path)


def _session(
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
        if place == len(messages) and _unfinished(message):
            yield SkippedRecord(place, "the last answer is not complete yet")
            return
        said = _said(message, place, called)
        skipped = [one for one in said if isinstance(one, SkippedRecord)]
        yield from skipped
        spoken = drop_own_answers([one for one in said if isinstance(one, Message)], state)
        by_agent = bool(parent) and message.get("role") == "user"
        yield from make_entries(session, spoken, "agent" if by_agent else "")


def _unfinished(message: Mapping[str, Json]) -> bool:
    times = as_dict(message.get("time"))
    return message.get("role") == "assistant" and not times.get("completed")


def _said(
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
    said: list[Message | SkippedRecord] = []
    for part in message.get("parts", []):
        kind = as_text(part.get("type"))
        key = as_text(part.get("id"))
        text = as_text(part.get("text"))
        if kind == "text" and not (part.get("synthetic") or part.get("ignored")):
            said += _words(part, base, text, key)
        elif kind == "reasoning" and text:
            said.append(base._replace(content=({"type": "reasoning", "text": text},), key=key))
        elif kind == "tool":
            said += _tool(part, base, key, called)
        else:
            said.append(SkippedRecord(place, f"part/{kind}"))
    usage = _usage(as_dict(message.get("tokens")))
    for number, one in enumerate(said):
        if usage and isinstance(one, Message) and one.role != "tool":
            said[number] = one._replace(usage=usage)
            break
    return said


def _words(part: Mapping[str, Json], base: Message, text: str, key: str) -> list[Message]:
    """What a text part says. Where our plugin noted which command was typed, that is what the
    person said; what the command stands for is its author's."""
    typed = as_text(as_dict(part.get("metadata")).get("recollect"))
    if base.role == "user" and not typed:
        return [base._replace(content=unwrapped(text), key=key)]
    if base.role != "user":
        return [base._replace(content=text, key=key)]
    stood_for = base._replace(role="system", content=text, name="host", key=f"{key}/added")
    return [base._replace(content=typed, key=key), stood_for]


def _tool(part: Mapping[str, Json], base: Message, key: str, called: set[str]) -> list[Message]:
    state = as_dict(part.get("state"))
    own = as_text(part.get("callID"))
    # Whoever blackens an export makes all its call ids the same; those of parts are not.
    own = key if not own or own in called else own
    called.add(own)
    name = as_text(part.get("tool"))
    given = json.dumps(state.get("input", {}), ensure_ascii=False)
    said = [base._replace(calls=(ToolCall(own, name, given),), key=key)]
    status = state.get("status")
    if status in ("completed", "error"):
        broken = status == "error"
        out = as_text(state.get("error" if broken else "output"))
        at = parse_time(as_dict(state.get("time")).get("end")) or base.at
        # A command that failed is a completed call: only its exit status tells.
        code = as_dict(state.get("metadata")).get("exit")
        failed = broken or (isinstance(code, int) and code != 0)
        extra = {"exit": code} if isinstance(code, int) else None
        result = Message("tool", out, call_id=own, is_error=failed, name=name, at=at, extra=extra)
        said.append(result._replace(key=f"{key}/out"))
    return said


def _usage(tokens: Mapping[str, Json]) -> dict[str, int]:
    cache = as_dict(tokens.get("cache"))
    read_, wrote = as_number(cache.get("read")), as_number(cache.get("write"))
    usage = {
        # OpenCode counts the cached parts of a prompt beside the rest of it.
        "input_tokens": as_number(tokens.get("input")) + read_ + wrote,
        "output_tokens": as_number(tokens.get("output")),
        "cache_read_tokens": read_,
        "cache_write_tokens": wrote,
        "reasoning_tokens": as_number(tokens.get("reasoning")),
    }
    return {name: count for name, count in usage.items() if count > 0}


class _Database:
    """The SQLite store, opened read-only so that OpenCode is never in its own way."""

    def __init__(self, path: str) -> None:
        if not os.path.isfile(path):
            raise NotFound("there is no such transcript", where=path)
        self.path = path

    def sessions(self, wanted: str) -> list[dict[str, Json]]:
        columns = "id, parent_id, directory, title, time_updated"
        rows = self._rows(columns, "session", "? IN ('', id)", wanted, "time_created, id")
        keys = ("id", "parent", "directory", "title", "updated")
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def messages(self, session: str) -> Iterator[dict[str, Json]]:
        told = list(self._told(session)) if self._has("message") or not self._has(_NEWER) else []
        if not told and self._has(_NEWER):
            rows = self._rows(
                "id, type, data", _NEWER, "session_id = ?", session, "time_created, id"
            )
            told = [convert_row(name, kind, _object(data)) for name, kind, data in rows]
        yield from told

    def _has(self, table: str) -> bool:
        return bool(self._rows("type", "sqlite_master", "name = ?", table, "type"))

    def _told(self, session: str) -> Iterator[dict[str, Json]]:
        parts: dict[str, list[dict[str, Json]]] = {}
        mine = "session_id = ?"
        for name, owner, data in self._rows("id, message_id, data", "part", mine, session, "id"):
            parts.setdefault(owner, []).append({**_object(data), "id": name})
        for name, data in self._rows("id, data", "message", mine, session, "time_created, id"):
            yield {**_object(data), "id": name, "parts": parts.get(name, [])}

    def _rows(
        self, columns: str, table: str, where: str, value: str, order: str
    ) -> list[tuple[Json, ...]]:
        import sqlite3
        from contextlib import closing

        if table != "sqlite_master":
            kinds = self._rows("type", "sqlite_master", "name = ?", table, "type")
            if kinds not in ([], [("table",)]):  # a view could count without end
                raise self._unknown(f"{table} is not a table")
        query = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order}"
        try:
            with closing(self._open()) as connection:
                return connection.execute(query, (value,)).fetchall()
        except sqlite3.Error as error:
            raise self._unknown(str(error)) from error

    def _unknown(self, why: str) -> InvalidInput:
        return InvalidInput(
            f"not an OpenCode store that we know: {why}",
            where=self.path,
            hint="`opencode export` writes the session as JSON, which can be imported.",
        )

    def _open(self) -> sqlite3.Connection:
        import sqlite3
        from urllib.parse import quote

        place = f"file:{quote(os.path.realpath(self.path))}?mode=ro"
        connection = sqlite3.connect(place, uri=True)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection


class _Folder:
    """The older store: `session/<project>/<id>.json`, `message/<session>/`, `part/<message>/`."""

    def __init__(self, path: str) -> None:
        self.path = path

    def sessions(self, wanted: str) -> list[dict[str, Json]]:
        found = []
        for project in list_names(os.path.join(self.path, "session")):
            for one in self._objects("session", project):
                name = as_text(one.get("id"))
                if wanted in ("", name):
                    updated = as_dict(one.get("time")).get("updated")
                    about = {"id": name, "parent": one.get("parentID"), "updated": updated}
                    found.append(about | {k: one.get(k) for k in ("directory", "title")})
        return found

    def messages(self, session: str) -> Iterator[dict[str, Json]]:
        for message in self._objects("message", session):
            yield {**message, "parts": self._objects("part", as_text(message.get("id")))}

    def _objects(self, *folder: str) -> list[dict[str, Json]]:
        base = os.path.join(self.path, *folder)
        if not all(map(_is_name, folder)):
            return []
        found = []
        for name in list_names(base):
            if name.endswith(".json"):
                with suppress(OSError), open_regular_file(os.path.join(base, name)) as stream:
                    found.append(_object(stream.read()))
        return found


class _Export:
    """One session in a JSON file: `{"info": …, "messages": [{"info": …, "parts": […]}]}`."""

    def __init__(self, path: str) -> None:
        self._value = as_dict(load_document(path)[0])

    def sessions(self, wanted: str) -> list[dict[str, Json]]:
        one = as_dict(self._value.get("info"))
        updated = as_dict(one.get("time")).get("updated")
        about = {"id": one.get("id"), "parent": one.get("parentID"), "updated": updated}
        about |= {key: one.get(key) for key in ("directory", "title")}
        return [about] if wanted in ("", about["id"]) else []

    def messages(self, session: str) -> Iterator[dict[str, Json]]:
        told = self._value.get("messages")
        for place, message in enumerate(told if isinstance(told, list) else ()):
            about = as_dict(as_dict(message).get("info"))
            given = as_dict(message).get("parts")
            parts = [as_dict(part) for part in given] if isinstance(given, list) else []
            # An export may come without the ids of parts.
            own = as_text(about.get("id")) or f"{session}:{place}"
            named = [{"id": f"{own}:{at}", **part} for at, part in enumerate(parts)]
            yield {**about, "id": own, "parts": named}


def _is_name(part: str) -> bool:
    """Whether an id can be the name of a file or folder, and lead nowhere else."""
    return part not in ("", ".", "..") and not {"/", "\\", "\0"} & set(part)


def _object(data: Json) -> dict[str, Json]:
    """A stored JSON object; an unreadable one is an empty one, which says nothing."""
    try:
        return as_dict(json.loads(data))
    except (ValueError, TypeError, RecursionError):
        return {}
