"""Freshness: what memories say about the code, checked against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is given
by the caller, and is looked at outside any transaction.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol

from ..core import claims as core_claims
from ..core.claims import Claim
from ..core.claims import Known as Known
from ..db.database import Database, Tx
from ..store import claims, memories
from ..types import Json


class Tree(Protocol):
    """The working tree, as far as claims go."""

    def pin(self, claims: Sequence[Claim]) -> list[Known]: ...
    def check(self, known: Sequence[Known], thorough: bool = False) -> list[Known]: ...


class Fresh(NamedTuple):
    """Whether what a memory says of the code still holds; `moved_to` names a new place."""

    state: str
    moved_to: str = ""


class Checked(NamedTuple):
    """One claim of a memory in a report."""

    memory: str
    path: str
    symbol: str
    state: str
    moved_to: str = ""


class Report(NamedTuple):
    """All claims that are not fresh, and how many there are in all."""

    claims: int
    fresh: int
    stale: tuple[Checked, ...]
    repaired: int = 0


def found(text: str, citations: Sequence[Json]) -> list[Claim]:
    """What a text says of the code; one without a mark of code says nothing of it."""
    if not citations and not any(mark in text for mark in "`/.(_"):
        return []
    return core_claims.extract(text, citations)


def check(
    space: Database, tree: Callable[[], Tree], ids: Sequence[str], now: int
) -> dict[str, Fresh]:
    """The freshness of several memories; those that claim nothing are not in it."""
    held = claimed(space, ids)
    rows = [row for one in held.values() for row in one]
    if not rows:
        return {}
    seen = _look(tree(), rows, thorough=False)
    changed = [new for old, new in zip(rows, seen, strict=True) if new != old]
    if changed:
        space.note(lambda tx: claims.set_seen(tx, changed, now))
    of_memory: dict[str, list[claims.ClaimRow]] = {}
    for row in seen:
        of_memory.setdefault(row.memory, []).append(row)
    return {id: _fresh(found) for id, found in of_memory.items()}


def claimed(space: Database, ids: Sequence[str]) -> dict[str, list[claims.ClaimRow]]:
    """What these memories say of the code."""
    if not ids or not space.present():
        return {}
    return space.read(lambda tx: claims.of_memories(tx, ids))


def _look(tree: Tree, rows: Sequence[claims.ClaimRow], thorough: bool) -> list[claims.ClaimRow]:
    known = tree.check([Known(*row[2:]) for row in rows], thorough)
    return [
        claims.ClaimRow(row.memory, row.position, *item)
        for row, item in zip(rows, known, strict=True)
    ]


def _fresh(rows: Sequence[claims.ClaimRow]) -> Fresh:
    state = core_claims.combined([row.state for row in rows])
    moved = next((row.moved_to for row in rows if row.state == state == "moved"), "")
    return Fresh(state, moved)


def report(space: Database, tree: Tree, fix: bool, now: int) -> Report:
    """Check every claim of every open memory; with `fix`, follow what moved."""
    rows = space.read(_all_claims)
    seen = _look(tree, rows, thorough=True) if rows else []
    moved = [row for row in seen if row.state == "moved" and row.moved_to]
    if fix and moved:
        followed = {row[:2]: _followed(tree, row) for row in moved}
        space.write(lambda tx: claims.repin(tx, list(followed.values()), now))
        seen = [followed.get(row[:2], row) for row in seen]
    elif seen:
        space.note(lambda tx: claims.set_seen(tx, seen, now))
    stale = tuple(
        Checked(row.memory, row.path, row.symbol, row.state, row.moved_to)
        for row in seen
        if row.state not in ("fresh", "unverifiable")
    )
    fresh = sum(row.state == "fresh" for row in seen)
    return Report(len(seen), fresh, stale, len(moved) if fix else 0)


def _all_claims(tx: Tx) -> list[claims.ClaimRow]:
    held = claims.of_memories(tx, memories.open_ids(tx))
    return [row for one in held.values() for row in one]


def _followed(tree: Tree, row: claims.ClaimRow) -> claims.ClaimRow:
    """The claim at its new place, pinned to what is there now."""
    pinned = tree.pin([Claim(row.moved_to, row.symbol, row.line, row.kind, True)])
    return claims.ClaimRow(row.memory, row.position, *pinned[0]) if pinned else row
