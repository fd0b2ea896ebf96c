"""Work that one runner does at a time: a lease with an owner, and how far the work has come.

`owner` and `attempt` fence every effect: whoever lost the lease finds that it is not theirs any
more. It does not know what the work is.
"""

from typing import NamedTuple

from ..db.database import Tx
from ..types import SafeText

_COLUMNS = "id, status, owner, attempt, lease_until, success_watermark, error, updated"


class Job(NamedTuple):
    """A job as it stands."""

    id: str
    status: str
    owner: str
    attempt: int
    lease_until: int
    success_watermark: int
    error: str
    updated: int


def get(tx: Tx, kind: str, subject: str = "", hold: bool = False) -> Job | None:
    """The job of a kind and subject; with `hold`, nobody else changes it before the commit."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM jobs WHERE space = :space AND kind = :kind "
        "AND subject = :subject " + (tx.for_update if hold else ""),
        {"kind": kind, "subject": subject},
    )
    return Job(*row) if row else None


def take(tx: Tx, kind: str, owner: str, now: int, lease: int, subject: str = "") -> Job | None:
    """Take the lease, or None while somebody else has it."""
    row = tx.one(
        "INSERT INTO jobs (space, id, kind, subject, payload, status, owner, attempt, lease_until, "
        "run_after, input_watermark, success_watermark, error, created, updated) VALUES (:space, "
        ":id, :kind, :subject, '{}', 'running', :owner, 1, :until, 0, 0, 0, '', :now, 0) "
        "ON CONFLICT (space, kind, subject) DO UPDATE SET status = 'running', "
        "owner = excluded.owner, attempt = jobs.attempt + 1, lease_until = excluded.lease_until "
        "WHERE jobs.status <> 'running' OR jobs.lease_until <= :now "
        f"RETURNING {_COLUMNS}",
        {
            "id": f"j-{kind}-{subject}" if subject else f"j-{kind}",
            "kind": kind,
            "subject": subject,
            "owner": owner,
            "now": now,
            "until": now + lease,
        },
    )
    return Job(*row) if row else None


def finish(tx: Tx, job: Job, watermark: int, now: int) -> bool:
    """Give the lease back after the work was done; false when it was lost meanwhile."""
    return _release(tx, job, "done", watermark, "", now)


def fail(tx: Tx, job: Job, error: SafeText) -> bool:
    """Give the lease back after the work failed; what was done before still counts."""
    return _release(tx, job, "failed", job.success_watermark, error, job.updated)


def _release(tx: Tx, job: Job, status: str, watermark: int, error: str, updated: int) -> bool:
    row = tx.one(
        "UPDATE jobs SET status = :status, owner = '', lease_until = 0, error = :error, "
        "success_watermark = :watermark, updated = :updated WHERE space = :space AND id = :id "
        "AND owner = :owner AND attempt = :attempt RETURNING id",
        {
            "id": job.id,
            "owner": job.owner,
            "attempt": job.attempt,
            "status": status,
            "watermark": watermark,
            "error": error,
            "updated": updated,
        },
    )
    return row is not None


def rewind(tx: Tx, kind: str, status: str, watermark: int, updated: int, subject: str = "") -> None:
    """Set back how far the work has come."""
    tx.run(
        "UPDATE jobs SET status = :status, success_watermark = :watermark, updated = :updated "
        "WHERE space = :space AND kind = :kind AND subject = :subject",
        {
            "kind": kind,
            "subject": subject,
            "status": status,
            "watermark": watermark,
            "updated": updated,
        },
    )
