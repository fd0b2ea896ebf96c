"""Anthropic messages: one record is a whole turn of the user or the assistant.

A user record becomes one message for each tool result and for each run of other blocks between
them; an assistant record becomes one message with its calls. When they are encoded, adjacent
messages of one side become one record again, so that the sides alternate as the format requires.

Usual shape: the text of a user alone is a string, everything else is a list of blocks.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from itertools import groupby

from ..errors import InvalidInput
from ..text.messages import Block, blocks_of, image_text, parse_arguments
from ..types.records import Json, Message, ToolCall
from . import content_blocks as wire
from .content_blocks import JSON_OBJECT, Record

FORMAT = "anthropic"
SYSTEM_ROLES = ("system", "developer")


def decode(record: Record) -> list[Message]:
    """Return the messages of one record."""
    if record["role"] == "assistant":
        return [_decode_assistant(record)]
    if isinstance(record.get("content"), str):
        return [Message(record["role"], record["content"])]
    return _decode_blocks(record) or [
        _make_text_message(record["role"], [], wire.content_shape(record))
    ]


def encode(messages: Sequence[Message]) -> list[dict[str, Json]]:
    """Return records with alternating sides; system messages keep their positions."""
    records: list[dict[str, Json]] = []
    for side, group in groupby(messages, _side):
        together = list(group)
        if side == "system":
            records += [_encode_record("system", [message]) for message in together]
        else:
            records.append(_encode_record(side, together))
    return records


def build_request(records: list[dict[str, Json]], opener: str) -> dict[str, Json]:
    """Return the arguments of a request, with the system prompt as its own argument.

    A later system message becomes a text in the user's turn, empty turns are dropped, and `opener`
    is inserted if the assistant would come first.
    """
    system: list[Json] = []
    turns: list[dict[str, Json]] = []
    for record in records:
        content = record.get("content") or ""
        if record["role"] == "system":
            if turns:
                reminder = f"<system-reminder>\n{_plain(content)}\n</system-reminder>"
                _append_turn(turns, "user", [{"type": "text", "text": reminder}])
            else:
                system.append(content)
        elif content := _sendable(content):
            _append_turn(turns, record["role"], content)
    if turns and turns[0]["role"] != "user":
        turns.insert(0, {"role": "user", "content": opener})
    for turn in turns:
        if not isinstance(turn["content"], str):
            # Results must come first in a turn; the order is kept otherwise.
            turn["content"] = sorted(turn["content"], key=_sorts_after_results)
    out: dict[str, Json] = {"messages": turns}
    if len(system) == 1:
        out["system"] = system[0]
    elif system:
        out["system"] = [block for content in system for block in _list_blocks(content)]
    return out


# ---------------------------------------------------------------- from the wire


def _decode_assistant(record: Record) -> Message:
    raw = record.get("content")
    usage = record.get("usage")
    blocks: list[Block] = []
    calls: list[ToolCall] = []
    rests: dict[str, Json] = {}
    for block in raw if isinstance(raw, (list, tuple)) else ():
        if block.get("type") == "tool_use":
            call = _decode_call(block)
            calls.append(call)
            blocks.append({"type": "call", "id": call.id})
            if rest := wire.omit_keys(block, "type", "id", "name", "input"):
                rests[call.id] = rest
        else:
            blocks.append(_decode_block(block))
    content = raw if isinstance(raw, str) else wire.simplify_blocks(_keep_call_positions(blocks))
    shape = wire.content_shape(record)
    return Message(
        "assistant",
        content,
        tuple(calls),
        model=wire.optional_text(record, "model"),
        usage=usage if usage is not None and isinstance(usage, JSON_OBJECT) else None,
        extra=wire.make_extra(
            FORMAT,
            shape="" if shape == "list" else shape,
            calls=rests,
            response=wire.omit_keys(record, "role", "content", "model", "usage"),
        ),
    )


def _keep_call_positions(blocks: list[Block]) -> list[Block]:
    """Keep the positions of calls, unless all calls come last, which is the usual order."""
    kinds = [block["type"] == "call" for block in blocks]
    if kinds == sorted(kinds):
        return [block for block in blocks if block["type"] != "call"]
    return blocks


def _decode_call(block: Record) -> ToolCall:
    name = wire.required_text(block, "name", "a tool_use block")
    arguments = block.get("input", {})
    return ToolCall(
        wire.required_text(block, "id", f"the call of {name}"),
        name,
        arguments if isinstance(arguments, str) else json.dumps(arguments, ensure_ascii=False),
    )


def _decode_blocks(record: Record) -> list[Message]:
    messages: list[Message] = []
    words: list[Block] = []
    raw = record.get("content") or ()
    for block in raw:
        if block.get("type") == "tool_result":
            if words:
                messages.append(_make_text_message(record["role"], words, ""))
                words = []
            messages.append(_decode_result(block))
        else:
            words.append(_decode_block(block))
    if words:
        messages.append(_make_text_message(record["role"], words, "" if messages else "list"))
    return messages


def _make_text_message(role: str, blocks: list[Block], shape: str) -> Message:
    content = wire.simplify_blocks(blocks)
    usual = "str" if isinstance(content, str) else "list"
    return Message(
        role, content, extra=wire.make_extra(FORMAT, shape="" if shape == usual else shape)
    )


def _decode_result(block: Record) -> Message:
    raw = block.get("content")
    failed = block.get("is_error") is True
    content = (
        raw
        if isinstance(raw, str)
        else wire.simplify_blocks(list(map(_decode_block, wire.optional_list(block, "content"))))
    )
    usual = "str" if isinstance(content, str) else "list"
    shape = wire.content_shape(block)
    known = ("type", "tool_use_id", "content", *(("is_error",) if failed else ()))
    return Message(
        "tool",
        content,
        call_id=wire.required_text(block, "tool_use_id", "a tool_result block"),
        is_error=failed,
        extra=wire.make_extra(
            FORMAT, shape="" if shape == usual else shape, rest=wire.omit_keys(block, *known)
        ),
    )


def _decode_block(raw: Json) -> Block:
    if not isinstance(raw, JSON_OBJECT):
        raise InvalidInput("a content block is not an object")
    kind = raw.get("type")
    if kind == "text":
        bare = {"type": "text", "text": raw.get("text")}
        return wire.attach_rest(bare, FORMAT, wire.omit_keys(raw, "type", "text"))
    if kind == "thinking":
        bare = {"type": "reasoning", "text": str(raw.get("thinking", ""))}
        return wire.attach_rest(bare, FORMAT, wire.omit_keys(raw, "type", "thinking"))
    if kind == "redacted_thinking":
        return wire.attach_rest(
            {"type": "reasoning", "text": ""}, FORMAT, wire.omit_keys(raw, "type")
        )
    source = raw.get("source")
    if kind == "image" and isinstance(source, JSON_OBJECT):
        rest = wire.omit_keys(raw, "type", "source")
        if source.get("type") == "base64":
            media_type = wire.optional_text(source, "media_type") or "image"
            data = wire.required_text(source, "data", "an inline image")
            return wire.attach_rest(wire.inline_image(media_type, data), FORMAT, rest)
        if source.get("type") == "url":
            url = wire.required_text(source, "url", "an image by its address")
            return wire.attach_rest({"type": "image", "url": url}, FORMAT, rest)
    return wire.opaque_block(FORMAT, raw)


# ---------------------------------------------------------------- to the wire


def _side(message: Message) -> str:
    if message.role in SYSTEM_ROLES:
        return "system"
    return "assistant" if message.role == "assistant" else "user"


def _encode_record(role: str, messages: Sequence[Message]) -> dict[str, Json]:
    out: dict[str, Json] = {"role": role}
    if len(messages) == 1 and messages[0].role != "tool" and not messages[0].calls:
        message = messages[0]
        usual = "list" if role == "assistant" else ""
        shape = wire.read_extra(message, FORMAT).get("shape") or usual
        wire.put_content(out, "content", message.content, shape, _encode_block)
    else:
        out["content"] = [raw for message in messages for raw in _encode_parts(message)]
    return out


def _encode_parts(message: Message) -> Iterator[Json]:
    if message.role == "tool":
        yield _encode_result(message)
        return
    rests = wire.read_extra(message, FORMAT).get("calls", {})
    calls = {call.id: _encode_call(call, rests.get(call.id, {})) for call in message.calls}
    for block in blocks_of(message.content):
        raw = calls.pop(block["id"], None) if block.get("type") == "call" else _encode_block(block)
        if raw:
            yield raw
    yield from calls.values()


def _encode_result(message: Message) -> dict[str, Json]:
    note = wire.read_extra(message, FORMAT)
    out: dict[str, Json] = {"type": "tool_result", "tool_use_id": message.call_id}
    wire.put_content(out, "content", message.content, note.get("shape", ""), _encode_block)
    if message.is_error:
        out["is_error"] = True
    return {**out, **note.get("rest", {})}


def _encode_call(call: ToolCall, rest: Record) -> dict[str, Json]:
    arguments = parse_arguments(call.arguments)
    given = {"input": call.arguments} if arguments is None else arguments
    return {"type": "tool_use", "id": call.id, "name": call.name, "input": given, **rest}


def _encode_block(block: Block) -> Json | None:
    kind = block.get("type")
    rest = wire.read_rest(block, FORMAT)
    if kind == "text":
        return {"type": "text", "text": block["text"], **rest}
    if kind == "reasoning" and "data" in rest:
        return {"type": "redacted_thinking", **rest}
    if kind == "reasoning" and "signature" in rest:
        # The API rejects thinking without a signature, as that of other models.
        return {"type": "thinking", "thinking": block["text"], **rest}
    if kind == "image" and "url" in block:
        return {"type": "image", "source": {"type": "url", "url": block["url"]}, **rest}
    if kind == "image" and "data" in block:
        kept = {"type": "base64", "media_type": block["media_type"], "data": block["data"]}
        return {"type": "image", "source": kept, **rest}
    if kind == "image":
        return {"type": "text", "text": image_text(block), **rest}
    if kind == "opaque" and block["as"] == FORMAT:
        return wire.whole_block(block, FORMAT) or {"type": "text", "text": wire.stub_text(block)}
    return None


# ---------------------------------------------------------------- as a request


def _list_blocks(content: Json) -> list[Json]:
    return [{"type": "text", "text": content}] if isinstance(content, str) else list(content)


def _plain(content: Json) -> str:
    return "\n".join(block.get("text", "") for block in _list_blocks(content))


def _sendable(content: Json) -> Json:
    """Return content without empty texts, which the API rejects."""
    if isinstance(content, str):
        return content if content.strip() else ""
    return [
        block
        for block in content
        if block.get("type") != "text" or str(block.get("text", "")).strip()
    ]


def _sorts_after_results(block: Record) -> bool:
    return block.get("type") != "tool_result"


def _append_turn(turns: list[dict[str, Json]], role: str, content: Json) -> None:
    if turns and turns[-1]["role"] == role:
        turns[-1]["content"] = _list_blocks(turns[-1]["content"]) + _list_blocks(content)
    else:
        turns.append({"role": role, "content": content})
