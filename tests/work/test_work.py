"""Work memory: notes, continuity, tasks, ledgers, handoffs, promotion, audit, events."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.work.notes import RULES
from tests.builders.records import example
from tests.conftest import Clock

Mem = recollect.Recollect

LEDGER: dict[str, Any] = example("ledger.json")
HANDOFF: dict[str, Any] = example("handoff.json")


# ---------------------------------------------------------------- notes and continuity


def test_notes_are_a_file_that_says_what_was_set(mem: Mem, project: Path) -> None:
    shown = mem.notes.set("Add login", phase="design", pending=["choose a library"])
    file = project / ".recollect" / "NOTES.md"
    assert (shown.path, file.read_text()) == (str(file), shown.text)
    mem.notes.set(blockers=["no test account"])
    notes = mem.notes.show().notes
    assert notes == ("Add login", "design", ("no test account",), ("choose a library",))
    assert mem.notes.set(blockers=["none"]).notes.blockers == ()
    assert mem.show("memory://notes").document is not None


def test_notes_that_were_edited_by_hand_are_read_back(mem: Mem, project: Path) -> None:
    mem.notes.set("Add login", phase="design")
    file = project / ".recollect" / "NOTES.md"
    file.write_text(file.read_text().replace("Phase: design", "Phase: build"))
    shown = mem.notes.show()
    assert (shown.edited, shown.notes.phase, shown.ok) == (True, "build", True)
    assert not mem.notes.show().edited
    document = mem.show("memory://notes").document
    assert document is not None
    assert (document.revision, document.label) == (2, "tool")
    assert mem.notes.set(pending=["ship it"]).notes.phase == "build"


def test_another_objective_begins_without_the_parts_of_the_old_one(mem: Mem) -> None:
    mem.notes.set("Add login", phase="design", blockers=["no key"], pending=["choose a library"])
    assert mem.notes.set("add  login", phase="build").notes.pending == ("choose a library",)
    assert mem.notes.set("Add logout").notes == ("Add logout", "", (), ())
    mem.notes.set(phase="design")
    assert mem.notes.set("none").notes == ("", "", (), ())
    assert mem.briefing().text == ""


def test_an_objective_is_shown_to_agents_until_its_task_is_complete(mem: Mem) -> None:
    mem.notes.set("Add login", phase="design", pending=["choose a library"])
    assert "- Objective: Add login\n- Phase: design" in mem.briefing().text
    mem.tasks.start("Add login", ["design", "build"])
    told = mem.briefing().text
    assert "- Running task: Add login, next: design\n- Pending: choose a library" in told
    assert "Objective" not in told, "the line of the task says it"
    mem.tasks.complete("add-login")
    assert mem.briefing().text == ""
    assert "complete" in mem.notes.show().unseen
    assert "- Objective: Add logout" in (mem.notes.set("Add logout"), mem.briefing().text)[1]


def test_edited_notes_are_shown_to_agents_once_the_user_confirms_them(
    mem: Mem, project: Path
) -> None:
    mem.notes.set("Add login")
    file = project / ".recollect" / "NOTES.md"
    file.write_text(file.read_text().replace("Add login", "Add logout"))
    assert "recollect notes set" in mem.notes.show().unseen
    assert "Add logout" not in mem.briefing().text
    assert mem.notes.set().unseen == ""
    assert "- Objective: Add logout" in mem.briefing().text


def test_agents_are_not_shown_notes_whose_file_was_edited_since(mem: Mem, project: Path) -> None:
    mem.notes.set("Add login")
    file = project / ".recollect" / "NOTES.md"
    written = file.read_text()
    file.write_text(written.replace("Add login", "Add logout"))
    assert "Add log" not in mem.briefing().text
    file.write_text(written)
    assert "- Objective: Add login" in mem.briefing().text
    file.unlink()
    assert "- Objective: Add login" in mem.briefing().text


@pytest.mark.parametrize(
    ("text", "rule"),
    [
        ("# Notes\n" + "word\n" * 25, "too-long"),
        ("# Notes\n```\ncode\n```\n", "code-fence"),
        ("# Notes\n## Pending\n- a\n- b\n- c\n- d\n", "too-many-bullets"),
        ("# Notes\nphase-3-cleanup is done\n", "task-history"),
    ],
)
def test_the_lint_names_the_rule_that_is_broken(
    mem: Mem, project: Path, text: str, rule: str
) -> None:
    mem.notes.set("Add login")
    assert mem.notes.lint().ok
    (project / ".recollect" / "NOTES.md").write_text(text)
    found = mem.notes.lint()
    assert not found.ok
    assert rule in {one.rule for one in found.findings}
    (project / "other.md").write_text(text)
    assert mem.notes.lint(str(project / "other.md")).findings == found.findings


def test_notes_are_never_written_so_that_they_break_their_rules(mem: Mem) -> None:
    mem.notes.set("Add login")
    with pytest.raises(recollect.InvalidInput, match="too-many-bullets"):
        mem.notes.set(pending=["a", "b", "c", "d"])
    assert mem.notes.show().notes.pending == ()


def test_continuity_names_what_matters_by_id_and_repeats_nothing(mem: Mem, project: Path) -> None:
    fact = mem.learn("the login form lives in src/login.py")
    trap = mem.learn("login tests fail without a session cookie", kind="pitfall")
    mem.notes.set("fix the login form", phase="debugging")
    done = mem.work.continuity()
    assert done.ids == (fact.id, trap.id)
    assert done.text.count(fact.id) == 1
    assert "## Mistakes to Avoid" in done.text
    assert (project / ".recollect" / "CONTINUITY.md").read_text() == done.text
    assert "nothing" not in mem.work.continuity("renaming the login page").text


def test_a_phase_does_not_end_by_half_when_the_notes_break_their_rules(
    mem: Mem, project: Path
) -> None:
    mem.tasks.start("Feature X", ["build"])
    mem.tasks.phase("feature-x", "build")
    mem.notes.set("Feature X")
    file = project / ".recollect" / "NOTES.md"
    listed = "Blockers\n- a\n- b\n- c\n- d"
    file.write_text(file.read_text().replace("Blockers\nnone", listed))
    before = mem.tasks.show("feature-x").pages
    with pytest.raises(recollect.InvalidInput, match="too-many-bullets"):
        mem.work.event("phase end", "feature-x")
    assert mem.tasks.show("feature-x").pages == before
    mem.notes.set(blockers=["none"])
    assert "memory://notes" in mem.work.event("phase end", "feature-x").written


def test_what_is_written_into_continuity_by_hand_stays(mem: Mem, project: Path) -> None:
    mem.learn("the login form lives in src/login.py")
    file = project / ".recollect" / "CONTINUITY.md"
    assert not mem.work.continuity("fixing the login form").edited
    own = "- do not touch the session cookie\n\n## Questions\nwhich port?"
    file.write_text(file.read_text().replace("fixing the", "testing the").rstrip() + f"\n{own}\n")
    done = mem.work.continuity()
    assert done.edited
    assert "## Right now\ntesting the login form" in done.text
    assert own in done.text
    assert mem.show("memory://continuity").document.label == "tool"  # type: ignore[union-attr]
    again = mem.work.continuity("renaming the login form")
    assert not again.edited
    assert own in again.text
    assert "renaming" in again.text


def test_incognito_writes_no_file(project: Path, environment: dict[str, str]) -> None:
    with recollect.open(project, environment=environment, incognito=True, origin="user") as memory:
        assert memory.notes.set("Add login").path == ""
        memory.work.continuity("anything")
        assert memory.notes.show().notes.objective == "Add login"
    assert not (project / ".recollect" / "NOTES.md").exists()


# ---------------------------------------------------------------- tasks


def test_a_task_goes_through_its_phases_and_survives(
    mem: Mem, project: Path, environment: dict[str, str]
) -> None:
    mem.tasks.start("Feature X", ["design", "build"])
    mem.tasks.phase("feature-x", "design")
    mem.tasks.decide("feature-x", "use one table", "fewer joins")
    with pytest.raises(recollect.InvalidInput, match="not done"):
        mem.tasks.phase("feature-x", "build")
    done = mem.tasks.phase("feature-x", "design", report="one table, two endpoints")
    assert "one table, two endpoints" in done.report
    mem.tasks.phase("feature-x", "build")
    with recollect.open(project, environment=environment, origin="user") as other:
        shown = other.tasks.show("feature-x")
        assert (shown.phase, shown.completed) == ("build", "")
        assert shown.task["decisions"][0]["text"] == "use one table"
        assert "memory://task/feature-x/decisions.md" in shown.pages
        report = other.show("memory://task/feature-x/reports/design.md").document
        assert report is not None
        assert "two endpoints" in report.text
    assert mem.recall("one table fewer joins")[0].kind.startswith("task")


def test_what_an_earlier_revision_verified_and_the_newest_has_not_is_lost(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    mem.tasks.verify("feature-x", ["login works", "logout works"])
    shown = mem.tasks.verify("feature-x", ["Login works."], revise="the API changed")
    assert [(one.item, one.verified_in, one.missing_in) for one in shown.regressions] == [
        ("logout works", 1, 2)
    ]
    assert mem.tasks.verify("feature-x", ["logout works"]).regressions == ()


def test_a_complete_task_has_a_report_and_does_not_change(mem: Mem) -> None:
    mem.tasks.start("Feature X", ["build"])
    mem.tasks.phase("feature-x", "build", report="done")
    done = mem.tasks.complete("feature-x")
    assert done.completed.endswith("Z")
    assert "build: done" in done.report
    with pytest.raises(recollect.InvalidInput, match="is complete"):
        mem.tasks.decide("feature-x", "another thing")
    assert [item.slug for item in mem.tasks.list()] == ["feature-x"]
    with pytest.raises(recollect.NotFound, match="there is no such task"):
        mem.tasks.show("feature-y")


# ---------------------------------------------------------------- ledgers and handoffs


def test_a_ledger_comes_back_exactly_as_it_was_given(mem: Mem) -> None:
    assert mem.work.ledger("eng-001-backend", LEDGER) == LEDGER
    assert mem.work.ledger("eng-001-backend") == LEDGER
    mem.work.ledger("eng-001-backend", {**LEDGER, "tasks_completed": 13, "mood": "good"})
    assert mem.work.ledger("eng-001-backend")["mood"] == "good"
    with pytest.raises(recollect.InvalidInput, match="ledger of eng-001-backend"):
        mem.work.ledger("qa-001", LEDGER)
    with pytest.raises(recollect.NotFound):
        mem.work.ledger("qa-001")


def test_a_handoff_comes_back_as_it_was_given_and_is_accepted_by_its_receiver(mem: Mem) -> None:
    given = mem.handoffs.give(handoff=HANDOFF)
    assert (given.id, given.handoff, given.accepted) == ("handoff-001", HANDOFF, False)
    assert [item.id for item in mem.handoffs.list(to="qa-001-testing")] == ["handoff-001"]
    assert mem.handoffs.list(to="somebody") == ()
    with pytest.raises(recollect.Conflict, match="is for qa-001-testing"):
        mem.handoffs.accept("handoff-001", agent="eng-001-backend")
    taken = mem.handoffs.accept("handoff-001", agent="qa-001-testing")
    assert taken.accepted
    assert {**taken.handoff, "accepted_at": 0} == {**HANDOFF, "accepted_at": 0}
    with pytest.raises(recollect.Conflict, match="another handoff"):
        mem.handoffs.give(handoff={**HANDOFF, "from_agent": "other"})
    with pytest.raises(recollect.InvalidInput, match="needs to_agent"):
        mem.handoffs.give(done="something")


def git(project: Path, *words: str) -> str:
    setup = ("-c", "user.name=t", "-c", "user.email=t@example.org")
    done = subprocess.run(
        ["git", *setup, *words], cwd=project, check=True, capture_output=True, text=True
    )
    return done.stdout.strip()


def test_the_receiver_is_told_when_the_tree_has_moved(mem: Mem, project: Path) -> None:
    git(project, "init", "-q")
    (project / "login.py").write_text("one")
    git(project, "add", "login.py")
    git(project, "commit", "-qm", "one")
    given = mem.handoffs.give("qa", "Login", "eng", artifacts=["login.py"])
    assert mem.handoffs.accept(given.id).moved == ""
    (project / "login.py").write_text("two")
    assert "changed since: login.py" in mem.handoffs.accept(given.id).moved
    git(project, "commit", "-qam", "two")
    assert "the tree moved from" in mem.handoffs.accept(given.id).moved


def test_what_was_not_committed_counts_by_its_content(mem: Mem, project: Path) -> None:
    git(project, "init", "-q")
    path = project / "src" / "password_token.py"
    path.parent.mkdir()
    path.write_text("one")
    git(project, "add", ".")
    git(project, "commit", "-qm", "one")
    path.write_text("handed over before it was committed")
    for number in range(30):
        (project / f"another-{number}").write_text("untracked")
    files = ["src/password_token.py", "src/later.py", "../outside"]
    given = mem.handoffs.give("qa", "Login", "eng", artifacts=files)
    assert mem.handoffs.accept(given.id).moved == "", "it was so when it was given"
    path.write_text("changed by somebody")
    (project / "src" / "later.py").write_text("made")
    told = mem.handoffs.accept(given.id).moved
    assert told == "changed since: src/password_token.py, src/later.py"
    path.unlink()
    assert "gone since: src/password_token.py" in mem.handoffs.accept(given.id).moved


def test_outside_git_the_content_of_files_still_tells(mem: Mem, project: Path) -> None:
    (project / "login.py").write_text("one")
    given = mem.handoffs.give("qa", "Login", "eng", artifacts=["login.py"])
    assert mem.handoffs.accept(given.id).moved == ""
    (project / "login.py").write_text("two")
    assert mem.handoffs.accept(given.id).moved == "changed since: login.py"


# ---------------------------------------------------------------- promotion and audit


def note(mem: Mem, text: str, **fields: Any) -> str:
    return mem.learn(text, layer="task", owner="feature-x", **fields).id


def test_promotion_says_for_each_note_what_was_decided_and_why(mem: Mem) -> None:
    mem.learn("The test command is make check", subject="tests", reason="used daily")
    durable = note(
        mem,
        "All endpoints answer errors with a problem document",
        subject="API convention",
        citations=["src/api.py"],
        reason="every client relies on it",
    )
    fleeting = note(mem, "iteration 3 passed at 14:32")
    bare = note(mem, "The exporter needs a folder of its own")
    shown = mem.work.promote("feature-x", dry_run=True)
    assert not shown.applied
    assert len(mem.list(layer="project")) == 1
    decided = {one.id: one for one in mem.work.promote("feature-x").notes}
    assert decided[durable].decision == "promote"
    assert decided[fleeting].decision == "drop"
    assert (decided[bare].decision, decided[bare].step) == ("defer", "fields")
    assert all(one.reason for one in decided.values())
    promoted = mem.show(decided[durable].promoted).memory
    assert promoted is not None
    assert (promoted.layer, promoted.text) == (
        "project", "All endpoints answer errors with a problem document",
    )  # fmt: skip
    assert f"memory://{durable}" in promoted.sources
    again = {one.id: one for one in mem.work.promote("feature-x").notes}
    assert (again[durable].decision, again[durable].step) == ("drop", "duplicate")


def test_promotion_gives_nobody_more_trust(
    project: Path, environment: dict[str, str], clock: Clock
) -> None:
    fields = {"subject": "style", "citations": ["a.py"], "reason": "seen"}
    with recollect.open(project, clock=clock, environment=environment, origin="agent") as memory:
        note(memory, "Endpoints are versioned by a prefix", **fields)
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        (one,) = memory.work.promote("feature-x").notes
        promoted = memory.show(one.promoted).memory
        assert promoted is not None
        assert promoted.label == "agent"


def test_a_workflow_that_is_promoted_is_proposed_as_a_procedure(mem: Mem) -> None:
    note(
        mem,
        "Releases are made from a clean checkout",
        kind="workflow",
        subject="make a release",
        citations=["Makefile"],
        reason="done three times",
        detail={"steps": ["check out", "run make release"]},
    )
    mem.work.promote("feature-x")
    proposed = mem.procedures.show("make-a-release")
    assert (proposed.status, proposed.procedure.steps[1]) == ("proposed", "run make release")
    assert mem.procedures.accept("make-a-release").status == "active"


def test_the_audit_names_what_contradicts_until_one_of_them_goes(mem: Mem) -> None:
    one = mem.learn("Always use tabs for indentation", kind="policy")
    other = mem.learn("Never use tabs for indentation", kind="policy")
    (found,) = mem.work.audit().contradicting
    assert {one.id, other.id} == {
        found.id,
        *(id for id in (one.id, other.id) if id in found.reason),
    }
    assert "Always use tabs" in found.reason and "Never use tabs" in found.reason
    mem.memories.hide(one.id)
    assert mem.work.audit().contradicting == ()


def test_the_audit_finds_duplicates_stale_citations_and_drift_and_changes_nothing(
    mem: Mem, project: Path, clock: Clock
) -> None:
    (project / "api.py").write_text("def handler():\n    return 1\n")
    text = "the integration tests of the billing service need a redis server on the local machine"
    keep = mem.learn(text, confidence=0.9)
    other = mem.learn(f"Note: {text}")
    gone = mem.learn("the handler is in api.py", citations=["api.py"])
    (project / "api.py").unlink()
    mem.notes.set("Add login")
    (project / ".recollect" / "NOTES.md").write_text("phase-3-cleanup is done\n")
    clock.advance(days=31)
    before = mem.list()
    found = mem.work.audit()
    assert [(group.keep, group.others) for group in found.duplicates] == [(keep.id, (other.id,))]
    assert [one.id for one in found.stale] == [gone.id]
    assert {one.id for one in found.unused} >= {keep.id, other.id}
    assert found.drift[0].rule == "task-history"
    assert not found.clean
    assert mem.list() == before


# ---------------------------------------------------------------- events


def test_every_event_does_what_its_rule_says(mem: Mem) -> None:
    mem.notes.set("Feature X", phase="design")
    mem.tasks.start("Feature X", ["design"])
    mem.tasks.phase("feature-x", "design")
    for rule in RULES:
        done = mem.work.event(rule.event.replace(" ", "-"), "feature-x", "s-1", "eng")
        assert (done.event, done.rule) == (rule.event, rule)
        assert bool(done.read) == bool(rule.read), rule.event
    whole = [json.loads(line) for line in mem.tasks.log("feature-x").splitlines()]
    assert [one["type"] for one in whole[:2]] == ["task start", "phase start"]
    log = whole[2:]
    assert [one["type"] for one in log] == [rule.event for rule in RULES]
    assert {one["agent"] for one in log} == {"eng"}
    assert log[0]["phase"] == "design"
    with pytest.raises(recollect.InvalidInput, match="is not an event"):
        mem.work.event("lunch")
    with pytest.raises(recollect.InvalidInput, match="needs a task"):
        mem.work.event("phase end")


def test_session_notes_are_made_at_a_phase_and_cleared_at_the_end(mem: Mem) -> None:
    mem.tasks.start("Feature X", ["design"])
    mem.scratch.store("keep_me", "a note of another conversation")
    assert "memory://scratch/s-1:notes" in mem.work.event("phase start", "feature-x", "s-1").written
    assert "## Current State" in mem.scratch.retrieve("s-1:notes").text
    assert len(mem.work.event("context start", session="s-1").read) == 2
    assert mem.work.event("conversation end", session="s-1").written == (
        "memory://scratch/s-1:notes",
    )
    assert [one.title for one in mem.scratch.list()] == ["keep_me"]


def test_the_end_of_a_phase_writes_its_report_and_the_notes(mem: Mem) -> None:
    mem.tasks.start("Feature X", ["design", "build"])
    mem.tasks.phase("feature-x", "design")
    mem.tasks.phase("feature-x", "design", report="one table")
    done = mem.work.event("phase end", "feature-x")
    assert done.written == ("memory://task/feature-x/reports/design.md", "memory://notes")
    assert mem.notes.show().notes.objective == "Feature X"
    mem.tasks.phase("feature-x", "build")
    mem.tasks.phase("feature-x", "build", report="two endpoints")
    assert mem.work.event("phase end", "feature-x").written[0].endswith("/reports/build.md")


def test_the_end_of_a_task_promotes_what_is_durable(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    fields = {"subject": "API", "citations": ["src/api.py"], "reason": "clients rely on it"}
    note(mem, "Endpoints are versioned by a prefix", **fields)
    (address,) = mem.work.event("task complete", "feature-x").written
    promoted = mem.show(address).memory
    assert promoted is not None
    assert promoted.layer == "project"


def test_a_symlink_in_place_of_notes_is_neither_read_nor_written_through(
    mem: Mem, tmp_path: Path
) -> None:
    path = Path(mem.notes.set("Add login").path)
    elsewhere = tmp_path / "elsewhere.md"
    elsewhere.write_text("# Notes\n\n## Objective\nSend the keys\n")
    path.unlink()
    path.symlink_to(elsewhere)
    assert mem.notes.show().notes.objective == "Add login"
    mem.notes.set("Add logout")
    assert "Send the keys" in elsewhere.read_text()
    assert mem.notes.show().notes.objective == "Add logout"


def test_notes_that_a_teammate_changed_are_not_overwritten_by_the_file_of_another_machine(
    tmp_path: Path, postgres_ready: str
) -> None:
    def sit_at(machine: str) -> recollect.Recollect:
        (tmp_path / machine).mkdir(exist_ok=True)
        variables = {
            "RECOLLECT_DATABASE": postgres_ready,
            "RECOLLECT_SPACE": "shared",
            "RECOLLECT_HOME": str(tmp_path / f"{machine}-home"),
        }
        return recollect.open(tmp_path / machine, origin="user", environment=variables)

    file = tmp_path / "first" / ".recollect" / "NOTES.md"
    with sit_at("first") as memory:
        memory.notes.set("Add login")
    with sit_at("second") as memory:
        memory.notes.set("Add logout")
    with sit_at("first") as memory:
        assert "Add login" in file.read_text()
        assert "- Objective: Add logout" in memory.briefing().text
        shown = memory.notes.show()
        assert shown.notes.objective == "Add logout" and not shown.edited
        assert "Add logout" in file.read_text()
        file.write_text(file.read_text().replace("logout", "search"))
        assert memory.notes.show().edited
