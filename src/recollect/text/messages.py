"""The one normal form of a message: what it says, how it is kept as JSON, what is not its own.

Decides: which blocks a message may hold, how it reads as text, which blocks of ours are taken
out at the door, when a call id is a duplicate. Does not know how any provider writes messages
(`providers.formats` does), nor what a message costs (`text.tokens` does).

The blocks of the normal form, all plain dicts:

    {"type": "text", "text": …}              words
    {"type": "reasoning", "text": …}         thinking, as far as it can be read
    {"type": "image", "url": …}              an image somewhere else
    {"type": "image", "media_type": …, "bytes": …, "sha256": …}   an image that was inline
    {"type": "call", "id": …}                the place of a call that stands between other blocks
    {"type": "opaque", "as": …, "block": …}  what one wire format alone understands

A block may carry `rest`, and a message `extra`: by the name of a wire format, what that format
needs to be given back exactly as it came.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from hashlib import sha256

from ..errors import InvalidInput
from ..fast_typing import TYPE_CHECKING, NamedTuple, Protocol
from ..types.records import Json, Message, ToolCall

if TYPE_CHECKING:
    import re


MEMORY_TAG = "recollect-memory"

"""Wraps everything that we put in front of a model, but the thread summary."""

SUMMARY_TAG = "thread_summary"

"""Wraps the summary of what left the window."""

CONTINUATION_PROMPT = "Older conversation history has been summarized. Continue."

"""The neutral words after a trim. They also open a window that would begin with the assistant,
where a format wants the user first."""

Block = Mapping[str, Json]

Content = str | tuple[Block, ...]

_SILENT_KEYS = frozenset({"id", "call_id", "type", "signature", "data", "status"})


class PlacedMessage(Protocol):
    """A message with its number in the session's archive: `types.Stored` is one."""

    @property
    def seq(self) -> int: ...
    @property
    def message(self) -> Message: ...


class NumberedMessage(NamedTuple):
    """The smallest `Placed`: a message and its number."""

    seq: int
    message: Message


def range_address(session: str, first: int, last: int) -> str:
    """Where the messages `first` to `last` of a session can be read."""
    return f"memory://session/{session}/messages/{first}-{last}"


# ---------------------------------------------------------------- content


def blocks_of(content: Content) -> tuple[Block, ...]:
    """Content as blocks, whichever way it is kept."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return content


def simplify_content(blocks: Sequence[Block]) -> Content:
    """Blocks in their shortest form: one bare text is a string, nothing is the empty string."""
    if not blocks:
        return ""
    first = blocks[0]
    if len(blocks) == 1 and first.get("type") == "text" and len(first) == 2 and first["text"]:
        return str(first["text"])
    return tuple(blocks)


def block_text(block: Block) -> str:
    """What one block says, as a reader would see it."""
    kind = block.get("type")
    if kind in ("text", "reasoning"):
        return str(block.get("text", ""))
    if kind == "image":
        return image_text(block)
    if kind == "opaque":
        return "\n".join(_strings(block.get("block")))
    return ""


def image_text(block: Block) -> str:
    """An image in words: its address, or what is known of the bytes that were not kept."""
    if "sha256" in block:
        kind, size, digest = block.get("media_type", "image"), block["bytes"], block["sha256"]
        return f"[image {kind}, {size} bytes, sha256 {digest}]"
    return f"[image {block.get('url') or 'kept by the provider'}]"


def plain_text(message: Message) -> str:
    """The words of a message alone: no reasoning, no calls."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(
        text
        for block in message.content
        if block.get("type") != "reasoning" and (text := block_text(block))
    )


def attached_spans(message: Message) -> list[tuple[int, int]]:
    """Where in the words of a message something stands that its speaker did not write, but added:
    a document, a search result, a picture, a block that we do not know."""
    found: list[tuple[int, int]] = []
    at = 0
    for block in () if isinstance(message.content, str) else message.content:
        if block.get("type") != "reasoning" and (text := block_text(block)):
            if block.get("type") != "text":
                found.append((at, at + len(text)))
            at += len(text) + 1
    return found


def typed_text(message: Message) -> str:
    """The words of a message without those that the archive marks as pasted."""
    words = plain_text(message)
    kept, at = [], 0
    for start, end in (message.extra or {}).get("pasted", ()):
        kept.append(words[at:start])
        at = end
    return "\n".join([*kept, words[at:]]).strip()


def searchable_text(message: Message) -> str:
    """The searchable text: words, reasoning, images by reference, calls with their arguments."""
    return "\n".join(searchable_parts(message))


def searchable_parts(message: Message) -> list[str]:
    """The same in its parts."""
    if isinstance(message.content, str):
        parts = [message.content] if message.content else []
    else:
        parts = [text for block in message.content if (text := block_text(block))]
    if message.calls:
        parts += [
            f"{call.name} {arguments_text(call.arguments)}".rstrip() for call in message.calls
        ]
    return parts


def arguments_text(arguments: str) -> str:
    """The arguments of a call as words, so that a search finds `é` and not `\\u00e9`."""
    parsed = parse_arguments(arguments)
    if parsed is None:
        return arguments
    return " ".join(
        [
            f"{key}: {value if isinstance(value, str) else ' '.join(_strings(value, every=True))}"
            for key, value in parsed.items()
        ]
    )


def parse_arguments(arguments: str) -> dict[str, Json] | None:
    """The arguments as an object, or None when they are not one."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _strings(value: Json, every: bool = False) -> Iterator[str]:
    """The texts inside a JSON value; ids, seals and type names only when `every` is asked for."""
    if isinstance(value, str):
        if value:
            yield value
    elif isinstance(value, Mapping):
        for key, inner in value.items():
            if every or not (key in _SILENT_KEYS or key.startswith("encrypted")):
                yield from _strings(inner, every)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner, every)
    elif value is not None and every:
        yield json.dumps(value)


# ---------------------------------------------------------------- kept as JSON


def body_from_message(message: Message) -> dict[str, Json]:
    """The message as the archive keeps it: everything but its time and its key."""
    body: dict[str, Json] = {"role": message.role}
    if message.content != "":
        body["content"] = (
            message.content
            if isinstance(message.content, str)
            else [dict(block) for block in message.content]
        )
    if message.calls:
        body["calls"] = [call._asdict() for call in message.calls]
    if message.call_id:
        body["call_id"] = message.call_id
    if message.is_error:
        body["is_error"] = message.is_error
    if message.name:
        body["name"] = message.name
    if message.model:
        body["model"] = message.model
    if message.usage is not None:
        body["usage"] = dict(message.usage)
    if message.extra is not None:
        body["extra"] = dict(message.extra)
    return body


def message_from_body(body: Mapping[str, Json]) -> Message:
    """The message that `body_of` wrote down."""
    content = body.get("content", "")
    return Message(
        role=body["role"],
        content=content if isinstance(content, str) else tuple(content),
        calls=tuple(ToolCall(**call) for call in body.get("calls", ())),
        call_id=body.get("call_id", ""),
        is_error=body.get("is_error", False),
        name=body.get("name", ""),
        model=body.get("model", ""),
        usage=body.get("usage"),
        extra=body.get("extra"),
    )


# ---------------------------------------------------------------- at the door


def reference_bytes(media_type: str, data: str) -> dict[str, Json]:
    """What is kept of inline bytes: their type, length and hash, never the bytes."""
    from binascii import Error, a2b_base64
    from hashlib import sha256

    try:
        raw = a2b_base64(data)
    except (Error, ValueError) as error:
        raise InvalidInput(f"the inline {media_type} data is not base64: {error}") from None
    return {"media_type": media_type, "bytes": len(raw), "sha256": sha256(raw).hexdigest()}


@cache
def _wrapper() -> re.Pattern[str]:
    import re

    return re.compile(r"\[conversation\](.*?)\[/conversation\]", re.DOTALL)


def strip_tag(text: str, tag: str) -> str:
    """Text without the closed blocks of a tag; an unclosed one is left, it may be anything."""
    opening, closing = f"<{tag}", f"</{tag}>"
    start = text.find(opening)
    if start < 0:
        return text
    kept, at = [], 0
    while start >= 0:
        after = start + len(opening)
        end = text.find(closing, after)
        if end < 0:
            break
        if text[after] == ">" or text[after].isspace():
            kept.append(text[at:start])
            at = end + len(closing)
            at += text.startswith("\n", at)
        start = text.find(opening, max(at, after))
    kept.append(text[at:])
    return "".join(kept)


def strip_injected(text: str, role: str) -> str:
    """Text without `[conversation]` wrappers and without what we injected ourselves.

    A thread summary is only ever injected as a system or user message: in tool output and in
    the assistant's words the same tag is somebody's subject, and stays.
    """
    if "[conversation]" in text:
        bare = text.strip()
        if bare.startswith("[conversation]") and bare.endswith("[/conversation]"):
            text = _wrapper().sub(r"\1", bare)
    text = strip_tag(text, MEMORY_TAG)
    if role not in ("tool", "assistant"):
        text = strip_tag(text, SUMMARY_TAG)
    return _encodable(text)


def _encodable(text: str) -> str:
    """Lone surrogates cannot be written as UTF-8; no store would take them."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def strip_injected_message(message: Message) -> Message | None:
    """The message with our own injections taken out; None when nothing else was in it."""
    content = _own_content(message.content, message.role)
    calls = message.calls
    if calls and not all(call.arguments.isascii() for call in calls):
        calls = tuple(call._replace(arguments=_encodable(call.arguments)) for call in calls)
    if content == message.content and calls == message.calls:
        return message
    words_left = content.strip() if isinstance(content, str) else content
    # A result stays even when it is empty now: its call would be left without an answer.
    if not words_left and not calls and message.role != "tool":
        return None
    return message._replace(content=content, calls=calls)


def _own_content(content: Content, role: str) -> Content:
    if isinstance(content, str):
        return strip_injected(content, role)
    kept: list[Block] = []
    for block in content:
        text = strip_injected(block["text"], role) if block.get("type") == "text" else None
        if text is None or text == block["text"]:
            kept.append(block)
        elif text.strip():
            kept.append({**block, "text": text})
    return content if tuple(kept) == content else simplify_content(kept)


def refuse_duplicate_calls(messages: Iterable[Message], known: Iterable[str] = ()) -> None:
    """A call id names one call of a session: two would make the results ambiguous."""
    seen = set(known)
    for message in messages:
        for call in message.calls:
            if call.id in seen:
                raise duplicate_call_error(call)
            seen.add(call.id)


def duplicate_call_error(call: ToolCall) -> InvalidInput:
    """The error for a call id that the session has seen before."""
    return InvalidInput(
        f"the call id {call.id!r} is used twice in this session",
        where=f"call of {call.name}",
        hint="Give every tool call of a session its own id.",
    )


def body_digest(body: str) -> str:
    """The hash of a message's body."""
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def chain_hash(previous: str, seq: int, role: str, origin: str, at: int, body_digest: str) -> str:
    """The hash of a message in its place: who said it, and on which path it came in."""
    line = f"{previous}\n{seq}\n{role}\n{origin}\n{at}\n{body_digest}"
    return sha256(line.encode()).hexdigest()


def text_digest(text: str) -> str:
    """One digest for texts that differ only in case and white space."""
    return sha256(" ".join(text.casefold().split()).encode("utf-8", "replace")).hexdigest()
