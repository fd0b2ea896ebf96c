"""Clear: hide all that a project has learned at once, and take that back. Nothing is deleted, and
conversations, notes and tasks stay as they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import NamedTuple

from ..errors import NotFound, Refused
from ..index import sql as index_sql
from ..secrets import redaction
from ..storage.database import Tx
from ..undo import sql as undo_sql

OPERATION = "clear"
HIDDEN = ("active", "proposed", "quarantined")
"""What is archived; what was archived or superseded before is left as it is."""

_SOURCES = {"memories": "memory", "episodes": "episode", "procedures": "procedure"}
"""The tables of what is learned, and what their rows are in the index."""


class Cleared(NamedTuple):
    """How many of each were hidden, or would be; `undo` names the record that takes it back."""

    memories: int
    episodes: int
    procedures: int
    applied: bool
    undo: str = ""


class Returned(NamedTuple):
    """How many came back, and how many were left because somebody changed them since."""

    undo: str
    returned: int
    changed_since: int


def clear(tx: Tx, apply: bool, origin: str, undo: str, now: int) -> Cleared:
    """Archive everything in use; only says how much that is unless told to do it."""
    found = {table: undo_sql.with_status(tx, table, HIDDEN) for table in _SOURCES}
    memories, episodes, procedures = map(len, found.values())
    counted = Cleared(memories, episodes, procedures, applied=False)
    if not apply:
        return counted
    if origin != "user":
        raise Refused(
            "only a person can hide everything that was learned",
            where="clear",
            hint="run `recollect clear --apply` at a terminal",
        )
    if not any(found.values()):
        return counted._replace(applied=True)
    for table, rows in found.items():
        _set(tx, table, dict.fromkeys(rows, "archived"))
    undo_sql.insert(tx, undo, OPERATION, redaction.scrub_json(found).text, now)
    return counted._replace(applied=True, undo=undo)


def undo(tx: Tx, origin: str) -> Returned:
    """Put back what the last clearing hid, each as it was. What was restored, corrected or learned
    again since stays as it is now."""
    if origin != "user":
        raise Refused(
            "only a person can take a clearing back",
            where="clear undo",
            hint="run `recollect clear undo` at a terminal",
        )
    last = undo_sql.latest(tx, OPERATION)
    if last is None:
        raise NotFound("there is no clearing to undo", where="clear undo")
    returned = changed = 0
    for table, hidden in json.loads(last.body).items():
        still = undo_sql.with_status(tx, table, ("archived",))
        back = {id: status for id, status in hidden.items() if id in still}
        _set(tx, table, back)
        returned += len(back)
        changed += len(hidden) - len(back)
    undo_sql.done(tx, last.id)
    return Returned(last.id, returned, changed)


def _set(tx: Tx, table: str, statuses: Mapping[str, str]) -> None:
    for id, status in statuses.items():
        undo_sql.set_columns(tx, table, (id,), {"status": status})
        index_sql.set_status(tx, _SOURCES[table], id, status)
