"""Conversations that a framework hands over turn by turn and asks back in its own form.

Its records lie on a shelf as they were given; what was said in them goes into the archive. What the
framework takes back leaves the shelf and stays in the archive. A thread that was cleared goes on in
a new session, so that each session of the archive is one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..agents.session_names import session_id
from ..archive import steps as archive_steps
from ..errors import InvalidInput
from ..providers import formats
from ..providers.content_blocks import opaque
from ..secrets import names, redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import digests
from ..types.records import Json, Message
from . import steps_folders

FORM = "responses"
_EVERY = 1_000_000


class Given(NamedTuple):
    """A record of the framework and what was said in it."""

    value: Json
    said: tuple[archive_steps.Prepared, ...]


def prepare(values: Sequence[Json], opener: str, now: int) -> list[Given]:
    """The work that needs no transaction. What the form does not know is kept whole."""
    return [
        Given(
            value,
            tuple(
                archive_steps.prepare(item, now)
                for message in _messages(value)
                for item in archive_steps.incoming(message, "", "", "", opener)
            ),
        )
        for value in values
    ]


def _messages(value: Json) -> list[Message]:
    try:
        return formats.from_wire([value], FORM)
    except InvalidInput:
        return [Message("assistant", (opaque(FORM, value, item=True),))]


def add(
    tx: Tx,
    host: str,
    thread: str,
    given: Sequence[Given],
    about: archive_steps.NewSession,
    now: int,
) -> None:
    """Keep the next turns of a thread."""
    # Whoever adds to the same thread waits here: places are given one after the other.
    steps_folders.hold(tx, host, now)
    name = session_of(host, thread, _part(tx, host, thread))
    session = about._replace(id=names.checked_name(name, "session id"))
    there = steps_folders.last(tx, host, (thread,), 1)
    place = int(there[0].key) if there else 0
    puts: list[steps_folders.Put] = []
    said: list[archive_steps.Prepared] = []
    for item in given:
        place += 1
        puts.append(steps_folders.Put((thread,), f"{place:012d}", item.value))
        for at, message in enumerate(item.said):
            # The same turn in the same place, taken back and given again, was said once.
            key = f"{place}.{at}:{digests.text_digest(message.body)[:24]}"
            said.append(_claimable(tx, session.id, message)._replace(key=key))
    steps_folders.put(tx, host, puts, about.origin, now)
    if said:
        archive_steps.record(tx, session, said, now)


def _claimable(tx: Tx, session: str, message: archive_steps.Prepared) -> archive_steps.Prepared:
    """A call that was taken back and given again in other words is not a new call."""
    known = [storage_sql.written(tx, f"call {session} {call.id}") for call in message.calls]
    return message._replace(calls=()) if any(known) else message


def turns(tx: Tx, host: str, thread: str, limit: int | None) -> list[Json]:
    """The newest turns of a thread, the oldest of them first."""
    found = steps_folders.last(tx, host, (thread,), _EVERY if limit is None else max(limit, 0))
    return [item.value for item in reversed(found)]


def pop(tx: Tx, host: str, thread: str, now: int) -> Json:
    """Take back the newest turn; None when there is none."""
    steps_folders.hold(tx, host, now)
    found = steps_folders.last(tx, host, (thread,), 1)
    if not found:
        return None
    steps_folders.put(tx, host, [steps_folders.Put((thread,), found[0].key, None)], "agent", now)
    return found[0].value


def clear(tx: Tx, host: str, thread: str, now: int) -> None:
    """Take back all turns; what comes next is another conversation."""
    steps_folders.hold(tx, host, now)
    if steps_folders.last(tx, host, (thread,), 1):
        steps_folders.clear(tx, host, (thread,), now)
        part = str(_part(tx, host, thread) + 1)
        storage_sql.put(tx, _state(host, thread), redaction.safe(part), now)


Fold = Callable[[Json, Sequence[Json]], Json]
"""What was known of a transcript (None at first) and what is new, into what is known now."""


def mirror(
    tx: Tx,
    host: str,
    folder: steps_folders.Folder,
    records: Sequence[Json],
    fold: Fold | None,
    now: int,
) -> list[Json]:
    """Keep the records of a transcript that are not there yet; gives them.

    One with the same uuid is the same record."""
    fresh: dict[str, Json] = {}
    so_far, _ = steps_folders.hold(tx, host, now)
    for entry in records:
        key = str(entry.get("uuid") or f"{so_far + len(fresh):012d}")
        if key not in fresh and steps_folders.get(tx, host, folder, key, now) is None:
            fresh[key] = entry
    puts = [steps_folders.Put(folder, key, entry) for key, entry in fresh.items()]
    steps_folders.put(tx, host, puts, "agent", now)
    if fold and fresh:
        side, above, key = summary_place(host, folder)
        known = steps_folders.get(tx, side, above, key, now)
        folded = fold(known.value if known else None, list(fresh.values()))
        steps_folders.put(tx, side, [steps_folders.Put(above, key, folded)], "agent", now)
    return list(fresh.values())


def unmirror(tx: Tx, host: str, folder: steps_folders.Folder, now: int) -> None:
    """Take back a transcript and those that belong to it."""
    steps_folders.clear(tx, host, folder, now)
    if len(folder) == 2:
        side, above, key = summary_place(host, folder)
        steps_folders.put(tx, side, [steps_folders.Put(above, key, None)], "agent", now)


def summary_place(host: str, folder: steps_folders.Folder) -> tuple[str, steps_folders.Folder, str]:
    """Where the summary of a transcript lies: the shelf, the folder and the key."""
    return f"{host}-summaries", folder[:1], folder[1]


def session_of(host: str, thread: str, part: int) -> str:
    """The archive's name for a thread's conversation."""
    return session_id(host, thread, *((str(part),) if part > 1 else ()))


def _part(tx: Tx, host: str, thread: str) -> int:
    return int(storage_sql.get(tx, _state(host, thread)) or 1)


def _state(host: str, thread: str) -> str:
    return f"thread {session_id(host, thread)}"
