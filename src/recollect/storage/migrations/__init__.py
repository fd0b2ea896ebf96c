"""The numbered files of this folder, forward only, each recorded in the transaction that ran it.

`NAME.sql` is for both engines; `NAME.sqlite.sql` and `NAME.postgres.sql` are for one. A released
file never changes. This module lists what is pending; engines run it. A new store of SQLite is made
by one script, `fresh.sqlite.sql`.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from ...fast_typing import Any

MIGRATIONS = (
    "0001_tables",
    "0002_search",
    "0003_message_keys",
    "0004_meaning",
    "0005_scoped",
    "0006_fewer_indexes",
    "0007_text_by_scope",
    "0008_what_is_new",
    "0009_facets",
    "0010_ids_stay",
    "0011_findings",
    "0012_moments",
    "0013_review",
    "0015_scale",
    "0016_names",
    "0017_seals",
    "0018_sealed",
    "0019_judged",
    "0020_signed",
    "0021_vectors",
    "0022_vectors_by_space",
    "0023_withdrawn",
    "0024_block_sizes",
    "0025_scopes_by_space",
    "0026_rare_values",
    "0027_own_roots",
    "0028_whole_centroids",
    "0029_signs_by_row",
)
LATEST = len(MIGRATIONS)
FRESH = "fresh"
"""The script of all migrations together, for a new store: in a third of their time. It is made by
`tools/build_schema.py`."""

_FOLDER = os.path.dirname(__file__)


class OutdatedStore(Exception):
    """The store is of an earlier version, and the caller has no time for an upgrade."""


def is_current(local: Any, read: Callable[[Callable[[Any], None]], None]) -> bool:
    """Check whether a store can be read without an upgrade; `local.hurried` makes the engine raise
    `OutdatedStore` instead of upgrading."""
    local.hurried = True
    try:
        read(lambda tx: None)
    except OutdatedStore:
        return False
    finally:
        local.hurried = False
    return True


def define_functions(connection: Any) -> None:
    """Give a connection of SQLite the functions that migrations call."""
    connection.create_scalar_function("rows_of_columns", _rows_of_columns, 2, deterministic=True)


def _rows_of_columns(columns: bytes, rows: int) -> bytes:
    """Turn a table of bytes, stored by columns, into one stored by rows."""
    width = len(columns) // rows if rows else 0
    found = bytearray(rows * width)
    for place in range(width):
        found[place::width] = columns[place * rows : (place + 1) * rows]
    return bytes(found)


def run_sqlite(connection: Any, version: int) -> None:
    """Make the tables of an SQLite store, or upgrade those of a version, in its transaction."""
    define_functions(connection)
    for script in pending_scripts(version, "sqlite") if version else [read_fresh()]:
        connection.execute(script)


def pending_scripts(version: int, engine: str) -> list[str]:
    """Return the scripts from `version` to the latest."""
    return [_read(name, engine) for name in MIGRATIONS[version:]]


def read_fresh() -> str:
    """Return the script that makes a new store of SQLite."""
    return _read(FRESH, "sqlite")


_WITH_TRIGGERS = "_scale"


def read_triggers() -> bytes:
    """Return the script with the triggers of SQLite, to compare those of a store with."""
    names = [name for name in MIGRATIONS if name.endswith(_WITH_TRIGGERS)]
    return b"".join(_read(name, "sqlite").encode() for name in names)


def _read(name: str, engine: str) -> str:
    for candidate in (f"{name}.{engine}.sql", f"{name}.sql"):
        path = os.path.join(_FOLDER, candidate)
        if os.path.exists(path):
            with open(path, encoding="utf-8") as file:
                return file.read()
    raise FileNotFoundError(os.path.join(_FOLDER, f"{name}.sql"))
