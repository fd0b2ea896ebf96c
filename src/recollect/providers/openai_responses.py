"""OpenAI responses items: each message, call and result is one item.

Usual shape: a message item has type `message` and a list of `input_text` or `output_text`
blocks, a call is a `function_call`, the output of a result is a string.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from functools import partial

from ..errors import InvalidInput
from ..text.messages import Block, Content, body_digest, image_text
from ..types.records import Json, Message, ToolCall
from . import content_blocks as wire
from .content_blocks import JSON_OBJECT, Record

FORMAT = "responses"
_TEXTS = ("input_text", "output_text", "text")
_SEALED_ITEMS = ("compaction", "compaction_summary", "context_compaction", "item_reference")
_SEALED_ENDINGS = ("_call", "_output", "_list_tools", "_request", "_response", "_snapshot")


def decode(record: Record) -> list[Message]:
    """Return the message of one item."""
    kind = wire.optional_text(record, "type") or "message"
    if kind == "message":
        return [_decode_message(record)]
    if kind == "reasoning":
        return [Message("assistant", (_decode_reasoning(record),))]
    if kind.endswith("_call") and record.get("call_id"):
        return [_decode_call(kind, record)]
    if kind.endswith("_output") and record.get("call_id"):
        return [_decode_result(kind, record)]
    if kind in _SEALED_ITEMS or kind.endswith(_SEALED_ENDINGS):
        # A built-in tool of the provider: there is no result that could lose its call.
        return [Message("assistant", (wire.opaque_block(FORMAT, record, item=True),))]
    raise InvalidInput(f"items of type {kind!r} are not known")


def encode(messages: Sequence[Message]) -> list[dict[str, Json]]:
    """Return items in order; a message with text and calls becomes several."""
    return [item for message in messages for item in _encode_items(message)]


_HOSTED = {
    "web_search_call": "ws",
    "file_search_call": "fs",
    "image_generation_call": "ig",
    "code_interpreter_call": "ci",
}
"""Calls that the provider runs itself, and the prefixes of their ids."""


def complete_items(items: Sequence[dict[str, Json]]) -> None:
    """Add the fields that a request requires: the detail of an image, the annotations of an answer,
    the id of a call that the provider ran (Codex stores none). An answer without an id, recorded in
    another format, is sent as plain text."""
    for item in items:
        if (prefix := _HOSTED.get(item.get("type", ""))) and not item.get("id"):
            item |= {"id": f"{prefix}_{body_digest(json.dumps(item, sort_keys=True))[:32]}"}
            item.setdefault("status", "completed")
        for key in ("content", "output"):
            if isinstance(item.get(key), list):
                item[key] = list(map(_complete_block, item[key]))
        content = item.get("content")
        if item.get("role") == "assistant" and "id" not in item and isinstance(content, list):
            item["content"] = "\n".join(
                str(block.get("text", "")) for block in content if isinstance(block, dict)
            )


def _complete_block(block: Json) -> Json:
    kind = block.get("type") if isinstance(block, dict) else ""
    if kind == "input_image":
        return {"detail": "auto", **block}
    return {"annotations": [], **block} if kind == "output_text" else block


def is_item(kind: str) -> bool:
    """Check whether a record of this type, without a role, must be a responses item."""
    return kind == "reasoning" or kind in _SEALED_ITEMS or kind.endswith(_SEALED_ENDINGS)


# ---------------------------------------------------------------- from the wire


def _decode_message(record: Record) -> Message:
    role = record["role"]
    raw = record.get("content")
    content = (
        raw
        if isinstance(raw, str)
        else _decode_content(wire.optional_list(record, "content"), role)
    )
    shape = wire.content_shape(record)
    return Message(
        role,
        content,
        name=wire.optional_text(record, "name"),
        extra=wire.make_extra(
            FORMAT,
            shape="" if shape == "list" else shape,
            rest=wire.omit_keys(record, "type", "role", "content", "name"),
            untyped="type" not in record,
        ),
    )


def _decode_content(raw: Sequence[Json], role: str) -> Content:
    return wire.simplify_blocks([_decode_block(block, role) for block in raw])


def _decode_block(raw: Json, role: str) -> Block:
    if not isinstance(raw, JSON_OBJECT):
        raise InvalidInput("a content block is not an object")
    kind = raw.get("type")
    if kind in _TEXTS:
        rest = wire.omit_keys(raw, "type", "text")
        if kind != _text_kind(role):
            rest["type"] = kind
        return wire.attach_rest({"type": "text", "text": raw.get("text")}, FORMAT, rest)
    if kind == "input_image" and isinstance(url := raw.get("image_url"), str):
        return wire.image_block(FORMAT, url, wire.omit_keys(raw, "type", "image_url"))
    return wire.opaque_block(FORMAT, raw)


def _text_kind(role: str) -> str:
    return "output_text" if role == "assistant" else "input_text"


def _decode_reasoning(record: Record) -> Block:
    text = "\n\n".join(
        str(part["text"])
        for part in (*wire.optional_list(record, "summary"), *wire.optional_list(record, "content"))
        if isinstance(part, JSON_OBJECT) and part.get("text")
    )
    rest = wire.omit_keys(record, "type")
    if rest.get("summary") == _summary(text):
        del rest["summary"]
    return {"type": "reasoning", "text": text, "rest": {FORMAT: rest}}


def _summary(text: str) -> list[Json]:
    return [{"type": "summary_text", "text": text}] if text else []


def _decode_call(kind: str, record: Record) -> Message:
    call_id = wire.required_text(record, "call_id", f"a {kind}")
    common = ("type", "call_id")
    if kind == "function_call":
        name = wire.required_text(record, "name", "a function_call")
        given = record.get("arguments", "{}")
        arguments = given if isinstance(given, str) else json.dumps(given, ensure_ascii=False)
        rest = wire.omit_keys(record, *common, "name", "arguments")
    elif kind == "custom_tool_call":
        name = wire.required_text(record, "name", "a custom_tool_call")
        arguments = json.dumps({"input": record.get("input", "")}, ensure_ascii=False)
        rest = wire.omit_keys(record, *common, "name", "input")
    else:
        name = kind.removesuffix("_call")
        arguments = json.dumps(wire.omit_keys(record, *common, "id", "status"), ensure_ascii=False)
        rest = {key: record[key] for key in ("id", "status") if key in record}
    return Message(
        "assistant",
        calls=(ToolCall(call_id, name, arguments),),
        extra=wire.make_extra(FORMAT, kind="" if kind == "function_call" else kind, rest=rest),
    )


def _decode_result(kind: str, record: Record) -> Message:
    output = record.get("output")
    shape = wire.content_shape(record, "output")
    if not isinstance(output, str) and isinstance(output, JSON_OBJECT):
        content: Content = (wire.opaque_block(FORMAT, output),)
        shape = "object"
    else:
        content = (
            output
            if isinstance(output, str)
            else _decode_content(wire.optional_list(record, "output"), "tool")
        )
    usual = "str" if isinstance(content, str) else "list"
    return Message(
        "tool",
        content,
        call_id=wire.required_text(record, "call_id", f"a {kind}"),
        is_error=record.get("status") == "failed",
        extra=wire.make_extra(
            FORMAT,
            kind="" if kind == "function_call_output" else kind,
            shape="" if shape == usual else shape,
            rest=wire.omit_keys(record, "type", "call_id", "output"),
        ),
    )


# ---------------------------------------------------------------- to the wire


def _encode_items(message: Message) -> Iterator[dict[str, Json]]:
    note = wire.read_extra(message, FORMAT)
    if message.role == "tool":
        yield _encode_result(message, note)
        return
    words: list[Block] = []
    if isinstance(message.content, str):
        content: Content = message.content
    else:
        for block in message.content:
            if block.get("type") == "reasoning":
                if (rest := block.get("rest", {}).get(FORMAT)) is not None:
                    yield {"type": "reasoning", "summary": _summary(block["text"]), **rest}
            elif block.get("item"):
                if block["as"] == FORMAT:
                    yield block["block"]
            elif block.get("type") != "call":
                words.append(block)
        content = tuple(words)
    if content or not (message.calls or message.content):
        yield _encode_message(message, content, note)
    for call in message.calls:
        yield _encode_call(call, note)


def _encode_message(message: Message, content: Content, note: Record) -> dict[str, Json]:
    out: dict[str, Json] = {} if note.get("untyped") else {"type": "message"}
    out |= {"role": message.role, **note.get("rest", {})}
    if message.name:
        out["name"] = message.name
    raw_block = partial(_encode_block, _text_kind(message.role))
    wire.put_content(out, "content", content, note.get("shape", "list"), raw_block)
    return out


def _encode_block(text_kind: str, block: Block) -> Json | None:
    kind = block.get("type")
    rest = wire.read_rest(block, FORMAT)
    if kind == "text":
        return {"type": text_kind, "text": block["text"], **rest}
    if kind == "image" and "url" in block:
        return {"type": "input_image", "image_url": block["url"], **rest}
    if kind == "image" and "data" in block:
        url = f"data:{block['media_type']};base64,{block['data']}"
        return {"type": "input_image", "image_url": url, **rest}
    if kind == "image":
        return {"type": text_kind, "text": image_text(block)}
    if kind == "opaque" and block["as"] == FORMAT:
        return wire.whole_block(block, FORMAT) or {"type": text_kind, "text": wire.stub_text(block)}
    return None


def _encode_call(call: ToolCall, note: Record) -> dict[str, Json]:
    kind = note.get("kind", "function_call")
    out = {"type": kind, "call_id": call.id, **note.get("rest", {})}
    if kind == "function_call":
        return {**out, "name": call.name, "arguments": call.arguments}
    arguments = json.loads(call.arguments)
    if kind == "custom_tool_call":
        return {**out, "name": call.name, "input": arguments["input"]}
    return {**out, **arguments}


def _encode_result(message: Message, note: Record) -> dict[str, Json]:
    out: dict[str, Json] = {
        "type": note.get("kind", "function_call_output"),
        "call_id": message.call_id,
        **note.get("rest", {}),
    }
    shape = note.get("shape", "")
    wire.put_content(out, "output", message.content, shape, partial(_encode_block, "input_text"))
    if shape == "object" and isinstance(out.get("output"), list) and len(out["output"]) == 1:
        out["output"] = out["output"][0]
    return out
