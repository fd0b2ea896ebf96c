"""Steps of an import: read and prepare transcripts, statements that wait for a person, columns and
links of sessions."""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Generator, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, NamedTuple, Union

from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..capture import sentences
from ..capture import steps as capture_steps
from ..context import new_id
from ..episodes import steps as episodes_steps
from ..errors import InvalidInput, NotFound, Unavailable
from ..links import sql as links_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..types.records import Learned, Link, SafeText
from . import registry
from .transcripts.reader_io import (
    CursorMark,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptEntry,
    TranscriptItem,
)

if TYPE_CHECKING:
    from concurrent.futures import Future

    from .processes_io import WorkerPool

WORTH_PROCESSES = 8_000_000
"""Bytes of new transcripts from which on several processes read them."""

LARGEST_FOR_WORKER = 16_000_000
READ_AHEAD = 32_000_000
"""Bytes of transcripts that may be read and not yet written."""

TRANSCRIPT_ERRORS = (InvalidInput, NotFound, Unavailable, OSError)
"""Errors of one transcript; the others are still read."""


ReadItem = Union["PreparedEntry", SessionDetails, SkippedRecord, CursorMark]
"""An item of a transcript, with its message prepared."""


class ReadRequest(NamedTuple):
    """A transcript to read from a cursor on, and how to prepare its messages."""

    transcript: Transcript
    position: str | None
    foreign: bool
    capture: bool
    personal: bool
    now: int


class PreparedEntry(NamedTuple):
    """A message that is ready to be written, and the statements in it."""

    session: str
    prepared: archive_steps.PreparedMessage
    statements: list[memory_steps.PreparedMemory]


def read_all(requests: Sequence[ReadRequest]) -> Generator[Iterable[ReadItem], None, None]:
    """Yield the items of each transcript, in order: read by several processes if it is worth it.

    A worker reads a whole transcript. What it does not return, because it was killed or because
    the transcript has an error, is read here.
    """
    sizes = _choose_for_workers(requests)
    is_worth_it = len(sizes) > 1 and sum(sizes.values()) >= WORTH_PROCESSES
    pool = _open_workers(len(sizes)) if is_worth_it else None
    if pool is None:
        yield from map(_read_items, requests)
        return
    from .processes_io import WorkerLost

    try:
        asked: dict[int, Future[list[ReadItem] | None]] = {}
        left = iter(sizes)
        for place, request in enumerate(requests):
            while sum(map(sizes.__getitem__, asked)) < READ_AHEAD:
                if (after := next(left, None)) is None:
                    break
                asked[after] = pool.ask(requests[after])
            try:
                items = asked.pop(place).result() if place in asked else None
            except WorkerLost:
                items = None
            yield _read_items(request) if items is None else items
    finally:
        pool.close()


def _choose_for_workers(requests: Sequence[ReadRequest]) -> dict[int, int]:
    """Return the indexes of new transcripts that a worker may read, with their sizes in bytes.

    Left out: files so large, or compressed, that their messages would fill the memory, and files
    with several transcripts.
    """
    paths = Counter(request.transcript.path for request in requests)
    found = {}
    for place, request in enumerate(requests):
        path = request.transcript.path
        if request.position is None and paths[path] == 1 and not path.endswith(".zst"):
            try:
                size = os.path.getsize(path) if os.path.isfile(path) else 0
            except OSError:
                continue  # reading it will say why
            if 0 < size <= LARGEST_FOR_WORKER:
                found[place] = size
    return found


def _open_workers(most: int) -> WorkerPool | None:
    """Start as many workers as there are processors; None if there is one, or none starts."""
    from .processes_io import WorkerLost, WorkerPool, count_processors

    processors = count_processors()
    try:
        return WorkerPool(__name__, "work", min(processors, most)) if processors > 1 else None
    except WorkerLost:
        return None


def work() -> None:
    """Read the transcripts that are asked for, in a process of its own."""
    from .processes_io import answer

    answer(_read_whole)


def _read_whole(request: ReadRequest) -> list[ReadItem] | None:
    """Return all items of a transcript; None if it has an error."""
    try:
        return list(_read_items(request))
    except TRANSCRIPT_ERRORS:
        return None


def _read_items(request: ReadRequest) -> Iterator[ReadItem]:
    """Yield the items of a transcript, with each message prepared. It writes nothing."""
    transcript = request.transcript
    read = registry.load_transcripts(transcript.host).read
    position = json.loads(request.position) if request.position else None
    yield from prepare_items(request, read(transcript.path, position, transcript.session))


def prepare_items(request: ReadRequest, items: Iterable[TranscriptItem]) -> Iterator[ReadItem]:
    """Yield items with each message prepared; one that the archive refuses is damage."""
    for item in items:
        if not isinstance(item, TranscriptEntry):
            yield item
            continue
        try:
            yield _prepare_entry(item, request)
        except InvalidInput as error:
            yield SkippedRecord(0, error.message, expected=False)


def _prepare_entry(entry: TranscriptEntry, request: ReadRequest) -> PreparedEntry:
    typed = entry.origin == "user" and entry.message.role == "user"
    origin = "import" if request.foreign else entry.origin
    prepared = archive_steps.prepare(
        archive_steps.Incoming(entry.message, origin, entry.pasted, sentences.find_untyped),
        entry.message.at or request.now,
    )
    statements: list[memory_steps.PreparedMemory] = []
    if request.capture and typed:
        said = capture_steps.written_in(entry.message, entry.session, prepared.at)
        statements = capture_steps.prepare(said, new_id, request.personal)
    return PreparedEntry(entry.session, prepared, statements)


def trust_again(tx: Tx, known: Sequence[PreparedEntry], now: int) -> list[Learned]:
    """Trust messages that were imported from elsewhere, and lie in the agent's own folder: learn
    their statements now, and from their work when the episodes are built."""
    trusted = archive_steps.trust_imported(tx, [one.prepared for one in known]) if known else {}
    for session in dict.fromkeys(trusted.values()):
        episodes_steps.read_again(tx, session, now)
    return [
        learned
        for one in known
        if one.prepared.key in trusted and one.statements
        for learned in capture_steps.keep(tx, one.statements, one.prepared.at)
    ]


def ask_from(statement: memory_steps.PreparedMemory, now: int) -> memory_steps.PreparedMemory:
    """Return a statement that waits for a person from now on: however old the conversation is, its
    time to be reviewed begins when it is imported."""
    if statement.row.status != "proposed":
        return statement
    row = statement.row._replace(first_seen=now, last_reinforced=now, last_confirmed=now)
    return statement._replace(row=row)


def quarantine(statement: memory_steps.PreparedMemory) -> memory_steps.PreparedMemory:
    """Return a statement of a file that anybody could have written: for a person to accept, in this
    project only. Found in the agent's own folder later, it is another statement."""
    row = statement.row._replace(
        origin="import", label="import", status="quarantined", layer="project", owner=""
    )
    return statement._replace(row=row, key=f"{statement.key}:import")


def session_columns(found: SessionDetails) -> dict[str, SafeText]:
    columns = ("name", "cwd", "branch", "agent")
    values = {column: getattr(found, column) for column in columns}
    return {column: redaction.redact(value) for column, value in values.items() if value}


def link_parent(tx: Tx, session: str, parent: str, now: int) -> None:
    """Link a subagent's or a fork's session to the one it was started from."""
    link = Link(
        source=f"session/{session}",
        relation="derived_from",
        target=f"session/{parent}",
        reason="",
        origin="system",
        at=now,
    )
    links_sql.put(tx, link, redaction.redact("came from this conversation"), now)


def mark_ended(tx: Tx, session: str) -> None:
    """Mark a session as ended; a new message makes it active again."""
    archive_sql.update_details(tx, session, {"status": redaction.redact("ended")})
