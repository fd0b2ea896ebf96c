"""Statements over the records of all sources that are indexed again."""

from __future__ import annotations

from ..index import sql as index_sql
from ..storage.database import Tx
from ..types.records import FOREVER

_OPEN = f"AND valid_to = {FOREVER}"
_TABLES = {
    "memory": (("memories", "id", "", ""), ("memory_revisions", "id", "revision", "")),
    "message": (("messages", "session", "seq", ""),),
    "document": (("documents", "address", "", _OPEN),),
    "episode": (("episodes", "id", "", ""),),
    "procedure": (("procedures", "id", "", ""),),
}
"""The tables of a source: name, reference, number (none: one record, with the number 0), and which
rows count."""


def list_records(tx: Tx, source: str, after: tuple[str, int], most: int) -> list[tuple[str, int]]:
    """List the records of a source by reference and number, after the given one."""
    found: list[tuple[str, int]] = []
    for table, ref, seq, also in _TABLES[source]:
        later = f"({ref}, {seq}) > (:ref, :seq)" if seq else f"{ref} > :ref"
        rows = tx.run(
            f"SELECT {ref}, {seq or '0'} FROM {table} WHERE space = :space {also} AND {later} "
            f"ORDER BY {ref}{', ' + seq if seq else ''} LIMIT :most",
            {"ref": after[0], "seq": after[1], "most": most},
        )
        found += [(row[0], row[1]) for row in rows]
    return sorted(found)[:most]


def count_records(tx: Tx, source: str) -> int:
    """Count the records of a source."""
    total = 0
    for table, _, _, also in _TABLES[source]:
        row = tx.one(f"SELECT count(*) FROM {table} WHERE space = :space {also}")
        total += int(row[0]) if row else 0
    return total


def remove_orphans(tx: Tx, source: str) -> None:
    """Remove the entries of deleted records."""
    held = "".join(
        f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE space = :space {also} "
        f"AND {ref} = e.ref AND {seq or '0'} = e.seq) "
        for table, ref, seq, also in _TABLES[source]
    )
    rows = tx.run(
        f"SELECT e.ref, e.seq FROM entries e WHERE e.space = :space AND e.source = :source {held}",
        {"source": source},
    )
    for one in rows:
        index_sql.remove_entry(tx, source, *one)
