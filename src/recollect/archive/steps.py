"""Record messages: scrub, append under the session's counter, chain, index. One transaction."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from .. import context
from ..actions import echo
from ..errors import Conflict, InvalidInput
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..providers import formats as providers_formats
from ..secrets import formats, redaction
from ..storage import sql as storage_sql
from ..storage.database import Row, Tx
from ..text import addresses, messages, tokens
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


def build_session(id: str, name: str, **about: str) -> NewSession:
    """What is known of a session when its first message arrives."""
    known = {field: redaction.redact(value) for field, value in about.items()}
    return NewSession(
        redaction.check_name(addresses.check_key(id), "session id"), redaction.redact(name), **known
    )


def parse_incoming(
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
        Incoming(item, trust.least_trusted([*paths, _ORIGIN_OF_ROLE[item.role], "user"]))
        for item in found
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


def merge_recorded(done: Sequence[Recorded]) -> Recorded:
    """What was recorded in one call, as one span."""
    first, last = done[0], done[-1]
    address = f"memory://session/{last.session}/messages/{first.seq}-{last.seq}"
    redacted = tuple(name for item in done for name in item.redacted)
    return Recorded(last.session, last.seq, address, any(item.new for item in done), redacted)


class PreparedMessage(NamedTuple):
    """A message that is ready to be appended: scrubbed, digested, its words taken out."""

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


def prepare(incoming: Incoming, now: int) -> PreparedMessage:
    """All the work that needs no transaction: nobody waits while a long text is scrubbed."""
    message, origin, pasted = incoming
    if pasted:
        message = _marked(message, pasted)
    body = redaction.redact_json(messages.body_from_message(message))
    clean = message
    if body.found or redaction.PRIVATE in body.text:
        clean = messages.message_from_body(json.loads(body.text))
        if pasted:
            # Without a secret the text is shorter: the spans lie elsewhere.
            from ..capture import sentences

            clean = _marked(clean, sentences.untyped(clean))
            body = body._replace(text=redaction.redact_json(messages.body_from_message(clean)).text)
    return PreparedMessage(
        message.role,
        body.text,
        message.at or now,
        _safe_key(message.key),
        origin or _ORIGIN_OF_ROLE[message.role],
        messages.body_digest(body.text),
        index_words(clean),
        body.found,
        echo.trace_message(clean),
        clean.calls,
        clean.model,
        clean.usage,
    )


def index_words(message: Message) -> index_steps.StemParts:
    """What a message is found by; nothing, if all it does is to ask us."""
    left = echo.strip_own_calls(message)
    texts = messages.searchable_parts(left)
    return () if left is not message and not texts else index_steps.split_stems(*texts)


def _marked(message: Message, pasted: Sequence[tuple[int, int]]) -> Message:
    return message._replace(extra={**(message.extra or {}), "pasted": [list(s) for s in pasted]})


def _safe_key(key: str) -> str:
    """The key as it is kept: in characters that can be, and its hash when it holds a secret or is
    longer than an index takes."""
    if not key.isascii():
        key = key.encode("utf-8", "replace").decode()
    if "\0" in key:
        key = key.replace("\0", "␀")
    if formats.id_pattern().fullmatch(key) or not key:
        return key
    kept = len(key) <= _LONGEST_KEY and redaction.is_safe(key)
    return key if kept and not redaction.holds_secret(key) else messages.body_digest(key)


IndexItem = tuple[index_sql.IndexEntry, index_steps.StemParts]

"""What is to be indexed, and the words that it is found by."""


def record(
    tx: Tx,
    session: NewSession,
    prepared: Sequence[PreparedMessage],
    now: int,
    repeated: bool = False,
) -> list[Recorded]:
    """Append messages to a session, made if need be, and make them findable."""
    places, findable = append(tx, session, prepared, now, repeated)
    index_sql.insert_entries(tx, findable)
    return [
        Recorded(
            session.id,
            seq,
            messages.range_address(session.id, seq, seq),
            new,
            item.redacted if new else (),
        )
        for item, (seq, new) in zip(prepared, places, strict=True)
    ]


def append(
    tx: Tx,
    session: NewSession,
    prepared: Sequence[PreparedMessage],
    now: int,
    repeated: bool = False,
) -> tuple[list[tuple[int, bool]], list[IndexItem]]:
    """Append messages to a session, made if need be; keys seen before are not kept twice. Gives
    the number of each and whether it is new. They are still to be indexed: that is quickest once
    for all sessions of a transaction, at its end.

    `repeated`: a key says that this is the same call again, so it must bring the same content; in
    a transcript a record may have changed since it was read."""
    held = sql.lock_session(tx, session.id)
    if held is None:
        sql.create(tx, session, now)
        held = sql.lock_session(tx, session.id)
    assert held is not None
    seq, head = held
    keys = [item.key for item in prepared if item.key]
    # In a session without messages there is nothing to be found.
    known = sql.seqs_by_key(tx, session.id, keys) if seq > 1 else {}
    id = session.id
    rows: list[Row] = []
    calls: list[tuple[ToolCall, int]] = []
    findable: list[IndexItem] = []
    places: list[tuple[int, bool]] = []
    new: list[PreparedMessage] = []
    heard = make_echo_listener(tx, id, seq)
    for item in prepared:
        if item.key and item.key in known:
            if repeated:
                _same(tx, session.id, known[item.key], item)
            places.append((known[item.key], False))
            continue
        head = messages.chain_hash(head, seq, item.role, item.origin, item.at, item.digest)
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


def make_echo_listener(tx: Tx, session: str, seq: int) -> echo.EchoDetector:
    """Who tells which messages of a session are echoes, from a number on."""
    return echo.EchoDetector(
        lambda call: _asks_us(tx, session, call), lambda: _asked(tx, session, seq)
    )


def _asks_us(tx: Tx, session: str, call: str) -> bool:
    """Whether a call that is in the archive asks us."""
    address = storage_sql.find_write(tx, f"call {session} {call}")
    row = sql.message(tx, session, addresses.parse_address(address).first) if address else None
    return row is not None and (call, True) in echo_part(row).calls


def _asked(tx: Tx, session: str, seq: int) -> bool:
    """Whether a message is within what a command of ours printed."""
    typed = (
        sql.last_message_by(tx, session, "user", seq - echo.ECHO_DISTANCE, seq - 1)
        if seq > 1
        else None
    )
    if typed is None or not echo_part(typed).command:
        return False
    rows = sql.messages(tx, session, typed.seq, seq - 1)
    return echo.awaits_own_answer([echo_part(row) for row in rows])


def echo_part(row: sql.MessageRow) -> echo.MessageTrace:
    """What a message of the archive has to do with us."""
    return echo.trace_message(messages.message_from_body(json.loads(row.body)))


def _same(tx: Tx, session: str, seq: int, item: PreparedMessage) -> None:
    there = sql.message(tx, session, seq)
    if there is not None and there.digest != item.digest:
        raise Conflict(
            "this key was used for another message; nothing was recorded",
            where=messages.range_address(session, seq, seq),
            hint="Take a new key for a new message.",
        )


def _claim(tx: Tx, session: str, calls: Sequence[tuple[ToolCall, int]], now: int) -> None:
    """A call id names one call of a session; found by its key, however long the session is."""
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


def _add_usage(tx: Tx, session: str, new: Sequence[PreparedMessage]) -> None:
    costs = [
        cost for item in new if item.usage and any(cost := providers_formats.read_usage(item.usage))
    ]
    if costs:
        spent = providers_formats.TokenUsage(*map(sum, zip(*costs, strict=True)))
        total = providers_formats.add_usage(sql.get_usage(tx, session), spent)
        sql.set_usage(tx, session, redaction.redact_json(total._asdict()).text)


def entry_of(session: str, seq: int, role: str, label: str, at: int) -> index_sql.IndexEntry:
    return index_sql.IndexEntry(
        "message", session, role, "session", session, "active", label, seq, at
    )


def stored_message(row: sql.MessageRow) -> Stored:
    """The message of an archive row."""
    message = messages.message_from_body(json.loads(row.body))
    message = message._replace(at=row.at, key=row.key or "")
    return Stored(row.session, row.seq, message, row.origin, row.digest, row.hash)


_RATIO = "ratio/"


def chars_per_token(tx: Tx, model: str) -> float:
    """Characters per token of a model, as far as they are known."""
    return float(storage_sql.get_value(tx, _RATIO + model) or tokens.DEFAULT_RATIO)


def learn_chars_per_token(
    tx: Tx, sent: context.SentPrompt, answers: Sequence[PreparedMessage], now: int
) -> None:
    """Learn from what an answer says that its prompt really cost."""
    for answer in answers:
        cost = providers_formats.read_usage(answer.usage)
        if cost.input_tokens:
            model = sent.request.model or answer.model
            learned = tokens.learn_ratio(chars_per_token(tx, model), sent.chars, cost.input_tokens)
            storage_sql.set_value(
                tx, redaction.redact(_RATIO + model), redaction.redact(repr(learned)), now
            )
            return


def has_usage(answers: Sequence[PreparedMessage]) -> bool:
    """Whether one of these messages says what its prompt cost."""
    return any(providers_formats.read_usage(answer.usage).input_tokens for answer in answers)
