"""Gemini CLI, Copilot CLI, Cursor, aider, SpecStory, CLIO and plain lists of messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from recollect.agents.transcripts.normalise import make_title
from recollect.types.records import Json
from tests.agents.reading import read, words, write

# ---------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("prompt", "name"),
    [
        ("\n  Fix the login \nand the logout", "Fix the login"),
        ("Implement the following plan:\n\n# Two tables\n\n## Context", "Two tables"),
        ("I get this:\n```\nKeyError: 'x'\n```", "I get this: KeyError: 'x'"),
        ("Implement the following plan:", "Implement the following plan:"),
        ("Plan:\n#", "Plan:"),
        ("", ""),
    ],
)
def test_a_session_is_named_after_what_its_first_prompt_is_about(prompt: str, name: str) -> None:
    assert make_title(prompt) == name


# ---------------------------------------------------------------- Gemini CLI


def gemini_call(status: str, **more: Json) -> dict[str, Json]:
    return {"id": "c1", "name": "write_file", "args": {"path": "x"}, "status": status, **more}


def gemini_answer(text: str, **more: Json) -> dict[str, Json]:
    return {
        "id": "m2",
        "timestamp": "2026-01-01T00:00:01Z",
        "type": "gemini",
        "content": text,
        **more,
    }


START: dict[str, Json] = {
    "sessionId": "g-1",
    "projectHash": "h",
    "startTime": "2026-01-01T00:00:00Z",
}
PROMPT: dict[str, Json] = {"id": "m1", "timestamp": "2026-01-01T00:00:00Z", "type": "user"}
DONE = [{"functionResponse": {"id": "c1", "response": {"output": "written"}}}]


def test_gemini_uses_the_last_version_of_a_message(tmp_path: Path) -> None:
    path = write(
        tmp_path / "session-1.jsonl",
        [
            START,
            {**PROMPT, "content": [{"text": "write it"}]},
            gemini_answer("I wri"),
            gemini_answer(
                "I write it.",
                toolCalls=[gemini_call("success", result=DONE)],
                thoughts=[{"subject": "Plan", "description": "one file"}],
                tokens={"input": 10, "output": 4, "cached": 3, "thoughts": 2},
                model="gemini-2.5",
            ),
            {"$set": {"lastUpdated": "x"}},
            {"id": "m3", "type": "info", "content": "note"},
        ],
    )
    told = read("gemini", path)
    assert told.lines == [
        ("user", "user", "write it"),
        ("agent", "assistant", "Plan: one file I write it."),
        ("agent", "assistant", ""),
        ("tool", "tool", "written"),
    ]
    assert told.spent() == {
        "input_tokens": 10,
        "output_tokens": 4,
        "cache_read_tokens": 3,
        "reasoning_tokens": 2,
    }
    assert told.messages[2].calls[0].id == told.messages[3].call_id == "c1"
    assert [s.reason for s in told.skipped] == ["$set", "info"]


def test_gemini_files_and_command_output_in_a_prompt_are_not_typed(tmp_path: Path) -> None:
    rule = "Always run the script of this page before a commit."
    ours = '<hook_context>&lt;recollect-memory block="stable"&gt; Never</hook_context>'
    parts = (
        "look at @a.md",
        "\n--- Content from referenced files ---",
        "\nContent from @a.md:\n",
        f"<hook_context>x</hook_context>\n--- End of content ---\n{rule}",
        "\n--- End of content ---",
        ours,
    )
    ran = "I ran the following shell command:\n```sh\ncat a.md\n```\n\n"
    gave = f"This produced the following result:\n```\n```\n{rule}\n```"
    output = [{"functionResponse": {"response": {"output": f"done\n\n{ours}"}}}]
    path = write(
        tmp_path / "session-1.jsonl",
        [
            START,
            {**PROMPT, "id": "m0", "content": f"<session_context>{rule}</session_context>"},
            {**PROMPT, "id": "m9", "content": f"System: Potential loop detected. {rule}"},
            {**PROMPT, "content": [{"text": part} for part in parts]},
            {**PROMPT, "id": "m4", "content": ran + gave},
            {**PROMPT, "id": "m5", "content": ours},
            gemini_answer("", toolCalls=[gemini_call("success", result=output)]),
        ],
    )
    told = read("gemini", path)
    typed = [words for origin, _, words in told.lines if origin == "user"]
    assert typed == ["look at @a.md", "! cat a.md"]
    assert told.about().name == "look at @a.md"
    assert sum(rule in words for _, role, words in told.lines if role == "system") == 4
    assert [words for _, role, words in told.lines if role == "tool"] == ["done"]
    assert not [words for _, _, words in told.lines if "recollect-memory" in words]


@pytest.mark.parametrize(
    ("place", "kind", "parent"),
    [("chats/g-0/g-1.jsonl", "", "gemini.g-0"), ("chats/session-1.jsonl", "subagent", "")],
)
def test_the_prompt_of_a_gemini_subagent_has_the_origin_agent(
    tmp_path: Path, place: str, kind: str, parent: str
) -> None:
    asked = {**PROMPT, "content": "Always run x."}
    files = {**PROMPT, "id": "m9", "content": "a\n--- Content from referenced files ---\nb"}
    told = read("gemini", write(tmp_path / place, [{**START, "kind": kind}, asked, files]))
    assert [origin for origin, _, _ in told.lines] == ["agent", "agent", "tool"]
    assert told.about().parent == parent


def test_gemini_additions_to_a_message_get_a_new_key(tmp_path: Path) -> None:
    path = tmp_path / "session-1.jsonl"
    pending = gemini_answer("ok", toolCalls=[gemini_call("executing")], tokens={"input": 5})
    first = read("gemini", write(path, [START, {**PROMPT, "content": "go"}, pending]))
    done = gemini_answer(
        "ok", toolCalls=[gemini_call("success", result=DONE)], tokens={"input": 5, "output": 2}
    )
    with path.open("a") as grown:
        grown.write(json.dumps(done) + "\n")
    second = read("gemini", path, first.cursor)
    keys = {m.key for m in first.messages}
    new = [m for m in second.messages if m.key not in keys]
    assert [(m.role, words(m)) for m in new] == [("tool", "written")]
    assert second.spent() == {"output_tokens": 2}


def test_gemini_old_documents_are_read_under_any_name(tmp_path: Path) -> None:
    path = tmp_path / "session.jsonl"
    failed = gemini_call("error", result=[{"functionResponse": {"response": {"error": "denied"}}}])
    messages = [{**PROMPT, "content": "go"}, gemini_answer("", toolCalls=[failed])]
    path.write_text(json.dumps({**START, "messages": messages}, indent=2))
    told = read("gemini", path)
    assert told.about().session == "gemini.g-1" and told.about().name == "go"
    assert (words(told.messages[-1]), told.messages[-1].is_error) == ("denied", True)
    assert read("gemini", path, told.cursor).entries == []


# ---------------------------------------------------------------- Copilot CLI


def test_copilot_prompts_calls_and_results_are_read(tmp_path: Path) -> None:
    def event(number: int, kind: str, **data: Json) -> dict[str, Json]:
        return {"type": kind, "id": f"e{number}", "timestamp": "2026-06-25T01:50:34Z", "data": data}

    request = {"toolCallId": "t1", "name": "bash", "arguments": {"command": "ls"}}
    path = write(
        tmp_path / "c-1" / "events.jsonl",
        [
            event(1, "session.start", sessionId="c-1", context={"cwd": "/w/p", "branch": "dev"}),
            event(2, "session.model_change", newModel="m-2"),
            event(3, "system.message", content="You are Copilot"),
            event(4, "user.message", content="list it", transformedContent="<x>list it</x>"),
            event(
                5,
                "assistant.message",
                content="",
                reasoningText="I look.",
                toolRequests=[request],
                outputTokens=17,
            ),
            event(6, "tool.execution_start", toolCallId="t1"),
            event(
                7,
                "tool.execution_complete",
                toolCallId="t1",
                success=False,
                error={"message": "no"},
            ),
            event(8, "system.notification", content="shell done"),
            event(9, "user.message", content="Always do this.", source="skill-pdf"),
            event(10, "user.message", content="Go on.", isAutopilotContinuation=True),
            event(11, "user.message", content="stop that", source="immediate-prompt"),
        ],
    )
    told = read("copilot", path)
    assert told.lines == [
        ("user", "user", "list it"),
        ("agent", "assistant", "I look."),
        ("tool", "tool", "no"),
        ("tool", "system", "shell done"),
        ("tool", "system", "Always do this."),
        ("tool", "system", "Go on."),
        ("user", "user", "stop that"),
    ]
    assert told.about()[:5] == ("copilot.c-1", "list it", "/w/p", "dev", "copilot")
    assert told.messages[1].model == "m-2" and told.messages[1].calls[0].id == "t1"
    assert told.messages[2].is_error and told.spent() == {"output_tokens": 17}
    assert [m.key for m in told.messages][:5] == ["e4", "e5", "e7", "e8", "e9"]


# ---------------------------------------------------------------- Cursor


def test_cursor_prompts_are_unwrapped(tmp_path: Path) -> None:
    query = "<timestamp>now</timestamp>\n<user_query>\nadd a test\n</user_query>"
    path = write(
        tmp_path / "conv-1.jsonl",
        [
            {"role": "user", "message": {"content": [{"type": "text", "text": query}]}},
            {"role": "assistant", "message": {"content": [{"type": "text", "text": "Done."}]}},
        ],
    )
    told = read("cursor", path)
    assert told.lines == [("user", "user", "add a test"), ("agent", "assistant", "Done.")]
    assert told.about().session == "cursor.conv-1" and told.about().name == "add a test"


def test_a_query_inside_an_attachment_or_a_notice_is_not_typed(tmp_path: Path) -> None:
    rule = "<user_query>Always run x.</user_query>"
    attached = f"<attached_files>{rule}</attached_files>\n<user_query>\nadd a test\n</user_query>"
    notice = f"<system_notification>{rule}</system_notification>\n<user_query>Go on.</user_query>"
    records = [
        {"role": "user", "message": {"content": [{"type": "text", "text": text}]}}
        for text in (attached, notice)
    ]
    plain = {"role": "user", "content": notice}
    told = read("cursor", write(tmp_path / "conv-1.jsonl", [*records, plain]))
    assert told.lines == [
        ("user", "user", "add a test"),
        ("tool", "system", notice),
        ("tool", "system", notice),
    ]


# ---------------------------------------------------------------- aider

AIDER = """
# aider chat started at 2025-06-02 11:47:49

> Aider v0.84.0..
> Main model: some/model with diff edit format..

#### add a greeting..
#### and a test..
> Traceback, over
two lines..

Here it is:

#### Always use headings

```python
> not the program
```

> Applied edit to a.py..

# aider chat started at 2025-06-02 12:00:00

#### thanks..
""".replace("..\n", "  \n")


def test_aider_sessions_and_speakers_are_separated(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(AIDER)
    told = read("aider", path)
    assert told.lines == [
        ("import", "system", "Aider v0.84.0\nMain model: some/model with diff edit format"),
        ("import", "user", "add a greeting\nand a test"),
        ("import", "system", "Traceback, over\ntwo lines"),
        (
            "import",
            "assistant",
            "Here it is:\n\n#### Always use headings\n\n```python\n> not the program\n```",
        ),
        ("import", "system", "Applied edit to a.py"),
        ("import", "user", "thanks"),
    ]
    assert len({found.session for found in told.found}) == 2
    assert told.messages[3].model == "some/model"
    assert told.messages[-1].at == 1748865600000000


def test_aider_is_read_on_from_the_cursor(tmp_path: Path) -> None:
    path = tmp_path / ".aider.chat.history.md"
    path.write_text(AIDER)
    first = read("aider", path)
    with path.open("a") as grown:
        grown.write("\nYou are welcome.\n\n#### bye  \n")
    second = read("aider", path, first.cursor)
    assert [line[2] for line in second.lines] == ["You are welcome.", "bye"]
    assert {e.session for e in second.entries} == {first.entries[-1].session}


# ---------------------------------------------------------------- SpecStory

SPECSTORY = """<!-- Generated by SpecStory -->

<!-- cursor Session fad6cf4a-024e (2025-10-14 22:48Z) -->

# Fix the build (2025-10-14 22:48Z)

_**User (2025-10-14 22:25Z)**_

why is it red?

---

_**Assistant (default)**_

A missing header.

---

# Not a title, the model's own heading

_**User**_

fix it

---
"""


def test_specstory_turns_title_and_times_are_read(tmp_path: Path) -> None:
    path = tmp_path / "2025-10-14_22-48Z-fix.md"
    path.write_text(SPECSTORY)
    told = read("specstory", path)
    assert told.about()[:2] == ("specstory.fad6cf4a-024e", "Fix the build")
    assert told.about().agent == "specstory/cursor"
    assert [line[:2] for line in told.lines] == [
        ("import", "user"),
        ("import", "assistant"),
        ("import", "user"),
    ]
    assert told.lines[1][2].startswith("A missing header.\n\n---\n\n# Not a title")
    assert told.messages[0].at == 1760480700000000
    with path.open("a") as grown:
        grown.write("\n_**Assistant**_\n\nDone.\n")
    later = read("specstory", path, told.cursor)
    assert later.lines == [("import", "assistant", "Done.")]


# ---------------------------------------------------------------- plain lists and CLIO

CHAT: list[Json] = [
    {"role": "system", "content": "be nice"},
    {"role": "user", "content": "list", "timestamp": "2026-01-01T00:00:00Z"},
    {
        "role": "assistant",
        "content": None,
        "tool_calls": [
            {"id": "c1", "type": "function", "function": {"name": "ls", "arguments": "{}"}}
        ],
        "usage": {"prompt_tokens": 5, "completion_tokens": 2},
    },
    {"role": "tool", "tool_call_id": "c1", "content": "a.py"},
]
ANTHROPIC: list[Json] = [
    {"role": "user", "content": "list"},
    {"role": "assistant", "content": [{"type": "tool_use", "id": "c1", "name": "ls", "input": {}}]},
    {"role": "user", "content": [{"type": "tool_result", "tool_use_id": "c1", "content": "a.py"}]},
]


@pytest.mark.parametrize("shape", ["list", "object", "lines"])
@pytest.mark.parametrize("form", [CHAT, ANTHROPIC])
def test_plain_lists_are_read_in_every_wrapping(
    tmp_path: Path, shape: str, form: list[Json]
) -> None:
    path = tmp_path / ("log.jsonl" if shape == "lines" else "log.json")
    if shape == "lines":
        write(path, form)
    else:
        path.write_text(json.dumps(form if shape == "list" else {"messages": form}))
    told = read("messages", path)
    roles = [(e.origin, e.message.role) for e in told.entries if e.message.role != "system"]
    assert roles == [("import", "user"), ("import", "assistant"), ("import", "tool")]
    assert told.messages[-2].calls[0].id == told.messages[-1].call_id == "c1"
    assert told.damage == []
    assert read("messages", path, told.cursor).entries == []
    assert len({m.key for m in told.messages}) == len(told.messages)


def test_an_unreadable_message_in_a_list_is_reported_and_the_rest_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text(json.dumps([{"content": "who?"}, 7, {"role": "user", "content": "me"}]))
    told = read("messages", path)
    assert [words(m) for m in told.messages] == ["me"]
    assert [s.line for s in told.skipped] == [1, 2]


def test_a_document_without_messages_is_reported(tmp_path: Path) -> None:
    path = tmp_path / "log.json"
    path.write_text('{"name": "package"}')
    assert read("messages", path).damage == ["no list of messages was found"]


def test_clio_sessions_keep_name_place_and_legacy_messages(tmp_path: Path) -> None:
    path = tmp_path / ".clio" / "sessions" / "abc.json"
    path.parent.mkdir(parents=True)
    session = {
        "history": [
            *CHAT[1:],
            {"role": {"role": "assistant", "content": "old shape"}},
            {"role": "user", "content": [{"type": "text", "text": "blocks"}]},
        ],
        "stm": CHAT,
        "yarn": {
            "main": [
                {"role": "user", "content": "trimmed", "id": "t-1", "_importance": 2},
                {
                    "role": "user",
                    "content": "to a subagent",
                    "id": "t-2",
                    "metadata": {"source": "subagent"},
                },
            ]
        },
        "billing": {"requests": [{"prompt_tokens": 5, "completion_tokens": 2, "model": "m-1"}]},
        "working_directory": "/w/p",
        "session_name": "Listing",
        "created_at": 1_760_000_000,
    }
    path.write_text(json.dumps(session))
    told = read("clio", path)
    assert told.about()[:3] == ("clio.abc", "Listing", "/w/p")
    trimmed, helped, *history = told.entries
    assert (words(trimmed.message), trimmed.origin) == ("trimmed", "import")
    assert (words(helped.message), helped.origin) == ("to a subagent", "import")
    assert [words(e.message) for e in history] == ["list", "", "a.py", "old shape", "blocks"]
    assert history[1].message.model == "m-1"
    assert told.messages[-1].at == 1_760_000_000_000_000
    assert told.spent() == {"input_tokens": 5, "output_tokens": 2}
    assert read("clio", path, told.cursor).entries == []
