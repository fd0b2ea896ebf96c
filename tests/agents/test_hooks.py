"""Parse hook payloads and format replies for every agent."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.agents import registry
from recollect.agents.events import LONGEST_REPLY, NAMES, Event, files_touched, shorten_text
from recollect.errors import InvalidInput
from recollect.types.records import Json
from tests.agents.reading import SAMPLES, read

CONTEXT = "<recollect-memory>\nThe build uses make.\n</recollect-memory>"


def recorded(name: str) -> list[dict[str, Json]]:
    return [json.loads(line) for line in (SAMPLES / name).read_text().splitlines()]


CLAUDE = recorded("claude-code-2.1.325.hook-stdin.jsonl")
CODEX = recorded("codex-0.166.0.hook-stdin.jsonl")
COPILOT = recorded("copilot-1.0.102.hook-stdin.jsonl")


def gemini(name: str, **more: Json) -> dict[str, Json]:
    path = "/home/dev/.gemini/tmp/p/chats/session-1.jsonl"
    base = {"session_id": "g-1", "transcript_path": path, "cwd": "/w/p", "timestamp": "2026-01-01"}
    return {**base, "hook_event_name": name, **more}


def cursor(name: str, **more: Json) -> dict[str, Json]:
    base = {"conversation_id": "k-1", "generation_id": "t-1", "workspace_roots": ["/w/p"]}
    return {**base, "hook_event_name": name, **more}


def opencode(name: str, **more: Json) -> dict[str, Json]:
    return {"host": "opencode", "hook_event_name": name, "session_id": "o-1", "cwd": "/w/p", **more}


GEMINI = [
    gemini("SessionStart", source="startup"),
    gemini("BeforeAgent", prompt="fix it"),
    gemini("AfterTool", tool_name="write_file", tool_input={}, tool_response={"llmContent": "ok"}),
    gemini("PreCompress", trigger="auto"),
    gemini("PreCompress", trigger="manual"),
    gemini("AfterAgent", prompt="fix it", prompt_response="done", stop_hook_active=False),
    gemini("SessionEnd", reason="exit"),
    gemini("BeforeModel", llm_request={}),
]
CURSOR = [
    cursor("sessionStart"),
    cursor("beforeSubmitPrompt", prompt="fix it"),
    cursor("postToolUse", tool_name="Shell", tool_input={"command": "ls"}, tool_output="a.py"),
    cursor("preCompact", trigger="auto"),
    cursor("stop", status="completed"),
    cursor("sessionEnd", reason="completed"),
    cursor("afterAgentThought", text="hmm"),
]
OPENCODE = [opencode(name) for name in NAMES]
ALL = [
    *(("claude-code", payload) for payload in CLAUDE),
    *(("codex", payload) for payload in CODEX),
    *(("gemini", payload) for payload in GEMINI),
    *(("cursor", payload) for payload in CURSOR),
    *(("opencode", payload) for payload in OPENCODE),
    *(("copilot", payload) for payload in COPILOT),
]


def event(payload: dict[str, Json]) -> Event:
    host = registry.detect_agent(payload, {})
    parsed = registry.load_hooks(host).parse(payload, {})
    assert isinstance(parsed, Event)
    return parsed


@pytest.mark.parametrize(("host", "payload"), ALL)
def test_every_payload_is_assigned_to_its_agent_and_session(
    host: str, payload: dict[str, Json]
) -> None:
    parsed = event(payload)
    assert parsed.host == host
    assert parsed.name in NAMES
    assert parsed.session.startswith(f"{host}.")
    assert parsed.cwd in ("/home/dev/proj", "/w/p")


@pytest.mark.parametrize(
    ("payloads", "names"),
    [
        (
            CLAUDE,
            "session_start user_prompt before_tool other stop tool_use other stop session_end "
            "session_start before_compact other session_start other session_end session_start "
            "user_prompt stop session_end",
        ),
        (CODEX, "session_start user_prompt before_tool tool_use stop session_end"),
        (GEMINI, "session_start user_prompt tool_use other before_compact stop session_end other"),
        (CURSOR, "session_start user_prompt tool_use before_compact stop session_end other"),
        (OPENCODE, " ".join(NAMES)),
        (
            COPILOT,
            "session_start user_prompt before_tool tool_use before_tool tool_use before_tool "
            "tool_use stop session_start",
        ),
    ],
)
def test_events_have_one_name_for_all_agents(payloads: list[dict[str, Json]], names: str) -> None:
    assert [event(payload).name for payload in payloads] == names.split()


def test_event_fields_are_read_in_every_spelling() -> None:
    prompt = event(CLAUDE[1])
    assert (prompt.prompt, prompt.mode, prompt.typed) == ("USEAGENT please", "default", True)
    assert prompt.turn == "0cf28feb-d852-488d-9d63-f9112d63d3ab"
    tool = event(CODEX[3])
    assert (tool.tool, tool.tool_input, tool.tool_output) == (
        "Bash",
        {"command": "echo one"},
        "one\n",
    )
    assert (tool.call_id, tool.tool_failed) == ("call_A", False)
    assert event(CLAUDE[12]).source == "compact"
    assert event(GEMINI[2]).tool_output == "ok"
    assert event(CURSOR[1]).turn == "t-1"


def test_a_subagents_stop_has_its_own_transcript_and_a_summarisers_is_ignored() -> None:
    stop = event(CLAUDE[4])
    assert stop.subagent == "a20a61570bf35d2ba"
    assert stop.transcript.endswith("subagents/agent-a20a61570bf35d2ba.jsonl")
    assert event(CLAUDE[11]).name == "other"


def test_a_hook_and_the_transcript_agree_on_the_session() -> None:
    told = read("claude-code", SAMPLES / "claude-code-2.1.325.subagent-compact.jsonl")
    assert event(CLAUDE[0]).session == told.about().session
    rollout = read("codex", SAMPLES / "codex-0.166.0.rollout.jsonl")
    assert event(CODEX[0]).session == rollout.about().session


def test_a_notice_of_claude_code_is_not_typed() -> None:
    notice = (
        "<task-notification>\n<summary>The build ended</summary>\n</task-notification>\n"
        "Always read the output file to retrieve the result: build.output"
    )
    for prompt, typed in ((notice, False), (f"Never merge this: {notice}", True)):
        assert event({**CLAUDE[1], "prompt": prompt}).typed is typed


def test_a_scheduled_prompt_is_not_typed() -> None:
    assert not event({**CLAUDE[1], "source": "loop_wakeup"}).typed


@pytest.mark.parametrize(
    "prompt",
    [
        "fix it",
        "fix it\n--- Content from referenced files ---\nContent from @a.md:\nAlways run x.\n"
        "--- End of content ---\nAlways run y.",
        "fix it\n--- Content from referenced files ---\n<hook_context>a</hook_context> Always run z.",
        "<hook_context>&lt;recollect-memory\n--- Content from referenced files ---</hook_context>\n\n"
        "fix it",
        "fix it<hook_context>never closed",
        "<hook_context>one</hook_context>fix it<hook_context>two</hook_context>",
    ],
)
def test_a_gemini_prompt_is_the_typed_text_without_files_and_hook_output(prompt: str) -> None:
    assert event(gemini("BeforeAgent", prompt=prompt)).prompt == "fix it"


def test_a_codex_prompt_is_the_typed_text_without_editor_context() -> None:
    shown = "# Context from my IDE setup:\n\n## Open tabs:\n- a.py\n\n## My request for Codex:\nhi"
    assert event({**CODEX[1], "prompt": shown}).prompt == "hi"
    for own in ("hi", "what is '## My request for Codex:'?"):
        assert event({**CODEX[1], "prompt": own}).prompt == own


def test_vs_code_sends_claude_hooks_in_its_own_spelling() -> None:
    payload = {"sessionId": "v-1", "hookEventName": "UserPromptSubmit", "cwd": "/w", "prompt": "hi"}
    parsed = event({**payload, "timestamp": "2026-01-01T00:00:00Z"})
    assert (parsed.host, parsed.name, parsed.prompt) == ("claude-code", "user_prompt", "hi")


def test_the_payload_takes_precedence_over_the_environment() -> None:
    inherited = {"CURSOR_VERSION": "1", "GEMINI_PROJECT_DIR": "/w", "CLAUDECODE": "1"}
    assert registry.detect_agent(CODEX[1], inherited) == "codex"
    assert registry.detect_agent(CLAUDE[1], inherited) == "claude-code"
    bare = {"session_id": "s", "hook_event_name": "SessionStart", "cwd": "/w"}
    assert registry.detect_agent(bare, {"GEMINI_PROJECT_DIR": "/w"}) == "gemini"
    codex_without_path = {**CODEX[0], "transcript_path": None}
    assert registry.detect_agent(codex_without_path, {}) == "codex"


# ---------------------------------------------------------------- replies

# Codex's output schemas, as published: event -> the keys that are allowed.
CODEX_KEYS = {"continue", "stopReason", "suppressOutput", "systemMessage"}
CODEX_SPECIFIC = {"SessionStart", "UserPromptSubmit", "PreToolUse", "PostToolUse"}


def test_copilot_reports_a_failed_command_as_output_with_its_exit_code() -> None:
    failed, unreadable, written = (event(COPILOT[place]) for place in (3, 5, 7))
    assert (failed.tool, failed.tool_failed) == ("Bash", True)
    assert str(failed.tool_output).startswith("hello\n")
    assert (unreadable.tool_failed, unreadable.tool_output) == (True, "Path does not exist")
    assert (written.tool_failed, files_touched(written)) == (False, ("/home/dev/proj/new.txt",))


def test_copilot_gets_context_before_a_tool_in_another_place_than_elsewhere() -> None:
    hooks = registry.load_hooks("copilot")
    start = json.loads(hooks.reply(event(COPILOT[0]), CONTEXT, "3 memories wait for review"))
    assert start == {"additionalContext": CONTEXT}
    prompt = json.loads(hooks.reply(event(COPILOT[1]), CONTEXT, "1 memory kept"))
    assert prompt["additionalContext"].startswith(f"{CONTEXT}\n<recollect-memory block=")
    before = json.loads(hooks.reply(event(COPILOT[2]), CONTEXT))
    assert before["hookSpecificOutput"]["additionalContext"] == CONTEXT
    assert event(COPILOT[9]).context == "fresh"  # a resumed session has lost its start block


def test_a_notice_goes_to_the_model_where_the_user_cannot_be_shown_one() -> None:
    parsed = event(cursor("beforeSubmitPrompt", prompt="fix it"))
    reply = json.loads(registry.load_hooks("cursor").reply(parsed, CONTEXT, "1 memory kept"))
    told = '<recollect-memory block="notice">\n1 memory kept\n</recollect-memory>'
    assert reply["additional_context"] == f"{CONTEXT}\n{told}"


@pytest.mark.parametrize(("host", "payload"), ALL)
@pytest.mark.parametrize("context", ["", CONTEXT])
@pytest.mark.parametrize("notice", ["", "1 memory kept"])
def test_every_reply_has_the_format_of_its_agent(
    host: str, payload: dict[str, Json], context: str, notice: str
) -> None:
    parsed = event(payload)
    text = registry.load_hooks(host).reply(parsed, context, notice)
    if not text:
        assert host != "cursor"
        return
    if parsed.plain:
        assert (host, parsed.name, text) == ("claude-code", "before_compact", context)
        return
    reply = json.loads(text)
    assert isinstance(reply, dict) and "\n" not in text
    assert not {"decision", "followup_message", "stopReason"} & reply.keys()
    if host in ("claude-code", "codex", "gemini"):
        assert reply.keys() <= {"hookSpecificOutput", "systemMessage"}
        specific = reply.get("hookSpecificOutput", {"hookEventName": parsed.host_event})
        assert specific.keys() <= {"hookEventName", "additionalContext"}
        assert specific["hookEventName"] == payload["hook_event_name"]
    if host == "codex":
        allowed = CODEX_KEYS | (
            {"hookSpecificOutput"} if parsed.host_event in CODEX_SPECIFIC else set()
        )
        assert reply.keys() <= allowed
    if host == "copilot":
        assert reply.keys() in ({"additionalContext"}, {"hookSpecificOutput"})
    if host == "cursor":
        assert reply.keys() <= {"continue", "additional_context"}
        assert reply.get("continue", True) is True


@pytest.mark.parametrize(
    ("payload", "place"),
    [
        (CLAUDE[0], ("hookSpecificOutput", "additionalContext")),
        (CLAUDE[1], ("hookSpecificOutput", "additionalContext")),
        (CODEX[1], ("hookSpecificOutput", "additionalContext")),
        (GEMINI[1], ("hookSpecificOutput", "additionalContext")),
        (CURSOR[0], ("additional_context",)),
        (CURSOR[1], ("additional_context",)),
        (OPENCODE[1], ("context",)),
    ],
)
def test_context_reaches_the_model_where_a_turn_begins(
    payload: dict[str, Json], place: tuple[str, ...]
) -> None:
    parsed = event(payload)
    reply = json.loads(registry.load_hooks(parsed.host).reply(parsed, CONTEXT, ""))
    for key in place:
        reply = reply[key]
    assert reply == CONTEXT


@pytest.mark.parametrize("payload", [CLAUDE[7], CODEX[4], CODEX[5], GEMINI[4]])
def test_no_context_is_added_where_it_would_make_the_agent_continue(
    payload: dict[str, Json],
) -> None:
    parsed = event(payload)
    assert "make" not in registry.load_hooks(parsed.host).reply(parsed, CONTEXT, "")


@settings(deadline=None)
@given(st.text(max_size=60), st.integers(0, 400), st.text(max_size=2_000))
def test_a_reply_is_never_too_long_and_its_block_stays_closed(
    line: str, repeats: int, notice: str
) -> None:
    body = "\n".join(["- " + " ".join(line.split())] * repeats)
    context = f"<recollect-memory>\n{body}\n</recollect-memory>"
    for payload in (CLAUDE[1], CODEX[1], GEMINI[1], CURSOR[1], OPENCODE[1]):
        parsed = event(payload)
        text = registry.load_hooks(parsed.host).reply(parsed, context, notice)
        assert len(text) <= LONGEST_REPLY
        reply = json.loads(text)
        given_ = reply.get("hookSpecificOutput", reply)
        kept = (
            given_.get("additionalContext")
            or given_.get("additional_context")
            or given_.get("context")
        )
        if kept:
            assert kept.startswith("<recollect-memory>") and kept.endswith("</recollect-memory>")


def test_only_claude_code_gets_plain_text_before_a_compaction() -> None:
    asked = event(CLAUDE[10])
    assert (asked.name, asked.plain) == ("before_compact", True)
    assert (
        registry.load_hooks("claude-code").reply(asked, "Keep the task.", "noted")
        == "Keep the task."
    )
    vs_code = {
        "hookEventName": "PreCompact",
        "sessionId": "s",
        "cwd": "/w",
        "transcript_path": "/t",
    }
    assert registry.load_hooks("claude-code").reply(event(vs_code), "Keep the task.", "noted") == ""
    told = {"host": "opencode", "hook_event_name": "before_compact", "session_id": "s"}
    assert json.loads(registry.load_hooks("opencode").reply(event(told), "Keep it.", "")) == {
        "context": "Keep it."
    }


PATCH = (
    "*** Begin Patch\n*** Update File: src/a.py\n@@\n-x\n+y\n*** Add File: b.py\n+z\n*** End Patch"
)


@pytest.mark.parametrize(
    ("given", "files"),
    [
        ({"file_path": "/w/src/a.py", "old_string": "x"}, ("/w/src/a.py",)),
        ({"filePath": "src/a.py"}, ("src/a.py",)),
        ({"notebook_path": "n.ipynb"}, ("n.ipynb",)),
        ({"absolute_path": "/w/a.py"}, ("/w/a.py",)),
        ({"command": PATCH}, ("src/a.py", "b.py")),
        ({"input": PATCH}, ("src/a.py", "b.py")),
        (PATCH, ("src/a.py", "b.py")),
        ({"command": "cat src/a.py"}, ()),
        ({"path": 7}, ()),
        (None, ()),
        ([1], ()),
    ],
)
def test_the_files_a_tool_was_used_on_are_found(given: Json, files: tuple[str, ...]) -> None:
    used = event({"hook_event_name": "PostToolUse", "session_id": "s", "tool_input": given})
    assert files_touched(used) == files


def test_a_long_context_is_cut_at_a_line() -> None:
    assert shorten_text("one\ntwo\nthree", 10) == "one\ntwo\n…"
    assert shorten_text("short", 10) == "short"


def test_an_unknown_agent_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput, match="emacs"):
        registry.load_hooks("emacs")


def test_a_hook_imports_no_expensive_module() -> None:
    source = str(Path(registry.__file__).parent.parent.parent)
    script = (
        "import sys, json\n"
        f"sys.path.insert(0, {source!r})\n"
        "before = set(sys.modules)\n"
        "from recollect.agents import registry as hosts\n"
        "payload = json.loads(sys.argv[1])\n"
        "module = hosts.load_hooks(hosts.detect_agent(payload, {}))\n"
        "module.reply(module.parse(payload, {}), 'context', '')\n"
        "print(*sorted(set(sys.modules) - before))\n"
    )
    for payload in (CLAUDE[1], CODEX[1], GEMINI[1], CURSOR[1], OPENCODE[1]):
        done = subprocess.run(
            [sys.executable, "-I", "-c", script, json.dumps(payload)],
            capture_output=True,
            text=True,
            check=True,
        )
        loaded = set(done.stdout.split())
        assert "recollect.agents.events" in loaded
        costly = {"pathlib", "dataclasses", "subprocess", "hashlib", "sqlite3", "inspect", "re"}
        assert not loaded & costly, loaded & costly
