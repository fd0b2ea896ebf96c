"""Plain message lists in OpenAI's or Anthropic's format, and those of Cursor and CLIO.

A list is a JSON array, an object with an array, or one message a line. This reader also serves as
the fallback for exports and logs of unknown agents. A file has no session id, so its name and path
are used; a message is identified by its position and text. Anybody can write such a file, so its
messages are imports, whatever role they claim.

Cursor writes `~/.cursor/projects/<slug>/agent-transcripts/**/<id>.jsonl`: one message a line, the
prompt inside `<user_query>`, without times and token counts. The editor's own database is not read.

CLIO writes `.clio/sessions/<id>.json` in the project: the history, a thread archive with trimmed
messages, name, directory and billing.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..registry import make_session_id
from .find_io import file_stem, is_inside, list_names, make_transcript, walk_files
from .normalise import (
    IMPORT_ORIGIN,
    as_dict,
    as_list,
    as_text,
    decode_record,
    first_text,
    make_entries,
    make_title,
    normalise_usage,
)
from .reader_io import (
    RecordReader,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptEntry,
    TranscriptItem,
    follow_file,
    load_document,
    parse_record,
    parse_time,
    short_digest,
    yield_document,
)

HOST = "messages"
CLIO, CURSOR = "clio", "cursor"
_QUERY, _CLOSED = "<user_query>", "</user_query>"
_NOTIFIED = "<system_notification>"
_LISTS = ("messages", "history", "conversation", "input", "turns")
_TIMES = ("timestamp", "created_at", "createdAt", "time")
_METADATA = (*_TIMES, "id", "uuid", "usage", "model", "metadata", "message")
"""Fields that are not part of the provider's message."""


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the messages of a JSON or JSON Lines file after the cursor."""
    place = short_digest(os.path.realpath(path))[:8]
    name = session or make_session_id(HOST, f"{file_stem(path)}-{place}")
    if path.endswith((".jsonl", ".jsonl.zst", ".ndjson")):
        return follow_file(path, cursor, MessageLineReader(name, HOST))
    value, mark = load_document(path)
    about = SessionDetails(name, name=file_stem(path), agent=HOST)
    return yield_document(path, cursor, read_message_list(value, about), mark)


def read_message_list(value: Json, about: SessionDetails) -> Iterator[TranscriptItem]:
    """Yield the messages of a list, or of an object that holds one."""
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(value.get(name), list):
                value = value[name]
                break
    if not isinstance(value, list):
        yield SkippedRecord(0, "no list of messages was found", expected=False)
        return
    yield about
    for place, record in enumerate(value):
        try:
            yield from read_message(as_dict(record), about.session, place)
        except ValueError as error:
            yield SkippedRecord(place + 1, f"damaged: {error}", expected=False)


def read_message(
    record: Mapping[str, Json], session: str, place: int, origin: str = IMPORT_ORIGIN
) -> Iterator[TranscriptItem]:
    """Yield the messages of one record with its time, model and token counts."""
    inner = as_dict(record.get("message"))
    if inner:
        record = {**record, **inner}
    bare = {k: v for k, v in record.items() if k not in _METADATA and not k.startswith("_")}
    if record.get("type") == "message" or "parentId" in record:
        bare.pop("type", None)
    messages = decode_record(bare, "auto")
    at = next(filter(None, (parse_time(record.get(name)) for name in _TIMES)), 0)
    own = as_text(record.get("uuid")) or as_text(record.get("id"))
    for number, message in enumerate(messages):
        key = f"{session}:{own or place}:{short_digest(repr(message.content), repr(message.calls))}"
        message = message._replace(at=at, key=f"{key}.{number}" if number else key)
        if message.role == "assistant":
            usage = normalise_usage(record.get("usage")) if number == 0 else None
            message = message._replace(model=as_text(record.get("model")), usage=usage or None)
        yield from make_entries(session, [message], origin)


class MessageLineReader(RecordReader):
    """Reads one message a line. Readers of agents with a similar format extend it."""

    def __init__(self, session: str, host: str, origin: str = IMPORT_ORIGIN) -> None:
        super().__init__()
        self.session = session
        self.host = host
        self.origin = origin

    def read_line(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        if not line.strip():
            return ()
        record = self.convert(parse_record(line))
        if not as_text(record.get("role")) and not as_dict(record.get("message")):
            kind = as_text(record.get("type")) or "not a message"
            return (SkippedRecord(number, kind),)
        items = list(read_message(record, self.session, offset, self.origin))
        return [*self._describe(items), *items]

    def convert(self, record: dict[str, Json]) -> dict[str, Json]:
        """Return the record in a provider's format."""
        return record

    def _describe(self, items: list[TranscriptItem]) -> Iterator[TranscriptItem]:
        if not self.state.get("told"):
            self.state["told"] = True
            yield SessionDetails(self.session, agent=self.host)
        if not self.state.get("named"):
            for item in items:
                message = getattr(item, "message", Message("system"))
                if message.role == "user" and isinstance(message.content, str):
                    self.state["named"] = True
                    yield SessionDetails(self.session, name=make_title(message.content))
                    return


# ---------------------------------------------------------------- CLIO


def read_clio(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the messages of a session file; none if it is unchanged since the cursor."""
    value, mark = load_document(path)
    return yield_document(path, cursor, _read_clio_session(as_dict(value), path), mark)


def discover_clio(home: str, roots: tuple[str, ...], env: Mapping[str, str]) -> list[Transcript]:
    """Return the sessions inside the projects; CLIO keeps no list of projects."""
    return [
        make_transcript(CLIO, path, cwd=root)
        for root in roots
        for path in walk_files(os.path.join(root, ".clio", "sessions"), ".json")
        if is_inside(path, root)
    ]


def _read_clio_session(value: dict[str, Json], path: str) -> Iterator[TranscriptItem]:
    name = first_text(value, "session_id", "id") or file_stem(path)
    about = SessionDetails(
        make_session_id(CLIO, name),
        name=make_title(first_text(value, "session_name", "name", "title")),
        cwd=first_text(value, "working_directory", "cwd"),
        agent=CLIO,
    )
    history = as_list(value.get("history"))
    began = parse_time(value.get("created_at"))
    for item in read_message_list(_find_trimmed(value, history), about):
        yield _set_time(item, began)
    requests = [as_dict(one) for one in as_list(as_dict(value.get("billing")).get("requests"))]
    for item in read_message_list(history, about):
        item = _set_time(item, began)
        if isinstance(item, TranscriptEntry) and item.message.role == "assistant" and requests:
            # Requests are billed in order, one for each answer.
            billed = requests.pop(0)
            usage = item.message.usage or normalise_usage(billed) or None
            model = item.message.model or first_text(billed, "model")
            item = item._replace(message=item.message._replace(usage=usage, model=model))
        yield item


def _find_trimmed(value: dict[str, Json], history: list[Json]) -> list[Json]:
    """Return the messages that are in the thread archive and no longer in the history."""
    kept = {as_text(as_dict(message).get("id")) for message in history}
    archived = [m for thread in as_dict(value.get("yarn")).values() for m in as_list(thread)]
    return [m for m in archived if as_text(as_dict(m).get("id")) not in kept | {""}]


def _set_time(item: TranscriptItem, began: int) -> TranscriptItem:
    """Return the item with the session's start as its time, unless it has one."""
    if isinstance(item, TranscriptEntry) and not item.message.at:
        return item._replace(message=item.message._replace(at=began))
    return item


# ---------------------------------------------------------------- Cursor


def read_cursor(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """Yield the messages of one of Cursor's transcripts after the cursor."""
    return follow_file(
        path, cursor, _CursorReader(make_session_id(CURSOR, file_stem(path)), CURSOR, origin="")
    )


def discover_cursor(
    home: str, roots: tuple[str, ...], env: Mapping[str, str], since: float = 0
) -> list[Transcript]:
    """Return the transcripts of projects whose folder is named after one of the roots."""
    base = os.path.join(home, ".cursor", "projects")
    slugs = {re.sub(r"[^A-Za-z0-9]+", "-", root).strip("-"): root for root in roots}
    found = []
    for folder in list_names(base):
        if slugs and folder not in slugs:
            continue
        for path in walk_files(
            os.path.join(base, folder, "agent-transcripts"), ".jsonl", since=since
        ):
            if "subagents" not in path.split(os.sep):
                found.append(make_transcript(CURSOR, path, cwd=slugs.get(folder, "")))
    return found


class _CursorReader(MessageLineReader):
    def convert(self, record: dict[str, Json]) -> dict[str, Json]:
        """Return the prompt without the editor's wrapping; a notification is the editor's own."""
        if record.get("role") != "user":
            return record
        inner = as_dict(record.get("message")) or record
        blocks = inner.get("content")
        texts = [as_text(as_dict(block).get("text")) for block in as_list(blocks)]
        if any(_NOTIFIED in text for text in [as_text(blocks), *texts]):
            return {"role": "system", "content": as_text(blocks) or "\n".join(texts)}
        if isinstance(blocks, str):
            return {"role": "user", "content": _extract_query(blocks)}
        kept = [
            {**block, "text": _extract_query(as_text(block.get("text")))}
            if as_dict(block).get("type") == "text"
            else block
            for block in as_list(blocks)
        ]
        return {"role": "user", "content": kept}


def _extract_query(text: str) -> str:
    """Return the last query: an attachment before it may contain another."""
    start = text.rfind(_QUERY)
    end = text.find(_CLOSED, start)
    return text[start + len(_QUERY) : end].strip() if 0 <= start < end else text
