"""Verify the archive: every body against its digest, every message against the chain."""

from __future__ import annotations

from functools import partial
from typing import NamedTuple

from ..errors import StoreCorrupt
from ..storage.database import Database, Tx
from ..text.digests import chain, digest
from . import sql

PAGE = 500


class Proof(NamedTuple):
    """How far a session's chain holds; `problem` is empty when all of it does."""

    session: str
    messages: int
    problem: str = ""


class Verified(NamedTuple):
    """The archive's proof: how many sessions and messages hold."""

    sessions: int
    messages: int


def archive(space: Database) -> Verified:
    """Prove every session, or say where the first damage is."""
    ids, begun = space.read(lambda tx: (sql.every_id(tx), sql.begun(tx)))
    if len(ids) != begun:
        raise StoreCorrupt(
            f"the archive is damaged: {begun} sessions were begun, {len(ids)} are there",
            where="sessions",
            hint="compare with a copy made by `recollect backup`",
        )
    proofs = [space.read(partial(verify_session, session=id)) for id in ids]
    broken = [proof for proof in proofs if proof.problem]
    if broken:
        raise StoreCorrupt(
            f"the archive is damaged: {broken[0].problem}",
            where=f"session {broken[0].session}; {len(broken)} of {len(proofs)} sessions",
            hint="compare with a copy made by `recollect backup`",
        )
    return Verified(len(proofs), sum(proof.messages for proof in proofs))


def verify_session(tx: Tx, session: str) -> Proof:
    """Walk one session from its first message to its head."""
    known = sql.get(tx, session)
    head, expected = "", 1
    while True:
        rows = sql.messages(tx, session, expected, 2**62, PAGE)
        for row in rows:
            problem = _fault(row, expected, head)
            if problem:
                return Proof(session, expected - 1, problem)
            head = row.hash
            expected += 1
        if len(rows) < PAGE:
            break
    if known is None or known.head != head or known.messages != expected - 1:
        problem = "the end of the chain is missing, cannot be decoded or was replaced"
        return Proof(session, expected - 1, problem)
    return Proof(session, expected - 1)


def _fault(row: sql.MessageRow, expected: int, head: str) -> str:
    if row.seq != expected:
        return f"message {expected} is missing or cannot be decoded"
    if row.body and digest(row.body) != row.digest:
        return f"the text of message {row.seq} was changed"
    if chain(head, row.seq, row.role, row.origin, row.at, row.digest) != row.hash:
        return f"message {row.seq} does not follow from the one before it"
    return ""
