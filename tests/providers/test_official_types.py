"""Prepared requests are what the providers' own client libraries declare."""

from __future__ import annotations

from base64 import b64encode
from functools import cache
from typing import Any

import pytest

import recollect
from recollect.providers import formats
from tests.archive.test_attachments import SHAPES

TALK: list[dict[str, Any]] = [
    {"role": "system", "content": "Answer briefly."},
    {"role": "user", "content": "Run the tests."},
    {
        "role": "assistant",
        "content": "I run them.",
        "tool_calls": [
            {
                "id": "c1",
                "type": "function",
                "function": {"name": "bash", "arguments": '{"command": "make test"}'},
            }
        ],
    },
    {"role": "tool", "tool_call_id": "c1", "content": "3 failed"},
    {"role": "assistant", "content": "Three tests fail."},
    {"role": "user", "content": "Mend them."},
]


def check_request(form: str, request: dict[str, Any]) -> None:
    """Validate the messages of a request, deeply, against the library's types."""
    adapter = load_adapter(form)
    for record in request["input" if form == "responses" else "messages"]:
        found: Any = adapter.validate_python(record)
        # A union of records accepts what none of its members knows: nothing may be left out.
        assert set(found) <= set(record)
        for key in ("content", "output"):
            if key in found and not isinstance(found[key], (str, type(None))):
                assert len(list(found[key])) == len(record[key])


@cache
def load_adapter(form: str) -> Any:
    """Return the validator of a format's message type."""
    from pydantic import TypeAdapter

    if form == "anthropic":
        from anthropic.types import MessageParam as AnthropicParam

        kind: Any = AnthropicParam
    elif form == "chat":
        from openai.types.chat import ChatCompletionMessageParam

        kind = ChatCompletionMessageParam
    else:
        from openai.types.responses import ResponseInputItemParam

        kind = ResponseInputItemParam
    return TypeAdapter(kind)


@pytest.mark.parametrize("form", SHAPES)
@pytest.mark.parametrize("shape", SHAPES)
def test_attachments_are_valid_in_every_format(
    mem: recollect.Recollect, shape: str, form: str
) -> None:
    mem.record("s", SHAPES[shape][0])
    check_request(form, mem.prepare("s", 100_000).request(form))


@pytest.mark.parametrize("form", SHAPES)
def test_a_trimmed_conversation_is_valid(mem: recollect.Recollect, form: str) -> None:
    for number in range(12):
        for message in formats.from_wire(TALK, "chat"):
            calls = tuple(call._replace(id=f"{call.id}-{number}") for call in message.calls)
            call_id = message.call_id and f"{message.call_id}-{number}"
            mem.record("s", message._replace(calls=calls, call_id=call_id))
    prompt = mem.prepare("s", 700)
    assert prompt.trimmed
    check_request(form, prompt.request(form))


def test_an_image_in_a_tool_result_is_sent_where_each_provider_takes_it(
    mem: recollect.Recollect,
) -> None:
    url = f"data:image/png;base64,{b64encode(b'one pixel').decode()}"
    image = {"type": "image_url", "image_url": {"url": url}}
    calls = [{**TALK[2]["tool_calls"][0], "id": id} for id in ("c1", "c2")]
    results: list[dict[str, Any]] = [
        {"role": "tool", "tool_call_id": "c1", "content": [image]},
        {"role": "tool", "tool_call_id": "c2", "content": "done"},
    ]
    for said in (*TALK[:2], {**TALK[2], "tool_calls": calls}, *results, *TALK[4:]):
        mem.record("s", said)
    prompt = mem.prepare("s", 100_000)
    for form in SHAPES:
        check_request(form, prompt.request(form))
        assert url.partition(",")[2] in str(prompt.request(form))
    sent = prompt.request("chat")["messages"]
    assert [one["role"] for one in sent[-5:]] == ["tool", "tool", "user", "assistant", "user"]
    assert sent[-3]["content"][1:] == [image]


def test_a_search_that_the_provider_ran_gets_an_id_which_codex_does_not_store() -> None:
    search = {"type": "web_search_call", "action": {"type": "search", "query": "zstd"}}
    sent = formats.to_request(formats.from_wire([search], "responses"), "responses")
    check_request("responses", sent)
    assert sent["input"][0]["id"].startswith("ws_")
    assert formats.to_wire(formats.from_wire([search], "responses"), "responses") == [search]
