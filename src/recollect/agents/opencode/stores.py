"""OpenCode's stores, read-only: an SQLite file, an exported session, or (older) a folder of JSON.

Each yields sessions and messages in the same form: a message with parts. Newer SQLite files hold a
message in one row of `session_message`, which is converted to that form. The format changes between
versions (checked with 1.18), so a missing table or column is an error, never an empty result.
"""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from contextlib import suppress
from typing import TYPE_CHECKING

from ...errors import InvalidInput, NotFound
from ...types.records import Json
from ..transcripts.find_io import list_names
from ..transcripts.normalise import as_dict, as_list, as_text, first_text
from ..transcripts.reader_io import load_document, open_regular_file

if TYPE_CHECKING:
    import sqlite3

_NEW_TABLE = "session_message"


def open_store(path: str) -> _DatabaseStore | _FolderStore | _ExportStore:
    """Return the store at a path."""
    if os.path.isdir(path):
        return _FolderStore(path)
    if path.endswith((".json", ".jsonl")):
        return _ExportStore(path)
    return _DatabaseStore(path)


class _DatabaseStore:
    """The SQLite store, opened read-only so that OpenCode is never blocked."""

    def __init__(self, path: str) -> None:
        if not os.path.isfile(path):
            raise NotFound("no such transcript", where=path)
        self.path = path

    def sessions(self, wanted: str) -> list[dict[str, Json]]:
        columns = "id, parent_id, directory, title, time_updated"
        rows = self._rows(columns, "session", "? IN ('', id)", wanted, "time_created, id")
        keys = ("id", "parent", "directory", "title", "updated")
        return [dict(zip(keys, row, strict=True)) for row in rows]

    def messages(self, session: str) -> Iterator[dict[str, Json]]:
        old = self._has("message") or not self._has(_NEW_TABLE)
        found = list(self._old_messages(session)) if old else []
        if not found and self._has(_NEW_TABLE):
            rows = self._rows(
                "id, type, data", _NEW_TABLE, "session_id = ?", session, "time_created, id"
            )
            found = [_convert_row(name, kind, _parse_object(data)) for name, kind, data in rows]
        yield from found

    def _has(self, table: str) -> bool:
        return bool(self._rows("type", "sqlite_master", "name = ?", table, "type"))

    def _old_messages(self, session: str) -> Iterator[dict[str, Json]]:
        parts: dict[str, list[dict[str, Json]]] = {}
        mine = "session_id = ?"
        for name, owner, data in self._rows("id, message_id, data", "part", mine, session, "id"):
            parts.setdefault(owner, []).append({**_parse_object(data), "id": name})
        for name, data in self._rows("id, data", "message", mine, session, "time_created, id"):
            yield {**_parse_object(data), "id": name, "parts": parts.get(name, [])}

    def _rows(
        self, columns: str, table: str, where: str, value: str, order: str
    ) -> list[tuple[Json, ...]]:
        import sqlite3
        from contextlib import closing

        if table != "sqlite_master":
            kinds = self._rows("type", "sqlite_master", "name = ?", table, "type")
            if kinds not in ([], [("table",)]):  # a hostile view could run for ever
                raise self._unknown(f"{table} is not a table")
        query = f"SELECT {columns} FROM {table} WHERE {where} ORDER BY {order}"
        try:
            with closing(self._open()) as connection:
                return connection.execute(query, (value,)).fetchall()
        except sqlite3.Error as error:
            raise self._unknown(str(error)) from error

    def _unknown(self, why: str) -> InvalidInput:
        return InvalidInput(
            f"unknown OpenCode store: {why}",
            where=self.path,
            hint="Write the session as JSON with `opencode export` and import that file.",
        )

    def _open(self) -> sqlite3.Connection:
        import sqlite3
        from urllib.parse import quote

        place = f"file:{quote(os.path.realpath(self.path))}?mode=ro"
        connection = sqlite3.connect(place, uri=True)
        connection.text_factory = lambda raw: raw.decode("utf-8", "replace")
        return connection


class _FolderStore:
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
        if not all(map(_is_file_name, folder)):
            return []
        found = []
        for name in list_names(base):
            if name.endswith(".json"):
                with suppress(OSError), open_regular_file(os.path.join(base, name)) as stream:
                    found.append(_parse_object(stream.read()))
        return found


class _ExportStore:
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
        for place, message in enumerate(as_list(self._value.get("messages"))):
            about = as_dict(as_dict(message).get("info"))
            parts = [as_dict(part) for part in as_list(as_dict(message).get("parts"))]
            # An export may lack the ids of parts.
            own = as_text(about.get("id")) or f"{session}:{place}"
            named = [{"id": f"{own}:{at}", **part} for at, part in enumerate(parts)]
            yield {**about, "id": own, "parts": named}


def _is_file_name(part: str) -> bool:
    """Check that an id is a plain file name and does not lead to another folder."""
    return part not in ("", ".", "..") and not {"/", "\\", "\0"} & set(part)


def _parse_object(data: Json) -> dict[str, Json]:
    """Return a stored JSON object; {} if it is unreadable."""
    try:
        return as_dict(json.loads(data))
    except (ValueError, TypeError, RecursionError):
        return {}


# ---------------------------------------------------------------- rows of session_message


def _convert_row(name: str, kind: str, data: Mapping[str, Json]) -> dict[str, Json]:
    """Return a row of the newer table as a message with parts.

    Kinds about the program (a switched model or agent, added text) keep their name and have no
    text.
    """
    times = as_dict(data.get("time"))
    ended = {**times, "completed": times.get("completed") or times.get("created") or 1}
    if kind == "user":
        parts = [_text_part(f"{name}:0", data)]
        return {"id": name, "role": "user", "time": times, "parts": parts}
    if kind == "assistant":
        blocks = enumerate(map(as_dict, as_list(data.get("content"))))
        return {
            "id": name,
            "role": "assistant",
            "time": times,
            "modelID": first_text(as_dict(data.get("model")), "id", "modelID"),
            "tokens": data.get("tokens"),
            "parts": [_convert_block(f"{name}:{place}", block) for place, block in blocks],
        }
    message: dict[str, Json] = {"id": name, "role": "assistant", "time": ended}
    if kind == "compaction":
        summary = {"id": f"{name}:0", "type": "text", "text": as_text(data.get("summary"))}
        return {**message, "summary": True, "parts": [summary]}
    if kind == "shell":
        ran = {"status": "completed", "input": {"command": data.get("command")}}
        state = {**ran, "output": as_text(data.get("output"))}
        call = {"type": "tool", "tool": "shell", "callID": data.get("callID"), "state": state}
        return {**message, "parts": [{"id": f"{name}:0", **call}]}
    return {**message, "parts": [{"id": name, "type": kind}]}


def _text_part(key: str, data: Mapping[str, Json]) -> dict[str, Json]:
    return {"id": key, "type": "text", "text": data.get("text"), "metadata": data.get("metadata")}


def _convert_block(key: str, block: Mapping[str, Json]) -> dict[str, Json]:
    if block.get("type") != "tool":
        return {**block, "id": key}
    state = as_dict(block.get("state"))
    texts = (as_text(as_dict(item).get("text")) for item in as_list(state.get("content")))
    error = state.get("error")
    converted = {
        **state,
        "output": as_text(state.get("output")) or "\n".join(filter(None, texts)),
        "error": as_text(error) or first_text(as_dict(error), "message"),
        "metadata": as_dict(state.get("structured")) or as_dict(state.get("metadata")),
        "time": {"end": as_dict(block.get("time")).get("completed")},
    }
    own = first_text(block, "id", "callID")
    return {"id": key, "type": "tool", "tool": block.get("name"), "callID": own, "state": converted}
