"""Check what memories say about the code, and follow files that moved.

A file that moved is followed in the claims, and in the text, citations and examples that name it,
by a revision of the memory. A confirmation pins the claims to the code as it is now. The tree is
looked at outside any transaction.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..freshness import claims as freshness_claims
from ..freshness import sql as freshness_sql
from ..freshness.claims import Claim, PinnedClaim
from ..freshness.steps import ClaimTree, check_rows, find_claims
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Database, Tx
from ..text import messages
from ..types.records import FOREVER, Json, Memory
from . import sql, sql_lists, steps_revisions


class Checked(NamedTuple):
    """One claim of a memory in a report."""

    memory: str
    path: str
    symbol: str
    state: str
    moved_to: str = ""


class ClaimReport(NamedTuple):
    """The claims that are not fresh, and the counts of all."""

    claims: int
    fresh: int
    stale: tuple[Checked, ...]
    repaired: int = 0


class Move(NamedTuple):
    """A memory, where the files it names went, and its claims at their old and new places."""

    memory: str
    paths: Mapping[str, str]
    seen: tuple[freshness_sql.ClaimRow, ...]
    rows: tuple[freshness_sql.ClaimRow, ...]


def check_claims(space: Database, tree: ClaimTree, fix: bool, now: int) -> ClaimReport:
    """Check every claim of every open memory; with `fix`, follow files that moved."""
    pin_waiting(space, tree, now)
    rows = space.read(_all_claims)
    seen = check_rows(tree, rows, thorough=True) if rows else []
    space.try_write(lambda tx: freshness_sql.save_checks(tx, seen, now))
    followed: list[freshness_sql.ClaimRow] = []
    if fix and (moves := _moves(tree, seen)):
        followed = space.write(lambda tx: _follow(tx, moves, now))
    places = {(row.memory, row.position) for row in followed}
    left = [row for row in seen if (row.memory, row.position) not in places]
    stale = tuple(make_checked(row) for row in left if row.state not in ("fresh", "unverifiable"))
    fresh = sum(row.state == "fresh" for row in left) + len(followed)
    return ClaimReport(len(seen), fresh, stale, len(followed))


def make_checked(row: freshness_sql.ClaimRow) -> Checked:
    """Return a claim as it is reported."""
    return Checked(row.memory, row.path, row.symbol, row.state, row.moved_to)


def load_checked(tx: Tx, memory: str) -> tuple[Checked, ...]:
    """Return each claim of a memory with the state that was last seen."""
    return tuple(map(make_checked, freshness_sql.load_claims(tx, [memory]).get(memory, ())))


def load_claims(tx: Tx, id: str) -> list[freshness_sql.ClaimRow]:
    """Return the claims of a memory, by its id or the beginning of it."""
    memory = steps_revisions.open_memory(tx, id)
    return freshness_sql.load_claims(tx, [memory.id]).get(memory.id, [])


def pin_changed(tree: ClaimTree, rows: Sequence[freshness_sql.ClaimRow]) -> list[PinnedClaim]:
    """Return the claims on what changed, pinned to the code as it is now."""
    changed = [row for row in check_rows(tree, rows, thorough=False) if row.state == "changed"]
    wanted = [Claim(row.path, row.symbol, row.line, row.kind, given=True) for row in changed]
    return tree.pin(wanted) if wanted else []


_PINNED = "claims pinned until"
_PINNED_AT_ONCE = 2_000


def pin_waiting(space: Database, tree: ClaimTree, now: int) -> int:
    """Pin the claims of new memories that only git can find, which `learn` leaves out because a
    process takes longer than all the rest; return the number of memories. What was pinned when
    the memory was learned stays so. Called in the background, and before everything is checked."""

    def load(tx: Tx) -> tuple[list[Memory], dict[str, list[freshness_sql.ClaimRow]]]:
        at, _, id = (storage_sql.get_value(tx, _PINNED) or "0 ").partition(" ")
        since = int(at) if at.isdigit() else 0
        new = sql_lists.find_reinforced_after(tx, (since, id), _PINNED_AT_ONCE)
        ids = [id for _, id in new]
        found = sql.get_many(tx, ids)
        return [found[id] for id in ids if id in found], freshness_sql.load_claims(tx, ids)

    memories, held = space.read(load)
    if not memories:
        return 0
    claims = {one.id: find_claims(one.text, one.citations) for one in memories}
    tree.look_up([claim for some in claims.values() for claim in some])
    added: dict[str, list[freshness_sql.ClaimRow]] = {}
    for id, wanted in claims.items():
        rows = [row for row in held.get(id, ()) if row.state != "unverifiable"]
        known = {(row.path, row.symbol, row.line) for row in rows}
        places = len(rows)
        for pinned in tree.pin(wanted) if wanted else ():
            if (pinned.path, pinned.symbol, pinned.line) not in known:
                rows.append(freshness_sql.make_row(id, len(rows), pinned))
        if len(rows) > places:
            added[id] = [row._replace(position=at) for at, row in enumerate(rows)]
    last = f"{memories[-1].last_reinforced} {memories[-1].id}"

    def save(tx: Tx) -> None:
        for id, rows in added.items():
            freshness_sql.replace_claims(tx, id, rows, now)
        storage_sql.set_value(tx, _PINNED, redaction.redact(last), now)

    space.write(save)
    return len(added)


def _all_claims(tx: Tx) -> list[freshness_sql.ClaimRow]:
    held = freshness_sql.load_claims(tx, sql_lists.list_open_ids(tx))
    return [row for one in held.values() for row in one]


def _moves(tree: ClaimTree, seen: Sequence[freshness_sql.ClaimRow]) -> list[Move]:
    """Return the memories whose claims on a file are all in one new place."""
    of_memory: dict[str, list[freshness_sql.ClaimRow]] = {}
    for row in seen:
        if row.state != "unverifiable":
            of_memory.setdefault(row.memory, []).append(row)
    moves = []
    for id, rows in of_memory.items():
        paths = freshness_claims.find_moves((row.path, row.moved_to) for row in rows)
        old = [row for row in rows if row.path in paths]
        new = [_at_new_place(tree, row) for row in old]
        if new and all(row.state == "fresh" for row in new):
            moves.append(Move(id, paths, tuple(old), tuple(new)))
    return moves


def _at_new_place(tree: ClaimTree, row: freshness_sql.ClaimRow) -> freshness_sql.ClaimRow:
    """Return a claim at its new place, pinned to the code there."""
    pinned = tree.pin([Claim(row.moved_to, row.symbol, row.line, row.kind, given=True)])
    return freshness_sql.make_row(row.memory, row.position, pinned[0]) if pinned else row


def _follow(tx: Tx, moves: Sequence[Move], now: int) -> list[freshness_sql.ClaimRow]:
    """Write what moved; return the claims that were followed."""
    followed: list[freshness_sql.ClaimRow] = []
    for move in moves:
        memory = sql.get(tx, move.memory, lock=True)
        if memory is None or memory.valid_to != FOREVER or not _still_claimed(tx, move):
            continue
        before = steps_revisions.make_row(memory)
        row = _renamed(memory, before, move.paths)
        there = steps_revisions.find_same(tx, row)
        if there and there.id != memory.id:
            continue
        if row != before:
            steps_revisions.revise(tx, memory, row, "verify", now)
        freshness_sql.update_claims(tx, move.rows, now)
        followed += move.rows
    return followed


def _still_claimed(tx: Tx, move: Move) -> bool:
    """Check whether the claims of a memory are unchanged since they were looked at."""
    held = freshness_sql.load_claims(tx, [move.memory]).get(move.memory, ())
    places = {(row.position, row.path, row.symbol) for row in held}
    return places.issuperset((row.position, row.path, row.symbol) for row in move.seen)


def _renamed(memory: Memory, row: sql.MemoryRow, paths: Mapping[str, str]) -> sql.MemoryRow:
    """Return the row of a memory with the new paths of the files it names."""

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
