"""Echoes: asking again finds the memory itself, not our earlier answer."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import apsw
import psycopg
import pytest

import recollect
from recollect.index import sql as index_sql
from recollect.interfaces.slash import run_slash
from recollect.storage.database import Tx
from tests.conftest import Clock

Mem = recollect.Recollect
RULE = "Redis listens on port 6380 in the integration tests"
QUESTION = "Which port does Redis use in the integration tests?"
ANSWER = json.dumps({"hits": [{"text": RULE, "kind": "fact"}] * 3, "query": QUESTION})
COMMAND = f'recollect recall "{QUESTION}"'
Turn = Callable[[int], list[dict[str, Any]]]


def claude(name: str, given: dict[str, Any]) -> Turn:
    def turn(number: int) -> list[dict[str, Any]]:
        about = {"sessionId": "s-1", "cwd": "/w", "timestamp": f"2026-03-0{number}T10:00:00Z"}

        def record(kind: str, key: str, content: Any) -> dict[str, Any]:
            message = {"role": kind, "content": content, "id": f"m{number}{key}"}
            return {"type": kind, "uuid": f"{key}{number}", "message": message, **about}

        call = {"type": "tool_use", "id": f"t{number}", "name": name, "input": given}
        told = [{"type": "text", "text": ANSWER}]
        result = {"type": "tool_result", "tool_use_id": f"t{number}", "content": told}
        return [
            record("user", "u", QUESTION),
            record("assistant", "a", [{"type": "text", "text": "Let me look."}]),
            record("assistant", "b", [call]),
            record("user", "r", [result]),
        ]

    return turn


def codex(name: str, given: dict[str, Any]) -> Turn:
    def turn(number: int) -> list[dict[str, Any]]:
        def item(second: int, **payload: Any) -> dict[str, Any]:
            at = f"2026-03-0{number}T10:00:0{second}Z"
            return {"timestamp": at, "type": "response_item", "payload": payload}

        start = {"timestamp": "2026-03-01T09:00:00Z", "type": "session_meta"}
        words = [{"type": "input_text", "text": QUESTION}]
        called = {"name": name, "arguments": json.dumps(given), "call_id": f"c{number}"}
        return [
            *([{**start, "payload": {"id": "t-1", "cwd": "/w"}}] if number == 1 else []),
            item(1, type="message", role="user", content=words, id=f"i{number}"),
            item(2, type="function_call", **called),
            item(3, type="function_call_output", call_id=f"c{number}", output=ANSWER),
        ]

    return turn


def gemini(name: str, given: dict[str, Any]) -> Turn:
    def turn(number: int) -> list[dict[str, Any]]:
        at = f"2026-03-0{number}T10:00:00Z"
        told = {"functionResponse": {"id": f"c{number}", "response": {"output": ANSWER}}}
        call = {"id": f"c{number}", "name": name, "args": given, "status": "success"}
        start = {"sessionId": "g-1", "projectHash": "h", "startTime": at}
        said = {"id": f"a{number}", "timestamp": at, "type": "gemini", "content": ""}
        return [
            *([start] if number == 1 else []),
            {"id": f"u{number}", "timestamp": at, "type": "user", "content": QUESTION},
            {**said, "toolCalls": [{**call, "result": [told]}]},
        ]

    return turn


def opencode(name: str, given: dict[str, Any]) -> Turn:
    def turn(number: int) -> list[dict[str, Any]]:
        at = 1_772_000_000_000 + number * 86_400_000
        state = {"status": "completed", "input": given, "output": ANSWER}
        call = {"type": "tool", "tool": name, "callID": f"c{number}", "state": state}
        times = {"created": at + 1, "completed": at + 2}
        return [
            {
                "info": {"id": f"m{number}a", "role": "user", "time": {"created": at}},
                "parts": [{"id": f"p{number}a", "type": "text", "text": QUESTION}],
            },
            {
                "info": {"id": f"m{number}b", "role": "assistant", "time": times},
                "parts": [{"id": f"p{number}b", **call}],
            },
        ]

    return turn


def write(folder: Path, agent: str, turns: list[dict[str, Any]]) -> Path:
    if agent == "opencode":
        about = {"id": "ses_1", "directory": "/w", "title": "Ports", "time": {"updated": 2}}
        path = folder / "session.json"
        path.write_text(json.dumps({"info": about, "messages": turns}))
        return path
    path = folder / ("rollout-1.jsonl" if agent == "codex" else "s-1.jsonl")
    path.write_text("".join(json.dumps(record) + "\n" for record in turns))
    return path


SHELL = {"command": COMMAND}
ASKED = {"query": QUESTION}
AGENTS: list[Any] = [
    pytest.param(agent, turn, id=f"{agent}-{how}")
    for agent, how, turn in (
        ("claude-code", "mcp", claude("mcp__recollect__memory_recall", ASKED)),
        ("claude-code", "shell", claude("Bash", SHELL)),
        ("claude-code", "page", claude("Read", {"file_path": "/w/.recollect/CONTINUITY.md"})),
        ("codex", "mcp", codex("mcp__recollect__memory_recall", ASKED)),
        ("codex", "shell", codex("exec_command", {"cmd": COMMAND})),
        ("codex", "old shell", codex("shell", {"command": ["bash", "-lc", COMMAND]})),
        ("gemini", "mcp", gemini("memory_recall", ASKED)),
        ("gemini", "server", gemini("mcp_recollect_memory_recall", ASKED)),
        ("gemini", "shell", gemini("run_shell_command", SHELL)),
        ("opencode", "mcp", opencode("recollect_memory_recall", ASKED)),
        ("opencode", "shell", opencode("bash", SHELL)),
    )
]


def indexed(mem: Mem) -> list[tuple[str, int]]:
    """Return the indexed messages."""
    rows = mem.context.project_space.read(
        lambda tx: tx.run("SELECT ref, seq FROM entries WHERE source = 'message' ORDER BY ref, seq")
    )
    return [(ref, seq) for ref, seq in rows]


def roles(mem: Mem, session: str) -> list[str]:
    return [stored.message.role for stored in mem.sessions.show(session, 1, 100).messages]


@pytest.mark.parametrize(("agent", "turn"), AGENTS)
def test_three_recalls_of_one_question_give_the_same_first_hit(
    mem: Mem, tmp_path: Path, agent: str, turn: Turn
) -> None:
    rule = mem.learn(RULE)
    firsts, turns = [], []
    for number in (1, 2, 3):
        turns += turn(number)
        mem.import_transcripts(str(write(tmp_path, agent, turns)), agent=agent)
        found = mem.recall(QUESTION)
        firsts.append(found[0].address)
        assert not [hit for hit in found if hit.role == "tool"]
    assert firsts == [rule.address] * 3
    (session,) = mem.sessions.list()
    assert roles(mem, session.id).count("tool") == 3, "the archive keeps everything"
    held = [roles(mem, session.id)[seq - 1] for _, seq in indexed(mem)]
    assert held.count("user") == 3 and "tool" not in held


def test_what_a_chat_records_of_us_is_not_found_and_stays(mem: Mem) -> None:
    """Record one message at a time: the call of a result is in an earlier transaction."""
    mem.learn(RULE)
    given = json.dumps(ASKED)
    talk: list[dict[str, Any]] = [
        {"role": "user", "content": "Start the tests"},
        {
            "role": "assistant",
            "content": "I look up ports first.",
            "tool_calls": [
                {"id": "c1", "function": {"name": "memory_recall", "arguments": given}},
                {"id": "c2", "function": {"name": "bash", "arguments": '{"command": "ls"}'}},
            ],
        },
        {"role": "tool", "tool_call_id": "c1", "content": ANSWER},
        {"role": "tool", "tool_call_id": "c2", "content": "Makefile"},
    ]
    for message in talk:
        mem.record("s", message)
    assert indexed(mem) == [("s", 1), ("s", 2), ("s", 4)]
    assert [hit.text for hit in mem.recall(QUESTION)] == [RULE]
    assert [hit.role for hit in mem.recall("ports first")] == ["", "assistant"]
    assert [hit.address for hit in mem.recall("ls makefile")]
    shown = mem.show("memory://session/s/messages/3-3").messages[0]
    assert shown.message.content == ANSWER


def test_slash_commands_and_what_they_print_are_not_found(mem: Mem) -> None:
    rule = mem.learn(RULE)
    for command in ("/memory search redis port", f"/memory recall {QUESTION}", "/memory list"):
        mem.record("s", command)
        mem.record("s", run_slash(mem, command), role="assistant")
        assert [hit.address for hit in mem.recall(QUESTION)] == [rule.address]
    mem.record("s", "Now check the redis port in the compose file")
    mem.record("s", "The redis port is mapped to 6381 there", role="assistant")
    assert len(mem.recall("redis port")) == 3


def test_pages_that_we_make_are_not_found_in_place_of_the_memory(mem: Mem) -> None:
    rule = mem.learn(RULE)
    page = Path(mem.work.continuity(QUESTION).path)
    assert RULE in page.read_text()
    assert [hit.address for hit in mem.recall(QUESTION)] == [rule.address]
    shown = mem.show("memory://continuity").document
    assert shown is not None and RULE in shown.text
    # What a person writes into it is nowhere else.
    page.write_text(page.read_text() + "\n## Ideas\nTry valkey on a socket\n")
    mem.work.continuity(QUESTION)
    assert [hit.address for hit in mem.recall("valkey socket")] == ["memory://continuity"]
    assert mem.recall(QUESTION)[0].address == rule.address


def test_a_rebuild_leaves_the_same_out(mem: Mem, tmp_path: Path) -> None:
    mem.learn(RULE)
    turn = claude("mcp__recollect__memory_recall", ASKED)
    mem.import_transcripts(str(write(tmp_path, "claude-code", turn(1))))
    mem.record("s", "/memory list")
    mem.record("s", "Redis listens on port 6380", role="assistant")
    mem.work.continuity(QUESTION)
    before = indexed(mem)
    assert len(before) == 2
    mem.store.rebuild()
    assert indexed(mem) == before
    assert mem.recall("continuity redis") and mem.recall("redis")[0].kind == "fact"


LATER = (
    "ALTER TABLE blocks RENAME COLUMN signs TO planes",
    *(f"DROP TABLE {{}}{name}" for name in ("facets", "memory_revisions", "memory_aliases")),
    *(f"DROP TABLE {{}}{name}" for name in ("observations", "findings", "attachments")),
    "ALTER TABLE {}memories DROP COLUMN change",
    *(
        f"DROP INDEX {{}}{name}"
        for name in ("injections_judged", "memories_withdrawn", "blocks_by_size")
    ),
    "ALTER TABLE {}injections DROP COLUMN moment",
    "ALTER TABLE {}injections DROP COLUMN outcome",
    "ALTER TABLE {}memories DROP COLUMN author",
    *(f"DROP TABLE {{}}{name}" for name in ("clusters", "memory_counts")),
    *(
        f"ALTER TABLE {{}}{name} DROP COLUMN seal"
        for name in ("memories", "documents", "episodes", "procedures")
    ),
)
"""Takes back what migrations after the sixth made."""


@pytest.fixture
def earlier(
    project: Path, tmp_path: Path, clock: Clock, environment: dict[str, str]
) -> dict[str, str]:
    """The variables to open a store with whose index an earlier version made: without facets, and
    with everything that was ever said in it."""
    turn = claude("mcp__recollect__memory_recall", ASKED)
    with recollect.open(project, clock=clock, environment=environment, origin="user") as mem:
        mem.learn(RULE, tags=["redis"], scope=["tests/**"])
        mem.import_transcripts(str(write(tmp_path, "claude-code", turn(1))))
        mem.work.continuity(QUESTION)
        path = mem.project.database

        def index_all(tx: Tx) -> None:
            for seq, said in ((3, f"memory_recall query: {QUESTION}"), (4, ANSWER)):
                entry = index_sql.IndexEntry(
                    *("message", "claude-code.s-1", "tool", "session", "claude-code.s-1"),
                    *("active", "tool", seq, clock()),
                )
                index_sql.insert_entry(tx, entry, (said.lower(),))
            page = ("document", "memory://continuity", "continuity", "project", "", "active")
            index_sql.insert_entry(
                tx, index_sql.IndexEntry(*page, "user", 0, clock()), (RULE.lower(),)
            )

        mem.context.project_space.write(index_all)
    if url := environment.get("RECOLLECT_DATABASE"):
        with psycopg.connect(url, autocommit=True) as server:
            # What the migration asks for; its tables cannot be taken back there.
            server.execute(
                "INSERT INTO recollect.state (space, key, value, updated) "
                "SELECT DISTINCT space, 'words', 'outdated', 0 FROM recollect.entries"
            )
    else:
        connection = apsw.Connection(path)
        triggers = [f"DROP TRIGGER memories_{name}" for name in ("changed", "removed")]
        for statement in (*triggers, *LATER, "PRAGMA user_version = 6"):
            connection.execute(statement.format("")).fetchall()
        connection.close()
    return environment


def test_a_store_of_an_earlier_version_is_reindexed(
    project: Path, earlier: dict[str, str], clock: Clock
) -> None:
    with recollect.open(project, clock=clock, environment=earlier, origin="user") as mem:
        found = mem.recall(QUESTION)
        assert found.notes == ("4 records of an earlier version were indexed again first",)
        assert found[0].kind == "fact"
        assert indexed(mem) == [("claude-code.s-1", 1), ("claude-code.s-1", 2)]
        assert not [hit for hit in found if hit.kind == "continuity"]
        assert len(mem.recall("redis", tags=["redis"])) == 1
        assert len(mem.recall("redis", file="tests/a.py")) == 1
        assert not mem.recall("redis", file="src/a.py")
        assert mem.recall(QUESTION).notes == ()


def test_messages_that_a_session_does_not_have_are_an_error(mem: Mem) -> None:
    mem.record("s", "how do we deploy")
    assert mem.show("memory://session/s/messages/1-9").messages
    with pytest.raises(recollect.InvalidInput, match="the session has 1"):
        mem.show("memory://session/s/messages/99-99")
