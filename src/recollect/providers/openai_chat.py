"""OpenAI chat messages: one record is one message.

Usual shape: content is a string, or null beside tool calls; calls are of type function.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..errors import InvalidInput
from ..text.messages import Block, Content, blocks_of, image_text, simplify_content
from ..types.records import Json, Message, ToolCall
from . import content_blocks as wire
from .content_blocks import JSON_OBJECT, Record

FORMAT = "chat"
_REASONING = ("reasoning_content", "reasoning")


def decode(record: Record) -> list[Message]:
    """Return the message of a chat record."""
    if record["role"] == "function" or "function_call" in record:
        raise InvalidInput(
            "it uses the deprecated function_call, which has no call id",
            hint="Write it as tool_calls, and its result as a message of role tool.",
        )
    taken = {"role", "content"}
    name, call_id = wire.optional_text(record, "name"), ""
    if name:
        taken.add("name")
    if record["role"] == "tool":
        call_id = wire.required_text(record, "tool_call_id", "a tool result")
        taken.add("tool_call_id")
    if record.get("tool_calls"):
        taken.add("tool_calls")
    decoded = [_decode_call(call) for call in wire.optional_list(record, "tool_calls")]
    reasoning = _decode_reasoning(record)
    taken.update(block["rest"][FORMAT]["field"] for block in reasoning)
    message = Message(
        role=record["role"],
        content=_decode_content(record.get("content"), reasoning),
        calls=tuple(call for call, _ in decoded),
        call_id=call_id,
        name=name,
    )
    shape = wire.content_shape(record)
    extra = wire.make_extra(
        FORMAT,
        shape="" if shape == _usual_shape(message) else shape,
        rest=wire.omit_keys(record, *taken),
        calls={call.id: rest for call, rest in decoded if rest},
    )
    return [message._replace(extra=extra)]


def encode(messages: Sequence[Message]) -> list[dict[str, Json]]:
    """Return chat records, one for each message."""
    return [_encode_record(message) for message in messages]


_MOVED = {"type": "text", "text": "[shown in the next user message]"}
_FROM_RESULTS = {"type": "text", "text": "From the tool results above:"}


def build_request(records: Sequence[dict[str, Json]]) -> list[dict[str, Json]]:
    """Return the records as the provider accepts them: a tool result can only be text, so its
    images are moved to a user message after the results."""
    sent: list[dict[str, Json]] = []
    moved: list[Json] = []
    for record in records:
        is_result, content = record["role"] == "tool", record.get("content")
        if moved and not is_result:
            sent.append({"role": "user", "content": [_FROM_RESULTS, *moved]})
            moved = []
        if is_result and isinstance(content, list):
            kept = [part for part in content if part["type"] == "text"]
            if len(kept) < len(content):
                moved += [part for part in content if part["type"] != "text"]
                record = {**record, "content": [*kept, _MOVED]}
        sent.append(record)
    return sent + [{"role": "user", "content": [_FROM_RESULTS, *moved]}] * bool(moved)


def _decode_reasoning(record: Record) -> list[Block]:
    return [
        wire.attach_rest({"type": "reasoning", "text": text}, FORMAT, {"field": field})
        for field in _REASONING
        if isinstance(text := record.get(field), str) and text
    ]


def _decode_content(content: Json, reasoning: list[Block]) -> Content:
    if isinstance(content, str):
        return simplify_content([*reasoning, *blocks_of(content)]) if reasoning else content
    return wire.simplify_blocks([*reasoning, *map(_decode_block, content or ())])


def _decode_block(raw: Record) -> Block:
    kind = raw.get("type")
    if kind == "text":
        bare = {"type": "text", "text": raw.get("text")}
        return wire.attach_rest(bare, FORMAT, wire.omit_keys(raw, "type", "text"))
    if kind == "image_url":
        image = raw.get("image_url")
        image = image if isinstance(image, JSON_OBJECT) else {"url": image}
        rest = wire.omit_keys(raw, "type", "image_url")
        if details := wire.omit_keys(image, "url"):
            rest["image_url"] = details
        return wire.image_block(
            FORMAT, wire.required_text(image, "url", "an image_url block"), rest
        )
    return wire.opaque_block(FORMAT, raw)


def _decode_call(raw: Json) -> tuple[ToolCall, dict[str, Json]]:
    """Return a call, and its deviations from the usual shape."""
    if not isinstance(raw, JSON_OBJECT):
        raise InvalidInput("a tool call is not an object")
    kind = raw.get("type", "function")
    inner = raw.get(kind) if isinstance(kind, str) else None
    if not isinstance(inner, JSON_OBJECT):
        raise InvalidInput(f"a tool call of type {kind!r} has no {kind!r} object")
    name = wire.required_text(inner, "name", "a tool call")
    rest = wire.omit_keys(raw, "id", "type", kind)
    if kind == "custom":
        rest["type"] = kind
        arguments = json.dumps({"input": inner.get("input", "")}, ensure_ascii=False)
    else:
        given = inner.get("arguments", "{}")
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
    return ToolCall(wire.required_text(raw, "id", f"the call of {name}"), name, arguments), rest


def _supported_content(message: Message) -> Content:
    """Return the content that chat supports: no reasoning, no positions of calls."""
    if isinstance(message.content, str):
        return message.content
    return simplify_content(
        [b for b in message.content if b.get("type") not in ("reasoning", "call")]
    )


def _usual_shape(message: Message) -> str:
    content = _supported_content(message)
    if not isinstance(content, str):
        return "list"
    return "null" if message.calls and not content else "str"


def _encode_record(message: Message) -> dict[str, Json]:
    note = wire.read_extra(message, FORMAT)
    out: dict[str, Json] = {"role": message.role, **note.get("rest", {})}
    for block in blocks_of(message.content):
        if block.get("type") == "reasoning" and (
            field := wire.read_rest(block, FORMAT).get("field")
        ):
            out[field] = block["text"]
    shape = note.get("shape") or _usual_shape(message)
    wire.put_content(out, "content", _supported_content(message), shape, _encode_block)
    if message.name:
        out["name"] = message.name
    if message.calls:
        rests = note.get("calls", {})
        out["tool_calls"] = [_encode_call(call, rests.get(call.id, {})) for call in message.calls]
    if message.role == "tool":
        out["tool_call_id"] = message.call_id
    return out


def _encode_block(block: Block) -> Json | None:
    kind = block.get("type")
    rest = wire.read_rest(block, FORMAT)
    if kind == "text":
        return {"type": "text", "text": block["text"], **rest}
    if kind == "image" and "url" in block:
        image = {"url": block["url"], **rest.pop("image_url", {})}
        return {"type": "image_url", "image_url": image, **rest}
    if kind == "image" and "data" in block:
        url = f"data:{block['media_type']};base64,{block['data']}"
        return {"type": "image_url", "image_url": {"url": url, **rest.pop("image_url", {})}, **rest}
    if kind == "image":
        return {"type": "text", "text": image_text(block)}
    if kind == "opaque" and block["as"] == FORMAT:
        return wire.whole_block(block, FORMAT) or {"type": "text", "text": wire.stub_text(block)}
    return None


def _encode_call(call: ToolCall, rest: Record) -> dict[str, Json]:
    if rest.get("type") == "custom":
        custom = {"name": call.name, "input": json.loads(call.arguments)["input"]}
        return {**rest, "id": call.id, "custom": custom}
    function = {"name": call.name, "arguments": call.arguments}
    return {**rest, "id": call.id, "type": "function", "function": function}
