"""Small values of the system itself, and the keys of writes that were done already.

A key of a write is somebody else's text and may hold anything: its hash is kept, never the key.
"""

from __future__ import annotations

from collections.abc import Mapping

from ..errors import Conflict
from ..types.records import SafeText
from .database import Tx, batches

_KEYS = ("utf-8", "surrogatepass")


def get_value(tx: Tx, key: str) -> str | None:
    """One value."""
    row = tx.one("SELECT value FROM state WHERE space = :space AND key = :key", {"key": key})
    return row[0] if row else None


def set_value(tx: Tx, key: str, value: SafeText, now: int) -> None:
    """Set one value."""
    tx.run(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :value, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET value = excluded.value, updated = excluded.updated",
        {"key": key, "value": value, "now": now},
    )


def lock_value(tx: Tx, key: str, first: SafeText, now: int) -> str:
    """One value, which is `first` at first; nobody else changes it before the commit."""
    row = tx.one(
        "INSERT INTO state (space, key, value, updated) VALUES (:space, :key, :first, :now) "
        "ON CONFLICT (space, key) DO UPDATE SET updated = excluded.updated RETURNING value",
        {"key": key, "first": first, "now": now},
    )
    return str(row[0]) if row else first


def delete_value(tx: Tx, key: str) -> None:
    """Drop one value."""
    tx.run("DELETE FROM state WHERE space = :space AND key = :key", {"key": key})


def find_write(tx: Tx, key: str, content: str = "") -> str | None:
    """The record that an earlier write with this key made; Conflict when it wrote other content.

    `key` names the operation and its target too, so that one used elsewhere is another key."""
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
            hint="Take a new key for a new write; repeat a key only to repeat the same write.",
        )
    return str(row[0])


def record_write(tx: Tx, key: str, operation: str, ref: str, now: int, content: str = "") -> bool:
    """Remember what a write made, and the hash of its content; false when the key was used."""
    row = tx.one(
        "INSERT INTO writes (space, key, operation, ref, at) "
        "VALUES (:space, :key, :operation, :ref, :now) "
        "ON CONFLICT (space, key) DO NOTHING RETURNING key",
        {
            "key": _hash(key),
            "operation": f"{operation} {_hash(content)}" if content else operation,
            "ref": ref,
            "now": now,
        },
    )
    return row is not None


def record_writes(tx: Tx, operation: str, made: Mapping[str, str], now: int) -> str | None:
    """The same for many keys and what each made; gives back a key that was used before, and then
    notes none. Two writers must not claim the same keys at once: they hold a row that says so."""
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
