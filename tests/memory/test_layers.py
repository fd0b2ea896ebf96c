"""A session's and a task's memories are shown there alone, and end with it; they stay findable."""

from __future__ import annotations

from pathlib import Path

import pytest

import recollect
from recollect.agents.claude_code import hooks
from recollect.agents.operations_events import answer_event
from tests.conftest import Clock

Mem = recollect.Recollect
NOTE = "The exporter writes its report as CSV"
ASKED = "how does the exporter write its report?"
TASK = "The importer reads its report as XML"


def note(mem: Mem, owner: str, text: str = NOTE, **fields: str) -> str:
    return mem.learn(text, kind=fields.pop("kind", "policy"), owner=owner, **fields).id  # type: ignore[arg-type]


def told(mem: Mem, session: str) -> str:
    """All that a session is told by itself: at its start, with a turn, at a file."""
    start = mem.briefing(session).text if session else mem.briefing().text
    fitting = (mem.briefing(session, ASKED), mem.briefing(session, files=["src/export.py"]))
    return "\n".join((start, *(one.text for one in fitting)))


def edited(mem: Mem, project: Path, clock: Clock, session: str) -> str:
    """What an agent is told when it edits a file."""
    clock.advance(seconds=60)
    payload = {
        "session_id": session,
        "transcript_path": str(project / "none.jsonl"),
        "cwd": str(project),
        "hook_event_name": "PostToolUse",
        "tool_name": "Edit",
        "tool_input": {"file_path": str(project / "src" / "export.py")},
        "tool_use_id": f"c{clock()}",
    }
    return str(answer_event(mem.context, hooks.parse(payload, {})).context)


@pytest.mark.parametrize("kind", ["policy", "fact", "pitfall"])
def test_a_sessions_note_is_shown_in_that_session_until_it_ends(mem: Mem, kind: str) -> None:
    for session in ("s-1", "s-2"):
        mem.record(session, "hello")
    id = note(mem, "s-1", layer="session", kind=kind, scope=["src/**"])  # type: ignore[arg-type]
    assert NOTE in told(mem, "s-1")
    for elsewhere in ("s-2", "s-3", ""):
        assert NOTE not in told(mem, elsewhere)
    mem.sessions.end("s-1")
    assert NOTE not in mem.briefing("s-1", ASKED).turn
    assert id in [hit.id for hit in mem.recall(ASKED)], "it stays findable"


def test_an_ended_session_starts_without_its_notes(mem: Mem) -> None:
    mem.record("s-1", "hello")
    note(mem, "s-1", layer="session")
    mem.sessions.end("s-1")
    assert NOTE not in told(mem, "s-1")
    mem.record("s-1", "one thing more")
    assert NOTE in mem.briefing("s-1", ASKED).turn, "the session goes on"


def test_a_file_that_is_edited_brings_only_the_notes_of_its_session(
    mem: Mem, project: Path, clock: Clock
) -> None:
    note(mem, "claude-code.x1", layer="session", scope=["src/**"])  # type: ignore[arg-type]
    assert edited(mem, project, clock, "x2") == ""
    assert NOTE in edited(mem, project, clock, "x1")


def test_a_tasks_note_is_shown_while_it_is_the_one_that_runs(mem: Mem) -> None:
    id = note(mem, "feature-x", layer="task")
    assert NOTE not in told(mem, "s-1"), "there is no such task"
    mem.tasks.start("Feature X")
    assert NOTE in told(mem, "s-2")
    mem.tasks.complete("feature-x")
    assert NOTE not in told(mem, "s-3")
    assert NOTE not in mem.briefing("s-2", ASKED).turn
    assert id in [hit.id for hit in mem.recall(ASKED)]


def test_of_several_tasks_a_session_is_told_of_its_own(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    mem.tasks.start("Feature Y")
    note(mem, "feature-x", layer="task")
    note(mem, "feature-y", TASK, layer="task")
    mem.work.event("phase start", "feature-x", "s-1")
    mem.work.event("context start", "feature-y", "s-2")
    first, second, other = (mem.briefing(session).text for session in ("s-1", "s-2", "s-3"))
    assert NOTE in first and TASK not in first
    assert TASK in second and NOTE not in second
    assert NOTE not in other and TASK not in other, "which one it works on is not known"
    mem.tasks.complete("feature-y")
    third = mem.briefing("s-4").text
    assert NOTE in third and TASK not in third


def test_a_session_and_a_task_of_one_name_are_two(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    note(mem, "feature-x", layer="session")
    assert NOTE not in told(mem, "s-1")
    assert NOTE in told(mem, "feature-x")


def test_many_notes_of_other_sessions_do_not_crowd_out_what_is_the_projects(mem: Mem) -> None:
    rule = mem.learn("The exporter writes dates as ISO 8601", kind="policy").id
    fact = mem.learn("The exporter writes its report at night").id
    for number in range(70):
        for kind in ("policy", "fact"):
            note(mem, f"s-{number}", f"{NOTE}, part w{number}", layer="session", kind=kind)
    assert rule in [item.id for item in mem.briefing().items]
    assert fact in [item.id for item in mem.briefing(query=ASKED).items]
    assert NOTE not in told(mem, "s-x")


def test_nothing_else_that_speaks_by_itself_names_them(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    mem.tasks.start("Feature Y")
    note(mem, "s-1", layer="session", scope=["src/**"])  # type: ignore[arg-type]
    note(mem, "feature-x", TASK, layer="task", scope=["src/**"])  # type: ignore[arg-type]
    mem.scratch.store("plan", "The exporter writes its report: a note of some session")
    mem.tasks.phase("feature-x", "build")
    mem.tasks.decide("feature-x", "the exporter writes its report twice")
    own = mem.learn("The exporter writes its report slowly", scope=["src/**"]).id

    def named() -> set[str]:
        task = mem.tasks.before(ASKED, files=["src/export.py"])
        hits = {hit.id for hit in (*task.patterns, *task.avoid, *task.skills)}
        listed = {memory.id for memory in mem.memories.for_file("src/export.py")}
        return hits | listed | set(mem.work.continuity(ASKED).ids)

    assert named() == {own}
    root = mem.show("memory://root/MEMORY.md").document
    assert root is not None
    assert NOTE not in root.text and TASK not in root.text and "slowly" in root.text


def test_what_a_running_task_noted_is_named_until_it_is_complete(mem: Mem) -> None:
    mem.tasks.start("Feature X")
    mem.tasks.decide("feature-x", "the exporter writes its report twice")
    id = note(mem, "feature-x", layer="task", scope=["src/**"])  # type: ignore[arg-type]

    def named() -> tuple[bool, bool, bool, bool]:
        task = mem.tasks.before(ASKED)
        hits = [hit.id for hit in (*task.patterns, *task.avoid)]
        page = any(hit.startswith("task/") for hit in hits)
        listed = id in [memory.id for memory in mem.memories.for_file("src/export.py")]
        return id in hits, page, listed, id in mem.work.continuity(ASKED).ids

    assert named() == (True, True, True, True)
    mem.tasks.complete("feature-x")
    assert named() == (False, False, False, False)
    found = [hit.id for hit in mem.recall("the exporter writes its report twice")]
    assert id in found and any(one.startswith("task/") for one in found)


def test_notes_of_a_finished_task_are_no_longer_what_is_going_on(mem: Mem) -> None:
    mem.tasks.start("Feature X", ["build"])
    mem.tasks.phase("feature-x", "build")
    mem.work.event("phase end", "feature-x")
    assert "Feature X" in dict(mem.work.event("context start").read)["memory://notes"]
    assert "Feature X" in mem.work.continuity().text
    mem.tasks.complete("feature-x")
    assert "Feature X" not in dict(mem.work.event("context start").read)["memory://notes"]
    assert "Feature X" not in mem.work.continuity().text
    assert "Feature X" in mem.notes.show().text, "it is there for whoever asks"
    mem.notes.set("Feature Z")
    assert "Feature Z" in dict(mem.work.event("context start").read)["memory://notes"]
