"""Claims: what a memory says about the code, and what was last seen of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..fast_typing import Any, NamedTuple
from ..storage.database import Tx, batches

_COLUMNS = (
    "memory, position, path, symbol, line, kind, blob, sign, committed, state, moved_to, stamp"
)


class ClaimRow(NamedTuple):
    """A claim as it is kept."""

    memory: str
    position: int
    path: str
    symbol: str
    line: int
    kind: str
    blob: str
    sign: str
    committed: str
    state: str
    moved_to: str
    stamp: str


def replace_claims(tx: Tx, memory: str, rows: Sequence[ClaimRow], now: int) -> None:
    """Write the claims of a memory anew."""
    tx.run("DELETE FROM claims WHERE space = :space AND memory = :memory", {"memory": memory})
    tx.insert("claims", f"{_COLUMNS}, checked", ((*row, now) for row in rows))


def copy_claims(tx: Tx, memory: str, to: str) -> None:
    """Give another memory the claims of this one, with what was last seen of them."""
    kept = ", ".join(ClaimRow._fields[1:])
    tx.run(
        f"INSERT INTO claims (space, memory, {kept}, checked) SELECT space, :to, {kept}, checked "
        "FROM claims WHERE space = :space AND memory = :memory",
        {"memory": memory, "to": to},
    )


def load_claims(tx: Tx, ids: Sequence[str]) -> dict[str, list[ClaimRow]]:
    """The claims of several memories, in their order."""
    found: dict[str, list[ClaimRow]] = {}
    for names, params in batches("id", ids):
        for row in tx.run(
            f"SELECT {_COLUMNS} FROM claims WHERE space = :space AND memory IN ({names}) "
            "ORDER BY memory, position",
            params,
        ):
            found.setdefault(row[0], []).append(ClaimRow(*row))
    return found


def load_checks(tx: Tx, ids: Sequence[str]) -> list[tuple[str, str, str, str, str]]:
    """Path, stamp, memory, state and new place of each claim of several memories, in no order.

    That is all a briefing needs while nothing changed, and it is asked for before every turn: so
    they are plain rows.
    """
    found: list[Any] = []
    for names, params in batches("id", ids):
        found += tx.run(
            "SELECT path, stamp, memory, state, moved_to FROM claims "
            f"WHERE space = :space AND memory IN ({names})",
            params,
        )
    return found


def save_checks(tx: Tx, rows: Sequence[ClaimRow], now: int) -> None:
    """Keep what was seen: state, new place and stamp."""
    tx.many(
        "UPDATE claims SET state = :state, moved_to = :moved_to, stamp = :stamp, checked = :now "
        "WHERE space = :space AND memory = :memory AND position = :position",
        ({**_seen(row), "now": now} for row in rows),
    )


def _seen(row: ClaimRow) -> Mapping[str, object]:
    return {
        "state": row.state,
        "moved_to": row.moved_to,
        "stamp": row.stamp,
        "memory": row.memory,
        "position": row.position,
    }


def update_claims(tx: Tx, rows: Sequence[ClaimRow], now: int) -> None:
    """Write claims anew in their places, after what they speak of moved."""
    sets = ", ".join(f"{name} = :{name}" for name in ClaimRow._fields[2:])
    tx.many(
        f"UPDATE claims SET {sets}, checked = :now "
        "WHERE space = :space AND memory = :memory AND position = :position",
        ({**row._asdict(), "now": now} for row in rows),
    )
