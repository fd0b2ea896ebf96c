"""What other frameworks keep with us: what the adapters stand on, and nobody else.

Two kinds of things: values on shelves (`flows.shelf`), and conversations that a framework hands
over as it goes (`flows.handover`). Of a conversation, the framework's records lie on a shelf, to
be given back as they came; what was said goes into the archive beside it. What a framework takes
back leaves the shelf; the archive keeps it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, TypeVar

from .. import flows
from ..hosts.naming import session_id
from ..types import Json
from .opened import new_id

if TYPE_CHECKING:
    from ..flows.handover import Fold
    from ..flows.shelf import Folder as Folder
    from ..flows.shelf import Kept as Kept
    from ..flows.shelf import Put as Put
    from ..hosts.stream import Item
    from .whole import Recollect

Answer = TypeVar("Answer")


def placed(folder: Folder, key: str, value: Json, **how: Any) -> Put:
    """A value and its place: `words` it is found by, `vectors` it is near to, `life` of it."""
    return flows.shelf.Put(folder, key, value, **how)


class Shelves:
    """Put, get, find and clear values; take over, give back and take away conversations."""

    def __init__(self, memory: Recollect) -> None:
        self._memory = memory
        self._space = memory._project_space
        self._clock = memory._clock
        self._origin = memory.origin

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
        self._space.write(lambda tx: flows.shelf.put(tx, shelf, puts, self._origin, now))

    def get(self, shelf: str, folder: Folder, key: str) -> Kept | None:
        """The value at a place."""
        now = self._clock()
        return self._space.read(lambda tx: flows.shelf.get(tx, shelf, folder, key, now))

    def below(self, shelf: str, folder: Folder) -> list[Kept]:
        """The values in a folder and in those inside of it, the newest first."""
        now = self._clock()
        return self._space.read(lambda tx: flows.shelf.below(tx, shelf, folder, now))

    def folders(self, shelf: str, folder: Folder = ()) -> list[tuple[Folder, int]]:
        """The folders that hold a value, and when each was written to last."""
        now = self._clock()
        if self._space.read(lambda tx: flows.shelf.is_due(tx, shelf, now)):
            self.sweep(shelf)
        return self._space.read(lambda tx: flows.shelf.folders(tx, shelf, folder))

    def matches(self, shelf: str, query: str) -> dict[str, float]:
        """The addresses of values that hold words of a query, with how well they match."""
        return self._space.read(lambda tx: flows.shelf.matches(tx, shelf, query))

    def touch(self, addresses: Sequence[str]) -> None:
        """Values that were asked for live on from now."""
        now = self._clock()
        if addresses:
            self._space.write(lambda tx: flows.shelf.touch(tx, addresses, now))

    def sweep(self, shelf: str) -> int:
        """Take away what is over; gives how many there were."""
        now = self._clock()
        return self._space.write(lambda tx: flows.shelf.sweep(tx, shelf, now))

    def add_turns(self, host: str, thread: str, turns: Sequence[Json]) -> None:
        """Take over the next turns of a conversation, all or none."""
        now = self._clock()
        given = flows.handover.prepare(turns, self._origin, now)
        about = self._memory._new_session(session_id(host, thread), thread, host)
        self._space.write(lambda tx: flows.handover.add(tx, host, thread, given, about, now))

    def turns(self, host: str, thread: str, limit: int | None = None) -> list[Json]:
        """The newest turns of a conversation, the oldest of them first."""
        return self._space.read(lambda tx: flows.handover.turns(tx, host, thread, limit))

    def pop_turn(self, host: str, thread: str) -> Json:
        """Take back the newest turn; None when there is none. The archive keeps it."""
        now = self._clock()
        return self._space.write(lambda tx: flows.handover.pop(tx, host, thread, now))

    def clear_turns(self, host: str, thread: str) -> None:
        """Take back all turns; what comes next is another session of the archive."""
        now = self._clock()
        self._space.write(lambda tx: flows.handover.clear(tx, host, thread, now))

    def mirror(self, host: str, folder: Folder, records: Sequence[Json], fold: Fold | None) -> None:
        """Take over records of one of Claude Code's transcripts, and what was said in them."""
        now = self._clock()
        new = self._space.write(
            lambda tx: flows.handover.mirror(tx, host, folder, records, fold, now)
        )
        from ..hosts.claude_code import transcript
        from ..hosts.stream import Entry, Transcript

        # A transcript that came this way is one that also lies in a file: same ids, same session.
        source = Transcript(transcript.HOST, "/".join((host, *folder)))
        typed = self._origin == "user"
        how = flows.imports.Reading(
            self._memory.settings.capture and typed, new_id, self._clock, None
        )

        def items(cursor: Mapping[str, Json] | None) -> Iterator[Item]:
            for item in transcript.read_records(new, cursor, f"{folder[-1]}.jsonl"):
                if isinstance(item, Entry) and not typed and item.origin in ("", "user"):
                    item = item._replace(origin="agent" if item.message.role == "user" else "")
                yield item

        flows.imports.take(self._space, source, items, how)

    def unmirror(self, host: str, folder: Folder) -> None:
        """Take back a transcript and those that belong to it; the archive keeps what was said."""
        now = self._clock()
        self._space.write(lambda tx: flows.handover.unmirror(tx, host, folder, now))

    def mirrored(self, host: str, project: str) -> list[Kept]:
        """What was folded of each transcript of a project."""
        side, above, _ = flows.handover.summary_place(host, (project, ""))
        return self.below(side, above)
