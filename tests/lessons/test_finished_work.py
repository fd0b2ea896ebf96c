"""What happens by itself when work is over: episodes are read, and consolidation runs weekly."""

from __future__ import annotations

from pathlib import Path

import pytest

import recollect
from recollect.agents import steps_hooks as agents_steps_hooks
from recollect.agents.operations import catch_up
from recollect.agents.steps_hooks import make_requests_folder
from recollect.jobs import sql as jobs_sql
from recollect.lessons import steps as lessons_steps
from recollect.lessons import steps_input as lessons_steps_input
from recollect.types.records import Message
from tests.conftest import Clock
from tests.episodes.test_episodes import say
from tests.lessons.test_consolidation import work_on_login

Mem = recollect.Recollect


def ask(mem: Mem, session: str, ended: bool) -> None:
    """What a hook leaves behind; without a session, a sweep at the start of one."""
    agents_steps_hooks.write_request(
        make_requests_folder(mem.context),
        agents_steps_hooks.Request("claude-code", session, "", ended),
    )


@pytest.fixture
def finished(mem: Mem, clock: Clock) -> Mem:
    """A memory with one conversation that is over and one that goes on."""
    say(mem, "s-over")
    clock.advance(hours=2)
    say(mem, "s-on")
    return mem


def told(mem: Mem) -> set[str]:
    return {item.episode["session"] for item in mem.episodes.list()}


def test_when_a_session_ends_it_becomes_episodes_and_lessons(finished: Mem) -> None:
    ask(finished, "s-on", ended=True)
    assert catch_up(finished.context) == 1
    assert told(finished) == {"s-over", "s-on"}
    (pitfall,) = finished.list(kind="pitfall")
    assert pitfall.label == "tool"


def test_at_the_start_of_a_session_earlier_ones_are_settled_and_the_others_left(
    finished: Mem,
) -> None:
    ask(finished, "", ended=False)
    catch_up(finished.context)
    assert told(finished) == {"s-over"}


def test_a_turn_of_a_session_that_goes_on_settles_nothing(finished: Mem) -> None:
    ask(finished, "s-on", ended=False)
    assert catch_up(finished.context) == 1
    assert told(finished) == set()


def test_it_consolidates_once_a_week(finished: Mem, clock: Clock) -> None:
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    work_on_login(finished)
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    assert len(finished.list(kind="pitfall")) == 1
    clock.advance(days=7)
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    assert len(finished.list(kind="pitfall")) == 2


def test_what_was_undone_is_not_done_again_at_once(finished: Mem, clock: Clock) -> None:
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    finished.lessons.undo()
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    assert finished.list(kind="pitfall") == ()
    finished.tasks.start("Fix the login")
    assert finished.tasks.complete("fix-the-login").lessons == ()
    clock.advance(days=7)
    ask(finished, "s-on", ended=True)
    catch_up(finished.context)
    assert len(finished.list(kind="pitfall")) == 1


def test_a_runner_that_finds_another_at_it_leaves_it_to_them(finished: Mem, clock: Clock) -> None:
    space = finished.context.project_space
    space.write(
        lambda tx: jobs_sql.acquire_lease(
            tx, lessons_steps_input.JOB, "other", clock(), lessons_steps.LEASE
        )
    )
    ask(finished, "s-on", ended=True)
    assert catch_up(finished.context) == 1
    assert told(finished) == {"s-over", "s-on"}
    assert finished.list(kind="pitfall") == ()


def test_a_completed_task_is_learned_from_at_once(mem: Mem) -> None:
    mem.tasks.start("Fix the login")
    say(mem, "s-1")
    say(mem, "s-2")
    mem.lessons.consolidate()
    done = mem.tasks.complete("fix-the-login")
    assert told(mem) == {"s-1", "s-2"}
    assert len(done.lessons) == 2
    assert done.lessons[0].startswith("+ ")


def test_it_can_be_switched_off(project: Path, clock: Clock, environment: dict[str, str]) -> None:
    quiet = {**environment, "RECOLLECT_CONSOLIDATE": "false"}
    with recollect.open(project, clock=clock, environment=quiet) as memory:
        say(memory, "s-1")
        ask(memory, "s-1", ended=True)
        assert catch_up(memory.context) == 1
        assert memory.episodes.list() == ()


def test_a_conversation_that_goes_on_after_its_end_is_read_again(finished: Mem) -> None:
    for words in ("", "No, that is wrong: it still fails"):
        if words:
            finished.record("s-over", Message("user", words))
        ask(finished, "s-over", ended=True)
        finished.sessions.end("s-over")
        catch_up(finished.context)
    (one,) = finished.episodes.list(session="s-over")
    assert one.outcome == "failure"
