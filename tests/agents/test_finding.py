"""Find transcripts by project, and detect the agent that wrote one."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents import registry
from recollect.agents.transcripts.reader_io import Transcript
from recollect.errors import InvalidInput, NotFound
from tests.agents.reading import SAMPLES, write
from tests.agents.test_opencode import database
from tests.agents.test_other_readers import AIDER, CHAT, SPECSTORY, START


@pytest.fixture
def home(tmp_path: Path) -> Path:
    """A home with a transcript of each agent for /w/p, and some of other projects."""
    home = tmp_path / "home"
    claude = home / ".claude" / "projects"
    record = {"type": "user", "uuid": "u", "sessionId": "s", "cwd": "/w/p"}
    write(claude / "-w-p" / "s.jsonl", [{"type": "mode"}, record])
    write(claude / "-w-p" / "s" / "subagents" / "agent-1.jsonl", [{**record, "isSidechain": True}])
    write(claude / "-w-p" / "same-slug.jsonl", [{**record, "cwd": "/w-p"}])
    write(claude / "-w-p-sub" / "t.jsonl", [{**record, "cwd": "/w/p/sub"}])
    write(claude / "-w-q" / "q.jsonl", [{**record, "cwd": "/w/q"}])
    day = home / ".codex" / "sessions" / "2026" / "06" / "01"
    for name, cwd in (
        ("rollout-a.jsonl", "/w/p"),
        ("rollout-b.jsonl", "/w/q"),
        ("x.jsonl", "/w/p"),
    ):
        write(day / name, [{"type": "session_meta", "payload": {"id": name, "cwd": cwd}}])
    for folder, root in (("p", "/w/p"), ("q", "/w/q")):
        write(home / ".gemini" / "tmp" / folder / "chats" / "session-1.jsonl", [START])
        (home / ".gemini" / "tmp" / folder / ".project_root").write_text(root)
    cursor = home / ".cursor" / "projects" / "w-p" / "agent-transcripts"
    write(cursor / "c.jsonl", [{"role": "user", "message": {"content": "hi"}}])
    write(cursor / "subagents" / "d.jsonl", [])
    start = {"type": "session.start", "data": {"sessionId": "c", "context": {"cwd": "/w/p"}}}
    write(home / ".copilot" / "session-state" / "c" / "events.jsonl", [start])
    (home / ".local" / "share" / "opencode").mkdir(parents=True)
    database(home / ".local" / "share" / "opencode" / "opencode.db")
    return home


def test_claude_code_folder_names_follow_javascript(home: Path) -> None:
    record = {"type": "user", "uuid": "u", "sessionId": "s", "cwd": "/w/é 🚀p"}
    write(home / ".claude" / "projects" / "-w-----p" / "e.jsonl", [record])
    write(home / ".claude" / "projects" / "mine" / "m.jsonl", [record])
    find = registry.load_transcripts("claude-code").discover
    chosen = {"CLAUDE_CODE_PROJECT_DIR_NAME": "mine"}
    assert names(find(str(home), ("/w/é 🚀p",), {})) == ["e.jsonl"]
    assert sorted(names(find(str(home), ("/w/é 🚀p",), chosen))) == ["e.jsonl", "m.jsonl"]


def names(found: list[Transcript]) -> list[str]:
    return [Path(transcript.path).name for transcript in found]


@pytest.mark.parametrize(
    ("host", "of_project", "of_all"),
    [
        ("claude-code", ["s.jsonl", "agent-1.jsonl", "t.jsonl"], 5),
        ("codex", ["rollout-a.jsonl"], 2),
        ("gemini", ["session-1.jsonl"], 2),
        ("cursor", ["c.jsonl"], 1),
        ("copilot", ["events.jsonl"], 1),
        ("opencode", ["opencode.db"], 1),
    ],
)
def test_only_the_transcripts_of_a_project_are_found(
    home: Path, host: str, of_project: list[str], of_all: int
) -> None:
    find = registry.load_transcripts(host).discover
    found = find(str(home), ("/w/p",), {})
    assert sorted(names(found)) == sorted(of_project)
    assert all(one.host == host and one.size for one in found)
    assert len(find(str(home), (), {})) == of_all
    assert find(str(home / "nobody"), ("/w/p",), {}) == []


def test_transcripts_inside_the_project_are_found(tmp_path: Path) -> None:
    (tmp_path / ".aider.chat.history.md").write_text(AIDER)
    write(tmp_path / ".clio" / "sessions" / "a.json", [])
    (tmp_path / ".specstory" / "history").mkdir(parents=True)
    (tmp_path / ".specstory" / "history" / "a.md").write_text(SPECSTORY)
    for host in ("aider", "clio", "specstory"):
        (found,) = registry.load_transcripts(host).discover("/nobody", (str(tmp_path),), {})
        assert found.cwd == str(tmp_path)


def test_agents_in_moved_folders_are_found(home: Path) -> None:
    env = {"CLAUDE_CONFIG_DIR": str(home / ".claude"), "CODEX_HOME": str(home / ".codex")}
    for host in ("claude-code", "codex"):
        assert registry.load_transcripts(host).discover("/nobody", ("/w/p",), env)


@pytest.mark.parametrize(
    ("name", "text", "host"),
    [
        (
            "a.jsonl",
            (SAMPLES / "claude-code-2.1.325.parallel-tools.jsonl").read_text(),
            "claude-code",
        ),
        ("a.jsonl", '{"type":"summary","leafUuid":"x"}\n', "claude-code"),
        ("a.jsonl", (SAMPLES / "codex-0.166.0.rollout.jsonl").read_text(), "codex"),
        ("a.jsonl.zst", "packed", "codex"),
        ("a.jsonl", json.dumps(START) + "\n", "gemini"),
        ("a.json", json.dumps({**START, "messages": []}, indent=2), "gemini"),
        ("a.jsonl", '{"type":"session.start","data":{}}\n', "copilot"),
        ("a.jsonl", '{"role":"user","message":{"content":"x"}}\n', "cursor"),
        ("a.jsonl", json.dumps(CHAT[0]) + "\n", "messages"),
        ("a.json", json.dumps(CHAT), "messages"),
        ("a.json", json.dumps({"history": [], "stm": {}}), "clio"),
        ("a.md", AIDER, "aider"),
        ("a.md", SPECSTORY, "specstory"),
        ("opencode.db", "", "opencode"),
    ],
)
def test_the_agent_of_a_transcript_is_detected(
    tmp_path: Path, name: str, text: str, host: str
) -> None:
    path = tmp_path / name
    path.write_text(text)
    assert registry.detect_transcript(str(path)) == host


@pytest.mark.parametrize(("name", "text"), [("a.md", "# Readme"), ("a.json", "1"), ("a.txt", "hi")])
def test_a_file_that_is_no_transcript_is_refused(tmp_path: Path, name: str, text: str) -> None:
    path = tmp_path / name
    path.write_text(text)
    with pytest.raises(InvalidInput):
        registry.detect_transcript(str(path))
    with pytest.raises(NotFound):
        registry.detect_transcript(str(tmp_path / "none"))
