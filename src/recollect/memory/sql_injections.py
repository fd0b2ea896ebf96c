"""Injections: which record was put in front of which model, and what came of it."""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Row, Tx, batches


class Injection(NamedTuple):
    """One record in one turn of one session."""

    id: str
    session: str
    turn: int
    block: str
    ref: str
    tokens: int


def add(tx: Tx, rows: Sequence[Injection], now: int) -> None:
    """Log what was injected."""
    columns = "id, session, turn, block, ref, tokens, verdict, at"
    tx.insert("injections", columns, ((*row, "", now) for row in rows))


def shown(tx: Tx, session: str, since: int) -> set[str]:
    """Return the records that were put in front of a session's model since a time."""
    rows = tx.run(
        "SELECT DISTINCT ref FROM injections WHERE space = :space AND session = :session "
        "AND at >= :since",
        {"session": session, "since": since},
    )
    return {row[0] for row in rows}


def judge(tx: Tx, ref: str, session: str, verdict: str) -> int:
    """Set the verdict on a record's injections (of a session, if given); gives how many."""
    mine = "AND session = :session " if session else ""
    rows = tx.run(
        "UPDATE injections SET verdict = :verdict WHERE space = :space AND ref = :ref "
        f"{mine}AND verdict = '' RETURNING id",
        {"ref": ref, "session": session, "verdict": verdict},
    )
    return len(rows)


def verdicts(tx: Tx, refs: Sequence[str]) -> dict[str, dict[str, int]]:
    """How often each record was injected, and with which verdicts."""
    found: dict[str, dict[str, int]] = {}
    for names, params in batches("ref", refs):
        for ref, verdict, count in tx.run(
            "SELECT ref, verdict, count(*) FROM injections "
            f"WHERE space = :space AND ref IN ({names}) GROUP BY ref, verdict",
            params,
        ):
            found.setdefault(ref, {})[verdict or "shown"] = int(count)
    return found


def never_useful(tx: Tx, least: int, limit: int) -> list[Row]:
    """Records that never helped, injected at least so often: ref and how often.

    Only where silence says something: in sessions in which somebody gave a verdict on anything,
    and not in the baseline, whose rules are always there and which nobody thanks for.
    """
    return tx.run(
        "SELECT ref, count(*) FROM injections WHERE space = :space AND block <> 'A' AND session IN "
        "(SELECT session FROM injections WHERE space = :space AND verdict <> '') GROUP BY ref "
        "HAVING count(*) >= :least AND sum(CASE WHEN verdict = 'helped' THEN 1 ELSE 0 END) = 0 "
        "ORDER BY count(*) DESC, ref LIMIT :limit",
        {"least": least, "limit": limit},
    )
