"""Name, end and choose sessions."""

from __future__ import annotations

from ..core import secrets
from ..db.database import Tx
from ..errors import InvalidInput
from ..store import sessions, state
from ..types import Session
from . import look


def switch(tx: Tx, name: str, now: int) -> Session:
    """Make a session the current one of this project."""
    session = look.existing(tx, name)
    state.put(tx, look.CURRENT_SESSION, secrets.safe(session.id), now)
    return session


def rename(tx: Tx, name: str, title: str) -> Session:
    """Give a session another name."""
    if not title.strip():
        raise InvalidInput("the name is empty", where="name")
    session = look.existing(tx, name)
    sessions.rename(tx, session.id, secrets.safe(" ".join(title.split())))
    return look.existing(tx, session.id)


def end(tx: Tx, name: str) -> Session:
    """Mark a session as ended; it is the current one no longer."""
    session = look.existing(tx, name)
    sessions.set_status(tx, session.id, "ended")
    if state.get(tx, look.CURRENT_SESSION) == session.id:
        state.remove(tx, look.CURRENT_SESSION)
    return look.existing(tx, session.id)
