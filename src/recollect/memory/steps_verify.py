"""Follow: the report on all that memories say about the code, and what is done about it.

A file that moved is followed: in the claims, and in the text, citations and examples that name it,
as a new version of the memory. Who confirms a memory stands behind the code as it is now. The tree
is looked at outside any transaction.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..freshness import claims as freshness_claims
from ..freshness import sql as freshness_sql
from ..freshness.claims import Claim, PinnedClaim
from ..freshness.steps import ClaimTree, check_rows
from ..secrets import redaction
from ..storage.database import Database, Tx
from ..text import messages
from ..types.records import FOREVER, Json, Memory
from . import sql, steps_lifecycle, steps_neighbours, steps_revisions


class Checked(NamedTuple):
    """One claim of a memory in a report."""

    memory: str
    path: str
    symbol: str
    state: str
    moved_to: str = ""


class ClaimReport(NamedTuple):
    """All claims that are not fresh, and how many there are in all."""

    claims: int
    fresh: int
    stale: tuple[Checked, ...]
    repaired: int = 0


class Move(NamedTuple):
    """A memory, where the files it names went, and its claims at their new places."""

    memory: str
    paths: Mapping[str, str]
    rows: tuple[freshness_sql.ClaimRow, ...]


def check_claims(
    space: Database, tree: ClaimTree, fix: bool, now: int, new_id: Callable[[str], str]
) -> ClaimReport:
    """Check every claim of every open memory; with `fix`, follow what moved."""
    rows = space.read(_all_claims)
    seen = check_rows(tree, rows, thorough=True) if rows else []
    space.note(lambda tx: freshness_sql.save_checks(tx, seen, now))
    followed: list[freshness_sql.ClaimRow] = []
    if fix and (moves := _moves(tree, seen)):
        ids = [new_id("m") for _ in moves]
        followed = space.write(lambda tx: _follow(tx, moves, ids, now))
    places = {row[:2] for row in followed}
    left = [row for row in seen if row[:2] not in places]
    stale = tuple(make_checked(row) for row in left if row.state not in ("fresh", "unverifiable"))
    fresh = sum(row.state == "fresh" for row in left) + len(followed)
    return ClaimReport(len(seen), fresh, stale, len(followed))


def make_checked(row: freshness_sql.ClaimRow) -> Checked:
    """What became of a claim."""
    return Checked(row.memory, row.path, row.symbol, row.state, row.moved_to)


def load_checked(tx: Tx, memory: str) -> tuple[Checked, ...]:
    """What became of each claim of a memory, at the last look."""
    return tuple(map(make_checked, freshness_sql.load_claims(tx, [memory]).get(memory, ())))


def load_claims(tx: Tx, id: str) -> list[freshness_sql.ClaimRow]:
    """What a memory says of the code, by the id (or the beginning of it) of any version."""
    memory = steps_revisions.open_memory(tx, id)
    return freshness_sql.load_claims(tx, [memory.id]).get(memory.id, [])


def pin_changed(tree: ClaimTree, rows: Sequence[freshness_sql.ClaimRow]) -> list[PinnedClaim]:
    """The claims on what changed, pinned to what it is now: somebody stands behind them."""
    changed = [row for row in check_rows(tree, rows, thorough=False) if row.state == "changed"]
    wanted = [Claim(row.path, row.symbol, row.line, row.kind, given=True) for row in changed]
    return tree.pin(wanted) if wanted else []


def _all_claims(tx: Tx) -> list[freshness_sql.ClaimRow]:
    held = freshness_sql.load_claims(tx, sql.list_open_ids(tx))
    return [row for one in held.values() for row in one]


def _moves(tree: ClaimTree, seen: Sequence[freshness_sql.ClaimRow]) -> list[Move]:
    """The memories that can be followed: all that they say of a file is in one new place."""
    of_memory: dict[str, list[freshness_sql.ClaimRow]] = {}
    for row in seen:
        if row.state != "unverifiable":
            of_memory.setdefault(row.memory, []).append(row)
    moves = []
    for id, rows in of_memory.items():
        paths = freshness_claims.find_moves((row.path, row.moved_to) for row in rows)
        new = [_at_new_place(tree, row) for row in rows if row.path in paths]
        if new and all(row.state == "fresh" for row in new):
            moves.append(Move(id, paths, tuple(new)))
    return moves


def _at_new_place(tree: ClaimTree, row: freshness_sql.ClaimRow) -> freshness_sql.ClaimRow:
    """The claim at its new place, pinned to what is there now."""
    pinned = tree.pin([Claim(row.moved_to, row.symbol, row.line, row.kind, given=True)])
    return freshness_sql.ClaimRow(row.memory, row.position, *pinned[0]) if pinned else row


def _follow(
    tx: Tx, moves: Sequence[Move], ids: Sequence[str], now: int
) -> list[freshness_sql.ClaimRow]:
    """Write what moved; gives the claims that were followed."""
    followed: list[freshness_sql.ClaimRow] = []
    for move, id in zip(moves, ids, strict=True):
        memory = sql.get(tx, move.memory)
        if memory is None or memory.valid_to != FOREVER:
            continue
        before = steps_revisions.make_row(memory)
        row = _renamed(memory, before, move.paths)
        there = steps_revisions.find_same(tx, row)
        if there and there.id != memory.id:
            continue
        if row != before:
            steps_lifecycle.replaced(tx, memory, row._replace(id=id), now)
            steps_neighbours.carry_over(tx, memory.id, id, now)
        said_by = id if row != before else memory.id
        freshness_sql.update_claims(tx, [one._replace(memory=said_by) for one in move.rows], now)
        followed += move.rows
    return followed


def _renamed(memory: Memory, row: sql.MemoryRow, paths: Mapping[str, str]) -> sql.MemoryRow:
    """The memory with the new names of what it names."""

    def named(value: Json) -> Json:
        if isinstance(value, str):
            return freshness_claims.replace_paths(value, paths)
        if isinstance(value, Mapping):
            return {**value, **{key: named(value[key]) for key in ("path", "file") if key in value}}
        return value

    text = redaction.redact(freshness_claims.replace_paths(memory.text, paths))
    return row._replace(
        text=text,
        digest=messages.text_digest(text),
        citations=redaction.redact_json([named(item) for item in memory.citations]).text,
        examples=redaction.redact_json([named(item) for item in memory.examples]).text,
        scope=redaction.redact_json([named(item) for item in memory.scope]).text,
    )
