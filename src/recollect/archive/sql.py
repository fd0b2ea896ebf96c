"""The SQL of sessions, their append-only messages, and the read positions of transcripts.

A session's row holds the counter: an append locks it until the commit, so sequence numbers have no
gaps and no duplicates.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..storage.database import Row, Tx, batches, ids_with_prefix, load_json, wanted_rows
from ..text.messages import forgotten_body
from ..types.records import FOREVER, ROLES, Json, SafeText, Session

if TYPE_CHECKING:
    from .attachments import Attachment

_SESSION = (
    "s.id, s.name, s.agent, s.cwd, s.branch, s.status, s.created, s.last_active, s.next_seq - 1, "
    "coalesce(w.window_from, 1), coalesce(w.summary, ''), s.usage, s.head"
)

_FROM = "FROM sessions s LEFT JOIN windows w ON w.space = s.space AND w.session = s.id"

_BEGUN = "sessions begun"

_MESSAGE = "session, seq, role, body, at, key, origin, label, digest, hash"


_RANGES = 40
"""Ranges of messages in one statement."""


class MessageRow(NamedTuple):
    """A message as it is stored."""

    session: str
    seq: int
    role: str
    body: str
    at: int
    key: str | None
    origin: str
    label: str
    digest: str
    hash: str


class NewSession(NamedTuple):
    """Details of a session that is created with its first message."""

    id: SafeText
    name: SafeText
    agent: SafeText
    cwd: SafeText
    branch: SafeText
    origin: str


def create(tx: Tx, session: NewSession, now: int) -> None:
    """Create a session if it is missing, and count it."""
    new = tx.one(
        "INSERT INTO sessions (space, id, name, agent, cwd, branch, status, created, last_active, "
        "next_seq, head, usage, origin, label, sources) VALUES (:space, :id, :name, :agent, :cwd, "
        ":branch, 'active', :now, :now, 1, '', '{}', :origin, :origin, '[]') "
        "ON CONFLICT (space, id) DO NOTHING RETURNING id",
        {**session._asdict(), "now": now},
    )
    if new:
        tx.run(
            "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, '1', :now) "
            "ON CONFLICT (space, key) DO UPDATE SET "
            "value = CAST(CAST(state.value AS BIGINT) + 1 AS TEXT), updated = excluded.updated",
            {"key": _BEGUN, "now": now},
        )


def count_begun(tx: Tx) -> int:
    """Count the sessions ever created: more than exist means that one was lost."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :key", {"key": _BEGUN})
    return int(row[0]) if row else 0


def recount_begun(tx: Tx, now: int) -> None:
    """Count the sessions anew, after some were loaded from elsewhere or erased."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) SELECT :space, :key, "
        "CAST(count(*) AS TEXT), :now FROM sessions WHERE space = :space "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
        {"key": _BEGUN, "now": now},
    )


def lock_session(tx: Tx, session: str) -> tuple[int, str] | None:
    """Lock a session until the commit; return its next sequence number and last hash."""
    row = tx.one(
        "SELECT next_seq, head FROM sessions WHERE space = :space AND id = :id " + tx.for_update,
        {"id": session},
    )
    return (row[0], row[1]) if row else None


def save_session_head(tx: Tx, session: str, next_seq: int, head: str, now: int) -> None:
    """Store the next sequence number and the last hash after an append."""
    tx.run(
        "UPDATE sessions SET next_seq = :next_seq, head = :head, last_active = :now, "
        "status = 'active' WHERE space = :space AND id = :id",
        {"id": session, "next_seq": next_seq, "head": head, "now": now},
    )


def get_usage(tx: Tx, session: str) -> Mapping[str, Json]:
    """Return the token usage of a session so far."""
    row = tx.one("SELECT usage FROM sessions WHERE space = :space AND id = :id", {"id": session})
    return dict(load_json(row[0])) if row else {}


def insert_messages(tx: Tx, rows: Sequence[Row]) -> None:
    """Append messages, given as tuples in the order of `MessageRow` (making a `MessageRow` of each
    is slow). The text of the INSERT is made by `Tx.insert`."""
    tx.insert("messages", _MESSAGE, rows)


def seqs_by_key(tx: Tx, session: str, keys: Sequence[str]) -> dict[str, int]:
    """Return the sequence numbers of those keys that a session already has."""
    found: dict[str, int] = {}
    for names, params in batches("key", keys):
        rows = tx.run(
            "SELECT key, seq FROM messages WHERE space = :space AND session = :session "
            f"AND key IN ({names})",
            {"session": session, **params},
        )
        found.update((row[0], row[1]) for row in rows)
    return found


def known_keys(tx: Tx, keys: Sequence[str], forgotten: bool = False) -> set[str]:
    """Return those of the keys that any session already has; with `forgotten`, those whose message
    was erased on request."""
    erased = {role: forgotten_body(role) for role in ROLES if forgotten}
    only = f"AND body IN ({', '.join(f':{role}' for role in erased)})" if erased else ""
    found: set[str] = set()
    for names, params in batches("key", keys):
        where = f"space = :space AND key IN ({names}) {only}"
        rows = tx.run(f"SELECT key FROM messages WHERE {where}", {**params, **erased})
        found.update(row[0] for row in rows)
    return found


def imported_messages(tx: Tx, keys: Sequence[str]) -> list[tuple[str, str, int, str]]:
    """Return key, session, number and digest of those messages that nobody vouches for."""
    return [
        (row[0], row[1], row[2], row[3])
        for names, params in batches("key", keys)
        for row in tx.run(
            "SELECT key, session, seq, digest FROM messages WHERE space = :space "
            f"AND key IN ({names}) AND label = 'import'",
            params,
        )
    ]


def relabel_messages(tx: Tx, session: str, seqs: Sequence[int], label: str) -> None:
    """Set the label of messages of a session. The origin stays: it is part of the hash."""
    for names, params in batches("seq", seqs):
        tx.run(
            "UPDATE messages SET label = :label WHERE space = :space "
            f"AND session = :session AND seq IN ({names})",
            {"label": label, "session": session, **params},
        )


def update_details(
    tx: Tx, session: str, about: Mapping[str, SafeText], unless_named: str = ""
) -> None:
    """Set details of a session: name, agent, cwd, branch, usage, or the status, which is active
    again with its next message."""
    if about:
        changes = ", ".join(f"{column} = :{column}" for column in about)
        tx.run(
            f"UPDATE sessions SET {changes} WHERE space = :space AND id = :id AND name <> :unless",
            {**about, "id": session, "unless": unless_named or "\n"},
        )


def get(tx: Tx, session: str) -> Session | None:
    """Return one session."""
    row = tx.one(
        f"SELECT {_SESSION} {_FROM} WHERE s.space = :space AND s.id = :id", {"id": session}
    )
    return _session(row) if row else None


def starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Return session ids that start with a prefix."""
    return ids_with_prefix(tx, "sessions", prefix, limit)


def latest_sessions(
    tx: Tx, limit: int, status: str = "", since: int = 0, until: int = FOREVER
) -> list[Session]:
    """Return sessions last active between two times, the most recent first."""
    chosen = "AND s.status = :status " if status else ""
    rows = tx.run(
        f"SELECT {_SESSION} {_FROM} WHERE s.space = :space {chosen}"
        "AND s.last_active >= :since AND s.last_active < :until "
        "ORDER BY s.last_active DESC, s.id LIMIT :limit",
        {"limit": limit, "status": status, "since": since, "until": until},
    )
    return [_session(row) for row in rows]


def messages(tx: Tx, session: str, first: int, last: int, limit: int = 1000) -> list[MessageRow]:
    """Return messages of a session by sequence number, both ends included."""
    rows = tx.run(
        f"SELECT {_MESSAGE} FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND seq <= :last ORDER BY seq LIMIT :limit",
        {"session": session, "first": first, "last": last, "limit": limit},
    )
    return [MessageRow(*row) for row in rows]


def message_ranges(tx: Tx, ranges: Sequence[tuple[str, int, int]]) -> list[MessageRow]:
    """Return messages of several sessions: session, first and last number of each range."""
    found: dict[tuple[str, int], MessageRow] = {}
    for start in range(0, len(ranges), _RANGES):
        wanted, params = wanted_rows("place, first, last", ranges[start : start + _RANGES])
        rows = tx.run(
            f"{wanted} SELECT {_MESSAGE} FROM seen CROSS JOIN messages WHERE space = :space "
            "AND session = place AND seq >= first AND seq <= last",
            params,
        )
        found |= {(row.session, row.seq): row for row in map(MessageRow._make, rows)}
    return [found[key] for key in sorted(found)]


def message(tx: Tx, session: str, seq: int) -> MessageRow | None:
    """Return one message."""
    found = messages(tx, session, seq, seq, 1)
    return found[0] if found else None


def last_message_by(tx: Tx, session: str, role: str, first: int, last: int) -> MessageRow | None:
    """Return the last message of a role in a range, both ends included."""
    row = tx.one(
        f"SELECT {_MESSAGE} FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND seq <= :last AND role = :role ORDER BY seq DESC LIMIT 1",
        {"session": session, "first": first, "last": last, "role": role},
    )
    return MessageRow(*row) if row else None


def turn_ends(
    tx: Tx, places: Sequence[tuple[str, int]], most: int
) -> dict[tuple[str, int], list[MessageRow]]:
    """Return the messages of the assistant, up to its last before the next one of the user and at
    most so many numbers before that, for messages by session and number; those without a reply are
    left out."""
    found: dict[tuple[str, int], list[MessageRow]] = {}
    places = list(dict.fromkeys(places))
    after = "space = :space AND session = place AND seq > asked"
    for start in range(0, len(places), _RANGES):
        wanted, params = wanted_rows("place, asked", places[start : start + _RANGES])
        rows = tx.run(
            f"{wanted}, turns AS MATERIALIZED (SELECT place, asked, (SELECT max(seq) FROM messages "
            f"WHERE {after} AND role = 'assistant' AND seq < coalesce((SELECT min(seq) "
            f"FROM messages WHERE {after} AND role = 'user'), 9223372036854775807)) AS last "
            f"FROM seen) SELECT asked, {_MESSAGE} FROM turns CROSS JOIN messages WHERE {after} "
            "AND seq >= last - :most AND seq <= last AND role = 'assistant' ORDER BY seq",
            {**params, "most": most},
        )
        for asked, *row in rows:
            found.setdefault((row[0], asked), []).append(MessageRow._make(row))
    return found


def labels(tx: Tx, session: str, first: int, last: int) -> list[str]:
    """Return the distinct trust labels of a range of messages."""
    rows = tx.run(
        "SELECT DISTINCT label FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND seq <= :last",
        {"session": session, "first": first, "last": last},
    )
    return [row[0] for row in rows]


def all_ids(tx: Tx) -> list[str]:
    """Return the ids of all sessions."""
    return [row[0] for row in tx.run("SELECT id FROM sessions WHERE space = :space ORDER BY id")]


def counts(tx: Tx) -> tuple[int, int]:
    """Count sessions and messages."""
    row = tx.one(
        "SELECT count(*), coalesce(sum(next_seq - 1), 0) FROM sessions WHERE space = :space"
    )
    return (int(row[0]), int(row[1])) if row else (0, 0)


def _session(row: Row) -> Session:
    found = Session._make(row)
    return found._replace(usage=load_json(str(found.usage)))


# ---------------------------------------------------------------- transcripts and hook events


class ReadPosition(NamedTuple):
    """The position up to which a transcript was read, as JSON, and when it was stored."""

    position: str | None = None
    updated: int = 0


def get_cursor(tx: Tx, source: str) -> ReadPosition:
    """Return the position up to which a transcript was read."""
    row = tx.one(
        "SELECT position, updated FROM cursors WHERE space = :space AND source = :source",
        {"source": source},
    )
    return ReadPosition(*row) if row else ReadPosition()


def count_foreign(tx: Tx) -> int:
    """Count the sessions that were imported from files outside an agent's own folder, among the
    1,000 last active."""
    row = tx.one(
        "SELECT count(*) FROM (SELECT origin FROM sessions WHERE space = :space "
        "ORDER BY last_active DESC LIMIT 1000) AS newest WHERE origin = 'import'"
    )
    return int(row[0]) if row else 0


def set_cursor(tx: Tx, source: SafeText, position: SafeText, now: int) -> None:
    """Store the position up to which a transcript was read."""
    tx.run(
        "INSERT INTO cursors (space, source, position, updated) "
        "VALUES (:space, :source, :position, :now) ON CONFLICT (space, source) "
        "DO UPDATE SET position = excluded.position, updated = excluded.updated",
        {"source": source, "position": position, "now": now},
    )


def lock_imports(tx: Tx, now: int) -> None:
    """Lock imports into this space until the commit.

    Two imports with copies of one message, in a conversation and its fork, must not both find it
    missing.
    """
    if tx.for_update:  # otherwise there is one writer anyway
        tx.run(
            "INSERT INTO state (space, key, value, updated) VALUES (:space, 'imports', '1', :now) "
            "ON CONFLICT (space, key) DO UPDATE SET updated = excluded.updated",
            {"now": now},
        )


def keep_attachments(tx: Tx, rows: Iterable[Attachment], now: int) -> None:
    """Store the bytes of attachments by hash and media type; those that are known stay."""
    tx.many(
        "INSERT INTO attachments (space, sha256, media_type, data, created) "
        "VALUES (:space, :sha256, :media_type, :data, :now) ON CONFLICT (space, sha256) DO NOTHING",
        [
            {"sha256": one.sha256, "media_type": one.media_type, "data": one.data, "now": now}
            for one in rows
        ],
    )


def load_attachments(tx: Tx, hashes: Iterable[str]) -> dict[str, bytes]:
    """Return the bytes of attachments by hash."""
    found: dict[str, bytes] = {}
    for digest in hashes:
        row = tx.one(
            "SELECT data FROM attachments WHERE space = :space AND sha256 = :sha256",
            {"sha256": digest},
        )
        if row:
            found[digest] = bytes(row[0])
    return found


class TypedRow(NamedTuple):
    """A message that the user typed."""

    seq: int
    body: str
    at: int


def list_typed(tx: Tx, session: str, first: int, limit: int) -> list[TypedRow]:
    """Return messages of a session that the user typed, from a sequence number on."""
    rows = tx.run(
        "SELECT seq, body, at FROM messages WHERE space = :space AND session = :session "
        "AND seq >= :first AND role = 'user' AND label = 'user' ORDER BY seq LIMIT :limit",
        {"session": session, "first": first, "limit": limit},
    )
    return [TypedRow(*row) for row in rows]
