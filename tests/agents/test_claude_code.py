"""Claude Code's transcripts: the recorded ones, and small ones for each rule."""

from __future__ import annotations

from pathlib import Path

import pytest

from recollect.capture.sentences import capture
from recollect.types.records import Json
from tests.agents.reading import SAMPLES, Told, read, words, write

SESSION = "claude-code.s-1"
COMPACTED = SAMPLES / "claude-code-2.1.325.subagent-compact.jsonl"
PARALLEL = SAMPLES / "claude-code-2.1.325.parallel-tools.jsonl"
SUBAGENT = SAMPLES / "claude-code-2.1.325.subagent-file.jsonl"


def user(content: Json, **more: Json) -> dict[str, Json]:
    return {
        "type": "user",
        "uuid": more.pop("uuid", f"u-{content}"),
        "sessionId": "s-1",
        "cwd": "/w/p",
        "gitBranch": "main",
        "timestamp": "2026-11-15T07:00:00Z",
        "message": {"role": "user", "content": content},
        **more,
    }


def assistant(
    *blocks: Json, uuid: str = "a-1", request: str = "msg_1", **usage: int
) -> dict[str, Json]:
    return {
        "type": "assistant",
        "uuid": uuid,
        "sessionId": "s-1",
        "timestamp": "2026-11-15T07:00:01Z",
        "message": {
            "id": request,
            "role": "assistant",
            "model": "m-1",
            "content": list(blocks),
            "usage": usage,
        },
    }


def text(words: str) -> dict[str, str]:
    return {"type": "text", "text": words}


def call(own: str, name: str = "Bash", **given: str) -> dict[str, Json]:
    return {"type": "tool_use", "id": own, "name": name, "input": given}


def result(own: str, content: Json, **more: Json) -> dict[str, Json]:
    return {"type": "tool_result", "tool_use_id": own, "content": content, **more}


def tell(tmp_path: Path, *records: dict[str, Json]) -> Told:
    return read("claude-code", write(tmp_path / "s-1.jsonl", records))


# ---------------------------------------------------------------- recorded transcripts


def test_parallel_calls_and_their_results_are_all_there() -> None:
    told = read("claude-code", PARALLEL)
    assert told.lines == [
        ("user", "user", "Remember the build uses make"),
        ("agent", "assistant", "I will run two commands."),
        ("agent", "assistant", ""),
        ("agent", "assistant", ""),
        ("tool", "tool", "one"),
        ("tool", "tool", "two"),
        ("agent", "assistant", "Done: the build uses make."),
    ]
    calls = [c for message in told.messages for c in message.calls]
    assert [(c.id, c.name) for c in calls] == [("toolu_A", "Bash"), ("toolu_B", "Bash")]
    assert '"echo one"' in calls[0].arguments
    assert [m.call_id for m in told.messages if m.role == "tool"] == ["toolu_A", "toolu_B"]


def test_the_tokens_of_a_request_are_counted_once() -> None:
    told = read("claude-code", PARALLEL)
    assert told.spent() == {"input_tokens": 32, "output_tokens": 14, "cache_read_tokens": 10}


def test_times_models_and_the_place_are_kept() -> None:
    told = read("claude-code", PARALLEL)
    assert told.about().name == "Remember the build uses make"
    assert told.about().cwd == "/home/dev/proj"
    assert told.about().agent == "claude-code"
    assert [m.at for m in told.messages] == sorted(m.at for m in told.messages)
    assert told.messages[0].at == 1794728084104000
    assert {m.model for m in told.messages if m.role == "assistant"} == {"claude-sonnet-4-5"}


def test_hook_output_is_removed_from_messages() -> None:
    for path in (COMPACTED, PARALLEL, SUBAGENT):
        assert not [m for m in read("claude-code", path).messages if "MEMORY-CONTEXT" in words(m)]


def test_a_compacted_session_separates_prompts_from_host_messages() -> None:
    told = read("claude-code", COMPACTED)
    typed = [line[2] for line in told.lines if line[0] == "user"]
    assert typed == ["USEAGENT please", "/compact", "PLAIN hello after compact"]
    (summary,) = [e for e in told.entries if e.message.name == "compact_summary"]
    assert (summary.origin, summary.message.role) == ("agent", "system")
    assert {e.origin for e in told.entries if e.message.name == "host"} == {"tool"}
    assert told.damage == []


def test_a_subagent_has_its_own_session_and_its_prompt_has_the_origin_agent(
    tmp_path: Path,
) -> None:
    path = tmp_path / "agent-a20a61570bf35d2ba.jsonl"
    path.write_bytes(SUBAGENT.read_bytes())
    meta = SAMPLES / "claude-code-2.1.325.subagent.meta.json"
    path.with_name("agent-a20a61570bf35d2ba.meta.json").write_bytes(meta.read_bytes())
    told = read("claude-code", path)
    parent = read("claude-code", COMPACTED).about().session
    assert told.about().session == f"{parent}.agent-a20a61570bf35d2ba"
    assert told.about().parent == parent
    assert told.about().agent == "claude-code/general-purpose"
    assert told.about().name == "sub work"
    assert told.lines[0] == ("agent", "user", "SUBTASK-PROMPT look")


@pytest.mark.parametrize("path", [COMPACTED, PARALLEL, SUBAGENT])
def test_reading_twice_gives_the_same_keys_and_no_key_twice(path: Path) -> None:
    once, twice = read("claude-code", path), read("claude-code", path)
    assert once == twice
    keys = [message.key for message in once.messages]
    assert len(set(keys)) == len(keys)


# ---------------------------------------------------------------- rule by rule


def test_a_count_that_grows_line_by_line_ends_at_the_last_count(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        assistant(
            {"type": "thinking", "thinking": ""}, uuid="a0", input_tokens=11, output_tokens=3
        ),
        assistant(text("one"), uuid="a1", input_tokens=11, output_tokens=3),
        user([result("t1", "out")]),
        assistant(call("t2"), uuid="a2", input_tokens=11, output_tokens=495),
        assistant(text("next"), uuid="a3", request="msg_2", input_tokens=5, output_tokens=1),
    )
    assert told.spent() == {"input_tokens": 16, "output_tokens": 496}


def test_a_failed_tool_is_an_error_and_thinking_is_kept_as_reasoning(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        assistant({"type": "thinking", "thinking": "hmm", "signature": "x"}, call("t1")),
        user([result("t1", [text("no such file")], is_error=True)]),
    )
    thought, failed = told.messages
    assert thought.content[0]["type"] == "reasoning" and thought.calls[0].id == "t1"  # type: ignore[index]
    assert (failed.is_error, words(failed)) == (True, "no such file")


def test_a_record_with_words_and_results_gives_each_its_own_key(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        user([result("t1", "a"), result("t2", "b"), text("go on")], uuid="u"),
    )
    assert [m.key for m in told.messages] == ["u/t1", "u/t2", "u.2"]
    assert [e.origin for e in told.entries] == ["tool", "tool", "user"]


@pytest.mark.parametrize(
    ("content", "more", "expected"),
    [
        ("<local-command-stdout>ok</local-command-stdout>", {}, ("tool", "system")),
        ("[Request interrupted by user]", {}, ("tool", "system")),
        ("<task-notification>done</task-notification>", {}, ("tool", "system")),
        ("a skill's text", {"isMeta": True}, ("tool", "system")),
        ("what a tool said", {"toolUseResult": {"stdout": ""}}, ("tool", "system")),
        ("what a tool set off", {"sourceToolUseID": "t1"}, ("tool", "system")),
        ("wake up", {"promptSource": "schedule_wakeup"}, ("tool", "system")),
        ("from a peer", {"origin": {"kind": "peer"}}, ("tool", "system")),
        ("typed", {"origin": {"kind": "human"}}, ("user", "user")),
        ("typed", {"promptSource": "sdk"}, ("user", "user")),
        ("Implement the following plan:", {"planContent": "# Plan"}, ("agent", "user")),
        ("look around", {"isSidechain": True, "agentId": "a1"}, ("agent", "user")),
        ("```\nall of it pasted\n```", {}, ("tool", "user")),
    ],
)
def test_only_typed_text_has_the_origin_user(
    tmp_path: Path, content: str, more: dict[str, Json], expected: tuple[str, str]
) -> None:
    (entry,) = tell(tmp_path, user(content, **more)).entries
    assert (entry.origin, entry.message.role) == expected


def test_pasted_parts_of_a_prompt_are_marked(tmp_path: Path) -> None:
    prompt = "fix this please\n```\nyou must never use it\n```\nthanks"
    (entry,) = tell(tmp_path, user(prompt)).entries
    assert entry.origin == "user"
    assert [prompt[start:end] for start, end in entry.pasted] == ["```\nyou must never use it\n```"]
    assert capture(prompt) == []


def test_slash_commands_and_shell_lines_become_what_was_typed(tmp_path: Path) -> None:
    command = (
        "<command-message>memory</command-message>\n<command-name>/memory</command-name>\n"
        "<command-args>search tabs</command-args>"
    )
    told = tell(tmp_path, user(command), user("<bash-input>ls -l</bash-input>"))
    assert told.lines == [("user", "user", "/memory search tabs"), ("user", "user", "! ls -l")]
    assert told.about().name == "! ls -l"


def test_own_blocks_are_removed_and_an_empty_rest_is_no_message(tmp_path: Path) -> None:
    block = "<recollect-memory>\nAlways use tabs.\n</recollect-memory>"
    told = tell(tmp_path, user(f"{block}\nhello"), user(block), user([text(f"hi {block}")]))
    assert [line[2].strip() for line in told.lines] == ["hello", "hi"]


def test_results_of_our_own_tools_are_removed_and_their_calls_are_kept(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        assistant(call("t1", "mcp__recollect__memory_recall", query="tabs"), call("t2", "Read")),
        user([result("t1", "Always use tabs."), result("t2", "file text")]),
    )
    assert [words(m) for m in told.messages if m.role == "tool"] == [
        "[an answer of recollect, left out]",
        "file text",
    ]
    assert [c.name for c in told.messages[0].calls] == ["mcp__recollect__memory_recall", "Read"]


@pytest.mark.parametrize(
    ("name", "command", "ours"),
    [
        ("mcp__plugin_recollect_recollect__memory_recall", "", True),
        ("mcp__plugin_other_recollect_like__x", "", False),
        ("Bash", 'recollect recall "tabs" --json', True),
        ("Bash", "cd /w/p && /opt/venv/bin/recollect show m-1", True),
        ("Bash", "recollect recall tabs; cat notes.txt", False),
        ("Bash", "recollect recall tabs 2>&1 | head -20", True),
        ("Bash", "cd /w && /opt/bin/recollect list --json | jq '.[].text' | sort", True),
        ("Bash", "recollect recall tabs | sh", False),
        ("Bash", "recollect recall tabs & cat notes.txt", False),
        ("Bash", "grep -r recollect .", False),
        ("Bash", "pip install recollect", False),
    ],
)
def test_our_own_answers_are_removed_for_every_way_of_calling(
    tmp_path: Path, name: str, command: str, ours: bool
) -> None:
    told = tell(
        tmp_path,
        assistant(call("t1", name, command=command)),
        user([result("t1", "Always use tabs.")]),
    )
    (answer,) = [words(message) for message in told.messages if message.role == "tool"]
    assert answer == ("[an answer of recollect, left out]" if ours else "Always use tabs.")


def test_copied_records_of_a_fork_belong_to_the_parent_with_the_same_key(tmp_path: Path) -> None:
    parent = read("claude-code", write(tmp_path / "s-1.jsonl", [user("first", uuid="u1")]))
    copied = user("first", uuid="other", sessionId="s-2")
    copied["forkedFrom"] = {"sessionId": "s-1", "messageUuid": "u1"}
    own = user("second", uuid="u2", sessionId="s-2")
    fork = read("claude-code", write(tmp_path / "s-2.jsonl", [copied, own]))
    assert [(e.session, e.message.key) for e in fork.entries] == [
        (SESSION, "u1"),
        ("claude-code.s-2", "u2"),
    ]
    assert (parent.entries[0].session, parent.messages[0].key) == (SESSION, "u1")


def test_a_resumed_copy_keeps_the_key_it_had(tmp_path: Path) -> None:
    first = read("claude-code", write(tmp_path / "a.jsonl", [user("hello", uuid="u1")]))
    resumed = user("hello", uuid="u1", sessionId="s-9")
    second = read("claude-code", write(tmp_path / "b.jsonl", [resumed]))
    assert first.messages[0].key == second.messages[0].key


def test_a_prompt_queued_while_the_agent_worked_is_read_once(tmp_path: Path) -> None:
    def queue(operation: str, **more: Json) -> dict[str, Json]:
        return {"type": "queue-operation", "operation": operation, "sessionId": "s-1", **more}

    attached = {
        "type": "attachment",
        "uuid": "q",
        "sessionId": "s-1",
        "attachment": {
            "type": "queued_command",
            "prompt": "also the docs",
            "commandMode": "prompt",
        },
    }
    told = tell(
        tmp_path,
        queue("enqueue", content="also the docs"),
        queue("remove", reason="absorbed_mid_turn"),
        attached,
        queue("enqueue", content="<task-notification>x</task-notification>"),
        queue("remove"),
        queue("enqueue", content="normal"),
        queue("dequeue"),
        user("normal"),
    )
    assert [line[2] for line in told.lines] == ["also the docs", "also the docs", "normal"]
    assert told.messages[0].key == told.messages[1].key != told.messages[2].key


def test_a_title_beats_the_first_prompt_and_the_users_title_beats_both(tmp_path: Path) -> None:
    told = tell(
        tmp_path,
        {"type": "summary", "summary": "of another session", "leafUuid": "x"},
        user("first prompt"),
        {"type": "custom-title", "customTitle": "mine", "sessionId": "s-1"},
        {"type": "ai-title", "aiTitle": "the machine's", "sessionId": "s-1"},
    )
    assert told.about().name == "mine"


def test_a_change_of_branch_is_reported(tmp_path: Path) -> None:
    told = tell(tmp_path, user("a"), user("b"), user("c", gitBranch="feature"))
    assert [found.branch for found in told.found if found.branch] == ["main", "feature"]


def test_an_api_error_is_not_an_answer_of_the_model(tmp_path: Path) -> None:
    told = tell(tmp_path, {**assistant(text("API Error: 529")), "isApiErrorMessage": True})
    assert told.entries == [] and told.skipped[0].reason == "assistant/api error"


def test_unknown_records_are_skipped_by_name(tmp_path: Path) -> None:
    told = tell(tmp_path, {"type": "brand-new"}, {"type": "system", "subtype": "odd"}, {})
    assert [s.reason for s in told.skipped] == ["brand-new", "system/odd", "no type"]
    assert told.damage == []
