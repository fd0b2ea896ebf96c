"""Copy a whole space of any engine, row by row, into a new SQLite file.

This is the backup of a PostgreSQL space: one snapshot, written to a private file next to the
target, checked, then renamed. The word index is copied, vectors are not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping

from .database import Database, Tx
from .sqlite import SqliteDatabase
from .sqlite_files import refuse_existing

TABLES: Mapping[str, tuple[str, ...]] = {
    "state": ("key",),
    "writes": ("key",),
    "sessions": ("id",),
    "windows": ("session",),
    "messages": ("session", "seq"),
    "attachments": ("sha256",),
    "memories": ("id",),
    "memory_revisions": ("id", "revision"),
    "memory_aliases": ("alias",),
    "claims": ("memory", "position"),
    "documents": ("address", "revision"),
    "episodes": ("id",),
    "procedures": ("id",),
    "links": ("source", "relation", "target"),
    "jobs": ("id",),
    "injections": ("id",),
    "events": ("id",),
    "spend": ("id",),
    "cursors": ("source",),
    "tombstones": ("digest",),
    "undos": ("id",),
    "observations": ("kind", "subject", "session"),
    "findings": ("kind", "subject"),
}
"""Every table that is not derived, and its key inside a space."""

_ENTRY = "id, source, ref, kind, layer, owner, status, label, seq, part, at"


def copy_space(source: Database, target: str) -> int:
    """Copy every row of a PostgreSQL space to a new SQLite store; return its size in bytes."""
    refuse_existing(target)
    partial = f"{target}.{os.urandom(4).hex()}.partial"
    copy = SqliteDatabase(partial, "project")
    try:
        source.read(lambda origin: copy.write(lambda into: _copy(origin, into)))
        copy.close()
        size = SqliteDatabase(partial, "project").backup(target)
    finally:
        for leftover in (partial, f"{partial}-wal", f"{partial}-shm"):
            if os.path.exists(leftover):
                os.unlink(leftover)
    return size


def _copy(origin: Tx, into: Tx) -> None:
    for table in TABLES:
        columns = [row[1] for row in into.run(f"PRAGMA table_info({table})") if row[1] != "space"]
        names = ", ".join(columns)
        values = ", ".join(f":{column}" for column in columns)
        rows = origin.run(f"SELECT {names} FROM {table} WHERE space = :space")
        into.many(
            f"INSERT INTO {table} (space, {names}) VALUES (:space, {values})",
            (dict(zip(columns, row, strict=True)) for row in rows),
        )
    fields = _ENTRY.split(", ")
    for row in origin.run(f"SELECT {_ENTRY}, stems FROM entries WHERE space = :space"):
        into.run(
            f"INSERT INTO entries (space, {_ENTRY}) "
            f"VALUES (:space, {', '.join(f':{name}' for name in fields)})",
            dict(zip(fields, row, strict=False)),
        )
        into.add_words([(row[0], row[-1])])
    facets = origin.run("SELECT entry, name, value FROM facets WHERE space = :space")
    into.insert("facets", "entry, name, value", facets)
    # SQLite stores vectors in another way: they are made again.
    into.run("INSERT INTO unembedded (entry, space) SELECT id, space FROM entries WHERE part = 0")
