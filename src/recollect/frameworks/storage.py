"""What other frameworks keep with us: what the adapters stand on, and nobody else.

Two kinds of things: values in folders (`frameworks.steps_folders`), and conversations that a
framework hands over as it goes (`frameworks.steps_conversations`). Of a conversation, the
framework's records lie in a folder, to be given back as they came; what was said goes into the
archive beside it. What a framework takes back leaves the shelf; the archive keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from ..agents import operations_import as agents_operations_import
from ..agents.session_names import make_session_id
from ..archive import operations as archive_operations
from ..context import new_id
from ..types.records import Json
from . import steps_conversations, steps_folders

if TYPE_CHECKING:
    from ..agents.transcripts.reader_io import TranscriptItem
    from ..client import Recollect
    from .steps_conversations import Fold
    from .steps_folders import Folder as Folder
    from .steps_folders import PutValue as PutValue
    from .steps_folders import StoredValue as StoredValue

Answer = TypeVar("Answer")


def make_put(folder: Folder, key: str, value: Json, **how: Any) -> PutValue:
    """A value and its place: `words` it is found by, `vectors` it is near to, `life` of it."""
    return steps_folders.PutValue(folder, key, value, **how)


class FrameworkStorage:
    """Put, get, find and clear values; take over, give back and take away conversations."""

    def __init__(self, memory: Recollect) -> None:
        self._memory = memory
        self._space = memory.context.project_space
        self._clock = memory.context.clock
        self._origin = memory.context.origin

    async def beside(self, work: Callable[[], Answer]) -> Answer:
        """Work in a thread, which gives its connection back: the next may run in another."""
        import asyncio

        def inside() -> Answer:
            with self._memory:
                return work()

        return await asyncio.to_thread(inside)

    def put(self, shelf: str, puts: Sequence[PutValue]) -> None:
        """Keep values, or take them away, all in one transaction."""
        now = self._clock()
        self._space.write(lambda tx: steps_folders.put_values(tx, shelf, puts, self._origin, now))

    def get(self, shelf: str, folder: Folder, key: str) -> StoredValue | None:
        """The value at a place."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.get_value(tx, shelf, folder, key, now))

    def below(self, shelf: str, folder: Folder) -> list[StoredValue]:
        """The values in a folder and in those inside of it, the newest first."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.list_below(tx, shelf, folder, now))

    def folders(self, shelf: str, folder: Folder = ()) -> list[tuple[Folder, int]]:
        """The folders that hold a value, and when each was written to last."""
        now = self._clock()
        if self._space.read(lambda tx: steps_folders.may_have_expired(tx, shelf, now)):
            self.sweep(shelf)
        return self._space.read(lambda tx: steps_folders.list_folders(tx, shelf, folder))

    def matches(self, shelf: str, query: str) -> dict[str, float]:
        """The addresses of values that hold words of a query, with how well they match."""
        return self._space.read(lambda tx: steps_folders.find_matches(tx, shelf, query))

    def touch(self, addresses: Sequence[str]) -> None:
        """Values that were asked for live on from now."""
        now = self._clock()
        if addresses:
            self._space.write(lambda tx: steps_folders.renew_values(tx, addresses, now))

    def sweep(self, shelf: str) -> int:
        """Take away what is over; gives how many there were."""
        now = self._clock()
        return self._space.write(lambda tx: steps_folders.remove_expired(tx, shelf, now))

    def add_turns(self, host: str, thread: str, turns: Sequence[Json]) -> None:
        """Take over the next turns of a conversation, all or none."""
        now = self._clock()
        given = steps_conversations.prepare_records(turns, self._origin, now)
        about = archive_operations.build_session(
            self._memory.context, make_session_id(host, thread), thread, host
        )
        self._space.write(
            lambda tx: steps_conversations.add_turns(tx, host, thread, given, about, now)
        )

    def turns(self, host: str, thread: str, limit: int | None = None) -> list[Json]:
        """The newest turns of a conversation, the oldest of them first."""
        return self._space.read(lambda tx: steps_conversations.list_turns(tx, host, thread, limit))

    def pop_turn(self, host: str, thread: str) -> Json:
        """Take back the newest turn; None when there is none. The archive keeps it."""
        now = self._clock()
        return self._space.write(lambda tx: steps_conversations.pop_turn(tx, host, thread, now))

    def clear_turns(self, host: str, thread: str) -> None:
        """Take back all turns; what comes next is another session of the archive."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.clear_turns(tx, host, thread, now))

    def mirror(self, host: str, folder: Folder, records: Sequence[Json], fold: Fold | None) -> None:
        """Take over records of one of Claude Code's transcripts, and what was said in them."""
        now = self._clock()
        new = self._space.write(
            lambda tx: steps_conversations.mirror_records(tx, host, folder, records, fold, now)
        )
        from ..agents.claude_code import transcripts
        from ..agents.transcripts.reader_io import Transcript, TranscriptEntry

        # A transcript that came this way is one that also lies in a file: same ids, same session.
        source = Transcript(transcripts.HOST, "/".join((host, *folder)))
        typed = self._origin == "user"
        how = agents_operations_import.ImportOptions(
            self._memory.context.settings.capture and typed, new_id, self._clock, None
        )

        def items(cursor: Mapping[str, Json] | None) -> Iterator[TranscriptItem]:
            for item in transcripts.read_records(new, cursor, f"{folder[-1]}.jsonl"):
                if isinstance(item, TranscriptEntry) and not typed and item.origin in ("", "user"):
                    item = item._replace(origin="agent" if item.message.role == "user" else "")
                yield item

        agents_operations_import.import_items(self._space, source, items, how)

    def unmirror(self, host: str, folder: Folder) -> None:
        """Take back a transcript and those that belong to it; the archive keeps what was said."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.remove_mirror(tx, host, folder, now))

    def mirrored(self, host: str, project: str) -> list[StoredValue]:
        """What was folded of each transcript of a project."""
        side, above, _ = steps_conversations.locate_summary(host, (project, ""))
        return self.below(side, above)
