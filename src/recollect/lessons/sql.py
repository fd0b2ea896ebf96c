"""Observations of single sessions, and the findings that are merged from them.

Bodies are opaque JSON here. All rows can be rebuilt from the archive, except the findings that
record which commands and fixes a person hid.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from ..fast_typing import NamedTuple
from ..storage import sql as storage_sql
from ..storage.database import Row, Tx, batches
from ..types.records import SafeText


class ObservationRow(NamedTuple):
    """The observation of one session about a subject; `body` is JSON."""

    kind: str
    subject: SafeText
    session: SafeText
    at: int
    body: SafeText


class FindingRow(NamedTuple):
    """The merged observations about a subject; `at` is the time of the newest."""

    kind: str
    subject: SafeText
    sessions: int
    at: int
    body: SafeText


class SeenFinding(NamedTuple):
    """A finding as it is read; observations up to `cleared_at` do not count."""

    subject: str
    sessions: int
    at: int
    body: str
    cleared_at: int


_SEEN = (
    "subject, sessions, at, body, "
    "(SELECT value FROM state WHERE space = :space AND key = :cleared) FROM findings"
)


def _seen(rows: Iterable[Row]) -> list[SeenFinding]:
    """Return the findings that were observed after the last clearing."""
    found = (
        SeenFinding(subject, sessions, at, body, storage_sql.cleared_at(marks))
        for subject, sessions, at, body, marks in rows
    )
    return [one for one in found if one.at > one.cleared_at]


def list_subjects(tx: Tx, session: str) -> set[tuple[str, str]]:
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


def list_observations(tx: Tx, kind: str, subject: str, limit: int) -> list[ObservationRow]:
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
    """Remove the finding of a subject."""
    tx.run(
        "DELETE FROM findings WHERE space = :space AND kind = :kind AND subject = :subject",
        {"kind": kind, "subject": subject},
    )


def load_findings(tx: Tx, kind: str, subjects: Sequence[str]) -> dict[str, SeenFinding]:
    """Return the findings of these subjects."""
    found: dict[str, SeenFinding] = {}
    for names, params in batches("subject", list(dict.fromkeys(subjects))):
        rows = tx.run(
            f"SELECT {_SEEN} WHERE space = :space AND kind = :kind AND subject IN ({names})",
            {**params, "kind": kind, "cleared": storage_sql.CLEARED},
        )
        found.update((one.subject, one) for one in _seen(rows))
    return found


def list_findings(tx: Tx, kind: str, since: int, limit: int) -> list[SeenFinding]:
    """Return findings that were observed after a time, newest first."""
    rows = tx.run(
        f"SELECT {_SEEN} WHERE space = :space "
        "AND kind = :kind AND at >= :since ORDER BY at DESC, subject LIMIT :limit",
        {"kind": kind, "since": since, "limit": limit, "cleared": storage_sql.CLEARED},
    )
    return _seen(rows)
