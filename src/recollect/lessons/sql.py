"""Observations of single sessions, and the findings that several of them make together.

It does not know what a body says. All rows are derived and can be made again from the archive.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..fast_typing import NamedTuple
from ..storage.database import Tx, batches
from ..types.records import SafeText


class ObservationRow(NamedTuple):
    """What one session says about a subject; `body` is JSON."""

    kind: str
    subject: SafeText
    session: SafeText
    at: int
    body: SafeText


class FindingRow(NamedTuple):
    """What sessions say together about a subject; `at` is when it was last true."""

    kind: str
    subject: SafeText
    sessions: int
    at: int
    body: SafeText


def subjects_of(tx: Tx, session: str) -> set[tuple[str, str]]:
    """Return kind and subject of every observation of a session."""
    rows = tx.run(
        "SELECT kind, subject FROM observations WHERE space = :space AND session = :session",
        {"session": session},
    )
    return {(row[0], row[1]) for row in rows}


def replace_observations(tx: Tx, session: str, rows: Sequence[ObservationRow]) -> None:
    """Write the observations of a session in place of its earlier ones."""
    tx.run(
        "DELETE FROM observations WHERE space = :space AND session = :session",
        {"session": session},
    )
    tx.many(
        "INSERT INTO observations (space, kind, subject, session, at, body) "
        "VALUES (:space, :kind, :subject, :session, :at, :body)",
        [row._asdict() for row in rows],
    )


def observations(tx: Tx, kind: str, subject: str, limit: int) -> list[ObservationRow]:
    """Return the observations of a subject, newest first."""
    rows = tx.run(
        "SELECT kind, subject, session, at, body FROM observations WHERE space = :space "
        "AND kind = :kind AND subject = :subject ORDER BY at DESC, session LIMIT :limit",
        {"kind": kind, "subject": subject, "limit": limit},
    )
    return [ObservationRow(*row) for row in rows]


def put_finding(tx: Tx, row: FindingRow) -> None:
    """Write a finding in place of an earlier one of the same subject."""
    tx.run(
        "INSERT INTO findings (space, kind, subject, sessions, at, body) "
        "VALUES (:space, :kind, :subject, :sessions, :at, :body) "
        "ON CONFLICT (space, kind, subject) DO UPDATE SET sessions = excluded.sessions, "
        "at = excluded.at, body = excluded.body",
        row._asdict(),
    )


def remove_finding(tx: Tx, kind: str, subject: str) -> None:
    """Remove the finding of a subject that no session speaks of any more."""
    tx.run(
        "DELETE FROM findings WHERE space = :space AND kind = :kind AND subject = :subject",
        {"kind": kind, "subject": subject},
    )


def findings(tx: Tx, kind: str, subjects: Sequence[str]) -> dict[str, FindingRow]:
    """Return the findings of these subjects."""
    found: dict[str, FindingRow] = {}
    for names, params in batches("subject", list(dict.fromkeys(subjects))):
        rows = tx.run(
            "SELECT kind, subject, sessions, at, body FROM findings WHERE space = :space "
            f"AND kind = :kind AND subject IN ({names})",
            {**params, "kind": kind},
        )
        found.update((row[1], FindingRow(*row)) for row in rows)
    return found


def latest_findings(tx: Tx, kind: str, since: int, limit: int) -> list[FindingRow]:
    """Return findings that were true after a time, newest first."""
    rows = tx.run(
        "SELECT kind, subject, sessions, at, body FROM findings WHERE space = :space "
        "AND kind = :kind AND at >= :since ORDER BY at DESC, subject LIMIT :limit",
        {"kind": kind, "since": since, "limit": limit},
    )
    return [FindingRow(*row) for row in rows]


def count_findings(tx: Tx) -> dict[str, int]:
    """Return how many findings there are of each kind."""
    rows = tx.run("SELECT kind, count(*) FROM findings WHERE space = :space GROUP BY kind")
    return {row[0]: int(row[1]) for row in rows}


def clear(tx: Tx) -> None:
    """Remove everything, so that it is made again."""
    for table in ("observations", "findings"):
        tx.run(f"DELETE FROM {table} WHERE space = :space")
