"""Sessions: switch, rename, end; and import of message files."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.interfaces.slash import run_slash
from tests.conftest import Clock
from tests.window.test_windows import call, result, talk

Mem = recollect.Recollect


def test_the_current_session_is_the_one_switched_to_or_else_the_last_active(mem: Mem) -> None:
    mem.record("old", "hello")
    mem.record("new", "hello")
    assert mem.sessions.show().session.id == "new"  # type: ignore[union-attr]
    assert mem.sessions.switch("ol").id == "old"
    mem.record("new", "more")
    assert mem.sessions.show().session.id == "old"  # type: ignore[union-attr]
    assert [item.message.content for item in mem.sessions.recent()] == ["hello"]
    assert mem.sessions.end().status == "ended"
    assert mem.sessions.show().session.id == "new"  # type: ignore[union-attr]
    mem.record("old", "again")
    assert mem.sessions.show("old").session.status == "active"  # type: ignore[union-attr]


def test_without_any_session_there_is_no_current_one(mem: Mem) -> None:
    for look in (mem.sessions.show, mem.sessions.recent, mem.sessions.trim, mem.sessions.end):
        with pytest.raises(recollect.NotFound):
            look()


def test_a_session_is_renamed_without_secrets(mem: Mem) -> None:
    mem.record("s-1", "hello")
    assert mem.sessions.rename("s-1", "The  Redis\nmigration").name == "The Redis migration"
    key = "AKIA" + "Q3J5K7M2N4P6R8T1"
    assert key not in mem.sessions.rename("current", f"with {key}").name
    with pytest.raises(recollect.InvalidInput):
        mem.sessions.rename("s-1", " ")


def test_slash_commands_go_through_the_same_parser(mem: Mem, tmp_path: Path) -> None:
    talk(mem, 6)
    assert "24 messages" in run_slash(mem, "/session show")
    assert "s-1" in run_slash(mem, "/session list")
    assert run_slash(mem, '/session rename s-1 "The move"') == "renamed s-1: The move"
    assert run_slash(mem, "/session switch s-1").startswith("current session: s-1")
    assert run_slash(mem, "/session trim").startswith("trimmed s-1")
    assert json.loads(run_slash(mem, "/session trim --to 1 --json"))["changed"]
    path = tmp_path / "a b.html"
    assert str(path) in run_slash(mem, f'/session export "{path}"')
    assert "word3" in run_slash(mem, "/session search word3 --mode plain")
    assert "usage: recollect session trim" in run_slash(mem, "/session trim --help")
    assert "ended s-1" in run_slash(mem, "/session end")
    assert "no memories yet" in run_slash(mem, "/memory list")
    for wrong in ("/session frobnicate", "/", '/session rename "', "/session trim --project /"):
        with pytest.raises(recollect.InvalidInput):
            run_slash(mem, wrong)


def test_slash_commands_about_memory_work_in_a_chat(mem: Mem) -> None:
    mem.learn("Integration tests need Redis on port 6380", kind="policy")
    for command in ("/memory search integration tests", "/memory view", "/memory list"):
        assert "Redis on port 6380" in run_slash(mem, command), command
    assert "queued for the next start of a session" in run_slash(mem, "/memory enqueue")
    assert "nothing to consolidate" in run_slash(mem, "/consolidate")
    assert "indexed 1 record" in run_slash(mem, "/rebuild")
    with pytest.raises(recollect.InvalidInput, match="needs a subcommand"):
        run_slash(mem, "/memory")
    assert "would hide 1 memory" in run_slash(mem, "/clear")
    assert "hidden: 1 memory" in run_slash(mem, "/clear --apply")
    assert run_slash(mem, "/memory list").startswith("no memories yet")
    assert run_slash(mem, "/clear undo") == "restored: 1"


@pytest.mark.parametrize(
    "asked",
    [
        "don't mock the clock",
        "why don't we mock, and why can't we",
        "the users' clock",
        'what is "the clock',
        '"mock the clock"',
        "'mock the clock' --limit 3",
        r"mock \d the clock # now",
    ],
)
def test_in_a_chat_an_apostrophe_is_a_letter(mem: Mem, asked: str) -> None:
    mem.learn("We don't mock the clock of users in tests")
    assert "mock the clock" in run_slash(mem, f"/memory search {asked}")


def test_a_session_has_one_status_wherever_it_is_shown(mem: Mem, clock: Clock) -> None:
    mem.record("s-1", "hello")
    for later, status in ((0, "active"), (2 * 3_600_000_000, "idle")):
        clock.now += later
        (listed,) = mem.sessions.list()
        found = [listed, mem.sessions.show("s-1").session, mem.show("memory://session/s-1").session]
        assert {one.status for one in found if one} == {status}


def test_a_prefix_of_an_id_means_the_conversation_not_its_subagents(mem: Mem) -> None:
    for session in ("claude-code.77af-9b", "claude-code.77af-9b.agent-1", "claude-code.77b0"):
        mem.record(session, f"hello from {session}")
    meant = {
        "claude-code.77a": "claude-code.77af-9b",
        "claude-code.77af-9b.a": "claude-code.77af-9b.agent-1",
    }
    for said, session in meant.items():
        assert mem.sessions.show(said).messages[0].session == session
    with pytest.raises(recollect.InvalidInput, match="several records"):
        mem.sessions.show("claude-code.77")


# ---------------------------------------------------------------- lists of messages

CHAT: list[dict[str, Any]] = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "list the files"},
    call("c1", "ls", path="."),
    result("c1", "a.py"),
    {"role": "assistant", "content": "One: a.py"},
]
ANTHROPIC: list[dict[str, Any]] = [
    {"role": "user", "content": "list the files"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "t1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "t1", "content": "a.py"}]},
]


def write_lines(path: Path, records: list[dict[str, Any]]) -> str:
    path.write_text("".join(json.dumps(item) + "\n" for item in records), encoding="utf-8")
    return str(path)


def roles(mem: Mem, session: str) -> list[str]:
    return [item.message.role for item in mem.sessions.show(session).messages]


def test_messages_of_both_providers_are_imported_from_json_and_json_lines(
    mem: Mem, tmp_path: Path
) -> None:
    whole = tmp_path / "My Chat.json"
    whole.write_text(json.dumps(CHAT, indent=1), encoding="utf-8")
    assert mem.sessions.import_file(str(whole)).sessions == ("my-chat",)
    assert roles(mem, "my-chat") == ["system", "user", "assistant", "tool", "assistant"]
    lines = write_lines(tmp_path / "b.jsonl", ANTHROPIC)
    done = mem.sessions.import_file(lines, session="s-7")
    assert (done.messages, done.known, done.sessions) == (3, 0, ("s-7",))
    assert roles(mem, "s-7") == ["user", "assistant", "tool"]
    assert {item.origin for item in mem.sessions.show("s-7").messages} == {"import"}


def test_importing_again_changes_nothing_and_a_longer_file_adds_its_end(
    mem: Mem, tmp_path: Path
) -> None:
    path = tmp_path / "talk.jsonl"
    write_lines(path, CHAT)
    assert mem.sessions.import_file(str(path)).messages == 5
    again = mem.sessions.import_file(str(path))
    assert (again.messages, again.known) == (0, 5)
    write_lines(path, [*CHAT, {"role": "user", "content": "list the files"}])
    longer = mem.sessions.import_file(str(path))
    assert (longer.messages, longer.known) == (1, 5)
    assert len(roles(mem, "talk")) == 6


def test_many_messages_are_imported_in_batches_with_progress(mem: Mem, tmp_path: Path) -> None:
    records = [{"role": "user", "content": f"message {n}"} for n in range(1_200)]
    path = write_lines(tmp_path / "long.jsonl", records)
    told: list[Any] = []
    mem.progress = told.append
    assert mem.sessions.import_file(path).messages == 1_200
    assert [item.messages for item in told] == [500, 1_000, 1_200]
    assert told[-1].done == told[-1].total == Path(path).stat().st_size
    assert mem.sessions.import_file(path).known == 1_200


def test_a_line_may_hold_a_whole_conversation(mem: Mem, tmp_path: Path) -> None:
    path = write_lines(tmp_path / "set.jsonl", [{"messages": CHAT}, {"messages": ANTHROPIC}])
    assert mem.sessions.import_file(path).sessions == ("set-1", "set-2")
    assert (len(roles(mem, "set-1")), len(roles(mem, "set-2"))) == (5, 3)


def test_an_exported_session_comes_back_as_it_was(mem: Mem, tmp_path: Path) -> None:
    talk(mem, 3)
    mem.record("s-1", "null \0, half \ud83d, line \u2028 end, <b>&amp;")
    path = str(tmp_path / "s.jsonl")
    mem.sessions.export(path, "s-1")
    assert mem.sessions.import_file(path, session="copy").messages == 13
    before, after = mem.sessions.show("s-1").messages, mem.sessions.show("copy").messages
    assert [item.digest for item in after] == [item.digest for item in before]
    assert [item.message.at for item in after] == [item.message.at for item in before]
    changed = Path(path).read_text(encoding="utf-8").replace("word1", "word9")
    Path(path).write_text(changed, encoding="utf-8")
    with pytest.raises(recollect.InvalidInput, match="was changed after it was exported"):
        mem.sessions.import_file(path, session="forged")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "neither JSON nor JSON lines"),
        ("hello", "neither JSON nor JSON lines"),
        ('{"role": "user", "content": "a"}\n{"role": "user"', "not JSON"),
        ('{"role": "user", "content": "a"}\n[1]', "not a JSON object"),
        ('{"role": "user", "content": "a"}\n{"content": "b"}', "is invalid: it has no role"),
        ("[" * 100_000, "neither JSON nor JSON lines"),
    ],
)
def test_an_invalid_file_is_refused_whole(mem: Mem, tmp_path: Path, text: str, said: str) -> None:
    path = tmp_path / "bad.jsonl"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(recollect.InvalidInput, match=said) as caught:
        mem.sessions.import_file(str(path))
    assert str(path) in caught.value.where
    assert mem.sessions.list() == ()
    with pytest.raises(recollect.InvalidInput, match="cannot be read"):
        mem.sessions.import_file(str(tmp_path / "missing.json"))


def test_a_session_in_which_nobody_speaks_for_an_hour_is_idle_until_somebody_does(
    mem: Mem, clock: Clock
) -> None:
    for name in ("s-1", "s-2", "s-3"):
        mem.record(name, "hello")
    mem.sessions.end("s-3")
    clock.advance(hours=1, seconds=1)
    mem.record("s-2", "still here")

    def listed(status: str = "") -> dict[str, str]:
        return {one.id: one.status for one in mem.sessions.list(status=status)}

    assert listed() == {"s-1": "idle", "s-2": "active", "s-3": "ended"}
    assert listed("idle") == {"s-1": "idle"}
    assert listed("active") == {"s-2": "active"}
    assert listed("ended") == {"s-3": "ended"}
    mem.record("s-1", "back again")
    assert listed("idle") == {}
    with pytest.raises(recollect.InvalidInput, match="not a status of a session"):
        mem.sessions.list(status="asleep")
