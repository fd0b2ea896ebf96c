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
from ..agents.session_names import session_id
from ..archive import operations as archive_operations
from ..context import new_id
from ..types.records import Json
from . import steps_conversations, steps_folders

if TYPE_CHECKING:
    from ..agents.transcripts.reader_io import Item
    from ..client import Recollect
    from .steps_conversations import Fold
    from .steps_folders import Folder as Folder
    from .steps_folders import Kept as Kept
    from .steps_folders import Put as Put

Answer = TypeVar("Answer")


def placed(folder: Folder, key: str, value: Json, **how: Any) -> Put:
    """A value and its place: `words` it is found by, `vectors` it is near to, `life` of it."""
    return steps_folders.Put(folder, key, value, **how)


class Shelves:
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

    def put(self, shelf: str, puts: Sequence[Put]) -> None:
        """Keep values, or take them away, all in one transaction."""
        now = self._clock()
        self._space.write(lambda tx: steps_folders.put(tx, shelf, puts, self._origin, now))

    def get(self, shelf: str, folder: Folder, key: str) -> Kept | None:
        """The value at a place."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.get(tx, shelf, folder, key, now))

    def below(self, shelf: str, folder: Folder) -> list[Kept]:
        """The values in a folder and in those inside of it, the newest first."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.below(tx, shelf, folder, now))

    def folders(self, shelf: str, folder: Folder = ()) -> list[tuple[Folder, int]]:
        """The folders that hold a value, and when each was written to last."""
        now = self._clock()
        if self._space.read(lambda tx: steps_folders.is_due(tx, shelf, now)):
            self.sweep(shelf)
        return self._space.read(lambda tx: steps_folders.folders(tx, shelf, folder))

    def matches(self, shelf: str, query: str) -> dict[str, float]:
        """The addresses of values that hold words of a query, with how well they match."""
        return self._space.read(lambda tx: steps_folders.matches(tx, shelf, query))

    def touch(self, addresses: Sequence[str]) -> None:
        """Values that were asked for live on from now."""
        now = self._clock()
        if addresses:
            self._space.write(lambda tx: steps_folders.touch(tx, addresses, now))

    def sweep(self, shelf: str) -> int:
        """Take away what is over; gives how many there were."""
        now = self._clock()
        return self._space.write(lambda tx: steps_folders.sweep(tx, shelf, now))

    def add_turns(self, host: str, thread: str, turns: Sequence[Json]) -> None:
        """Take over the next turns of a conversation, all or none."""
        now = self._clock()
        given = steps_conversations.prepare(turns, self._origin, now)
        about = archive_operations.new_session(
            self._memory.context, session_id(host, thread), thread, host
        )
        self._space.write(lambda tx: steps_conversations.add(tx, host, thread, given, about, now))

    def turns(self, host: str, thread: str, limit: int | None = None) -> list[Json]:
        """The newest turns of a conversation, the oldest of them first."""
        return self._space.read(lambda tx: steps_conversations.turns(tx, host, thread, limit))

    def pop_turn(self, host: str, thread: str) -> Json:
        """Take back the newest turn; None when there is none. The archive keeps it."""
        now = self._clock()
        return self._space.write(lambda tx: steps_conversations.pop(tx, host, thread, now))

    def clear_turns(self, host: str, thread: str) -> None:
        """Take back all turns; what comes next is another session of the archive."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.clear(tx, host, thread, now))

    def mirror(self, host: str, folder: Folder, records: Sequence[Json], fold: Fold | None) -> None:
        """Take over records of one of Claude Code's transcripts, and what was said in them."""
        now = self._clock()
        new = self._space.write(
            lambda tx: steps_conversations.mirror(tx, host, folder, records, fold, now)
        )
        from ..agents.claude_code import transcripts
        from ..agents.transcripts.reader_io import Entry, Transcript

        # A transcript that came this way is one that also lies in a file: same ids, same session.
        source = Transcript(transcripts.HOST, "/".join((host, *folder)))
        typed = self._origin == "user"
        how = agents_operations_import.Reading(
            self._memory.context.settings.capture and typed, new_id, self._clock, None
        )

        def items(cursor: Mapping[str, Json] | None) -> Iterator[Item]:
            for item in transcripts.read_records(new, cursor, f"{folder[-1]}.jsonl"):
                if isinstance(item, Entry) and not typed and item.origin in ("", "user"):
                    item = item._replace(origin="agent" if item.message.role == "user" else "")
                yield item

        agents_operations_import.take(self._space, source, items, how)

    def unmirror(self, host: str, folder: Folder) -> None:
        """Take back a transcript and those that belong to it; the archive keeps what was said."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.unmirror(tx, host, folder, now))

    def mirrored(self, host: str, project: str) -> list[Kept]:
        """What was folded of each transcript of a project."""
        side, above, _ = steps_conversations.summary_place(host, (project, ""))
        return self.below(side, above)
