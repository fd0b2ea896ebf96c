"""SQL that quarantines a store made elsewhere, and that reads the overview of a store."""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Row, Tx
from ..types.records import FOREVER

_LABELLED = ("memories", "memory_revisions", "documents", "episodes", "procedures", "links")
_IN_FORCE = ("memories", "documents", "episodes", "procedures")


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
    for table in _IN_FORCE:
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


class ShownLine(NamedTuple):
    """One thing that was put in front of a model; `ref` is an id, an address or `command:…`."""

    session: str
    moment: str
    block: str
    ref: str
    tokens: int
    outcome: str
    at: int


def last_shown_session(tx: Tx) -> str:
    """Return the session that was shown something last; empty without one."""
    row = tx.one("SELECT session FROM injections WHERE space = :space ORDER BY at DESC, id LIMIT 1")
    return str(row[0]) if row else ""


def shown_sessions(tx: Tx, prefix: str) -> list[str]:
    """Return the sessions with a prefix that were shown something."""
    rows = tx.run(
        "SELECT DISTINCT session FROM injections WHERE space = :space AND session >= :low "
        "AND session < :high ORDER BY session",
        {"low": prefix, "high": prefix + "\U0010ffff"},
    )
    return [row[0] for row in rows]


def list_shown(tx: Tx, session: str) -> list[ShownLine]:
    """Return the items shown to a session, in order."""
    rows = tx.run(
        "SELECT session, moment, block, ref, tokens, outcome, at FROM injections "
        "WHERE space = :space AND session = :session AND moment NOT IN ('', 'used') "
        "ORDER BY at, id",
        {"session": session},
    )
    return list(map(ShownLine._make, rows))


class ChangedMemory(NamedTuple):
    """The memory that was changed last: by which change, and when."""

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
    """Check whether a space has a memory, maybe a hidden one."""
    sql = f"SELECT 1 FROM memories WHERE space = :space AND valid_to = {FOREVER} LIMIT 1"
    return tx.one(sql) is not None


def list_learned_at(tx: Tx, at: int) -> list[str]:
    """Return the memories in use that one call saved: their first revision began at this time."""
    rows = tx.run(
        "SELECT id FROM memories WHERE space = :space AND first_seen = :at AND valid_from = :at "
        f"AND valid_to = {FOREVER} AND status <> 'hidden' AND change = 'learn' ORDER BY id",
        {"at": at},
    )
    return [row[0] for row in rows]


def measure_tables(tx: Tx) -> list[Row]:
    """Return each table with the bytes that it and its indexes take on disk."""
    if tx.for_update:  # PostgreSQL: rows are locked there, and tables are shared by all spaces
        return tx.run(
            "SELECT relname, pg_total_relation_size(oid) FROM pg_class WHERE relkind = 'r' "
            "AND relnamespace = 'recollect'::regnamespace ORDER BY relname"
        )
    return tx.run(
        "SELECT coalesce(s.tbl_name, d.name), sum(d.pgsize) FROM dbstat d "
        "LEFT JOIN sqlite_schema s ON s.name = d.name WHERE d.aggregate = TRUE GROUP BY 1"
    )


def nearest_ids(tx: Tx, ids: Sequence[str]) -> list[str]:
    """Return the ids next to these in order, from which their prefixes must differ."""
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
