"""Log the items that were shown, at which moment, and their effect."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fast_typing import NamedTuple
from ..storage import sql as storage_sql
from ..storage.database import Tx, batches

FOLLOWED, IGNORED = "followed", "ignored"
USED = "used"
"""The moment of a command that was run although it was not shown any more."""


class ShownRow(NamedTuple):
    """An item that was shown to a model: `ref` names a memory, command, file or passage.

    `tier` is A to D of the start block; `moment` one of start, turn, command, edit, failure.
    """

    id: str
    session: str
    turn: int
    tier: str
    ref: str
    tokens: int
    moment: str


class InTime(NamedTuple):
    """Counts for one kind of moment: items shown, followed and ignored, and chances to show one."""

    moment: str
    chances: int = 0
    shown: int = 0
    followed: int = 0
    ignored: int = 0


def add(tx: Tx, rows: Iterable[ShownRow], now: int) -> None:
    """Log shown items."""
    columns = "id, session, turn, block, ref, tokens, moment, verdict, outcome, at"
    tx.insert("injections", columns, ((*row, "", "", now) for row in rows))


class ShownRef(NamedTuple):
    """A shown item: the row's id, the moment, the name it is logged under, and the time."""

    id: str
    moment: str
    ref: str
    at: int


def list_unjudged(tx: Tx, session: str) -> list[ShownRef]:
    """Return the items shown in a session that were not judged yet."""
    rows = tx.run(
        "SELECT id, moment, ref, at FROM injections WHERE space = :space AND session = :session "
        "AND outcome = '' AND moment <> '' ORDER BY at, id",
        {"session": session},
    )
    return list(map(ShownRef._make, rows))


def judge(tx: Tx, outcomes: Iterable[tuple[str, str]]) -> None:
    """Set the outcome of injections, given by their ids."""
    tx.many(
        "UPDATE injections SET outcome = :outcome WHERE space = :space AND id = :id",
        [{"id": id, "outcome": outcome, "space": tx.space} for id, outcome in outcomes],
    )


def outcomes(tx: Tx, refs: Sequence[str]) -> dict[str, list[str]]:
    """Return the known outcomes of showing these refs at session starts and before edits, newest
    first."""
    found: dict[str, list[str]] = {}
    for names, params in batches("ref", refs):
        rows = tx.run(
            "SELECT ref, outcome FROM injections "
            f"WHERE space = :space AND ref IN ({names}) AND moment IN ('start', 'edit', 'used') "
            "AND outcome <> '' "
            "ORDER BY at DESC, id",
            params,
        )
        for ref, outcome in rows:
            found.setdefault(ref, []).append(outcome)
    return found


def often_shown(tx: Tx, refs: Sequence[str], since: int, sessions: int) -> set[str]:
    """Return the refs that were shown at prompts of at least `sessions` sessions since a time, and
    never followed."""
    found: set[str] = set()
    for names, params in batches("ref", refs):
        rows = tx.run(
            "SELECT ref FROM injections "
            f"WHERE space = :space AND ref IN ({names}) AND moment = 'turn' AND at >= :since "
            "GROUP BY ref HAVING count(DISTINCT session) >= :sessions "
            "AND sum(CASE WHEN outcome = 'followed' THEN 1 ELSE 0 END) = 0",
            {**params, "since": since, "sessions": sessions},
        )
        found.update(row[0] for row in rows)
    return found


def counts(tx: Tx) -> list[InTime]:
    """Return how many items were shown at each moment, and how many were followed or ignored."""
    rows = tx.run(
        "SELECT moment, count(*), sum(CASE WHEN outcome = 'followed' THEN 1 ELSE 0 END), "
        "sum(CASE WHEN outcome = 'ignored' THEN 1 ELSE 0 END) FROM injections "
        "WHERE space = :space AND moment NOT IN ('', 'used') GROUP BY moment ORDER BY moment"
    )
    return [InTime(moment, 0, *(int(count or 0) for count in found)) for moment, *found in rows]


def shown_at(tx: Tx, session: str, moment: str, since: int) -> set[str]:
    """Return the refs shown to a session at one kind of moment since a time."""
    rows = tx.run(
        "SELECT ref FROM injections WHERE space = :space AND session = :session "
        "AND moment = :moment AND at >= :since",
        {"session": session, "moment": moment, "since": since},
    )
    return {row[0] for row in rows}


def values_below(tx: Tx, prefix: str) -> list[tuple[str, str]]:
    """Return the keys in state that begin with a prefix and their values, the latest first."""
    rows = tx.run(
        "SELECT key, value FROM state WHERE space = :space AND key >= :low AND key < :high "
        "ORDER BY updated DESC, key",
        {"low": prefix, "high": prefix + "\U0010ffff"},
    )
    return [(row[0], row[1]) for row in rows]


def remove_values(tx: Tx, keys: Iterable[str]) -> None:
    """Remove values from state."""
    tx.many(
        "DELETE FROM state WHERE space = :space AND key = :key",
        [{"space": tx.space, "key": key} for key in keys],
    )


WATCHED = "watched programs"
"""The key in state of the programs to look for before a command runs."""

PART_COMMANDS = "part commands"
"""The key in state of the commands for a part of the project."""


def get_prepared(tx: Tx, name: str) -> str:
    """Return a value that the last session start prepared for later moments; empty if none did."""
    return storage_sql.get_value(tx, name) or ""
