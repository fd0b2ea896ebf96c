"""Conversations of a framework: its records are kept unchanged, their messages go to the archive.

A removed record is gone; the archive keeps its messages. A cleared thread continues in a
new session, so that each session of the archive is one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..agents.registry import make_session_id
from ..archive import steps as archive_steps
from ..errors import InvalidInput
from ..providers import formats
from ..providers.content_blocks import opaque_block
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages as text_messages
from ..types.records import Json, Message
from . import steps_folders

FORM = "responses"
_EVERY = 1_000_000


class FrameworkRecord(NamedTuple):
    """A record of the framework with its messages."""

    value: Json
    messages: tuple[archive_steps.PreparedMessage, ...]


def prepare_records(values: Sequence[Json], opener: str, now: int) -> list[FrameworkRecord]:
    """Decode records before the transaction; an unknown record becomes an opaque block."""
    return [
        FrameworkRecord(
            value,
            tuple(
                archive_steps.prepare(item, now)
                for message in _messages(value)
                for item in archive_steps.parse_incoming(message, "", "", "", opener)
            ),
        )
        for value in values
    ]


def _messages(value: Json) -> list[Message]:
    try:
        return formats.from_wire([value], FORM)
    except InvalidInput:
        return [Message("assistant", (opaque_block(FORM, value, item=True),))]


def add_turns(
    tx: Tx,
    framework: str,
    thread: str,
    records: Sequence[FrameworkRecord],
    about: archive_steps.NewSession,
    now: int,
) -> None:
    """Store the next turns of a thread."""
    # The lock serialises writers of the same thread.
    steps_folders.lock_records(tx, framework, now)
    name = make_session_name(framework, thread, _read_part(tx, framework, thread))
    session = about._replace(id=redaction.check_name(name, "session id"))
    there = steps_folders.list_last(tx, framework, (thread,), 1)
    place = int(there[0].key) if there else 0
    puts: list[steps_folders.PutValue] = []
    prepared: list[archive_steps.PreparedMessage] = []
    for item in records:
        place += 1
        puts.append(steps_folders.PutValue((thread,), f"{place:012d}", item.value))
        for at, message in enumerate(item.messages):
            # A turn that is removed and added again at the same place is the same message.
            key = f"{place}.{at}:{text_messages.text_digest(message.body)[:24]}"
            prepared.append(_drop_known_calls(tx, session.id, message)._replace(key=key))
    steps_folders.put_values(tx, framework, puts, about.origin, now)
    if prepared:
        archive_steps.record(tx, session, prepared, now)


def _drop_known_calls(
    tx: Tx, session: str, message: archive_steps.PreparedMessage
) -> archive_steps.PreparedMessage:
    """Drop calls that are recorded already: a turn may be removed and added again."""
    known = [storage_sql.find_write(tx, f"call {session} {call.id}") for call in message.calls]
    return message._replace(calls=()) if any(known) else message


def list_turns(tx: Tx, framework: str, thread: str, limit: int | None) -> list[Json]:
    """Return the newest turns of a thread in their order."""
    found = steps_folders.list_last(
        tx, framework, (thread,), _EVERY if limit is None else max(limit, 0)
    )
    return [item.value for item in reversed(found)]


def pop_turn(tx: Tx, framework: str, thread: str, now: int) -> Json:
    """Remove and return the newest turn; None if there is none."""
    steps_folders.lock_records(tx, framework, now)
    found = steps_folders.list_last(tx, framework, (thread,), 1)
    if not found:
        return None
    steps_folders.put_values(
        tx, framework, [steps_folders.PutValue((thread,), found[0].key, None)], "agent", now
    )
    return found[0].value


def clear_turns(tx: Tx, framework: str, thread: str, now: int) -> None:
    """Remove all turns; later ones begin a new session."""
    steps_folders.lock_records(tx, framework, now)
    if steps_folders.list_last(tx, framework, (thread,), 1):
        steps_folders.clear_folder(tx, framework, (thread,), now)
        part = str(_read_part(tx, framework, thread) + 1)
        storage_sql.set_value(tx, _state_key(framework, thread), redaction.redact(part), now)


Fold = Callable[[Json, Sequence[Json]], Json]
"""Returns the new summary of a transcript from the old one (None at first) and new records."""


def mirror_records(
    tx: Tx,
    framework: str,
    folder: steps_folders.Folder,
    records: Sequence[Json],
    fold: Fold | None,
    now: int,
) -> list[Json]:
    """Store the new records of a transcript and return them.

    Records with the same uuid are the same.
    """
    fresh: dict[str, Json] = {}
    so_far, _ = steps_folders.lock_records(tx, framework, now)
    for entry in records:
        key = str(entry.get("uuid") or f"{so_far + len(fresh):012d}")
        if key not in fresh and steps_folders.get_value(tx, framework, folder, key, now) is None:
            fresh[key] = entry
    puts = [steps_folders.PutValue(folder, key, entry) for key, entry in fresh.items()]
    steps_folders.put_values(tx, framework, puts, "agent", now)
    if fold and fresh:
        side, above, key = locate_summary(framework, folder)
        known = steps_folders.get_value(tx, side, above, key, now)
        folded = fold(known.value if known else None, list(fresh.values()))
        steps_folders.put_values(
            tx, side, [steps_folders.PutValue(above, key, folded)], "agent", now
        )
    return list(fresh.values())


def remove_mirror(tx: Tx, framework: str, folder: steps_folders.Folder, now: int) -> None:
    """Remove a transcript and those of its subagents."""
    steps_folders.clear_folder(tx, framework, folder, now)
    if len(folder) == 2:
        side, above, key = locate_summary(framework, folder)
        steps_folders.put_values(tx, side, [steps_folders.PutValue(above, key, None)], "agent", now)


def locate_summary(
    framework: str, folder: steps_folders.Folder
) -> tuple[str, steps_folders.Folder, str]:
    """Return owner, folder and key of a transcript's summary."""
    return f"{framework}-summaries", folder[:1], folder[1]


def make_session_name(framework: str, thread: str, part: int) -> str:
    """Return the session id of a thread's current conversation."""
    return make_session_id(framework, thread, *((str(part),) if part > 1 else ()))


def _read_part(tx: Tx, framework: str, thread: str) -> int:
    return int(storage_sql.get_value(tx, _state_key(framework, thread)) or 1)


def _state_key(framework: str, thread: str) -> str:
    return f"thread {make_session_id(framework, thread)}"
