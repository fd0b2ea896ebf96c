"""Find and erase texts in every table of a space. A text is found by `replace`, which both engines
have; forgetting is rare, so that reading whole tables is fine."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence

from ..index import sql as index_sql
from ..storage.database import Row, Tx
from ..text import messages
from ..types.records import SafeText

FORGOTTEN = messages.FORGOTTEN

_STATEMENTS = ("text", "subject", "detail", "tags", "examples", "citations", "evidence", "reason")
REWRITTEN = ("documents", "episodes", "procedures")
"""Tables whose rows stay, without the text, and are in the search index."""

DROPPED: Mapping[str, Sequence[str]] = {
    "jobs": ("subject", "payload", "error"),
    "observations": ("subject", "body"),
    "findings": ("subject", "body"),
    "undos": ("body",),
}
"""Tables whose rows go with the text: they are derived, or would bring it back."""

_KEPT_WHOLE = ("messages", "memories", "memory_revisions", "attachments", "tombstones")
"""Tables that have functions of their own."""


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
    """Return id, sources, evidence and origin of memories that name a record as a source."""
    return tx.run(
        f"SELECT id, sources, evidence, origin FROM memories WHERE space = :space "
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
            tx.run(
                "DELETE FROM attachments WHERE space = :space AND sha256 = :digest",
                {"digest": digest},
            )
    return str(row[1])


def find_attachments(tx: Tx, holds: Callable[[bytes], bool]) -> list[str]:
    """Return the hashes of the attachments whose bytes fit; they are read one by one."""
    rows = tx.run("SELECT sha256 FROM attachments WHERE space = :space ORDER BY sha256")
    found = []
    for (digest,) in rows:
        row = tx.one(
            "SELECT data FROM attachments WHERE space = :space AND sha256 = :digest",
            {"digest": digest},
        )
        if row and holds(bytes(row[0])):
            found.append(digest)
    return found


def list_episodes(tx: Tx, session: str) -> list[str]:
    """Return the ids of the episodes of a session."""
    rows = tx.run(
        "SELECT id FROM episodes WHERE space = :space AND session = :session", {"session": session}
    )
    return [row[0] for row in rows]


def list_checkpoints(tx: Tx, session: str) -> list[str]:
    """Return the addresses of the documents that were made of a session: its checkpoint, also if it
    is the newest of all, and its extraction."""
    rows = tx.run(
        "SELECT DISTINCT address FROM documents WHERE space = :space AND "
        "((owner = :session AND origin = 'system') OR address = :own OR address = :newest)",
        {
            "session": session,
            "own": f"memory://scratch/session_progress:{session}",
            "newest": "memory://scratch/session_progress",
        },
    )
    return [row[0] for row in rows]


def delete_derived(tx: Tx, session: str) -> dict[str, int]:
    """Delete what was made of the messages of a session, but memories: its window with the summary,
    episodes, observations, extractions. All of it is made again of what is left. Return the number
    of rows by table."""
    given = {"session": session, "address": f"session/{session}"}
    done: dict[str, int] = {}
    for address in list_checkpoints(tx, session):
        for seq in count_entries(tx, "document", address):
            index_sql.remove_entry(tx, "document", address, seq)
        rows = tx.run(
            "DELETE FROM documents WHERE space = :space AND address = :address RETURNING 1",
            {"address": address},
        )
        done["documents"] = done.get("documents", 0) + len(rows)
    for id in list_episodes(tx, session):
        for seq in count_entries(tx, "episode", id):
            index_sql.remove_entry(tx, "episode", id, seq)
        for column in ("source", "target"):
            tx.run(f"DELETE FROM links WHERE space = :space AND {column} = :id", {"id": id})
    for table, where in _DERIVED:
        rows = tx.run(f"DELETE FROM {table} WHERE space = :space AND {where} RETURNING 1", given)
        done[table] = done.get(table, 0) + len(rows)
    return {table: number for table, number in done.items() if number}


_DERIVED = (
    ("windows", "session = :session"),
    ("episodes", "session = :session"),
    (
        "findings",
        "EXISTS (SELECT 1 FROM observations o WHERE o.space = findings.space "
        "AND o.kind = findings.kind AND o.subject = findings.subject AND o.session = :session)",
    ),
    ("observations", "session = :session"),
    ("jobs", "subject = :session"),
    ("cursors", "source = 'work:' || :session"),
    ("undos", "replace(body, :address, '') <> body"),
)
"""Tables with rows that are made of a session's messages, and how they name it."""


def delete_documents(tx: Tx, types: Sequence[str]) -> int:
    """Delete all revisions of the documents of some types; return their number."""
    return sum(
        len(
            tx.run(
                "DELETE FROM documents WHERE space = :space AND type = :type RETURNING 1",
                {"type": type},
            )
        )
        for type in types
    )


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


def remove_entries(tx: Tx, text: str) -> None:
    """Remove the index entries of records whose address or id contains a text."""
    rows = tx.run(
        "SELECT DISTINCT source, ref, seq FROM entries "
        f"WHERE space = :space AND {_holds(('ref',))}",
        {"text": text},
    )
    for source, ref, seq in rows:
        index_sql.remove_entry(tx, source, ref, seq)


def rewrite(
    tx: Tx, table: str, text: str, keys: Sequence[str], columns: Sequence[str]
) -> tuple[int, list[str]]:
    """Delete the rows whose key contains a text, and replace it in the other columns of the rest;
    return the number of rows, and the first part of their keys."""
    found: list[Row] = []
    named = [name for name in keys if name in columns]
    if table in _UNIQUE:
        named.append(_UNIQUE[table])
    others = [name for name in columns if name not in named and name != "seal"]
    if named:
        found += tx.run(
            f"DELETE FROM {table} WHERE space = :space AND {_holds(named)} RETURNING {keys[0]}",
            {"text": text},
        )
    if others and table not in _KEPT_WHOLE:
        sets = ", ".join(f"{name} = replace({name}, :text, :mark)" for name in others)
        found += tx.run(
            f"UPDATE {table} SET {sets} WHERE space = :space AND {_holds(others)} "
            f"RETURNING {keys[0]}",
            {"text": text, "mark": FORGOTTEN},
        )
    return len(found), [row[0] for row in found]


_UNIQUE = {"procedures": "name"}
"""Columns that name a record, besides its key."""


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
