"""The queue of jobs: each job is done once, by one runner, and nothing is forgotten."""

from __future__ import annotations

from collections import Counter
from functools import partial
from pathlib import Path

import pytest

import recollect
from recollect.errors import Conflict, InvalidInput, NotFound
from recollect.jobs import sql
from recollect.secrets import redaction
from recollect.storage.database import Database
from tests.conftest import Clock
from tests.jobs.storm import Storm, unleash

Mem = recollect.Recollect
LEASE = 120_000_000
KIND = "extract"
WHY = redaction.redact("the model cannot be reached")


@pytest.fixture
def space(mem: Mem) -> Database:
    return mem.context.project_space


def queue(space: Database, clock: Clock, subject: str = "s-1", watermark: int = 10) -> bool:
    return space.write(lambda tx: sql.enqueue_job(tx, KIND, subject, watermark, clock()))


def claim(space: Database, clock: Clock, owner: str = "w-1") -> sql.Job | None:
    return space.write(lambda tx: sql.claim_job(tx, (KIND,), owner, clock(), LEASE))


def claimed(space: Database, clock: Clock, owner: str = "w-1") -> sql.Job:
    job = claim(space, clock, owner)
    assert job is not None
    return job


def held(space: Database, subject: str = "s-1") -> sql.Job:
    job = space.read(lambda tx: sql.get_job(tx, KIND, subject))
    assert job is not None
    return job


def test_a_job_is_claimed_by_one_runner_and_done_up_to_its_watermark(
    space: Database, clock: Clock
) -> None:
    assert queue(space, clock)
    job = claimed(space, clock)
    assert claim(space, clock, "w-2") is None
    space.write(lambda tx: sql.complete_job(tx, job, clock()))
    done = held(space)
    assert (done.status, done.success_watermark, done.failures, done.owner) == ("done", 10, 0, "")
    assert claim(space, clock, "w-2") is None


def test_the_same_watermark_again_queues_nothing_and_a_higher_one_does(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    job = claimed(space, clock)
    space.write(lambda tx: sql.complete_job(tx, job, clock()))
    assert not queue(space, clock)
    assert claim(space, clock) is None
    assert queue(space, clock, watermark=11)
    assert claimed(space, clock).input_watermark == 11


def test_a_job_whose_input_grew_while_it_ran_is_pending_again(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    job = claimed(space, clock)
    assert not queue(space, clock, watermark=12)
    space.write(lambda tx: sql.complete_job(tx, job, clock()))
    again = claimed(space, clock)
    assert (again.input_watermark, again.success_watermark) == (12, 10)


def test_a_killed_runners_job_is_taken_over_after_its_lease_and_it_can_write_nothing(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    lost = claimed(space, clock)
    clock.advance(seconds=119)
    assert claim(space, clock, "w-2") is None
    clock.advance(seconds=2)
    taken = claimed(space, clock, "w-2")
    assert taken.attempt == lost.attempt + 1
    for effect in (
        lambda tx: sql.hold_lease(tx, lost),
        lambda tx: sql.renew_lease(tx, lost, clock() + LEASE),
        lambda tx: sql.save_progress(tx, lost, {"chunk": 1}),
        lambda tx: sql.complete_job(tx, lost, clock()),
        lambda tx: sql.retry_later(tx, lost, WHY, clock()),
    ):
        with pytest.raises(Conflict):
            space.write(effect)
    assert held(space).owner == "w-2"


def test_a_runner_of_the_same_name_is_fenced_by_its_attempt(space: Database, clock: Clock) -> None:
    queue(space, clock)
    lost = claimed(space, clock, "w-1")
    clock.advance(seconds=121)
    claimed(space, clock, "w-1")
    with pytest.raises(Conflict):
        space.write(lambda tx: sql.complete_job(tx, lost, clock()))


def test_a_heartbeat_keeps_the_lease(space: Database, clock: Clock) -> None:
    queue(space, clock)
    job = claimed(space, clock)
    for _ in range(5):
        clock.advance(seconds=100)
        space.write(lambda tx: sql.renew_lease(tx, job, clock() + LEASE))
    assert claim(space, clock, "w-2") is None
    space.write(lambda tx: sql.complete_job(tx, job, clock()))


def test_a_failed_job_waits_for_its_delay_and_is_a_dead_letter_after_three_tries(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    for number in range(3):
        job = claimed(space, clock)
        assert job.failures == number + 1
        status = space.write(
            partial(sql.retry_later, job=job, error=WHY, run_after=clock() + 60_000_000)
        )
        assert status == ("error" if number == 2 else "pending")
        assert claim(space, clock) is None
        clock.advance(seconds=61)
    assert claim(space, clock) is None
    assert (held(space).status, held(space).error) == ("error", WHY)


def test_a_job_whose_runner_is_killed_three_times_is_a_dead_letter(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    for _ in range(3):
        claimed(space, clock)
        clock.advance(seconds=121)
    assert claim(space, clock) is None
    assert (held(space).status, held(space).error) == ("error", "its runner was lost 3 times")


def test_progress_survives_a_failed_try_and_ends_with_success(
    space: Database, clock: Clock
) -> None:
    queue(space, clock)
    job = claimed(space, clock)
    space.write(lambda tx: sql.save_progress(tx, job, {"chunk": 2}))
    space.write(lambda tx: sql.retry_later(tx, job, WHY, clock()))
    again = claimed(space, clock)
    assert again.progress == {"chunk": 2}
    space.write(lambda tx: sql.complete_job(tx, again, clock()))
    assert held(space).progress == {}


def test_an_effect_that_fails_leaves_the_job_leased(space: Database, clock: Clock) -> None:
    queue(space, clock)
    job = claimed(space, clock)

    def work(tx: object) -> None:
        sql.complete_job(tx, job, clock())  # type: ignore[arg-type]
        raise NotFound("nothing of this is kept")

    with pytest.raises(NotFound):
        space.write(work)
    assert held(space).status == "running"


def test_a_person_lists_shows_retries_and_cancels_jobs(mem: Mem, clock: Clock) -> None:
    space = mem.context.project_space
    queue(space, clock)
    job = claimed(space, clock)
    mem.jobs.cancel("j-extract-s-1")
    with pytest.raises(Conflict):
        space.write(lambda tx: sql.complete_job(tx, job, clock()))
    assert [one.status for one in mem.jobs.list()] == ["cancelled"]
    assert claim(space, clock) is None
    assert mem.jobs.retry("j-extract-s-1").status == "pending"
    assert claimed(space, clock).failures == 1
    assert mem.jobs.show("j-extract-s-1").status == "running"
    assert mem.jobs.list(status="error") == ()
    with pytest.raises(NotFound):
        mem.jobs.show("j-nothing")
    with pytest.raises(InvalidInput):
        mem.jobs.list(status="lost")


def test_a_lease_that_is_not_queued_is_neither_retried_nor_cancelled(
    mem: Mem, clock: Clock
) -> None:
    mem.context.project_space.write(
        lambda tx: sql.acquire_lease(tx, "consolidate", "r-1", clock(), LEASE)
    )
    with pytest.raises(InvalidInput):
        mem.jobs.cancel("j-consolidate")


def test_workers_that_are_killed_and_stopped_give_each_job_one_effect(
    project: Path, environment: dict[str, str]
) -> None:
    """The whole storm is `python -m tests.jobs.storm`."""
    outcome = unleash(project, environment, Storm(jobs=40, workers=3, kills=4, stops=2))
    assert outcome.effects == Counter(f"{number:05}" for number in range(40))
    assert outcome.statuses == {"done": 40}
    assert (outcome.kills, outcome.stops) == (4, 2)
