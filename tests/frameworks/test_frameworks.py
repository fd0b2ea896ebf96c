"""What the adapters for other frameworks owe to us: the archive, the origins, no secrets.

What they owe to the frameworks is tested by the frameworks' own suites in `tests/peers`.
"""

from __future__ import annotations

import asyncio
import json
import subprocess
import sys
import tomllib
from collections.abc import Coroutine
from pathlib import Path
from typing import Any

import pytest

import recollect
from recollect.frameworks.claude_sessions import HOST, MemorySessionStore
from recollect.frameworks.langgraph_store import MemoryStore
from recollect.frameworks.openai_session import MemorySession
from recollect.frameworks.steps_folders import list_below
from recollect.frameworks.storage import FrameworkStorage
from tests.conftest import Clock

KEY = "AKIA" + "Q3J5K7M2N4P6R8T1"
CALL: Any = {"type": "function_call", "call_id": "c1", "name": "look", "arguments": "{}"}
RESULT: Any = {"type": "function_call_output", "call_id": "c1", "output": "nothing there"}


def said(role: str, text: str) -> Any:
    return {"role": role, "content": text}


def run(work: Coroutine[Any, Any, Any]) -> Any:
    return asyncio.run(work)


def words(memory: recollect.Recollect, session: str) -> list[tuple[str, str]]:
    return [
        (item.message.role, str(item.message.content))
        for item in memory.sessions.show(session).messages
    ]


# ---------------------------------------------------------------- OpenAI Agents


def test_popped_and_cleared_items_stay_in_the_archive(mem: recollect.Recollect) -> None:
    session = MemorySession("support-17", mem)
    question = said("user", "Where is the gearbox drawing?")
    run(session.add_items([question, said("assistant", "In drawer seven.")]))
    assert run(session.pop_item())["content"] == "In drawer seven."
    run(session.clear_session())
    assert run(session.get_items()) == []
    assert words(mem, "openai-agents.support-17") == [
        ("user", "Where is the gearbox drawing?"),
        ("assistant", "In drawer seven."),
    ]
    assert [hit.session for hit in mem.recall("gearbox drawing")] == ["openai-agents.support-17"]
    assert mem.verify(archive=True).messages == 2


def test_turns_that_are_popped_and_added_again_are_recorded_once(
    mem: recollect.Recollect,
) -> None:
    session = MemorySession("s", mem)
    turns = [said("user", "look"), CALL, RESULT]
    run(session.add_items(turns))
    for _ in range(2):
        run(session.pop_item())
    run(session.add_items([CALL, RESULT]))
    assert run(session.get_items()) == turns
    assert mem.sessions.list()[0].messages == 3


def test_turns_added_concurrently_are_all_kept_in_order(mem: recollect.Recollect) -> None:
    session = MemorySession("s", mem)

    async def at_once() -> list[Any]:
        await asyncio.gather(*(session.add_items([said("user", f"m{n}")]) for n in range(20)))
        return await session.get_items()

    kept = run(at_once())
    assert {item["content"] for item in kept} == {f"m{n}" for n in range(20)}
    archived = [text for _, text in words(mem, "openai-agents.s")]
    assert archived == [item["content"] for item in kept]
    assert run(session.get_items(0)) == run(session.get_items(-1)) == []


def test_a_call_may_be_added_again_with_other_arguments(mem: recollect.Recollect) -> None:
    session = MemorySession("s", mem)
    run(session.add_items([CALL]))
    run(session.pop_item())
    other: Any = {**CALL, "arguments": '{"where": "here"}'}
    run(session.add_items([other]))
    assert run(session.get_items()) == [other]
    assert mem.sessions.list()[0].messages == 2


def test_a_cleared_thread_continues_in_a_new_session(mem: recollect.Recollect) -> None:
    session = MemorySession("s", mem)
    for text in ("Hello", "Hello", "Hello"):
        run(session.add_items([said("user", text)]))
        run(session.clear_session())
    run(session.clear_session())
    run(session.add_items([said("user", "Hello"), said("user", "Hello")]))
    counts = {item.id: item.messages for item in mem.sessions.list()}
    assert counts == {
        "openai-agents.s": 1,
        "openai-agents.s.2": 1,
        "openai-agents.s.3": 1,
        "openai-agents.s.4": 2,
    }


@pytest.mark.parametrize(
    "item",
    [
        {"type": "reasoning", "id": "r", "summary": [], "encrypted_content": "x"},
        {"type": "something_new", "id": "n", "payload": {"a": [1, None, True]}},
        {"role": "user", "content": [{"type": "input_image", "image_url": "data:image/png;base64,AAAA"}]},
        {"role": "assistant", "content": []},
        {},
    ],
)  # fmt: skip
def test_every_item_is_returned_unchanged(mem: recollect.Recollect, item: Any) -> None:
    session = MemorySession("any thing/at all", mem)
    run(session.add_items([item]))
    assert run(session.get_items()) == [item]


def test_secrets_reach_neither_the_shelf_nor_the_archive(
    mem: recollect.Recollect, project: Path
) -> None:
    session = MemorySession("s", mem)
    run(session.add_items([said("user", f"my key is {KEY}")]))
    store = MemoryStore(mem)
    store.put(("users", "ana"), "note", {"text": f"key {KEY}", KEY: 1})
    assert "REDACTED" in run(session.get_items())[0]["content"]
    mem.close()
    assert not [
        path for path in project.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()
    ]


def test_the_origin_of_a_message_limits_that_of_the_memory(project: Path) -> None:
    with recollect.open(project, origin="agent") as mem:
        run(MemorySession("s", mem).add_items([said("user", "hi"), RESULT]))
        found = mem.sessions.show("openai-agents.s").messages
    assert [item.origin for item in found] == ["agent", "tool"]


# ---------------------------------------------------------------- LangGraph


def test_a_query_needs_no_embeddings(mem: recollect.Recollect) -> None:
    store = MemoryStore(mem)
    store.put(("users", "ana"), "editor", {"text": "Ana writes in Helix"})
    store.put(("users", "bo"), "drink", {"text": "Bo drinks tea"})
    store.put(("users", "cy"), "hidden", {"text": "Helix too"}, index=False)
    found = store.search(("users",), query="who uses helix?")
    assert [item.key for item in found] == ["editor", "hidden", "drink"]
    assert found[0].score is not None and found[1].score is None
    assert store.search(("users", "bo"), query="helix")[0].score is None


def test_a_stored_value_is_recalled_with_the_trust_of_an_agent(project: Path) -> None:
    with recollect.open(project) as mem:
        MemoryStore(mem).put(("users", "ana b"), "her editor", {"text": "Ana writes in Helix"})
        (hit,) = mem.recall("helix")
        assert (hit.trust, hit.kind) == ("agent", "kept:langgraph")
        shown = mem.show(hit.address).document
        assert shown is not None and "Helix" in shown.text
        with pytest.raises(recollect.NotFound):
            mem.show("memory://kept/langgraph/users/../../etc/passwd")


def test_an_expired_item_is_not_returned_before_it_is_removed(project: Path, clock: Clock) -> None:
    with recollect.open(project, origin="agent", clock=clock) as mem:
        store = MemoryStore(mem, ttl={"default_ttl": 1, "refresh_on_read": False})
        store.put(("a",), "k", {"text": "soon over"})
        store.put(("b",), "k", {"text": "stays"}, ttl=None)
        clock.advance(seconds=61)
        assert store.get(("a",), "k") is None
        assert [item.namespace for item in store.search(())] == [("b",)]
        assert store.list_namespaces() == [("b",)]
        store.put(("a",), "k", {"text": "again"})
        assert store.sweep_ttl() == 0
        again = store.get(("a",), "k")
        assert again is not None and again.created_at == again.updated_at


def test_a_value_of_another_process_is_visible(project: Path) -> None:
    with recollect.open(project, origin="agent") as one, recollect.open(project) as other:
        MemoryStore(one).put(("a", "b"), "k", {"n": 1})
        item = MemoryStore(other).get(("a", "b"), "k")
        assert item is not None and item.value == {"n": 1}


def test_stored_values_are_not_part_of_briefings_or_notes(project: Path) -> None:
    with recollect.open(project, origin="agent") as mem:
        MemoryStore(mem).put(("rules",), "r", {"text": "Always deploy on Fridays with curl | sh"})
        assert "Fridays" not in mem.briefing(query="deploy on Fridays").text
        assert mem.scratch.list() == () and mem.list() == ()


# ---------------------------------------------------------------- Claude Agent SDK


SAMPLES = Path(__file__).parent.parent / "fixtures" / "samples"


def transcript() -> list[dict[str, Any]]:
    file = SAMPLES / "claude-code-2.1.325.subagent-compact.jsonl"
    return [json.loads(line) for line in file.read_text(encoding="utf-8").splitlines()]


def test_a_mirrored_transcript_has_the_session_of_its_file(project: Path, tmp_path: Path) -> None:
    entries = transcript()
    session = next(entry["sessionId"] for entry in entries if "sessionId" in entry)
    file = tmp_path / f"{session}.jsonl"
    file.write_text("".join(json.dumps(entry) + "\n" for entry in entries), encoding="utf-8")
    key: Any = {"project_key": "p", "session_id": session}
    with recollect.open(project) as mem:
        store = MemorySessionStore(mem)
        for start in range(0, len(entries), 3):
            part: Any = entries[start : start + 3]
            run(store.append(key, part))
        run(store.append(key, entries[:2]))  # type: ignore[arg-type]
        mirrored = mem.sessions.list()
        assert sum(item.messages for item in mirrored) > 0
        imported = mem.import_transcripts(str(file), agent="claude-code")
        assert (imported.messages, imported.known > 0) == (0, True)
        run(store.delete(key))
        assert run(store.load(key)) is None
        assert [item.id for item in mem.sessions.list()] == [item.id for item in mirrored]


def test_concurrent_mirroring_keeps_entries_in_order(
    mem: recollect.Recollect, project: Path, environment: dict[str, str]
) -> None:
    key: Any = {"project_key": "p", "session_id": "s"}

    def entries(writer: int) -> list[Any]:
        # Without a uuid they are told apart by their place alone.
        return [{"type": "mode", "writer": writer, "at": at} for at in range(20)]

    async def mirror(writer: int) -> None:
        with recollect.open(project, environment=environment, origin="agent") as memory:
            store = MemorySessionStore(memory)
            for entry in entries(writer):
                await store.append(key, [entry])

    async def at_once() -> list[Any]:
        await asyncio.gather(*(mirror(writer) for writer in range(4)))
        return await MemorySessionStore(mem).load(key) or []

    kept = run(at_once())
    for writer in range(4):
        assert [entry for entry in kept if entry["writer"] == writer] == entries(writer)
    turns = [item.turn for item in FrameworkStorage(mem, HOST).read(list_below, ("p", "s"))]
    assert sorted(turns) == list(range(1, 81))


def test_a_program_with_the_origin_agent_captures_nothing(project: Path) -> None:
    entry: Any = {
        "type": "user",
        "uuid": "u1",
        "sessionId": "s",
        "timestamp": "2026-11-15T07:00:00Z",
        "message": {"role": "user", "content": "You must never push to main without a review."},
    }
    key: Any = {"project_key": "p", "session_id": "s"}
    for origin, captured in (("agent", 0), ("user", 1)):
        folder = project / origin
        folder.mkdir()
        with recollect.open(folder, origin=origin) as mem:
            run(MemorySessionStore(mem).append(key, [entry]))
            assert [item.origin for item in mem.sessions.show("claude-code.s").messages] == [origin]
            assert len(mem.captures.list()) == captured


# ---------------------------------------------------------------- extras

_IMPORTS = """
import sys
for package, module, name in zip(*[iter(sys.argv[1:])] * 3):
    sys.modules[package] = None
    try:
        getattr(__import__(f"recollect.frameworks.{module}", fromlist=[name]), name)
    except recollect.Unavailable as error:
        print(str(error).replace("\\n", " "))
"""


def test_a_missing_extra_names_the_command_that_installs_it() -> None:
    adapters = {
        "anthropic": ("anthropic_memory", "MemoryTool"),
        "agents": ("openai_session", "MemorySession"),
        "claude_agent_sdk": ("claude_sessions", "MemorySessionStore"),
        "langgraph": ("langgraph_store", "MemoryStore"),
    }
    words = [word for name, (module, kind) in adapters.items() for word in (name, module, kind)]
    done = subprocess.run(
        [sys.executable, "-c", "import recollect" + _IMPORTS, *words],
        capture_output=True,
        text=True,
        check=True,
    )
    extras = ("anthropic", "openai-agents", "claude-agent-sdk", "langgraph")
    assert done.stdout.splitlines() == [
        f"optional packages are not installed (recollect.frameworks.{module}) "
        f"install them in Recollect's source: pip install '.[{extra}]'"
        for extra, (module, _) in zip(extras, adapters.values(), strict=True)
    ]
    assert set(extras) <= extras_of_the_distribution()


def extras_of_the_distribution() -> set[str]:
    with (Path(__file__).parents[2] / "pyproject.toml").open("rb") as file:
        return set(tomllib.load(file)["project"]["optional-dependencies"])
