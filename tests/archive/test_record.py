"""Recording messages: append-only, in order, verifiable, redacted."""

from __future__ import annotations

import apsw
import pytest

import recollect

Mem = recollect.Recollect


def contents(mem: Mem, session: str) -> list[object]:
    return [stored.message.content for stored in mem.sessions.show(session).messages]


def test_messages_are_kept_whole_and_in_order(mem: Mem) -> None:
    for number in range(1, 4):
        recorded = mem.record("s-1", f"message {number}")
        assert (recorded.seq, recorded.new) == (number, True)
    assert contents(mem, "s-1") == ["message 1", "message 2", "message 3"]
    session = mem.sessions.show("s-1").session
    assert session is not None
    assert session.messages == 3


def test_a_key_is_kept_once(mem: Mem) -> None:
    first = mem.record("s-1", "hello", key="k")
    again = mem.record("s-1", "hello", key="k")
    assert (again.seq, again.new) == (first.seq, False)
    assert mem.record("s-2", "hello", key="k").new
    assert contents(mem, "s-1") == ["hello"]


def test_provider_messages_are_normalised(mem: Mem) -> None:
    mem.record("s-1", {"role": "user", "content": "list the files"})
    mem.record(
        "s-1",
        {
            "role": "assistant",
            "content": None,
            "tool_calls": [
                {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
            ],
        },
    )
    mem.record("s-1", {"role": "tool", "tool_call_id": "c1", "content": "a.py b.py"})
    call, result = mem.sessions.show("s-1").messages[1:]
    assert call.message.calls[0].name == "ls"
    assert (result.message.role, result.message.call_id) == ("tool", "c1")
    assert [stored.origin for stored in mem.sessions.show("s-1").messages] == [
        "user",
        "agent",
        "tool",
    ]


@pytest.mark.parametrize("message", [{"nonsense": True}, {"role": "user", "content": 5}, ""])
def test_an_invalid_message_is_refused_and_nothing_is_stored(mem: Mem, message: object) -> None:
    with pytest.raises(recollect.InvalidInput):
        mem.record("s-1", message)  # type: ignore[arg-type]
    assert mem.sessions.list() == ()


@pytest.mark.parametrize("name", ["", "../up", "a/b", "a b\n", "x" * 300, "..", "nul\x00"])
def test_a_session_name_is_a_name_and_not_a_path(mem: Mem, name: str) -> None:
    with pytest.raises(recollect.InvalidInput):
        mem.record(name, "hello")


def test_secrets_are_redacted_and_reported(mem: Mem) -> None:
    token = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    recorded = mem.record("s-1", f"use {token} for the release <private>my diary</private>")
    assert recorded.redacted
    (content,) = contents(mem, "s-1")
    assert token not in str(content)
    assert "diary" not in str(content)
    assert "for the release" in str(content)


def test_sessions_are_listed_newest_first(mem: Mem) -> None:
    for name in ("one", "two", "three"):
        mem.record(name, "hello", agent="codex")
    mem.record("one", "again")
    assert [session.id for session in mem.sessions.list()] == ["one", "three", "two"]
    assert mem.sessions.list()[0].agent == "codex"
    assert len(mem.sessions.list(limit=2)) == 2


def test_a_session_is_shown_by_a_prefix_of_its_id(mem: Mem) -> None:
    mem.record("alpha-1", "hello")
    mem.record("alpha-2", "hello")
    shown = mem.sessions.show("alpha-2").session
    assert shown is not None
    with pytest.raises(recollect.InvalidInput, match="several"):
        mem.sessions.show("alpha")
    with pytest.raises(recollect.NotFound):
        mem.sessions.show("beta")


def test_a_range_of_messages_is_shown(mem: Mem) -> None:
    for number in range(1, 101):
        mem.record("s-1", f"message {number}")
    assert len(mem.sessions.show("s-1").messages) == 50
    assert [item.seq for item in mem.sessions.show("s-1", first=10, last=12).messages] == [
        10,
        11,
        12,
    ]
    shown = mem.show("memory://session/s-1/messages/98-100")
    assert [item.message.content for item in shown.messages] == [
        "message 98", "message 99", "message 100",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("damage", "says"),
    [
        (
            "UPDATE messages SET body = replace(body, 'three', 'drei') WHERE seq = 3",
            "3 was changed",
        ),
        ("DELETE FROM messages WHERE seq = 3", "message 3 is missing"),
        ("DELETE FROM messages WHERE seq = 5", "end of the chain"),
        ("UPDATE messages SET at = at + 1 WHERE seq = 2", "2 does not follow"),
        ("UPDATE messages SET role = 'system' WHERE seq = 2", "2 does not follow"),
        ("UPDATE messages SET origin = 'system' WHERE seq = 2", "2 does not follow"),
        ("UPDATE messages SET digest = 'x' WHERE seq = 4", "4 was changed"),
        ("DELETE FROM sessions; DELETE FROM messages", "1 sessions were begun, 0 are there"),
    ],
)
def test_a_changed_archive_is_detected(
    project: object, environment: dict[str, str], damage: str, says: str, engine: str
) -> None:
    with recollect.open(str(project), environment=environment) as memory:
        for word in ("one", "two", "three", "four", "five"):
            memory.record("s-1", word)
        assert memory.verify(archive=True).messages == 5
        if engine == "postgres":
            statements = damage.split("; ")
            memory.context.project_space.write(lambda tx: [tx.run(one) for one in statements])
        else:
            connection = apsw.Connection(f"{project}/.recollect/memory.db")
            connection.execute(damage)
            connection.close()
        with pytest.raises(recollect.StoreCorrupt, match=says):
            memory.verify(archive=True)
