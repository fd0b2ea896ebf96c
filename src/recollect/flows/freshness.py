"""Freshness: what memories say about the code, checked against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is given
by the caller, and is looked at outside any transaction.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple, Protocol

from ..core import claims as core_claims
from ..core.claims import Claim
from ..core.claims import Fresh as Fresh
from ..core.claims import Known as Known
from ..db.database import Database, Tx
from ..store import claims, memories
from ..types import Json

Look = tuple[str, str]
"""A path, and the stamp that it had at the last look."""

Changed = Callable[[Iterable[Look]], set[Look]]


class Tree(Protocol):
    """The working tree, as far as claims go."""

    def stamp(self, path: str) -> str: ...
    def pin(self, claims: Sequence[Claim]) -> list[Known]: ...
    def check(self, known: Sequence[Known], thorough: bool = False) -> list[Known]: ...


_FRESH = Fresh("fresh")


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
    space: Database, changed: Changed, tree: Callable[[], Tree], ids: Sequence[str], now: int
) -> dict[str, Fresh]:
    """The freshness of several memories; those that claim nothing are not in it.

    Only where something `changed` since the last look is the tree looked at again.
    """
    looks = space.read(lambda tx: claims.last_looks(tx, ids)) if ids else []
    if not looks:
        return {}
    fresh = _worst(look[2:] for look in looks)
    gone = changed({look[:2] for look in looks if look[3] != "unverifiable"})
    if gone:
        again = sorted({look[2] for look in looks if look[:2] in gone})
        fresh |= _looked_again(space, tree(), again, now)
    return fresh


def _looked_again(space: Database, tree: Tree, ids: Sequence[str], now: int) -> dict[str, Fresh]:
    """The freshness of memories that speak of something which is not as it was at the last look."""
    held = space.read(lambda tx: claims.of_memories(tx, ids))
    rows = [row for one in held.values() for row in one]
    seen = _look(tree, rows, thorough=False)
    changed = [new for old, new in zip(rows, seen, strict=True) if new != old]
    if changed:
        space.note(lambda tx: claims.set_seen(tx, changed, now))
    return _worst((row.memory, row.state, row.moved_to) for row in seen)


def _worst(judged: Iterable[tuple[str, str, str]]) -> dict[str, Fresh]:
    """Each memory is as fresh as the worst of its claims."""
    fresh: dict[str, Fresh] = {}
    for memory, state, moved_to in judged:
        here = _FRESH if state == "fresh" else Fresh(state, moved_to)
        known = fresh.setdefault(memory, here)
        if known is not here:
            fresh[memory] = core_claims.worse(known, here)
    return fresh


def _look(tree: Tree, rows: Sequence[claims.ClaimRow], thorough: bool) -> list[claims.ClaimRow]:
    known = tree.check([Known(*row[2:]) for row in rows], thorough)
    return [
        claims.ClaimRow(row.memory, row.position, *item)
        for row, item in zip(rows, known, strict=True)
    ]


def report(space: Database, tree: Tree, fix: bool, now: int) -> Report:
    """Check every claim of every open memory; with `fix`, follow what moved."""
    rows = space.read(_all_claims)
    seen = _look(tree, rows, thorough=True) if rows else []
    moved = [row for row in seen if row.state == "moved"] if fix else []
    followed = {row[:2]: new for row in moved if (new := _followed(tree, row)) != row}
    if followed:
        space.write(lambda tx: claims.repin(tx, list(followed.values()), now))
    rest = [row for row in seen if row[:2] not in followed]
    space.note(lambda tx: claims.set_seen(tx, rest, now))
    seen = [followed.get(row[:2], row) for row in seen]
    stale = tuple(
        Checked(row.memory, row.path, row.symbol, row.state, row.moved_to)
        for row in seen
        if row.state not in ("fresh", "unverifiable")
    )
    fresh = sum(row.state == "fresh" for row in seen)
    return Report(len(seen), fresh, stale, len(followed))


def _all_claims(tx: Tx) -> list[claims.ClaimRow]:
    held = claims.of_memories(tx, memories.open_ids(tx))
    return [row for one in held.values() for row in one]


def _followed(tree: Tree, row: claims.ClaimRow) -> claims.ClaimRow:
    """The claim at its new place, pinned to what is there now."""
    pinned = tree.pin([Claim(row.moved_to, row.symbol, row.line, row.kind, True)])
    there = pinned and pinned[0].state == "fresh"
    return claims.ClaimRow(row.memory, row.position, *pinned[0]) if there else row
