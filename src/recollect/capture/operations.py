"""Operations on captured statements: keep those of a message, list them, undo one."""

from __future__ import annotations

from ..context import Context, new_id
from ..errors import NotFound
from ..memory import steps as memory_steps
from ..types.records import Learned, Memory
from . import steps


def capture_message(context: Context, said: steps.Said) -> list[Learned]:
    """Learn the statements of a typed message; preferences about the person in the user layer."""
    return keep(context, steps.prepare(said, new_id, personal=True), said.at)


def keep(context: Context, ready: list[memory_steps.Prepared], now: int) -> list[Learned]:
    """Write prepared statements, each into the space of its layer."""
    own = [item for item in ready if steps.is_personal(item)]
    rest = [item for item in ready if not steps.is_personal(item)]
    learned = context.project_space.write(lambda tx: steps.keep(tx, rest, now)) if rest else []
    if own:
        learned += context.user_space.write(lambda tx: steps.keep(tx, own, now))
    return learned


def list_captures(context: Context, limit: int = 50) -> tuple[Memory, ...]:
    """List what was captured from the user's messages and is in use or proposed, newest first.

    limit: at most so many

    Example: recollect capture list
    """
    found = [
        memory
        for space in context.present_spaces()
        for memory in space.read(lambda tx: steps.listing(tx, limit))
    ]
    return tuple(sorted(found, key=lambda memory: (-memory.first_seen, memory.id))[:limit])


def undo_capture(context: Context, memory: str) -> Memory:
    """Take a captured memory out of use.

    memory: its id, or the beginning of it

    Example: recollect capture undo m-4k9w2c
    """
    for space in context.present_spaces():
        if undone := space.write(lambda tx: steps.undo(tx, memory)):
            return undone
    raise NotFound(
        "there is no captured memory with this id",
        where=memory,
        hint="`recollect capture list` shows what was captured",
    )
