"""Record messages in one transaction: redact, append under the session's row lock, hash, index."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ..actions import echo
from ..errors import Conflict, InvalidInput
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..providers import formats as providers_formats
from ..secrets import formats, redaction
from ..storage import sql as storage_sql
from ..storage.database import Row, Tx
from ..text import addresses, messages
from ..types import records, trust
from ..types.records import ROLES, Json, Message, Recorded, SafeText, ToolCall
from . import sql, steps_sessions
from .attachments import Attachments, detach
from .sql import NewSession as NewSession

_ORIGIN_OF_ROLE = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
    "tool": "tool",
}

_LONGEST_KEY = 500
"""Characters of a key: an index of PostgreSQL takes at most 2,700 bytes."""

Spans = tuple[tuple[int, int], ...]
"""Parts of a text, each from its first character to before its last."""


class Incoming(NamedTuple):
    """A message to record, with its origin if that does not follow from its role.

    `pasted` are the spans of its text that were not typed; they are stored with it. `find_pasted`
    finds them again after redaction has shortened the text.
    """

    message: Message
    origin: str = ""
    pasted: Spans = ()
    find_pasted: Callable[[Message], Spans] | None = None


class LikelySession(NamedTuple):
    """A session that most likely exists: its record is built only if it does not."""

    id: SafeText
    build: Callable[[], NewSession]


def build_session(id: str, name: str, **about: str) -> NewSession:
    """Build the record of a new session; its id is checked and the rest redacted."""
    known = {field: redaction.redact(value) for field, value in about.items()}
    return NewSession(check_session_id(id), redaction.redact(name), **known)


def check_session_id(id: str) -> SafeText:
    """Return the id of a session; raise an error for one that is no name or holds a secret."""
    return redaction.check_name(addresses.check_key(id), "session id")


def parse_incoming(
    message: Message | Mapping[str, Json] | str, role: str, origin: str, key: str, opener: str
) -> list[Incoming]:
    """Parse the messages in a caller's input: a message, a provider's record, or a text.

    A given origin can only lower the trust: never above that of the opener or of the role.
    """
    if isinstance(message, Message):
        found = [_check_message(message)]
    elif isinstance(message, str):
        if not message.strip():
            raise InvalidInput("the message is empty", where="message")
        found = [_check_message(Message(role, message))]
    else:
        found = providers_formats.from_wire(message)
    if origin and origin not in records.CALLER_ORIGINS:
        raise InvalidInput.choice("origin", origin, records.CALLER_ORIGINS)
    if key:
        found = [
            item._replace(key=f"{key}#{place}" if place else key)
            for place, item in enumerate(found)
        ]
    origins = [opener, origin] if origin else [opener]
    return [
        Incoming(item, trust.least_trusted([*origins, _ORIGIN_OF_ROLE[item.role], "user"]))
        for item in found
    ]


def _check_message(message: Message) -> Message:
    """Return the message; raise InvalidInput with the name of a wrong field."""
    if message.role not in ROLES:
        raise InvalidInput.choice("role", message.role, ROLES)
    content = message.content
    blocks = isinstance(content, tuple) and all(isinstance(item, Mapping) for item in content)
    if not isinstance(content, str) and not blocks:
        raise InvalidInput("content must be a text or a tuple of blocks", where="content")
    if not all(isinstance(call, ToolCall) for call in message.calls):
        raise InvalidInput("calls must be a tuple of ToolCall", where="calls")
    return message


def merge_recorded(done: Sequence[Recorded]) -> Recorded:
    """Merge the records of one call into one that spans all its messages."""
    first, last = done[0], done[-1]
    address = f"memory://session/{last.session}/messages/{first.seq}-{last.seq}"
    redacted = tuple(name for item in done for name in item.redacted)
    return Recorded(
        session=last.session,
        seq=last.seq,
        address=address,
        new=any(item.new for item in done),
        redacted=redacted,
    )


class PreparedMessage(NamedTuple):
    """A message ready to be appended: redacted, hashed, split into stems."""

    role: str
    body: SafeText
    at: int
    key: str
    origin: str
    digest: str
    words: index_steps.StemParts
    redacted: tuple[str, ...]
    part: echo.MessageTrace
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Mapping[str, Json] | None = None
    attachments: Attachments = ()
    unstemmed: tuple[str, ...] | None = None
    """Texts whose stems are not in `words` yet."""


def prepare(incoming: Incoming, now: int) -> PreparedMessage:
    """Do all work that needs no transaction, so that no lock is held while a text is redacted."""
    return prepare_many([incoming], now)[0]


def prepare_many(several: Sequence[Incoming], now: int, stem: bool = True) -> list[PreparedMessage]:
    """Prepare several messages in less time: their texts are searched for secrets together. Without
    `stem`, the caller has to make the stems of `unstemmed`."""
    parts = list(map(_detach, several))
    whole = [messages.body_from_message(incoming.message) for incoming, _ in parts]
    bodies = redaction.redact_json_many(whole)
    return [_finish(*part, body, now, stem) for part, body in zip(parts, bodies, strict=True)]


def _detach(incoming: Incoming) -> tuple[Incoming, Attachments]:
    message, attached = detach(incoming.message)
    if incoming.pasted:
        message = _mark_pasted(message, incoming.pasted)
    return incoming._replace(message=message), attached


def _finish(
    incoming: Incoming, attached: Attachments, body: redaction.Redacted, now: int, stem: bool
) -> PreparedMessage:
    message, origin, pasted, find_pasted = incoming
    clean = message
    if body.found or redaction.PRIVATE in body.text:
        clean = messages.message_from_body(json.loads(body.text))
        if pasted and find_pasted:
            # Redaction has shortened the text and moved the spans.
            clean = _mark_pasted(clean, find_pasted(clean))
            body = body._replace(text=redaction.redact_json(messages.body_from_message(clean)).text)
    texts = echo.find_indexed_texts(clean)
    return PreparedMessage(
        role=message.role,
        body=body.text,
        at=message.at or now,
        key=_make_safe_key(message.key),
        origin=origin or _ORIGIN_OF_ROLE[message.role],
        digest=messages.body_digest(body.text),
        words=index_steps.split_stems(*texts) if stem and texts is not None else (),
        redacted=(*body.found, *(name for one in attached for name in one.redacted)),
        part=echo.trace_message(clean),
        # Their arguments are in the body.
        calls=tuple([call._replace(arguments="") for call in clean.calls]),
        model=clean.model,
        usage=clean.usage,
        attachments=attached,
        unstemmed=None if stem else texts,
    )


def _mark_pasted(message: Message, pasted: Spans) -> Message:
    return message._replace(extra={**(message.extra or {}), "pasted": [list(s) for s in pasted]})


def _make_safe_key(key: str) -> str:
    """Return the key in storable characters; its hash if it is too long or holds a secret."""
    if not key.isascii():
        key = key.encode("utf-8", "replace").decode()
    if "\0" in key:
        key = key.replace("\0", "␀")
    if formats.id_pattern().fullmatch(key) or not key:
        return key
    kept = len(key) <= _LONGEST_KEY and redaction.is_safe(key)
    return key if kept and not redaction.holds_secret(key) else messages.body_digest(key)


IndexItem = tuple[index_sql.IndexEntry, index_steps.StemParts]
"""An entry of the index, and the stems to index it under."""


def record(
    tx: Tx,
    session: NewSession | LikelySession,
    prepared: Sequence[PreparedMessage],
    now: int,
    repeated: bool = False,
) -> list[Recorded]:
    """Append messages to a session, created if missing, and index them."""
    places, findable = append(tx, session, prepared, now, repeated)
    index_sql.insert_entries(tx, findable)
    return [
        Recorded(
            session=session.id,
            seq=seq,
            address=messages.range_address(session.id, seq, seq),
            new=new,
            redacted=item.redacted if new else (),
        )
        for item, (seq, new) in zip(prepared, places, strict=True)
    ]


def append(
    tx: Tx,
    session: NewSession | LikelySession,
    prepared: Sequence[PreparedMessage],
    now: int,
    repeated: bool = False,
) -> tuple[list[tuple[int, bool]], list[IndexItem]]:
    """Append messages to a session, created if missing; skip keys that are stored already.

    Return the number of each message and whether it is new, and the index entries to insert:
    inserting them once, at the end of the transaction, is fastest. With `repeated`, a known key
    must bring the same content; the record of a transcript may have changed since it was read.
    """
    held = sql.lock_session(tx, session.id)
    if held is None:
        sql.create(tx, session.build() if isinstance(session, LikelySession) else session, now)
        held = sql.lock_session(tx, session.id)
    assert held is not None
    seq, head = held
    keys = [item.key for item in prepared if item.key]
    # An empty session has no keys to look up.
    known = sql.seqs_by_key(tx, session.id, keys) if seq > 1 else {}
    id = session.id
    rows: list[Row] = []
    calls: list[tuple[ToolCall, int]] = []
    findable: list[IndexItem] = []
    places: list[tuple[int, bool]] = []
    new: list[PreparedMessage] = []
    echoes = make_echo_listener(tx, id, seq)
    for item in prepared:
        if item.key and item.key in known:
            if repeated:
                _check_same_content(tx, session.id, known[item.key], item)
            places.append((known[item.key], False))
            continue
        head = messages.chain_hash(head, seq, item.role, item.origin, item.at, item.digest)
        key, origin = item.key or None, item.origin
        rows.append(
            (id, seq, item.role, item.body, item.at, key, origin, origin, item.digest, head)
        )
        if item.calls:
            calls += [(call, seq) for call in item.calls]
        if not echoes.is_echo(item.part) and item.words:
            findable.append((entry_of(id, seq, item.role, origin, item.at), item.words))
        if item.key:
            known[item.key] = seq
        places.append((seq, True))
        new.append(item)
        seq += 1
    if rows:
        _claim_call_ids(tx, session.id, calls, now)
        sql.insert_messages(tx, rows)
        sql.save_session_head(tx, session.id, seq, head, now)
        if attached := [one for item in new for one in item.attachments]:
            sql.keep_attachments(tx, attached, now)
        steps_sessions.add_usage(tx, session.id, [item.usage for item in new])
    return places, findable


def make_echo_listener(tx: Tx, session: str, seq: int) -> echo.EchoDetector:
    """Return a detector of echoes of our own output, for messages from a number on."""
    return echo.EchoDetector(
        lambda call: _is_own_call(tx, session, call), lambda: _answers_own_command(tx, session, seq)
    )


def _is_own_call(tx: Tx, session: str, call: str) -> bool:
    """Check whether an archived call is one of our own tools."""
    address = storage_sql.find_write(tx, f"call {session} {call}")
    row = sql.message(tx, session, addresses.parse_address(address).first) if address else None
    return row is not None and (call, True) in echo_part(row).calls


def _answers_own_command(tx: Tx, session: str, seq: int) -> bool:
    """Check whether a message is output of a typed command of ours."""
    if seq < 2:
        return False
    typed = sql.last_message_by(tx, session, "user", seq - echo.ECHO_DISTANCE, seq - 1)
    if typed is None or not echo_part(typed).command:
        return False
    rows = sql.messages(tx, session, typed.seq, seq - 1)
    return echo.awaits_own_answer([echo_part(row) for row in rows])


def echo_part(row: sql.MessageRow) -> echo.MessageTrace:
    """Return the traces of our own calls and commands in an archived message."""
    return echo.trace_message(messages.message_from_body(json.loads(row.body)))


def _check_same_content(tx: Tx, session: str, seq: int, item: PreparedMessage) -> None:
    there = sql.message(tx, session, seq)
    if there is not None and there.digest != item.digest:
        raise Conflict(
            "this key was used for another message; nothing was recorded",
            where=messages.range_address(session, seq, seq),
            hint="Use a new key for a new message.",
        )


def _claim_call_ids(tx: Tx, session: str, calls: Sequence[tuple[ToolCall, int]], now: int) -> None:
    """Register call ids, which are unique in a session; raise on a duplicate.

    They are looked up by key, so the cost does not grow with the session.
    """
    made: dict[str, str] = {}
    for call, seq in calls:
        key = f"call {session} {call.id}"
        if key in made:
            raise messages.duplicate_call_error(call)
        made[key] = messages.range_address(session, seq, seq)
    used = storage_sql.record_writes(tx, "record", made, now) if made else None
    if used is not None:
        raise messages.duplicate_call_error(
            next(call for call, _ in calls if used == f"call {session} {call.id}")
        )


def entry_of(session: str, seq: int, role: str, label: str, at: int) -> index_sql.IndexEntry:
    """Return the index entry of a message."""
    return index_sql.IndexEntry(
        source="message",
        ref=session,
        kind=role,
        layer="session",
        owner=session,
        status="active",
        label=label,
        seq=seq,
        at=at,
    )
