"""Jobs: a lease with an owner, so that one runner works at a time, and the progress of the work.

`owner` and `attempt` fence every effect: a runner that lost its lease cannot write. A try counts as
a failure from its start until it is finished, so that a killed one counts too.
"""

from __future__ import annotations

from collections.abc import Mapping
from json import dumps
from typing import NamedTuple

from ..storage.database import Row, Tx, load_json
from ..types.records import Json, SafeText

_COLUMNS = "id, status, owner, attempt, lease_until, success_watermark, error, updated, payload"


class Job(NamedTuple):
    """A job. `updated` is when the work was last finished, `progress` its state in its own terms,
    `success_watermark` the same from earlier versions, `failures` the unfinished tries since, and
    `tried` the start of the last one."""

    id: str
    status: str
    owner: str
    attempt: int
    lease_until: int
    success_watermark: int
    error: str
    updated: int
    progress: Mapping[str, Json]
    failures: int
    tried: int


def get_job(tx: Tx, kind: str, subject: str = "", hold: bool = False) -> Job | None:
    """Return the job of a kind and subject; with `hold`, lock it until the commit."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM jobs WHERE space = :space AND kind = :kind "
        "AND subject = :subject " + (tx.for_update if hold else ""),
        {"kind": kind, "subject": subject},
    )
    return _job(row) if row else None


def acquire_lease(
    tx: Tx, kind: str, owner: str, now: int, lease: int, subject: str = ""
) -> Job | None:
    """Acquire the lease; return None while another runner holds it."""
    held = get_job(tx, kind, subject, hold=True)
    row = tx.one(
        "INSERT INTO jobs (space, id, kind, subject, payload, status, owner, attempt, lease_until, "
        "run_after, input_watermark, success_watermark, error, created, updated) VALUES (:space, "
        ":id, :kind, :subject, :payload, 'running', :owner, 1, :until, 0, 0, 0, '', :now, 0) "
        "ON CONFLICT (space, kind, subject) DO UPDATE SET status = 'running', error = '', "
        "payload = excluded.payload, owner = excluded.owner, attempt = jobs.attempt + 1, "
        "lease_until = excluded.lease_until "
        "WHERE jobs.status <> 'running' OR jobs.lease_until <= :now "
        f"RETURNING {_COLUMNS}",
        {
            "id": f"j-{kind}-{subject}" if subject else f"j-{kind}",
            "kind": kind,
            "subject": subject,
            "payload": _payload(
                held.progress if held else {}, held.failures + 1 if held else 1, now
            ),
            "owner": owner,
            "now": now,
            "until": now + lease,
        },
    )
    return _job(row) if row else None


def finish_job(tx: Tx, job: Job, progress: Mapping[str, Json], now: int) -> bool:
    """Release the lease after the work was done; return false if it was lost meanwhile."""
    done = job._replace(status="done", error="", updated=now, progress=progress, failures=0)
    return _release(tx, done)


def fail_job(tx: Tx, job: Job, error: SafeText, counts: bool = True) -> bool:
    """Release the lease after a failure; earlier progress stays. A failure that merely came at a
    bad time is not counted (`counts`)."""
    failures = job.failures if counts else job.failures - 1
    return _release(tx, job._replace(status="failed", error=error, failures=failures))


def _release(tx: Tx, job: Job) -> bool:
    row = tx.one(
        "UPDATE jobs SET status = :status, owner = '', lease_until = 0, error = :error, "
        "payload = :payload, updated = :updated WHERE space = :space AND id = :id "
        "AND owner = :owner AND attempt = :attempt RETURNING id",
        {
            "id": job.id,
            "owner": job.owner,
            "attempt": job.attempt,
            "status": job.status,
            "error": job.error,
            "updated": job.updated,
            "payload": _payload(job.progress, job.failures, job.tried),
        },
    )
    return row is not None


def rewind_job(
    tx: Tx, kind: str, status: str, progress: Mapping[str, Json], updated: int, subject: str = ""
) -> None:
    """Reset the progress of a job."""
    tx.run(
        "UPDATE jobs SET status = :status, payload = :payload, updated = :updated "
        "WHERE space = :space AND kind = :kind AND subject = :subject",
        {
            "kind": kind,
            "subject": subject,
            "status": status,
            "payload": _payload(progress, 0, 0),
            "updated": updated,
        },
    )


def _job(row: Row) -> Job:
    id, status, owner, attempt, lease_until, success_watermark, error, updated, payload = row
    state = load_json(payload)
    return Job(
        id=id,
        status=status,
        owner=owner,
        attempt=attempt,
        lease_until=lease_until,
        success_watermark=success_watermark,
        error=error,
        updated=updated,
        progress=state.get("progress", {}),
        failures=state.get("failures", 0),
        tried=state.get("tried", 0),
    )


def _payload(progress: Mapping[str, Json], failures: int, tried: int) -> str:
    return dumps({"progress": progress, "failures": failures, "tried": tried})
