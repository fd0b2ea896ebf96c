"""Record episodes by hand or from archived sessions; list, show and replay them.

`episodes.records` decides the content of an episode; this module gives it an id, a label and an
index entry. A given episode is returned unchanged, with its own id.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import NamedTuple

from ..actions.call_results import CallAttempt, list_attempts
from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..errors import Conflict, InvalidInput, NotFound
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Database, Tx, read_or_none
from ..text import addresses as text_addresses
from ..text import messages as text_messages
from ..types import trust
from ..types.records import FOREVER, Json, Memory, SafeText, Session, Stored
from . import aging, records, sql

PAGE = 1_000
CURSOR = "work:"
"""The prefix of a session's cursor: the last message that was read for episodes and lessons."""

LONGEST_GIVEN = 2_000_000


class RecordedEpisode(NamedTuple):
    """The result of recording an episode: created, updated or unchanged."""

    id: str
    action: str
    redacted: tuple[str, ...] = ()

    @property
    def address(self) -> str:
        return f"memory://{self.id}"


class ShownEpisode(NamedTuple):
    """A stored episode; `episode` is its JSON as it was given."""

    id: str
    at: int
    outcome: str
    goal: str
    status: str
    origin: str
    label: str
    synopsis: str
    episode: Mapping[str, Json]

    @property
    def address(self) -> str:
        return f"memory://{self.id}"


class FileNow(NamedTuple):
    """A file of an episode as it is now: unchanged, changed since, present (a folder) or gone;
    `touched` says whether the episode changed or read it."""

    path: str
    state: str
    touched: str


class EpisodeReplay(NamedTuple):
    """An episode step by step, with the present state of each of its files."""

    id: str
    goal: str
    outcome: str
    steps: tuple[records.Action, ...]
    errors: tuple[records.ErrorSeen, ...]
    files: tuple[FileNow, ...]


class BuiltEpisodes(NamedTuple):
    """Counts of a build of episodes."""

    sessions: int
    episodes: int
    created: int
    updated: int


# ---------------------------------------------------------------- store


def prepare_row(
    given: Json, origin: str, label: str, now: int
) -> tuple[sql.EpisodeRow, tuple[str, ...]]:
    """Return the row of an episode in JSON, checked and redacted, and the types of secrets that
    were found."""
    episode = records.from_json(given, label)
    if not (episode.goal or episode.actions or episode.errors):
        raise InvalidInput("the episode is empty", where="episode", hint="add at least a goal")
    redaction.check_name(episode.session, "session")
    body = redaction.redact_json(records.to_json(episode))
    if len(body.text) > LONGEST_GIVEN:
        raise InvalidInput(
            f"an episode has at most {LONGEST_GIVEN:,} characters, not {len(body.text):,}",
            where="episode",
        )
    name = episode.id or text_messages.text_digest(f"{body.text}:{now}")
    row = _row(episode, address_id(name), body.text, origin, now)
    return row, body.found


def address_id(name: str) -> str:
    """Return our id of an episode: its own if it has the right form, else one made from it."""
    own = name.startswith("e-") and name[2:].isalnum() and name.isascii() and name.islower()
    return name if own else f"e-{text_messages.text_digest(name)[:12]}"


def _row(episode: records.Episode, id: str, body: Json, origin: str, now: int) -> sql.EpisodeRow:
    safe = redaction.redact
    return sql.EpisodeRow(
        id=id,
        task=safe(episode.task_id),
        session=redaction.redact_name(episode.session),
        agent=safe(episode.agent),
        phase=safe(episode.phase),
        goal=safe(episode.goal),
        outcome=episode.outcome,
        importance=episode.importance,
        body=body,
        synopsis=safe(""),
        # An imported episode can be searched, but no lessons are learned from it.
        status="hidden" if episode.label == "import" else "active",
        at=episode.at or now,
        updated=now,
        origin=origin,
        label=episode.label,
        sources=redaction.redact_json(list(episode.sources)).text,
    )


def label_for(tx: Tx, origin: str, given: Json) -> str:
    """Return the label of an episode: the least trusted of its origin and its sources."""
    named = given.get("sources", ()) if isinstance(given, Mapping) else ()
    addresses = [one for one in named if isinstance(one, str)] if isinstance(named, list) else []
    label = memory_steps.find_label(tx, origin, addresses)
    if origin in ("system", "user"):
        return label
    return trust.least_trusted((label, *_labels_of_records(tx, addresses)))


def _labels_of_records(tx: Tx, addresses: Sequence[str]) -> Iterator[str]:
    """Yield the labels of the memories and episodes among these."""
    for address in addresses:
        name = address.removeprefix(text_addresses.SCHEME)
        record: Memory | sql.EpisodeRow | None
        if name.startswith("m-"):
            record = memory_sql.get(tx, name)
        else:
            record = sql.get(tx, name) or sql.get(tx, address_id(name))
        if record is not None:
            yield record.label


def store_episode(
    tx: Tx, row: sql.EpisodeRow, redacted: tuple[str, ...] = (), replace: bool = False
) -> RecordedEpisode:
    """Store an episode, if it is new. With `replace`, it replaces another one of the same id;
    without, that raises Conflict."""
    stored = sql.get(tx, row.id)
    if stored and stored.body == row.body and stored.label == row.label:
        return RecordedEpisode(row.id, "unchanged")
    if stored and not replace:
        raise Conflict(
            "there is another episode with this id",
            where=f"memory://{row.id}",
            hint="episodes do not change: give the new one another id",
        )
    sql.put(tx, row)
    index_steps.reindex_text(tx, entry_of(row), searchable(row))
    return RecordedEpisode(row.id, "updated" if stored else "created", redacted)


def entry_of(row: sql.EpisodeRow) -> index_sql.IndexEntry:
    """Return the index entry of an episode."""
    return index_sql.IndexEntry(
        source="episode",
        ref=row.id,
        kind="episode",
        layer="project",
        owner=row.session,
        status=row.status,
        label=row.label,
        seq=0,
        at=row.at,
    )


def searchable(row: sql.EpisodeRow) -> str:
    """Return the searchable text of an episode, with its synopsis if it has one."""
    episode = records.from_json(json.loads(row.body), actions=False)
    pieces = [episode.goal, row.synopsis, row.outcome, episode.commit, episode.agent]
    pieces += [*episode.constraints, *episode.files, *episode.artifacts]
    for error in episode.errors:
        pieces += [error.type, error.message, error.resolution]
    return "\n".join(filter(None, pieces))


def episode_of(row: sql.EpisodeRow) -> records.Episode:
    """Return the episode in a row, under our id and label."""
    episode = records.from_json(json.loads(row.body), row.label)
    return episode._replace(id=row.id, at=row.at, session=row.session)


# ---------------------------------------------------------------- out of sessions


Learn = Callable[[Session, Sequence[Stored], Sequence[CallAttempt]], Callable[[Tx], None]]
"""Reads the messages and calls of a session outside of a transaction, and returns the function that
writes the lessons in one."""


def build(
    space: Database,
    session: str,
    clock: Callable[[], int],
    quiet_since: int = 0,
    learn: Learn | None = None,
) -> BuiltEpisodes:
    """Build the episodes of archived sessions, and store them.

    session: the id of one session; empty for all with new messages since their last build
    quiet_since: of all, only sessions that ended or have no message after this time; 0 for any
    learn: makes lessons of a session, which are stored in the same transaction as its episodes
    """
    names = space.read(lambda tx: _find_grown(tx, session, quiet_since))
    made: list[RecordedEpisode] = []
    waiting: list[_Write] = []
    messages = 0
    for name in names:
        if ready := read_or_none(partial(_prepare_session, space, name, clock(), learn)):
            waiting.append(ready[0])
            messages += ready[1]
        if messages >= PAGE:  # many small sessions are written in one transaction
            made += _write_sessions(space, waiting)
            waiting, messages = [], 0
    made += _write_sessions(space, waiting)
    actions = [one.action for one in made]
    return BuiltEpisodes(len(names), len(made), actions.count("created"), actions.count("updated"))


def _find_grown(tx: Tx, session: str, quiet_since: int) -> list[str]:
    if session:
        if archive_sql.get(tx, session) is None:
            raise NotFound(
                "there is no such session", where=session, hint="see `recollect session list`"
            )
        return [session]
    return sql.list_grown_sessions(tx, CURSOR, quiet_since or FOREVER)


_Write = Callable[[Tx], list[RecordedEpisode]]
"""Writes the episodes and the cursor of a session."""


def _write_sessions(space: Database, waiting: Sequence[_Write]) -> list[RecordedEpisode]:
    """Write several sessions in one transaction; if a record is damaged, one by one."""
    if not waiting:
        return []
    done = read_or_none(
        lambda: space.write(lambda tx: [one for write in waiting for one in write(tx)])
    )
    if done is None and len(waiting) > 1:
        return [one for write in waiting for one in _write_sessions(space, [write])]
    return done or []


def _prepare_session(
    space: Database, name: str, now: int, learn: Learn | None
) -> tuple[_Write, int]:
    """Read the episodes of a session; return the function that writes them, and the number of
    messages."""
    session, messages = space.read(lambda tx: (archive_sql.get(tx, name), load_messages(tx, name)))
    assert session is not None
    remembered = [one for one in messages if one.message.content != text_messages.FORGOTTEN]
    tried = list_attempts(remembered)
    found = records.build(remembered, name, session.agent, session.cwd, tried)
    bodies = redaction.redact_json_many(list(map(records.to_json, found)))
    rows = [
        _row(episode, episode.id, body.text, "system", now)
        for episode, body in zip(found, bodies, strict=True)
    ]
    read = redaction.redact(str(messages[-1].seq if messages else 0))
    write_lessons = learn(session, remembered, tried) if learn else None

    def work(tx: Tx) -> list[RecordedEpisode]:
        kept = [store_episode(tx, row, replace=True) for row in rows]
        if write_lessons:
            write_lessons(tx)
        archive_sql.set_cursor(tx, _cursor(name), read, now)
        return kept

    return work, len(messages)


def _cursor(session: str) -> SafeText:
    return redaction.redact_name(f"{CURSOR}{session}")


def read_again(tx: Tx, session: str, now: int) -> None:
    """Mark a session to be read again, because the trust in its messages has changed."""
    archive_sql.set_cursor(tx, _cursor(session), redaction.redact(""), now)


def load_messages(tx: Tx, session: str) -> list[Stored]:
    """Return all messages of a session, with their labels as origins."""
    found: list[Stored] = []
    first = 1
    while rows := archive_sql.messages(tx, session, first, first + PAGE - 1, PAGE):
        found += [archive_steps_sessions.stored_message(row, row.label) for row in rows]
        first += PAGE
    return found


# ---------------------------------------------------------------- show


def get_episode(tx: Tx, name: str) -> sql.EpisodeRow:
    """Return the episode with this id, a prefix of its id, or the id of its JSON."""
    name = name.removeprefix(text_addresses.SCHEME)
    row = sql.get(tx, name) or sql.get(tx, address_id(name))
    if row is None and name.startswith("e-"):
        row = sql.get(tx, text_addresses.pick_unique_id(name, sql.starting_with(tx, name)))
    if row is None:
        raise NotFound(
            "there is no such episode", where=name, hint="`recollect episode list` shows them"
        )
    return row


def list_episodes(tx: Tx, where: Mapping[str, str], limit: int) -> list[ShownEpisode]:
    """Return episodes with these values, newest first."""
    return [show_row(row) for row in sql.list_episodes(tx, where, limit)]


def list_learnings(tx: Tx, since: int, limit: int) -> list[aging.LearningDay]:
    """Return the errors of episodes by day, the newest day first, of the newest days."""
    found = (
        records.from_json(json.loads(body))._replace(id=id, at=at)
        for id, at, body in sql.list_bodies(tx, since)
    )
    return aging.learnings(found)[:limit]


def show_row(row: sql.EpisodeRow) -> ShownEpisode:
    """Return a stored episode as a record."""
    known = {**row._asdict(), "episode": json.loads(row.body)}
    return ShownEpisode(**{name: known[name] for name in ShownEpisode._fields})


def replay(row: sql.EpisodeRow, stamp: Callable[[str], str]) -> EpisodeReplay:
    """Return an episode step by step.

    stamp: returns the size and time of a file; empty if it is gone
    """
    episode = episode_of(row)
    end = episode.at + round(episode.duration_seconds * 1_000_000)
    made = set(episode.artifacts)
    files = tuple(
        FileNow(path, _state_since(stamp(path), end), "changed" if path in made else "read")
        for path in dict.fromkeys((*episode.files, *episode.artifacts))
    )
    return EpisodeReplay(
        id=row.id,
        goal=row.goal,
        outcome=row.outcome,
        steps=episode.actions,
        errors=episode.errors,
        files=files,
    )


def _state_since(stamp: str, end: int) -> str:
    """Return the state of a file compared with a time: gone, present, changed since, unchanged."""
    if not stamp:
        return "gone"
    written = stamp.rpartition("-")[2]
    if not written.isdigit():
        return "present"
    return "changed since" if int(written) // 1000 > end else "unchanged"
