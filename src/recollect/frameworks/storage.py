"""Storage for the adapters of other frameworks: values in folders, and conversations.

Each framework has its own keys. Values are kept by `steps_folders`, conversations by
`steps_conversations`: the framework's records are stored unchanged to be returned later, and the
messages in them go into the archive. A removed record is gone; the archive keeps its messages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ..agents import operations_import as agents_operations_import
from ..agents.registry import make_session_id
from ..archive import operations as archive_operations
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


class FrameworkStorage:
    """Stores, finds and removes values and conversations of a framework."""

    def __init__(self, memory: Recollect) -> None:
        self._memory = memory
        self._space = memory.context.project_space
        self._clock = memory.context.clock
        self._origin = memory.context.origin

    async def run_in_thread(self, work: Callable[[], Answer]) -> Answer:
        """Run work in a thread and close its connection: the next call may use another thread."""
        import asyncio

        def inside() -> Answer:
            with self._memory:
                return work()

        return await asyncio.to_thread(inside)

    def put(self, framework: str, puts: Sequence[PutValue]) -> None:
        """Store or remove values in one transaction."""
        now = self._clock()
        self._space.write(
            lambda tx: steps_folders.put_values(tx, framework, puts, self._origin, now)
        )

    def get(self, framework: str, folder: Folder, key: str) -> StoredValue | None:
        """Return the value with a key; None if there is none."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.get_value(tx, framework, folder, key, now))

    def list_below(self, framework: str, folder: Folder) -> list[StoredValue]:
        """Return the values in a folder and its subfolders, newest first."""
        now = self._clock()
        return self._space.read(lambda tx: steps_folders.list_below(tx, framework, folder, now))

    def list_folders(self, framework: str, folder: Folder = ()) -> list[tuple[Folder, int]]:
        """Return the folders that hold a value with the time of their last write."""
        now = self._clock()
        if self._space.read(lambda tx: steps_folders.may_have_expired(tx, framework, now)):
            self.remove_expired(framework)
        return self._space.read(lambda tx: steps_folders.list_folders(tx, framework, folder))

    def find_matches(self, framework: str, query: str) -> dict[str, float]:
        """Return the addresses of values that contain words of a query, with scores."""
        return self._space.read(lambda tx: steps_folders.find_matches(tx, framework, query))

    def renew(self, addresses: Sequence[str]) -> None:
        """Restart the lifetime of values that were read."""
        now = self._clock()
        if addresses:
            self._space.write(lambda tx: steps_folders.renew_values(tx, addresses, now))

    def remove_expired(self, framework: str) -> int:
        """Remove expired values and return their number."""
        now = self._clock()
        return self._space.write(lambda tx: steps_folders.remove_expired(tx, framework, now))

    def add_turns(self, framework: str, thread: str, turns: Sequence[Json]) -> None:
        """Store the next turns of a conversation, all or none."""
        now = self._clock()
        records = steps_conversations.prepare_records(turns, self._origin, now)
        about = archive_operations.build_session(
            self._memory.context, make_session_id(framework, thread), thread, framework
        )
        self._space.write(
            lambda tx: steps_conversations.add_turns(tx, framework, thread, records, about, now)
        )

    def list_turns(self, framework: str, thread: str, limit: int | None = None) -> list[Json]:
        """Return the newest turns of a conversation in their order."""
        return self._space.read(
            lambda tx: steps_conversations.list_turns(tx, framework, thread, limit)
        )

    def pop_turn(self, framework: str, thread: str) -> Json:
        """Remove and return the newest turn; None if there is none. The archive keeps it."""
        now = self._clock()
        return self._space.write(
            lambda tx: steps_conversations.pop_turn(tx, framework, thread, now)
        )

    def clear_turns(self, framework: str, thread: str) -> None:
        """Remove all turns; later ones begin a new session in the archive."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.clear_turns(tx, framework, thread, now))

    def mirror_records(
        self, framework: str, folder: Folder, records: Sequence[Json], fold: Fold | None
    ) -> None:
        """Store records of a Claude Code transcript, and archive their messages."""
        now = self._clock()
        new = self._space.write(
            lambda tx: steps_conversations.mirror_records(tx, framework, folder, records, fold, now)
        )
        from ..agents.claude_code import transcripts
        from ..agents.transcripts.reader_io import Transcript, TranscriptEntry

        # The transcript may also exist as a file, with the same ids and session.
        source = Transcript(transcripts.HOST, "/".join((framework, *folder)))
        typed = self._origin == "user"
        how = agents_operations_import.ImportOptions(
            capture=self._memory.context.settings.capture and typed,
            clock=self._clock,
        )

        def items(cursor: Mapping[str, Json] | None) -> Iterator[TranscriptItem]:
            for item in transcripts.read_records(new, cursor, f"{folder[-1]}.jsonl"):
                if isinstance(item, TranscriptEntry) and not typed and item.origin in ("", "user"):
                    item = item._replace(origin="agent" if item.message.role == "user" else "")
                yield item

        agents_operations_import.import_items(self._space, source, items, how)

    def remove_mirror(self, framework: str, folder: Folder) -> None:
        """Remove a transcript and its subagents' ones; the archive keeps the messages."""
        now = self._clock()
        self._space.write(lambda tx: steps_conversations.remove_mirror(tx, framework, folder, now))

    def list_summaries(self, framework: str, project: str) -> list[StoredValue]:
        """Return the summaries of a project's transcripts."""
        side, above, _ = steps_conversations.locate_summary(framework, (project, ""))
        return self.list_below(side, above)
