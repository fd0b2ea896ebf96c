"""The form of statements on PostgreSQL: the schemas of their tables, and the queue of writes that
one statement sends.

Every statement is a round trip, so writes that return nothing wait in a `WriteQueue`, and go
together as the parts of one WITH clause. A new memory with its index becomes, shortened:

    WITH w0 AS (INSERT INTO recollect.memories …),
      given AS (SELECT nextval(…) AS id, … FROM unnest(…)),
      added AS (INSERT INTO recollect.entries … SELECT … FROM given),
      posted AS (INSERT INTO recollect.postings … SELECT … FROM given …),
      marked AS (INSERT INTO recollect.writes …)
    SELECT pg_current_xact_id()::text

PostgreSQL runs all parts on one snapshot: none sees what another one changes. So each part that
fills a table takes its rows from `given`, and each that removes rows takes them from `gone`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

from ..database import EMBEDDED, IndexedRecord, Params, Row, Tx

SCHEMA = "recollect"
READ_SCHEMA = "recollect_read"
"""Views of the signed tables, in which the label of another person's statement is `teammate`, and
the seal is NULL if it fits."""

SIGNED = ("memories", "memory_revisions", "messages")
# A copy keeps the author and the label that are stored, not those that the reader is shown.
_SIGNED_COPY = re.compile(rf"INSERT INTO (?:{'|'.join(SIGNED)})\b")
_NAMED_QUERY = re.compile(r"\b([a-z_]+)(?: \([^()]*\))? AS (?:NOT )?(?:MATERIALIZED )?\(")
_TABLE = re.compile(r"(?<!DISTINCT )\b((?:DELETE )?FROM|JOIN|INTO|UPDATE) ([a-z_]+)\b(?![.(])")

_CHANGED = re.compile(rf"\b(?:INTO|UPDATE|DELETE FROM) {SCHEMA}\.([a-z_]+)")
_NAMED = re.compile(rf"\b(?:{SCHEMA}|{READ_SCHEMA})\.([a-z_]+)\b(?!\()")


@lru_cache(maxsize=1024)
def to_driver(sql: str) -> str:
    """Convert `:name` to the driver's placeholders, and name tables with their schema.

    A search path would be a setting of the connection, which a pooler in transaction mode does not
    keep.
    """
    sql = re.sub(r"(?<!:):([a-z_][a-z_0-9]*)", r"%(\1)s", sql.replace("%", "%%"))
    queries = set(_NAMED_QUERY.findall(sql))
    is_copy = _SIGNED_COPY.match(sql) is not None

    def qualify(found: re.Match[str]) -> str:
        verb, name = found[1], found[2]
        if name in queries or name.startswith("pg_"):
            return found[0]
        reads = verb in ("FROM", "JOIN") and name in SIGNED and not is_copy
        return f"{verb} {READ_SCHEMA if reads else SCHEMA}.{name}"

    return _TABLE.sub(qualify, sql)


class StatementTables(NamedTuple):
    """The tables that a statement changes, and all that it names."""

    changed: frozenset[str]
    named: frozenset[str]
    is_plain: bool = False
    """Whether it is a write that is no part of a longer statement."""
    returns: bool = False


class QueuedWrite(NamedTuple):
    """A statement that waits until its effect can be seen."""

    sql: str
    params: Params
    tables: StatementTables

    @property
    def locks(self) -> bool:
        """Return whether it waits for others that change the same row: what is read after it must
        see what they wrote."""
        return not self.sql.startswith("INSERT") or " ON CONFLICT " in self.sql


def _name_apart(prefix: str, sql: str, params: Params) -> tuple[str, dict[str, Any]]:
    """Return a part of a longer statement, and its parameters, under names of its own."""
    named = {f"{prefix}_{name}": value for name, value in params.items()}
    return sql.replace("%(", f"%({prefix}_"), named


NO_WRITE = QueuedWrite("SELECT ", {}, StatementTables(frozenset(), frozenset()))


@lru_cache(maxsize=1024)
def find_tables(text: str) -> StatementTables:
    """Return the tables of a statement in the form that `to_driver` returns."""
    changed = {*_CHANGED.findall(text)}
    if "memories" in changed:
        changed.add("memory_counts")  # by a trigger
    named = changed.union(_NAMED.findall(text))
    is_plain = text.lstrip().startswith(("INSERT", "UPDATE", "DELETE"))
    return StatementTables(frozenset(changed), frozenset(named), is_plain, "RETURNING" in text)


def insert_rows(table: str, columns: str, rows: Sequence[Row]) -> tuple[str, dict[str, Any]]:
    """Return the insertion of rows into a table of one space, for the driver, and its values."""
    params: dict[str, Any] = {}
    forms = []
    for place, row in enumerate(rows):
        names = [f"v{place}_{column}" for column in range(len(row))]
        params.update(zip(names, row, strict=True))
        forms.append(f"(%(space)s, {', '.join([f'%({name})s' for name in names])})")
    return f"INSERT INTO {SCHEMA}.{table} (space, {columns}) VALUES {', '.join(forms)}", params


def join_queries(queries: Sequence[tuple[str, Params]]) -> tuple[str, dict[str, Any]]:
    """Return one statement for queries of different shapes: an array of rows for each."""
    parts: list[str] = []
    bound: dict[str, Any] = {}
    for place, (sql, params) in enumerate(queries):
        text, named = _name_apart(f"q{place}", to_driver(sql), params)
        parts.append(f"ARRAY(SELECT row_{place} FROM ({text}) row_{place})")
        bound |= named
    return f"SELECT {', '.join(parts)}", bound


COLUMNS = IndexedRecord._fields[:-1]
NAMES = ", ".join(COLUMNS)
TYPES = ", ".join(
    f":{name}::{'bigint' if name in ('seq', 'at', 'part') else 'text'}[]" for name in COLUMNS
)
ENTRY_TABLES = frozenset(("entries", "postings", "word_totals", "facets", "unembedded"))
REMOVAL_TABLES = ENTRY_TABLES | {"vectors", "blocks"}
ADD_TOTALS = """ON CONFLICT (space, shard) DO UPDATE SET
  entries = word_totals.entries + excluded.entries, length = word_totals.length + excluded.length,
  embedded = word_totals.embedded + excluded.embedded"""
# Parts of a WITH clause, whose other parts are writes that go to the server with it.
ADD_ENTRIES = f"""given AS MATERIALIZED (
  SELECT nextval('recollect.entries_id_seq') AS id, g.*,
    coalesce(array_length(string_to_array(nullif(g.stems, ''), ' '), 1), 0) AS length
  FROM unnest(:spaces::text[], {TYPES}) WITH ORDINALITY AS g (space, {NAMES}, place){{after}}),
added AS (
  INSERT INTO entries (space, id, {NAMES}, length)
  SELECT space, id, {NAMES}, length FROM given),
posted AS (
  INSERT INTO postings (space, stem, entry, times, length)
  SELECT given.space, w.stem, given.id, count(*), min(given.length)
  FROM given CROSS JOIN LATERAL unnest(string_to_array(given.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY given.space, w.stem, given.id),
summed AS (
  INSERT INTO word_totals (space, shard, entries, length, embedded)
  SELECT space, pg_backend_pid() % 16, count(*), sum(length), count(*) FILTER (WHERE {EMBEDDED})
  FROM given GROUP BY space
  {ADD_TOTALS}),
faceted AS (
  INSERT INTO facets (space, entry, name, value)
  SELECT DISTINCT given.space, given.id, f.name, f.value
  FROM unnest(:facet_places::bigint[], :facet_names::text[], :facet_values::text[])
    AS f (place, name, value) JOIN given ON given.place = f.place),
queued AS (
  INSERT INTO unembedded (space, entry) SELECT space, id FROM given WHERE {EMBEDDED})"""
# The same for the entries of records that are removed, or indexed again by the same statement.
REMOVE_ENTRIES = f"""gone AS (
  DELETE FROM entries e
  USING unnest(:sources::text[], :refs::text[], :seqs::bigint[]) AS r (source, ref, seq)
  WHERE e.space = :space AND e.source = r.source AND e.ref = r.ref AND e.seq = r.seq
  RETURNING e.id, e.stems, e.length, e.part, e.kind),
unposted AS (
  DELETE FROM postings p USING gone, unnest(string_to_array(gone.stems, ' ')) AS w (stem)
  WHERE p.space = :space AND p.stem = w.stem AND p.entry = gone.id),
unfaceted AS (
  DELETE FROM facets f USING gone WHERE f.space = :space AND f.entry = gone.id),
unqueued AS (
  DELETE FROM unembedded u USING gone WHERE u.space = :space AND u.entry = gone.id),
subtracted AS (
  INSERT INTO word_totals (space, shard, entries, length, embedded)
  SELECT :space, 16 + pg_backend_pid() % 16, -count(*), -sum(length),
    -count(*) FILTER (WHERE {EMBEDDED}) FROM gone HAVING count(*) > 0
  {ADD_TOTALS})"""
REMOVE_WORDS = f"""
WITH gone AS (
  DELETE FROM postings p
  USING recollect.entries e, unnest(string_to_array(e.stems, ' ')) AS w (stem)
  WHERE e.space = :space AND e.id = :entry AND p.space = :space AND p.stem = w.stem
  AND p.entry = :entry),
emptied AS (
  UPDATE entries SET stems = '', length = 0 WHERE space = :space AND id = :entry)
INSERT INTO word_totals (space, shard, entries, length)
SELECT :space, pg_backend_pid() % 16, -1, -e.length FROM entries e
WHERE e.space = :space AND e.id = :entry
{ADD_TOTALS}
"""
ADD_WORDS = f"""
WITH given AS MATERIALIZED (
  SELECT g.*, coalesce(array_length(string_to_array(nullif(g.stems, ''), ' '), 1), 0) AS length
  FROM unnest(:entries::bigint[], :stems::text[]) AS g (entry, stems)),
posted AS (
  INSERT INTO postings (space, stem, entry, times, length)
  SELECT :space, w.stem, given.entry, count(*), min(given.length)
  FROM given CROSS JOIN LATERAL unnest(string_to_array(given.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY w.stem, given.entry),
summed AS (
  INSERT INTO word_totals (space, shard, entries, length)
  SELECT :space, pg_backend_pid() % 16, count(*), sum(given.length) FROM given
  {ADD_TOTALS})
UPDATE entries SET stems = given.stems, length = given.length
FROM given WHERE entries.space = :space AND entries.id = given.entry
"""
# A row that proves a commit whose answer is lost, and is swept an hour later by other writers. Its
# key sorts by age, and behind those hashes of idempotency keys that begin with c.
MARK = """marked AS (
  INSERT INTO writes (space, key, operation, ref, at)
  SELECT :space, 'commit' || lpad(m.id, 20, '0') || :token, 'commit', '', m.at
  FROM (SELECT {id}::text AS id,
    (extract(epoch FROM clock_timestamp()) * 1000000)::bigint AS at) m WHERE m.id IS NOT NULL),
swept AS (
  DELETE FROM writes WHERE space = :space AND key = ANY (ARRAY(
    SELECT w.key FROM writes w WHERE w.space = :space AND w.key > 'commit0' AND w.key < 'commita'
    ORDER BY w.key LIMIT 3 FOR UPDATE SKIP LOCKED))
  AND at < (extract(epoch FROM clock_timestamp()) * 1000000)::bigint - 3600000000)"""


def has_mark(tx: Tx, transaction: str, token: str) -> bool:
    """Check whether the mark of a transaction is there."""
    key = f"commit{transaction:0>20}{token}"
    row = tx.one("SELECT 1 FROM writes WHERE space = :space AND key = :key", {"key": key})
    return row is not None


def change_entries(
    removed: Mapping[tuple[str, str, int], str], added: Sequence[tuple[str, IndexedRecord]]
) -> tuple[str, dict[str, Any]]:
    """Return the parts of a statement, with parameters, that remove the entries of records, given
    by source, ref and number, all with the same space, and then add those of others."""
    if not removed:
        return ADD_ENTRIES.format(after=""), _bind_entries(added)
    sources, refs, seqs = map(list, zip(*removed, strict=True))
    bound = {"space": next(iter(removed.values())), "sources": sources, "refs": refs, "seqs": seqs}
    if not added:
        return REMOVE_ENTRIES, bound
    # What is counted is gone: a key must be free before it is taken again.
    after = ADD_ENTRIES.format(after=" WHERE (SELECT count(*) FROM gone) >= 0")
    return f"{REMOVE_ENTRIES}, {after}", bound | _bind_entries(added)


def _bind_entries(entries: Sequence[tuple[str, IndexedRecord]]) -> dict[str, Any]:
    facets = [
        (place, *facet)
        for place, (_, record) in enumerate(entries, start=1)
        for facet in record.facets
    ]
    return {
        **{name: [getattr(record, name) for _, record in entries] for name in COLUMNS},
        "spaces": [space for space, _ in entries],
        "facet_places": [facet[0] for facet in facets],
        "facet_names": [facet[1] for facet in facets],
        "facet_values": [facet[2] for facet in facets],
    }


_MOST_REMOVED = 100
"""Records whose entries one statement removes: the planner looks up the words of so few."""

_MOST_QUEUED = 20_000
"""Parameters of queued writes; the server takes 65,535 in a statement."""

_INDEX = StatementTables(ENTRY_TABLES, ENTRY_TABLES)
_REMOVAL = StatementTables(REMOVAL_TABLES, REMOVAL_TABLES)


class WriteQueue:
    """The writes of a transaction that were not sent yet. Their parts of a statement do not see
    each other's changes, so no two of them may touch the same table: `must_precede` says when the
    queue has to be sent first."""

    def __init__(self) -> None:
        self._writes: list[QueuedWrite] = []
        self._entries: list[tuple[str, IndexedRecord]] = []
        """Space and record of each entry that is to be added to the index, after the writes."""
        self._removed: dict[tuple[str, str, int], str] = {}
        """Source, ref and number of each record whose entries are removed before that; its space,
        which is the same for all."""

    def __bool__(self) -> bool:
        return bool(self._writes or self._entries or self._removed)

    def must_precede(self, tables: StatementTables) -> bool:
        """Check whether a statement with these tables may depend on a write in the queue."""
        queued = [one.tables for one in self._writes]
        queued += [_REMOVAL] if self._removed else [_INDEX] if self._entries else []
        touched = any(one.changed & tables.named or one.named & tables.changed for one in queued)
        locked = self._removed or any(one.locks for one in self._writes)
        return bool(touched or (locked and not tables.changed))

    def has_room(self, write: QueuedWrite) -> bool:
        """Check whether a write fits into the statement."""
        return sum(len(one.params) for one in (*self._writes, write)) <= _MOST_QUEUED

    def add(self, write: QueuedWrite) -> None:
        """Append a write, which none in the queue must precede."""
        self._writes.append(write)

    def tables_to_add(self) -> StatementTables | None:
        """Return the tables that the next `add_entries` touches; None if others before it do."""
        return None if self._entries or self._removed else _INDEX

    def add_entries(self, space: str, records: Sequence[IndexedRecord]) -> None:
        """Append entries of the index."""
        self._entries += [(space, record) for record in records]

    def tables_to_remove(self, space: str, record: tuple[str, str, int]) -> StatementTables | None:
        """Return the tables that `remove_entries` touches; None if it joins others before it: of
        the same space, not too many, and none that is added by the same statement."""
        added = any(record == (one.source, one.ref, one.seq) for _, one in self._entries)
        others = len(self._removed) >= _MOST_REMOVED or {*self._removed.values()} - {space}
        return _REMOVAL if added or others or not self._removed else None

    def remove_entries(self, space: str, record: tuple[str, str, int]) -> None:
        """Append the removal of a record's entries, given by source, ref and number."""
        self._removed[record] = space

    def take(self, *more: tuple[str, Params]) -> tuple[str, dict[str, Any]]:
        """Return a WITH clause of all writes and `more` parts, with its parameters; empty the
        queue. Without any, it is empty."""
        given = [(f"w{place} AS ({one.sql})", one.params) for place, one in enumerate(self._writes)]
        if self._entries or self._removed:
            sql, values = change_entries(self._removed, self._entries)
            given.append((to_driver(sql), values))
        self._writes, self._entries, self._removed = [], [], {}
        parts: list[str] = []
        bound: dict[str, Any] = {}
        for place, (sql, params) in enumerate((*given, *more)):
            text, named = _name_apart(f"w{place}", sql, params)
            parts.append(text)
            bound |= named
        return f"WITH {', '.join(parts)} " if parts else "", bound
