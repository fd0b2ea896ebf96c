"""After an import the conversations have taught something, and the screen says what."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.interfaces.screens.results import show
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
    folder = (
        tmp_path
        / ".claude/projects"
        / "".join(character if character.isalnum() else "-" for character in str(project))
    )
    folder.mkdir(parents=True)
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
    assert "recollect review --reason quarantined" in told
    assert RULE not in mem.briefing(session="s9").text
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
