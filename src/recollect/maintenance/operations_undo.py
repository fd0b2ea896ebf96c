"""Undo the last change of any kind.

Memories keep their own history; everything else that can be undone has an undo record.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Sequence
from functools import partial
from typing import NamedTuple

from .. import config
from ..archive import sql as archive_sql
from ..context import Context
from ..documents import steps as documents_steps
from ..errors import Conflict, NotFound
from ..lessons import operations as lessons_operations
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import operations as memory_operations
from ..memory import sql as memory_sql
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..memory import steps_neighbours as memory_steps_neighbours
from ..procedures import steps as procedures_steps
from ..storage.database import Database, Tx
from ..text import display
from ..types import trust
from ..types.records import FOREVER, Json, Memory
from ..types.reports import Reverted
from ..undo import sql as undo_sql
from ..undo import steps as undo_steps
from ..work import operations as work_operations
from ..work import steps as work_steps
from . import sql

STATUS = memory_steps_lifecycle.STATUS


class LastChange(NamedTuple):
    """The last change of a space: of a memory, or of an undo record."""

    at: int
    space: Database
    memory: sql.ChangedMemory | None = None
    record: undo_sql.UndoRecord | None = None


def undo_last(context: Context, id: str = "", print: bool = False) -> Reverted:
    """Undo the last change, whatever it was.

    A memory that was saved, changed, confirmed, hidden or restored; `prune`, `clear` and
    `consolidate`; a link, a procedure, a task, notes, a ledger, a handoff, a scratch note; a
    setting. At a terminal it shows the change and asks; elsewhere it undoes at once.

    id: undo the last change of this memory instead
    print: change nothing, show what would be undone

    Example: recollect undo --print
    Example: recollect undo
    Example: recollect undo m-4k9w2c
    """
    if id:
        return _undo_memory(context, id, print)
    memory_operations.write_recalls(context)
    found = [
        change
        for space in context.present_spaces()
        for change in space.read(partial(_find_changes, space=space))
    ]
    last = max(found, key=lambda one: one.at, default=None)
    if last is None:
        raise NotFound(
            "there is nothing to undo",
            where=context.project.root,
            hint=_why_nothing(context),
        )
    if last.record:
        for one in found:
            # A source is retracted in both spaces at once.
            if (
                one.record
                and one is not last
                and one.record.operation == STATUS == (last.record.operation)
                and one.at == last.at
            ):
                _undo_statuses(context, one.space, one.record, print)
        return _undo_record(context, last.space, last.record, print)
    assert last.memory is not None
    if last.memory.change == "learn":
        # `learn-many` and a message with several rules save several at once.
        ids = last.space.read(partial(sql.list_learned_at, at=last.memory.at))
        return _undo_learning(context, last.space, ids or [last.memory.id], print)
    return _undo_memory(context, last.memory.id, print)


def _why_nothing(context: Context) -> str:
    """Return why there is no change to undo."""
    spaces = context.present_spaces()
    if any(space.read(sql.has_memories) for space in spaces):
        hidden = "what is hidden: recollect list --status hidden"
        return f"everything that was saved here is undone already; {hidden}"
    if any(space.read(archive_sql.counts)[1] for space in spaces):
        return "the archive of conversations stays; to erase some of it: recollect forget --help"
    return "nothing was saved or changed here yet"


def _find_changes(tx: Tx, space: Database) -> list[LastChange]:
    memory, record = sql.last_changed_memory(tx), undo_sql.find_latest(tx, hold=False)
    found = [LastChange(memory.at, space, memory=memory)] if memory else []
    return [*found, LastChange(record.at, space, record=record)] if record else found


# ---------------------------------------------------------------- memories


def _undo_learning(context: Context, space: Database, ids: Sequence[str], print: bool) -> Reverted:
    """Undo the saving of memories by one call."""
    memory, now = _find_current(context, ids[-1]), context.clock()
    replaced = space.read(lambda tx: memory_steps_neighbours.find_replaced(tx, memory))
    if not print:

        def work(tx: Tx) -> None:
            for one in ids:
                memory_steps_lifecycle.undo_learning(tx, one, context.origin, now)

        context.writable(space).write(work)
    if len(ids) > 1:
        what = f"saved {len(ids)} memories"
        return Reverted(what, f"{memory.text} …", memory.valid_from, not print)
    redo = f"recollect restore {memory.id}"
    text = f"{memory.text} (in place of: {replaced.text})" if replaced else memory.text
    return Reverted(f"saved {memory.kind}", text, memory.valid_from, not print, redo)


def _find_current(context: Context, id: str) -> Memory:
    """Return the open memory of a chain; the last of its history if none is open."""
    history = memory_operations.memory_history(context, id)
    return next((one for one in reversed(history) if one.valid_to == FOREVER), history[-1])


_CHANGES = {
    "correct": "changed the text of",
    "scope": "changed the files of",
    "confirm": "confirmed",
    "verify": "checked",
}
"""Descriptions of the changes that make revisions."""


def _undo_memory(context: Context, id: str, print: bool) -> Reverted:
    memory = _find_current(context, id)
    space = context.space_of(memory.layer)
    if memory.status == "hidden" and (
        hidden := space.read(lambda tx: undo_sql.find_latest(tx, STATUS, memory.id, hold=False))
    ):
        return _undo_statuses(context, space, hidden, print)
    if memory.revision == 1 or memory.change == "learn":
        return _undo_learning(context, space, [memory.id], print)
    if not print:
        memory_operations.undo(context, memory.id)
    again = "confirm" if memory.change == "confirm" else "history undo"
    redo = f"recollect {again} {memory.id}"
    done = _CHANGES.get(memory.change, f"{memory.change} of")
    return Reverted(f"{done} {memory.id}", memory.text, memory.valid_from, not print, redo)


# ---------------------------------------------------------------- undo records


def _undo_record(
    context: Context, space: Database, record: undo_sql.UndoRecord, print: bool
) -> Reverted:
    if record.operation == memory_steps_lifecycle.CLEAR:
        if not print:
            memory_operations.undo_clear(context)
        return Reverted("clear", "", record.at, not print, "recollect clear --apply")
    undo = {
        STATUS: _undo_statuses,
        undo_steps.ROWS: _undo_rows,
        undo_steps.SETTING: _undo_setting,
        lessons_operations.LESSON: _undo_lesson,
    }.get(record.operation)
    if undo:
        return undo(context, space, record, print)
    text = space.read(lambda tx: _describe_consolidation(tx, record, print))
    if not print:
        lessons_operations.undo_consolidation(context)
    return Reverted("consolidation", text, record.at, not print, "recollect consolidate")


def _describe_consolidation(tx: Tx, record: undo_sql.UndoRecord, planned: bool) -> str:
    """Describe the effect of undoing a consolidation: lessons removed, memories restored."""
    rows = [
        (key[0], before)
        for table, key, before, *_ in json.loads(record.body)["changes"]
        if table == "memories"
    ]
    new = memory_sql.get_many(tx, [id for id, before in rows if before is None])
    kinds = Counter(one.kind for one in new.values())
    counted = [
        display.format_count(number, kind, f"{kind}s") for kind, number in kinds.most_common()
    ]
    changed = len({id for id, before in rows if before is not None})
    takes, restores = ("takes back", "restores") if planned else ("took back", "restored")
    parts = [f"{takes} {' and '.join(counted)}"] if counted else []
    parts += (
        [f"{restores} {display.format_count(changed, 'memory', 'memories')}"] if changed else []
    )
    return ", ".join(parts) or "changes links between records only"


def _undo_lesson(
    context: Context, space: Database, record: undo_sql.UndoRecord, print: bool
) -> Reverted:
    body = json.loads(record.body)
    ref, hid = str(body["ref"]), bool(body["hid"])
    if not print:
        hint = "ask the user to run `recollect undo` at a terminal"
        trust.require_person(context.origin, "undo this", where=ref, hint=hint)

        def work(tx: Tx) -> None:
            lessons_steps_observed.set_hidden(tx, ref, not hid, context.clock())
            undo_sql.mark_undone(tx, record.id)

        context.writable(space).write(work)
    redo = f"recollect {'hide' if hid else 'restore'} '{ref}'"
    return Reverted(f"{'hid' if hid else 'restored'} {ref}", "", record.at, not print, redo)


def _undo_statuses(
    context: Context, space: Database, record: undo_sql.UndoRecord, print: bool
) -> Reverted:
    body = json.loads(record.body)
    ids = list(body["before"])
    memory = _find_current(context, ids[0])
    done = "hid" if body["set"] == "hidden" else "restored"
    what = f"{done} {ids[0]}" if len(ids) == 1 else f"{done} {len(ids)} memories"
    if not print:
        now = context.clock()
        context.writable(space).write(
            lambda tx: memory_steps_lifecycle.undo_status(tx, record, context.origin, now)
        )
    again = "hide" if done == "hid" else "restore"
    redo = f"recollect {again} {ids[0]}" if len(ids) == 1 else ""
    return Reverted(what, memory.text if len(ids) == 1 else "", record.at, not print, redo)


def _undo_rows(
    context: Context, space: Database, record: undo_sql.UndoRecord, print: bool
) -> Reverted:
    """Undo a change of documents, procedures or links, and update the index and files."""
    body, now = json.loads(record.body), context.clock()

    def work(tx: Tx) -> set[str]:
        rows = undo_steps.undo_rows(tx, record, context.origin, now)
        changed = {(row.table, str(row.key[0])) for row in rows}
        for table, key in sorted(changed):
            if table == "documents":
                documents_steps.follow_undo(tx, key)
            elif table == "procedures":
                procedures_steps.follow_undo(tx, key)
        return {key for _, key in changed}

    if not print and work_steps.NOTES in context.writable(space).write(work):
        work_operations.render_notes(context)
    return Reverted(body["what"], body["text"], record.at, not print)


# ---------------------------------------------------------------- settings


def _undo_setting(
    context: Context, space: Database, record: undo_sql.UndoRecord, print: bool
) -> Reverted:
    """Write the former value of a setting back to its file."""
    body: dict[str, Json] = json.loads(record.body)
    undo_steps.check_origin(body, context.origin)
    path, name = body["path"], body["name"]
    if body["is_secret"]:
        raise Conflict(
            f"the former value of {name} is not known: it may contain a secret",
            where=path,
            hint=f"set it again: recollect config set {name} VALUE",
        )
    if not print:
        if config.read_setting(path, name) != body["after"]:
            raise Conflict(
                f"{name} was changed since: undoing would lose that",
                where=path,
                hint=f"set it: recollect config set {name} VALUE",
            )
        config.write_setting(path, name, body["before"], body["is_private"])
        context.writable(space).write(lambda tx: undo_sql.mark_undone(tx, record.id))
    before = "the default" if body["before"] is None else display.format_line(str(body["before"]))
    return Reverted(body["what"], f"back to {before} in {path}", record.at, not print)
