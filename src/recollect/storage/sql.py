"""Key-value state of the system, the records that a session saw, idempotency keys of writes, and
what PostgreSQL queues: changes of the index, and the mark of a transaction.

An idempotency key is foreign text and may hold anything: only its hash is stored.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import Conflict
from ..fast_typing import Any, NamedTuple
from ..types.records import SafeText
from .database import IndexedRecord, Tx, batches

_KEYS = ("utf-8", "surrogatepass")

CLEARED = "cleared at"
"""The key of the times at which a person hid all that was learned, newest first, in one text."""


def get_value(tx: Tx, key: str) -> str | None:
    """Return a value; None without one."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :key", {"key": key})
    return row[0] if row else None


def cleared_at(marks: str | None) -> int:
    """Return the time of the last clearing from the value of `CLEARED`; 0 without one."""
    return int(marks.split()[0]) if marks else 0


def set_value(tx: Tx, key: str, value: SafeText, now: int) -> None:
    """Set a value."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :value, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
        {"key": key, "value": value, "now": now},
    )


def find_injected(tx: Tx, session: str, since: int) -> set[str]:
    """Return the records that were put in front of a session's model since a time."""
    rows = tx.run(
        "SELECT ref FROM injections WHERE space = :space AND session = :session AND at >= :since",
        {"session": session, "since": since},
    )
    return {row[0] for row in rows}


class EventMark(NamedTuple):
    """The value that identifies an event: the same one within `window` microseconds is a repeat."""

    key: str
    value: str
    window: int


def put_values(
    tx: Tx, values: Mapping[str, SafeText], now: int, mark: EventMark | None = None
) -> bool:
    """Set values, and a mark; return False if the same mark was set within its window.

    A stored time after `now` means that the clock was set back.
    """
    held: dict[str, str] = {**values, mark.key: mark.value} if mark else {**values}
    if not held:
        return True
    rows = []
    params: dict[str, str | int] = {"now": now, "window": mark.window if mark else 0}
    for place, (key, value) in enumerate(held.items()):
        rows.append(f"(:space, :key{place}, :value{place}, :now)")
        params |= {f"key{place}": key, f"value{place}": value}
    set_keys = tx.run(
        f"INSERT INTO state (space, key, value, updated) VALUES {', '.join(rows)} "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated "
        "WHERE state.value <> excluded.value OR state.updated < :now - :window "
        "OR state.updated > :now + :window RETURNING key",
        params,
    )
    return mark is None or (mark.key,) in set_keys


def lock_value(tx: Tx, key: str, first: SafeText, now: int) -> str:
    """Return a value, initially `first`, and lock it until the commit."""
    row = tx.one(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :first, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET updated = excluded.updated RETURNING value",
        {"key": key, "first": first, "now": now},
    )
    return str(row[0]) if row else first


def delete_value(tx: Tx, key: str) -> None:
    """Delete a value."""
    tx.run("DELETE FROM state WHERE space = :space AND key = :key", {"key": key})


def find_write(tx: Tx, key: str, content: str = "") -> str | None:
    """Return the record that an earlier write with this key made; raise Conflict if its content
    differs.

    `key` includes the operation and its target, so that a key used elsewhere is another one.
    """
    row = tx.one(
        "SELECT ref, operation FROM writes WHERE space = :space AND key = :key",
        {"key": _hash(key)},
    )
    if row is None:
        return None
    earlier = row[1].partition(" ")[2]
    if content and earlier and earlier != _hash(content):
        raise Conflict(
            "this key was used for another content; nothing was changed",
            where="key",
            hint="Use a new key for a new write; repeat a key only to repeat the same write.",
        )
    return str(row[0])


def record_write(tx: Tx, key: str, operation: str, ref: str, now: int, content: str = "") -> None:
    """Record the result of a write and the hash of its content, unless the key is used."""
    done = f"{operation} {_hash(content)}" if content else operation
    tx.insert("writes", "key, operation, ref, at", [(_hash(key), done, ref, now)], skip=True)


def record_writes(tx: Tx, operation: str, made: Mapping[str, str], now: int) -> str | None:
    """Record the results of many writes; return a used key, if any, and then record none. The
    caller holds a lock, so that two writers never claim the same keys."""
    from hashlib import sha256

    hashes = {sha256(key.encode(*_KEYS)).hexdigest(): key for key in made}
    for names, params in batches("key", list(hashes)):
        row = tx.one(f"SELECT key FROM writes WHERE space = :space AND key IN ({names})", params)
        if row:
            return hashes[row[0]]
    rows = ((hashed, operation, made[key], now) for hashed, key in hashes.items())
    tx.insert("writes", "key, operation, ref, at", rows)
    return None


def _hash(text: str) -> str:
    from hashlib import sha256

    return sha256(text.encode(*_KEYS)).hexdigest()


# ---------------------------------------------------------------- queued writes of PostgreSQL

COLUMNS = IndexedRecord._fields[:-1]
NAMES = ", ".join(COLUMNS)
TYPES = ", ".join(
    f":{name}::{'bigint' if name in ('seq', 'at', 'part') else 'text'}[]" for name in COLUMNS
)
ENTRY_TABLES = frozenset(("entries", "postings", "word_totals", "facets", "unembedded"))
REMOVAL_TABLES = ENTRY_TABLES | {"vectors", "blocks"}
ADD_TOTALS = """ON CONFLICT (space, shard) DO UPDATE SET
  entries = word_totals.entries + excluded.entries, length = word_totals.length + excluded.length"""
# Parts of a WITH clause, whose other parts are writes that go to the server with it.
ADD_ENTRIES = f"""given AS MATERIALIZED (
  SELECT nextval('recollect.entries_id_seq') AS id, g.*
  FROM unnest(:spaces::text[], {TYPES}) WITH ORDINALITY AS g (space, {NAMES}, place){{after}}),
counted AS MATERIALIZED (
  SELECT given.id, coalesce(array_length(string_to_array(nullif(stems, ''), ' '), 1), 0) AS length
  FROM given),
added AS (
  INSERT INTO entries (space, id, {NAMES}, length)
  SELECT given.space, given.id, {NAMES}, counted.length
  FROM given JOIN counted ON counted.id = given.id),
posted AS (
  INSERT INTO postings (space, stem, entry, times, length)
  SELECT given.space, w.stem, given.id, count(*), min(counted.length)
  FROM given JOIN counted ON counted.id = given.id
  CROSS JOIN LATERAL unnest(string_to_array(given.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY given.space, w.stem, given.id),
summed AS (
  INSERT INTO word_totals (space, shard, entries, length)
  SELECT given.space, pg_backend_pid() % 16, count(*), sum(counted.length)
  FROM given JOIN counted ON counted.id = given.id GROUP BY given.space
  {ADD_TOTALS}),
faceted AS (
  INSERT INTO facets (space, entry, name, value)
  SELECT DISTINCT given.space, given.id, f.name, f.value
  FROM unnest(:facet_places::bigint[], :facet_names::text[], :facet_values::text[])
    AS f (place, name, value) JOIN given ON given.place = f.place),
queued AS (
  INSERT INTO unembedded (space, entry) SELECT space, id FROM given WHERE part = 0)"""
# The same for the entries of records that are removed, or indexed again by the same statement.
REMOVE_ENTRIES = f"""gone AS (
  DELETE FROM entries e
  USING unnest(:sources::text[], :refs::text[], :seqs::bigint[]) AS r (source, ref, seq)
  WHERE e.space = :space AND e.source = r.source AND e.ref = r.ref AND e.seq = r.seq
  RETURNING e.id, e.stems, e.length),
unposted AS (
  DELETE FROM postings p USING gone, unnest(string_to_array(gone.stems, ' ')) AS w (stem)
  WHERE p.space = :space AND p.stem = w.stem AND p.entry = gone.id),
unfaceted AS (
  DELETE FROM facets f USING gone WHERE f.space = :space AND f.entry = gone.id),
unqueued AS (
  DELETE FROM unembedded u USING gone WHERE u.space = :space AND u.entry = gone.id),
unplaced AS (
  DELETE FROM vectors v USING gone WHERE v.space = :space AND v.entry = gone.id RETURNING v.block),
dead AS (
  UPDATE blocks SET dead = dead + d.number
  FROM (SELECT block, count(*) AS number FROM unplaced GROUP BY block) d
  WHERE space = :space AND blocks.block = d.block),
subtracted AS (
  INSERT INTO word_totals (space, shard, entries, length)
  SELECT :space, 16 + pg_backend_pid() % 16, -count(*), -sum(length) FROM gone HAVING count(*) > 0
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
