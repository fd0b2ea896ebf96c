"""How rows become nouns and nouns become parameters, JSON in TEXT columns, and what can be done
with every table that has ids."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence

from ..errors import StoreCorrupt
from ..fast_typing import TYPE_CHECKING, Any, NamedTuple
from .database import Tx, placeholders

if TYPE_CHECKING:
    from typing import TypeVar

    Read = TypeVar("Read")


class Sketch(NamedTuple):
    """What showing a hit needs of an episode or a procedure."""

    text: str
    status: str
    label: str
    at: int


def readable(read: Callable[[], Read]) -> Read | None:
    """Return what is read, or None for a record that cannot be decoded: whoever reads many of them,
    one by one, goes on without it."""
    try:
        return read()
    except StoreCorrupt:
        return None


def load(text: str) -> Any:
    """The value of a JSON column; lists become tuples."""
    if text == "[]":
        return ()
    if text == "{}":
        return {}
    if not text:
        return None
    from json import loads  # a search without filters reads none

    value = loads(text)
    return tuple(value) if isinstance(value, list) else value


def columns(names: Iterable[str]) -> str:
    """`a, b, c` for a SELECT or an INSERT."""
    return ", ".join(names)


def values(names: Iterable[str]) -> str:
    """`:a, :b, :c` for an INSERT."""
    return ", ".join(f":{name}" for name in names)


def seen_by(owners: Sequence[str], table: str = "") -> tuple[str, dict[str, Any]]:
    """Return the condition, with its parameters, that leaves out what belongs to other sessions
    and tasks than these owners, each written `layer/owner`."""
    names, params = placeholders("seen", owners)
    own = f" OR {table}layer || '/' || {table}owner IN ({names})" if owners else ""
    return f"({table}layer NOT IN ('session', 'task'){own})", params


def set_columns(tx: Tx, table: str, id: str, changes: Mapping[str, Any]) -> None:
    """Set columns of the row with this id; JSON columns take JSON text."""
    sets = ", ".join(f"{name} = :{name}" for name in changes)
    tx.run(
        f"UPDATE {table} SET {sets} WHERE space = :space AND id = :its_id",
        {**changes, "its_id": id},
    )


def ids_from(tx: Tx, table: str, prefix: str, limit: int) -> list[str]:
    """Ids that begin with the prefix, so that a person need not type a whole one."""
    rows = tx.run(
        f"SELECT id FROM {table} WHERE space = :space AND id >= :low AND id < :high "
        "ORDER BY id LIMIT :limit",
        {"low": prefix, "high": prefix + "\U0010ffff", "limit": limit},
    )
    return [row[0] for row in rows]
