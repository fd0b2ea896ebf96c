"""Plain lists of messages, in OpenAI's or Anthropic's form: a JSON array, an object that holds
one, or one message a line. For exports, logs of one's own agent, and what no other reader knows.

A file has no session but its name and place; a message is known by its place and its words.
Anybody can write such a file, so its messages are imports, whatever role they claim.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping

from ...types.records import Json, Message
from ..session_names import session_id
from .normalise import IMPORT, as_dict, as_text, decoded, entries, title_of, usage_of
from .reader_io import Found, Item, Skipped, digest, document_of, follow, moment, record_of, whole

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


def read(path: str, cursor: Mapping[str, Json] | None = None, session: str = "") -> Iterator[Item]:
    """The messages of a JSON or JSON Lines file after the cursor."""
    name = session or session_id(HOST, f"{stem(path)}-{digest(os.path.realpath(path))[:8]}")
    if path.endswith((".jsonl", ".jsonl.zst", ".ndjson")):
        return follow(path, cursor, Lines(name, HOST))
    value, mark = document_of(path)
    return whole(path, cursor, listed(value, Found(name, name=stem(path), agent=HOST)), mark)


def stem(path: str) -> str:
    """The file's name without its ending."""
    return os.path.basename(path).partition(".")[0]


def listed(value: Json, about: Found) -> Iterator[Item]:
    """The messages in a list, or in an object that holds one."""
    if isinstance(value, dict):
        for name in _LISTS:
            if isinstance(value.get(name), list):
                value = value[name]
                break
    if not isinstance(value, list):
        yield Skipped(0, "no list of messages was found", expected=False)
        return
    yield about
    for place, record in enumerate(value):
        try:
            yield from spoken(as_dict(record), about.session, place)
        except ValueError as error:
            yield Skipped(place + 1, f"damaged: {error}", expected=False)


def spoken(
    record: Mapping[str, Json], session: str, place: int, origin: str = IMPORT
) -> Iterator[Item]:
    """One record's messages, with the time, the model and the count that may stand beside them."""
    inner = as_dict(record.get("message"))
    if inner:
        record = {**record, **inner}
    bare = {k: v for k, v in record.items() if k not in _BESIDE and not k.startswith("_")}
    if record.get("type") == "message" or "parentId" in record:
        bare.pop("type", None)
    messages = decoded(bare, "auto")
    at = next(filter(None, (moment(record.get(name)) for name in _BESIDE[:4])), 0)
    own = as_text(record.get("uuid")) or as_text(record.get("id"))
    for number, message in enumerate(messages):
        key = f"{session}:{own or place}:{digest(repr(message.content), repr(message.calls))}"
        message = message._replace(at=at, key=f"{key}.{number}" if number else key)
        if message.role == "assistant":
            usage = usage_of(record.get("usage")) if number == 0 else None
            message = message._replace(model=as_text(record.get("model")), usage=usage or None)
        yield from entries(session, [message], origin)


class Lines:
    """Reads one message a line. Agents with a little more to a line build on it."""

    def __init__(self, session: str, host: str, origin: str = IMPORT) -> None:
        self.state: dict[str, Json] = {}
        self.session = session
        self.host = host
        self.origin = origin

    @property
    def busy(self) -> bool:
        return False

    def take(self, line: bytes, number: int, offset: int) -> Iterable[Item]:
        if not line.strip():
            return ()
        record = self.shaped(record_of(line))
        if not as_text(record.get("role")) and not as_dict(record.get("message")):
            kind = as_text(record.get("type")) or "not a message"
            return (Skipped(number, kind),)
        items = list(spoken(record, self.session, offset, self.origin))
        return [*self._about(items), *items]

    def shaped(self, record: dict[str, Json]) -> dict[str, Json]:
        """The record as a provider would write it."""
        return record

    def flush(self) -> Iterable[Item]:
        return ()

    def _about(self, items: list[Item]) -> Iterator[Item]:
        if not self.state.get("told"):
            self.state["told"] = True
            yield Found(self.session, agent=self.host)
        if not self.state.get("named"):
            for item in items:
                message = getattr(item, "message", Message("system"))
                if message.role == "user" and isinstance(message.content, str):
                    self.state["named"] = True
                    yield Found(self.session, name=title_of(message.content))
                    return
