"""The health of an SQLite store: its settings, and damage to pages, indexes and records.

SQLite stores any bytes as text, so a bad disk, an old copy or another program can leave some that
are not UTF-8. Reading skips such a record (`sqlite_tx`); this module names it.
"""

from __future__ import annotations

import os

import apsw

from ..fast_typing import Any
from . import sqlite_seals
from .database import EngineHealth, Tx

_NAMED = 5
WORDS_DAMAGED = (
    "the word index does not fit the texts: nothing is lost, and `recollect rebuild` makes it again"
)
_TABLES = (
    "SELECT name FROM sqlite_schema WHERE type = 'table' AND sql LIKE 'CREATE TABLE%' ORDER BY name"
)


def report_missing(path: str) -> EngineHealth:
    """Return the state of a store that does not exist yet."""
    return EngineHealth(
        engine="sqlite",
        version=apsw.sqlite_lib_version(),
        place=path,
        durability="made with the first write",
        size=0,
        problems=(),
    )


def report_health(connection: apsw.Connection, path: str, deep: bool) -> EngineHealth:
    """Return the state of a store; with `deep`, read all of it."""
    problems: list[str] = []
    mode = str(connection.pragma("journal_mode"))
    if path and mode != "wal":
        problems.append(f"journal mode is {mode}, not wal: readers and writers wait for each other")
    if deep:
        problems += find_damage(connection)
    return EngineHealth(
        engine="sqlite",
        version=apsw.sqlite_lib_version(),
        place=path,
        durability=f"{mode}, synchronous=FULL" if path else "in memory",
        size=os.path.getsize(path) if path and os.path.exists(path) else 0,
        problems=tuple(problems),
    )


def check_word_index(tx: Tx) -> None:
    """Run the integrity check of FTS5, which raises an error for a damaged index."""
    tx.run("INSERT INTO words (words, rank) VALUES ('integrity-check', 0)")


def find_damage(connection: apsw.Connection) -> list[str]:
    """Read the whole store and return the problems found."""
    found = [str(row[0]) for row in connection.execute("PRAGMA integrity_check(20)")]
    bad = [f"integrity: {said}" for said in found if said != "ok"]
    try:
        bad += [*_undecodable(connection), *sqlite_seals.find_altered(connection)]
    except apsw.CorruptError as error:
        bad.append(f"not all of it can be read: {error}; run `recollect recover`")
    return bad


def _undecodable(connection: apsw.Connection) -> list[str]:
    """Return a sentence for each table with text that is not UTF-8."""
    connection.create_scalar_function("is_utf8", _is_utf8, deterministic=True)
    tables = [str(row[0]) for row in connection.execute(_TABLES)]
    return [told for table in tables if (told := _in_table(connection, table))]


def _in_table(connection: apsw.Connection, table: str) -> str:
    columns = connection.execute("SELECT name, type, pk FROM pragma_table_info(?)", (table,))
    known = [(str(name), type == "TEXT", bool(pk)) for name, type, pk in columns]
    texts = [f"coalesce({_bytes(name)}, x'')" for name, is_text, _ in known if is_text]
    keys = [_bytes(name) for name, _, is_key in known if is_key]
    if not texts or not keys:
        return ""
    rows = connection.execute(
        f"SELECT {', '.join(keys[1:] or keys)} FROM {_quoted(table)} "
        f"WHERE NOT is_utf8({', '.join(texts)})"
    )
    count, named = 0, []
    for row in rows:
        count += 1
        if count <= _NAMED:
            named.append("/".join([part.decode(errors="replace") for part in row]))
    if not count:
        return ""
    more = ", …" if count > _NAMED else ""
    what = "1 record holds" if count == 1 else f"{count} records hold"
    return (
        f"{table}: {what} text that is not UTF-8, and everything else goes on without: "
        f"{', '.join(named)}{more}; restore from a copy made by `recollect backup`"
    )


def _quoted(name: str) -> str:
    return '"' + name.replace('"', '""') + '"'


def _bytes(name: str) -> str:
    return f"CAST({_quoted(name)} AS BLOB)"


def _is_utf8(*texts: Any) -> bool:
    try:
        b"\n".join(texts).decode()
    except UnicodeDecodeError:
        return False
    return True
