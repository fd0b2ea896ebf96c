"""Import transcripts: read on from the cursor, prepare messages, save a batch with its cursors.

Transcripts are the source of conversations; hooks only signal that there is more to read. A message
that is in the archive already, in any session, is not recorded again: agents copy messages into the
files of forks and resumed conversations. So importing twice, or from two processes, is safe.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing

from ..archive import sql as archive_sql
from ..capture import steps as capture_steps
from ..capture import steps_imported as capture_steps_imported
from ..context import Progress as Progress
from ..context import new_id
from ..errors import InvalidInput
from ..index import sql as index_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..text.messages import FORGOTTEN
from ..types.records import Json, Learned, SafeText
from ..types.reports import ImportedTranscript
from . import steps_import, steps_reading
from .steps_import import ImportOptions as ImportOptions
from .transcripts.reader_io import (
    CursorMark,
    SessionDetails,
    SkippedRecord,
    Transcript,
    TranscriptItem,
)

BATCH_MESSAGES = 1_000
BATCH_CHARACTERS = 4_000_000
"""Limits of one transaction. Small transcripts are written together."""


def import_files(
    space: Database, transcripts: Iterable[Transcript], how: ImportOptions
) -> list[ImportedTranscript]:
    """Import everything after the cursors of transcripts into the archive."""
    batch = _ImportBatch(space, how.clock)
    imports = _start_imports(batch, transcripts, how)
    changed = [one for one in imports if not one.is_unchanged]
    for number, one in enumerate(changed, 1):
        one.place = (number, len(changed))
    requests = [one.request() for one in changed]
    with closing(steps_reading.read_all(requests)) as found:
        for one, items in zip(changed, found, strict=True):
            try:
                one.add_all(items)
            except steps_import.TRANSCRIPT_ERRORS as error:
                batch.drop(one, error)
    batch.save()
    return [one.result() for one in imports]


def import_items(
    space: Database,
    transcript: Transcript,
    items: Callable[[Mapping[str, Json] | None], Iterable[TranscriptItem]],
    how: ImportOptions,
) -> None:
    """Import the items after the cursor of one transcript into the archive."""
    batch = _ImportBatch(space, how.clock)
    (one,) = _start_imports(batch, [transcript], how)
    request = one.request()
    position = json.loads(request.position) if request.position else None
    one.add_all(steps_import.prepare_items(request, items(position)))
    batch.save()


def _start_imports(
    batch: _ImportBatch, transcripts: Iterable[Transcript], how: ImportOptions
) -> list[_TranscriptImport]:
    """Return an import for each transcript, from its cursor on. Untrusted transcripts are last, so
    that their copies of trusted messages are recognised."""
    found = sorted(transcripts, key=lambda item: item.path in how.foreign)
    sources = list(map(steps_import.cursor_name, found))
    read = batch.space.read(lambda tx: [archive_sql.get_cursor(tx, source) for source in sources])
    parts = zip(found, sources, read, strict=True)
    return [_TranscriptImport(batch, *one, how) for one in parts]


class _ImportBatch:
    """Collects messages of one or several transcripts for one transaction."""

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

    def drop(self, one: _TranscriptImport, error: Exception) -> None:
        """Discard the unsaved messages of a transcript; they are read again the next time."""
        one.error = str(error)
        self._waiting.pop(one, None)

    def save(self) -> None:
        """Write the collected messages; if the store cannot be reached, they stay collected."""
        waiting = list(self._waiting)
        if not waiting:
            return
        now = self._clock()
        try:
            self.write([(one, one.pending, True) for one in waiting], now)
        except InvalidInput:
            for one in waiting:
                self._save_alone(one, one.pending, True, now)
        for one in waiting:
            one.reset()
        self._waiting = {}
        self._messages = self._characters = 0

    def write(
        self,
        parts: Sequence[tuple[_TranscriptImport, Sequence[steps_import.PreparedEntry], bool]],
        now: int,
    ) -> None:
        """Write messages of several transcripts, each with its cursor if they are its last."""

        def work(tx: Tx) -> list[steps_import.SaveCounts]:
            archive_sql.lock_imports(tx, now)
            known = steps_import.find_known_keys(tx, [one for _, many, _ in parts for one in many])
            shared = steps_import.BatchState(known, [], now)
            done = [one.write(tx, pending, last, shared) for one, pending, last in parts]
            index_sql.insert_entries(tx, shared.to_index)
            noted = {item.session for one, many, _ in parts if one.is_noted for item in many}
            if noted:
                capture_steps_imported.note_imported(tx, sorted(noted), now)
            return done

        for (one, _, _), saved in zip(parts, self.space.write(work), strict=True):
            one.count(saved)

    def _save_alone(
        self,
        one: _TranscriptImport,
        pending: Sequence[steps_import.PreparedEntry],
        last: bool,
        now: int,
    ) -> None:
        """Save the messages of one transcript, halving them to isolate refused ones.

        A message that the archive refuses (a duplicate call id) is damage; the others are saved.
        """
        try:
            self.write([(one, pending, last)], now)
        except InvalidInput as error:
            if not pending:
                raise
            if len(pending) == 1:
                one.count_damage(error.message)
                self._save_alone(one, (), last, now)
                return
            half = len(pending) // 2
            self._save_alone(one, pending[:half], False, now)
            self._save_alone(one, pending[half:], last, now)


class _TranscriptImport:
    """The import of one transcript."""

    def __init__(
        self,
        batch: _ImportBatch,
        transcript: Transcript,
        source: SafeText,
        read: archive_sql.ReadPosition,
        how: ImportOptions,
    ) -> None:
        self.transcript, self._batch, self._how = transcript, batch, how
        self.error = ""
        self.is_noted = how.note_sessions and not self._is_foreign
        self.is_unchanged = steps_import.is_unchanged(transcript, read)
        self._source, self._position = source, read.position
        self.place = (0, 0)
        self._next: SafeText | None = None
        self._details: dict[str, SessionDetails] = {}
        self._new_details: dict[str, SessionDetails] = {}
        self.pending: list[steps_import.PreparedEntry] = []
        self._sessions: dict[str, None] = {}
        self._skipped: Counter[str] = Counter()
        self._damaged: Counter[str] = Counter()
        self._saved = steps_import.SaveCounts()

    def request(self) -> steps_import.ReadRequest:
        """Return the request to read it from its cursor on."""
        return steps_import.ReadRequest(
            transcript=self.transcript,
            position=self._position,
            foreign=self._is_foreign,
            capture=self._how.capture,
            now=self._how.clock(),
        )

    def add_all(self, items: Iterable[steps_import.ReadItem]) -> None:
        """Add the items after the cursor; full batches are saved on the way."""
        for item in items:
            if isinstance(item, steps_import.PreparedEntry):
                self._add_message(item)
            elif isinstance(item, SessionDetails):
                self._add_details(item)
            elif isinstance(item, SkippedRecord):
                (self._skipped if item.expected else self._damaged)[item.reason] += 1
            else:
                self._mark(item)

    def result(self) -> ImportedTranscript:
        return ImportedTranscript(
            host=self.transcript.host,
            path=self.transcript.path,
            sessions=tuple({**self._details, **self._sessions}),
            messages=self._saved.new,
            known=self._saved.known,
            skipped=dict(self._skipped),
            damaged=dict(self._damaged),
            captured=self._saved.captured,
            error=self.error,
            foreign=self._is_foreign,
            differing=self._saved.differing,
        )

    def _add_details(self, found: SessionDetails) -> None:
        known = self._details.get(found.session, SessionDetails(found.session))
        new = {name: value for name, value in found._asdict().items() if value}
        self._details[found.session] = known._replace(**new)
        self._new_details[found.session] = self._details[found.session]

    @property
    def _is_foreign(self) -> bool:
        return self.transcript.path in self._how.foreign

    @property
    def _personal(self) -> Callable[[list[memory_steps.PreparedMemory], int], list[Learned]] | None:
        return None if self._is_foreign else self._how.keep_personal

    def _add_message(self, entry: steps_import.PreparedEntry) -> None:
        if entry.said:
            try:
                entry = self._capture(entry, entry.said)
            except InvalidInput as error:
                self.count_damage(error.message)
                return
        self.pending.append(entry)
        self._sessions[entry.session] = None
        self._batch.add(self, 1, len(entry.prepared.body))

    def _capture(
        self, entry: steps_import.PreparedEntry, said: capture_steps.UserMessage
    ) -> steps_import.PreparedEntry:
        """Return a message with its statements for the project; save those about the person in the
        user's space."""
        found = capture_steps.prepare(said, new_id, self._personal is not None)
        if self._is_foreign:
            return entry._replace(statements=list(map(steps_import.quarantine, found)))
        prepared = entry.prepared
        own = [item for item in found if capture_steps.is_personal(item)]
        if own and self._personal:
            left = self._batch.space.read(
                lambda tx: steps_import.drop_withdrawn(tx, prepared.key, own)
            )
            self.count(steps_import.SaveCounts(captured=tuple(self._personal(left, prepared.at))))
            found = [item for item in found if item not in own]
        found = [steps_import.restart_review_time(one, self._how.clock()) for one in found]
        return entry._replace(statements=found)

    def _mark(self, mark: CursorMark) -> None:
        position = redaction.redact_json(mark.cursor).text
        if self.pending or self._new_details or position != self._position:
            self._next = position
            self._batch.add(self)
        if self._how.report:
            new = self._saved.new + len(self.pending)
            number, of = self.place
            self._how.report(
                Progress(self.transcript.path, mark.done, mark.total, new, number=number, of=of)
            )

    def count(self, done: steps_import.SaveCounts) -> None:
        self._saved = self._saved.plus(done)

    def count_damage(self, reason: str) -> None:
        self._damaged[reason] += 1

    def reset(self) -> None:
        """Start the next batch after everything pending was saved."""
        self._position = self._next if self._next is not None else self._position
        self.pending, self._new_details, self._next = [], {}, None

    def write(
        self,
        tx: Tx,
        pending: Sequence[steps_import.PreparedEntry],
        last: bool,
        shared: steps_import.BatchState,
    ) -> steps_import.SaveCounts:
        """Write messages session by session; changes only the transaction: it may run again."""
        known, to_index, now = shared
        fresh, again = steps_import.split_known(pending, known)
        captured, differing = steps_import.trust_again(tx, [] if self._is_foreign else again, now)
        for one in differing:
            fresh.setdefault(one.session, []).append(one)
        for session, new in fresh.items():
            about = self._details.get(session, SessionDetails(session))
            prepared = [one.prepared for one in new]
            to_index += steps_import.append(tx, self.transcript.host, about, prepared)
            for one in new:
                if one.statements:
                    captured += capture_steps.keep(tx, one.statements, one.prepared.at)
        for session, found in self._new_details.items():
            details = steps_import.session_columns(found)
            archive_sql.update_details(tx, session, details, unless_named=FORGOTTEN)
            if found.parent and found.parent != session:
                steps_import.link_parent(tx, session, found.parent, now)
        if last and self._next is not None:
            archive_sql.set_cursor(tx, self._source, self._next, now)
        old = len(again) - len(differing)
        return steps_import.SaveCounts(len(pending) - old, old, tuple(captured), len(differing))
