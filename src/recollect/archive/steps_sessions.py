"""Look up, rename, end and verify sessions; add up their token usage."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial

from ..context import SentPrompt
from ..errors import InvalidInput, NotFound, StoreCorrupt
from ..fast_typing import NamedTuple
from ..providers import formats
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Tx
from ..text import addresses, tokens
from ..text.messages import body_digest, chain_hash, forgotten_body, message_from_body
from ..types.records import Json, Message, Session, Stored
from . import attachments, sql

MOST_MESSAGES = 1000
"""Messages in one page of a session."""

NEWEST_SHOWN = 50
"""Messages in a page when no range is given."""

IDLE_AFTER = 3_600_000_000
"""Microseconds without a message after which an active session counts as idle."""

SESSION_STATUSES = ("active", "idle", "ended")

CURRENT = "current"
"""The name that stands for the session switched to, or else the most recently active one."""

CURRENT_SESSION_KEY = "current_session"

VERIFY_PAGE = 500


class SessionPage(NamedTuple):
    """A session with a range of its messages; `left_out` counts those of the range not loaded."""

    session: Session
    messages: tuple[Stored, ...]
    left_out: int


# ---------------------------------------------------------------- look up


def get_session(tx: Tx, name: str) -> Session:
    """Return a session by its id, a prefix of it, or `current`; raise NotFound."""
    session = sql.get(tx, resolve_session_id(tx, name))
    if session is None:
        raise session_not_found(name)
    return session


def session_not_found(name: str) -> NotFound:
    """Return the error for a session that does not exist."""
    if name == CURRENT:
        return NotFound("there are no sessions yet", hint="`recollect import` reads agents' own")
    hint = "`recollect session list` lists them"
    return NotFound("there is no such session", where=name, hint=hint)


def resolve_session_id(tx: Tx, name: str) -> str:
    """Return the id that a name, a unique prefix or `current` stands for; else the name itself."""
    if sql.get(tx, name):
        return name
    if name == CURRENT:
        chosen = storage_sql.get_value(tx, CURRENT_SESSION_KEY)
        newest = sql.latest_sessions(tx, 1)
        return chosen or (newest[0].id if newest else name)
    ids = sql.starting_with(tx, name)
    # A subagent's id is its parent's with a suffix: a prefix of both means the parent.
    first = min(ids, key=len, default=name)
    addresses.pick_unique_id(
        name, [id for id in ids if id == first or not id.startswith(f"{first}.")]
    )
    return first


def load_page(tx: Tx, name: str, first: int = 0, last: int = 0) -> SessionPage | None:
    """Load a range of a session's messages, at most `MOST_MESSAGES`; the newest ones without a
    range, None without a session."""
    session = sql.get(tx, resolve_session_id(tx, name))
    if session is None:
        return None
    last = last or session.messages
    first = first or max(last - NEWEST_SHOWN + 1, 1)
    if first > last or first > session.messages > 0:
        raise InvalidInput(
            f"there are no messages {first} to {last}: the session has {session.messages}",
            where=session.id,
        )
    rows = sql.messages(tx, session.id, first, last, MOST_MESSAGES)
    left = max(min(last, session.messages) - first + 1 - len(rows), 0)
    return SessionPage(session, tuple(stored_message(row) for row in rows), left)


def list_sessions(tx: Tx, limit: int, status: str, now: int) -> list[Session]:
    """Return sessions, the most recently active first.

    `idle` is derived, not stored: an active session without a message for an hour.
    """
    if status not in ("", *SESSION_STATUSES):
        hint = f"one of: {', '.join(SESSION_STATUSES)}"
        raise InvalidInput(f"{status!r} is not a status of a session", where="status", hint=hint)
    quiet = now - IDLE_AFTER
    if status == "idle":
        found = sql.latest_sessions(tx, limit, "active", until=quiet)
    else:
        found = sql.latest_sessions(tx, limit, status, since=quiet if status == "active" else 0)
    return [with_idle_status(one, now) for one in found]


def count_unfinished(tx: Tx, now: int) -> int:
    """Count the sessions that may still be going on, up to a page."""
    return len(sql.latest_sessions(tx, MOST_MESSAGES, "active", since=now - IDLE_AFTER))


def with_idle_status(session: Session, now: int) -> Session:
    """Return the session with the status `idle` if it is active and has been silent long enough."""
    idle = session.status == "active" and session.last_active < now - IDLE_AFTER
    return session._replace(status="idle") if idle else session


def with_attachments(tx: Tx, kept: Sequence[Message]) -> tuple[Message, ...]:
    """Return archived messages with the bytes of their attachments."""
    wanted = {digest for message in kept for digest in attachments.references(message)}
    held = sql.load_attachments(tx, sorted(wanted)) if wanted else {}
    return tuple([attachments.attach(message, held) for message in kept] if held else kept)


def stored_message(row: sql.MessageRow, origin: str = "") -> Stored:
    """Parse the message of an archive row; `origin` is another one than the row's."""
    return Stored(
        session=row.session,
        seq=row.seq,
        message=message_from_body(json.loads(row.body), row.at, row.key or ""),
        origin=origin or row.origin,
        digest=row.digest,
        hash=row.hash,
    )


# ---------------------------------------------------------------- change


def switch_session(tx: Tx, name: str, now: int) -> Session:
    """Make a session the current one of this project."""
    session = get_session(tx, name)
    storage_sql.set_value(tx, CURRENT_SESSION_KEY, redaction.redact(session.id), now)
    return session


def rename_session(tx: Tx, name: str, title: str) -> Session:
    """Rename a session."""
    if not title.strip():
        raise InvalidInput("the name is empty", where="name")
    session = get_session(tx, name)
    sql.update_details(tx, session.id, {"name": redaction.redact(" ".join(title.split()))})
    return get_session(tx, session.id)


def end_session(tx: Tx, name: str) -> Session:
    """Mark a session as ended, and as no longer current."""
    session = get_session(tx, name)
    sql.update_details(tx, session.id, {"status": redaction.redact("ended")})
    if storage_sql.get_value(tx, CURRENT_SESSION_KEY) == session.id:
        storage_sql.delete_value(tx, CURRENT_SESSION_KEY)
    return get_session(tx, session.id)


# ---------------------------------------------------------------- verify


class SessionProof(NamedTuple):
    """How many messages of a session's chain hold; `problem` is empty when all do."""

    session: str
    messages: int
    problem: str = ""


class VerifiedArchive(NamedTuple):
    """How many sessions and messages were verified."""

    sessions: int
    messages: int


def verify_archive(space: Database) -> VerifiedArchive:
    """Verify every session; raise StoreCorrupt with the first damage."""
    ids, begun = space.read(lambda tx: (sql.all_ids(tx), sql.count_begun(tx)))
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
    return VerifiedArchive(len(proofs), sum(proof.messages for proof in proofs))


def verify_session(tx: Tx, session: str) -> SessionProof:
    """Check every message of a session against its digest and the hash chain."""
    known = sql.get(tx, session)
    head, expected = "", 1
    while True:
        rows = sql.messages(tx, session, expected, 2**62, VERIFY_PAGE)
        for row in rows:
            problem = _find_fault(row, expected, head)
            if problem:
                return SessionProof(session, expected - 1, problem)
            head = row.hash
            expected += 1
        if len(rows) < VERIFY_PAGE:
            break
    if known is None or known.head != head or known.messages != expected - 1:
        problem = "the end of the chain is missing, cannot be decoded or was replaced"
        return SessionProof(session, expected - 1, problem)
    return SessionProof(session, expected - 1)


def _find_fault(row: sql.MessageRow, expected: int, head: str) -> str:
    if row.seq != expected:
        return f"message {expected} is missing or cannot be decoded"
    if body_digest(row.body) != row.digest and row.body != forgotten_body(row.role):
        return f"the text of message {row.seq} was changed"
    if chain_hash(head, row.seq, row.role, row.origin, row.at, row.digest) != row.hash:
        return f"message {row.seq} does not follow from the one before it"
    return ""


Usage = Mapping[str, Json] | None
"""The usage that a provider reports with an answer."""

_RATIO = "ratio/"


def add_usage(tx: Tx, session: str, reported: Iterable[Usage]) -> None:
    """Add reported usage to the total of a session."""
    costs = [cost for usage in reported if usage and any(cost := formats.read_usage(usage))]
    if costs:
        spent = formats.TokenUsage(*map(sum, zip(*costs, strict=True)))
        total = formats.add_usage(sql.get_usage(tx, session), spent)
        sql.update_details(tx, session, {"usage": redaction.redact_json(total._asdict()).text})


def has_input_tokens(reported: Iterable[Usage]) -> bool:
    """Check whether one of these reports counts input tokens."""
    return any(formats.read_usage(usage).input_tokens for usage in reported)


def chars_per_token(tx: Tx, model: str) -> float:
    """Return the learned characters per token of a model, or the default."""
    return float(storage_sql.get_value(tx, _RATIO + model) or tokens.DEFAULT_RATIO)


def learn_chars_per_token(
    tx: Tx, sent: SentPrompt, answers: Iterable[tuple[str, Usage]], now: int
) -> None:
    """Update the ratio of a model from the first answer (model, usage) with input tokens."""
    for answering, usage in answers:
        cost = formats.read_usage(usage)
        if cost.input_tokens:
            model = sent.request.model or answering
            learned = tokens.learn_ratio(chars_per_token(tx, model), sent.chars, cost.input_tokens)
            storage_sql.set_value(
                tx, redaction.redact(_RATIO + model), redaction.redact(repr(learned)), now
            )
            return
