"""Export a session: read it page by page, render it, hand it on piece by piece."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from ..errors import InvalidInput
from ..providers import formats
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..text import addresses
from ..text import messages as text_messages
from ..types.records import Json, Message, Recorded, Session, Stored
from . import export_formats, sql, steps, steps_sessions
from .steps import stored_message

_AT_ONCE = 200

FORMS: dict[str, Callable[[Session, Iterable[Stored]], Iterator[str]]] = {
    "html": export_formats.render_html,
    "md": export_formats.render_markdown,
    "jsonl": export_formats.render_jsonl,
}

_OTHER_ENDINGS = {"htm": "html", "markdown": "md", "json": "jsonl", "ndjson": "jsonl"}


class ExportedSession(NamedTuple):
    """Where a session was written."""

    session: str
    path: str
    form: str
    messages: int
    bytes: int


def choose_form(path: str, form: str) -> str:
    """The form that is asked for by name, or by the ending of the path."""
    asked = form or path.rpartition(".")[2].lower()
    asked = _OTHER_ENDINGS.get(asked, asked)
    if asked not in FORMS:
        raise InvalidInput(
            f"{form!r} is not a form" if form else "the path's ending names no form",
            where=form or path,
            hint=f"one of: {', '.join(FORMS)}",
        )
    return asked


def export_session(tx: Tx, name: str, form: str, write: Callable[[str], object]) -> Session:
    """Write a session in a form; it is never in memory as a whole."""
    session = steps_sessions.get_session(tx, name)
    for piece in FORMS[form](session, _messages(tx, session)):
        write(piece)
    return session


def _messages(tx: Tx, session: Session) -> Iterator[Stored]:
    for first in range(1, session.messages + 1, _AT_ONCE):
        for row in sql.messages(tx, session.id, first, first + _AT_ONCE - 1):
            yield stored_message(row)


BATCH = 500


class FileProgress(NamedTuple):
    """How far a file was read, of so many bytes, and how many messages were new."""

    path: str
    done: int
    total: int
    messages: int


class ImportedFile(NamedTuple):
    """What a file brought: new messages, and those that were there already."""

    path: str
    sessions: tuple[str, ...]
    messages: int
    known: int


class _Part(NamedTuple):
    """Messages of one conversation, from `place` on, and how much of the file was read."""

    conversation: int
    place: int
    found: list[Message]
    done: int


Report = Callable[[Any], object] | None


def import_messages(
    space: Database,
    path: str,
    about: Callable[[str], steps.NewSession],
    session: str,
    provider: str,
    now: int,
    tell: Report = None,
) -> ImportedFile:
    """Bring a file's conversations into the archive."""
    conversations = {part.conversation for part in _parts(path, provider)}
    total = os.path.getsize(path)
    name = session or session_id_of(path)
    new = known = 0
    made: dict[int, str] = {}
    for part in _parts(path, provider):
        id = name if len(conversations) == 1 else f"{name}-{part.conversation + 1}"
        made[part.conversation] = id
        ready = [
            steps.prepare(steps.Incoming(_keyed(message, part.place + at), "import"), now)
            for at, message in enumerate(part.found)
        ]
        done = _keep(space, about(id), ready, now)
        new += sum(item.new for item in done)
        known += sum(not item.new for item in done)
        if tell:
            tell(FileProgress(path, part.done, total, new))
    return ImportedFile(path, tuple(made.values()), new, known)


def _keep(
    space: Database, session: steps.NewSession, ready: Sequence[steps.PreparedMessage], now: int
) -> list[Recorded]:
    return space.write(lambda tx: steps.record(tx, session, ready, now))


def session_id_of(path: str) -> str:
    """The session's id when none is given: the file's name, as far as it can be one."""
    stem = os.path.basename(path).partition(".")[0]
    try:
        return addresses.slugify(stem)
    except InvalidInput:
        return "imported"


def _keyed(message: Message, place: int) -> Message:
    body = json.dumps(text_messages.body_from_message(message), sort_keys=True, ensure_ascii=True)
    return message._replace(key=f"list:{place}:{text_messages.body_digest(body)[:16]}")


# ---------------------------------------------------------------- what is in a file


def _parts(path: str, provider: str) -> Iterator[_Part]:
    try:
        with open(path, "rb") as file:
            first = file.readline()
            if _is_line(first):
                yield from _of_lines(path, provider)
            else:
                yield _whole(path, first + file.read(), provider)
    except OSError as error:
        raise InvalidInput(f"the file cannot be read: {error.strerror}", where=path) from error


def _is_line(line: bytes) -> bool:
    """Whether a first line is JSON by itself, and not the beginning of a longer text."""
    try:
        return isinstance(json.loads(line), dict)
    except (ValueError, RecursionError):
        return False


def _whole(path: str, raw: bytes, provider: str) -> _Part:
    try:
        value = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the file is neither JSON nor JSON lines: {error}",
            where=path,
            hint="Nothing was taken over.",
        ) from None
    return _Part(0, 0, _understood(path, value, provider), len(raw))


def _of_lines(path: str, provider: str) -> Iterator[_Part]:
    """Lines of messages are one conversation, read in portions; a line with `messages` is one
    by itself."""
    held: list[Json] = []
    conversation = place = done = number = begun = 0
    with open(path, "rb") as file:
        for number, line in enumerate(file, start=1):
            done += len(line)
            value = _value(path, number, line)
            if value is None:
                continue
            if "messages" in value and "role" not in value:
                where = f"{path}, line {number}"
                yield _Part(conversation, 0, _understood(where, value, provider), done)
                conversation += 1
                continue
            held.append(value)
            begun = begun or number
            if len(held) == BATCH:
                found = _understood(f"{path}, from line {begun}", held, provider)
                yield _Part(conversation, place, found, done)
                place, held, begun = place + len(found), [], 0
    if held:
        found = _understood(f"{path}, from line {begun}", held, provider)
        yield _Part(conversation, place, found, done)


def _value(path: str, number: int, line: bytes) -> dict[str, Json] | None:
    """The record of a line; None for an empty line and for the first line of our own export."""
    if not line.strip():
        return None
    try:
        value = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise InvalidInput(
            f"the line is not JSON: {error}",
            where=f"{path}, line {number}",
            hint="Nothing was taken over.",
        ) from None
    if not isinstance(value, dict):
        raise InvalidInput("the line is not a JSON object", where=f"{path}, line {number}")
    return None if value.get("recollect") == "session" else value


def _understood(where: str, value: Json, provider: str) -> list[Message]:
    records = value if isinstance(value, list) else [value]
    try:
        if records and all(map(_ours, records)):
            return [_exported(item) for item in records]
        return formats.from_wire(value, provider)
    except InvalidInput as error:
        raise InvalidInput(
            error.message, where=f"{where}: {error.where}", hint=error.hint
        ) from None


def _ours(item: Json) -> bool:
    return isinstance(item, Mapping) and {"seq", "role", "digest", "hash"} <= item.keys()


def _exported(item: Mapping[str, Json]) -> Message:
    """A message of our own export; its digest proves that it is one."""
    place = ("seq", "at", "origin", "digest", "hash")
    body = {name: value for name, value in item.items() if name not in place}
    if text_messages.body_digest(redaction.redact_json(body).text) != item["digest"]:
        raise InvalidInput(
            f"message {item['seq']} was changed after it was exported",
            where=str(item["seq"]),
            hint="Nothing was taken over. Export it again, or take its seq and hashes away.",
        )
    return text_messages.message_from_body(body)._replace(at=_microseconds(str(item["at"])))


def _microseconds(text: str) -> int:
    from datetime import UTC, datetime, timedelta

    try:
        return (datetime.fromisoformat(text) - datetime(1970, 1, 1, tzinfo=UTC)) // timedelta(
            microseconds=1
        )
    except (ValueError, TypeError):
        return 0
