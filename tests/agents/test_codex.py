"""Codex's rollouts: the recorded one, and small ones for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.agents.codex import hooks
from recollect.types.records import Json
from tests.agents.reading import SAMPLES, Told, read, words, write

ROLLOUT = SAMPLES / "codex-0.166.0.rollout.jsonl"


def line(kind: str, second: float = 0, **payload: Json) -> dict[str, Json]:
    stamp = f"2026-06-01T10:00:{second:06.3f}Z"
    return {"timestamp": stamp, "type": kind, "payload": payload}


def meta(thread: str, second: float = 0, **more: Json) -> dict[str, Json]:
    return line("session_meta", second, id=thread, cwd="/w/p", git={"branch": "main"}, **more)


def said(role: str, text: str, second: float = 1, **more: Json) -> dict[str, Json]:
    kind = "output_text" if role == "assistant" else "input_text"
    content = [{"type": kind, "text": text}]
    return line("response_item", second, type="message", role=role, content=content, **more)


def call(own: str, name: str = "exec_command", second: float = 1) -> dict[str, Json]:
    return line(
        "response_item", second, type="function_call", name=name, arguments="{}", call_id=own
    )


def output(own: str, text: str, second: float = 1) -> dict[str, Json]:
    return line("response_item", second, type="function_call_output", call_id=own, output=text)


def count(total: int, last: int, second: float = 1) -> dict[str, Json]:
    info = {
        "total_token_usage": {"input_tokens": total},
        "last_token_usage": {"input_tokens": last},
    }
    return line("event_msg", second, type="token_count", info=info)


def tell(tmp_path: Path, *records: dict[str, Json], name: str = "rollout-1.jsonl") -> Told:
    return read("codex", write(tmp_path / name, records))


# ---------------------------------------------------------------- the recorded rollout


def test_a_paginated_rollout_is_read_once() -> None:
    told = read("codex", ROLLOUT)
    assert [(origin, role) for origin, role, _ in told.lines] == [
        ("user", "user"),
        ("agent", "assistant"),
        ("tool", "tool"),
        ("agent", "assistant"),
    ]
    assert words(told.messages[0]) == "Remember the build uses make"
    assert told.messages[1].calls[0][:2] == ("call_A", "exec_command")
    assert told.messages[2].call_id == "call_A" and words(told.messages[2]).endswith("one\n")
    assert told.damage == []


def test_tokens_in_two_records_are_counted_once() -> None:
    told = read("codex", ROLLOUT)
    assert told.spent() == {"input_tokens": 20, "output_tokens": 10, "cache_read_tokens": 8}
    assert {m.model for m in told.messages if m.role == "assistant"} == {"gpt-5"}


def test_injected_instructions_and_hook_context_are_skipped() -> None:
    for _, _, text in read("codex", ROLLOUT).lines:
        assert "MEMORY-CONTEXT" not in text and "AGENTS.md" not in text


def test_reading_twice_gives_the_same_keys_and_no_key_twice() -> None:
    once = read("codex", ROLLOUT)
    assert once == read("codex", ROLLOUT)
    assert len({m.key for m in once.messages}) == 4


# ---------------------------------------------------------------- rule by rule


@pytest.mark.parametrize(
    "text",
    [
        "# AGENTS.md instructions for /w/p\n\n<INSTRUCTIONS>\nbe nice\n</INSTRUCTIONS>",
        "<environment_context>\n<cwd>/w</cwd>\n</environment_context>",
        "<turn_aborted>\nThe user interrupted\n</turn_aborted>",
        "<skill>\n<name>x</name>\n</skill>",
    ],
)
def test_unlabelled_injections_of_older_rollouts_are_recognised_by_their_text(
    tmp_path: Path, text: str
) -> None:
    told = tell(tmp_path, meta("t"), said("user", text), said("user", "typed"))
    assert told.lines == [("user", "user", "typed")]


def test_only_the_typed_block_of_a_mixed_item_is_kept(tmp_path: Path) -> None:
    record = said("user", "typed")
    record["payload"]["content"].append({"type": "input_text", "text": "from a hook"})
    record["payload"]["internal_chat_message_metadata_passthrough"] = {
        "content_item_kinds": ["user.text", "hooks.additional_context"]
    }
    assert tell(tmp_path, meta("t"), record).lines == [("user", "user", "typed")]


def test_context_that_an_editor_adds_before_a_prompt_is_not_typed(tmp_path: Path) -> None:
    opened = "# Context from my IDE setup:\n\n## Active selection of the file:\n"
    chosen = "## My request for Codex:\nAlways run x.\n\n"
    prompt = f"{opened}{chosen}## My request for Codex:\nfix the build\n"
    image = {"type": "input_image", "image_url": "https://example.org/a.png"}
    shown = said("user", prompt)
    shown["payload"]["content"].insert(0, image)
    told = tell(tmp_path, meta("t1"), said("user", prompt), shown)
    assert [(origin, role) for origin, role, _ in told.lines] == [
        ("user", "user"),
        ("tool", "system"),
    ] * 2
    assert told.lines[0][2] == "fix the build" and told.about().name == "fix the build"
    assert "Always run x." in told.lines[1][2] and "Always" not in told.lines[2][2]
    assert len({message.key for message in told.messages}) == 4


def test_the_same_text_twice_is_two_messages(tmp_path: Path) -> None:
    told = tell(tmp_path, meta("t"), said("user", "yes"), said("user", "yes", 5))
    assert len({m.key for m in told.messages}) == 2


def test_a_repeated_total_is_not_counted_again(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        meta("t"),
        said("user", "go"),
        call("c1"),
        output("c1", "ok"),
        count(100, 100),
        count(100, 100),
        said("assistant", "done", 9),
        count(250, 150, 9),
    )
    assert told.spent() == {"input_tokens": 250}
    assert [m.usage for m in told.messages] == [
        None,
        {"input_tokens": 100},
        None,
        {"input_tokens": 150},
    ]


def test_a_count_that_arrives_after_its_answer_was_read_is_not_lost(tmp_path: Path) -> None:
    path = write(tmp_path / "rollout-1.jsonl", [meta("t"), said("assistant", "one")])
    first = read("codex", path)
    records = [meta("t"), said("assistant", "one"), count(7, 7), said("assistant", "two", 9)]
    write(path, [*records, count(12, 5, 9)])
    second = read("codex", path, first.cursor)
    assert [words(m) for m in (*first.messages, *second.messages)] == ["one", "two"]
    assert second.spent() == {"input_tokens": 12}


@pytest.mark.parametrize(
    ("text", "failed"),
    [
        ("Process exited with code 0\nOutput:\n", False),
        ("Chunk ID: a\nProcess exited with code 2\nOutput:\n", True),
        ("Exit code: 1\nWall time: 0 seconds\n", True),
        ('{"output":"x","metadata":{"exit_code": 3}}', True),
        ("plain", False),
    ],
)
def test_a_failed_command_is_an_error(tmp_path: Path, text: str, failed: bool) -> None:
    told = tell(tmp_path, meta("t"), call("c1"), output("c1", text))
    assert told.messages[-1].is_error is failed


def test_encrypted_reasoning_is_skipped_and_readable_reasoning_is_kept(tmp_path: Path) -> None:
    sealed = line("response_item", type="reasoning", summary=[], encrypted_content="x")
    summary = [{"type": "summary_text", "text": "Checking"}]
    told = tell(
        tmp_path, meta("t"), sealed, line("response_item", type="reasoning", summary=summary)
    )
    (message,) = told.messages
    assert message.content == ({"type": "reasoning", "text": "Checking"},)


def test_copied_lines_of_a_fork_belong_to_its_parent(tmp_path: Path) -> None:
    parent = tell(tmp_path, meta("p"), said("user", "first"), call("c1", second=2))
    fork = tell(
        tmp_path,
        meta("f", 30, forked_from_id="p"),
        meta("p", 30.001),
        said("user", "first", 30.002),
        call("c1", second=30.003),
        said("user", "own words", 40),
        said("assistant", "own answer", 40.1),
        name="rollout-2.jsonl",
    )
    assert [(e.session, words(e.message)) for e in fork.entries] == [
        ("codex.p", "first"),
        ("codex.p", ""),
        ("codex.f", "own words"),
        ("codex.f", "own answer"),
    ]
    assert [m.key for m in parent.messages] == [m.key for m in fork.messages[:2]]
    assert fork.about("codex.f").parent == "codex.p"


def test_the_first_prompt_of_a_spawned_thread_has_the_origin_agent(tmp_path: Path) -> None:
    source = {"subagent": {"thread_spawn": {"parent_thread_id": "p", "agent_role": "explorer"}}}
    told = tell(tmp_path, meta("c", source=source), said("user", "look at the tests"))
    assert told.lines == [("agent", "user", "look at the tests")]
    assert (told.about().parent, told.about().agent) == ("codex.p", "codex/explorer")


@pytest.mark.parametrize(
    "about",
    [
        {"source": {"subagent": {"other": "guardian"}}},
        {"source": {"subagent": "review"}},
        {"source": "cli", "thread_source": "subagent"},
        {"source": {"subagent": {"thread_spawn": {"parent_thread_id": "t0"}}}},
    ],
)
def test_prompts_of_threads_that_codex_starts_are_not_typed(
    tmp_path: Path, about: dict[str, Json]
) -> None:
    records = (meta("t1", **about), said("user", "Always run x."))
    told = tell(tmp_path, *records)
    assert told.lines == [("agent", "user", "Always run x.")]
    payload = {
        "hook_event_name": "UserPromptSubmit",
        "session_id": "t1",
        "turn_id": "u1",
        "prompt": "Always run x.",
        "transcript_path": str(tmp_path / "rollout-1.jsonl"),
    }
    assert hooks.parse(payload, {}).subagent
    tell(tmp_path, meta("t1", source="cli", thread_source="user"))
    assert not hooks.parse(payload, {}).subagent


def test_a_compaction_is_kept_as_a_summary_with_the_origin_agent(tmp_path: Path) -> None:
    told = tell(tmp_path, meta("t"), line("compacted", 5, message="we did this"))
    (entry,) = told.entries
    assert (entry.origin, entry.message.role, entry.message.name) == (
        "agent",
        "system",
        "compact_summary",
    )


def test_results_of_our_own_tools_are_removed(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        meta("t"),
        call("c1", "mcp__recollect__memory_recall"),
        output("c1", "Always use tabs."),
    )
    assert words(told.messages[-1]) == "[an answer of recollect, left out]"


def test_custom_tools_and_searches_are_calls_too(tmp_path: Path) -> None:
    patch = line(
        "response_item", type="custom_tool_call", call_id="c1", name="apply_patch", input="x"
    )
    out = line("response_item", type="custom_tool_call_output", call_id="c1", output="Exit code: 0")
    search = line("response_item", type="web_search_call", action={"query": "zstd"})
    told = tell(tmp_path, meta("t"), patch, out, search)
    assert told.messages[0].calls[0].name == "apply_patch"
    assert told.messages[1].call_id == "c1"
    assert told.damage == [] and len(told.messages) == 3
