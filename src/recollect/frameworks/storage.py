"""Storage for the adapters of other frameworks: transactions, and conversations.

Each framework has its own keys. `steps_folders` stores values. The records of a conversation are
stored unchanged, to be returned later, and their messages are added to the archive. Removing a
record does not remove its messages from the archive. A cleared thread continues in a new session,
so that each session of the archive is one conversation.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Concatenate, NamedTuple, ParamSpec, TypeVar

from ..agents import operations_import as agents_operations_import
from ..agents.registry import make_session_id
from ..archive import operations as archive_operations
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
from .steps_folders import Folder, Owner, PutValue, StoredValue

if TYPE_CHECKING:
    from ..agents.transcripts.reader_io import TranscriptItem
    from ..client import Recollect

FORM = "responses"
_EVERY = 1_000_000
Answer = TypeVar("Answer")
Given = ParamSpec("Given")
Step = Callable[Concatenate[Tx, Owner, Given], Answer]
Fold = Callable[[Json, Sequence[Json]], Json]
"""Returns the new summary of a transcript from the old one (None at first) and new records."""


class FrameworkStorage:
    """Runs steps on the records of a framework, in transactions of the project's space."""

    def __init__(self, memory: Recollect, framework: str) -> None:
        self._memory, self._framework = memory, framework
        self._context = memory.context
        self._space = memory.context.project_space

    def _owner(self) -> Owner:
        return Owner(self._framework, self._context.origin, self._context.clock())

    def read(self, step: Step[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Run a step that reads."""
        owner = self._owner()
        return self._space.read(lambda tx: step(tx, owner, *given, **named))

    def write(self, step: Step[Given, Answer], *given: Given.args, **named: Given.kwargs) -> Answer:
        """Run a step that writes, all or nothing."""
        owner = self._owner()
        return self._space.write(lambda tx: step(tx, owner, *given, **named))

    async def run(
        self, work: Callable[Given, Answer], *given: Given.args, **named: Given.kwargs
    ) -> Answer:
        """Run work in a thread and close its connection: the next call may use another thread."""
        import asyncio

        def inside() -> Answer:
            with self._memory:
                return work(*given, **named)

        return await asyncio.to_thread(inside)

    def list_folders(self, folder: Folder = ()) -> list[tuple[Folder, int]]:
        """Return the folders that hold a value with the time of their last write."""
        if self.read(steps_folders.may_have_expired):
            self.write(steps_folders.remove_expired)
        return self.read(steps_folders.list_folders, folder)

    def add_turns(self, thread: str, turns: Sequence[Json]) -> None:
        """Store the next turns of a conversation, all or none."""
        owner = self._owner()
        records = _prepare_records(turns, owner)
        about = archive_operations.build_session(
            self._context, make_session_id(owner.framework, thread), thread, owner.framework
        )
        self.write(_add_turns, thread, records, about)

    def mirror_records(self, folder: Folder, records: Sequence[Json], fold: Fold | None) -> None:
        """Store records of a Claude Code transcript, and archive their messages."""
        new = self.write(_mirror_records, folder, records, fold)
        from ..agents.claude_code import transcripts
        from ..agents.transcripts.reader_io import Transcript, TranscriptEntry

        # The transcript may also exist as a file, with the same ids and session.
        source = Transcript(transcripts.HOST, "/".join((self._framework, *folder)))
        typed = self._context.origin == "user"
        options = agents_operations_import.ImportOptions(
            capture=self._context.settings.capture and typed, clock=self._context.clock
        )

        def items(cursor: Mapping[str, Json] | None) -> Iterator[TranscriptItem]:
            for item in transcripts.read_records(new, cursor, f"{folder[-1]}.jsonl"):
                if isinstance(item, TranscriptEntry) and not typed and item.origin in ("", "user"):
                    item = item._replace(origin="agent" if item.message.role == "user" else "")
                yield item

        agents_operations_import.import_items(self._space, source, items, options)


# ---------------------------------------------------------------- turns of a thread


class FrameworkRecord(NamedTuple):
    """A record of the framework with its messages."""

    value: Json
    messages: tuple[archive_steps.PreparedMessage, ...]


def _prepare_records(values: Sequence[Json], owner: Owner) -> list[FrameworkRecord]:
    """Decode records before the transaction; an unknown record becomes an opaque block."""
    return [
        FrameworkRecord(
            value,
            tuple(
                archive_steps.prepare(item, owner.now)
                for message in _decode(value)
                for item in archive_steps.parse_incoming(message, "", "", "", owner.origin)
            ),
        )
        for value in values
    ]


def _decode(value: Json) -> list[Message]:
    try:
        return formats.from_wire([value], FORM)
    except InvalidInput:
        return [Message("assistant", (opaque_block(FORM, value, item=True),))]


def _add_turns(
    tx: Tx,
    owner: Owner,
    thread: str,
    records: Sequence[FrameworkRecord],
    about: archive_steps.NewSession,
) -> None:
    # The lock serialises writers of the same thread.
    steps_folders.lock_records(tx, owner)
    part = _read_part(tx, owner, thread)
    name = make_session_id(owner.framework, thread, *((str(part),) if part > 1 else ()))
    session = about._replace(id=redaction.check_name(name, "session id"))
    last = steps_folders.list_last(tx, owner, (thread,), 1)
    place = int(last[0].key) if last else 0
    puts: list[PutValue] = []
    prepared: list[archive_steps.PreparedMessage] = []
    for item in records:
        place += 1
        puts.append(PutValue((thread,), f"{place:012d}", item.value))
        for at, message in enumerate(item.messages):
            # A turn that is removed and added again at the same position is the same message.
            key = f"{place}.{at}:{text_messages.text_digest(message.body)[:24]}"
            prepared.append(_drop_known_calls(tx, session.id, message)._replace(key=key))
    steps_folders.put_values(tx, owner._replace(origin=about.origin), puts)
    if prepared:
        archive_steps.record(tx, session, prepared, owner.now)


def _drop_known_calls(
    tx: Tx, session: str, message: archive_steps.PreparedMessage
) -> archive_steps.PreparedMessage:
    """Drop calls that are recorded already: a turn may be removed and added again."""
    known = [storage_sql.find_write(tx, f"call {session} {call.id}") for call in message.calls]
    return message._replace(calls=()) if any(known) else message


def list_turns(tx: Tx, owner: Owner, thread: str, limit: int | None = None) -> list[Json]:
    """Return the newest turns of a thread in their order."""
    most = _EVERY if limit is None else max(limit, 0)
    found = steps_folders.list_last(tx, owner, (thread,), most)
    return [item.value for item in reversed(found)]


def pop_turn(tx: Tx, owner: Owner, thread: str) -> Json:
    """Remove and return the newest turn; None without one. The archive keeps it."""
    steps_folders.lock_records(tx, owner)
    found = steps_folders.list_last(tx, owner, (thread,), 1)
    if not found:
        return None
    steps_folders.put_values(tx, owner, [PutValue((thread,), found[0].key, None)])
    return found[0].value


def clear_turns(tx: Tx, owner: Owner, thread: str) -> None:
    """Remove all turns; later ones begin a new session in the archive."""
    steps_folders.lock_records(tx, owner)
    if steps_folders.list_last(tx, owner, (thread,), 1):
        steps_folders.clear_folder(tx, owner, (thread,))
        part = redaction.redact(str(_read_part(tx, owner, thread) + 1))
        storage_sql.set_value(tx, _part_key(owner, thread), part, owner.now)


def _read_part(tx: Tx, owner: Owner, thread: str) -> int:
    return int(storage_sql.get_value(tx, _part_key(owner, thread)) or 1)


def _part_key(owner: Owner, thread: str) -> str:
    return f"thread {make_session_id(owner.framework, thread)}"


# ---------------------------------------------------------------- mirrored transcripts


def _mirror_records(
    tx: Tx, owner: Owner, folder: Folder, records: Sequence[Json], fold: Fold | None
) -> list[Json]:
    """Store the new records of a transcript and return them.

    Records with the same uuid are the same.
    """
    owner = owner._replace(origin="agent")
    fresh: dict[str, Json] = {}
    so_far, _ = steps_folders.lock_records(tx, owner)
    for entry in records:
        key = str(entry.get("uuid") or f"{so_far + len(fresh):012d}")
        if key not in fresh and steps_folders.get_value(tx, owner, folder, key) is None:
            fresh[key] = entry
    puts = [PutValue(folder, key, entry) for key, entry in fresh.items()]
    steps_folders.put_values(tx, owner, puts)
    if fold and fresh:
        side = _summaries(owner)
        known = steps_folders.get_value(tx, side, folder[:1], folder[1])
        folded = fold(known.value if known else None, list(fresh.values()))
        steps_folders.put_values(tx, side, [PutValue(folder[:1], folder[1], folded)])
    return list(fresh.values())


def remove_mirror(tx: Tx, owner: Owner, folder: Folder) -> None:
    """Remove a transcript and its subagents' ones; the archive keeps the messages."""
    steps_folders.clear_folder(tx, owner, folder)
    if len(folder) == 2:
        steps_folders.put_values(tx, _summaries(owner), [PutValue(folder[:1], folder[1], None)])


def list_summaries(tx: Tx, owner: Owner, project: str) -> list[StoredValue]:
    """Return the summaries of a project's transcripts."""
    return steps_folders.list_below(tx, _summaries(owner), (project,))


def _summaries(owner: Owner) -> Owner:
    """Return the owner of the summaries of transcripts: by project, with the session as key."""
    return owner._replace(framework=f"{owner.framework}-summaries")
