"""Find and erase texts in every table of a space. A text is found by `replace`, which both engines
have; forgetting is rare, so that reading whole tables is fine."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..storage.database import Row, Tx
from ..text import messages
from ..types.records import SafeText

FORGOTTEN = messages.FORGOTTEN

_STATEMENTS = ("text", "subject", "detail", "tags", "examples", "citations", "evidence", "reason")
REWRITTEN: Mapping[str, Sequence[str]] = {
    "documents": ("title", "text", "fields"),
    "episodes": ("task", "goal", "outcome", "body", "synopsis"),
    "procedures": ("name", "description", "body"),
    "links": ("reason",),
    "sessions": ("name",),
    "windows": ("summary", "state"),
    "events": ("payload",),
    "state": ("value",),
}
"""Tables whose rows stay, without the text."""

DROPPED: Mapping[str, Sequence[str]] = {
    "jobs": ("subject", "payload", "error"),
    "observations": ("subject", "body"),
    "findings": ("subject", "body"),
    "undos": ("body",),
}
"""Tables whose rows go with the text: they are derived, or would bring it back."""

_KEYS = {"documents": "address", "episodes": "id", "procedures": "id"}


def _holds(columns: Sequence[str]) -> str:
    """Return a condition: one of the columns contains the text."""
    return "(" + " OR ".join(f"replace({name}, :text, '') <> {name}" for name in columns) + ")"


def find_memories(tx: Tx, text: str) -> list[str]:
    """Return the ids of memories that contain a text in any revision."""
    found = [
        row[0]
        for table in ("memories", "memory_revisions")
        for row in tx.run(
            f"SELECT id FROM {table} WHERE space = :space AND {_holds(_STATEMENTS)}", {"text": text}
        )
    ]
    return list(dict.fromkeys(found))


def find_derived(tx: Tx, ref: str) -> list[Row]:
    """Return id, sources and evidence of memories that name a record as a source."""
    return tx.run(
        f"SELECT id, sources, evidence FROM memories WHERE space = :space "
        f"AND {_holds(('sources', 'evidence'))}",
        {"text": ref},
    )


def load_texts(tx: Tx, memory: str) -> list[str]:
    """Return the texts of all revisions of a memory."""
    return [
        row[0]
        for table in ("memories", "memory_revisions")
        for row in tx.run(
            f"SELECT text FROM {table} WHERE space = :space AND id = :id", {"id": memory}
        )
    ]


def find_messages(tx: Tx, text: str) -> list[tuple[str, int]]:
    """Return session and number of the messages that contain a text."""
    rows = tx.run(
        f"SELECT session, seq FROM messages WHERE space = :space AND {_holds(('body',))}",
        {"text": text},
    )
    return [(row[0], row[1]) for row in rows]


def erase_message(tx: Tx, session: str, seq: int) -> str:
    """Replace the body of a message; its digest and its place in the chain stay. Return the body
    that was there; empty without one."""
    row = tx.one(
        "SELECT role, body FROM messages WHERE space = :space AND session = :session "
        "AND seq = :seq",
        {"session": session, "seq": seq},
    )
    if row is None:
        return ""
    tx.run(
        "UPDATE messages SET body = :body WHERE space = :space AND session = :session "
        "AND seq = :seq",
        {"session": session, "seq": seq, "body": messages.forgotten_body(row[0])},
    )
    for digest in sorted(set(re.findall("[0-9a-f]{64}", row[1]))):
        if not find_messages(tx, digest):
            _delete_attachment(tx, digest)
    return str(row[1])


def _delete_attachment(tx: Tx, digest: str) -> None:
    tx.run("DELETE FROM attachments WHERE space = :space AND sha256 = :digest", {"digest": digest})


def delete_memory(tx: Tx, memory: str) -> None:
    """Delete a memory with its revisions, aliases, claims, links and uses."""
    for table, column in (
        ("memories", "id"),
        ("memory_revisions", "id"),
        ("memory_aliases", "id"),
        ("claims", "memory"),
        ("links", "source"),
        ("links", "target"),
        ("injections", "ref"),
        ("writes", "ref"),
    ):
        tx.run(f"DELETE FROM {table} WHERE space = :space AND {column} = :id", {"id": memory})


def count_entries(tx: Tx, source: str, ref: str) -> list[int]:
    """Return the numbers of a record's index entries."""
    rows = tx.run(
        "SELECT DISTINCT seq FROM entries WHERE space = :space AND source = :source AND ref = :ref",
        {"source": source, "ref": ref},
    )
    return [row[0] for row in rows]


def rewrite(tx: Tx, table: str, text: str) -> tuple[int, list[str]]:
    """Replace a text in the rows of a table; return their number, and the keys of those that are
    in the search index."""
    columns = REWRITTEN[table]
    key = _KEYS.get(table, columns[0])
    sets = ", ".join(f"{name} = replace({name}, :text, :mark)" for name in columns)
    rows = tx.run(
        f"UPDATE {table} SET {sets} WHERE space = :space AND {_holds(columns)} RETURNING {key}",
        {"text": text, "mark": FORGOTTEN},
    )
    return len(rows), [row[0] for row in rows] if table in _KEYS else []


def drop(tx: Tx, table: str, text: str) -> int:
    """Delete the rows of a table that contain a text; return their number."""
    rows = tx.run(
        f"DELETE FROM {table} WHERE space = :space AND {_holds(DROPPED[table])} RETURNING 1",
        {"text": text},
    )
    return len(rows)


def bury(tx: Tx, digests: Sequence[str], ref: str, now: int) -> None:
    """Leave tombstones, so that the texts with these digests are not learned again."""
    tx.many(
        "INSERT INTO tombstones (space, digest, ref, at) VALUES (:space, :digest, :ref, :at) "
        "ON CONFLICT DO NOTHING",
        [{"digest": digest, "ref": ref, "at": now} for digest in digests],
    )


def load_scrubbable(tx: Tx, table: str, key: str, columns: Sequence[str], after: Row) -> list[Row]:
    """Return a page of rows: key, then the columns that are scanned for secrets."""
    keys = key.split(", ")
    order = ", ".join(keys)
    marks = ", ".join(f":after{place}" for place in range(len(keys)))
    later = f"({order}) > ({marks})"
    return tx.run(
        f"SELECT {order}, {', '.join(columns)} FROM {table} WHERE space = :space AND {later} "
        f"ORDER BY {order} LIMIT 500",
        {f"after{place}": value for place, value in enumerate(after)},
    )


def set_scrubbed(
    tx: Tx, table: str, keys: Mapping[str, object], values: Mapping[str, SafeText]
) -> None:
    """Write the scrubbed columns of a row."""
    sets = ", ".join(f"{name} = :{name}" for name in values)
    where = " AND ".join(f"{name} = :key_{name}" for name in keys)
    tx.run(
        f"UPDATE {table} SET {sets} WHERE space = :space AND {where}",
        {**values, **{f"key_{name}": value for name, value in keys.items()}},
    )


def set_hashes(tx: Tx, session: str, seq: int, digest: str, hash: str) -> None:
    """Write the digest of a message and its hash in the chain."""
    tx.run(
        "UPDATE messages SET digest = :digest, hash = :hash WHERE space = :space "
        "AND session = :session AND seq = :seq",
        {"session": session, "seq": seq, "digest": digest, "hash": hash},
    )


def set_head(tx: Tx, session: str, head: str) -> None:
    """Write the end of a session's chain."""
    tx.run(
        "UPDATE sessions SET head = :head WHERE space = :space AND id = :id",
        {"id": session, "head": head},
    )
