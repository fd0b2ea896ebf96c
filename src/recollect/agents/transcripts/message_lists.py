"""Plain lists of messages, in OpenAI's or Anthropic's form: a JSON array, an object that holds
one, or one message a line. For exports, logs of one's own agent, and what no other reader knows.

A file has no session but its name and place; a message is known by its place and its words.
Anybody can write such a file, so its messages are imports, whatever role they claim.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..session_names import make_session_id
from .normalise import (
    IMPORT_ORIGIN,
    as_dict,
    as_text,
    decode_record,
    make_entries,
    make_title,
    normalise_usage,
)
from .reader_io import (
    SessionDetails,
    SkippedRecord,
    TranscriptItem,
    follow_file,
    load_document,
    parse_record,
    parse_time,
    short_digest,
    yield_document,
)

HOST = "messages"
_LISTS = ("messages", "history", "conversation", "input", "turns")
_BESIDE = (
    "timestamp",
    "created_at",
    "createdAt",
    "time",
    "id",
    "uuid",
    "usage",
    "model",
    "metadata",
    "message",
)


def read(
    path: str, cursor: Mapping[str, Json] | None = None, session: str = ""
) -> Iterator[TranscriptItem]:
    """The messages of a JSON or JSON Lines file after the cursor."""
    name = session or make_session_id(
        HOST, f"{file_stem(path)}-{short_digest(os.path.realpath(path))[:8]}"
    )
    if path.endswith((".jsonl", ".jsonl.zst", ".ndjson")):
        return follow_file(path, cursor, MessageLineReader(name, HOST))
    value, mark = load_document(path)
    return yield_document(
        path,
        cursor,
        read_message_list(value, SessionDetails(name, name=file_stem(path), agent=HOST)),
        mark,
    )


def file_stem(path: str) -> str:
    """The file's name without its ending."""
    return os.path.basename(path).partition(".")[0]


def read_message_list(value: Json, about: SessionDetails) -> Iterator[TranscriptItem]:
    """The messages in a list, or in an object that holds one."""
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
    """One record's messages, with the time, the model and the count that may stand beside them."""
    inner = as_dict(record.get("message"))
    if inner:
        record = {**record, **inner}
    bare = {k: v for k, v in record.items() if k not in _BESIDE and not k.startswith("_")}
    if record.get("type") == "message" or "parentId" in record:
        bare.pop("type", None)
    messages = decode_record(bare, "auto")
    at = next(filter(None, (parse_time(record.get(name)) for name in _BESIDE[:4])), 0)
    own = as_text(record.get("uuid")) or as_text(record.get("id"))
    for number, message in enumerate(messages):
        key = f"{session}:{own or place}:{short_digest(repr(message.content), repr(message.calls))}"
        message = message._replace(at=at, key=f"{key}.{number}" if number else key)
        if message.role == "assistant":
            usage = normalise_usage(record.get("usage")) if number == 0 else None
            message = message._replace(model=as_text(record.get("model")), usage=usage or None)
        yield from make_entries(session, [message], origin)


class MessageLineReader:
    """Reads one message a line. Agents with a little more to a line build on it."""

    def __init__(self, session: str, host: str, origin: str = IMPORT_ORIGIN) -> None:
        self.state: dict[str, Json] = {}
        self.session = session
        self.host = host
        self.origin = origin

    @property
    def busy(self) -> bool:
        return False

    def take(self, line: bytes, number: int, offset: int) -> Iterable[TranscriptItem]:
        if not line.strip():
            return ()
        record = self.shaped(parse_record(line))
        if not as_text(record.get("role")) and not as_dict(record.get("message")):
            kind = as_text(record.get("type")) or "not a message"
            return (SkippedRecord(number, kind),)
        items = list(read_message(record, self.session, offset, self.origin))
        return [*self._about(items), *items]

    def shaped(self, record: dict[str, Json]) -> dict[str, Json]:
        """The record as a provider would write it."""
        return record

    def flush(self) -> Iterable[TranscriptItem]:
        return ()

    def _about(self, items: list[TranscriptItem]) -> Iterator[TranscriptItem]:
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
