"""Decide when consolidation runs by itself, and run it when work is over.

Episodes are built from conversations that ended or were silent for an hour. Then consolidation
runs, if it is due or a task was just completed: in the background or at the end of a task, never in
a hook. If another process is running it, this one does nothing. After a failure it is retried with
growing delays.
"""

from __future__ import annotations

from typing import NamedTuple

from ..archive.steps_sessions import IDLE_AFTER
from ..episodes import steps as episodes_steps
from ..errors import RecollectError
from ..jobs import sql as jobs_sql
from ..storage.database import Database, Tx
from ..types import records
from ..types.json_records import write_time
from . import steps, steps_input, steps_observed
from .steps import UNDONE
from .steps_input import JOB

HOUR = 3_600_000_000
WEEK = 7 * 24 * HOUR
MOST_TRIES = 6
"""Failures in a row after which it runs unasked only when there is something new."""


class Settled(NamedTuple):
    """The result of `settle`; `note` says why nothing was consolidated."""

    built: episodes_steps.BuiltEpisodes = episodes_steps.BuiltEpisodes(0, 0, 0, 0)
    lessons: tuple[steps.DiffLine, ...] = ()
    note: str = ""


def settle(
    space: Database,
    needs: steps.Dependencies,
    learn: episodes_steps.Learn,
    task_done: bool = False,
) -> Settled:
    """Build the episodes of ended conversations, and consolidate weekly; after a task, build all
    episodes and consolidate at once."""
    if not space.present():
        return Settled()
    quiet_since = 0 if task_done else needs.clock() - IDLE_AFTER
    built = episodes_steps.build(space, "", needs.clock, quiet_since, learn)
    if built.sessions:
        space.write(lambda tx: steps_observed.propose_workflows(tx, needs.clock(), needs.new_id))
    # After an undo, the next run waits until it is due.
    weekly = not task_done or space.read(was_undone)
    if why := space.read(lambda tx: why_waiting(tx, needs.clock())):
        return Settled(built, note=why)
    try:
        done = (run_if_due if weekly else steps.run)(space, needs)
    except RecollectError as error:
        # Another process consolidates, or changed a memory meanwhile: the next run makes up for it.
        # A failure is stored with the job; the built episodes stay.
        return Settled(built, note=error.message)
    return Settled(built, done.lines, done.note)


def describe_lessons(settled: Settled) -> tuple[str, ...]:
    """Return the lessons of a run as lines; aged episodes are not among them."""
    return tuple(
        f"{one.sign} {one.text}" for one in settled.lessons if not one.what.startswith("e-")
    )


# ---------------------------------------------------------------- when it runs


def run_if_due(space: Database, needs: steps.Dependencies) -> steps.Consolidated:
    """Consolidate if it is due; else return a result with the reason as its note."""
    now = needs.clock()
    why = space.read(lambda tx: why_not_due(tx, now) or why_waiting(tx, now))
    return steps.Consolidated(False, 0, note=why) if why else steps.run(space, needs)


def why_not_due(tx: Tx, now: int) -> str:
    """Return why no run is due: the last one was less than a week ago and left nothing over."""
    job = jobs_sql.get_job(tx, JOB)
    if job is None or now - job.updated >= WEEK:
        return ""
    left_over = job.status != UNDONE and job.progress.get("more")
    return "" if left_over else "not due yet: it runs once a week"


def why_waiting(tx: Tx, now: int) -> str:
    """Return why no automatic retry is due: the delay after a failure has not passed, or it failed
    too often and nothing is new."""
    job = jobs_sql.get_job(tx, JOB)
    if job is None or not job.failures or job.lease_until > now:
        return ""
    again = job.tried + min(HOUR << min(job.failures - 1, 16), WEEK)
    times = "once" if job.failures == 1 else f"{job.failures} times in a row"
    if now < again:
        return f"it failed {times}: the next try is after {write_time(again)[:16]}Z"
    if job.failures >= MOST_TRIES and not steps_input.has_new_records(tx, job.tried):
        return f"it failed {times}: it is tried again when there is something new"
    return ""


def describe_last_run(tx: Tx, now: int) -> str:
    """Return a line about the last run; empty before the first."""
    job = jobs_sql.get_job(tx, JOB)
    if job is None:
        return ""
    if job.status == "running" and job.lease_until > now:
        return f"running since {write_time(job.tried)[:16]}Z"
    if not job.failures:
        done = UNDONE if job.status == UNDONE else "done"
        more = "; more is waiting" if job.progress.get("more") else ""
        return f"{done} on {write_time(job.updated)[:10]}{more}" if job.updated else ""
    why = job.error or "it did not end"
    retry = why_waiting(tx, now) or "it is tried again when a session ends"
    return f"failed on {write_time(job.tried)[:10]}: {why}; {retry}"


def check_schedule(tx: Tx, now: int) -> records.Check:
    """Check whether consolidation works; the text says when it failed last."""
    line = describe_last_run(tx, now)
    return records.Check("consolidation", not line.startswith("failed"), line or "not run yet")


def was_undone(tx: Tx) -> bool:
    """Check whether the last consolidation was undone, and none ran since."""
    job = jobs_sql.get_job(tx, JOB)
    return job is not None and job.status == UNDONE
