"""Import transcripts: read on from the cursor, prepare outside, save batch and cursors together.

A transcript is the truth about a conversation; hooks only say that there is more of it. What the
archive has already, in any session, is not recorded again: agents copy messages into the files of
forks and resumed conversations. So importing twice, or from two processes, changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..capture import steps as capture_steps
from ..context import Progress as Progress
from ..errors import InvalidInput, NotFound, Unavailable
from ..index import sql as index_sql
from ..links import sql as links_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..types import agents
from ..types.records import Json, Learned, Link, SafeText
from . import registry, steps_statements
from .transcripts.reader_io import (
    CursorMark,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptEntry,
    TranscriptItem,
)

BATCH_MESSAGES = 1_000
BATCH_CHARACTERS = 4_000_000
"""What is held in memory and written in one transaction, whichever comes first; small transcripts
are written together."""

TRANSCRIPT_ERRORS = (InvalidInput, NotFound, Unavailable, OSError)
"""What is wrong with one transcript, and does not keep the others from being read."""


class ImportOptions(NamedTuple):
    """How to read: whether statements of the user are learned, who makes ids, who is told."""

    capture: bool
    new_id: Callable[[str], str]
    clock: Callable[[], int]
    tell: Callable[[Progress], object] | None = None
    foreign: frozenset[str] = frozenset()
    """Paths of transcripts that anybody could have written, and any role into them: they are
    imports."""
    keep_personal: Callable[[list[memory_steps.PreparedMemory], int], list[Learned]] | None = None
    """Writes preferences about the person into the user's space."""


class _PendingMessage(NamedTuple):
    """A message that waits for its transaction, with what it taught us."""

    session: str
    prepared: archive_steps.PreparedMessage
    statements: list[memory_steps.PreparedMemory]


class _BatchState(NamedTuple):
    """What the transcripts of one transaction have in common: the keys that are in the archive,
    what is to be indexed at the end, the time."""

    known: set[str]
    findable: list[archive_steps.IndexItem]
    now: int


class _SaveCounts(NamedTuple):
    new: int
    known: int
    captured: tuple[Learned, ...]


def import_files(
    space: Database, transcripts: Iterable[Transcript], how: ImportOptions
) -> list[agents.ImportedTranscript]:
    """Bring everything that transcripts hold beyond their cursors into the archive."""
    batch = _ImportBatch(space, how.clock)
    imports = _start_imports(batch, transcripts, how)
    for one in imports:
        reader = registry.load_transcripts(one.transcript.host)
        try:
            one.take(partial(reader.read, one.transcript.path, session=one.transcript.session))
        except TRANSCRIPT_ERRORS as refusal:
            batch.drop(one, refusal)
    batch.save()
    return [one.result() for one in imports]


def import_items(
    space: Database,
    transcript: Transcript,
    items: Callable[[Mapping[str, Json] | None], Iterable[TranscriptItem]],
    how: ImportOptions,
) -> None:
    """Bring what comes after the cursor of one transcript into the archive."""
    batch = _ImportBatch(space, how.clock)
    (one,) = _start_imports(batch, [transcript], how)
    one.take(items)
    batch.save()


def _start_imports(
    batch: _ImportBatch, transcripts: Iterable[Transcript], how: ImportOptions
) -> list[_TranscriptImport]:
    """Where reading was left of each."""
    found = list(transcripts)
    left = batch.space.read(
        lambda tx: [archive_sql.get_cursor(tx, _cursor_name(item)) for item in found]
    )
    return [
        _TranscriptImport(batch, *one, _with_position(how, number, len(found)))
        for number, one in enumerate(zip(found, left, strict=True), 1)
    ]


def _with_position(how: ImportOptions, number: int, of: int) -> ImportOptions:
    """The same, telling also which of how many transcripts is read."""
    tell = how.tell
    return (
        how._replace(tell=lambda told: tell(told._replace(number=number, of=of))) if tell else how
    )


def count_unread(tx: Tx, found: Iterable[Transcript]) -> int:
    """How many of these transcripts were never read."""
    return sum(archive_sql.get_cursor(tx, _cursor_name(item)) is None for item in found)


def _cursor_name(transcript: Transcript) -> SafeText:
    source = f"{transcript.host}:{transcript.path}#{transcript.session}"
    # A file's name may be any bytes, and hold anything.
    return redaction.redact_name(source.encode("utf-8", "backslashreplace").decode())


class _ImportBatch:
    """What waits for one transaction, of one transcript or several."""

    def __init__(self, space: Database, clock: Callable[[], int]) -> None:
        self.space, self._clock = space, clock
        self._waiting: dict[_TranscriptImport, None] = {}
        self._messages = self._characters = 0

    def add(self, one: _TranscriptImport, messages: int = 0, characters: int = 0) -> None:
        self._waiting[one] = None
        self._messages += messages
        self._characters += characters
        if self._messages >= BATCH_MESSAGES or self._characters >= BATCH_CHARACTERS:
            self.save()

    def drop(self, one: _TranscriptImport, refusal: Exception) -> None:
        """What was not saved of a transcript is read again the next time."""
        one.refusal = str(refusal)
        self._waiting.pop(one, None)

    def save(self) -> None:
        """Write what waits; if the store cannot be reached, it goes on waiting."""
        waiting = list(self._waiting)
        if not waiting:
            return
        now = self._clock()
        try:
            self.write([(one, one.held, True) for one in waiting], now)
        except InvalidInput:
            for one in waiting:
                self._save_alone(one, one.held, True, now)
        for one in waiting:
            one.begin_anew()
        self._waiting = {}
        self._messages = self._characters = 0

    def write(
        self, parts: Sequence[tuple[_TranscriptImport, Sequence[_PendingMessage], bool]], now: int
    ) -> None:
        """Messages of several transcripts, each with its cursor if they are the last of it."""

        def work(tx: Tx) -> list[_SaveCounts]:
            archive_sql.lock_imports(tx, now)
            shared = _BatchState(_find_known_keys(tx, parts), [], now)
            done = [one.write(tx, held, last, shared) for one, held, last in parts]
            index_sql.insert_entries(tx, shared.findable)
            return done

        for (one, _, _), saved in zip(parts, self.space.write(work), strict=True):
            one.count(saved)

    def _save_alone(
        self, one: _TranscriptImport, held: Sequence[_PendingMessage], last: bool, now: int
    ) -> None:
        """Save what one transcript brings. A message that the archive refuses (its call has the id
        of another) is damage, and must not keep the others out."""
        try:
            self.write([(one, held, last)], now)
        except InvalidInput as error:
            if not held:
                raise
            if len(held) == 1:
                one.count_damage(error.message)
                self._save_alone(one, (), last, now)
                return
            half = len(held) // 2
            self._save_alone(one, held[:half], False, now)
            self._save_alone(one, held[half:], last, now)


def _find_known_keys(
    tx: Tx, parts: Sequence[tuple[_TranscriptImport, Sequence[_PendingMessage], bool]]
) -> set[str]:
    """Which of the messages are in the archive already, in any session, by their keys."""
    keys = [item.prepared.key for _, held, _ in parts for item in held if item.prepared.key]
    return archive_sql.known_keys(tx, keys)


class _TranscriptImport:
    """One transcript on its way into the archive."""

    def __init__(
        self, batch: _ImportBatch, transcript: Transcript, position: str | None, how: ImportOptions
    ) -> None:
        self.transcript, self._batch, self._how = transcript, batch, how
        self.refusal = ""
        self._source = _cursor_name(transcript)
        self._position = position
        self._next: SafeText | None = None
        self._about: dict[str, SessionDetails] = {}
        self._news: dict[str, SessionDetails] = {}
        self.held: list[_PendingMessage] = []
        self._spoken: dict[str, None] = {}
        self._skipped: Counter[str] = Counter()
        self._damaged: Counter[str] = Counter()
        self._saved = _SaveCounts(0, 0, ())

    def take(self, items: Callable[[Mapping[str, Json] | None], Iterable[TranscriptItem]]) -> None:
        for item in items(json.loads(self._position) if self._position else None):
            if isinstance(item, TranscriptEntry):
                self._hold(item)
            elif isinstance(item, SessionDetails):
                self._learn_about(item)
            elif isinstance(item, SkippedRecord):
                (self._skipped if item.expected else self._damaged)[item.reason] += 1
            else:
                self._mark(item)

    def result(self) -> agents.ImportedTranscript:
        return agents.ImportedTranscript(
            self.transcript.host,
            self.transcript.path,
            tuple({**self._about, **self._spoken}),
            self._saved.new,
            self._saved.known,
            dict(self._skipped),
            dict(self._damaged),
            self._saved.captured,
            self.refusal,
            self._is_foreign,
        )

    def _learn_about(self, found: SessionDetails) -> None:
        known = self._about.get(found.session, SessionDetails(found.session))
        news = {name: value for name, value in found._asdict().items() if value}
        self._about[found.session] = known._replace(**news)
        self._news[found.session] = self._about[found.session]

    @property
    def _is_foreign(self) -> bool:
        return self.transcript.path in self._how.foreign

    def _hold(self, entry: TranscriptEntry) -> None:
        typed = entry.origin == "user" and entry.message.role == "user"
        if self._is_foreign:
            entry = entry._replace(origin="import")
        try:
            prepared = archive_steps.prepare(
                archive_steps.Incoming(entry.message, entry.origin, entry.pasted),
                entry.message.at or self._how.clock(),
            )
        except InvalidInput as error:
            self._damaged[error.message] += 1
            return
        statements: list[memory_steps.PreparedMemory] = []
        if self._how.capture and typed:
            said = capture_steps.written_in(entry.message, entry.session, prepared.at)
            statements = self._statements(said)
        self.held.append(_PendingMessage(entry.session, prepared, statements))
        self._spoken[entry.session] = None
        self._batch.add(self, 1, len(prepared.body))

    def _statements(self, said: capture_steps.Said) -> list[memory_steps.PreparedMemory]:
        """Return what a message states for the project; what it states about the person is written
        into the user's space."""
        keep_personal = None if self._is_foreign else self._how.keep_personal
        found = capture_steps.prepare(said, self._how.new_id, keep_personal is not None)
        if self._is_foreign:
            return list(map(steps_statements.quarantine, found))
        own = [item for item in found if capture_steps.is_personal(item)]
        if own and keep_personal:
            self.count(_SaveCounts(0, 0, tuple(keep_personal(own, said.at))))
            found = [item for item in found if item not in own]
        return [steps_statements.ask_from(one, self._how.clock()) for one in found]

    def _mark(self, mark: CursorMark) -> None:
        position = redaction.redact_json(mark.cursor).text
        if self.held or self._news or position != self._position:
            self._next = position
            self._batch.add(self)
        if self._how.tell:
            read = self._saved.new + len(self.held)
            self._how.tell(Progress(self.transcript.path, mark.done, mark.total, read))

    def count(self, done: _SaveCounts) -> None:
        before = self._saved
        self._saved = _SaveCounts(
            before.new + done.new, before.known + done.known, (*before.captured, *done.captured)
        )

    def count_damage(self, reason: str) -> None:
        self._damaged[reason] += 1

    def begin_anew(self) -> None:
        """All that was held is saved."""
        self._position = self._next if self._next is not None else self._position
        self.held, self._news, self._next = [], {}, None

    def write(
        self,
        tx: Tx,
        waiting: Sequence[_PendingMessage],
        last: bool,
        shared: _BatchState,
    ) -> _SaveCounts:
        """What waits, session by session; pure but for the transaction: it may run again."""
        known, findable, now = shared
        fresh: dict[str, list[_PendingMessage]] = {}
        count = 0
        for held in waiting:
            key = held.prepared.key
            if not key or key not in known:
                known.add(key)
                fresh.setdefault(held.session, []).append(held)
                count += 1
        captured: list[Learned] = []
        for session, new in fresh.items():
            findable += self._append(tx, session, [held.prepared for held in new])
            for held in new:
                if held.statements:
                    captured += capture_steps.keep(tx, held.statements, held.prepared.at)
        for session, found in self._news.items():
            archive_sql.update_details(tx, session, _session_columns(found))
            if found.parent and found.parent != session:
                _link_parent(tx, session, found.parent, now)
        if last and self._next is not None:
            archive_sql.set_cursor(tx, self._source, self._next, now)
        return _SaveCounts(count, len(waiting) - count, tuple(captured))

    def _append(
        self, tx: Tx, session: str, prepared: list[archive_steps.PreparedMessage]
    ) -> list[archive_steps.IndexItem]:
        found = self._about.get(session, SessionDetails(session))
        about = {"agent": self.transcript.host, "cwd": "", "branch": "", **_session_columns(found)}
        about.pop("name", "")
        path = "import" if prepared[0].origin == "import" else "agent"
        new = archive_steps.build_session(session, found.name, **about, origin=path)
        times = [item.at for item in prepared]
        archive_sql.create(tx, new, min(times))
        return archive_steps.append(tx, new, prepared, max(times))[1]


def _session_columns(found: SessionDetails) -> dict[str, SafeText]:
    columns = ("name", "cwd", "branch", "agent")
    return {
        column: redaction.redact(said) for column in columns if (said := getattr(found, column))
    }


def _link_parent(tx: Tx, session: str, parent: str, now: int) -> None:
    """A subagent's or a fork's session leads to the one that it came from."""
    ends = (f"session/{session}", f"session/{parent}")
    made = Link(ends[0], "derived_from", ends[1], "", "system", now)
    links_sql.put(tx, made, redaction.redact("came from this conversation"), now)


def mark_ended(tx: Tx, session: str) -> None:
    """Note that a conversation is over; one that goes on later is active again."""
    archive_sql.update_details(tx, session, {"status": redaction.redact("ended")})
