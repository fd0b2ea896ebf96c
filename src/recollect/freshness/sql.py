"""The claims of memories about the code, and the result of their last check."""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Tx, batches
from . import claims

_COLUMNS = (
    "memory, position, path, symbol, line, kind, blob, sign, committed, state, moved_to, stamp"
)

_AT_ONCE = 100
"""The most claims of one statement."""


class ClaimRow(NamedTuple):
    """A row of the table of claims."""

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


def make_row(memory: str, position: int, claim: claims.PinnedClaim) -> ClaimRow:
    """Return the row of a memory's claim."""
    return ClaimRow(memory=memory, position=position, **claim._asdict())


def claim_of(row: ClaimRow) -> claims.PinnedClaim:
    """Return the claim of a row."""
    values = row._asdict()
    return claims.PinnedClaim(**{name: values[name] for name in claims.PinnedClaim._fields})


def replace_claims(tx: Tx, memory: str, rows: Sequence[ClaimRow], now: int) -> None:
    """Replace the claims of a memory."""
    tx.run("DELETE FROM claims WHERE space = :space AND memory = :memory", {"memory": memory})
    add_claims(tx, rows, now)


def add_claims(tx: Tx, rows: Sequence[ClaimRow], now: int) -> None:
    """Write claims of memories that have none."""
    tx.insert("claims", f"{_COLUMNS}, checked", ((*row, now) for row in rows))


def load_claims(tx: Tx, ids: Sequence[str]) -> dict[str, list[ClaimRow]]:
    """Return the claims of several memories, in order."""
    found: dict[str, list[ClaimRow]] = {}
    for names, params in batches("id", ids):
        for row in tx.run(
            f"SELECT {_COLUMNS} FROM claims WHERE space = :space AND memory IN ({names}) "
            "ORDER BY memory, position",
            params,
        ):
            claim = ClaimRow._make(row)
            found.setdefault(claim.memory, []).append(claim)
    return found


class LastCheck(NamedTuple):
    """The result of the last check of a claim, and the stamp of its file at that time."""

    path: str
    stamp: str
    memory: str
    state: str
    moved_to: str


def load_checks(tx: Tx, ids: Sequence[str]) -> list[LastCheck]:
    """Return the last check of each claim of several memories, unordered.

    A briefing loads these before every turn: it needs no more while no file changed.
    """
    found: list[LastCheck] = []
    for names, params in batches("id", ids):
        rows = tx.run(
            "SELECT path, stamp, memory, state, moved_to FROM claims "
            f"WHERE space = :space AND memory IN ({names})",
            params,
        )
        found += map(LastCheck._make, rows)
    return found


def save_checks(tx: Tx, rows: Sequence[ClaimRow], now: int) -> None:
    """Save state, new path and stamp of checked claims, many in a statement."""
    for start in range(0, len(rows), _AT_ONCE):
        params: dict[str, object] = {"now": now}
        values = []
        for place, row in enumerate(rows[start : start + _AT_ONCE]):
            for name in ("memory", "position", "state", "moved_to", "stamp"):
                params[f"{name}{place}"] = getattr(row, name)
            values.append(
                f"SELECT :memory{place} AS memory, CAST(:position{place} AS BIGINT) AS position, "
                f":state{place} AS state, :moved_to{place} AS moved_to, :stamp{place} AS stamp"
            )
        tx.run(
            "UPDATE claims SET state = seen.state, moved_to = seen.moved_to, stamp = seen.stamp, "
            f"checked = :now FROM ({' UNION ALL '.join(values)}) AS seen "
            "WHERE claims.space = :space AND claims.memory = seen.memory "
            "AND claims.position = seen.position",
            params,
        )


def update_claims(tx: Tx, rows: Sequence[ClaimRow], now: int) -> None:
    """Update claims in place, after their targets moved."""
    sets = ", ".join(f"{name} = :{name}" for name in claims.PinnedClaim._fields)
    tx.many(
        f"UPDATE claims SET {sets}, checked = :now "
        "WHERE space = :space AND memory = :memory AND position = :position",
        ({**row._asdict(), "now": now} for row in rows),
    )
