"""The table `injections`: each item that was shown to a model, its effect and the user's verdict.

The outcome (followed, ignored) is read from the agent's tool calls; the verdict (helped, wrong …)
is given by a person or an agent.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Tx, batches, list_columns

FOLLOWED, IGNORED = "followed", "ignored"
USED = "used"
"""The moment of a command that was run although it was not shown any more."""


class Injection(NamedTuple):
    """An item that was shown to a session's model.

    `ref` is the id or address of a record, or `command:…`, `avoid:…`, `file:…`. `moment` is one of
    start, turn, command, edit, failure; `block` is the tier of the start block, A to D.
    """

    id: str
    session: str
    moment: str
    block: str
    ref: str
    tokens: int
    at: int
    outcome: str = ""


class MomentCounts(NamedTuple):
    """Counts for one kind of moment: chances to show an item, items shown, followed and ignored."""

    moment: str
    chances: int = 0
    shown: int = 0
    followed: int = 0
    ignored: int = 0


def insert(tx: Tx, items: Iterable[Injection]) -> None:
    """Log shown items. (The column `turn` is not read any more.)"""
    columns = f"{list_columns(Injection._fields)}, turn, verdict"
    tx.insert("injections", columns, ((*item, item.at, "") for item in items))


# ---------------------------------------------------------------- by session


def list_items(tx: Tx, session: str) -> list[Injection]:
    """Return the items shown to a session, in order."""
    rows = tx.run(
        f"SELECT {list_columns(Injection._fields)} FROM injections WHERE space = :space "
        f"AND session = :session AND moment NOT IN ('', '{USED}') ORDER BY at, id",
        {"session": session},
    )
    return list(map(Injection._make, rows))


def list_refs(tx: Tx, session: str, since: int, moment: str = "") -> set[str]:
    """Return the refs shown to a session since a time, at any moment or at one kind."""
    chosen = " AND moment = :moment" if moment else ""
    rows = tx.run(
        "SELECT ref FROM injections WHERE space = :space AND session = :session "
        f"AND at >= :since{chosen}",
        {"session": session, "since": since, "moment": moment},
    )
    return {row[0] for row in rows}


def last_session(tx: Tx) -> str:
    """Return the session that was shown something last; empty without one."""
    row = tx.one("SELECT session FROM injections WHERE space = :space ORDER BY at DESC, id LIMIT 1")
    return str(row[0]) if row else ""


def sessions_with_prefix(tx: Tx, prefix: str) -> list[str]:
    """Return the sessions that were shown something and whose ids begin with a prefix."""
    rows = tx.run(
        "SELECT DISTINCT session FROM injections WHERE space = :space AND session >= :low "
        "AND session < :high ORDER BY session",
        {"low": prefix, "high": prefix + "\U0010ffff"},
    )
    return [row[0] for row in rows]


# ---------------------------------------------------------------- outcomes


def set_outcomes(tx: Tx, outcomes: Iterable[tuple[str, str]]) -> None:
    """Set the outcomes of injections, given with their ids."""
    tx.many(
        "UPDATE injections SET outcome = :outcome WHERE space = :space AND id = :id",
        [{"id": id, "outcome": outcome, "space": tx.space} for id, outcome in outcomes],
    )


def list_outcomes(tx: Tx, refs: Sequence[str]) -> dict[str, list[str]]:
    """Return the known outcomes of showing these refs at session starts and before edits, newest
    first."""
    found: dict[str, list[str]] = {}
    for names, params in batches("ref", refs):
        rows = tx.run(
            "SELECT ref, outcome FROM injections "
            f"WHERE space = :space AND ref IN ({names}) AND moment IN ('start', 'edit', '{USED}') "
            "AND outcome <> '' ORDER BY at DESC, id",
            params,
        )
        for ref, outcome in rows:
            found.setdefault(ref, []).append(outcome)
    return found


def find_ineffective(tx: Tx, refs: Sequence[str], since: int, sessions: int) -> set[str]:
    """Return the refs that were shown at prompts of at least `sessions` sessions since a time, and
    never followed."""
    found: set[str] = set()
    for names, params in batches("ref", refs):
        rows = tx.run(
            "SELECT ref FROM injections "
            f"WHERE space = :space AND ref IN ({names}) AND moment = 'turn' AND at >= :since "
            "GROUP BY ref HAVING count(DISTINCT session) >= :sessions "
            f"AND sum(CASE WHEN outcome = '{FOLLOWED}' THEN 1 ELSE 0 END) = 0",
            {**params, "since": since, "sessions": sessions},
        )
        found.update(row[0] for row in rows)
    return found


def count_by_moment(tx: Tx) -> list[MomentCounts]:
    """Count the items shown at each kind of moment, and those followed and ignored."""
    rows = tx.run(
        f"SELECT moment, count(*), sum(CASE WHEN outcome = '{FOLLOWED}' THEN 1 ELSE 0 END), "
        f"sum(CASE WHEN outcome = '{IGNORED}' THEN 1 ELSE 0 END) FROM injections "
        f"WHERE space = :space AND moment NOT IN ('', '{USED}') GROUP BY moment ORDER BY moment"
    )
    return [
        MomentCounts(moment, shown=int(shown), followed=int(followed), ignored=int(ignored))
        for moment, shown, followed, ignored in rows
    ]


# ---------------------------------------------------------------- verdicts


def set_verdict(tx: Tx, ref: str, session: str, verdict: str) -> int:
    """Set the verdict on a record's injections (of a session, if given); return the count."""
    chosen = "AND session = :session " if session else ""
    rows = tx.run(
        "UPDATE injections SET verdict = :verdict WHERE space = :space AND ref = :ref "
        f"{chosen}AND verdict = '' RETURNING id",
        {"ref": ref, "session": session, "verdict": verdict},
    )
    return len(rows)


def count_verdicts(tx: Tx, refs: Sequence[str]) -> dict[str, dict[str, int]]:
    """Count the injections of each record by verdict."""
    found: dict[str, dict[str, int]] = {}
    for names, params in batches("ref", refs):
        for ref, verdict, count in tx.run(
            "SELECT ref, verdict, count(*) FROM injections "
            f"WHERE space = :space AND ref IN ({names}) GROUP BY ref, verdict",
            params,
        ):
            found.setdefault(ref, {})[verdict or "shown"] = int(count)
    return found


def find_never_useful(tx: Tx, least: int, limit: int) -> dict[str, int]:
    """Return the records that were injected at least `least` times and never helped, with counts.

    Only sessions with a verdict on some record count: in the others silence means nothing. Baseline
    rules (block A) are left out: they are always shown, and nobody reports that they helped.
    """
    rows = tx.run(
        "SELECT ref, count(*) FROM injections WHERE space = :space AND block <> 'A' AND session IN "
        "(SELECT session FROM injections WHERE space = :space AND verdict <> '') GROUP BY ref "
        "HAVING count(*) >= :least AND sum(CASE WHEN verdict = 'helped' THEN 1 ELSE 0 END) = 0 "
        "ORDER BY count(*) DESC, ref LIMIT :limit",
        {"least": least, "limit": limit},
    )
    return {ref: int(count) for ref, count in rows}
