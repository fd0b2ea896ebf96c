"""Follow: the report on all that memories say about the code, and what is done about it.

A file that moved is followed: in the claims, and in the text, citations and examples that name it,
as a new version of the memory. Who confirms a memory stands behind the code as it is now. The tree
is looked at outside any transaction.
"""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..core import archive, secrets
from ..core import claims as core_claims
from ..core.claims import Claim, Known
from ..db.database import Database, Tx
from ..store import claims, memories
from ..types import FOREVER, Json, Memory
from . import learn, revise, tend
from .freshness import Tree, looked


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


class Move(NamedTuple):
    """A memory, where the files it names went, and its claims at their new places."""

    memory: str
    paths: Mapping[str, str]
    rows: tuple[claims.ClaimRow, ...]


def report(
    space: Database, tree: Tree, fix: bool, now: int, new_id: Callable[[str], str]
) -> Report:
    """Check every claim of every open memory; with `fix`, follow what moved."""
    rows = space.read(_all_claims)
    seen = looked(tree, rows, thorough=True) if rows else []
    space.note(lambda tx: claims.set_seen(tx, seen, now))
    followed: list[claims.ClaimRow] = []
    if fix and (moves := _moves(tree, seen)):
        ids = [new_id("m") for _ in moves]
        followed = space.write(lambda tx: _follow(tx, moves, ids, now))
    places = {row[:2] for row in followed}
    left = [row for row in seen if row[:2] not in places]
    stale = tuple(checked(row) for row in left if row.state not in ("fresh", "unverifiable"))
    fresh = sum(row.state == "fresh" for row in left) + len(followed)
    return Report(len(seen), fresh, stale, len(followed))


def checked(row: claims.ClaimRow) -> Checked:
    """What became of a claim."""
    return Checked(row.memory, row.path, row.symbol, row.state, row.moved_to)


def last_seen(tx: Tx, memory: str) -> tuple[Checked, ...]:
    """What became of each claim of a memory, at the last look."""
    return tuple(map(checked, claims.of_memories(tx, [memory]).get(memory, ())))


def claimed(tx: Tx, id: str) -> list[claims.ClaimRow]:
    """What a memory says of the code, by the id (or the beginning of it) of any version."""
    memory = tend.open_memory(tx, id)
    return claims.of_memories(tx, [memory.id]).get(memory.id, [])


def pinned_anew(tree: Tree, rows: Sequence[claims.ClaimRow]) -> list[Known]:
    """The claims on what changed, pinned to what it is now: somebody stands behind them."""
    changed = [row for row in looked(tree, rows, thorough=False) if row.state == "changed"]
    wanted = [Claim(row.path, row.symbol, row.line, row.kind, given=True) for row in changed]
    return tree.pin(wanted) if wanted else []


def _all_claims(tx: Tx) -> list[claims.ClaimRow]:
    held = claims.of_memories(tx, memories.open_ids(tx))
    return [row for one in held.values() for row in one]


def _moves(tree: Tree, seen: Sequence[claims.ClaimRow]) -> list[Move]:
    """The memories that can be followed: all that they say of a file is in one new place."""
    of_memory: dict[str, list[claims.ClaimRow]] = {}
    for row in seen:
        if row.state != "unverifiable":
            of_memory.setdefault(row.memory, []).append(row)
    moves = []
    for id, rows in of_memory.items():
        paths = core_claims.moves((row.path, row.moved_to) for row in rows)
        new = [_at_new_place(tree, row) for row in rows if row.path in paths]
        if new and all(row.state == "fresh" for row in new):
            moves.append(Move(id, paths, tuple(new)))
    return moves


def _at_new_place(tree: Tree, row: claims.ClaimRow) -> claims.ClaimRow:
    """The claim at its new place, pinned to what is there now."""
    pinned = tree.pin([Claim(row.moved_to, row.symbol, row.line, row.kind, given=True)])
    return claims.ClaimRow(row.memory, row.position, *pinned[0]) if pinned else row


def _follow(tx: Tx, moves: Sequence[Move], ids: Sequence[str], now: int) -> list[claims.ClaimRow]:
    """Write what moved; gives the claims that were followed."""
    followed: list[claims.ClaimRow] = []
    for move, id in zip(moves, ids, strict=True):
        memory = memories.get(tx, move.memory)
        if memory is None or memory.valid_to != FOREVER:
            continue
        before = learn.row_of(memory)
        row = _renamed(memory, before, move.paths)
        there = learn.same(tx, row)
        if there and there.id != memory.id:
            continue
        if row != before:
            tend.replaced(tx, memory, row._replace(id=id), now)
            revise.carry_over(tx, memory.id, id, now)
        said_by = id if row != before else memory.id
        claims.repin(tx, [one._replace(memory=said_by) for one in move.rows], now)
        followed += move.rows
    return followed


def _renamed(
    memory: Memory, row: memories.MemoryRow, paths: Mapping[str, str]
) -> memories.MemoryRow:
    """The memory with the new names of what it names."""

    def named(value: Json) -> Json:
        if isinstance(value, str):
            return core_claims.with_new_paths(value, paths)
        if isinstance(value, Mapping):
            return {**value, **{key: named(value[key]) for key in ("path", "file") if key in value}}
        return value

    text = secrets.safe(core_claims.with_new_paths(memory.text, paths))
    return row._replace(
        text=text,
        digest=archive.text_digest(text),
        citations=secrets.scrub_json([named(item) for item in memory.citations]).text,
        examples=secrets.scrub_json([named(item) for item in memory.examples]).text,
        scope=secrets.scrub_json([named(item) for item in memory.scope]).text,
    )
