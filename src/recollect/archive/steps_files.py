"""Export a session to a file, and import messages from one.

An import file is JSON (a list of messages, a request or a response) or JSON lines (one message, or
one conversation under `messages`, a line), in the format of OpenAI, Anthropic or our own export.
The whole file is parsed before anything is stored. Each message has a key made of its position and
content, so importing the same or a longer file again adds only what is new.
"""

from __future__ import annotations

import json
import os
from base64 import b64decode
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from hashlib import sha256
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..providers import formats
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..text import addresses
from ..text import messages as text_messages
from ..types.records import Json, Message, Session, Stored
from . import attachments, export_formats, sql, steps, steps_sessions
from .steps_sessions import stored_message

_EXPORT_PAGE = 200

FORMS: dict[str, Callable[[Session, Iterable[Stored]], Iterator[str]]] = {
    "html": export_formats.render_html,
    "md": export_formats.render_markdown,
    "jsonl": export_formats.render_jsonl,
}

_OTHER_EXTENSIONS = {"htm": "html", "markdown": "md", "json": "jsonl", "ndjson": "jsonl"}


class ExportedSession(NamedTuple):
    """The file that a session was exported to."""

    session: str
    path: str
    form: str
    messages: int
    bytes: int


def choose_form(path: str, form: str) -> str:
    """Return the export format by its name, or by the extension of the path."""
    asked = form or path.rpartition(".")[2].lower()
    asked = _OTHER_EXTENSIONS.get(asked, asked)
    if asked not in FORMS:
        raise InvalidInput(
            f"{form!r} is not a format" if form else "the file extension is not a known format",
            where=form or path,
            hint=f"one of: {', '.join(FORMS)}",
        )
    return asked


def export_session(tx: Tx, name: str, form: str, write: Callable[[str], object]) -> Session:
    """Write a session piece by piece: it is never in memory as a whole."""
    session = steps_sessions.get_session(tx, name)
    render = FORMS[form]
    if form == "jsonl":
        render = partial(
            export_formats.render_jsonl, load=lambda names: sql.load_attachments(tx, names)
        )
    for piece in render(session, _read_messages(tx, session)):
        write(piece)
    return session


def _read_messages(tx: Tx, session: Session) -> Iterator[Stored]:
    for first in range(1, session.messages + 1, _EXPORT_PAGE):
        for row in sql.messages(tx, session.id, first, first + _EXPORT_PAGE - 1):
            yield stored_message(row)


# ---------------------------------------------------------------- import

BATCH = 500
"""Messages in one transaction."""


class FileProgress(NamedTuple):
    """Progress of an import: bytes done, bytes in total, and new messages."""

    path: str
    done: int
    total: int
    messages: int


class ImportedFile(NamedTuple):
    """Result of an import: the sessions, new messages, and those known already."""

    path: str
    sessions: tuple[str, ...]
    messages: int
    known: int


class _Part(NamedTuple):
    """Messages of one conversation, from position `place` on, and the bytes read so far."""

    conversation: int
    place: int
    found: list[Message]
    done: int


Report = Callable[[Any], object] | None
"""Is called with the progress."""


def import_messages(
    space: Database,
    path: str,
    about: Callable[[str], steps.NewSession],
    session: str,
    provider: str,
    now: int,
    report: Report = None,
) -> ImportedFile:
    """Import the conversations of a file into the archive."""
    conversations = {part.conversation for part in _read_parts(path, provider)}
    total = os.path.getsize(path)
    name = session or session_id_of(path)
    new = known = 0
    made: dict[int, str] = {}
    for part in _read_parts(path, provider):
        id = name if len(conversations) == 1 else f"{name}-{part.conversation + 1}"
        made[part.conversation] = id
        ready = [
            steps.prepare(steps.Incoming(_add_key(message, part.place + at), "import"), now)
            for at, message in enumerate(part.found)
        ]
        done = space.write(partial(steps.record, session=about(id), prepared=ready, now=now))
        new += sum(item.new for item in done)
        known += sum(not item.new for item in done)
        if report:
            report(FileProgress(path, part.done, total, new))
    return ImportedFile(path, tuple(made.values()), new, known)


def session_id_of(path: str) -> str:
    """Return a session id made from the name of a file."""
    stem = os.path.basename(path).partition(".")[0]
    try:
        return addresses.slugify(stem)
    except InvalidInput:
        return "imported"


def _add_key(message: Message, place: int) -> Message:
    body = json.dumps(text_messages.body_from_message(message), sort_keys=True, ensure_ascii=True)
    return message._replace(key=f"list:{place}:{text_messages.body_digest(body)[:16]}")


# ---------------------------------------------------------------- parse a file


def _read_parts(path: str, provider: str) -> Iterator[_Part]:
    try:
        with open(path, "rb") as file:
            first = file.readline()
            if _is_json_line(first):
                yield from _parse_lines(path, provider)
            else:
                yield _parse_whole(path, first + file.read(), provider)
    except OSError as error:
        raise InvalidInput(f"the file cannot be read: {error.strerror}", where=path) from error


def _is_json_line(line: bytes) -> bool:
    """Check whether a first line is a complete JSON object."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _parse_whole(path: str, raw: bytes, provider: str) -> _Part:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the file is neither JSON nor JSON lines: {error}",
            where=path,
            hint="Nothing was imported.",
        ) from None
    return _Part(0, 0, _parse_messages(path, value, provider), len(raw))


def _parse_lines(path: str, provider: str) -> Iterator[_Part]:
    """Parse JSON lines: lines of messages form one conversation, read in batches; a line with
    `messages` is a conversation of its own."""
    batch: list[Json] = []
    conversation = place = done = number = begun = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            done += len(line)
            value = _parse_line(path, number, line)
            if value is None:
                continue
            if "messages" in value and "role" not in value:
                where = f"{path}, line {number}"
                yield _Part(conversation, 0, _parse_messages(where, value, provider), done)
                conversation += 1
                continue
            batch.append(value)
            begun = begun or number
            if len(batch) == BATCH:
                found = _parse_messages(f"{path}, from line {begun}", batch, provider)
                yield _Part(conversation, place, found, done)
                place, batch, begun = place + len(found), [], 0
    if batch:
        found = _parse_messages(f"{path}, from line {begun}", batch, provider)
        yield _Part(conversation, place, found, done)


def _parse_line(path: str, number: int, line: bytes) -> dict[str, Json] | None:
    """Parse a line; None for an empty line and for the header of our own export."""
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the line is not JSON: {error}",
            where=f"{path}, line {number}",
            hint="Nothing was imported.",
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput("the line is not a JSON object", where=f"{path}, line {number}")
    return None if value.get("recollect") == "session" else value


def _parse_messages(where: str, value: Json, provider: str) -> list[Message]:
    records = value if isinstance(value, list) else [value]
    try:
        if records and all(map(_is_exported, records)):
            return [_parse_exported(item) for item in records]
        return formats.from_wire(value, provider)
    except InvalidInput as error:
        raise InvalidInput(
            error.message, where=f"{where}: {error.where}", hint=error.hint
        ) from None


def _is_exported(item: Json) -> bool:
    return isinstance(item, Mapping) and {"seq", "role", "digest", "hash"} <= item.keys()


def _parse_exported(item: Mapping[str, Json]) -> Message:
    """Parse a message of our own export; check its digest."""
    place = ("seq", "at", "origin", "digest", "hash", "attachments")
    body = {name: value for name, value in item.items() if name not in place}
    if text_messages.body_digest(redaction.redact_json(body).text) != item["digest"]:
        raise InvalidInput(
            f"message {item['seq']} was changed after it was exported",
            where=str(item["seq"]),
            hint="Nothing was imported. Export it again, or remove its seq, digest and hash.",
        )
    message = text_messages.message_from_body(body)._replace(at=_microseconds(str(item["at"])))
    return attachments.attach(message, _read_attachments(item))


def _read_attachments(item: Mapping[str, Json]) -> dict[str, bytes]:
    """Return the bytes of the attachments of an exported message; check their hashes."""
    found: dict[str, bytes] = {}
    given = item.get("attachments", {})
    for name, text in given.items() if isinstance(given, dict) else ():
        try:
            found[name] = b64decode(str(text), validate=True)
        except ValueError:
            found[name] = b""
        if sha256(found[name]).hexdigest() != name:
            raise InvalidInput(
                f"an attachment of message {item['seq']} was changed after it was exported",
                where=str(item["seq"]),
                hint="Nothing was imported. Export it again, or remove its attachments.",
            )
    return found


def _microseconds(text: str) -> int:
    from datetime import UTC, datetime, timedelta

    try:
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            microseconds=1
        )
    except (ValueError, TypeError):
        return 0
