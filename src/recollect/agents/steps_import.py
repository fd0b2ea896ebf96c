"""Steps of an import: read transcripts, prepare messages and statements, save sessions."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Sequence

from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..capture import sentences
from ..capture import steps as capture_steps
from ..context import Progress
from ..episodes import steps as episodes_steps
from ..errors import InvalidInput, NotFound, Unavailable
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..links import sql as links_sql
from ..memory import sql_lists as memory_sql_lists
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
    follows_on,
)

OWN_FOLDER = "#own:"
"""Marks the key of a message from an agent's own folder whose usual key an untrusted copy has."""

_TOGETHER = 32
"""Items whose messages are prepared together. One message in a thousand holds a secret, and makes
its group be searched twice."""

TRANSCRIPT_ERRORS = (InvalidInput, NotFound, Unavailable, OSError)
"""Errors of one transcript; the others are still read."""


class ImportOptions(NamedTuple):
    """The options of an import: whether statements are captured, the clock, progress reports."""

    capture: bool
    clock: Callable[[], int]
    report: Callable[[Progress], object] | None = None
    foreign: frozenset[str] = frozenset()
    """Paths of untrusted transcripts, outside an agent's own folder: their messages are imports."""
    keep_personal: Callable[[list[memory_steps.PreparedMemory], int], list[Learned]] | None = None
    """Writes preferences about the person into the user's space."""
    note_sessions: bool = False
    """Whether to note the sessions, for what is learned when all are imported."""


class ReadRequest(NamedTuple):
    """A transcript to read from a cursor on, and how to prepare its messages."""

    transcript: Transcript
    position: str | None
    foreign: bool
    capture: bool
    now: int
    stems: bool = True
    """Stem the messages while they are read; without it, call `add_stems` on the items."""


class PreparedEntry(NamedTuple):
    """A message that is ready to be written. `said`: what a person typed, of which statements are
    still to be captured: one process does that for all, as its patterns take long to compile."""

    session: str
    prepared: archive_steps.PreparedMessage
    said: capture_steps.UserMessage | None
    statements: list[memory_steps.PreparedMemory]


ReadItem = PreparedEntry | SessionDetails | SkippedRecord | CursorMark
"""An item of a transcript, with its message prepared."""


class BatchState(NamedTuple):
    """State shared by the transcripts of one transaction: known keys, texts to index, time."""

    known: set[str]
    to_index: list[archive_steps.IndexItem]
    now: int


class SaveCounts(NamedTuple):
    """Counts of saved messages, and the captured statements."""

    new: int = 0
    known: int = 0
    captured: tuple[Learned, ...] = ()
    differing: int = 0

    def plus(self, more: SaveCounts) -> SaveCounts:
        """Return the sums of both."""
        return SaveCounts(
            new=self.new + more.new,
            known=self.known + more.known,
            captured=(*self.captured, *more.captured),
            differing=self.differing + more.differing,
        )


def read_items(request: ReadRequest) -> Iterator[ReadItem]:
    """Yield the items of a transcript, with each message prepared. It writes nothing."""
    transcript = request.transcript
    read = registry.load_transcripts(transcript.host).read
    position = json.loads(request.position) if request.position else None
    yield from prepare_items(request, read(transcript.path, position, transcript.session))


def add_stems(items: Iterable[ReadItem]) -> Iterator[ReadItem]:
    """Yield items with the stems of messages that were prepared without."""
    for item in items:
        if isinstance(item, PreparedEntry) and item.prepared.unstemmed is not None:
            words = index_steps.split_stems(*item.prepared.unstemmed)
            item = item._replace(prepared=item.prepared._replace(words=words, unstemmed=None))
        yield item


def prepare_items(request: ReadRequest, items: Iterable[TranscriptItem]) -> Iterator[ReadItem]:
    """Yield items with each message prepared; one that the archive refuses is damage."""
    waiting: list[TranscriptItem] = []
    for item in items:
        waiting.append(item)
        if len(waiting) == _TOGETHER or isinstance(item, CursorMark):
            yield from _prepare_several(waiting, request)
            waiting = []
    yield from _prepare_several(waiting, request)


def _prepare_several(items: Sequence[TranscriptItem], request: ReadRequest) -> list[ReadItem]:
    entries = [item for item in items if isinstance(item, TranscriptEntry)]
    incoming = [
        archive_steps.Incoming(
            entry.message,
            "import" if request.foreign else entry.origin,
            entry.pasted,
            sentences.find_untyped,
        )
        for entry in entries
    ]
    try:
        prepared = iter(archive_steps.prepare_many(incoming, request.now, request.stems))
    except InvalidInput as error:
        if len(items) > 1:
            return [found for item in items for found in _prepare_several([item], request)]
        return [SkippedRecord(0, error.message, expected=False)]
    return [
        _complete(item, next(prepared), request) if isinstance(item, TranscriptEntry) else item
        for item in items
    ]


def _complete(
    entry: TranscriptEntry, prepared: archive_steps.PreparedMessage, request: ReadRequest
) -> PreparedEntry:
    typed = entry.origin == "user" and entry.message.role == "user"
    if request.foreign:
        # Otherwise a copy could claim the key that such a genuine message gets.
        prepared = prepared._replace(key=prepared.key.partition(OWN_FOLDER)[0])
    said = None
    if request.capture and typed:
        said = capture_steps.written_in(entry.message, entry.session, prepared.at)
    return PreparedEntry(entry.session, prepared, said, [])


def find_known_keys(tx: Tx, pending: Iterable[PreparedEntry]) -> set[str]:
    """Return the keys of messages that are in the archive already, in any session."""
    return archive_sql.known_keys(tx, [one.prepared.key for one in pending if one.prepared.key])


def split_known(
    pending: Iterable[PreparedEntry], known: set[str]
) -> tuple[dict[str, list[PreparedEntry]], list[PreparedEntry]]:
    """Return the new messages by session, and those whose keys are known; new keys are added."""
    fresh: dict[str, list[PreparedEntry]] = {}
    again: list[PreparedEntry] = []
    for one in pending:
        key = one.prepared.key
        if key and key in known:
            again.append(one)
        else:
            known.add(key)
            fresh.setdefault(one.session, []).append(one)
    return fresh, again


def trust_again(
    tx: Tx, known: Sequence[PreparedEntry], now: int
) -> tuple[list[Learned], list[PreparedEntry]]:
    """Trust messages of an untrusted import that are now found in the agent's own folder: learn
    their statements now, and from their work when the episodes are built. Return also the messages
    of that folder that differ from the imported ones, to be recorded too."""
    if not known:
        return [], []
    trusted, others = _trust_imported(tx, [one.prepared for one in known])
    for session in dict.fromkeys(trusted.values()):
        episodes_steps.read_again(tx, session, now)
    learned: list[Learned] = []
    different: dict[str, PreparedEntry] = {}
    for one in known:
        key = one.prepared.key
        if key not in trusted and key not in others:
            continue
        statements = _drop_withdrawn(tx, one.statements)
        if key in others:
            different[key] = one._replace(prepared=others[key], statements=statements)
        else:
            learned += capture_steps.keep(tx, statements, one.prepared.at)
    return learned, list(different.values())


def _trust_imported(
    tx: Tx, prepared: Sequence[archive_steps.PreparedMessage]
) -> tuple[dict[str, str], dict[str, archive_steps.PreparedMessage]]:
    """Trust archived messages of an untrusted import that have the same content in the agent's own
    folder; return key and session of each.

    Return also, by their keys, the messages with other content, which are to be appended under
    keys of their own. Forgotten messages stay as they are.
    """
    given = {item.key: item for item in prepared if item.key}
    erased = archive_sql.known_keys(tx, list(given), forgotten=True)
    same: dict[str, str] = {}
    others: dict[str, archive_steps.PreparedMessage] = {}
    changes: dict[tuple[str, str], list[int]] = {}
    for key, session, seq, digest in archive_sql.imported_messages(tx, list(given.keys() - erased)):
        item = given[key]
        if item.digest == digest:
            same[key] = session
            changes.setdefault((session, item.origin), []).append(seq)
        else:
            # The copy may have claimed the ids of its calls.
            others[key] = item._replace(key=f"{key}{OWN_FOLDER}{item.digest[:16]}", calls=())
    for (session, label), seqs in changes.items():
        archive_sql.relabel_messages(tx, session, seqs, label)
        index_sql.relabel_messages(tx, session, seqs, label)
    kept = archive_sql.known_keys(tx, [item.key for item in others.values()])
    return same, {
        key: item for key, item in others.items() if key not in same and item.key not in kept
    }


def drop_withdrawn(
    tx: Tx, key: str, statements: list[memory_steps.PreparedMemory]
) -> list[memory_steps.PreparedMemory]:
    """Return the statements of a message. If it is archived already, leave out withdrawn ones:
    importing a message again does not state them again."""
    if not archive_sql.known_keys(tx, [key]):
        return statements
    erased = archive_sql.known_keys(tx, [key], forgotten=True)
    return [] if erased else _drop_withdrawn(tx, statements)


def _drop_withdrawn(
    tx: Tx, statements: list[memory_steps.PreparedMemory]
) -> list[memory_steps.PreparedMemory]:
    digests = [item.row.digest for item in statements]
    withdrawn = memory_sql_lists.find_withdrawn_texts(tx, digests) if digests else set()
    return [item for item in statements if item.row.digest not in withdrawn]


def restart_review_time(
    statement: memory_steps.PreparedMemory, now: int
) -> memory_steps.PreparedMemory:
    """Return a proposed statement with the present time: however old the conversation is, the time
    for its review begins at the import."""
    if statement.row.status != "proposed":
        return statement
    return memory_steps.change_row(
        statement, first_seen=now, last_reinforced=now, last_confirmed=now
    )


def quarantine(statement: memory_steps.PreparedMemory) -> memory_steps.PreparedMemory:
    """Return a statement of an untrusted file, quarantined in this project. Its key differs, so
    that the same statement from the agent's own folder is learned later."""
    changed = memory_steps.change_row(
        statement,
        origin="import",
        label="import",
        status="quarantined",
        layer="project",
        owner="",
    )
    return changed._replace(key=f"{statement.key}:import")


def session_columns(found: SessionDetails) -> dict[str, SafeText]:
    columns = ("name", "cwd", "branch", "agent")
    values = {column: getattr(found, column) for column in columns}
    return {column: redaction.redact(value) for column, value in values.items() if value}


def append(
    tx: Tx,
    host: str,
    found: SessionDetails,
    prepared: Sequence[archive_steps.PreparedMessage],
) -> list[archive_steps.IndexItem]:
    """Append messages to a session, created if missing; return the index entries to insert."""
    about = {"agent": host, "cwd": "", "branch": "", **session_columns(found)}
    about.pop("name", "")
    origin = "import" if prepared[0].origin == "import" else "agent"
    new = archive_steps.build_session(found.session, found.name, **about, origin=origin)
    times = [item.at for item in prepared]
    archive_sql.create(tx, new, min(times))
    return archive_steps.append(tx, new, prepared, max(times))[1]


def count_unread(tx: Tx, found: Iterable[Transcript]) -> int:
    """Count the transcripts that were never read."""
    return sum(archive_sql.get_cursor(tx, cursor_name(item)).position is None for item in found)


def is_unchanged(transcript: Transcript, read: archive_sql.ReadPosition) -> bool:
    """Check whether a transcript was read to its end, and not written since. Only files that grow
    are known by their length; others are read again."""
    if not read.position or not 0 < transcript.modified < read.updated:
        return False
    position = json.loads(read.position)
    return follows_on(position) and position["offset"] == transcript.size


def cursor_name(transcript: Transcript) -> SafeText:
    """Return the name under which the read position of a transcript is stored."""
    source = f"{transcript.host}:{transcript.path}#{transcript.session}"
    # A file name may consist of any bytes, and contain a secret.
    return redaction.redact_name(source.encode("utf-8", "backslashreplace").decode())


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
