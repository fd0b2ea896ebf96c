"""Key-value state of the system, and idempotency keys of writes.

An idempotency key is foreign text and may hold anything: only its hash is stored.
"""

from __future__ import annotations

from _operator import itemgetter
from collections.abc import Callable, Iterable, Mapping
from functools import cache

from ..errors import Conflict
from ..fast_typing import NamedTuple
from ..types.records import FOREVER, SafeText
from .database import Row, Tx, batches

_KEYS = ("utf-8", "surrogatepass")

CLEARED = "cleared at"
"""The key of the times at which a person cleared the memory, newest first, in one text."""

COUNT_MEMORIES = (
    "INSERT INTO memory_counts SELECT space, first_seen / 86400000000, kind, layer, status, "
    "count(*), sum(length(text)), sum(recalls = 0) FROM memories "
    f"WHERE space = {{space}} AND valid_to = {FOREVER} GROUP BY 1, 2, 3, 4, 5"
)
"""Count the memories of a space that has no counts yet."""

COUNT_NEW = (
    "INSERT INTO memory_counts VALUES (?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT DO UPDATE SET "
    "number = number + excluded.number, length = length + excluded.length, "
    "unused = unused + excluded.unused"
)
"""Count new memories on SQLite; triggers count those that change."""

_DAY = 86_400_000_000


def count_new_memories(columns: str, rows: Iterable[Row]) -> list[Row]:
    """Return the parameters of `COUNT_NEW`: new rows by day, kind, layer and status."""
    place, size = _pick_counted(columns)
    counts: dict[Row, list[int]] = {}
    for row in rows:
        valid_to, text, recalls = size(row)
        if valid_to == FOREVER:
            # By time, which the rows of a call share: the statement adds those of a day.
            count = counts.get(key := place(row)) or counts.setdefault(key, [0, 0, 0])
            count[0] += 1
            count[1] += len(text)
            count[2] += recalls == 0
    return [
        (space, first_seen // _DAY, *rest, *count)
        for (space, first_seen, *rest), count in counts.items()
    ]


@cache
def _pick_counted(columns: str) -> tuple[Callable[[Row], Row], Callable[[Row], Row]]:
    """Return functions that pick, from a row after its space, what it is counted by and with."""
    names = ["space", *columns.split(", ")]
    return (
        itemgetter(*map(names.index, ("space", "first_seen", "kind", "layer", "status"))),
        itemgetter(*map(names.index, ("valid_to", "text", "recalls"))),
    )


def recount_memories(tx: Tx) -> None:
    """Count the memories of a space again after rows were written without `Tx.insert`, which
    counts new ones on SQLite; on a server a trigger does."""
    if not tx.is_remote:
        tx.run("DELETE FROM memory_counts WHERE space = :space")
        tx.run(COUNT_MEMORIES.format(space=":space"))


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
    stored: dict[str, str] = {**values, mark.key: mark.value} if mark else {**values}
    if not stored:
        return True
    rows = []
    params: dict[str, str | int] = {"now": now, "window": mark.window if mark else 0}
    for place, (key, value) in enumerate(stored.items()):
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
    """Record the result of a write and the hash of its content, if its key is new."""
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
