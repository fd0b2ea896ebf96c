"""Check the claims of memories against the working tree before use.

Claims are pinned when a memory is learned and checked whenever it is shown. The tree is read
outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial

from ..context import Context
from ..fast_typing import TYPE_CHECKING, NamedTuple, Protocol
from ..storage.database import Database, Tx
from ..types.records import Json
from . import claims, sql

if TYPE_CHECKING:
    from .claims import Claim
    from .claims import Freshness as Freshness
    from .claims import PinnedClaim as PinnedClaim

FileStamp = tuple[str, str]
"""A path, and its stamp at the last check."""

FindChanged = Callable[[Iterable[FileStamp]], set[FileStamp]]


class ClaimTree(Protocol):
    """The operations of a working tree that claims need."""

    def stamp(self, path: str) -> str: ...
    def find_files(self, paths: Iterable[str]) -> Mapping[str, str]: ...
    def look_up(self, claims: Sequence[Claim]) -> None: ...
    def pin(self, claims: Sequence[Claim]) -> list[PinnedClaim]: ...
    def pin_all(self, claims: Mapping[str, Sequence[Claim]]) -> dict[str, list[PinnedClaim]]: ...
    def check(self, known: Sequence[PinnedClaim], thorough: bool = False) -> list[PinnedClaim]: ...


def find_claims(text: str, citations: Sequence[Json], quick: bool = False) -> list[Claim]:
    """Return the claims in a text; with `quick`, none for a text that names no file, because only a
    search of the tree could confirm them."""
    if citations or _may_claim(text, quick):
        return claims.extract_claims(text, citations)
    return []


def _may_claim(text: str, quick: bool) -> bool:
    if quick and not claims.may_name_file(text):
        return False
    return any(mark in text for mark in "`/.(_")


def check_memories(
    space: Database,
    changed: FindChanged,
    tree: Callable[[], ClaimTree],
    ids: Sequence[str],
    now: int,
    loaded: Sequence[sql.ClaimRow] | None = None,
) -> dict[str, Freshness]:
    """Return the freshness of several memories; those without claims are left out.

    changed: finds the files that changed since the last check; only these are read again
    loaded: the claims of the memories, if the caller has them
    """
    if loaded is None:
        checks = space.read(lambda tx: sql.load_checks(tx, ids)) if ids else []
    else:
        checks = [
            sql.LastCheck(row.path, row.stamp, row.memory, row.state, row.moved_to)
            for row in loaded
        ]
    fresh, again = _judge(checks, changed)
    if again:
        rows = [row for row in loaded or () if row.memory in again]
        rows = rows or space.read(lambda tx: _load_rows(tx, again))
        found, news = check_loaded(LoadedChecks(fresh, rows), tree)
        if news:

            def save() -> object:
                return space.try_write(lambda tx: sql.save_checks(tx, news, now))

            if loaded is None:
                save()
            else:
                space.later(save)  # a caller that has the claims does not read them again
        return {**found}
    return fresh


def _judge(
    checks: Sequence[sql.LastCheck], changed: FindChanged
) -> tuple[dict[str, Freshness], list[str]]:
    """Return the freshness at the last check, and the memories whose files changed since."""
    if not checks:
        return {}, []
    fresh = _worst((one.memory, one.state, one.moved_to) for one in checks)
    gone = changed({(one.path, one.stamp) for one in checks if one.state != "unverifiable"})
    return fresh, sorted({one.memory for one in checks if (one.path, one.stamp) in gone})


def _load_rows(tx: Tx, ids: Sequence[str]) -> list[sql.ClaimRow]:
    return [row for rows in sql.load_claims(tx, ids).values() for row in rows]


class LoadedChecks(NamedTuple):
    """The freshness of memories at their last check, and the claims to check again because their
    files changed since."""

    fresh: Mapping[str, Freshness] = {}
    outdated: Sequence[sql.ClaimRow] = ()


def load_checks(
    tx: Tx, ids: Sequence[str], changed: FindChanged, used: Collection[str] | None = None
) -> LoadedChecks:
    """Return the last checks of memories. Only stamps of files are compared here; `check_loaded`
    reads changed files after the transaction.

    used: the memories that are checked again if their files changed (default: all)
    """
    fresh, gone = _judge(sql.load_checks(tx, ids) if ids else [], changed)
    again = [id for id in gone if used is None or id in used]
    return LoadedChecks(fresh, _load_rows(tx, again) if again else ())


def check_loaded(
    loaded: LoadedChecks, tree: Callable[[], ClaimTree]
) -> tuple[Mapping[str, Freshness], list[sql.ClaimRow]]:
    """Return the current freshness, and the claims whose state has changed, to be saved."""
    if not loaded.outdated:
        return loaded.fresh, []
    seen = check_rows(tree(), loaded.outdated, thorough=False)
    news = [new for old, new in zip(loaded.outdated, seen, strict=True) if new != old]
    again = _worst((row.memory, row.state, row.moved_to) for row in seen)
    return {**loaded.fresh, **again}, news


def _worst(judged: Iterable[tuple[str, str, str]]) -> dict[str, Freshness]:
    """Return for each memory the worst state of its claims."""
    fresh: dict[str, Freshness] = {}
    for memory, state, moved_to in judged:
        is_fresh = state == "fresh"
        here = claims.FRESH if is_fresh else claims.Freshness(state, moved_to)
        known = fresh.setdefault(memory, here)
        if known is not here:
            fresh[memory] = claims.pick_worse(known, here)
    return fresh


def check_rows(tree: ClaimTree, rows: Sequence[sql.ClaimRow], thorough: bool) -> list[sql.ClaimRow]:
    """Return the claims with their current states."""
    known = tree.check([sql.claim_of(row) for row in rows], thorough)
    return [
        sql.make_row(row.memory, row.position, item) for row, item in zip(rows, known, strict=True)
    ]


def open_working_tree(context: Context, quick: bool = False) -> ClaimTree:
    """Open the working tree; it caches all reads, so open a new one for every check. A `quick` one
    starts no process."""
    from .working_tree_io import WorkTree

    return WorkTree(context.top, quick)


def unpack_claims(packed: Iterable[str]) -> list[sql.ClaimRow]:
    """Return the claims that `memory.sql_sketches` packed, for each memory in a text, in order."""
    parts = [one.split("\x1f") for text in packed for one in text.split("\x1e")]
    # Stored before citations with control characters were refused: such a claim is not checked.
    found = [sql.ClaimRow._make(one) for one in parts if len(one) == len(sql.ClaimRow._fields)]
    rows = [row._replace(position=int(row.position), line=int(row.line)) for row in found]
    return sorted(rows, key=lambda row: (row.memory, row.position))


def check_freshness(
    context: Context,
    ids: Sequence[str],
    loaded: Sequence[sql.ClaimRow] | None = None,
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


def remember_changed(context: Context) -> FindChanged:
    """Return a function that finds changed files and caches its answers: a transaction that reads
    ahead calls it twice."""
    seen: dict[FileStamp, bool] = {}

    def find(looks: Iterable[FileStamp]) -> set[FileStamp]:
        asked = set(looks)
        new = asked - seen.keys()
        gone = _changed_files(context, new) if new else set()
        seen.update((look, look in gone) for look in new)
        return {look for look in asked if seen[look]}

    return find


def _changed_files(context: Context, looks: Iterable[FileStamp]) -> set[FileStamp]:
    from . import stamps_io

    return stamps_io.find_changed(context.top, looks)


def pin_claims(
    context: Context, text: str, citations: Sequence[Json], quick: bool = False
) -> list[PinnedClaim]:
    """Extract the claims of a text and pin them to the current code; `quick` starts no process."""
    found = find_claims(text, citations, quick)
    return open_working_tree(context, quick).pin(found) if found else []


def pin_many(
    context: Context, texts: Mapping[str, tuple[str, Sequence[Json]]]
) -> Mapping[str, Sequence[PinnedClaim]]:
    """Pin the claims of many texts with their citations, by id, reading each file once, without a
    process. Claims are extracted only from texts that name a file that is there, or cite one."""
    tree = open_working_tree(context, quick=True)
    # Citations and code in backticks may name other files: `make check` claims a Makefile.
    named = {
        id: None if citations or "`" in text else {claim.path for claim in claims.find_paths(text)}
        for id, (text, citations) in texts.items()
        if citations or _may_claim(text, quick=True)
    }
    files = tree.find_files({path for paths in named.values() for path in paths or ()})
    found = {
        id: claims.extract_claims(*texts[id])
        for id, paths in named.items()
        if paths is None or not paths.isdisjoint(files)
    }
    return tree.pin_all({id: some for id, some in found.items() if some})
