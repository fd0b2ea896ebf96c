"""Read all rows of a space, page by page, and insert rows."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Iterator, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import TABLES, Row, Tx, batches
from ..text import seals

KEYS = TABLES
"""Every table that is not derived, and its key inside a space."""

LOCAL = ("cursors", "jobs", "spend", "injections", "state", "writes")
"""Tables that only make sense on the machine they were written on."""

BINARY = {("attachments", "data")}
"""Columns of bytes; in rows of this module they are base64."""

_PAGE, _PAGE_OF_BYTES = 1000, 10


def pages(tx: Tx, table: str, columns: Sequence[str]) -> Iterator[list[Row]]:
    """Yield the rows of a table in the order of their key, without those that were changed outside
    Recollect."""
    keys = KEYS[table]
    order = ", ".join(keys)
    places = [columns.index(key) for key in keys]
    binary = [place for place, name in enumerate(columns) if (table, name) in BINARY]
    limit = _PAGE_OF_BYTES if binary else _PAGE
    later = ""
    # A changed row would get a valid seal when it is inserted elsewhere.
    unchanged = f"AND NOT ({tx.altered(table)}) " if table in seals.COLUMNS else ""
    params: dict[str, object] = {}
    while True:
        rows = tx.run(
            f"SELECT {', '.join(columns)} FROM {table} WHERE space = :space {unchanged}{later} "
            f"ORDER BY {order} LIMIT {limit}",
            params,
        )
        if not rows:
            return
        yield [_encode(row, binary) for row in rows] if binary else rows
        later = f"AND ({order}) > ({', '.join(f':after{place}' for place in places)})"
        params = {f"after{place}": rows[-1][place] for place in places}


def insert_rows(tx: Tx, table: str, columns: Sequence[str], rows: Sequence[Row]) -> int:
    """Insert the rows with a new key; return their number."""
    # On SQLite we compute the seals; a server seals its rows itself.
    sealed = () if tx.is_remote else seals.COLUMNS.get(table, ())
    names = [*columns, "seal"] if sealed else columns
    statement = (
        f"INSERT INTO {table} (space, {', '.join(names)}) "
        f"VALUES (:space, {', '.join(f':{name}' for name in names)}) "
        "ON CONFLICT DO NOTHING RETURNING 1"
    )
    binary = [name for name in columns if (table, name) in BINARY]

    def insert(row: Row) -> bool:
        values = dict(zip(columns, row, strict=True))
        values |= {name: b64decode(values[name]) for name in binary}
        if sealed:
            values["seal"] = seals.make_seal(*(values[name] for name in sealed))
        return tx.one(statement, values) is not None

    return sum(map(insert, rows))


def _encode(row: Row, binary: Sequence[int]) -> Row:
    values = list(row)
    for place in binary:
        values[place] = b64encode(values[place]).decode()
    return tuple(values)


def count_rows(tx: Tx, table: str) -> int:
    """Count the rows of a table."""
    row = tx.one(f"SELECT count(*) FROM {table} WHERE space = :space")
    return int(row[0]) if row else 0


class Tombstones(NamedTuple):
    """The digests of texts that were forgotten, and the records that they were in."""

    digests: frozenset[str]
    refs: frozenset[str]


def load_tombstones(tx: Tx) -> Tombstones:
    """Return the tombstones of forgotten records in a space."""
    rows = tx.run("SELECT digest, ref FROM tombstones WHERE space = :space")
    return Tombstones(frozenset(row[0] for row in rows), frozenset(row[1] for row in rows))


def find_forgotten(tx: Tx, digests: Sequence[str]) -> list[str]:
    """Return the memories with one of these digests."""
    found: list[str] = []
    for names, params in batches("digest", digests):
        sql = f"SELECT id FROM memories WHERE space = :space AND digest IN ({names}) ORDER BY id"
        found += [row[0] for row in tx.run(sql, params)]
    return found


def count_altered(tx: Tx) -> int:
    """Count the rows that were changed outside Recollect."""
    counts = [
        tx.one(f"SELECT count(*) FROM {table} WHERE space = :space AND {tx.altered(table)}")
        for table in seals.COLUMNS
    ]
    return sum(int(row[0]) for row in counts if row)


def request_index(tx: Tx, now: int) -> None:
    """Request that the search index is rebuilt before the next search."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, 'words', 'missing', :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = 'missing', updated = :now",
        {"now": now},
    )
