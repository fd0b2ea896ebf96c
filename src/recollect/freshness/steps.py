"""Freshness: what memories say about the code, checked against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is given
by the caller, and is looked at outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ..fast_typing import Protocol
from ..storage.database import Database
from ..types.records import Json
from . import claims as freshness_claims
from . import sql
from .claims import Claim
from .claims import Fresh as Fresh
from .claims import Known as Known

Look = tuple[str, str]
"""A path, and the stamp that it had at the last look."""

Changed = Callable[[Iterable[Look]], set[Look]]


class Tree(Protocol):
    """The working tree, as far as claims go."""

    def stamp(self, path: str) -> str: ...
    def pin(self, claims: Sequence[Claim]) -> list[Known]: ...
    def check(self, known: Sequence[Known], thorough: bool = False) -> list[Known]: ...


_FRESH = Fresh("fresh")


def found(text: str, citations: Sequence[Json]) -> list[Claim]:
    """What a text says of the code; one without a mark of code says nothing of it."""
    if not citations and not any(mark in text for mark in "`/.(_"):
        return []
    return freshness_claims.extract(text, citations)


def check(
    space: Database, changed: Changed, tree: Callable[[], Tree], ids: Sequence[str], now: int
) -> dict[str, Fresh]:
    """The freshness of several memories; those that claim nothing are not in it.

    Only where something `changed` since the last look is the tree looked at again.
    """
    looks = space.read(lambda tx: sql.last_looks(tx, ids)) if ids else []
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
    held = space.read(lambda tx: sql.of_memories(tx, ids))
    rows = [row for one in held.values() for row in one]
    seen = looked(tree, rows, thorough=False)
    changed = [new for old, new in zip(rows, seen, strict=True) if new != old]
    if changed:
        space.note(lambda tx: sql.set_seen(tx, changed, now))
    return _worst((row.memory, row.state, row.moved_to) for row in seen)


def _worst(judged: Iterable[tuple[str, str, str]]) -> dict[str, Fresh]:
    """Each memory is as fresh as the worst of its claims."""
    fresh: dict[str, Fresh] = {}
    for memory, state, moved_to in judged:
        here = _FRESH if state == "fresh" else Fresh(state, moved_to)
        known = fresh.setdefault(memory, here)
        if known is not here:
            fresh[memory] = freshness_claims.worse(known, here)
    return fresh


def looked(tree: Tree, rows: Sequence[sql.ClaimRow], thorough: bool) -> list[sql.ClaimRow]:
    """The claims with what became of them."""
    known = tree.check([Known(*row[2:]) for row in rows], thorough)
    return [
        sql.ClaimRow(row.memory, row.position, *item) for row, item in zip(rows, known, strict=True)
    ]
