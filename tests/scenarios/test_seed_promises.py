"""Promises of the documents that this system merges, each in a short story."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

import recollect
from recollect.interfaces import cli
from recollect.work import notes


@pytest.fixture
def engine() -> str:
    return "sqlite"


def test_every_operation_on_a_task_is_in_its_log(mem: recollect.Recollect) -> None:
    mem.tasks.start("Feature X", phases=["design", "build"])
    mem.tasks.phase("feature-x", "design")
    mem.tasks.decide("feature-x", "Use one table", reason="fewer joins")
    mem.tasks.deliver("feature-x", "Schema.md", "One table, two indexes")
    mem.tasks.verify("feature-x", items=["login works"])
    mem.tasks.phase("feature-x", "design", report="settled")
    mem.tasks.phase("feature-x", "build", blocked="no licence")
    mem.tasks.complete("feature-x", review="Nothing is left open")
    told = [json.loads(line) for line in mem.tasks.log("feature-x").splitlines()]
    assert [one["type"] for one in told] == [
        *("task start", "phase start", "decision", "deliverable", "items verified", "phase end"),
        *("phase blocked", "task complete"),
    ]
    assert told[1]["phase"] == "design"
    page = mem.show("memory://task/feature-x/observability/feature-x.ndjson")
    assert page.document and page.document.text == mem.tasks.log("feature-x")
    review = mem.show("memory://task/feature-x/final_review.md").document
    assert review and "Nothing is left open" in review.text
    schema = mem.show("memory://task/feature-x/deliverables/schema.md").document
    assert schema and schema.text == "One table, two indexes"


def test_the_end_of_a_phase_takes_what_is_settled_out_of_the_notes(
    mem: recollect.Recollect,
) -> None:
    mem.tasks.start("Feature X", phases=["design", "build"])
    mem.notes.set(
        "Feature X", phase="design", blockers=["design: which library?", "no server yet"],
        pending=["login works", "write the docs"],
    )  # fmt: skip
    mem.tasks.phase("feature-x", "design")
    mem.tasks.verify("feature-x", items=["login works"])
    mem.tasks.phase("feature-x", "design", report="settled")
    assert mem.notes.show().notes == notes.Notes(
        "Feature X", "build", ("no server yet",), ("write the docs",)
    )


def test_notes_about_something_else_stay(mem: recollect.Recollect) -> None:
    mem.tasks.start("Feature X", phases=["design"])
    before = mem.notes.set("Another objective", phase="design", pending=["design"]).text
    mem.tasks.phase("feature-x", "design", report="settled")
    assert mem.notes.show().text == before


def test_a_todo_list_is_kept_for_the_session(mem: recollect.Recollect) -> None:
    assert mem.work.todo().text == "" and not mem.scratch.list()  # reading writes nothing
    mem.work.todo(add=["write the test", "run the linters"])
    mem.work.todo(add=["Write the test"], done=["2"])
    assert mem.work.todo().text == "- [ ] write the test\n- [x] run the linters\n"
    assert mem.scratch.retrieve("todo").text == mem.work.todo().text
    assert mem.work.todo(add=["another"], session="s1").text == "- [ ] another\n"
    with pytest.raises(recollect.InvalidInput, match="no item"):
        mem.work.todo(done=["7"])


@pytest.mark.parametrize(
    ("text", "step"),
    [
        ("The build runs in two stages", "fields"),
        ("It is set in the second stage", "durable"),
        ("The staging server is currently in Frankfurt", "durable"),
        ("For now the build skips the docs", "durable"),
        ("The build has stages. There are two. The second one signs.", "short"),
    ],
)
def test_a_note_passes_three_tests_of_durability_and_is_short(
    mem: recollect.Recollect, text: str, step: str
) -> None:
    mem.learn(text, layer="task", owner="t1", subject="build", reason="it was looked for twice",
              citations=["Makefile:3"])  # fmt: skip
    (decided,) = mem.work.promote("t1", dry_run=True).notes
    assert (decided.step, decided.decision == "promote") == (step, step == "fields"), decided


def test_lists_of_other_systems_are_loaded_by_their_names(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    semantic, learnings = tmp_path / "memory" / "semantic", tmp_path / "memory" / "learnings"
    semantic.mkdir(parents=True)
    learnings.mkdir()
    given = {
        semantic / "anti-patterns.json": [
            {"id": "anti-1", "what_fails": "Mocking the clock", "why": "it drifts"}
        ],
        semantic / "facts.json": {"facts": [{"id": "f-1", "fact": "The port is 5433"}]},
        semantic / "patterns.json": [
            {"id": "sem-1", "pattern": "Handlers return a result", "confidence": 0.9,
             "links": [{"to": "f-1", "relation": "related_to"}]}
        ],
        semantic / "links.json": [{"from": "sem-1", "to": "anti-1", "relation": "contradicts"}],
        learnings / "2026-01-05.json": [{"error": "EADDRINUSE", "fix": "stop the old server"}],
        learnings / "2026-01-06.json": {"learnings": [
            {"message": "TS7010", "resolution": "name the return type"}]},
        tmp_path / "ltm.json": {"patterns": {
            "failures": ["Deploying on Fridays fails"], "context_rules": ["Answer in English"]}},
    }  # fmt: skip
    for path, value in given.items():
        path.write_text(json.dumps(value))
    done = mem.store.load(str(tmp_path), trust=True)
    assert done.problems == ()
    kinds = {one.text: one.kind for one in mem.list()}
    assert kinds == {
        "Mocking the clock": "pitfall",
        "The port is 5433": "fact",
        "Handlers return a result": "pattern",
        "EADDRINUSE: stop the old server": "pitfall",
        "TS7010: name the return type": "pitfall",
        "Deploying on Fridays fails": "pitfall",
        "Answer in English": "policy",
    }
    ids = {one.text: one.id for one in mem.list()}
    reached = mem.links.list(ids["Handlers return a result"]).reached
    assert {one.id for one in reached} == {ids["The port is 5433"], ids["Mocking the clock"]}


def test_what_is_known_of_the_person_is_told_in_every_project_but_not_incognito(
    tmp_path: Path,
) -> None:
    environment = {"RECOLLECT_HOME": str(tmp_path / "home"), "PATH": "/usr/bin:/bin"}
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    with recollect.open(tmp_path / "one", environment=environment, origin="user") as memory:
        memory.learn("I prefer short answers in British English", kind="preference", layer="user")
        memory.learn("I am a data engineer, new to Go", layer="user")
    with (
        recollect.open(tmp_path / "two", environment=environment, origin="agent") as memory,
        pytest.raises(recollect.Refused, match="only a person"),
    ):
        memory.learn("They are an administrator", layer="user")
    with recollect.open(tmp_path / "two", environment=environment, origin="user") as memory:
        assert "British English" in memory.briefing().text
        told = memory.briefing().text.splitlines()
        assert "new to Go" in told[told.index("About the user:") + 1]
        assert memory.list(layer="user")[0].text == "I am a data engineer, new to Go"
    for mode in ("incognito", "no-ltm"):
        given = {**environment, "RECOLLECT_MODE": mode}
        with recollect.open(tmp_path / "two", environment=given, origin="user") as memory:
            assert memory.briefing().text == ""


def test_usage_is_shown_with_the_session_and_no_ltm_is_an_option(
    mem: recollect.Recollect, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    mem.learn("Answer in English", kind="policy")
    usage = {"input_tokens": 1200, "output_tokens": 34}
    mem.record("s1", {"role": "assistant", "content": "hello", "usage": usage})
    monkeypatch.chdir(mem.project.root)
    assert cli.main(["session", "show", "s1"]) == 0
    assert "1,200" in capsys.readouterr().out
    assert cli.main(["briefing"]) == 0
    assert "Answer in English" in capsys.readouterr().out
    assert cli.main(["briefing", "--no-ltm"]) == 0
    assert "Answer in English" not in capsys.readouterr().out
