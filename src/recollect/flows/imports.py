"""Import transcripts: read on from the cursor, prepare outside, save batch and cursor together.

A transcript is the truth about a conversation; hooks only say that there is more of it. What the
archive has already, in any session, is not recorded again: agents copy messages into the files of
forks and resumed conversations. So importing twice, or from two processes, changes nothing.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import NamedTuple

from .. import hosts
from ..core import messages, secrets
from ..db.database import Database, Tx
from ..errors import InvalidInput
from ..hosts.stream import Entry, Found, Item, Mark, Skipped, Transcript
from ..store import cursors, links, sessions
from ..types import Json, Learned, Link, SafeText
from . import capture, learn, record

BATCH_MESSAGES = 200
BATCH_CHARACTERS = 4_000_000
"""What is held in memory and written in one transaction, whichever comes first."""


class Progress(NamedTuple):
    """How far a transcript was read, of so many bytes, and how many messages were new."""

    path: str
    done: int
    total: int
    messages: int


class Read(NamedTuple):
    """What became of one transcript; `skipped` counts records by the reason for it."""

    host: str
    path: str
    sessions: tuple[str, ...] = ()
    messages: int = 0
    known: int = 0
    skipped: Mapping[str, int] = {}
    damaged: Mapping[str, int] = {}
    captured: tuple[Learned, ...] = ()
    error: str = ""


class Imported(NamedTuple):
    """What an import brought, transcript by transcript; `passed_over` says what was not read."""

    messages: int
    known: int
    sessions: int
    transcripts: tuple[Read, ...]
    passed_over: Mapping[str, str]
    captured: tuple[Learned, ...]


class Reading(NamedTuple):
    """How to read: whether statements of the user are learned, who makes ids, who is told."""

    capture: bool
    new_id: Callable[[str], str]
    clock: Callable[[], int]
    tell: Callable[[Progress], object] | None = None
    foreign: bool = False
    """Whether anybody could have written it, and any role into it: then it is an import."""


class _Held(NamedTuple):
    """A message that waits for its transaction, with what it taught us."""

    session: str
    prepared: record.Prepared
    statements: list[learn.Prepared]


class _Saved(NamedTuple):
    new: int
    known: int
    captured: tuple[Learned, ...]


def read(space: Database, transcript: Transcript, how: Reading) -> Read:
    """Bring everything that a transcript holds beyond its cursor into the archive."""
    reader = hosts.transcripts(transcript.host)
    return take(
        space,
        transcript,
        lambda cursor: reader.read(transcript.path, cursor, transcript.session),
        how,
    )


def take(
    space: Database,
    transcript: Transcript,
    items: Callable[[Mapping[str, Json] | None], Iterable[Item]],
    how: Reading,
) -> Read:
    """Bring what comes after the cursor of a transcript into the archive."""
    source = _source(transcript)
    position = space.read(lambda tx: cursors.get(tx, source))
    found = items(json.loads(position) if position else None)
    return _Import(space, transcript, (source, position), how).take(found)


def unread(tx: Tx, found: Iterable[Transcript]) -> int:
    """How many of these transcripts were never read."""
    return sum(cursors.get(tx, _source(item)) is None for item in found)


def _source(transcript: Transcript) -> str:
    source = f"{transcript.host}:{transcript.path}#{transcript.session}"
    return source.encode("utf-8", "backslashreplace").decode()  # a file's name may be any bytes


class _Import:
    """One transcript on its way into the archive."""

    def __init__(
        self, space: Database, transcript: Transcript, left: tuple[str, str | None], how: Reading
    ) -> None:
        self._space, self._transcript, self._how = space, transcript, how
        self._source, self._position = left
        self._about: dict[str, Found] = {}
        self._news: dict[str, Found] = {}
        self._held: list[_Held] = []
        self._spoken: dict[str, None] = {}
        self._size = 0
        self._skipped: Counter[str] = Counter()
        self._damaged: Counter[str] = Counter()
        self._saved = _Saved(0, 0, ())

    def take(self, items: Iterable[Item]) -> Read:
        for item in items:
            if isinstance(item, Entry):
                self._hold(item)
            elif isinstance(item, Found):
                self._learn_about(item)
            elif isinstance(item, Skipped):
                (self._skipped if item.expected else self._damaged)[item.reason] += 1
            else:
                self._save(item)
        new, known, captured = self._saved
        return Read(
            self._transcript.host,
            self._transcript.path,
            tuple({**self._about, **self._spoken}),
            new,
            known,
            dict(self._skipped),
            dict(self._damaged),
            captured,
        )

    def _learn_about(self, found: Found) -> None:
        known = self._about.get(found.session, Found(found.session))
        news = {name: value for name, value in found._asdict().items() if value}
        self._about[found.session] = known._replace(**news)
        self._news[found.session] = self._about[found.session]

    def _hold(self, entry: Entry) -> None:
        if self._how.foreign:
            entry = entry._replace(origin="import")
        try:
            prepared = record.prepare(
                record.Incoming(entry.message, entry.origin, entry.pasted), self._how.clock()
            )
        except InvalidInput as error:
            self._damaged[error.message] += 1
            return
        statements: list[learn.Prepared] = []
        if self._how.capture and entry.origin == "user" and entry.message.role == "user":
            said = capture.Said(messages.said(entry.message), entry.session, prepared.at)
            statements = capture.prepare(said, self._how.new_id)
        self._held.append(_Held(entry.session, prepared, statements))
        self._spoken[entry.session] = None
        self._size += len(prepared.body)
        if len(self._held) >= BATCH_MESSAGES or self._size >= BATCH_CHARACTERS:
            self._save(None)

    def _save(self, mark: Mark | None) -> None:
        position = secrets.scrub_json(mark.cursor).text if mark else None
        if not self._held and not self._news and position == self._position:
            return
        now = self._how.clock()

        self._saved = _added(self._saved, self._keep(self._held, position, now))
        self._held, self._size, self._news = [], 0, {}
        if mark and self._how.tell:
            path = self._transcript.path
            self._how.tell(Progress(path, mark.done, mark.total, self._saved.new))

    def _keep(self, waiting: Sequence[_Held], position: SafeText | None, now: int) -> _Saved:
        """Save them together with the cursor. One that the archive refuses (its call has the id of
        another) is damage, and must not keep the others out."""

        def work(tx: Tx) -> _Saved:
            done = self._write(tx, waiting, now)
            if position is not None:
                cursors.put(tx, self._source, position, now)
            return done

        try:
            return self._space.write(work)
        except InvalidInput as error:
            if not waiting:
                raise
            if len(waiting) == 1:
                self._damaged[error.message] += 1
                return self._keep((), position, now)
        half = len(waiting) // 2
        first = self._keep(waiting[:half], None, now)
        return _added(first, self._keep(waiting[half:], position, now))

    def _write(self, tx: Tx, waiting: Sequence[_Held], now: int) -> _Saved:
        """What waits, session by session; pure but for the transaction: it may run again."""
        keys = [held.prepared.key for held in waiting if held.prepared.key]
        known = sessions.known_keys(tx, keys)
        fresh: dict[str, list[_Held]] = {}
        count = 0
        for held in waiting:
            key = held.prepared.key
            if not key or key not in known:
                known.add(key)
                fresh.setdefault(held.session, []).append(held)
                count += 1
        captured: list[Learned] = []
        for session, new in fresh.items():
            self._record(tx, session, [held.prepared for held in new])
            for held in new:
                captured += capture.keep(tx, held.statements, held.prepared.at)
        for session, found in self._news.items():
            sessions.describe(tx, session, _columns(found))
            if found.parent and found.parent != session:
                _link(tx, session, found.parent, now)
        return _Saved(count, len(waiting) - count, tuple(captured))

    def _record(self, tx: Tx, session: str, prepared: list[record.Prepared]) -> None:
        found = self._about.get(session, Found(session))
        about = {"agent": self._transcript.host, "cwd": "", "branch": "", **_columns(found)}
        about.pop("name", "")
        path = "import" if prepared[0].origin == "import" else "agent"
        new = record.new_session(session, found.name, **about, origin=path)
        times = [item.at for item in prepared]
        sessions.create(tx, new, min(times))
        record.record(tx, new, prepared, max(times))


def _added(one: _Saved, two: _Saved) -> _Saved:
    return _Saved(one.new + two.new, one.known + two.known, (*one.captured, *two.captured))


def _columns(found: Found) -> dict[str, str]:
    known = {"name": secrets.safe(found.name), "cwd": found.cwd, "branch": found.branch}
    known["agent"] = found.agent
    return {column: value for column, value in known.items() if value}


def _link(tx: Tx, session: str, parent: str, now: int) -> None:
    """A subagent's or a fork's session leads to the one that it came from."""
    ends = (f"session/{session}", f"session/{parent}")
    made = Link(ends[0], "derived_from", ends[1], "", "system", now)
    links.put(tx, made, secrets.safe("came from this conversation"), now)


def ended(tx: Tx, session: str) -> None:
    """Note that a conversation is over; one that goes on later is active again."""
    sessions.describe(tx, session, {"status": "ended"})
