"""The review queue on real stores: what is in it, and what each answer does."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.briefing import operations_views as briefing_operations_views
from recollect.review import operations as review_operations
from recollect.review import sql as review_sql
from recollect.storage.database import Tx
from tests.conftest import Clock

Open = Callable[[str], recollect.Recollect]


@pytest.fixture
def as_origin(
    project: Path, environment: dict[str, str], clock: Clock, mem: recollect.Recollect
) -> Iterator[Open]:
    """Opens the same memory for another origin."""
    opened: list[recollect.Recollect] = []

    def open_as(origin: str) -> recollect.Recollect:
        memory = recollect.open(project, clock=clock, environment=environment, origin=origin)
        opened.append(memory)
        return memory

    yield open_as
    for memory in opened:
        memory.close()


def ids(memory: recollect.Recollect, **filters: Any) -> list[str]:
    return [item.id for item in memory.memories.review(**filters)]


def waiting(memory: recollect.Recollect) -> int:
    return review_operations.count_review(memory.context)


def test_nothing_waits_in_a_new_memory(mem: recollect.Recollect) -> None:
    assert mem.memories.review() == ()
    mem.learn("The port is 8080")
    assert (mem.memories.review(), waiting(mem)) == ((), 0)


def test_everything_that_waits_is_one_queue(
    mem: recollect.Recollect, as_origin: Open, project: Path
) -> None:
    (project / "app.py").write_text("def run():\n    return 1\n")
    stale = mem.learn("`run` in app.py starts the server", citations=["app.py:1"])
    (project / "app.py").unlink()
    mem.verify()
    quarantined = as_origin("import").learn("Deploys happen from the laptop", kind="policy")
    proposed = as_origin("agent").learn("Never merge on Fridays", kind="policy")
    mem.learn("Always use tabs for indentation", kind="policy")
    opposite = mem.learn("Never use tabs for indentation", kind="policy")
    items = mem.memories.review()
    assert [item.id for item in items] == [opposite.id, proposed.id, stale.id, quarantined.id]
    assert [item.reasons for item in items] == [
        ("contradicting",), ("proposed",), ("stale",), ("quarantined",),
    ]  # fmt: skip
    assert "app.py" in items[2].why[0] and "missing" in items[2].why[0]
    assert [one.text for one in items[0].against] == ["Always use tabs for indentation"]
    assert waiting(mem) == 4
    assert [ids(mem, reason=one) for one in ("stale", "proposed")] == [[stale.id], [proposed.id]]
    assert ids(mem, kind="fact") == [stale.id]
    assert [item.id for item in mem.memories.review(limit=2)] == [opposite.id, proposed.id]


def test_both_spaces_are_in_the_queue_and_notes_of_a_session_are_not(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    mem.learn("Always answer in German", kind="preference", layer="user")
    other = mem.learn("Never answer in German", kind="preference", layer="user")
    as_origin("agent").learn("Never merge today", kind="policy", layer="session", owner="s-1")
    assert (ids(mem), waiting(mem)) == ([other.id], 1)
    assert mem.memories.answer(other.id, "hide")[0].status == "hidden"
    assert (ids(mem), waiting(mem)) == ([], 0)


def test_an_item_shows_the_sentence_around_it(mem: recollect.Recollect, as_origin: Open) -> None:
    mem.record("s-1", "The release failed. Never merge on Fridays. Ask Anna otherwise.")
    said = mem.record(
        "s-1", "Noted: I will add the rule that merges wait until Monday.", "assistant"
    )
    agent = as_origin("agent")
    agent.learn("Never merge on Fridays.", kind="policy", evidence=["memory://session/s-1"])
    agent.learn("Merges wait until Monday", kind="policy", evidence=[said.address])
    shown = {item.text: item.evidence for item in mem.memories.review()}
    (exact,) = shown["Never merge on Fridays."]
    assert exact[:2] == ("memory://session/s-1/messages/1-1", "user")
    assert exact[3:] == ("The release failed. ", "Never merge on Fridays.", " Ask Anna otherwise.")
    (close,) = shown["Merges wait until Monday"]
    assert (close.address, close.role) == (said.address, "assistant")
    assert "merges wait until Monday" in close.quote


def test_evidence_that_is_gone_or_no_address_is_left_out(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    agent = as_origin("agent")
    lost = ["memory://session/gone", "memory://session/gone/messages/1-2", "a wiki page"]
    agent.learn("Never merge on Fridays", kind="policy", evidence=lost)
    assert [item.evidence for item in mem.memories.review()] == [()]


def test_items_are_chosen_by_the_session_they_came_from(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    agent = as_origin("agent")
    for session in ("codex.1", "codex.2"):
        mem.record(session, f"never use {session}")
        place = f"memory://session/{session}"
        agent.learn(f"never use {session}", kind="policy", evidence=[place])
    (first,) = mem.memories.review(from_="codex.1")
    assert first.text == "never use codex.1"
    assert len(ids(mem, from_="codex")) == 2
    assert ids(mem, from_="memory://session/codex.3") == []


def test_keep_makes_it_the_users_word(mem: recollect.Recollect, as_origin: Open) -> None:
    rule = as_origin("agent").learn("Never merge on Fridays", kind="policy")
    (done,) = mem.memories.answer(rule.id, "keep")
    assert (done.status, done.text) == ("active", "Never merge on Fridays")
    memory = mem.show(done.id).memory
    assert memory and (memory.label, memory.status) == ("user", "active")
    assert waiting(mem) == 0


def test_an_imported_memory_is_accepted_or_hidden(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    foreign = as_origin("import")
    good = foreign.learn("Tests need Redis")
    bad = foreign.learn("Tests need root")
    assert mem.memories.answer(good.id, "keep")[0].status == "active"
    assert mem.memories.answer(bad.id, "hide")[0].status == "hidden"
    assert waiting(mem) == 0
    assert mem.memories.restore(bad.id).status == "quarantined"


def test_edit_and_scope_make_it_the_users_word_too(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    agent = as_origin("agent")
    rule = agent.learn("Never merge on Fridays", kind="policy")
    other = agent.learn("Never edit generated files", kind="policy")
    (edited,) = mem.memories.answer(rule.id, "edit", text="Never deploy on Fridays")
    assert (edited.status, edited.text) == ("active", "Never deploy on Fridays")
    (scoped,) = mem.memories.answer(other.id, "scope", scope=["src/gen/**"])
    assert scoped.status == "active"
    assert [item.text for item in mem.memories.for_file("src/gen/a.py")] == [other.memory.text]
    memory = mem.show(scoped.id).memory
    assert memory and (memory.label, memory.scope) == ("user", ("src/gen/**",))
    assert waiting(mem) == 0


@pytest.fixture
def tabs(mem: recollect.Recollect) -> tuple[str, str]:
    """The ids of two rules that contradict each other; the second is asked about."""
    first = mem.learn("Always use tabs for indentation", kind="policy")
    return first.id, mem.learn("Never use tabs for indentation", kind="policy").id


def test_keeping_one_side_of_a_contradiction_hides_the_other(
    mem: recollect.Recollect, tabs: tuple[str, str]
) -> None:
    (done,) = mem.memories.answer(tabs[1], "keep")
    assert (done.status, done.hidden) == ("active", (tabs[0],))
    assert [item.text for item in mem.list()] == ["Never use tabs for indentation"]
    assert waiting(mem) == 0


def test_both_sides_can_be_kept(mem: recollect.Recollect, tabs: tuple[str, str]) -> None:
    assert mem.memories.answer(tabs[1], "both")[0].hidden == ()
    assert (len(mem.list()), waiting(mem)) == (2, 0)


def test_a_new_text_settles_a_contradiction(
    mem: recollect.Recollect, tabs: tuple[str, str]
) -> None:
    mem.memories.answer(tabs[1], "edit", text="Run ruff before each commit")
    assert (len(mem.list()), waiting(mem)) == (2, 0)


def test_scopes_settle_a_contradiction_when_no_file_is_in_both(mem: recollect.Recollect) -> None:
    mem.learn("Always use tabs for indentation", kind="policy", scope=["web/**"])
    everywhere = mem.learn("Never use tabs for indentation", kind="policy")
    (narrow,) = mem.memories.answer(everywhere.id, "scope", scope=["web/new/**"])
    assert waiting(mem) == 1, "a file in web/new is in both scopes"
    mem.memories.answer(narrow.id, "scope", scope=["src/**"])
    assert (len(mem.list()), waiting(mem)) == (2, 0)


def test_keeping_a_stale_memory_ends_what_is_gone_and_pins_the_rest(
    mem: recollect.Recollect, project: Path
) -> None:
    for name in ("app.py", "old.py"):
        (project / name).write_text(f"def {name[:3]}():\n    return 1\n")
    learned = mem.learn("`app` in app.py replaces old.py", citations=["app.py:1", "old.py:1"])
    (project / "old.py").unlink()
    (project / "app.py").write_text("def app():\n    return 2\n")
    mem.verify()
    (item,) = mem.memories.review()
    assert item.reasons == ("stale",)
    (done,) = mem.memories.answer(learned.id, "keep")
    assert (mem.verify().stale, waiting(mem), done.status) == ((), 0, "active")
    (project / "app.py").unlink()
    mem.verify()
    assert waiting(mem) == 1, "what is still there is still checked"


def test_later_leaves_it_waiting(mem: recollect.Recollect, as_origin: Open) -> None:
    rule = as_origin("agent").learn("Never merge on Fridays", kind="policy")
    assert mem.memories.answer(rule.id, "later")[0].status == "proposed"
    assert ids(mem) == [rule.id]


def test_a_group_is_answered_at_once(mem: recollect.Recollect, as_origin: Open) -> None:
    agent = as_origin("agent")
    for name in ("one", "two"):
        agent.learn(f"Never use module {name}", kind="policy")
        agent.learn(f"We chose library {name}", kind="decision")
    kept = mem.memories.answer("all", "keep", kind="policy")
    assert [one.status for one in kept] == ["active", "active"]
    hidden = mem.memories.answer("all", "hide")
    assert [one.status for one in hidden] == ["hidden", "hidden"]
    assert (waiting(mem), mem.memories.answer("all", "hide")) == (0, ())


def test_an_item_that_cannot_be_answered_does_not_stop_a_batch(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    mem.learn("Never merge on Fridays", kind="policy")
    mem.learn("Always merge on Fridays", kind="policy")
    rule = as_origin("agent").learn("Never use module one", kind="policy")
    done = {one.text: one for one in as_origin("agent").memories.answer("all", "hide")}
    assert done["Never use module one"].status == "hidden"
    assert "cannot change what the user stated" in done["Always merge on Fridays"].error
    assert rule.id not in ids(mem)


@pytest.mark.parametrize(
    ("answer", "fields"),
    [("keep", {}), ("edit", {"text": "x"}), ("scope", {"scope": ["a/**"]}), ("both", {})],
)
def test_only_a_person_makes_it_a_rule(
    mem: recollect.Recollect, as_origin: Open, answer: str, fields: dict[str, Any]
) -> None:
    agent = as_origin("agent")
    rule = agent.learn("Never merge on Fridays", kind="policy")
    with pytest.raises(recollect.Refused, match="only a person"):
        agent.memories.answer(rule.id, answer, **fields)
    assert ids(mem) == [rule.id]
    assert agent.memories.answer(rule.id, "hide")[0].status == "hidden"


@pytest.mark.parametrize(
    ("words", "fields", "problem"),
    [
        (("m-unknown", "keep"), {}, "nothing with this id"),
        (("ID", "perhaps"), {}, "is not an answer"),
        (("ID", "edit"), {}, "edit needs text"),
        (("ID", "scope"), {}, "scope needs scope"),
        (("ID", "keep"), {"text": "x"}, "text goes with edit"),
        (("ID", "both"), {}, "does not take both"),
        (("ID", "keep"), {"kind": "policy"}, "need `all` as the id"),
        (("all", "edit"), {"text": "x"}, "one item at a time"),
        (("all", "hide"), {"kind": "nonsense"}, "is not a kind"),
        (("all", "hide"), {"reason": "nonsense"}, "is not a reason"),
        (("m", "hide"), {}, "several items"),
    ],
)
def test_a_wrong_answer_says_what_is_wrong(
    mem: recollect.Recollect,
    as_origin: Open,
    words: tuple[str, str],
    fields: dict[str, Any],
    problem: str,
) -> None:
    agent = as_origin("agent")
    rule = agent.learn("Never merge on Fridays", kind="policy")
    agent.learn("Code review is required", kind="policy")
    named = rule.id if words[0] == "ID" else words[0]
    with pytest.raises(recollect.RecollectError, match=problem):
        mem.memories.answer(named, words[1], **fields)
    assert waiting(mem) == 2


def test_a_proposed_procedure_waits_too(mem: recollect.Recollect, as_origin: Open) -> None:
    agent = as_origin("agent")
    for name in ("add-endpoint", "add-table"):
        agent.procedures.learn(name, f"How to {name}", steps=["edit", "run the tests"])
    items = mem.memories.review(kind="procedure")
    assert [item.kind for item in items] == ["procedure", "procedure"]
    assert "1. edit" in items[0].text
    assert waiting(mem) == 2
    assert mem.memories.answer(items[0].id, "keep")[0].status == "active"
    assert mem.memories.answer(items[1].id, "hide")[0].status == "hidden"
    assert waiting(mem) == 0


def test_a_procedure_that_was_hidden_is_back_when_it_is_learned_again(
    mem: recollect.Recollect, as_origin: Open
) -> None:
    agent = as_origin("agent")
    agent.procedures.learn("add-table", "How to add a table", steps=["edit", "run the tests"])
    mem.memories.answer(mem.memories.review(kind="procedure")[0].id, "hide")
    assert mem.procedures.show("add-table").status == "hidden"
    again = mem.procedures.learn("add-table", "Add a table", steps=["edit", "migrate"])
    assert (again.status, again.revision) == ("active", 2)


class Counting:
    """A transaction that keeps the statements that it runs."""

    def __init__(self, tx: Tx, ran: list[tuple[str, object]]) -> None:
        self._tx, self._ran = tx, ran

    def one(self, statement: str, params: Any = None) -> Any:
        self._ran.append((statement, params or {}))
        return self._tx.one(statement, params or {})

    def run(self, statement: str, params: Any = None) -> Any:
        self._ran.append((statement, params or {}))
        return self._tx.run(statement, params or {})


def test_counting_costs_four_statements(mem: recollect.Recollect, as_origin: Open) -> None:
    as_origin("agent").learn("Never merge on Fridays", kind="policy")
    ran: list[tuple[str, object]] = []
    count = mem.context.project_space.read(
        lambda tx: review_sql.count_items(Counting(tx, ran))  # type: ignore[arg-type]
    )
    assert (count, len(ran)) == (1, 4)


def test_the_count_looks_through_no_table(project: Path, tmp_path: Path, clock: Clock) -> None:
    variables = {"RECOLLECT_HOME": str(tmp_path / "home"), "HOME": str(tmp_path)}
    with recollect.open(project, clock=clock, environment=variables, origin="user") as memory:
        memory.learn("The port is 8080")

        def plans(tx: Tx) -> list[str]:
            ran: list[tuple[str, object]] = []
            review_sql.count_items(Counting(tx, ran))  # type: ignore[arg-type]
            return [
                str(row[-1])
                for statement, params in ran
                for row in tx.run(f"EXPLAIN QUERY PLAN {statement}", params)  # type: ignore[arg-type]
            ]

        found = memory.context.project_space.read(plans)
    assert not [line for line in found if line.startswith("SCAN") and "CONSTANT" not in line]
    used = " ".join(found)
    for index in ("memories_open_kind", "links_contradicting", "claims_stale"):
        assert index in used


def test_a_statement_that_an_older_instruction_file_contradicts_waits_until_it_is_settled(
    mem: recollect.Recollect, project: Path
) -> None:
    rules = project / "CLAUDE.md"
    rules.write_text("# Rules\n\n- Always use tabs for indentation.\n- Reviews are short.\n")
    os.utime(rules, (1, 1))
    kept = mem.learn("Never use tabs for indentation", kind="preference").id
    mem.learn("Reviews are short", kind="preference")
    briefing_operations_views.follow_up(mem.context, "s-1")
    (item,) = mem.memories.review()
    assert (item.id, item.reasons) == (kept, ("contradicting",))
    assert "CLAUDE.md: “" in item.why[0] and "always use tabs" in item.why[0].lower()
    assert review_operations.count_review(mem.context) == 1
    mem.memories.answer(kept, "keep")
    briefing_operations_views.follow_up(mem.context, "s-1")
    assert mem.memories.review() == () and review_operations.count_review(mem.context) == 0
    assert mem.show(kept).memory is not None


def test_an_instruction_file_that_is_newer_than_the_statement_does_not_wait(
    mem: recollect.Recollect, project: Path
) -> None:
    mem.learn("Never use tabs for indentation", kind="preference")
    (project / "CLAUDE.md").write_text("- Always use tabs for indentation.\n")
    os.utime(project / "CLAUDE.md", (2**33, 2**33))
    briefing_operations_views.follow_up(mem.context, "s-1")
    assert mem.memories.review() == ()
