"""Freshness: what memories say about the code, checked against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is given
by the caller, and is looked at outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from ..context import Context
from ..fast_typing import Protocol
from ..storage.database import Database
from ..types.records import Json
from . import claims as freshness_claims
from . import sql
from .claims import Claim
from .claims import Freshness as Freshness
from .claims import PinnedClaim as PinnedClaim

Look = tuple[str, str]

"""A path, and the stamp that it had at the last look."""

FindChanged = Callable[[Iterable[Look]], set[Look]]


class ClaimTree(Protocol):
    """The working tree, as far as claims go."""

    def stamp(self, path: str) -> str: ...
    def pin(self, claims: Sequence[Claim]) -> list[PinnedClaim]: ...
    def check(self, known: Sequence[PinnedClaim], thorough: bool = False) -> list[PinnedClaim]: ...


_FRESH = Freshness("fresh")


def find_claims(text: str, citations: Sequence[Json]) -> list[Claim]:
    """What a text says of the code; one without a mark of code says nothing of it."""
    if not citations and not any(mark in text for mark in "`/.(_"):
        return []
    return freshness_claims.extract_claims(text, citations)


def check_memories(
    space: Database,
    changed: FindChanged,
    tree: Callable[[], ClaimTree],
    ids: Sequence[str],
    now: int,
) -> dict[str, Freshness]:
    """The freshness of several memories; those that claim nothing are not in it.

    Only where something `changed` since the last look is the tree looked at again.
    """
    looks = space.read(lambda tx: sql.load_checks(tx, ids)) if ids else []
    if not looks:
        return {}
    fresh = _worst(look[2:] for look in looks)
    gone = changed({look[:2] for look in looks if look[3] != "unverifiable"})
    if gone:
        again = sorted({look[2] for look in looks if look[:2] in gone})
        fresh |= _looked_again(space, tree(), again, now)
    return fresh


def _looked_again(
    space: Database, tree: ClaimTree, ids: Sequence[str], now: int
) -> dict[str, Freshness]:
    """The freshness of memories that speak of something which is not as it was at the last look."""
    held = space.read(lambda tx: sql.load_claims(tx, ids))
    rows = [row for one in held.values() for row in one]
    seen = check_rows(tree, rows, thorough=False)
    changed = [new for old, new in zip(rows, seen, strict=True) if new != old]
    if changed:
        space.note(lambda tx: sql.save_checks(tx, changed, now))
    return _worst((row.memory, row.state, row.moved_to) for row in seen)


def _worst(judged: Iterable[tuple[str, str, str]]) -> dict[str, Freshness]:
    """Each memory is as fresh as the worst of its claims."""
    fresh: dict[str, Freshness] = {}
    for memory, state, moved_to in judged:
        here = _FRESH if state == "fresh" else Freshness(state, moved_to)
        known = fresh.setdefault(memory, here)
        if known is not here:
            fresh[memory] = freshness_claims.pick_worse(known, here)
    return fresh


def check_rows(tree: ClaimTree, rows: Sequence[sql.ClaimRow], thorough: bool) -> list[sql.ClaimRow]:
    """The claims with what became of them."""
    known = tree.check([PinnedClaim(*row[2:]) for row in rows], thorough)
    return [
        sql.ClaimRow(row.memory, row.position, *item) for row, item in zip(rows, known, strict=True)
    ]


def open_working_tree(context: Context) -> ClaimTree:
    """A new look at the working tree."""
    from .working_tree_io import WorkTree

    return WorkTree(context.top)


def check_freshness(context: Context, ids: Sequence[str]) -> dict[str, Freshness]:
    """Which of these memories still hold, as far as they speak of the code."""
    return check_memories(
        context.project_space,
        partial(_changed_files, context),
        partial(open_working_tree, context),
        ids,
        context.clock(),
    )


def _changed_files(context: Context, looks: Iterable[Look]) -> set[Look]:
    from . import stamps_io

    return stamps_io.find_changed(context.top, looks)


def pin_claims(context: Context, text: str, citations: Sequence[Json]) -> list[PinnedClaim]:
    """What a text says of the code, with what the code looks like now."""
    found = find_claims(text, citations)
    return open_working_tree(context).pin(found) if found else []
