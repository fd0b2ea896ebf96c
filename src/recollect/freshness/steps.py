"""Check the claims of memories against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is read
outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
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
"""A path, and its stamp at the last check."""

FindChanged = Callable[[Iterable[Look]], set[Look]]


class ClaimTree(Protocol):
    """The operations of a working tree that claims need."""

    def stamp(self, path: str) -> str: ...
    def look_up(self, claims: Sequence[Claim]) -> None: ...
    def pin(self, claims: Sequence[Claim]) -> list[PinnedClaim]: ...
    def check(self, known: Sequence[PinnedClaim], thorough: bool = False) -> list[PinnedClaim]: ...


_FRESH = Freshness("fresh")


def find_claims(text: str, citations: Sequence[Json]) -> list[Claim]:
    """Return the claims in a text; without a character of code there are none."""
    if not citations and not any(mark in text for mark in "`/.(_"):
        return []
    return freshness_claims.extract_claims(text, citations)


def check_memories(
    space: Database,
    changed: FindChanged,
    tree: Callable[[], ClaimTree],
    ids: Sequence[str],
    now: int,
    loaded: Sequence[tuple[str, str, str, str, str]] | None = None,
) -> dict[str, Freshness]:
    """Return the freshness of several memories; those without claims are left out.

    The tree is read again only for what `changed` since the last check. `loaded` are the rows of
    `sql.load_checks`, if the caller has them.
    """
    looks = loaded
    if looks is None:
        looks = space.read(lambda tx: sql.load_checks(tx, ids)) if ids else []
    if not looks:
        return {}
    fresh = _worst((memory, state, moved_to) for _, _, memory, state, moved_to in looks)
    gone = changed({(path, stamp) for path, stamp, _, state, _ in looks if state != "unverifiable"})
    if gone:
        again = {memory for path, stamp, memory, _, _ in looks if (path, stamp) in gone}
        fresh |= _check_again(space, tree(), sorted(again), now)
    return fresh


def _check_again(
    space: Database, tree: ClaimTree, ids: Sequence[str], now: int
) -> dict[str, Freshness]:
    """Check again the memories whose files changed since the last check."""
    held = space.read(lambda tx: sql.load_claims(tx, ids))
    rows = [row for one in held.values() for row in one]
    seen = check_rows(tree, rows, thorough=False)
    changed = [new for old, new in zip(rows, seen, strict=True) if new != old]
    if changed:
        space.try_write(lambda tx: sql.save_checks(tx, changed, now))
    return _worst((row.memory, row.state, row.moved_to) for row in seen)


def _worst(judged: Iterable[tuple[str, str, str]]) -> dict[str, Freshness]:
    """Return for each memory the worst state of its claims."""
    fresh: dict[str, Freshness] = {}
    for memory, state, moved_to in judged:
        here = _FRESH if state == "fresh" else Freshness(state, moved_to)
        known = fresh.setdefault(memory, here)
        if known is not here:
            fresh[memory] = freshness_claims.pick_worse(known, here)
    return fresh


def check_rows(tree: ClaimTree, rows: Sequence[sql.ClaimRow], thorough: bool) -> list[sql.ClaimRow]:
    """Return the claims with their current states."""
    known = tree.check([sql.claim_of(row) for row in rows], thorough)
    return [
        sql.make_row(row.memory, row.position, item) for row, item in zip(rows, known, strict=True)
    ]


def open_working_tree(context: Context) -> ClaimTree:
    """Open the working tree; it caches what it reads, so open a new one for every check."""
    from .working_tree_io import WorkTree

    return WorkTree(context.top)


def unpack_looks(packed: Mapping[str, str]) -> list[tuple[str, str, str, str, str]]:
    """Return the rows of `sql.load_checks` from the packed claims of memories, by id."""
    return [
        (path, stamp, memory, state, moved_to)
        for memory, text in packed.items()
        for path, stamp, state, moved_to in (one.split("\x1f") for one in text.split("\x1e"))
    ]


def check_freshness(
    context: Context,
    ids: Sequence[str],
    loaded: Sequence[tuple[str, str, str, str, str]] | None = None,
) -> dict[str, Freshness]:
    """Return the freshness of these memories, as far as they make claims about the code."""
    return check_memories(
        context.project_space,
        partial(_changed_files, context),
        partial(open_working_tree, context),
        ids,
        context.clock(),
        loaded,
    )


def _changed_files(context: Context, looks: Iterable[Look]) -> set[Look]:
    from . import stamps_io

    return stamps_io.find_changed(context.top, looks)


def pin_claims(context: Context, text: str, citations: Sequence[Json]) -> list[PinnedClaim]:
    """Extract the claims of a text and pin them to the current code."""
    found = find_claims(text, citations)
    return open_working_tree(context).pin(found) if found else []
