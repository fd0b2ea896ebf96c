"""Operations on captured statements: store those of a message, word the notice, list, undo."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from itertools import pairwise

from ..archive import sql as archive_sql
from ..context import Context, new_id
from ..errors import NotFound
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import display
from ..types.records import Learned, Memory
from . import statements, steps, steps_imported

MOST_MESSAGES = 500
"""The most typed messages of a session that are read at a time."""

Prepared = list[memory_steps.PreparedMemory]
"""Statements that are ready to be written."""

LookedUp = Mapping[str, steps.FoundBefore | None]
"""The memories that statements touch, by the id of the statement."""


def prepare_message(message: steps.UserMessage) -> Prepared:
    """Return the statements of a typed message, ready to be written."""
    return steps.prepare(message, new_id, personal=True)


def keep(context: Context, ready: Prepared, now: int) -> list[Learned]:
    """Write prepared statements, each into the space of its layer."""
    own = _split_personal(ready)[0]
    has_own = bool(own) and context.user_space.present()
    looked = context.user_space.read(lambda tx: steps.look_up(tx, own)) if has_own else {}
    rest = _split_personal(steps.without_answered(ready, looked))[1]
    learned = context.project_space.write(lambda tx: steps.keep(tx, rest, now)) if rest else []
    return learned + keep_own(context, ready, now, looked)


def look_up(txs: Sequence[Tx], ready: Prepared) -> LookedUp:
    """Find the memories that statements change or repeat, in the project's space and in the user's,
    if there is one."""
    own, rest = _split_personal(ready)
    return steps.look_up(txs[0], rest) | (steps.look_up(txs[-1], own) if len(txs) > 1 else {})


def keep_in(context: Context, tx: Tx, ready: Prepared, now: int, looked: LookedUp) -> list[Learned]:
    """Write prepared statements in a transaction of the project; on a server those about the person
    too, where both spaces share it. `looked` is the result of `look_up`."""
    rest = _split_personal(steps.without_answered(ready, looked))[1]
    learned = steps.keep(tx, rest, now, looked)
    return learned + (keep_own(context, ready, now, looked) if tx.is_remote else [])


def keep_own(context: Context, ready: Prepared, now: int, looked: LookedUp) -> list[Learned]:
    """Write the prepared statements about the person into the user's space."""
    own = [
        item
        for item in _split_personal(steps.without_answered(ready, looked))[0]
        # Do not open the user's store for writing when there is no rule to hide.
        if not steps.is_withdrawal(item) or ((found := looked.get(item.row.id)) and found.withdrawn)
    ]
    if not own:
        return []
    return context.user_space.write(lambda tx: steps.keep(tx, own, now, looked))


def _split_personal(ready: Prepared) -> tuple[Prepared, Prepared]:
    """Return the statements about the person, and the others."""
    own = [item for item in ready if steps.is_personal(item)]
    return own, [item for item in ready if not steps.is_personal(item)]


def learn_from_sessions(context: Context, sessions: Iterable[str]) -> list[Learned]:
    """Learn the requests that the user repeats in these sessions.

    Runs in the background after a session or an import: it looks up each new instruction among
    earlier ones.
    """
    space, learned = context.project_space, list[Learned]()
    if not context.settings.capture or not space.present():
        return learned
    for session in sessions:
        found, last = space.read(partial(_find_in_session, session))
        if last:
            ready = [memory_steps.prepare(draft, "user", at, new_id("m")) for at, draft in found]
            now = context.clock()
            learned += space.write(partial(_write_found, session, last, now, ready))
    return learned


def learn_from_imported(context: Context) -> list[Learned]:
    """Learn from the sessions that imports noted, also from those of an import that was
    interrupted."""
    if not context.project_space.present():
        return []
    noted = context.project_space.read(steps_imported.list_imported)
    learned = learn_from_sessions(context, noted)
    if noted:
        now = context.clock()
        context.project_space.write(lambda tx: steps_imported.drop_imported(tx, noted, now))
    return learned


def _find_in_session(session: str, tx: Tx) -> tuple[list[tuple[int, memory_steps.Draft]], int]:
    """Return the statements in the unread messages of a session, and the number of the last one."""
    last = int(storage_sql.get_value(tx, _searched_key(session)) or 0)
    rows = archive_sql.list_typed(tx, session, last + 1, MOST_MESSAGES)
    found = [(row.at, draft) for row in rows for draft in steps.find_repeated(tx, session, row)]
    for before, row in pairwise(rows):
        if draft := steps.remember_previous(session, before, row):
            found.append((row.at, draft))
    return found, rows[-1].seq if rows else 0


def _write_found(session: str, last: int, now: int, ready: Prepared, tx: Tx) -> list[Learned]:
    done = [memory_steps_learn.learn(tx, item, item.row.first_seen) for item in ready]
    storage_sql.set_value(tx, _searched_key(session), redaction.redact(str(last)), now)
    return [learned for learned in done if learned.action != "unchanged"]


def _searched_key(session: str) -> str:
    """Return the key in state of the last message that was searched for repeated requests."""
    return f"repetition {session}"


_RULE_KINDS = ("policy", "preference")
"""Kinds that are called rules where the user reads of them: see `docs/concepts/memory.md`."""


def word_notice(captured: Sequence[Learned]) -> str:
    """Return the notice about captured statements, with the commands that confirm or undo them."""
    lines = []
    for item in captured:
        memory = item.memory
        noun = "rule" if memory.kind in _RULE_KINDS else memory.kind
        article = "an" if noun[0] in "aeiou" else "a"
        statement = f"{article} {noun}: “{display.format_line(memory.text, 200)}”"
        if item.action == "skipped":
            lines.append(f"Recollect did not save {statement}; {' '.join(item.notes)}")
        elif item.action == "withdrawn":
            lines.append(f"Recollect took back {statement} (recollect undo {item.id})")
        elif item.action == "reinforced" and memory.status == "active":
            lines.append(f"Recollect knows this already, {statement} ({item.id})")
        elif memory.status == "proposed":
            doubt = memory.detail.get(statements.DOUBT, "")
            lines.append(
                f"Recollect proposes {statement}, not in use: {doubt}. "
                f"Your rule? recollect confirm {item.id} (or: recollect undo {item.id})"
            )
        else:
            where = " for all your projects" if memory.layer == "user" else ""
            statement = statement.replace(":", f"{where}:", 1)
            about = [note for note in item.notes if item.contradicts or item.action == "revised"]
            notes = "".join(f"; {note}" for note in about)
            lines.append(f"Recollect saved {statement}{notes} (recollect undo {item.id})")
    return "\n".join(lines)


def list_captures(context: Context, limit: int = 50) -> tuple[Memory, ...]:
    """List what was captured from your messages, newest first.

    limit: how many to list at most

    Example: recollect capture list
    """
    found = [
        memory
        for space in context.present_spaces()
        for memory in space.read(lambda tx: steps.list_captured(tx, limit))
    ]
    return tuple(sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit])


def undo_capture(context: Context, memory: str) -> Memory:
    """Hide a captured memory.

    memory: its id, or the beginning of it

    Example: recollect capture undo m-4k9w2c
    """
    now = context.clock()
    for space in context.present_spaces():
        if undone := space.write(lambda tx: steps.undo(tx, memory, now)):
            return undone
    raise NotFound(
        "there is no captured memory with this id",
        where=memory,
        hint="`recollect capture list` shows what was captured",
    )
