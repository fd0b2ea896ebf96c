"""Verify the archive: every body against its digest, every message against the chain."""

from __future__ import annotations

from typing import NamedTuple

from ..core import archive
from ..db.database import Tx
from ..store import sessions

PAGE = 500


class Proof(NamedTuple):
    """How far a session's chain holds; `problem` is empty when all of it does."""

    session: str
    messages: int
    problem: str = ""


def session_ids(tx: Tx) -> list[str]:
    """Every session that has an archive."""
    return sessions.every_id(tx)


def verify_session(tx: Tx, session: str) -> Proof:
    """Walk one session from its first message to its head."""
    known = sessions.get(tx, session)
    head, expected = "", 1
    while True:
        rows = sessions.messages(tx, session, expected, 2**62, PAGE)
        for row in rows:
            problem = _fault(row, expected, head)
            if problem:
                return Proof(session, expected - 1, problem)
            head = row.hash
            expected += 1
        if len(rows) < PAGE:
            break
    if known is None or known.head != head or known.messages != expected - 1:
        return Proof(session, expected - 1, "the end of the chain is missing or was replaced")
    return Proof(session, expected - 1)


def _fault(row: sessions.MessageRow, expected: int, head: str) -> str:
    if row.seq != expected:
        return f"message {expected} is missing"
    if row.body and archive.digest(row.body) != row.digest:
        return f"the text of message {row.seq} was changed"
    if archive.chain(head, row.seq, row.role, row.at, row.digest) != row.hash:
        return f"message {row.seq} does not follow from the one before it"
    return ""
