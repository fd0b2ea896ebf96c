"""Record which rows a change closed, opened or altered, and undo the change.

Rows of documents, procedures and links are versions: a change closes one and opens another. An undo
closes the opened row and reopens the closed one; nothing is deleted.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import NamedTuple, TypeVar

from ..context import Context, new_id
from ..errors import Conflict
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..types.records import FOREVER, Json
from ..types.trust import require_rank
from . import sql

ROWS, SETTING = "rows", "setting"
"""The operations under which changes of rows and of settings files are recorded."""

Result = TypeVar("Result")


class Watched(NamedTuple):
    """The open rows of a table that a change may touch: those with this value in a column."""

    table: str
    column: str
    value: str


class ChangedRow(NamedTuple):
    """Columns of a row before a change (None if it was not open) and after it (None if closed)."""

    table: str
    key: tuple[Json, ...]
    before: dict[str, Json] | None
    after: dict[str, Json] | None


def write_undoable(
    context: Context,
    what: str,
    watched: Watched,
    work: Callable[[Tx, int], Result],
    text: str = "",
    space: Database | None = None,
) -> Result:
    """Run a write, and record in the same transaction how to undo it.

    what: the change in the past tense, such as `started the task feature-x`
    text: the written text, shown by `recollect undo`
    space: the project's by default
    """
    now, id = context.clock(), new_id("u")

    def run(tx: Tx) -> Result:
        before = _read_watched(tx, watched)
        result = work(tx, now)
        after = _read_watched(tx, watched)
        rows = [
            ChangedRow(watched.table, key, before.get(key), after.get(key))
            for key in dict.fromkeys((*before, *after))
            if before.get(key) != after.get(key)
        ]
        if rows:
            body = {"what": what, "text": text, "origin": context.origin, "rows": rows}
            sql.insert(tx, id, ROWS, redaction.redact_json(body).text, now)
        return result

    return (space or context.project_space).write(run)


def _read_watched(tx: Tx, watched: Watched) -> dict[tuple[Json, ...], dict[str, Json]]:
    return dict(sql.read_open(tx, watched.table, watched.column, watched.value))


def undo_rows(tx: Tx, record: sql.UndoRecord, origin: str, now: int) -> list[ChangedRow]:
    """Undo a recorded change of rows; raise Conflict if a row was changed since, and Refused if the
    change was made by a person and the caller is not one."""
    body = json.loads(record.body)
    check_origin(body, origin)
    rows = [ChangedRow(table, tuple(key), *rest) for table, key, *rest in body["rows"]]
    for row in rows:
        names = list(row.after or row.before or ())
        current = sql.read_columns(tx, row.table, row.key, names)
        is_open = current is not None and current["valid_to"] == FOREVER
        is_unchanged = current == row.after if row.after else not is_open
        if not is_unchanged:
            raise Conflict(
                f"{' '.join(map(str, row.key))} was changed since: undoing would lose that",
                where=f"undo ({body['what']})",
            )
    # Close rows before others are reopened: only one version of a name can be open at a time.
    for row in sorted(rows, key=lambda row: row.before is not None):
        sql.set_columns(tx, row.table, row.key, row.before or _closed(row, now))
    sql.mark_undone(tx, record.id)
    return rows


def _closed(row: ChangedRow, now: int) -> dict[str, Json]:
    has_status = "status" in (row.after or ())
    return {"valid_to": now, "status": "hidden"} if has_status else {"valid_to": now}


def check_origin(body: dict[str, Json], origin: str) -> None:
    """Refuse an undo by a caller that is trusted less than the author of the change."""
    require_rank(
        origin,
        body["origin"],
        "undo",
        "changed",
        where=f"undo ({body['what']})",
        hint="ask the user to run `recollect undo` at a terminal",
    )
