"""Consolidation: what happened becomes what is known, as a whole or not at all, and back again."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.context import new_id
from recollect.episodes import steps as episodes_steps
from recollect.errors import StoreError
from recollect.index.embedders_io import StaticEmbedder
from recollect.jobs import sql as jobs_sql
from recollect.lessons import steps as lessons_steps
from recollect.lessons import steps_input as lessons_steps_input
from recollect.storage.database import (
    Database,
    IndexedRecord,
    IndexMatch,
    Params,
    Result,
    Row,
    StemFrequencies,
    Tx,
)
from recollect.storage.sqlite import SqliteDatabase
from tests.conftest import Clock

Mem = recollect.Recollect

LOGIN = (
    "Add a login form for customers",
    "Add the login form to the customer page",
    "Build the customer login form",
    "Login form for customers: add the remember-me box",
    "Add validation to the customers' login form",
)
KEPT = ("memories", "episodes", "links", "documents", "procedures", "state", "claims")


DEPENDENCIES = lessons_steps.Dependencies(lambda: 0, new_id, StaticEmbedder())


def rows_of(space: Database) -> dict[str, list[Row]]:
    """Everything that is remembered, and how it is indexed."""

    def work(tx: Tx) -> dict[str, list[Row]]:
        held = {name: sorted(tx.run(f"SELECT * FROM {name}")) for name in KEPT}
        held["entries"] = sorted(
            tx.run(
                "SELECT source, ref, kind, layer, owner, status, label, seq, part, at FROM entries"
            )
        )
        return held

    return space.read(work)


def told(goal: str, number: int, **fields: Any) -> dict[str, Any]:
    return {
        "id": f"ep-{number}",
        "outcome": "success",
        "session": f"s-{number}",
        "context": {"goal": goal, "files_involved": ["src/login.py"]},
        **fields,
    }


def work_on_login(mem: Mem) -> None:
    error = {"type": "TypeError", "message": "login() takes a user", "resolution": "pass the user"}
    for number, goal in enumerate(LOGIN):
        mem.episodes.record(episode=told(goal, number, errors_encountered=[error]))


def fill(mem: Mem, clock: Clock) -> None:
    """Episodes and memories that give every kind of step."""
    mem.learn("maybe the cache is in memcached", confidence=0.3)
    clock.advance(days=400)
    work_on_login(mem)
    for number in range(2):
        text = "the staging database is reset every night"
        mem.learn(text, layer="session", owner=f"s-{number}")
    text = "the integration tests of the billing service need a redis server on the local machine"
    mem.learn(text)
    mem.learn(f"Note: {text}")
    mem.learn("always run the linter before pushing to the main branch", kind="policy")


def test_five_variations_of_a_task_become_one_pattern_with_evidence(mem: Mem) -> None:
    work_on_login(mem)
    done = mem.lessons.consolidate()
    assert (done.applied, done.episodes) == (True, 5)
    (pattern,) = mem.list(kind="pattern")
    assert pattern.confidence >= 0.8
    assert pattern.origin == "system"
    assert len(pattern.sources) == 5
    assert all(mem.show(source).episode for source in pattern.sources)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("implement user login", "create billing export"),
        ("implement user login", "implement billing login"),
        ("create user export", "create billing export"),
        ("implement user login", "implement user logout"),
        ("export invoices as csv", "delete old invoices"),
        ("rate limit the public API", "limit the size of logs"),
    ],
)
def test_unrelated_goals_never_become_a_pattern(mem: Mem, one: str, other: str) -> None:
    for goal in (one, other, one.upper(), other.upper()):
        files = ["src/app.py"] if goal is one else []
        mem.episodes.record(goal, "success", files=files, errors=["KeyError: name => read it once"])
    mem.lessons.consolidate(dry_run=True)
    patterns = [line for line in mem.lessons.consolidate().lines if line.what == "pattern"]
    assert len(patterns) == 2, "each goal with itself, and not with the other"


MIGRATIONS = (
    "add a database migration for the orders table",
    "migrate the orders schema: new status column",
    "create a migration that adds a column to orders",
    "alter table orders to add the status field",
    "schema migration for order status",
)
"""Five ways to ask for one sort of work; words alone join four of them."""


def test_variations_in_other_words_are_one_pattern_by_their_meaning(mem: Mem) -> None:
    for number, goal in enumerate(MIGRATIONS):
        error = {"type": "OSError", "message": "locked", "resolution": "stop the worker"}
        shared = told(goal, number, context={"goal": goal}, errors_encountered=[error])
        mem.episodes.record(episode=shared)
    mem.context.make_embedder = lambda settings: None
    lines = mem.lessons.consolidate(dry_run=True).lines
    (by_words,) = [line for line in lines if line.what == "pattern"]
    assert by_words.reason.startswith("4 similar tasks")
    mem.context.make_embedder = lambda settings: StaticEmbedder()
    mem.lessons.consolidate()
    (pattern,) = mem.list(kind="pattern")
    assert len(pattern.sources) == 5


def test_without_a_model_tasks_are_compared_by_words_and_that_is_said(
    mem: Mem, tmp_path: Path
) -> None:
    work_on_login(mem)
    mem.context.make_embedder = lambda settings: StaticEmbedder(str(tmp_path / "none"))
    done = mem.lessons.consolidate()
    assert [line.what for line in done.lines] == ["pitfall", "pattern"]
    (note,) = [one.reason for one in done.left_out if not one.sources]
    assert "by words and files alone" in note


def test_tasks_without_a_place_or_an_error_in_common_make_no_pattern(mem: Mem) -> None:
    for number in range(4):
        checked = {"action": "run_test", "target": "make test", "result": "pass"}
        shared = told("address the comment on the pull request", number, actions=[checked])
        mem.episodes.record(episode={**shared, "context": {"goal": shared["context"]["goal"]}})
    done = mem.lessons.consolidate()
    assert mem.list(kind="pattern") == ()
    assert "share neither files nor errors" in done.left_out[-1].reason


def test_a_pattern_that_is_not_sure_enough_is_left_out_and_said(mem: Mem) -> None:
    for number, goal in enumerate(LOGIN[:2]):
        mem.episodes.record(episode={**told(goal, number), "outcome": "unknown"})
    done = mem.lessons.consolidate()
    assert mem.list(kind="pattern") == ()
    assert any("a confidence of only 0.66" in one.reason for one in done.left_out)


def test_a_resolved_error_becomes_a_pitfall_and_an_unresolved_one_does_not(mem: Mem) -> None:
    for goal in ("Fix the build", "Speed up the parser"):
        mem.episodes.record(goal, "success", errors=["KeyError: no name => read it once"])
        mem.episodes.record(f"{goal} again", "failure", errors=["OSError: disk is full"])
    mem.lessons.consolidate()
    (pitfall,) = mem.list(kind="pitfall")
    assert pitfall.detail["prevention"] == "read it once"
    assert pitfall.detail["why"] == "no name"
    (hit,) = [hit for hit in mem.recall("KeyError name") if hit.kind == "pitfall"]
    assert hit.id == pitfall.id


@pytest.mark.parametrize("origin", ["user", "tool"])
def test_a_pitfall_that_expired_is_revived_when_the_error_comes_up_again(
    project: Path, environment: dict[str, str], clock: Clock, origin: str
) -> None:
    def stumble(memory: Mem, goal: str, line: int) -> str:
        error = f"KeyError: no name in line {line} => read the settings once, in time {line}"
        return memory.episodes.record(goal, "success", errors=[error]).address

    with recollect.open(project, clock=clock, environment=environment, origin=origin) as memory:
        stumble(memory, "Fix the build", 3)
        stumble(memory, "Speed up the parser", 4)
        memory.lessons.consolidate()
        (before,) = memory.list(kind="pitfall")
        clock.advance(days=1000)
        memory.lessons.consolidate()
        (gone,) = memory.list(kind="pitfall", status="hidden")
        assert (gone.id, gone.detail["faded"]) == (before.id, "2029-06-17")
        again = stumble(memory, "Fix the release", 77)
        (line,) = [one for one in memory.lessons.consolidate().lines if one.what == before.id]
        assert "it is restored" in line.reason
        assert not memory.list(kind="pitfall", status="hidden")
        (back,) = memory.list(kind="pitfall")
        assert (back.id, back.status, back.label) == (before.id, before.status, before.label)
        assert back.detail == before.detail
        assert back.last_reinforced > gone.last_reinforced
        assert again in back.evidence
        assert back.id in [
            one.id for one in memory.links.list(again, relation=["example_of"]).reached
        ]
        memory.lessons.undo()
        (gone_again,) = memory.list(kind="pitfall", status="hidden")
        assert gone_again == gone
        memory.memories.hide(memory.memories.restore(gone.id).id)
        assert memory.lessons.consolidate().left_out[0].reason.endswith("it was hidden")


def test_what_is_derived_is_trusted_as_the_least_trusted_of_its_sources(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        memory.episodes.record(episode=told(LOGIN[0], 0))
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        for number, goal in enumerate(LOGIN[1:], 1):
            memory.episodes.record(episode=told(goal, number))
        memory.lessons.consolidate()
        (pattern,) = memory.list(kind="pattern")
        assert pattern.label == "agent"


def test_a_dry_run_says_what_would_be_done_and_changes_nothing(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    before = rows_of(mem.context.project_space)
    shown = mem.lessons.consolidate(dry_run=True)
    assert rows_of(mem.context.project_space) == before
    assert not shown.applied
    assert {line.sign for line in shown.lines} == {"+", "~", "-"}
    assert all(line.reason for line in shown.lines)
    done = mem.lessons.consolidate()
    assert [line.text for line in done.lines] == [line.text for line in shown.lines]


def test_undo_restores_every_row(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    before = rows_of(mem.context.project_space)
    done = mem.lessons.consolidate()
    assert rows_of(mem.context.project_space) != before
    undone = mem.lessons.undo()
    assert undone.undo == done.undo
    assert undone.restored and undone.removed
    assert rows_of(mem.context.project_space) == before
    again = mem.lessons.consolidate()
    assert [line.text for line in again.lines] == [line.text for line in done.lines]


def test_undo_is_refused_when_somebody_changed_what_came_of_it(mem: Mem) -> None:
    work_on_login(mem)
    mem.lessons.consolidate()
    (pattern,) = mem.list(kind="pattern")
    mem.recall("login form")
    mem.memories.hide(pattern.id)
    held = rows_of(mem.context.project_space)
    with pytest.raises(recollect.Conflict, match="changed since"):
        mem.lessons.undo()
    assert rows_of(mem.context.project_space) == held


def test_undo_works_with_words_that_look_like_secrets(mem: Mem) -> None:
    errors = ['AuthError: password authentication failed, token="tokenizer" => set password: x']
    for goal in ("Fix the credentials of the build", "Speed up the parser"):
        mem.episodes.record(goal, "success", errors=errors)
    before = rows_of(mem.context.project_space)
    mem.lessons.consolidate()
    assert mem.list(kind="pitfall")
    mem.lessons.undo()
    assert rows_of(mem.context.project_space) == before


def test_without_a_consolidation_there_is_nothing_to_undo(mem: Mem) -> None:
    mem.learn("the build uses make")
    with pytest.raises(recollect.NotFound, match="no consolidation to undo"):
        mem.lessons.undo()


def test_a_second_run_finds_nothing_new(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    mem.lessons.consolidate()
    before = rows_of(mem.context.project_space)
    assert mem.lessons.consolidate().lines == ()
    assert rows_of(mem.context.project_space) == before


def test_more_of_the_same_adds_evidence_and_no_second_pattern(mem: Mem) -> None:
    work_on_login(mem)
    mem.lessons.consolidate()
    (pattern,) = mem.list(kind="pattern")
    later = mem.episodes.record(episode=told("Add a captcha to the customers' login form", 9))
    mem.lessons.consolidate()
    (now,) = mem.list(kind="pattern")
    assert now.id == pattern.id
    assert later.address in now.evidence
    assert now.confidence >= pattern.confidence


def test_duplicates_give_way_and_recurring_notes_move_up(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    told = [memory for memory in mem.list() if "redis server" in memory.text]
    assert len(told) > 1
    mem.lessons.consolidate()
    (kept,) = [memory for memory in mem.list() if "redis server" in memory.text]
    assert kept.reinforcement == sum(memory.reinforcement for memory in told)
    assert kept.confidence == max(memory.confidence for memory in told)
    (note,) = [memory for memory in mem.list() if "staging" in memory.text]
    assert (note.layer, note.owner) == ("project", "")
    (weak,) = mem.list(status="hidden")
    assert "memcached" in weak.text
    assert mem.recall("memcached")


def test_opposites_are_linked_and_every_recall_of_one_side_says_so(mem: Mem) -> None:
    always = mem.learn("always use tabs in python files", kind="policy")
    never = mem.learn("never use tabs in python files", kind="policy")
    found = {hit.id: hit.why for hit in mem.recall("tabs in python files")}
    assert f"contradicts {never.id}" in found[always.id]
    assert f"contradicts {always.id}" in found[never.id]
    mem.memories.hide(never.id)
    found = {hit.id: hit.why for hit in mem.recall("tabs in python files")}
    assert "contradicts" not in found[always.id]


def test_old_episodes_are_summarised_then_hidden_and_always_found(mem: Mem, clock: Clock) -> None:
    mem.episodes.record("Tidy the attic of the billing exporter", "success", files=["src/attic.py"])
    work_on_login(mem)
    mem.lessons.consolidate()
    clock.advance(days=8)
    mem.lessons.consolidate()
    (old,) = [item for item in mem.episodes.list() if "attic" in item.goal]
    assert (old.status, old.synopsis.split("\n")[1]) == ("active", "Files: src/attic.py")
    clock.advance(days=30)
    mem.lessons.consolidate()
    kept = {item.goal: item.status for item in mem.episodes.list()}
    assert kept["Tidy the attic of the billing exporter"] == "hidden"
    assert {kept[goal] for goal in LOGIN} == {"active"}, "a memory refers to them"
    assert mem.recall("attic billing exporter")[0].status == "hidden"
    assert mem.episodes.show(old.id).episode["context"]["files_involved"] == ["src/attic.py"]


def test_what_a_tool_gave_is_a_note_for_thirty_days_and_stays_searchable(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, clock=clock, environment=environment, origin="tool") as memory:
        learned = memory.learn("the page says the port is 9090")
        assert "by recall only, for 30 days" in learned.notes[0]
        assert "9090" not in memory.briefing(query="which port does the page name").text
        clock.advance(days=29)
        memory.learn("the page says the port is 9090")
        memory.lessons.consolidate()
        (hit,) = memory.recall("page port")
        assert hit.status == "active"
        clock.advance(days=2)
        memory.lessons.consolidate()
        (hit,) = memory.recall("page port")
        assert (hit.id, hit.status) == (learned.id, "hidden")


def test_it_runs_weekly_when_asked_to_be_due(mem: Mem, clock: Clock) -> None:
    work_on_login(mem)
    assert mem.lessons.consolidate(if_due=True).applied
    assert "not due" in mem.lessons.consolidate(if_due=True).note
    clock.advance(days=7)
    assert mem.lessons.consolidate(if_due=True).applied


def test_one_runner_at_a_time_and_a_lost_lease_does_nothing(mem: Mem, clock: Clock) -> None:
    work_on_login(mem)
    space = mem.context.project_space
    job = space.write(
        lambda tx: jobs_sql.acquire_lease(tx, "consolidate", "other", clock(), lessons_steps.LEASE)
    )
    assert job is not None
    with pytest.raises(recollect.Conflict, match="another consolidation is running"):
        mem.lessons.consolidate()
    clock.advance(seconds=181)
    ready = lessons_steps.prepare(
        space.read(lambda tx: lessons_steps_input.load(tx, clock())), clock(), DEPENDENCIES
    )
    assert mem.lessons.consolidate().applied
    held = rows_of(space)
    with pytest.raises(recollect.Conflict, match="took over"):
        space.write(lambda tx: lessons_steps.apply(tx, ready, job, "u-1", clock()))
    assert rows_of(space) == held


def test_a_memory_that_changed_while_the_plan_was_made_stops_it(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    space = mem.context.project_space
    ready = lessons_steps.prepare(
        space.read(lambda tx: lessons_steps_input.load(tx, clock())), clock(), DEPENDENCIES
    )
    (faded,) = [memory for memory in mem.list() if "memcached" in memory.text]
    mem.memories.reinforce(faded.id)
    held = rows_of(space)
    job = space.write(
        lambda tx: jobs_sql.acquire_lease(tx, "consolidate", "me", clock(), lessons_steps.LEASE)
    )
    assert job is not None
    with pytest.raises(recollect.Conflict, match="changed while the plan was made"):
        space.write(lambda tx: lessons_steps.apply(tx, ready, job, "u-1", clock()))
    assert rows_of(space) == held


class Failing:
    """A transaction whose n-th statement fails."""

    def __init__(self, tx: Tx, left: int) -> None:
        self._tx = tx
        self._left = left
        self.space, self.for_update, self.skip_locked = tx.space, tx.for_update, tx.skip_locked
        self.in_json, self.in_numbers, self.is_remote = tx.in_json, tx.in_numbers, tx.is_remote
        self.is_answered = tx.is_answered

    def _count(self) -> None:
        self._left -= 1
        if self._left < 0:
            raise StoreError("the disk is gone")

    def run(self, sql: str, params: Params | None = None) -> list[Row]:
        self._count()
        return self._tx.run(sql, params)

    def one(self, sql: str, params: Params | None = None) -> Row | None:
        self._count()
        return self._tx.one(sql, params)

    def many(self, sql: str, rows: Iterable[Params]) -> None:
        self._count()
        self._tx.many(sql, rows)

    def insert(self, table: str, columns: str, rows: Iterable[Row], skip: bool = False) -> None:
        self._count()
        self._tx.insert(table, columns, rows, skip)

    def altered(self, table: str) -> str:
        return self._tx.altered(table)

    def settle(self) -> None:
        self._tx.settle()

    def add_entries(self, records: Sequence[IndexedRecord]) -> None:
        self._count()
        self._tx.add_entries(records)

    def run_batched(self, sql: str, params: Params | None = None) -> list[Row]:
        self._count()
        return self._tx.run_batched(sql, params)

    def keep(self, name: str, read: Callable[[], Result]) -> Result:
        return read()

    def gather(self, work: Callable[[], Result]) -> Result:
        return work()

    def add_words(self, stems: Sequence[tuple[int, str]]) -> None:
        self._count()
        self._tx.add_words(stems)

    def remove_words(self, entry: int) -> None:
        self._count()
        self._tx.remove_words(entry)

    def remove_entries(self, source: str, ref: str, seq: int) -> None:
        self._count()
        self._tx.remove_entries(source, ref, seq)

    def match(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        vector: bytes = b"",
    ) -> list[IndexMatch]:
        self._count()
        return self._tx.match(stems, limit, where, params, vector=vector)

    def match_among(
        self,
        stems: Sequence[str],
        limit: int,
        where: str,
        params: Params,
        *,
        pool: int,
        vector: bytes = b"",
    ) -> list[IndexMatch] | None:
        self._count()
        return self._tx.match_among(stems, limit, where, params, pool=pool, vector=vector)

    def match_some(
        self, groups: Sequence[Sequence[str]], limit: int, where: str, params: Params
    ) -> list[IndexMatch]:
        self._count()
        return self._tx.match_some(groups, limit, where, params)

    def match_shared(
        self, weights: Mapping[str, float], limit: int, where: str, params: Params
    ) -> list[str]:
        self._count()
        return self._tx.match_shared(weights, limit, where, params)

    def filter_entries(
        self, entries: Sequence[int], where: str, params: Params, vector: bytes = b""
    ) -> list[IndexMatch]:
        self._count()
        return self._tx.filter_entries(entries, where, params, vector)

    def frequencies(self, stems: Sequence[str]) -> StemFrequencies:
        self._count()
        return self._tx.frequencies(stems)

    def frequencies_lately(self, stems: Sequence[str]) -> StemFrequencies:
        self._count()
        return self._tx.frequencies_lately(stems)

    finds_nearest = False

    def add_vectors(self, vectors: Sequence[tuple[int, bytes]]) -> None:
        self._count()
        self._tx.add_vectors(vectors)

    def nearest(
        self, vector: bytes, count: int, where: str, params: Params, least: float
    ) -> list[IndexMatch]:
        self._count()
        return self._tx.nearest(vector, count, where, params, least)


def until_it_works(space: Database, work: Callable[[Tx], object]) -> int:
    """Fail each statement in turn; nothing of the work may remain. Gives their number."""
    before = rows_of(space)
    for number in range(10_000):
        try:
            space.write(lambda tx, left=number: work(Failing(tx, left)))  # type: ignore[misc]
        except StoreError as error:
            assert "the disk is gone" in str(error)
            assert rows_of(space) == before, number
        else:
            return number
    raise AssertionError("it never worked")


@pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
def test_whichever_statement_fails_the_store_is_as_before(mem: Mem, clock: Clock) -> None:
    fill(mem, clock)
    space = mem.context.project_space
    assert isinstance(space, SqliteDatabase)
    now = clock()
    job = space.write(
        lambda tx: jobs_sql.acquire_lease(tx, "consolidate", "me", now, lessons_steps.LEASE)
    )
    assert job is not None
    ready = lessons_steps.prepare(
        space.read(lambda tx: lessons_steps_input.load(tx, now)), now, DEPENDENCIES
    )
    count = until_it_works(space, lambda tx: lessons_steps.apply(tx, ready, job, "u-1", now))
    assert count > 50
    assert until_it_works(space, lambda tx: lessons_steps.undo(tx, now)) > 20


def test_hundreds_of_episodes_are_looked_at_in_one_go(mem: Mem, clock: Clock) -> None:
    def work(tx: Tx) -> None:
        for number in range(300):
            given = told(f"Task {number % 50} of the warehouse robot {number}", number)
            row, _ = episodes_steps.prepare_row(given, "user", "user", clock())
            episodes_steps.store_episode(tx, row)

    mem.context.project_space.write(work)
    assert mem.lessons.consolidate().episodes == 300
