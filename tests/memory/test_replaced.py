"""A statement that took the place of another one is taken back: the other one is in use again."""

from __future__ import annotations

import pytest

import recollect
from recollect.memory import steps, steps_learn
from tests.conftest import Clock

OLD, NEW = "We use PostgreSQL 14 in production", "We use PostgreSQL 16 in production"


def _learn_both(mem: recollect.Recollect, clock: Clock, kind: str = "fact") -> tuple[str, str]:
    old = mem.learn(OLD, kind=kind)
    clock.advance(days=1)
    new = mem.learn(NEW, kind=kind)
    clock.advance(days=1)
    assert new.action == "revised"
    return old.id, new.id


def _used(mem: recollect.Recollect) -> list[str]:
    return [one.id for one in mem.list() if one.status == "active"]


@pytest.mark.parametrize("kind", ["fact", "policy"])
@pytest.mark.parametrize("named", ["", "new", "old"])
def test_undoing_a_replacement_brings_back_what_it_replaced(
    mem: recollect.Recollect, clock: Clock, kind: str, named: str
) -> None:
    old, new = _learn_both(mem, clock, kind)
    target = {"": "", "new": new, "old": old}[named]
    assert mem.store.undo(target, print=True).text == f"{NEW} (in place of: {OLD})"
    assert _used(mem) == [new]
    undone = mem.store.undo(target)
    assert (undone.what, undone.redo) == (f"saved {kind}", f"recollect restore {new}")
    assert _used(mem) == [old]
    assert [(hit.id, hit.status) for hit in mem.recall("PostgreSQL production")] == [
        (old, "active")
    ]
    assert not mem.links.list(old).reached
    assert [one.id for one in mem.list(as_of="1h")] == [old]
    assert mem.verify(archive=True)


def test_an_undone_replacement_can_be_restored_and_undone_again(
    mem: recollect.Recollect, clock: Clock
) -> None:
    old, new = _learn_both(mem, clock)
    mem.store.undo()
    assert mem.memories.restore(new).id == new
    assert _used(mem) == [new]
    assert [one.id for one in mem.links.list(new).reached] == [old]
    assert [one.id for one in mem.list(as_of="36h")] == [old]
    clock.advance(days=1)
    assert mem.store.undo().what == f"restored {new}"
    assert _used(mem) == [old]
    assert mem.store.undo().text == OLD
    assert not _used(mem)


@pytest.mark.parametrize("hidden", [False, True])
def test_restoring_a_superseded_memory_puts_it_in_place_of_the_new_one(
    mem: recollect.Recollect, clock: Clock, hidden: bool
) -> None:
    old, new = _learn_both(mem, clock)
    if hidden:
        mem.memories.hide(new)
        clock.advance(days=1)
    restored = mem.memories.restore(old)
    assert isinstance(restored, recollect.Memory)
    assert (restored.id, restored.status, restored.text) == (old, "active", OLD)
    assert _used(mem) == [old]
    clock.advance(days=1)
    assert mem.store.undo().what == f"restored {old}"
    assert _used(mem) == [new]


def test_the_memory_that_is_back_can_be_changed_and_replaced_again(
    mem: recollect.Recollect, clock: Clock
) -> None:
    old, _ = _learn_both(mem, clock)
    mem.store.undo()
    again = mem.learn(NEW)
    assert again.action == "revised"
    clock.advance(days=1)
    mem.store.undo()
    assert _used(mem) == [old]
    assert mem.memories.correct(old, "We use MariaDB in production").id == old
    assert [one.text for one in mem.list()] == ["We use MariaDB in production"]


def test_a_memory_is_not_brought_back_beside_one_with_its_text(
    mem: recollect.Recollect, clock: Clock
) -> None:
    old, new = _learn_both(mem, clock)
    mem.learn_many([{"text": OLD}])
    with pytest.raises(recollect.InvalidInput, match="exactly this text"):
        mem.memories.restore(old)
    assert new in _used(mem)


def test_an_agent_does_not_take_back_what_the_user_replaced(
    mem: recollect.Recollect, clock: Clock
) -> None:
    old, new = _learn_both(mem, clock)
    mem.context.origin = "agent"
    for change in (mem.store.undo, lambda: mem.memories.restore(old)):
        with pytest.raises(recollect.Refused):
            change()
    assert _used(mem) == [new]


def test_superseded_memories_are_listed_by_their_status(
    mem: recollect.Recollect, clock: Clock
) -> None:
    old, new = _learn_both(mem, clock)
    assert [one.id for one in mem.list(status="superseded")] == [old]
    assert [one.id for one in mem.list()] == [new]
    mem.store.undo()
    assert [one.id for one in mem.list(status="superseded")] == [new]


def test_what_says_that_a_value_is_gone_is_linked_and_waits_for_review(
    mem: recollect.Recollect,
) -> None:
    old = mem.learn("We use PostgreSQL 14")
    new = mem.learn("We upgraded production from PostgreSQL 14 to 16")
    assert (new.action, new.contradicts) == ("created", (old.id,))
    assert any(note.startswith(f"likely replaces {old.id}") for note in new.notes)
    assert sorted(_used(mem)) == sorted([old.id, new.id])
    waiting = [item for item in mem.memories.review() if "contradicting" in item.reasons]
    assert {item.id for item in waiting} & {old.id, new.id}


@pytest.mark.parametrize("scope", [[], ["web/**"]])
def test_what_says_that_a_value_is_gone_elsewhere_touches_nothing(
    mem: recollect.Recollect, scope: list[str]
) -> None:
    mem.learn("We use unit tests")
    mem.learn("CI uses Jenkins")
    assert not mem.learn("We moved the tests from unit to integration", scope=scope).contradicts
    moved = mem.learn("We moved CI from Jenkins to GitHub Actions", scope=scope)
    assert len(moved.contradicts) == (0 if scope else 1)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("Never deploy on Fridays", "Never deploy on Sundays"),
        ("Never use port 5000", "Never use port 7000"),
        ("Always test with Python 3.11", "Always test with Python 3.12"),
    ],
)
def test_a_rule_that_may_hold_beside_a_new_one_stays_in_use(
    mem: recollect.Recollect, old: str, new: str
) -> None:
    first = mem.learn(old, kind="policy")
    second = mem.learn(new, kind="policy")
    assert second.action == "created"
    assert sorted(_used(mem)) == sorted([first.id, second.id])
    asked = [item for item in mem.memories.review() if "contradicting" in item.reasons]
    assert bool(asked) == bool(second.contradicts) == (not old.startswith("Never"))


def test_a_fact_is_replaced_by_a_rule_that_names_its_value_as_gone(
    mem: recollect.Recollect,
) -> None:
    old = mem.learn("We use Decimal for money", kind="fact")
    new = mem.learn("use int cents for money, not Decimal", kind="preference")
    assert (new.action, _used(mem)) == ("revised", [new.id])
    assert [one.id for one in mem.list(status="superseded")] == [old.id]


def test_an_agents_proposal_does_not_take_a_waiting_item_of_the_user_away(
    mem: recollect.Recollect,
) -> None:
    draft = steps.Draft(text="The default port is 5000", kind="preference")
    row = steps.prepare(draft, "tool", 1, "m-waits2", propose=True)
    mem.context.project_space.write(lambda tx: steps_learn.learn(tx, row, 1))
    mem.context.origin = "agent"
    proposed = mem.learn("The default port is 7000", kind="preference")
    assert proposed.action == "created"
    assert {one.id for one in mem.list(status="proposed")} == {"m-waits2", proposed.id}
