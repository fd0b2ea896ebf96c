"""Record messages: scrub, append under the session's counter, chain, index. One transaction."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import NamedTuple

from ..core import archive, messages, secrets
from ..db.database import Tx
from ..store import search, sessions
from ..store.sessions import NewSession as NewSession
from ..types import Message, Recorded, Stored
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


def record(
    tx: Tx, session: NewSession, incoming: Sequence[Incoming], now: int
) -> list[Recorded]:
    """Append messages to a session, made on the way if need be; keys seen before are not kept twice."""
    held = sessions.hold(tx, session.id)
    if held is None:
        sessions.create(tx, session, now)
        held = sessions.hold(tx, session.id)
    assert held is not None
    seq, head = held
    known = sessions.seqs_by_key(
        tx, session.id, [item.message.key for item in incoming if item.message.key]
    )
    rows: list[sessions.MessageRow] = []
    done: list[Recorded] = []
    for message, origin in incoming:
        if message.key and message.key in known:
            done.append(_recorded(session.id, known[message.key], new=False))
            continue
        body = secrets.scrub_json(messages.body_of(message))
        origin = origin or _ORIGIN_OF_ROLE[message.role]
        at = message.at or now
        digest = archive.digest(body.text)
        head = archive.chain(head, seq, message.role, at, digest)
        key = message.key or None
        row = sessions.MessageRow(
            session.id, seq, message.role, body.text, at, key, origin, origin, digest, head
        )
        rows.append(row)
        _index(tx, row)
        if message.key:
            known[message.key] = seq
        done.append(_recorded(session.id, seq, new=True, redacted=body.found))
        seq += 1
    if rows:
        sessions.insert_messages(tx, rows)
        sessions.advance(tx, session.id, seq, head, now)
    return done


def _index(tx: Tx, row: sessions.MessageRow) -> None:
    entry = search.Entry(
        "message", row.session, row.role, "session", row.session, "active", row.label, row.seq, row.at
    )
    index.add(tx, entry, messages.text_of(stored(row).message))


def _recorded(session: str, seq: int, new: bool, redacted: tuple[str, ...] = ()) -> Recorded:
    address = f"memory://session/{session}/messages/{seq}-{seq}"
    return Recorded(session, seq, address, new, redacted)


def stored(row: sessions.MessageRow) -> Stored:
    """The message of an archive row."""
    message = messages.message_from_body(json.loads(row.body))
    message = message._replace(at=row.at, key=row.key or "")
    return Stored(row.session, row.seq, message, row.origin, row.digest, row.hash)
