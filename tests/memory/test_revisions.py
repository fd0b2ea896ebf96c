"""A memory keeps its id: what changes it makes a revision, and what was printed can be typed."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

import recollect
from recollect.interfaces.screens import memories
from recollect.memory import sql as memory_sql
from recollect.memory import steps_lifecycle as memory_steps_lifecycle
from recollect.memory import steps_revisions as memory_steps_revisions
from recollect.text.display import format_time
from tests.builders.records import shown_memory
from tests.conftest import Clock

Mem = recollect.Recollect


def texts(found: object) -> list[str]:
    return [item.text for item in found]  # type: ignore[attr-defined]


def test_the_id_stays_through_every_change(mem: Mem) -> None:
    id = mem.learn("Redis listens on port 6380", kind="reference").id
    changed = [
        mem.memories.correct(id, "Redis listens on port 6390"),
        mem.memories.scope(id, ["src/**"]),
        mem.memories.undo(id),
    ]
    assert {memory.id for memory in changed} == {id}
    assert [(memory.revision, memory.change) for memory in changed] == [
        (2, "correct"), (3, "scope"), (4, "undo"),
    ]  # fmt: skip
    assert [memory.id for memory in mem.list()] == [id]
    assert mem.memories.hide(id).id == mem.memories.restore(id).id == mem.memories.reinforce(id).id


def test_a_confirmation_is_a_revision_of_the_same_memory(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="agent") as memory:
        id = memory.learn("never push to main", kind="policy").id
    with recollect.open(project, environment=environment, origin="user") as memory:
        confirmed = memory.memories.confirm(id)
        assert (confirmed.id, confirmed.revision, confirmed.change) == (id, 2, "confirm")
        first, second = memory.memories.history(id)
        assert (first.status, first.label) == ("proposed", "agent")
        assert (second.status, second.label) == ("active", "user")
        assert memory.memories.undo(id).status == "proposed"


def test_the_same_said_by_a_more_trusted_writer_confirms_the_memory(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="agent") as memory:
        id = memory.learn("never push to main", kind="policy").id
    with recollect.open(project, environment=environment, origin="user") as memory:
        again = memory.learn("never push to main", kind="policy")
        assert (again.id, again.memory.revision, again.memory.change) == (id, 2, "confirm")
        assert (again.memory.label, again.memory.reinforcement) == ("user", 2)


def test_another_statement_is_another_memory_that_follows_on(mem: Mem) -> None:
    old = mem.learn("The project runs on PostgreSQL 14")
    new = mem.learn("The project runs on PostgreSQL 16")
    assert new.id != old.id
    assert mem.memories.correct(new.id, "The project runs on PostgreSQL 17").id == new.id
    assert [(one.id, one.revision) for one in mem.memories.history(old.id)] == [
        (old.id, 1), (new.id, 2), (new.id, 3),
    ]  # fmt: skip
    assert mem.memories.confirm(old.id).id == new.id
    assert shown_memory(mem, old.id).text == "The project runs on PostgreSQL 14"


def test_show_gives_the_current_revision_or_the_one_that_is_named(mem: Mem) -> None:
    id = mem.learn("Redis listens on port 6380").id
    mem.memories.correct(id, "Redis listens on port 6390")
    assert shown_memory(mem, id).text == "Redis listens on port 6390"
    for name in (f"{id}@1", f"memory://{id}@1", f"{id[:9]}@1"):
        shown = mem.show(name)
        assert shown.memory and (shown.memory.id, shown.memory.text) == (
            id,
            "Redis listens on port 6380",
        )
    assert texts(mem.show(id).versions) == [
        "Redis listens on port 6380", "Redis listens on port 6390",
    ]  # fmt: skip
    with pytest.raises(recollect.NotFound, match="at revision 2"):
        mem.show(f"{id}@3")
    for wrong in (f"{id}@", f"{id}@0", f"{id}@x", "notes@1"):
        with pytest.raises(recollect.InvalidInput, match="revision"):
            mem.show(wrong)


def test_the_history_lists_each_revision_with_what_made_it(mem: Mem) -> None:
    id = mem.learn("Redis listens on port 6380").id
    mem.memories.correct(id, "Redis listens on port 6390")
    first, second = mem.memories.history(id)
    assert first.valid_to == second.valid_from
    screen = memories.SCREENS["history"]((first, second))
    assert screen.splitlines()[0].split() == ["ID", "REVISION", "BY", "FROM", "TO", "TEXT"]
    assert "correct" in screen.splitlines()[-1]


def test_the_index_finds_the_new_text_and_the_old_one_only_when_asked(mem: Mem) -> None:
    id = mem.learn("The gearbox needs oil", tags=["car"]).id
    mem.memories.correct(id, "The engine needs coolant")
    for _ in ("as it was written", "after a rebuild"):
        assert not mem.recall("gearbox oil")
        assert [hit.id for hit in mem.recall("engine coolant")] == [id]
        (hit,) = mem.recall("gearbox oil", status=["superseded"])
        assert (hit.id, hit.outdated_by) == (f"{id}@1", f"memory://{id}")
        assert shown_memory(mem, hit.address).text == "The gearbox needs oil"
        mem.store.rebuild()
    mem.memories.hide(id)
    assert not mem.recall("gearbox oil"), "hiding leaves earlier revisions as they are"
    assert mem.store.stats().memories == 1


def test_as_of_answers_from_the_revision_that_was_believed(mem: Mem, clock: Clock) -> None:
    id = mem.learn("Redis listens on port 6380").id
    first = format_time(clock.now + 1)
    clock.advance(days=10)
    mem.memories.correct(id, "Redis listens on port 6390")
    second = format_time(clock.now + 1)
    clock.advance(days=10)
    mem.memories.correct(id, "Redis listens on port 7000")
    for at, text in ((first, "port 6380"), (second, "port 6390"), ("", "port 7000")):
        assert [text in one for one in texts(mem.recall("redis port", as_of=at))] == [True]
        assert [text in one for one in texts(mem.list(as_of=at))] == [True]


def test_links_evidence_and_verdicts_stay_with_the_memory(mem: Mem) -> None:
    id = mem.learn("Redis listens on port 6380").id
    other = mem.learn("The cache is warm after a minute").id
    mem.links.add(id, "related_to", other)
    mem.memories.feedback(id, "helped")
    new = mem.memories.correct(id, "Redis listens on port 6390")
    assert new.successes == 1
    assert [one.id for one in mem.links.list(id).reached] == [other]


def test_a_changed_text_ends_what_the_old_one_contradicted(mem: Mem) -> None:
    always = mem.learn("always use tabs", kind="policy").id
    never = mem.learn("never use tabs", kind="policy").id
    mem.memories.correct(never, "never use carriage returns")
    (hit,) = [hit for hit in mem.recall("use tabs") if hit.id == always]
    assert "contradicts" not in hit.why
    mem.memories.undo(never)
    (hit,) = [hit for hit in mem.recall("use tabs") if hit.id == always]
    assert f"contradicts {never}" in hit.why


def test_an_undo_goes_back_one_revision_and_a_second_one_brings_it_back(mem: Mem) -> None:
    learned = mem.learn("Redis listens on port 6380", scope=["src/**"])
    with pytest.raises(recollect.NotFound, match="nothing was changed"):
        mem.memories.undo(learned.id)
    mem.memories.correct(learned.id, "Redis listens on port 6390")
    back = mem.memories.undo(learned.id)
    assert (back.text, back.scope, back.revision) == (learned.memory.text, ("src/**",), 3)
    assert texts(mem.recall("redis port")) == [learned.memory.text]
    assert mem.memories.undo(learned.id).text == "Redis listens on port 6390"


def test_an_agent_cannot_undo_or_scope_what_the_user_stated(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="user") as memory:
        id = memory.learn("Redis listens on port 6380").id
        memory.memories.correct(id, "Redis listens on port 6390")
    with recollect.open(project, environment=environment, origin="agent") as memory:
        with pytest.raises(recollect.Refused, match="cannot change"):
            memory.memories.undo(id)
        with pytest.raises(recollect.Refused, match="cannot change"):
            memory.memories.scope(id, ["src/**"])


def test_a_named_revision_is_changed_only_while_it_is_the_current_one(mem: Mem) -> None:
    id = mem.learn("Redis listens on port 6380").id
    assert mem.memories.correct(f"{id}@1", "Redis listens on port 6390").revision == 2
    with pytest.raises(recollect.Conflict, match="at revision 2 by now, not 1"):
        mem.memories.correct(f"{id}@1", "Redis listens on port 7000")
    assert texts(mem.list()) == ["Redis listens on port 6390"]


def test_a_text_that_another_memory_has_is_refused(mem: Mem) -> None:
    id = mem.learn("The logo is blue").id
    other = mem.learn("The door is green").id
    with pytest.raises(recollect.InvalidInput, match="exactly this text"):
        mem.memories.correct(id, "The door is green")
    assert [one.revision for one in (shown_memory(mem, id), shown_memory(mem, other))] == [1, 1]


def test_writers_at_once_lose_no_revision(project: Path, environment: dict[str, str]) -> None:
    with recollect.open(project, environment=environment, origin="user") as memory:
        id = memory.learn("The counter is at zero").id
    start = threading.Barrier(4)
    done: list[int] = []

    def correct(number: int) -> None:
        with recollect.open(project, environment=environment, origin="user") as memory:
            start.wait()
            for step in range(5):
                memory.memories.correct(id, f"Writer {number} was at step {step}")
        done.append(number)

    threads = [threading.Thread(target=correct, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert sorted(done) == [0, 1, 2, 3]
    with recollect.open(project, environment=environment, origin="user") as memory:
        history = memory.memories.history(id)
        assert [one.revision for one in history] == list(range(1, 22))
        assert {one.id for one in history} == {id}
        assert len(set(texts(history))) == 21


def test_the_number_of_the_revision_is_a_fence(mem: Mem) -> None:
    learned = mem.learn("Redis listens on port 6380")
    mem.memories.correct(learned.id, "Redis listens on port 6390")
    space = mem.context.project_space
    row = memory_steps_revisions.make_row(learned.memory)
    assert not space.write(lambda tx: memory_sql.revise(tx, row._replace(revision=2), 1))
    with pytest.raises(recollect.Conflict, match="at revision 2 by now"):
        space.write(lambda tx: memory_steps_revisions.revise(tx, learned.memory, row, "correct", 1))
    earlier = space.read(lambda tx: memory_sql.get_revision(tx, learned.id, 1))
    assert earlier is not None
    with pytest.raises(recollect.Conflict):
        mem.memories.scope(learned.id, ["src/**"])
        space.write(lambda tx: memory_steps_lifecycle.undo_change(tx, earlier, "user", 1))
    assert [one.revision for one in mem.memories.history(learned.id)] == [1, 2, 3]
