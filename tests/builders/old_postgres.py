"""A PostgreSQL store as an earlier release wrote it: its tables, and its index of words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

from recollect.storage import migrations
from recollect.storage.database import IndexedRecord

if TYPE_CHECKING:
    from collections.abc import Iterator

    import psycopg


class OldTx:
    """The transaction of a release before 0015: words in a tsvector, the space in a setting."""

    for_update = "FOR UPDATE"

    def __init__(self, connection: psycopg.Connection[Any], space: str) -> None:
        self._connection = connection
        self.space = space

    def run(self, sql: str, params: Mapping[str, Any] | None = None) -> list[Any]:
        import re

        text = re.sub(r"(?<!:):([a-z_][a-z_0-9]*)", r"%(\1)s", sql.replace("%", "%%"))
        done = self._connection.execute(text, {"space": self.space, **(params or {})})
        return done.fetchall() if done.description else []

    def one(self, sql: str, params: Mapping[str, Any] | None = None) -> Any:
        return (self.run(sql, params) or [None])[0]

    def insert(self, table: str, columns: str, rows: Iterable[Sequence[Any]]) -> None:
        places = ", %s" * (columns.count(",") + 1)
        for row in rows:
            self._connection.execute(
                f"INSERT INTO {table} (space, {columns}) VALUES (%s{places})", (self.space, *row)
            )

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        for record in records:
            words = " ".join(f"'{stem}':1" for stem in sorted(set(record.stems.split())))
            (entry,) = self.one(
                "INSERT INTO entries (space, source, ref, kind, layer, owner, status, label, seq, "
                "at, part, words, stems, length) VALUES (:space, :source, :ref, :kind, :layer, "
                ":owner, :status, :label, :seq, :at, :part, :words, :stems, :length) RETURNING id",
                {**record._asdict(), "words": words, "length": len(record.stems.split())},
            )
            self.insert("facets", "entry, name, value", [(entry, *one) for one in record.facets])
            self.insert("unembedded", "entry", [(entry,)])


@contextmanager
def old_store(url: str, space: str, version: int) -> Iterator[OldTx]:
    """Make the tables of an earlier version, if there are none, and yield a transaction."""
    import psycopg

    with psycopg.connect(url) as connection:
        connection.execute("CREATE SCHEMA IF NOT EXISTS recollect")
        connection.execute("SET search_path TO recollect, public")
        connection.execute("SELECT set_config('recollect.space', %s, true)", (space,))
        if connection.execute("SELECT to_regclass('recollect.migrations')").fetchone() == (None,):
            connection.execute(
                "CREATE TABLE migrations (version BIGINT PRIMARY KEY, name TEXT, at BIGINT)"
            )
            for number, script in enumerate(migrations.pending_scripts(0, "postgres")[:version], 1):
                connection.execute(script)
                connection.execute("INSERT INTO migrations VALUES (%s, '', 0)", (number,))
            connection.execute(
                "INSERT INTO spaces (id, kind, name, place, created) VALUES (%s, 'project', '', '', 0)",
                (space,),
            )
        yield OldTx(connection, space)
