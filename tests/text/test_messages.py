"""What comes through the door: every provider's shape, the legacy ones, and what is refused."""

from __future__ import annotations

import base64
import hashlib
import json
from typing import Any

import pytest

from recollect.errors import InvalidInput
from recollect.providers.formats import from_wire, to_request, to_wire
from recollect.text.display import MEMORY_TAG, SUMMARY_TAG
from recollect.text.messages import (
    plain_text,
    refuse_duplicate_calls,
    searchable_text,
)
from recollect.types.records import Message, ToolCall

PNG = base64.b64encode(b"\x89PNG not really an image").decode()

# ---------------------------------------------------------------- the real shapes, by example


def test_parallel_results_go_back_in_one_user_message() -> None:
    messages = [
        Message("user", "run both"),
        Message("assistant", "", (ToolCall("a", "Bash"), ToolCall("b", "Bash"))),
        Message("tool", "one", call_id="a"),
        Message("tool", "two", call_id="b", is_error=True),
        Message("user", "and now?"),
    ]
    last = to_wire(messages, "anthropic")[-1]
    assert last == {
        "role": "user",
        "content": [
            {"type": "tool_result", "tool_use_id": "a", "content": "one"},
            {"type": "tool_result", "tool_use_id": "b", "content": "two", "is_error": True},
            {"type": "text", "text": "and now?"},
        ],
    }


def test_a_request_to_anthropic_has_its_system_apart_and_begins_with_the_user() -> None:
    messages = [
        Message("system", "be brief"),
        Message("system", "<summary>"),
        Message("assistant", "working"),
        Message("assistant", ""),
        Message("system", "the branch changed"),
        Message("user", "go on"),
    ]
    request = to_request(messages, "anthropic")
    assert [block["text"] for block in request["system"]] == ["be brief", "<summary>"]
    assert request["messages"][0] == {
        "role": "user",
        "content": "Older conversation history has been summarized. Continue.",
    }
    assert [record["role"] for record in request["messages"]] == ["user", "assistant", "user"]
    assert "the branch changed" in json.dumps(request["messages"][2])


def test_a_request_to_anthropic_answers_calls_before_anything_else_is_said() -> None:
    messages = [
        Message("user", "go"),
        Message("assistant", "", (ToolCall("a", "Bash"),)),
        Message("developer", "a hook says something"),
        Message("tool", "done", call_id="a"),
    ]
    last = to_request(messages, "anthropic")["messages"][-1]
    assert [block["type"] for block in last["content"]] == ["tool_result", "text"]


def test_inline_images_keep_their_bytes_beside_type_size_and_hash() -> None:
    digest = hashlib.sha256(base64.b64decode(PNG)).hexdigest()
    shapes: list[Any] = [
        {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": PNG}},
        {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{PNG}"}},
        {"type": "input_image", "image_url": f"data:image/png;base64,{PNG}"},
    ]
    for shape, form in zip(shapes, ("anthropic", "chat", "responses"), strict=True):
        (message,) = from_wire([{"role": "user", "content": [shape]}], form)
        assert message.content[0] == {
            "type": "image",
            "media_type": "image/png",
            "bytes": 24,
            "sha256": digest,
            "data": PNG,
        }
        assert to_wire([message], form) == [{"role": "user", "content": [shape]}] or (
            form == "responses"
        )
        assert PNG not in searchable_text(message)


def test_bytes_inside_blocks_that_only_one_format_knows_are_no_words() -> None:
    data = base64.b64encode(b"%PDF" * 2000).decode()
    source = {"type": "base64", "media_type": "application/pdf", "data": data}
    nested = {
        "type": "tool_result",
        "tool_use_id": "a",
        "content": [{"type": "document", "source": source, "title": "the report"}],
    }
    (message,) = from_wire([{"role": "user", "content": [nested]}])
    assert data not in searchable_text(message)
    assert "the report" in searchable_text(message)


def test_reasoning_and_calls_can_be_searched_but_only_words_are_said() -> None:
    (message,) = from_wire(
        [
            {
                "role": "assistant",
                "content": [
                    {"type": "thinking", "thinking": "perhaps the café", "signature": "s"},
                    {"type": "text", "text": "I look."},
                    {
                        "type": "tool_use",
                        "id": "a",
                        "name": "Grep",
                        "input": {"pattern": "überall"},
                    },
                ],
            }
        ]
    )
    assert searchable_text(message) == "perhaps the café\nI look.\nGrep pattern: überall"
    assert plain_text(message) == "I look."


def test_the_answer_of_a_provider_brings_its_usage_along() -> None:
    usage = {"prompt_tokens": 12, "completion_tokens": 3}
    answer = {"role": "assistant", "content": "done"}
    (message,) = from_wire({"model": "m", "choices": [{"message": answer}], "usage": usage})
    assert (message.content, message.model, message.usage) == ("done", "m", usage)


# ---------------------------------------------------------------- legacy shapes


@pytest.mark.parametrize(
    ("record", "expected"),
    [
        ({"role": {"role": "user", "content": "hi"}}, Message("user", "hi")),
        ({"role": {"role": "user"}, "content": "hi"}, Message("user", "hi")),
        ({"role": "user"}, Message("user", "", extra={"chat": {"shape": "absent"}})),
        ({"role": "user", "content": [{"text": "hi"}]}, Message("user", "hi")),
        ({"role": "user", "content": ["hi"]}, Message("user", "hi")),
        ({"role": "human", "content": "hi"}, Message("user", "hi")),
        ({"role": "model", "parts": [{"text": "hi"}]}, Message("assistant", "hi")),
        ({"role": "narrator", "content": "hi"}, Message("assistant", "hi", name="narrator")),
        (
            {"role": "user", "content": " [conversation]hi[/conversation]\n"},
            Message("user", "hi"),
        ),
    ],
)
def test_legacy_shapes_are_understood(record: Any, expected: Message) -> None:
    (message,) = from_wire([record])
    if expected.extra is None:
        message = message._replace(extra=None)
    assert message == expected


def test_words_about_conversation_tags_are_left_alone() -> None:
    text = "why does [conversation]x[/conversation] appear in the log?"
    assert from_wire([{"role": "user", "content": text}])[0].content == text


@pytest.mark.parametrize(
    "bad",
    [
        "just text",
        {"content": "nobody says this"},
        {"role": 7, "content": "x"},
        {"role": "user", "content": 7},
        {"role": "user", "content": [{"no": "type"}]},
        {"role": "user", "content": [{"type": "text"}]},
        {"role": "tool", "content": "whose?"},
        {"role": "assistant", "tool_calls": [{"id": "a"}]},
        {"role": "assistant", "tool_calls": [{"function": {"name": "f", "arguments": "{}"}}]},
        {"role": "assistant", "function_call": {"name": "f", "arguments": "{}"}},
        {"type": "telepathy", "content": "?"},
        {
            "role": "user",
            "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,a"}}],
        },
    ],
)
def test_what_cannot_be_understood_is_refused_by_its_number(bad: Any) -> None:
    with pytest.raises(InvalidInput) as refusal:
        from_wire([{"role": "user", "content": "fine"}, bad])
    assert "message 1" in str(refusal.value)
    assert repr(bad)[:20] in str(refusal.value)


def test_an_unknown_format_is_refused_with_the_known_ones() -> None:
    with pytest.raises(InvalidInput, match="anthropic"):
        to_wire([], "telex")


# ---------------------------------------------------------------- our own blocks


def test_our_own_blocks_are_taken_out_before_anything_is_kept() -> None:
    text = f'Before.\n<{MEMORY_TAG} id="1">\nold news\n</{MEMORY_TAG}>\nAfter.'
    for role in ("user", "assistant", "system"):
        assert from_wire([{"role": role, "content": text}])[0].content == "Before.\nAfter."


def test_a_message_that_was_only_ours_is_no_message() -> None:
    summary = f"<{SUMMARY_TAG}>\nCurrent task: x\n</{SUMMARY_TAG}>"
    records = [{"role": "system", "content": summary}, {"role": "user", "content": "hi"}]
    assert [m.role for m in from_wire(records)] == ["user"]


def test_a_result_that_was_only_ours_still_answers_its_call() -> None:
    block = f"<{MEMORY_TAG}>x</{MEMORY_TAG}>"
    assert from_wire([{"role": "tool", "tool_call_id": "a", "content": block}])[0].content == ""


def test_a_summary_tag_in_tool_output_is_somebodys_text() -> None:
    text = f"grep found: <{SUMMARY_TAG}>\nx\n</{SUMMARY_TAG}>"
    record = {"role": "tool", "tool_call_id": "a", "content": text}
    assert from_wire([record])[0].content == text


def test_an_unclosed_tag_takes_nothing_with_it() -> None:
    text = f"<{MEMORY_TAG}> cut off, and then the words of the user"
    assert from_wire([{"role": "user", "content": text}])[0].content == text


def test_a_duplicate_call_id_is_an_error_that_names_it() -> None:
    call = {"id": "twice", "type": "function", "function": {"name": "f", "arguments": "{}"}}
    with pytest.raises(InvalidInput, match="twice"):
        from_wire([{"role": "assistant", "tool_calls": [call]}] * 2)
    with pytest.raises(InvalidInput, match="twice"):
        refuse_duplicate_calls([Message("assistant", "", (ToolCall("twice", "f"),))] * 2)


def test_text_that_no_store_can_write_is_made_writable() -> None:
    (message,) = from_wire([{"role": "user", "content": "half \ud83d a pair"}])
    assert plain_text(message).encode("utf-8") == b"half ? a pair"
