"""The normal form of a message: its blocks, its text, its JSON body and its hashes.

Defines which blocks a message may hold, how it reads as text, which of our own injections are
removed on the way in, and when a call id is a duplicate. `providers.formats` converts wire formats,
`text.tokens` counts tokens.

The blocks of the normal form, all plain dicts:

    {"type": "text", "text": …}              words
    {"type": "reasoning", "text": …}         thinking, as far as it is readable
    {"type": "image", "url": …}              an image by its address
    {"type": "image", "media_type": …, "bytes": …, "sha256": …}   an image that was inline; with
                                             `data` until it is archived, and in a prompt
    {"type": "call", "id": …}                the position of a call between other blocks
    {"type": "opaque", "as": …, "block": …}  a block of one wire format only

A block may carry `rest`, and a message `extra`: per wire format, the fields that restore the
original exactly.

The archive is a hash chain: a digest for each body, and a hash that binds every message to the one
before. Erasing a body leaves its digest, so the chain still proves the rest.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence

from ..errors import InvalidInput
from ..fast_typing import NamedTuple, Protocol
from ..types.records import Json, Message, ToolCall
from . import seals
from .display import MEMORY_TAG, SUMMARY_TAG

CONTINUATION_PROMPT = "Older conversation history has been summarized. Continue."
"""The neutral prompt after a trim. It also opens a window that would begin with the assistant,
where a format requires the user first."""

Block = Mapping[str, Json]
Content = str | tuple[Block, ...]
_SILENT_KEYS = frozenset({"id", "call_id", "type", "signature", "data", "status"})


class PlacedMessage(Protocol):
    """A message with its number in the session's archive, such as `types.records.Stored`."""

    @property
    def seq(self) -> int: ...
    @property
    def message(self) -> Message: ...


class NumberedMessage(NamedTuple):
    """The smallest `PlacedMessage`: a message and its number."""

    seq: int
    message: Message


def range_address(session: str, first: int, last: int) -> str:
    """Return the address of the messages `first` to `last` of a session."""
    return f"memory://session/{session}/messages/{first}-{last}"


# ---------------------------------------------------------------- content


def blocks_of(content: Content) -> tuple[Block, ...]:
    """Return content as blocks."""
    if isinstance(content, str):
        return ({"type": "text", "text": content},) if content else ()
    return content


def simplify_content(blocks: Sequence[Block]) -> Content:
    """Shorten blocks: a single bare text becomes a string, no block the empty string."""
    if not blocks:
        return ""
    first = blocks[0]
    if len(blocks) == 1 and first.get("type") == "text" and len(first) == 2 and first["text"]:
        return str(first["text"])
    return tuple(blocks)


def block_text(block: Block) -> str:
    """Return the readable text of one block."""
    kind = block.get("type")
    if kind in ("text", "reasoning"):
        return str(block.get("text", ""))
    if kind == "image":
        return image_text(block)
    if kind == "opaque":
        return "\n".join(_strings(block.get("block")))
    return ""


def image_text(block: Block) -> str:
    """Describe an image: its address, or type and size of its bytes."""
    if "sha256" in block:
        kind, size, digest = block.get("media_type", "image"), block["bytes"], block["sha256"]
        return f"[image {kind}, {size} bytes, sha256 {digest}]"
    return f"[image {block.get('url') or 'kept by the provider'}]"


def plain_text(message: Message) -> str:
    """Return the words of a message, without reasoning and calls."""
    if isinstance(message.content, str):
        return message.content
    return "\n".join(
        text
        for block in message.content
        if block.get("type") != "reasoning" and (text := block_text(block))
    )


def attached_spans(message: Message) -> list[tuple[int, int]]:
    """Return the spans of a message's words that its author attached: a document, a search result,
    an image, an unknown block."""
    found: list[tuple[int, int]] = []
    at = 0
    for block in () if isinstance(message.content, str) else message.content:
        if block.get("type") != "reasoning" and (text := block_text(block)):
            if block.get("type") != "text":
                found.append((at, at + len(text)))
            at += len(text) + 1
    return found


def typed_text(message: Message) -> str:
    """Return the words of a message without those marked as pasted."""
    words = plain_text(message)
    kept, at = [], 0
    for start, end in (message.extra or {}).get("pasted", ()):
        kept.append(words[at:start])
        at = end
    return "\n".join([*kept, words[at:]]).strip()


def searchable_text(message: Message) -> str:
    """Return the searchable text: words, reasoning, image references, calls and arguments."""
    return "\n".join(searchable_parts(message))


def searchable_parts(message: Message) -> list[str]:
    """Return the parts of the searchable text."""
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
    """Decode the arguments of a call, so that a search finds `é` and not `\\u00e9`."""
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
    """Parse the arguments as an object; None if they are not one."""
    try:
        value = json.loads(arguments)
    except ValueError:
        return None
    return value if isinstance(value, dict) else None


def _strings(value: Json, every: bool = False) -> Iterator[str]:
    """Yield the texts inside a JSON value, without inline bytes; ids, signatures and type names
    only with `every`."""
    if isinstance(value, str):
        if value and not find_inline(value):
            yield value
    elif isinstance(value, Mapping):
        if value.get("type") in ("attachment", "reference") and "sha256" in value:
            yield f"[{value.get('media_type', 'file')}, {value.get('bytes')} bytes]"
            return
        for key, inner in value.items():
            if isinstance(inner, str) and find_inline(inner, key):
                continue
            if every or not (key in _SILENT_KEYS or key.startswith("encrypted")):
                yield from _strings(inner, every)
    elif isinstance(value, (list, tuple)):
        for inner in value:
            yield from _strings(inner, every)
    elif value is not None and every:
        yield json.dumps(value)


# ---------------------------------------------------------------- kept as JSON


def body_from_message(message: Message) -> dict[str, Json]:
    """Return the archived body of a message: everything except its time and key."""
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


def message_from_body(body: Mapping[str, Json], at: int = 0, key: str = "") -> Message:
    """Restore a message from its archived body; its time and key are stored separately."""
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
        at=at,
        key=key,
        extra=body.get("extra"),
    )


# ---------------------------------------------------------------- at the door


_INLINE_KEYS = frozenset({"data", "file_data", "result", "b64_json"})
_INLINE_LENGTH = 1_024


def find_inline(value: str, key: str = "") -> tuple[str, str] | None:
    """Return the head (`data:image/png;base64,`, or nothing) and the base64 text of inline bytes;
    None if there are none. Bare base64 is recognised by its key and its length."""
    if value.startswith("data:"):
        head, comma, data = value.partition(",")
        return (head + comma, data) if head.endswith(";base64") and comma else None
    if key not in _INLINE_KEYS or len(value) < _INLINE_LENGTH:
        return None
    start = value[:_INLINE_LENGTH]
    return ("", value) if start.replace("+", "").replace("/", "").isalnum() else None


def reference_bytes(media_type: str, data: str) -> dict[str, Json]:
    """Return type, length and hash of inline bytes."""
    from binascii import Error, a2b_base64
    from hashlib import sha256

    try:
        raw = a2b_base64(data)
    except (Error, ValueError) as error:
        raise InvalidInput(f"the inline {media_type} data is not base64: {error}") from None
    return {"media_type": media_type, "bytes": len(raw), "sha256": sha256(raw).hexdigest()}


def strip_tag(text: str, tag: str) -> str:
    """Remove the closed blocks of a tag; an unclosed one stays, because its end is unknown."""
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
    """Remove `[conversation]` wrappers and our own injections.

    A thread summary is injected as a system or user message only: in tool output and in the
    assistant's words the same tag is content, and stays.
    """
    if "[conversation]" in text:
        bare = text.strip()
        if bare.startswith("[conversation]") and bare.endswith("[/conversation]"):
            import re

            text = re.sub(r"(?s)\[conversation\](.*?)\[/conversation\]", r"\1", bare)
    text = strip_tag(text, MEMORY_TAG)
    if role not in ("tool", "assistant"):
        text = strip_tag(text, SUMMARY_TAG)
    return _encodable(text)


def _encodable(text: str) -> str:
    """Replace lone surrogates, which cannot be stored as UTF-8."""
    if text.isascii():
        return text
    try:
        text.encode()
    except UnicodeEncodeError:
        return text.encode("utf-8", "replace").decode("utf-8")
    return text


def strip_injected_message(message: Message) -> Message | None:
    """Remove our own injections from a message; return None if nothing is left."""
    content = _own_content(message.content, message.role)
    calls = message.calls
    if calls and not all(call.arguments.isascii() for call in calls):
        calls = tuple(call._replace(arguments=_encodable(call.arguments)) for call in calls)
    if content == message.content and calls == message.calls:
        return message
    words_left = content.strip() if isinstance(content, str) else content
    # Keep an empty result: its call needs an answer.
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


def refuse_duplicate_calls(messages: Iterable[Message]) -> None:
    """Raise InvalidInput if a call id repeats in a session: its results would be ambiguous."""
    seen: set[str] = set()
    for message in messages:
        for call in message.calls:
            if call.id in seen:
                raise duplicate_call_error(call)
            seen.add(call.id)


def duplicate_call_error(call: ToolCall) -> InvalidInput:
    """Return the error for a repeated call id."""
    return InvalidInput(
        f"the call id {call.id!r} is used twice in this session",
        where=f"call of {call.name}",
        hint="Give every tool call of a session its own id.",
    )


def body_digest(body: str) -> str:
    """Hash the body of a message that is written: OpenSSL takes a fifth of the time of Python's own
    sha256, and the hash of the chain loads it anyway."""
    from hashlib import sha256

    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def is_unchanged(body: str, digest: str, role: str) -> bool:
    """Check whether a message still has the body that was archived, or was erased on request."""
    found = seals.find_sha256()(body.encode("utf-8", "surrogatepass")).hexdigest()
    return found == digest or body == forgotten_body(role)


FORGOTTEN = "[forgotten]"


def forgotten_body(role: str) -> str:
    """Return the body of a message that was erased on request; its digest stays."""
    return f'{{"role":"{role}","content":"{FORGOTTEN}"}}'


def chain_hash(previous: str, seq: int, role: str, origin: str, at: int, digest: str) -> str:
    """Hash a message at its position: the previous hash, role, origin and body."""
    from hashlib import sha256  # a hook that hashes nothing need not load OpenSSL

    line = f"{previous}\n{seq}\n{role}\n{origin}\n{at}\n{digest}"
    return sha256(line.encode()).hexdigest()


def text_digest(text: str) -> str:
    """Hash a text, ignoring case and white space."""
    return text_digests([text])[0]


def text_digests(texts: Sequence[str]) -> list[str]:
    """Hash each of many texts, ignoring case and white space."""
    sha256 = seals.find_sha256()
    spaced = [" ".join(text.casefold().split()) for text in texts]
    return [sha256(words.encode("utf-8", "replace")).hexdigest() for words in spaced]
