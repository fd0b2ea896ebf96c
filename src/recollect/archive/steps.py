"""Record messages: scrub, append under the session's counter, chain, index. One transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..actions import echo
from ..errors import Conflict, InvalidInput
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..providers import formats as providers_formats
from ..providers import usage as providers_usage
from ..secrets import formats, names, redaction
from ..storage import sql as storage_sql
from ..storage.database import Row, Tx
from ..text import addresses, digests, messages
from ..types import trust
from ..types.records import ORIGINS, ROLES, Json, Message, Recorded, SafeText, Stored, ToolCall
from . import sql
from .sql import NewSession as NewSession

_ORIGIN_OF_ROLE = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
    "tool": "tool",
}
_LONGEST_KEY = 500
"""PostgreSQL refuses some of more than 2,700 bytes."""

_PATHS = ORIGINS[1:]
"""Nobody outside speaks for the system."""


class Incoming(NamedTuple):
    """A message at the door, and the path it came in on when that is not clear from its role.

    `pasted` are the spans of its words that nobody typed: the archive keeps them with it."""

    message: Message
    origin: str = ""
    pasted: tuple[tuple[int, int], ...] = ()


def new_session(id: str, name: str, **about: str) -> NewSession:
    """What is known of a session when its first message arrives."""
    known = {field: redaction.safe(value) for field, value in about.items()}
    return NewSession(
        names.checked_name(addresses.check_key(id), "session id"), redaction.safe(name), **known
    )


def incoming(
    message: Message | Mapping[str, Json] | str, role: str, origin: str, key: str, opener: str
) -> list[Incoming]:
    """The messages in what a caller gave: a message, a provider's record, or a text.

    What is said of their origin can only make them less trusted than whoever opened the memory,
    and than what speaks in their role."""
    if isinstance(message, Message):
        found = [_checked(message)]
    elif isinstance(message, str):
        found = [_from_text(message, role)]
    else:
        found = providers_formats.from_wire(message)
    if origin and origin not in _PATHS:
        raise InvalidInput(
            f"{origin!r} is not an origin", where="origin", hint=f"one of: {', '.join(_PATHS)}"
        )
    if key:
        found = [
            item._replace(key=f"{key}#{place}" if place else key)
            for place, item in enumerate(found)
        ]
    paths = [opener, origin] if origin else [opener]
    return [
        Incoming(item, trust.least([*paths, _ORIGIN_OF_ROLE[item.role], "user"])) for item in found
    ]


def _from_text(text: str, role: str) -> Message:
    if not text.strip():
        raise InvalidInput("the message is empty", where="message")
    return _checked(Message(role, text))


def _checked(message: Message) -> Message:
    """The message, or the error that says which of its fields is wrong."""
    if message.role not in ROLES:
        raise InvalidInput(
            f"{message.role!r} is not a role", where="role", hint=f"one of: {', '.join(ROLES)}"
        )
    content = message.content
    blocks = isinstance(content, tuple) and all(isinstance(item, Mapping) for item in content)
    if not isinstance(content, str) and not blocks:
        raise InvalidInput("content must be a text or a tuple of blocks", where="content")
    if not all(isinstance(call, ToolCall) for call in message.calls):
        raise InvalidInput("calls must be a tuple of ToolCall", where="calls")
    return message


def together(done: Sequence[Recorded]) -> Recorded:
    """What was recorded in one call, as one span."""
    first, last = done[0], done[-1]
    address = f"memory://session/{last.session}/messages/{first.seq}-{last.seq}"
    redacted = tuple(name for item in done for name in item.redacted)
    return Recorded(last.session, last.seq, address, any(item.new for item in done), redacted)


class Prepared(NamedTuple):
    """A message that is ready to be appended: scrubbed, digested, its words taken out."""

    role: str
    body: SafeText
    at: int
    key: str
    origin: str
    digest: str
    words: index_steps.Words
    redacted: tuple[str, ...]
    part: echo.Part
    calls: tuple[ToolCall, ...] = ()
    model: str = ""
    usage: Mapping[str, Json] | None = None


def prepare(incoming: Incoming, now: int) -> Prepared:
    """All the work that needs no transaction: nobody waits while a long text is scrubbed."""
    message, origin, pasted = incoming
    if pasted:
        message = _marked(message, pasted)
    body = redaction.scrub_json(messages.body_of(message))
    clean = message
    if body.found or redaction.PRIVATE in body.text:
        clean = messages.message_from_body(json.loads(body.text))
        if pasted:
            # Without a secret the text is shorter: the spans lie elsewhere.
            from ..capture import sentences

            clean = _marked(clean, sentences.untyped(clean))
            body = body._replace(text=redaction.scrub_json(messages.body_of(clean)).text)
    return Prepared(
        message.role,
        body.text,
        message.at or now,
        _safe_key(message.key),
        origin or _ORIGIN_OF_ROLE[message.role],
        digests.digest(body.text),
        words_of(clean),
        body.found,
        echo.part_of(clean),
        clean.calls,
        clean.model,
        clean.usage,
    )


def words_of(message: Message) -> index_steps.Words:
    """What a message is found by; nothing, if all it does is to ask us."""
    left = echo.without_own_calls(message)
    texts = messages.texts_of(left)
    return () if left is not message and not texts else index_steps.words_of(*texts)


def _marked(message: Message, pasted: Sequence[tuple[int, int]]) -> Message:
    return message._replace(extra={**(message.extra or {}), "pasted": [list(s) for s in pasted]})


def _safe_key(key: str) -> str:
    """The key as it is kept: in characters that can be, and its hash when it holds a secret or is
    longer than an index takes."""
    if not key.isascii():
        key = key.encode("utf-8", "replace").decode()
    if "\0" in key:
        key = key.replace("\0", "␀")
    if formats.ids().fullmatch(key) or not key:
        return key
    kept = len(key) <= _LONGEST_KEY and redaction.is_safe(key)
    return key if kept and not names.holds_secret(key) else digests.digest(key)


Findable = tuple[index_sql.Entry, index_steps.Words]
"""What is to be indexed, and the words that it is found by."""


def record(
    tx: Tx, session: NewSession, prepared: Sequence[Prepared], now: int, repeated: bool = False
) -> list[Recorded]:
    """Append messages to a session, made if need be, and make them findable."""
    places, findable = append(tx, session, prepared, now, repeated)
    index_sql.put_all(tx, findable)
    return [
        Recorded(
            session.id,
            seq,
            messages.address_of(session.id, seq, seq),
            new,
            item.redacted if new else (),
        )
        for item, (seq, new) in zip(prepared, places, strict=True)
    ]


def append(
    tx: Tx, session: NewSession, prepared: Sequence[Prepared], now: int, repeated: bool = False
) -> tuple[list[tuple[int, bool]], list[Findable]]:
    """Append messages to a session, made if need be; keys seen before are not kept twice. Gives
    the number of each and whether it is new. They are still to be indexed: that is quickest once
    for all sessions of a transaction, at its end.

    `repeated`: a key says that this is the same call again, so it must bring the same content; in
    a transcript a record may have changed since it was read."""
    held = sql.hold(tx, session.id)
    if held is None:
        sql.create(tx, session, now)
        held = sql.hold(tx, session.id)
    assert held is not None
    seq, head = held
    keys = [item.key for item in prepared if item.key]
    # In a session without messages there is nothing to be found.
    known = sql.seqs_by_key(tx, session.id, keys) if seq > 1 else {}
    id = session.id
    rows: list[Row] = []
    calls: list[tuple[ToolCall, int]] = []
    findable: list[Findable] = []
    places: list[tuple[int, bool]] = []
    new: list[Prepared] = []
    heard = listener(tx, id, seq)
    for item in prepared:
        if item.key and item.key in known:
            if repeated:
                _same(tx, session.id, known[item.key], item)
            places.append((known[item.key], False))
            continue
        head = digests.chain(head, seq, item.role, item.origin, item.at, item.digest)
        key, origin = item.key or None, item.origin
        rows.append(
            (id, seq, item.role, item.body, item.at, key, origin, origin, item.digest, head)
        )
        if item.calls:
            calls += [(call, seq) for call in item.calls]
        if not heard.is_echo(item.part) and item.words:
            findable.append((entry_of(id, seq, item.role, origin, item.at), item.words))
        if item.key:
            known[item.key] = seq
        places.append((seq, True))
        new.append(item)
        seq += 1
    if rows:
        _claim(tx, session.id, calls, now)
        sql.insert_messages(tx, rows)
        sql.advance(tx, session.id, seq, head, now)
        _add_usage(tx, session.id, new)
    return places, findable


def listener(tx: Tx, session: str, seq: int) -> echo.Listener:
    """Who tells which messages of a session are echoes, from a number on."""
    return echo.Listener(lambda call: _asks_us(tx, session, call), lambda: _asked(tx, session, seq))


def _asks_us(tx: Tx, session: str, call: str) -> bool:
    """Whether a call that is in the archive asks us."""
    address = storage_sql.written(tx, f"call {session} {call}")
    row = sql.message(tx, session, addresses.parse(address).first) if address else None
    return row is not None and (call, True) in part_of(row).calls


def _asked(tx: Tx, session: str, seq: int) -> bool:
    """Whether a message is within what a command of ours printed."""
    typed = sql.last_by(tx, session, "user", seq - echo.NEAR, seq - 1) if seq > 1 else None
    if typed is None or not part_of(typed).command:
        return False
    rows = sql.messages(tx, session, typed.seq, seq - 1)
    return echo.was_asked([part_of(row) for row in rows])


def part_of(row: sql.MessageRow) -> echo.Part:
    """What a message of the archive has to do with us."""
    return echo.part_of(messages.message_from_body(json.loads(row.body)))


def _same(tx: Tx, session: str, seq: int, item: Prepared) -> None:
    there = sql.message(tx, session, seq)
    if there is not None and there.digest != item.digest:
        raise Conflict(
            "this key was used for another message; nothing was recorded",
            where=messages.address_of(session, seq, seq),
            hint="Take a new key for a new message.",
        )


def _claim(tx: Tx, session: str, calls: Sequence[tuple[ToolCall, int]], now: int) -> None:
    """A call id names one call of a session; found by its key, however long the session is."""
    made: dict[str, str] = {}
    for call, seq in calls:
        key = f"call {session} {call.id}"
        if key in made:
            raise messages.duplicate_call(call)
        made[key] = messages.address_of(session, seq, seq)
    used = storage_sql.note_writes(tx, "record", made, now) if made else None
    if used is not None:
        raise messages.duplicate_call(
            next(call for call, _ in calls if used == f"call {session} {call.id}")
        )


def _add_usage(tx: Tx, session: str, new: Sequence[Prepared]) -> None:
    costs = [
        cost for item in new if item.usage and any(cost := providers_usage.usage_of(item.usage))
    ]
    if costs:
        spent = providers_usage.Usage(*map(sum, zip(*costs, strict=True)))
        total = providers_usage.added(sql.usage(tx, session), spent)
        sql.set_usage(tx, session, redaction.scrub_json(total._asdict()).text)


def entry_of(session: str, seq: int, role: str, label: str, at: int) -> index_sql.Entry:
    return index_sql.Entry("message", session, role, "session", session, "active", label, seq, at)


def stored(row: sql.MessageRow) -> Stored:
    """The message of an archive row."""
    message = messages.message_from_body(json.loads(row.body))
    message = message._replace(at=row.at, key=row.key or "")
    return Stored(row.session, row.seq, message, row.origin, row.digest, row.hash)
