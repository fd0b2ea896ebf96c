"""Name, end and choose sessions."""

from __future__ import annotations

from ..errors import InvalidInput
from ..recall import steps_show as recall_steps_show
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import Session
from . import sql


def switch(tx: Tx, name: str, now: int) -> Session:
    """Make a session the current one of this project."""
    session = recall_steps_show.existing(tx, name)
    storage_sql.put(tx, recall_steps_show.CURRENT_SESSION, redaction.safe(session.id), now)
    return session


def rename(tx: Tx, name: str, title: str) -> Session:
    """Give a session another name."""
    if not title.strip():
        raise InvalidInput("the name is empty", where="name")
    session = recall_steps_show.existing(tx, name)
    sql.rename(tx, session.id, redaction.safe(" ".join(title.split())))
    return recall_steps_show.existing(tx, session.id)


def end(tx: Tx, name: str) -> Session:
    """Mark a session as ended; it is the current one no longer."""
    session = recall_steps_show.existing(tx, name)
    sql.set_status(tx, session.id, "ended")
    if storage_sql.get(tx, recall_steps_show.CURRENT_SESSION) == session.id:
        storage_sql.remove(tx, recall_steps_show.CURRENT_SESSION)
    return recall_steps_show.existing(tx, session.id)
