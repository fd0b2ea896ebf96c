"""The wire formats' law: what comes in goes out the same, whatever its shape."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import example, given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.providers.formats import from_wire, to_request, to_wire
from recollect.text.messages import body_from_message, message_from_body, searchable_text
from recollect.types.records import Message, ToolCall

words = st.text(st.characters(codec="utf-8", exclude_characters="<["), max_size=30)
some_words = words.filter(bool)
names = st.sampled_from(["Read", "shell", "file_operations", "mcp__x__y"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(10**9), 10**9) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=3),
    max_leaves=6,
)
arguments = st.dictionaries(some_words, json_values, max_size=3)


@st.composite
def chat_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    text_block = st.fixed_dictionaries(
        {"type": st.just("text"), "text": words},
        optional={"cache_control": st.just({"type": "ephemeral"})},
    )
    image_block = st.fixed_dictionaries(
        {
            "type": st.just("image_url"),
            "image_url": st.fixed_dictionaries(
                {"url": st.just("https://x.test/a.png")}, optional={"detail": st.just("low")}
            ),
        }
    )
    content = words | st.lists(text_block | image_block, max_size=3)
    out: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(0, 5))):
        if draw(st.booleans()):
            out.append({"role": draw(st.sampled_from(["system", "developer", "user"]))})
            out[-1]["content"] = draw(content)
        else:
            record: dict[str, Any] = {"role": "assistant"}
            if draw(st.booleans()):
                record["content"] = draw(content | st.none())
            if draw(st.booleans()):
                record["reasoning_content"] = draw(words)
            record |= draw(st.dictionaries(st.sampled_from(["refusal", "id"]), words, max_size=1))
            calls: list[dict[str, Any]] = []
            for n in range(draw(st.integers(0, 2))):
                function = {"name": draw(names), "arguments": json.dumps(draw(arguments))}
                call: dict[str, Any] = {"id": f"c{turn}-{n}", "type": "function"}
                call["function"] = function
                if draw(st.booleans()):
                    call = {"id": f"c{turn}-{n}", "type": "custom"}
                    call["custom"] = {"name": draw(names), "input": draw(words)}
                calls.append(call)
            if draw(st.booleans()) or calls:
                record["tool_calls"] = calls
            out.append(record)
            for call in calls:
                out.append({"role": "tool", "tool_call_id": call["id"], "content": draw(content)})
    return out


@st.composite
def anthropic_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    text: st.SearchStrategy[Any] = st.fixed_dictionaries(
        {"type": st.just("text"), "text": words},
        optional={"cache_control": st.just({"type": "ephemeral"})},
    )
    image: st.SearchStrategy[Any] = st.just(
        {"type": "image", "source": {"type": "url", "url": "https://x.test/a.png"}}
    )
    document: st.SearchStrategy[Any] = st.just(
        {"type": "document", "source": {"type": "text", "data": "a page"}}
    )
    thinking: st.SearchStrategy[Any] = st.fixed_dictionaries(
        {"type": st.just("thinking"), "thinking": words, "signature": words}
    ) | st.fixed_dictionaries({"type": st.just("redacted_thinking"), "data": some_words})
    out: list[dict[str, Any]] = []
    open_calls: list[str] = []
    for turn in range(draw(st.integers(0, 6))):
        if turn % 2 == 0:
            results: list[Any] = []
            for call_id in open_calls:
                result: dict[str, Any] = {"type": "tool_result", "tool_use_id": call_id}
                result |= draw(
                    st.fixed_dictionaries(
                        {},
                        optional={
                            "content": words | st.lists(text | image, max_size=2),
                            "is_error": st.booleans(),
                            "cache_control": st.just({"type": "ephemeral"}),
                        },
                    )
                )
                results.append(result)
            content: Any = results + draw(st.lists(text | image | document, max_size=2))
            if not results and draw(st.booleans()):
                content = draw(words)
            out.append({"role": "user", "content": content})
        else:
            uses: list[Any] = [
                {"type": "tool_use", "id": f"t{turn}-{n}", "name": draw(names), "input": given_}
                for n, given_ in enumerate(draw(st.lists(arguments, max_size=3)))
            ]
            open_calls = [use["id"] for use in uses]
            content = draw(st.permutations(uses + draw(st.lists(thinking | text, max_size=3))))
            if not content and draw(st.booleans()):
                content = draw(words)
            out.append({"role": "assistant", "content": content})
    return out


@st.composite
def responses_lists(draw: st.DrawFn) -> list[dict[str, Any]]:
    optional_id = {"id": some_words, "status": st.just("completed")}

    def item(required: dict[str, Any], optional: dict[str, Any] | None = None) -> Any:
        fixed = {
            k: v if isinstance(v, st.SearchStrategy) else st.just(v) for k, v in required.items()
        }
        return st.fixed_dictionaries(fixed, optional=optional or {})

    given_text = item({"type": "input_text", "text": words})
    said_text = item({"type": "output_text", "text": words}, {"annotations": st.just([])})
    image = st.just({"type": "input_image", "image_url": "https://x.test/a.png", "detail": "auto"})
    items: st.SearchStrategy[Any] = st.one_of(
        item({"role": "user", "content": words}),
        item(
            {"type": "message", "role": "user", "content": st.lists(given_text | image, max_size=2)}
        ),
        item(
            {"type": "message", "role": "assistant", "content": st.lists(said_text, max_size=2)},
            optional_id,
        ),
        item(
            {
                "type": "reasoning",
                "summary": st.lists(item({"type": "summary_text", "text": words}), max_size=2),
            },
            {"id": some_words, "encrypted_content": some_words},
        ),
        st.just(
            {"type": "web_search_call", "id": "ws", "action": {"type": "search", "query": "q"}}
        ),
    )
    out: list[dict[str, Any]] = []
    for turn in range(draw(st.integers(0, 6))):
        if draw(st.booleans()):
            out.append(draw(items))
            continue
        call_id = f"call-{turn}"
        shape = draw(st.sampled_from(["function_call", "custom_tool_call", "local_shell_call"]))
        call: dict[str, Any] = {"type": shape, "call_id": call_id}
        if shape == "function_call":
            call |= {"name": draw(names), "arguments": json.dumps(draw(arguments))}
        elif shape == "custom_tool_call":
            call |= {"name": "apply_patch", "input": draw(words)}
        else:
            call |= {"action": {"type": "exec", "command": ["ls"]}, "status": "completed"}
        out.append(call)
        kind = "custom_tool_call_output" if shape == "custom_tool_call" else "function_call_output"
        output = draw(words | st.lists(given_text | image, max_size=2))
        out.append({"type": kind, "call_id": call_id, "output": output})
    return out


@settings(deadline=None, max_examples=200)
@given(chat_lists())
def test_chat_messages_come_back_as_they_came(records: list[dict[str, Any]]) -> None:
    assert to_wire(from_wire(records, "chat"), "chat") == records


@settings(deadline=None, max_examples=200)
@given(anthropic_lists())
def test_anthropic_messages_come_back_as_they_came(records: list[dict[str, Any]]) -> None:
    assert to_wire(from_wire(records, "anthropic"), "anthropic") == records


@settings(deadline=None, max_examples=200)
@given(responses_lists())
def test_responses_items_come_back_as_they_came(records: list[dict[str, Any]]) -> None:
    assert to_wire(from_wire(records, "responses"), "responses") == records


BLOCKS = ["text", "image", "image_url", "input_image", "input_text", "tool_use", "tool_result"]
ITEMS = ["message", "reasoning", "function_call", "function_call_output", "custom_tool_call"]
KEYS = ["text", "source", "image_url", "id", "name", "input", "tool_use_id", "content", "output"]
CALL_KEYS = ["id", "type", "function", "custom", "name", "arguments", "call_id", "summary"]
value = st.none() | st.booleans() | st.integers(0, 9) | words | st.just("data:image/png;base64,x")
part = st.dictionaries(
    st.sampled_from([*KEYS, *CALL_KEYS, "url", "media_type", "data"]), value, max_size=4
)
block = st.builds(
    lambda kind, rest: {**rest, "type": kind},
    st.sampled_from(BLOCKS) | value,
    st.dictionaries(st.sampled_from(KEYS), value | part | st.lists(part | value), max_size=4),
)
nonsense = st.builds(
    lambda role, kind, rest: {**rest, **role, **kind},
    st.dictionaries(
        st.just("role"), st.sampled_from(["user", "assistant", "tool", "x"]) | value | part
    ),
    st.dictionaries(st.just("type"), st.sampled_from(ITEMS) | value),
    st.dictionaries(
        st.sampled_from(["content", "tool_calls", "tool_call_id", *KEYS, *CALL_KEYS]),
        value | part | st.lists(block | part | value, max_size=3),
        max_size=5,
    ),
)


@example({"content": True, "role": None, "type": "reasoning"}, "anthropic")
@example({"content": [None], "role": None, "type": "reasoning"}, "auto")
@settings(deadline=None, max_examples=400)
@given(
    value | nonsense | st.lists(nonsense, max_size=2),
    st.sampled_from(["auto", "chat", "anthropic", "responses"]),
)
def test_whatever_comes_is_understood_or_refused_and_nothing_else(raw: Any, form: str) -> None:
    try:
        messages = from_wire(raw, form)
    except InvalidInput as refusal:
        assert refusal.message
        return
    for form in ("chat", "anthropic", "responses"):
        json.dumps(to_request(messages, form))
    for message in messages:
        json.dumps(body_from_message(message))
        searchable_text(message)


@st.composite
def conversations(draw: st.DrawFn) -> list[Message]:
    """Messages of no provider: what every format can carry, in the order all of them accept."""
    out = [Message("system", draw(some_words))] if draw(st.booleans()) else []
    for turn in range(draw(st.integers(0, 4))):
        out.append(Message("user", draw(some_words)))
        calls = tuple(
            ToolCall(f"{turn}-{n}", draw(names), json.dumps(value, ensure_ascii=False))
            for n, value in enumerate(draw(st.lists(arguments, max_size=2)))
        )
        if calls:
            out.append(Message("assistant", "", calls))
            out += [Message("tool", draw(words), call_id=call.id) for call in calls]
        out.append(Message("assistant", draw(some_words)))
    return out


@settings(deadline=None, max_examples=150)
@given(conversations(), st.sampled_from(["chat", "anthropic"]))
def test_our_messages_survive_every_format(messages: list[Message], form: str) -> None:
    assert from_wire(to_wire(messages, form), form) == messages


@settings(deadline=None, max_examples=150)
@given(conversations())
def test_our_messages_survive_the_responses_format_call_by_call(messages: list[Message]) -> None:
    one_call_each = [
        part
        for m in messages
        for part in ([m._replace(calls=(call,)) for call in m.calls] if m.calls else [m])
    ]
    assert from_wire(to_wire(messages, "responses"), "responses") == one_call_each


@settings(deadline=None, max_examples=150)
@given(chat_lists() | anthropic_lists() | responses_lists())
def test_the_stored_body_gives_the_same_message_back(records: list[dict[str, Any]]) -> None:
    for message in from_wire(records):
        assert message_from_body(json.loads(json.dumps(body_from_message(message)))) == message


@settings(deadline=None, max_examples=100)
@given(
    chat_lists() | anthropic_lists() | responses_lists(),
    st.sampled_from(["chat", "anthropic", "responses"]),
)
def test_any_format_can_be_sent_as_any_other(records: list[dict[str, Any]], form: str) -> None:
    messages = from_wire(records)
    request = to_request(messages, form)
    sent = json.dumps(request, ensure_ascii=False)
    for message in messages:
        for call in message.calls:
            assert call.id in sent
    if form == "anthropic":
        sides = [record["role"] for record in request["messages"]]
        assert sides == ["user", "assistant"] * (len(sides) // 2) + ["user"] * (len(sides) % 2)
