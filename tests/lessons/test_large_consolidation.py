"""Consolidation of a large store, and one that fails: bounded, reported, and not tried for ever."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import pytest

import recollect
from recollect.agents.operations import catch_up
from recollect.context import new_id
from recollect.index import sql as index_sql
from recollect.jobs import sql as jobs_sql
from recollect.lessons import steps as lessons_steps
from recollect.lessons import steps_input as lessons_steps_input
from recollect.lessons import steps_schedule as lessons_steps_schedule
from recollect.memory import sql as memory_sql
from recollect.memory import steps as memory_steps
from recollect.memory import steps_revisions as memory_steps_revisions
from recollect.memory.lifecycle import DAY
from recollect.secrets.redaction import redact
from recollect.storage.database import Tx
from recollect.text.messages import text_digest
from recollect.types.records import SafeText
from tests.conftest import START, Clock
from tests.lessons.test_consolidation import LOGIN, told, work_on_login
from tests.lessons.test_finished_work import ask

Mem = recollect.Recollect
HOUR = 3_600_000_000


def fill(mem: Mem, texts: Sequence[str], at: int, found: bool = True) -> None:
    """Write memories in bulk, each as it would be learned at a time; they can be `found`."""
    model = memory_steps.prepare(memory_steps.Draft("a model for all"), "user", at, "m-model").row

    def work(tx: Tx) -> None:
        rows = [
            model._replace(id=id, root=id, text=SafeText(text), digest=text_digest(text))
            for text, id in ((text, new_id("m")) for text in texts)
        ]
        for row in rows:
            assert memory_sql.insert(tx, row)
        if found:
            made = [(memory_sql.load_memory(row), row.text) for row in rows]
            index_sql.insert_entries(
                tx, [(memory_steps_revisions.make_entry(one), (text,)) for one, text in made]
            )

    mem.context.project_space.write(work)


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_tens_of_thousands_of_faded_memories_are_hidden_bit_by_bit(mem: Mem) -> None:
    texts = [f"warehouse {number} is cold" for number in range(33_500)]
    fill(mem, texts, START - 400 * DAY, found=False)
    done = mem.lessons.consolidate()
    assert len(done.lines) == lessons_steps_input.MOST
    assert {line.sign for line in done.lines} == {"-"}
    assert "run it again" in done.note
    assert mem.store.stats().by_status == {
        "active": 33_500 - lessons_steps_input.MOST,
        "hidden": lessons_steps_input.MOST,
    }
    assert not mem.context.project_space.read(
        lambda tx: lessons_steps_schedule.why_not_due(tx, START + DAY)
    )


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_what_is_new_is_compared_with_all_that_is_there(
    mem: Mem, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lessons_steps_input, "MOST", 50)
    text = "the integration tests of the billing service need a redis server on the local machine"
    fill(mem, [f"shelf {number} of the warehouse is cold" for number in range(120)], START - DAY)
    fill(mem, [text], START - 2 * DAY)
    runs = 1
    while mem.lessons.consolidate().note:
        runs += 1
    assert runs == 3
    mem.learn(f"Note: {text}")
    loaded = mem.context.project_space.read(lambda tx: lessons_steps_input.load(tx, clock()))
    assert len(loaded.memories) < 20
    (kept, gone) = mem.lessons.consolidate().lines
    assert (kept.sign, gone.sign) == ("~", "-")


def test_an_episode_is_read_with_those_that_are_like_it_and_no_others(
    mem: Mem, clock: Clock
) -> None:
    for number in range(40):
        mem.episodes.record(
            episode=told(f"Paint shelf {number} of the blue warehouse", 100 + number)
        )
    work_on_login(mem)
    assert mem.lessons.consolidate().episodes == 45
    clock.advance(hours=1)
    mem.lessons.consolidate()  # what was written in the last minutes before a run is looked at twice
    mem.episodes.record(episode=told("Add a captcha to the customers' login form", 9))
    loaded = mem.context.project_space.read(lambda tx: lessons_steps_input.load(tx, clock()))
    assert len(loaded.new) == 1
    assert set(LOGIN) < {episode.goal for episode in loaded.episodes}
    assert len(loaded.episodes) <= 1 + lessons_steps_input.NEAR
    assert mem.lessons.consolidate().episodes == 1


def test_a_slip_that_an_older_episode_made_too_is_a_lesson(mem: Mem, clock: Clock) -> None:
    slip = {"type": "edit mismatch", "message": "string to replace was not found in the parser",
            "resolution": "read the file first"}  # fmt: skip
    mem.episodes.record(episode=told("Paint the warehouse blue", 1, errors_encountered=[slip]))
    mem.lessons.consolidate()
    clock.advance(hours=1)
    mem.episodes.record(episode=told("Speed up the export", 2, errors_encountered=[slip]))
    mem.lessons.consolidate()
    assert len(mem.list(kind="pitfall")) == 1


# ---------------------------------------------------------------- failing


def break_it(mem: Mem, broken: bool = True) -> None:
    """Take away a table that every consolidation reads, or put it back."""
    names = ("links", "links_gone") if broken else ("links_gone", "links")
    schema = "recollect." if mem.context.settings.database else ""
    statement = f"ALTER TABLE {schema}{names[0]} RENAME TO {names[1]}"
    mem.context.project_space.write(lambda tx: tx.run(statement))


def job_of(mem: Mem) -> jobs_sql.Job:
    found = mem.context.project_space.read(lambda tx: jobs_sql.get_job(tx, lessons_steps_input.JOB))
    assert found is not None
    return found


def checked(mem: Mem) -> Any:
    (check,) = [one for one in mem.store.doctor().checks if one.name == "consolidation"]
    return check


def settle(mem: Mem) -> int:
    """Let a session end; gives how often consolidation was tried so far."""
    ask(mem, "s-1", ended=True)
    catch_up(mem.context)
    return job_of(mem).attempt


def test_a_failure_changes_nothing_and_is_reported(mem: Mem) -> None:
    assert checked(mem).ok
    work_on_login(mem)
    break_it(mem)
    with pytest.raises(recollect.RecollectError, match="links"):
        mem.lessons.consolidate()
    assert mem.list() == ()
    assert job_of(mem).status == "failed"
    check = checked(mem)
    assert not check.ok
    assert "links" in check.detail
    assert "2026-09-21" in check.detail
    assert "links" in mem.store.stats().consolidation
    break_it(mem, broken=False)
    assert mem.lessons.consolidate().applied
    assert checked(mem).ok
    assert mem.store.stats().consolidation.startswith("done on 2026-09-21")


def test_what_fails_is_tried_again_later_and_later_and_then_not_at_all(
    mem: Mem, clock: Clock
) -> None:
    work_on_login(mem)
    break_it(mem)
    tries, waited = settle(mem), []
    assert tries == 1
    for _ in range(36):
        clock.advance(hours=1)
        found = settle(mem)
        if found > tries:
            tries = found
            waited.append(clock.now)
    assert tries == lessons_steps_schedule.MOST_TRIES
    gaps = [later - earlier for earlier, later in pairwise(waited)]
    assert gaps == sorted(gaps)
    assert gaps[-1] > gaps[0]
    clock.advance(days=10)
    assert settle(mem) == tries
    assert "something new" in checked(mem).detail
    mem.episodes.record(episode=told("Add a captcha to the login form", 9))
    assert settle(mem) == tries + 1
    assert settle(mem) == tries + 1
    break_it(mem, broken=False)
    clock.advance(days=8)
    mem.episodes.record(episode=told("Add another captcha to the login form", 10))
    assert settle(mem) == tries + 2
    assert job_of(mem).status == "done"
    assert mem.list(kind="pitfall")


def test_a_task_is_completed_though_consolidation_fails_and_that_is_not_forced_again(
    mem: Mem,
) -> None:
    work_on_login(mem)
    break_it(mem)
    for number in range(3):
        mem.tasks.start(f"Fix the login {number}")
        assert mem.tasks.complete(f"fix-the-login-{number}").lessons == ()
    assert job_of(mem).attempt == 1


def test_a_runner_that_was_killed_counts_as_a_failure(mem: Mem, clock: Clock) -> None:
    work_on_login(mem)
    space = mem.context.project_space
    space.write(
        lambda tx: jobs_sql.acquire_lease(
            tx, lessons_steps_input.JOB, "killed", clock(), lessons_steps.LEASE
        )
    )
    clock.advance(seconds=181)
    assert settle(mem) == 1
    assert "did not end" in checked(mem).detail
    clock.advance(hours=1)
    assert settle(mem) == 2
    assert checked(mem).ok


def test_a_conflict_is_no_failure(mem: Mem, clock: Clock) -> None:
    work_on_login(mem)
    space = mem.context.project_space
    job = space.write(
        lambda tx: jobs_sql.acquire_lease(
            tx, lessons_steps_input.JOB, "me", clock(), lessons_steps.LEASE
        )
    )
    assert job is not None
    with pytest.raises(recollect.Conflict):
        mem.lessons.consolidate()
    space.write(lambda tx: jobs_sql.fail_job(tx, job, redact("a memory was changed"), counts=False))
    assert checked(mem).ok
    assert settle(mem) == 2
    assert job_of(mem).status == "done"
