"""SQL of maintenance: quarantine a store made elsewhere, read the overview of a store, erase texts.

A text is searched with `replace`, which both engines have. It reads whole tables, which is fine
because forgetting is rare.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..storage.database import TABLES, Row, Tx
from ..text import messages
from ..types.records import FOREVER, SafeText
from ..undo import sql as undo_sql

_LABELLED = ("memories", "memory_revisions", "documents", "episodes", "procedures", "links")
_WITH_STATUS = ("memories", "documents", "episodes", "procedures")


def memory_vocabulary(tx: Tx) -> list[Row]:
    """Return every combination of kind, layer, status, priority, origin and label of memories and
    their earlier revisions."""
    chosen = "SELECT kind, layer, status, priority, origin, label"
    return tx.run(
        f"{chosen} FROM memories WHERE space = :space UNION "
        f"{chosen} FROM memory_revisions WHERE space = :space"
    )


def memory_ids(tx: Tx) -> list[str]:
    """Return the ids of all memories."""
    return [row[0] for row in tx.run("SELECT id FROM memories WHERE space = :space")]


def quarantine(tx: Tx) -> None:
    """Label everything as imported, and take it out of use.

    The origin of messages is part of their hash chain and stays.
    """
    for table in _LABELLED:
        tx.run(f"UPDATE {table} SET origin = 'import', label = 'import' WHERE space = :space")
    for table in _WITH_STATUS:
        tx.run(
            f"UPDATE {table} SET status = 'quarantined' "
            "WHERE space = :space AND status IN ('active', 'proposed')"
        )
    for table in ("sessions", "messages", "entries"):
        tx.run(f"UPDATE {table} SET label = 'import' WHERE space = :space")
    tx.run(
        "UPDATE entries SET status = 'quarantined' WHERE space = :space "
        "AND source <> 'message' AND status IN ('active', 'proposed')"
    )
    for table in ("jobs", "observations", "findings"):
        tx.run(f"DELETE FROM {table} WHERE space = :space")


# ---------------------------------------------------------------- overview


class ChangedMemory(NamedTuple):
    """The memory that was changed last, with the change and its time."""

    id: str
    change: str
    at: int


def last_changed_memory(tx: Tx) -> ChangedMemory | None:
    """Return the memory in use that was learned or revised last; undone changes do not count."""
    row = tx.one(
        f"SELECT id, change, valid_from FROM memories WHERE space = :space "
        f"AND valid_to = {FOREVER} AND status <> 'hidden' AND change <> 'undo' "
        "ORDER BY valid_from DESC, id LIMIT 1"
    )
    return ChangedMemory._make(row) if row else None


def has_memories(tx: Tx) -> bool:
    """Check whether a space has a memory, including hidden ones."""
    sql = f"SELECT 1 FROM memories WHERE space = :space AND valid_to = {FOREVER} LIMIT 1"
    return tx.one(sql) is not None


def list_learned_at(tx: Tx, at: int) -> list[str]:
    """Return the memories in use that one call saved at this time."""
    rows = tx.run(
        "SELECT id FROM memories WHERE space = :space AND valid_from = :at "
        f"AND valid_to = {FOREVER} AND status <> 'hidden' AND change = 'learn' ORDER BY id",
        {"at": at},
    )
    return [row[0] for row in rows]


def measure_tables(tx: Tx) -> list[Row]:
    """Return each table with the bytes that it and its indexes take on disk."""
    if tx.is_remote:  # PostgreSQL, where all spaces share the tables
        return tx.run(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'recollect'::regnamespace ORDER BY relname"
        )
    return tx.run(
        "SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d "
        "LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY 1"
    )


def nearest_ids(tx: Tx, ids: Sequence[str]) -> list[str]:
    """Return the ids directly before and after each of these, from which prefixes must differ."""
    found: list[str] = []
    for start in range(0, len(ids), _MOST_NEIGHBOURS):
        part = ids[start : start + _MOST_NEIGHBOURS]
        params = {f"id_{place}": id for place, id in enumerate(part)}
        chosen = ", ".join(
            f"(SELECT max(id) FROM memories WHERE space = :space AND id < :{name}), "
            f"(SELECT min(id) FROM memories WHERE space = :space AND id > :{name})"
            for name in params
        )
        found += [id for id in tx.one(f"SELECT {chosen}", params) or () if id]
    return found


_MOST_NEIGHBOURS = 50


def count_by_day(tx: Tx) -> list[Row]:
    """Return kind, day since 1970 and number of the memories in use that were first saved then."""
    return tx.run(
        "SELECT kind, day, CAST(sum(number) AS BIGINT) FROM memory_counts WHERE space = :space "
        "AND status <> 'hidden' GROUP BY kind, day HAVING sum(number) > 0 ORDER BY day, kind"
    )


# ---------------------------------------------------------------- erase

FORGOTTEN = messages.FORGOTTEN

STATEMENTS = ("text", "subject", "detail", "tags", "examples", "citations", "evidence", "reason")
"""The columns of a memory with text."""

REWRITTEN = ("documents", "episodes", "procedures")
"""Tables whose rows stay, without the text, and are in the search index."""

DROPPED: Mapping[str, Sequence[str]] = {
    "jobs": ("subject", "payload", "error"),
    "observations": ("subject", "body"),
    "findings": ("subject", "body"),
    "undos": ("body",),
}
"""Tables whose rows are deleted with the text: they are derived, or would bring it back."""

_KEPT_WHOLE = ("messages", "memories", "memory_revisions", "attachments", "tombstones")
"""Tables whose texts are not replaced here: functions of their own rewrite or delete their rows."""


def _holds(columns: Sequence[str]) -> str:
    """Return the condition that one of the columns contains the text."""
    return "(" + " OR ".join(f"replace({name}, :text, '') <> {name}" for name in columns) + ")"


def _select(tx: Tx, columns: str, table: str, where: str, **given: object) -> list[Row]:
    return tx.run(f"SELECT {columns} FROM {table} WHERE space = :space AND {where}", given)


def _delete(tx: Tx, table: str, where: str, **given: object) -> int:
    """Delete rows and return their number."""
    return len(tx.run(f"DELETE FROM {table} WHERE space = :space AND {where} RETURNING 1", given))


def find_memories(tx: Tx, text: str, columns: Sequence[str] = STATEMENTS) -> list[str]:
    """Return the ids of memories that contain a text in any revision."""
    tables = ("memories", "memory_revisions")
    rows = (row for table in tables for row in _select(tx, "id", table, _holds(columns), text=text))
    return list(dict.fromkeys(row[0] for row in rows))


def find_derived(tx: Tx, ref: str) -> list[Row]:
    """Return id, sources, evidence, origin and detail of memories made from a record."""
    columns = "id, sources, evidence, origin, detail"
    return _select(tx, columns, "memories", _holds(("sources", "evidence")), text=ref)


def load_texts(tx: Tx, memory: str) -> list[str]:
    """Return the texts of all revisions of a memory."""
    tables = ("memories", "memory_revisions")
    return [row[0] for one in tables for row in _select(tx, "text", one, "id = :id", id=memory)]


def find_messages(tx: Tx, text: str, column: str = "body") -> list[tuple[str, int]]:
    """Return session and number of the messages that contain a text."""
    rows = _select(tx, "session, seq", "messages", _holds((column,)), text=text)
    return [(row[0], row[1]) for row in rows]


def erase_message(tx: Tx, session: str, seq: int) -> str:
    """Replace the body of a message; its digest and its place in the chain stay. Return the former
    body; empty without a message."""
    where, key = "session = :session AND seq = :seq", {"session": session, "seq": seq}
    rows = _select(tx, "role, body", "messages", where, **key)
    if not rows:
        return ""
    ((role, body),) = rows
    tx.run(
        f"UPDATE messages SET body = :body WHERE space = :space AND {where}",
        {**key, "body": messages.forgotten_body(role)},
    )
    for digest in sorted(set(re.findall("[0-9a-f]{64}", body))):
        if not find_messages(tx, digest):
            _delete(tx, "attachments", "sha256 = :digest", digest=digest)
    return str(body)


def find_attachments(tx: Tx, holds: Callable[[bytes], bool]) -> list[str]:
    """Return the hashes of the attachments whose bytes match a check; they are read one by one."""
    rows = tx.run("SELECT sha256 FROM attachments WHERE space = :space ORDER BY sha256")
    found = []
    for (digest,) in rows:
        same = _select(tx, "data", "attachments", "sha256 = :digest", digest=digest)
        if same and holds(bytes(same[0][0])):
            found.append(digest)
    return found


def list_episodes(tx: Tx, session: str) -> list[str]:
    """Return the ids of the episodes of a session."""
    rows = _select(tx, "id", "episodes", "session = :session", session=session)
    return [row[0] for row in rows]


def list_checkpoints(tx: Tx, session: str) -> list[str]:
    """Return the addresses of the documents made from a session: its extraction, its checkpoint,
    and the newest checkpoint of all sessions."""
    newest = "memory://scratch/session_progress"
    where = "((owner = :session AND origin = 'system') OR address = :own OR address = :newest)"
    given = {"session": session, "own": f"{newest}:{session}", "newest": newest}
    return [row[0] for row in _select(tx, "DISTINCT address", "documents", where, **given)]


def delete_derived(tx: Tx, session: str) -> dict[str, int]:
    """Delete the derived rows of a session, except memories: its window with the summary, episodes,
    observations, extractions. They are made again from the remaining messages. Return the number of
    rows by table."""
    done: Counter[str] = Counter()
    for address in list_checkpoints(tx, session):
        done["documents"] += delete_document(tx, address)
    for id in list_episodes(tx, session):
        remove_index(tx, "episode", id)
        for column in ("source", "target"):
            _delete(tx, "links", f"{column} = :id", id=id)
    for table, where in _DERIVED:
        given = {"session": session, "address": f"session/{session}"}
        done[table] += _delete(tx, table, where, **given)
    return dict(+done)


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
"""Tables with rows derived from a session's messages, and the condition that selects them."""


def load_document_texts(tx: Tx, address: str) -> list[str]:
    """Return the texts of all revisions of a document, oldest first."""
    where = "address = :address ORDER BY revision"
    return [row[0] for row in _select(tx, "text", "documents", where, address=address)]


def delete_document(tx: Tx, address: str) -> int:
    """Delete all revisions of a document, and its index entries; return their number."""
    remove_index(tx, "document", address)
    return _delete(tx, "documents", "address = :address", address=address)


def delete_documents(tx: Tx, types: Sequence[str]) -> int:
    """Delete all revisions of the documents of some types; return their number."""
    return sum(_delete(tx, "documents", "type = :type", type=type) for type in types)


_MEMORY_ROWS = (
    *(("memories", "id"), ("memory_revisions", "id"), ("memory_aliases", "id")),
    *(("claims", "memory"), ("links", "source"), ("links", "target")),
    *(("injections", "ref"), ("writes", "ref")),
)
"""The tables with rows of a memory, and the column that names it."""


def delete_memory(tx: Tx, memory: str) -> None:
    """Delete a memory with its revisions, aliases, claims, links and uses."""
    for table, column in _MEMORY_ROWS:
        _delete(tx, table, f"{column} = :id", id=memory)


def remove_index(tx: Tx, source: str, ref: str) -> None:
    """Remove the index entries of a record."""
    where = "source = :source AND ref = :ref"
    for (seq,) in _select(tx, "DISTINCT seq", "entries", where, source=source, ref=ref):
        index_sql.remove_entry(tx, source, ref, seq)


def remove_entries(tx: Tx, text: str) -> None:
    """Remove the index entries of records whose address or id contains a text."""
    for row in _select(tx, "DISTINCT source, ref, seq", "entries", _holds(("ref",)), text=text):
        index_sql.remove_entry(tx, *row)


def rewrite(
    tx: Tx, table: str, text: str, keys: Sequence[str], columns: Sequence[str]
) -> tuple[int, list[str]]:
    """Delete the rows whose key contains a text, and replace the text in other columns; return the
    number of rows, and the first part of their keys."""
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
"""Columns that name a record in addition to its key."""


def drop(tx: Tx, table: str, text: str) -> int:
    """Delete the rows of a table that contain a text; return their number."""
    return _delete(tx, table, _holds(DROPPED[table]), text=text)


def insert_tombstones(tx: Tx, digests: Sequence[str], ref: str, now: int) -> None:
    """Insert tombstones, so that the texts with these digests are not learned again."""
    tx.many(
        "INSERT INTO tombstones (space, digest, ref, at) VALUES (:space, :digest, :ref, :at) "
        "ON CONFLICT DO NOTHING",
        [{"digest": digest, "ref": ref, "at": now} for digest in digests],
    )


def load_scrubbable(tx: Tx, table: str, columns: Sequence[str], after: Row) -> list[Row]:
    """Return a page of rows: key, then the columns that are scanned for secrets."""
    key = ", ".join(TABLES[table])
    given = {f"after{place}": value for place, value in enumerate(after)}
    later = f"({key}) > ({', '.join(f':{name}' for name in given)}) ORDER BY {key} LIMIT 500"
    return _select(tx, f"{key}, {', '.join(columns)}", table, later, **given)


def set_scrubbed(tx: Tx, table: str, key: Row, values: Mapping[str, SafeText]) -> None:
    """Write the scrubbed columns of a row."""
    undo_sql.set_columns(tx, table, key, values)


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
