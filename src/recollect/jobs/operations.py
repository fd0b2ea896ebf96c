"""List, show, retry and cancel background jobs; stop workers, and renew their leases."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from typing import NamedTuple

from ..context import Context
from ..errors import InvalidInput, NotFound
from ..storage.database import Tx
from . import sql

STATUSES = ("pending", "running", "done", "error", "cancelled")


class JobState(NamedTuple):
    """A job as it is shown; `tries` counts the tries since the last success."""

    id: str
    kind: str
    subject: str
    status: str
    tries: int
    run_after: int
    lease_until: int
    input_watermark: int
    success_watermark: int
    error: str
    created: int
    updated: int


def list_jobs(
    context: Context, status: str = "", kind: str = "", limit: int = 100
) -> tuple[JobState, ...]:
    """List background jobs, by kind and subject.

    status: only this status: pending, running, done, error or cancelled
    kind: only this kind, such as extract
    limit: maximum number of jobs

    Example: recollect jobs list --status error
    """
    if status and status not in STATUSES:
        raise InvalidInput.choice("status", status, STATUSES)
    if not context.project_space.present():
        return ()
    found = context.project_space.read(lambda tx: sql.list_jobs(tx, status, kind, limit))
    return tuple(map(_state, found))


def show_job(context: Context, id: str) -> JobState:
    """Show one job, with the error of its last try.

    id: the job's id

    Example: recollect jobs show j-consolidate
    """
    return _state(context.project_space.write(lambda tx: _existing(tx, id)))


def retry_job(context: Context, id: str) -> JobState:
    """Run a job again at the next start, with all its retries.

    id: the job's id

    Example: recollect jobs retry j-extract-s-1
    """
    return _reset(context, id, "pending")


def cancel_job(context: Context, id: str) -> JobState:
    """Cancel a job. A process that runs it can no longer write.

    It is queued again when there is something new to work on.

    id: the job's id

    Example: recollect jobs cancel j-extract-s-1
    """
    return _reset(context, id, "cancelled")


def find_failed(tx: Tx, kinds: Sequence[str], limit: int) -> list[JobState]:
    """Return jobs of some kinds whose last try failed or skipped a part, dead letters first."""
    found = [
        job
        for status in ("error", "pending", "running", "done")
        for kind in kinds
        for job in sql.list_jobs(tx, status, kind, limit)
        if job.error
    ]
    return [_state(job) for job in found[:limit]]


def _reset(context: Context, id: str, status: str) -> JobState:
    now = context.clock()

    def work(tx: Tx) -> sql.Job:
        job = _existing(tx, id)
        if not job.run_after:
            raise InvalidInput(
                "this job is not queued: it starts automatically",
                where=id,
                hint="only jobs with a status of their own are retried and cancelled",
            )
        sql.reset_job(tx, job, status, now)
        return _existing(tx, id)

    return _state(context.project_space.write(work))


def _existing(tx: Tx, id: str) -> sql.Job:
    job = sql.find_job(tx, id)
    if job is None:
        raise NotFound("there is no such job", where=id, hint="`recollect jobs list` shows them")
    return job


def _state(job: sql.Job) -> JobState:
    known = {**job._asdict(), "tries": job.failures}
    return JobState(**{name: known[name] for name in JobState._fields})


# ---------------------------------------------------------------- workers


class Watch:
    """Tells a worker when to stop: its parent process has exited, or its lease was lost.

    A parent that exited before the work began is ignored: the work ends when the queue is empty.
    """

    def __init__(self, parent: int = 0) -> None:
        self._parent = parent if parent > 1 and _is_alive(parent) else 0
        self.lost = threading.Event()

    def should_stop(self) -> bool:
        """Check whether to stop before the next job."""
        return self.lost.is_set() or bool(self._parent and not _is_alive(self._parent))


class Heartbeat:
    """Renews leases in a background thread while work is going on.

    When `renew` raises because a lease was lost, the watch is set and the thread ends.
    """

    def __init__(self, renew: Callable[[], None], watch: Watch, every: float) -> None:
        self._renew = renew
        self._watch = watch
        self._every = every
        self._done = threading.Event()
        self._thread = threading.Thread(target=self._beat, daemon=True)

    def __enter__(self) -> Heartbeat:
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._done.set()
        self._thread.join()

    def _beat(self) -> None:
        try:
            while not self._done.wait(self._every):
                self._renew()
        except Exception:
            self._watch.lost.set()
            raise


def _is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it runs, as another user
    return True
