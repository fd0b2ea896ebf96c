"""After an import the conversations have taught something, and the screen says what."""

from __future__ import annotations

import fcntl
import json
import os
import subprocess
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.agents import operations_import, operations_import_project, steps_hooks
from recollect.agents.events import Event
from recollect.agents.operations import catch_up
from recollect.agents.operations_events import answer_event
from recollect.client import call_operation
from recollect.context import Context, Progress
from recollect.interfaces.screens.results import show
from recollect.lessons import operations as lessons_operations
from tests.builders.sessions import claude_code_folder
from tests.conftest import Clock

RULE = "All migrations must be reversible."


def conversation(session: str, cwd: str, day: int) -> str:
    """A session in which the user states a rule, a command fails, and another one works."""
    told: list[tuple[str, Any]] = [
        ("user", f"Run the tests. {RULE}"),
        ("assistant", call(session, 1, "pytest tests")),
        (
            "user",
            result(session, 1, "Exit code 4\nERROR: file or directory not found: tests", True),
        ),
        ("assistant", call(session, 2, "make check")),
        ("user", result(session, 2, "12 passed", False)),
        ("assistant", [{"type": "text", "text": "All 12 tests pass."}]),
    ]
    lines = []
    for number, (role, content) in enumerate(told):
        message: dict[str, Any] = {"role": role, "content": content}
        if role == "assistant":
            message |= {"id": f"{session}-{number}", "model": "claude-sonnet-4-5"}
        record = {
            "type": role, "uuid": f"{session}-u{number}", "sessionId": session, "cwd": cwd,
            "timestamp": f"2026-09-{day:02}T10:00:{number:02}Z", "message": message,
        }  # fmt: skip
        lines.append(json.dumps(record) + "\n")
    return "".join(lines)


def folder_of(home: Path, root: str) -> Path:
    """Make the folder in which Claude Code keeps the transcripts of a project."""
    name = "".join(character if character.isalnum() else "-" for character in root)
    folder = home / ".claude" / "projects" / name
    folder.mkdir(parents=True)
    return folder


def call(session: str, number: int, command: str) -> list[dict[str, Any]]:
    given = {"command": command}
    return [{"type": "tool_use", "id": f"{session}-t{number}", "name": "Bash", "input": given}]


def result(session: str, number: int, text: str, failed: bool) -> list[dict[str, Any]]:
    about = {"tool_use_id": f"{session}-t{number}", "content": text, "is_error": failed}
    return [{"type": "tool_result", **about}]


@pytest.mark.parametrize("origin", ["user", "agent"])
def test_conversations_become_rules_commands_and_episodes(
    project: Path, tmp_path: Path, origin: str, environment: dict[str, str], clock: Clock
) -> None:
    (project / "Makefile").write_text("check:\n\tpytest src\n")
    folder = folder_of(tmp_path, str(project))
    for number in (1, 2):
        text = conversation(f"s{number}", str(project), 10 + number)
        (folder / f"s{number}.jsonl").write_text(text)
    # Whoever starts it: what agents wrote down themselves is their speakers' word.
    with recollect.open(project, clock=clock, environment=environment, origin=origin) as memory:
        done = memory.import_transcripts()
        results = done.results
        assert (results.conversations, results.rules, results.quarantined) == (2, 1, 0)
        assert (results.commands, results.episodes) == (1, 2)
        told = show("import", done)
        assert told.startswith("Read 2 conversations (12 new messages): 1 rule of yours, 1 command")
        assert "recollect briefing" in told
        assert f"policy: {RULE}" in told
        start = memory.briefing(session="s9").text
        assert RULE in start and "`make check`" in start
        again = memory.import_transcripts()
        assert (again.results.rules, again.results.commands) == (0, 0)
        assert show("import", again).startswith("nothing new in 2 transcripts")


def test_a_named_file_is_an_import_and_the_screen_says_how_to_accept_it(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    path = tmp_path / "from-a-colleague.jsonl"
    path.write_text(conversation("s1", "/elsewhere", 11))
    done = mem.import_transcripts(str(path))
    assert (done.results.rules, done.results.commands, done.results.quarantined) == (0, 0, 1)
    told = show("import", done)
    assert "imported as untrusted" in told and str(path) in told
    assert "recollect recall WORDS" in told and "recollect briefing" not in told
    assert "stated in the imported messages (1):" in told
    assert "recollect review --reason quarantined" in told
    assert RULE not in mem.briefing(session="s9").text
    assert "(user, 2026-09-11, by import)" in show("recall", mem.recall("migrations reversible"))
    empty = show("lessons", mem.lessons.list())
    assert "1 conversation imported from outside an agent's own folder" in empty
    (item,) = mem.memories.review(from_="claude-code.s1", reason="quarantined")
    assert [passage.quote for passage in item.evidence] == [RULE]
    mem.memories.answer(item.id, "keep")
    assert RULE in mem.briefing(session="s10").text
    # In the agent's own folder the same words are the user's.
    other = claude_code_folder(tmp_path) / "s2.jsonl"
    other.write_text(conversation("s2", "/elsewhere", 12).replace("reversible", "tested"))
    assert mem.import_transcripts(str(other)).results.rules == 1


def test_conversations_of_other_projects_are_named_and_not_read(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    other = tmp_path / "other"
    (other / ".git").mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    folder = claude_code_folder(tmp_path)
    (folder / "s1.jsonl").write_text(conversation("s1", str(other), 11))
    (folder / "s2.jsonl").write_text(conversation("s2", mem.project.root, 12))
    for done in (mem.import_transcripts(str(folder)), mem.import_transcripts()):
        assert done.others == {str(other): 1}
        told = show("import", done)
        assert "1 conversation of 1 other project" in told and str(other) in told
        assert "recollect import --all" in told
    assert [session.id for session in mem.sessions.list()] == ["claude-code.s2"]


def test_an_import_counts_only_the_items_to_review_that_it_made(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    for number, rule in enumerate((RULE, "All releases must be signed."), 1):
        path = tmp_path / f"s{number}.jsonl"
        path.write_text(conversation(f"s{number}", "/elsewhere", 11).replace(RULE, rule))
        assert mem.import_transcripts(str(path)).results.waiting == 1
    assert len(mem.memories.review()) == 2


AIDER = """
# aider chat started at 2026-05-03 14:22:07

#### All migrations must be reversible.

I will keep that in mind.
"""


def test_an_aider_log_in_a_named_folder_is_read_as_untrusted(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    chats = tmp_path / "chats"
    below, other = chats / "old", chats / "project"
    for folder in (below, other / ".git"):
        folder.mkdir(parents=True)
    (other / ".git" / "HEAD").write_text("ref: refs/heads/main\n")
    for folder in (chats, below, other):
        (folder / ".aider.chat.history.md").write_text(AIDER)
    done = mem.import_transcripts(str(chats))
    assert [one.path for one in done.transcripts if one.foreign and one.messages] == [
        str(folder / ".aider.chat.history.md") for folder in (chats, below)
    ]
    assert done.others == {str(other): 1}
    assert mem.import_transcripts(str(other)).messages


def test_conversations_that_may_still_be_going_on_are_named(
    mem: recollect.Recollect, tmp_path: Path, clock: Clock
) -> None:
    minutes = datetime.fromtimestamp(clock() / 1_000_000, UTC) - timedelta(minutes=20)
    text = conversation("s1", mem.project.root, 12).replace("2026-09-12T10:00", f"{minutes:%FT%R}")
    (folder_of(tmp_path, mem.project.root) / "s1.jsonl").write_text(text)
    done = mem.import_transcripts()
    assert done.results.unfinished == 1 and not done.results.episodes
    assert "1 conversation may still be going on" in show("import", done)
    assert "1 conversation may still be going on" in show("lessons", mem.lessons.list())
    clock.advance(hours=1)
    assert mem.import_transcripts().results.unfinished == 0
    assert mem.lessons.list().unfinished == 0


def test_lessons_lists_the_commands_and_fixes_that_import_counts(
    mem: recollect.Recollect, tmp_path: Path, clock: Clock
) -> None:
    assert "recollect import" in show("lessons", mem.lessons.list())
    folder = folder_of(tmp_path, mem.project.root)
    for number in (1, 2):
        text = conversation(f"s{number}", mem.project.root, 10 + number)
        text = text.replace("ERROR: file or directory not found", "error: unknown option ONLY")
        text = text.replace('"make check"', "\"make check ONLY='unit, slow'\"")
        text = text.replace('"pytest tests"', '"make check ONLY=unit"')
        (folder / f"s{number}.jsonl").write_text(text)
    clock.advance(days=300)
    results = mem.import_transcripts().results
    lessons, status = mem.lessons.list(), mem.store.status()
    assert (len(lessons.commands), len(lessons.fixes)) == (results.commands, results.fixes)
    assert (status.commands, status.fixes) == (results.commands, results.fixes) == (1, 1)
    assert "1 command that worked, 1 fix of errors (recollect lessons)" in show("status", status)
    mem.briefing(session="s9")
    assert len(mem.agents.seen().items) == status.start_items
    assert "recollect briefing" in [step.command for step in status.next] or status.waiting
    told = show("lessons", lessons)
    assert "make check" in told and "went away in 2 sessions" in told
    assert "after running `make check ONLY='unit, slow'` instead" in told
    assert mem.lessons.list(limit=0) == recollect.Lessons((), (), 2)
    assert "a limit of 0 shows nothing" in show("lessons", mem.lessons.list(limit=0))


def moved_conversation(session: str, cwd: str) -> str:
    """A session that edited files of a directory."""
    edits = [f"{cwd}/src/shop/{name}.py" for name in ("orders", "stock", "users")]
    text = conversation(session, cwd, 12)
    return text.replace("All 12 tests pass.", f"Changed {' '.join(edits)}.")


def test_init_names_the_place_that_the_project_was_moved_from(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    gone, folder = str(tmp_path / "old" / "shop"), claude_code_folder(tmp_path)
    (folder / "s1.jsonl").write_text(moved_conversation("s1", gone))
    assert mem.agents.init().former == {}, "no such file is here"
    package = Path(mem.project.root) / "src" / "shop"
    package.mkdir(parents=True)
    for name in ("orders", "stock", "users"):
        (package / f"{name}.py").touch()
    done = mem.agents.init()
    assert (done.past, done.former) == (0, {gone: 1})
    assert "recollect import --from ~/old/shop" in show("init", done)
    assert mem.import_transcripts(from_=gone).results.conversations == 1
    assert mem.agents.init().former == {}
    with pytest.raises(recollect.NotFound):
        mem.import_transcripts(from_=str(tmp_path / "nowhere"))
    mem.context.origin = "agent"
    with pytest.raises(recollect.Refused):
        mem.import_transcripts(from_=gone)


def git(folder: Path, *words: str) -> None:
    subprocess.run(("git", "-C", str(folder), *words), check=True, capture_output=True)


@pytest.mark.parametrize(
    ("ours", "theirs", "is_same"),
    [
        ("https://example.org/acme/shop.git", "git@example.org:acme/shop", True),
        ("https://example.org/acme/shop.git", "https://example.org/acme/other.git", False),
    ],
)
def test_another_clone_is_known_by_its_remote(
    tmp_path: Path, environment: dict[str, str], ours: str, theirs: str, is_same: bool
) -> None:
    here, there = tmp_path / "here", tmp_path / "there"
    for place, remote in ((here, ours), (there, theirs)):
        place.mkdir()
        git(place, "init")
        git(place, "remote", "add", "origin", remote)
    (claude_code_folder(tmp_path) / "s1.jsonl").write_text(conversation("s1", str(there), 12))
    with recollect.open(here, environment=environment, origin="user") as memory:
        assert memory.agents.init().former == ({str(there): 1} if is_same else {})


def test_status_advises_to_import_only_what_is_there(
    mem: recollect.Recollect, tmp_path: Path
) -> None:
    folder = folder_of(tmp_path, mem.project.root)
    assert "recollect import" not in [step.command for step in mem.store.status().next]
    (folder / "s1.jsonl").write_text(conversation("s1", mem.project.root, 12))
    steps = {step.command: step.purpose for step in mem.store.status().next}
    assert steps["recollect import"] == "read 1 conversation you had before"
    mem.import_transcripts()
    assert "recollect import" not in [step.command for step in mem.store.status().next]


# ---------------------------------------------------------------- left to the background


@pytest.fixture
def imported(
    project: Path,
    tmp_path: Path,
    environment: dict[str, str],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> Iterator[recollect.Recollect]:
    """Two conversations were imported, and no background process has learned from them yet."""
    monkeypatch.setattr(operations_import_project, "FEW_MESSAGES", 5)
    (project / "Makefile").write_text("check:\n\tpytest src\n")
    folder = folder_of(tmp_path, str(project))
    for number in (1, 2):
        text = conversation(f"s{number}", str(project), 10 + number)
        (folder / f"s{number}.jsonl").write_text(text)
    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        started: list[str] = []
        memory.context.start_background = started.append
        done = memory.import_transcripts()
        assert started == [str(project)]
        assert (done.lessons_left, done.results.commands, done.results.episodes) == (2, 0, 0)
        assert done.results.rules == 1
        told = show("import", done)
        assert "1 rule of yours; commands, fixes and episodes follow in the background" in told
        assert "recollect lessons" in told
        yield memory


def commands_of(memory: recollect.Recollect) -> list[str]:
    return [one.command for one in memory.lessons.list().commands]


def test_the_background_learns_what_a_large_import_left(imported: recollect.Recollect) -> None:
    background = imported.store.status().background
    assert "commands and fixes of imported conversations: not all learned yet" in background
    catch_up(imported.context)
    folder = steps_hooks.requests_folder(imported.context)
    assert not steps_hooks.is_unlearned(folder)
    episodes_before = imported.context.project_space.read(
        lambda tx: tx.run("SELECT count(*) FROM episodes WHERE space = :space")
    )
    assert [tuple(row) for row in episodes_before] == [(2,)]
    assert commands_of(imported) == ["make check"]


@pytest.mark.parametrize(
    ("ask", "holds"),
    [
        (lambda memory: memory.lessons.list().commands, 1),
        (lambda memory: memory.episodes.list(), 2),
        (lambda memory: [line for line in memory.briefing(session="s9").text.splitlines()
                         if "make check" in line], 1),
        (lambda memory: call_operation(memory, "lessons.list", {}).commands, 1),
    ],
    ids=["lessons", "episodes", "briefing", "interfaces"],
)  # fmt: skip
def test_who_asks_for_lessons_first_finishes_what_a_large_import_left(
    imported: recollect.Recollect, ask: Callable[[recollect.Recollect], Any], holds: int
) -> None:
    assert len(ask(imported)) == holds
    assert not steps_hooks.is_unlearned(steps_hooks.requests_folder(imported.context))


def test_who_asks_for_lessons_waits_for_the_process_that_learns(
    imported: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    learned: list[str] = []
    monkeypatch.setattr(
        lessons_operations, "learn_from_finished_work", lambda context: learned.append("here")
    )
    folder = steps_hooks.requests_folder(imported.context)
    with open(os.path.join(folder, "working"), "a") as working:
        fcntl.flock(working, fcntl.LOCK_EX)  # as another process

        def look(seconds: float) -> None:
            steps_hooks.learn_imported(folder, lambda: learned.append("there"))

        monkeypatch.setattr(time, "sleep", look)
        told: list[str] = []
        imported.progress = lambda progress: told.append(progress.path)
        imported.lessons.list()
    assert (learned, told) == (["there"], ["lessons"])


def test_a_background_process_that_fails_leaves_its_work_to_the_next(
    imported: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(context: Context) -> None:
        raise recollect.Unavailable("killed")

    with monkeypatch.context() as patched:
        patched.setattr(lessons_operations, "learn_from_finished_work", fail)
        with pytest.raises(recollect.Unavailable):
            catch_up(imported.context)
    assert steps_hooks.is_unlearned(steps_hooks.requests_folder(imported.context))
    catch_up(imported.context)
    assert commands_of(imported) == ["make check"]


def test_what_an_import_read_before_it_was_broken_off_is_learned(
    project: Path,
    tmp_path: Path,
    environment: dict[str, str],
    clock: Clock,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(operations_import, "BATCH_MESSAGES", 1)
    (project / "Makefile").write_text("check:\n\tpytest src\n")
    folder = folder_of(tmp_path, str(project))
    for number in (1, 2):
        text = conversation(f"s{number}", str(project), 10 + number)
        (folder / f"s{number}.jsonl").write_text(text)

    def interrupt(progress: Progress) -> None:
        if progress.number == 2:
            raise KeyboardInterrupt

    with recollect.open(project, clock=clock, environment=environment, origin="user") as memory:
        memory.context.start_background = lambda root: None
        memory.progress = interrupt
        with pytest.raises(KeyboardInterrupt):
            memory.import_transcripts()
        memory.progress = None
        assert commands_of(memory) == ["make check"]
        memory.import_transcripts()
        assert not steps_hooks.is_unlearned(steps_hooks.requests_folder(memory.context))


def test_a_second_import_meanwhile_is_not_counted_as_learned(tmp_path: Path) -> None:
    folder = str(tmp_path / "requests")
    steps_hooks.mark_unlearned(folder)
    steps_hooks.learn_imported(folder, lambda: steps_hooks.mark_unlearned(folder))
    assert steps_hooks.is_unlearned(folder)
    steps_hooks.learn_imported(folder, lambda: None)
    assert not steps_hooks.is_unlearned(folder)


def test_incognito_leaves_the_work_of_the_real_store_alone(
    imported: recollect.Recollect, environment: dict[str, str], clock: Clock
) -> None:
    root = imported.project.root
    with recollect.open(root, clock=clock, environment=environment, incognito=True) as hidden:
        assert not hidden.lessons.list().commands
    assert commands_of(imported) == ["make check"]


def test_a_session_that_starts_before_the_lessons_are_learned_says_so(
    imported: recollect.Recollect,
) -> None:
    event = Event("claude-code", "session_start", "SessionStart", "s9", cwd=imported.project.root)
    assert steps_hooks.UNLEARNED_NOTICE in answer_event(imported.context, event).notice
    catch_up(imported.context)
    event = event._replace(session="s10")
    assert steps_hooks.UNLEARNED_NOTICE not in answer_event(imported.context, event).notice
