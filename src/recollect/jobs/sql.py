"""Jobs: leased background work, alone or in a queue, with the progress of the work.

`owner` and `attempt` are a fencing token: a transaction that writes for a job begins with
`hold_lease`, so that a runner that lost its lease cannot write. A try counts as a failure from its
start until it is finished, so that a killed runner counts too.

A queued job is pending, running, done, error (a dead letter: `retry_job` revives it) or cancelled.
`input_watermark` is the end of the input, `success_watermark` the end of the finished part; a job
whose input grew is pending again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from json import dumps
from typing import NamedTuple

from ..errors import Conflict
from ..storage.database import Row, Tx, load_json, placeholders
from ..types.records import Json, SafeText

_COLUMNS = (
    "id, kind, subject, status, owner, attempt, lease_until, run_after, input_watermark, "
    "success_watermark, error, created, updated, payload"
)
_INSERT = (
    "INSERT INTO jobs (space, id, kind, subject, payload, status, owner, attempt, lease_until, "
    "run_after, input_watermark, success_watermark, error, created, updated) VALUES"
)
TRIES = 3
"""Failed tries after which a queued job is a dead letter."""


class Job(NamedTuple):
    """A job. `updated` is the time of the last success, `progress` the state that the job saved,
    `failures` the number of tries since the last success, and `tried` the start of the last try."""

    id: str
    kind: str
    subject: str
    status: str
    owner: str
    attempt: int
    lease_until: int
    run_after: int
    input_watermark: int
    success_watermark: int
    error: str
    created: int
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


def acquire_lease(tx: Tx, kind: str, owner: str, now: int, lease: int) -> Job | None:
    """Acquire the lease; return None while another runner holds it."""
    current = get_job(tx, kind, hold=True)
    row = tx.one(
        f"{_INSERT} (:space, :id, :kind, '', :payload, 'running', :owner, 1, :until, 0, 0, 0, '', "
        ":now, 0) "
        "ON CONFLICT (space, kind, subject) DO UPDATE SET status = 'running', error = '', "
        "payload = excluded.payload, owner = excluded.owner, attempt = jobs.attempt + 1, "
        "lease_until = excluded.lease_until "
        "WHERE jobs.status <> 'running' OR jobs.lease_until <= :now "
        f"RETURNING {_COLUMNS}",
        {
            "id": job_id(kind),
            "kind": kind,
            "payload": _payload(
                current.progress if current else {}, current.failures + 1 if current else 1, now
            ),
            "owner": owner,
            "now": now,
            "until": now + lease,
        },
    )
    return _job(row) if row else None


def finish_job(tx: Tx, job: Job, progress: Mapping[str, Json], now: int) -> bool:
    """Record a success and release the lease; return false if the lease was lost meanwhile."""
    done = job._replace(status="done", error="", updated=now, progress=progress, failures=0)
    return _release(tx, done)


def fail_job(tx: Tx, job: Job, error: SafeText, counts: bool = True) -> bool:
    """Record a failure and release the lease; earlier progress stays.

    counts: False for a conflict with another process, which is not the job's own failure
    """
    failures = job.failures if counts else job.failures - 1
    return _release(tx, job._replace(status="failed", error=error, failures=failures))


def _release(tx: Tx, job: Job) -> bool:
    row = tx.one(
        "UPDATE jobs SET status = :status, owner = '', lease_until = 0, error = :error, "
        "payload = :payload, updated = :updated WHERE space = :space AND id = :id "
        "AND owner = :owner AND attempt = :attempt RETURNING id",
        _values(job),
    )
    return row is not None


def rewind_job(tx: Tx, kind: str, status: str, progress: Mapping[str, Json], updated: int) -> None:
    """Reset the progress of a job."""
    tx.run(
        "UPDATE jobs SET status = :status, payload = :payload, updated = :updated "
        "WHERE space = :space AND kind = :kind AND subject = ''",
        {"kind": kind, "status": status, "payload": _payload(progress, 0, 0), "updated": updated},
    )


# ---------------------------------------------------------------- the queue


def job_id(kind: str, subject: str = "") -> str:
    """Return the id of the job of a kind and subject."""
    return f"j-{kind}-{subject}" if subject else f"j-{kind}"


def enqueue_job(
    tx: Tx, kind: str, subject: str, watermark: int, now: int, force: bool = False
) -> bool:
    """Queue a job up to a watermark; return true if it was not queued before. A job that was done,
    failed or cancelled is queued again if the watermark grew, or with `force`."""
    row = tx.one(
        f"{_INSERT} (:space, :id, :kind, :subject, :payload, 'pending', '', 0, 0, :now, :mark, 0, "
        "'', :now, 0) "
        "ON CONFLICT (space, kind, subject) DO UPDATE SET status = 'pending', error = '', "
        "run_after = :now, input_watermark = excluded.input_watermark, payload = excluded.payload "
        "WHERE jobs.status NOT IN ('pending', 'running') "
        "AND (jobs.input_watermark < :mark OR :force = 1) RETURNING id",
        {
            "id": job_id(kind, subject),
            "kind": kind,
            "subject": subject,
            "payload": _payload({}, 0, 0),
            "mark": watermark,
            "now": now,
            "force": int(force),
        },
    )
    if row is None:
        tx.run(
            "UPDATE jobs SET input_watermark = :mark WHERE space = :space AND kind = :kind AND "
            "subject = :subject AND status IN ('pending', 'running') AND input_watermark < :mark",
            {"kind": kind, "subject": subject, "mark": watermark},
        )
    return row is not None


def settle_job(tx: Tx, kind: str, subject: str, watermark: int, now: int) -> None:
    """Mark a job as done up to a watermark, without a run."""
    enqueue_job(tx, kind, subject, watermark, now, force=True)
    job = get_job(tx, kind, subject, hold=True)
    if job is not None:
        done = job._replace(status="done", success_watermark=watermark, updated=now)
        _update(tx, done)


def claim_job(
    tx: Tx, kinds: Sequence[str], owner: str, now: int, lease: int, tries: int = TRIES
) -> Job | None:
    """Claim the job that has waited longest, or whose lease ran out; return None without one. A job
    whose lease ran out in its last try becomes a dead letter."""
    names, params = placeholders("kind", kinds)
    while row := tx.one(
        f"SELECT {_COLUMNS} FROM jobs WHERE space = :space AND kind IN ({names}) "
        "AND ((status = 'pending' AND run_after <= :now) "
        "OR (status = 'running' AND lease_until <= :now)) "
        f"ORDER BY run_after, id LIMIT 1 {tx.skip_locked}",
        {**params, "now": now},
    ):
        found = _job(row)
        if found.failures < tries:
            job = found._replace(
                status="running",
                owner=owner,
                attempt=found.attempt + 1,
                lease_until=now + lease,
                failures=found.failures + 1,
                tried=now,
            )
            _update(tx, job)
            return job
        error = found.error or f"its runner was lost {found.failures} times"
        _update(tx, found._replace(status="error", owner="", lease_until=0, error=error))
    return None


def hold_lease(tx: Tx, job: Job) -> Job:
    """Lock a job that is still leased to this runner and return its current state; raise Conflict
    if another runner took over. An expired lease stays valid until then."""
    current = get_job(tx, job.kind, job.subject, hold=True)
    fence = (job.owner, job.attempt, "running")
    if current is None or (current.owner, current.attempt, current.status) != fence:
        raise Conflict(
            "the lease was lost: another runner has this job, or it was cancelled", where=job.id
        )
    return current


def renew_lease(tx: Tx, job: Job, until: int) -> None:
    """Extend the lease (heartbeat); raise Conflict if it was lost."""
    current = hold_lease(tx, job)
    _update(tx, current._replace(lease_until=until))


def save_progress(tx: Tx, job: Job, progress: Mapping[str, Json]) -> Job:
    """Save the progress of a leased job, for a later try; raise Conflict if the lease was lost."""
    current = hold_lease(tx, job)
    _update(tx, current._replace(progress=progress))
    return current._replace(progress=progress)


def complete_job(tx: Tx, job: Job, now: int, error: SafeText | None = None) -> None:
    """Finish a leased job up to the watermark it was claimed with; queue it again if its input grew
    meanwhile. Raise Conflict if the lease was lost.

    error: why a part was left out
    """
    current = hold_lease(tx, job)
    grown = current.input_watermark > job.input_watermark
    done = current._replace(
        status="pending" if grown else "done",
        owner="",
        lease_until=0,
        run_after=now,
        success_watermark=job.input_watermark,
        error=error or "",
        updated=now,
        progress={},
        failures=0,
    )
    _update(tx, done)


def retry_later(
    tx: Tx, job: Job, error: SafeText, run_after: int, tries: int = TRIES, counts: bool = True
) -> str:
    """Release a leased job after a failure; return its status: pending, or error after the last
    try. Raise Conflict if the lease was lost.

    counts: False for a failure that is not the job's own
    """
    current = hold_lease(tx, job)
    failures = current.failures if counts else current.failures - 1
    status = "error" if failures >= tries else "pending"
    back = current._replace(
        status=status, owner="", lease_until=0, run_after=run_after, error=error, failures=failures
    )
    _update(tx, back)
    return status


def reset_job(tx: Tx, job: Job, status: str, now: int) -> None:
    """Queue a job again with all its tries, or cancel it; a running one loses its lease. Progress
    and watermarks stay."""
    changed = job._replace(
        status=status, owner="", lease_until=0, run_after=now, error="", failures=0
    )
    _update(tx, changed)


def list_jobs(tx: Tx, status: str = "", kind: str = "", limit: int = 100) -> list[Job]:
    """List jobs by kind and subject."""
    chosen = ["AND status = :status "] if status else []
    chosen += ["AND kind = :kind "] if kind else []
    rows = tx.run(
        f"SELECT {_COLUMNS} FROM jobs WHERE space = :space {''.join(chosen)}"
        "ORDER BY kind, subject LIMIT :limit",
        {"status": status, "kind": kind, "limit": limit},
    )
    return [_job(row) for row in rows]


def count_jobs(tx: Tx, kinds: Sequence[str]) -> dict[str, int]:
    """Count the jobs of some kinds by status."""
    names, params = placeholders("kind", kinds)
    rows = tx.run(
        f"SELECT status, count(*) FROM jobs WHERE space = :space AND kind IN ({names}) "
        "GROUP BY status ORDER BY status",
        params,
    )
    return {row[0]: int(row[1]) for row in rows}


def next_run_time(tx: Tx, kinds: Sequence[str]) -> int:
    """Return the earliest time at which a pending job may run; 0 without one."""
    names, params = placeholders("kind", kinds)
    row = tx.one(
        "SELECT coalesce(min(run_after), 0) FROM jobs WHERE space = :space "
        f"AND status = 'pending' AND kind IN ({names})",
        params,
    )
    return int(row[0]) if row else 0


def has_expired_lease(tx: Tx, kinds: Sequence[str], now: int) -> bool:
    """Check whether the lease of a running job has expired."""
    names, params = placeholders("kind", kinds)
    row = tx.one(
        "SELECT 1 FROM jobs WHERE space = :space AND status = 'running' AND lease_until <= :now "
        f"AND kind IN ({names}) LIMIT 1",
        {**params, "now": now},
    )
    return row is not None


def remove_jobs(tx: Tx, kinds: Sequence[str]) -> int:
    """Delete all jobs of some kinds; return the count."""
    names, params = placeholders("kind", kinds)
    rows = tx.run(
        f"DELETE FROM jobs WHERE space = :space AND kind IN ({names}) RETURNING id", params
    )
    return len(rows)


def find_job(tx: Tx, id: str) -> Job | None:
    """Return the job with an id, and lock it until the commit."""
    row = tx.one(
        f"SELECT {_COLUMNS} FROM jobs WHERE space = :space AND id = :id {tx.for_update}", {"id": id}
    )
    return _job(row) if row else None


def _update(tx: Tx, job: Job) -> None:
    """Write a job whose row is locked."""
    tx.run(
        "UPDATE jobs SET status = :status, owner = :owner, attempt = :attempt, "
        "lease_until = :lease_until, run_after = :run_after, input_watermark = :input_watermark, "
        "success_watermark = :success_watermark, error = :error, updated = :updated, "
        "payload = :payload WHERE space = :space AND id = :id",
        _values(job),
    )


def _job(row: Row) -> Job:
    state = load_json(row[-1])
    counted = (state.get("progress", {}), state.get("failures", 0), state.get("tried", 0))
    return Job._make((*row[:-1], *counted))


def _values(job: Job) -> dict[str, Json]:
    """Return the columns of a job by name."""
    return {**job._asdict(), "payload": _payload(job.progress, job.failures, job.tried)}


def _payload(progress: Mapping[str, Json], failures: int, tried: int) -> str:
    return dumps({"progress": progress, "failures": failures, "tried": tried})
