"""Memories stay true over time: revised, contradicted, confirmed, corrected, faded, judged."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.memory.lifecycle import compute_strength
from recollect.text.display import format_time
from tests.conftest import Clock

Mem = recollect.Recollect


def texts(found: object) -> list[str]:
    return [item.text for item in found]  # type: ignore[attr-defined]


def test_a_changed_value_is_current_and_the_old_one_is_history(mem: Mem, clock: Clock) -> None:
    old = mem.learn("The project runs on PostgreSQL 14")
    before = clock.now
    clock.advance(days=30)
    new = mem.learn("The project runs on PostgreSQL 16")
    assert (new.action, new.memory.revision, new.memory.root) == ("revised", 2, old.id)
    assert texts(mem.list()) == ["The project runs on PostgreSQL 16"]
    assert texts(mem.recall("postgresql")) == ["The project runs on PostgreSQL 16"]
    assert texts(mem.memories.history(old.id)) == [
        "The project runs on PostgreSQL 14", "The project runs on PostgreSQL 16",
    ]  # fmt: skip
    day = format_time(before + 1)
    assert texts(mem.recall("postgresql", as_of=day)) == ["The project runs on PostgreSQL 14"]
    first, second = mem.memories.history(new.id)
    assert first.valid_to == second.valid_from or first.valid_to <= second.valid_from
    assert first.status == "superseded"


def test_opposites_are_never_merged_and_are_reported(mem: Mem) -> None:
    always = mem.learn("always use tabs", kind="policy")
    never = mem.learn("never use tabs", kind="policy")
    assert never.action == "created"
    assert never.contradicts == (always.id,)
    assert "contradicts" in never.notes[0]
    assert len(mem.list()) == 2


def test_numbered_things_are_not_values(mem: Mem) -> None:
    for number in range(5):
        mem.learn(f"note {number} about the build of the server")
    assert len(mem.list()) == 5


def test_near_duplicates_are_shown_and_the_writer_decides(mem: Mem) -> None:
    text = "the integration tests of the billing service need a running redis on the local machine"
    first = mem.learn(text, examples=["a.py"])
    again = f"please note: {text}"
    created = mem.learn(again)
    assert (created.action, created.similar) == ("created", (first.id,))
    mem.memories.hide(created.id)
    assert mem.learn(f"note: {text}", near="skip").action == "skipped"
    merged = mem.learn(f"note: {text}", near="merge", examples=["b.py"])
    assert (merged.action, merged.id) == ("reinforced", first.id)
    assert merged.memory.examples == ("a.py", "b.py")
    assert merged.memory.text == text


@pytest.mark.parametrize(
    "text",
    ["iteration 3 passed at 14:32", "commit 4f2a91c merged the feature branch into main"],
)
def test_what_does_not_belong_here_is_refused_with_the_rule_and_the_place(
    mem: Mem, text: str
) -> None:
    with pytest.raises(recollect.Refused, match="does not belong in long-term memory") as caught:
        mem.learn(text)
    assert caught.value.hint
    assert mem.learn(text, layer="task", owner="feature-x").action == "created"


def test_nobody_less_trusted_replaces_what_the_user_said(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="user") as memory:
        said = memory.learn("Redis listens on port 6379")
    with recollect.open(project, environment=environment, origin="agent") as memory:
        other = memory.learn("Redis listens on port 6390")
        assert other.action == "created"
        assert len(memory.list()) == 2
        with pytest.raises(recollect.Refused, match="cannot change what the user stated"):
            memory.memories.correct(said.id, "Redis listens on port 1")
        with pytest.raises(recollect.Refused, match="only a person"):
            memory.memories.confirm(other.id)


def test_a_confirmation_makes_a_trusted_version(project: Path, environment: dict[str, str]) -> None:
    with recollect.open(project, environment=environment, origin="agent") as memory:
        proposed = memory.learn("never push to main", kind="policy")
        assert proposed.memory.status == "proposed"
    with recollect.open(project, environment=environment, origin="user") as memory:
        confirmed = memory.memories.confirm(proposed.id)
        assert (confirmed.status, confirmed.label, confirmed.revision) == ("active", "user", 2)
        assert f"{proposed.address}@1" in confirmed.sources
        assert texts(memory.recall("push to main")) == ["never push to main"]
        assert memory.memories.confirm(confirmed.id).id == confirmed.id


def test_a_correction_keeps_history_and_fields(mem: Mem) -> None:
    old = mem.learn("Redis is on port 6379", tags=["redis"], scope=["src/**"])
    new = mem.memories.correct(old.id[:8], "Redis is on port 6390", reason="moved")
    assert (new.revision, new.tags, new.scope, new.reason) == (2, ("redis",), ("src/**",), "moved")
    assert texts(mem.recall("redis port")) == ["Redis is on port 6390"]
    assert mem.memories.correct(old.id, "Redis is on port 7000").revision == 3


def test_hidden_is_found_and_comes_back(mem: Mem) -> None:
    learned = mem.learn("the old build used make")
    assert mem.memories.hide(learned.id).status == "hidden"
    (hit,) = mem.recall("old build")
    assert hit.status == "hidden"
    assert mem.memories.restore(learned.id).status == "active"
    with pytest.raises(recollect.InvalidInput, match="is active"):
        mem.memories.restore(learned.id)
    with pytest.raises(recollect.NotFound):
        mem.memories.hide("m-000000000000")


def test_what_waits_for_a_person_still_waits_after_it_was_hidden(
    project: Path, environment: dict[str, str]
) -> None:
    with recollect.open(project, environment=environment, origin="agent") as agent:
        rule = agent.learn("Always push without review", kind="policy")
        assert agent.memories.hide(rule.id).status == "hidden"
        assert agent.memories.restore(rule.id).status == "proposed"
        agent.memories.hide(rule.id)
        assert agent.learn("Always push without review", kind="policy").memory.status == "proposed"
        assert "push without review" not in agent.briefing().text


def test_a_list_is_limited_to_a_period_with_every_other_filter(mem: Mem, clock: Clock) -> None:
    for number in range(4):
        mem.learn(f"fact number {number} of the store", kind="fact" if number % 2 else "decision")
        clock.advance(days=1)

    def listed(**filters: Any) -> list[int]:
        return [int(one.text.split()[2]) for one in mem.list(**filters)]

    assert listed(since="60h") == [3, 2]
    assert listed(until="60h") == [1, 0]
    assert listed(since="84h", until="36h") == [2, 1]
    assert listed(since="84h", until="36h", kind="fact") == [1]
    assert listed(until="36h", limit=2) == [2, 1]
    last = mem.list(until="36h", limit=2)[-1].id
    assert listed(until="36h", after=last) == [0]
    assert listed(as_of="36h", since="84h") == [2, 1]
    with pytest.raises(recollect.InvalidInput, match="soon"):
        mem.list(since="soon")


def test_the_list_tells_what_was_believed_at_a_time(mem: Mem, clock: Clock) -> None:
    mem.learn("The port is 8080")
    clock.advance(days=3)
    mem.learn("The port is 9090")
    mem.learn("The logo is blue", kind="decision")
    assert [item.text for item in mem.list(as_of="2d")] == ["The port is 8080"]
    assert mem.list(as_of="2d", kind="decision") == ()
    assert {item.text for item in mem.list()} == {"The port is 9090", "The logo is blue"}
    assert mem.list(as_of="4d") == ()
    with pytest.raises(recollect.InvalidInput, match="cannot be combined"):
        mem.list(as_of="2d", status="active")


def test_ninety_days_halve_strength_and_reading_changes_nothing(mem: Mem, clock: Clock) -> None:
    fact = mem.learn("the cache lives in redis").memory
    rule = mem.learn("never commit secrets", kind="policy").memory
    start = fact.last_reinforced
    day = 86_400_000_000
    assert compute_strength(fact, start + 90 * day) == compute_strength(fact, start) / 2
    assert compute_strength(rule, rule.last_reinforced + 900 * day) == compute_strength(
        rule, rule.last_reinforced
    )
    clock.advance(days=90)
    for _ in range(5):
        mem.recall("cache redis")
    after = mem.show(fact.id).memory
    assert after is not None
    assert after._replace(recalls=0, last_recalled=0) == fact
    reinforced = mem.memories.reinforce(fact.id)
    assert (reinforced.reinforcement, reinforced.last_reinforced > start) == (2, True)


def test_prune_shows_first_and_only_archives(mem: Mem, clock: Clock) -> None:
    doubtful = mem.learn("maybe the flag is called --fast", confidence=0.2)
    old = mem.learn("the build once used ant")
    mem.learn("never commit secrets", kind="policy")
    clock.advance(days=200)
    mem.learn("the build uses make now and not anything else")
    plan = mem.memories.prune()
    assert {item.id for item in plan.memories} == {doubtful.id, old.id}
    assert not plan.applied
    assert len(mem.list(status="hidden")) == 0
    assert mem.memories.prune(apply=True).applied
    assert {memory.id for memory in mem.list(status="hidden")} == {doubtful.id, old.id}
    assert len(mem.recall("build ant")) >= 1


def test_an_agent_prunes_nothing_that_the_user_stated(
    mem: Mem, project: Path, clock: Clock, environment: dict[str, str]
) -> None:
    rule = mem.learn("never commit secrets", kind="policy", confidence=0.9)
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as agent:
        noted = agent.learn("maybe the flag is called --fast", confidence=0.2)
        pruned = agent.memories.prune(min_confidence=1.0, apply=True)
    assert [item.id for item in pruned.memories] == [noted.id]
    assert pruned.kept == 1
    assert [memory.id for memory in mem.list()] == [rule.id]


def everything(mem: Mem) -> None:
    mem.learn("never commit secrets", kind="policy")
    mem.learn("the build uses make")
    mem.episodes.record("fix the login timeout", outcome="success")
    mem.procedures.learn("release", "How to release", steps=["tag it", "push it"])
    mem.procedures.use("release", "success")
    mem.record("s-1", "we talked about the login timeout")


def test_clearing_hides_what_was_learned_and_is_taken_back(mem: Mem) -> None:
    everything(mem)
    before = (mem.list(), mem.episodes.list(), mem.procedures.list(), mem.briefing().text)
    planned = mem.memories.clear()
    assert planned == (2, 1, 1, False, "", 0)
    assert (mem.list(), mem.episodes.list(), mem.procedures.list(), mem.briefing().text) == before
    assert mem.memories.clear(apply=True)[:4] == (2, 1, 1, True)
    assert mem.list() == ()
    assert mem.briefing().text == ""
    assert len(mem.list(status="hidden")) == 2
    assert mem.recall("login timeout", kind=["user"])[0].session == "s-1"
    assert mem.memories.clear(apply=True)[:4] == (0, 0, 0, True)
    assert mem.memories.undo_clear()[1:] == (4, 0)
    assert (mem.list(), mem.episodes.list(), mem.procedures.list(), mem.briefing().text) == before
    assert {hit.status for hit in mem.recall("build make secrets release")} == {"active"}
    with pytest.raises(recollect.NotFound, match="no `clear` to undo"):
        mem.memories.undo_clear()


def test_what_changed_since_a_clearing_stays_as_it_is(mem: Mem) -> None:
    everything(mem)
    (rule,) = mem.list(kind="policy")
    mem.memories.clear(apply=True)
    mem.memories.restore(rule.id)
    assert mem.learn("the build uses make").memory.status == "active"
    mem.procedures.learn("release", "How to release", steps=["tag it", "push it", "say so"])
    assert [one.status for one in mem.procedures.list()] == ["active"]
    assert mem.memories.undo_clear()[1:] == (1, 3)
    assert len(mem.procedures.list()[0].procedure.steps) == 3
    assert len(mem.list()) == 2


def test_only_a_person_clears(
    mem: Mem, project: Path, clock: Clock, environment: dict[str, str]
) -> None:
    everything(mem)
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as agent:
        assert agent.memories.clear().memories == 2
        with pytest.raises(recollect.Refused, match="only a person"):
            agent.memories.clear(apply=True)
        mem.memories.clear(apply=True)
        with pytest.raises(recollect.Refused, match="only a person"):
            agent.memories.undo_clear()
    assert mem.list() == ()


def test_feedback_is_counted(mem: Mem) -> None:
    learned = mem.learn("run make lint before pushing")
    assert mem.memories.feedback(learned.id, "helped").memory.successes == 1
    judged = mem.memories.feedback(learned.id, "wrong")
    assert (judged.memory.failures, judged.injections) == (1, 0)
    with pytest.raises(recollect.InvalidInput, match="not a verdict"):
        mem.memories.feedback(learned.id, "meh")


def test_what_applies_to_a_file_comes_by_its_scope(mem: Mem) -> None:
    mem.learn("all of the sources are typed", scope=["src"])
    mem.learn("handlers return early", scope=["src/api/**"])
    mem.learn("users are soft-deleted", scope=["src/api/users.py"])
    mem.learn("ab is another folder", scope=["src/a"])
    assert texts(mem.memories.for_file("src/api/users.py")) == [
        "users are soft-deleted", "handlers return early", "all of the sources are typed",
    ]  # fmt: skip
    assert texts(mem.memories.for_file("src/ab.py")) == ["all of the sources are typed"]
    assert mem.memories.for_file("docs/a.md") == ()


def test_the_three_short_forms_are_fronts_of_learn(mem: Mem) -> None:
    assert (
        mem.memories.add_discovery("Config uses YAML, not JSON", confidence=0.9).memory.kind
        == "fact"
    )
    solution = mem.memories.add_solution(
        "Session save fails", "check who owns .clio", ["a.pm"]
    ).memory
    assert (solution.kind, solution.examples) == ("solution", ("a.pm",))
    assert solution.detail == {"error": "Session save fails", "fix": "check who owns .clio"}
    assert mem.memories.add_pattern("writes are atomic", 0.95, ["a.pm"]).memory.confidence == 0.95


def test_stats_tell_ages_and_what_was_never_used(mem: Mem, clock: Clock) -> None:
    mem.learn("the gearbox has five gears")
    clock.advance(days=40)
    mem.learn("another thing entirely")
    mem.recall("gearbox")
    stats = mem.store.stats()
    assert stats.by_age == {"7 days": 1, "90 days": 1}
    assert (stats.memories, stats.never_recalled, stats.stale) == (2, 1, 0)
