"""Record messages: scrub, append under the session's counter, chain, index. One transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ..core import archive, messages, secrets
from ..db.database import Tx
from ..store import search, sessions
from ..store.sessions import NewSession as NewSession
from ..types import Message, Recorded, SafeText, Stored
from . import index

_ORIGIN_OF_ROLE = {
    "system": "system",
    "developer": "system",
    "user": "user",
    "assistant": "agent",
    "tool": "tool",
}


class Incoming(NamedTuple):
    """A message at the door, and the path it came in on when that is not clear from its role."""

    message: Message
    origin: str = ""


class Prepared(NamedTuple):
    """A message that is ready to be appended: scrubbed, digested, its words taken out."""

    role: str
    body: SafeText
    at: int
    key: str
    origin: str
    digest: str
    words: index.Words
    redacted: tuple[str, ...]


def prepare(incoming: Incoming, now: int) -> Prepared:
    """All the work that needs no transaction: nobody waits while a long text is scrubbed."""
    message, origin = incoming
    body = secrets.scrub_json(messages.body_of(message))
    clean = messages.message_from_body(json.loads(body.text))
    return Prepared(
        message.role,
        body.text,
        message.at or now,
        message.key,
        origin or _ORIGIN_OF_ROLE[message.role],
        archive.digest(body.text),
        index.words_of(messages.text_of(clean)),
        body.found,
    )


def record(
    tx: Tx, session: NewSession, prepared: Sequence[Prepared], now: int
) -> list[Recorded]:
    """Append messages to a session, made on the way if need be; keys seen before are not kept twice."""
    held = sessions.hold(tx, session.id)
    if held is None:
        sessions.create(tx, session, now)
        held = sessions.hold(tx, session.id)
    assert held is not None
    seq, head = held
    known = sessions.seqs_by_key(tx, session.id, [item.key for item in prepared if item.key])
    rows: list[sessions.MessageRow] = []
    done: list[Recorded] = []
    for item in prepared:
        if item.key and item.key in known:
            done.append(_recorded(session.id, known[item.key], new=False))
            continue
        head = archive.chain(head, seq, item.role, item.at, item.digest)
        rows.append(_row(session.id, seq, item, head))
        _index(tx, session.id, seq, item)
        if item.key:
            known[item.key] = seq
        done.append(_recorded(session.id, seq, new=True, redacted=item.redacted))
        seq += 1
    if rows:
        sessions.insert_messages(tx, rows)
        sessions.advance(tx, session.id, seq, head, now)
    return done


def _row(session: str, seq: int, item: Prepared, hash: str) -> sessions.MessageRow:
    return sessions.MessageRow(
        session,
        seq,
        item.role,
        item.body,
        item.at,
        item.key or None,
        item.origin,
        item.origin,
        item.digest,
        hash,
    )


def _index(tx: Tx, session: str, seq: int, item: Prepared) -> None:
    entry = search.Entry(
        "message", session, item.role, "session", session, "active", item.origin, seq, item.at
    )
    search.put(tx, entry, item.words)


def _recorded(session: str, seq: int, new: bool, redacted: tuple[str, ...] = ()) -> Recorded:
    address = f"memory://session/{session}/messages/{seq}-{seq}"
    return Recorded(session, seq, address, new, redacted)


def stored(row: sessions.MessageRow) -> Stored:
    """The message of an archive row."""
    message = messages.message_from_body(json.loads(row.body))
    message = message._replace(at=row.at, key=row.key or "")
    return Stored(row.session, row.seq, message, row.origin, row.digest, row.hash)
