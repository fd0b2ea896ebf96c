"""Take inline bytes out of messages, and put them back.

Images, PDFs, files and audio come as base64 inside a message. In the archive the message names only
their hash, type and size; the bytes are stored once for each content. A prepared prompt has them
back in the same place.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ..errors import InvalidInput
from ..fast_typing import Any, NamedTuple
from ..secrets import redaction
from ..text.messages import Block, find_inline, reference_bytes
from ..types.records import Json, Message

MARK = "attachment"
"""The type of a reference in the place of inline text."""


class Attachment(NamedTuple):
    """The bytes of an attachment, and the types of the secrets that were removed from them."""

    sha256: str
    media_type: str
    data: bytes
    redacted: tuple[str, ...] = ()


def refuse_large(attachments: Iterable[Attachment], most: int) -> None:
    """Raise InvalidInput for an attachment of more than `most` megabytes."""
    for one in attachments:
        if len(one.data) > most * 1_000_000:
            raise InvalidInput(
                f"an attachment ({one.media_type}) has {len(one.data) / 1e6:.1f} MB, more than "
                f"{most} MB; nothing was recorded",
                where="message",
                hint="Set attachment_limit higher, or record the message without it.",
            )


Attachments = tuple[Attachment, ...]


def detach(message: Message) -> tuple[Message, Attachments]:
    """Return a message without inline bytes, and these bytes."""
    if isinstance(message.content, str) and not message.extra:
        return message, ()
    found: dict[str, Attachment] = {}
    content = (
        message.content
        if isinstance(message.content, str)
        else tuple([_detach_block(block, found) for block in message.content])
    )
    extra = _detach_value(message.extra, found) if message.extra else message.extra
    if not found:
        return message, ()
    return message._replace(content=content, extra=extra), tuple(found.values())


def _detach_block(block: Block, found: dict[str, Attachment]) -> Block:
    if block.get("type") == "image" and "data" in block:
        kept = _keep(str(block["media_type"]), str(block["data"]), found)
        return {key: value for key, value in {**block, **kept}.items() if key != "data"}
    if block.get("type") == "opaque":
        return {**block, "block": _detach_value(block.get("block"), found)}
    return block


def _detach_value(value: Json, found: dict[str, Attachment], key: str = "", kind: str = "") -> Json:
    if isinstance(value, Mapping):
        kind = str(value.get("media_type") or value.get("format") or "")
        return {name: _detach_value(inner, found, name, kind) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_detach_value(inner, found) for inner in value]
    inline = find_inline(value, key) if isinstance(value, str) else None
    if inline is None:
        return value
    head, data = inline
    media_type = head[5:].partition(";")[0] or kind or "application/octet-stream"
    try:
        kept = _keep(media_type, data, found)
    except InvalidInput:
        return value
    return {"type": MARK, **kept, **({"head": head} if head else {})}


def _keep(media_type: str, data: str, found: dict[str, Attachment]) -> dict[str, Json]:
    from binascii import a2b_base64, b2a_base64

    kept = reference_bytes(media_type, data)
    raw = a2b_base64(data)
    clean, removed = redact_bytes(raw)
    if clean != raw:
        kept = reference_bytes(media_type, b2a_base64(clean).decode())
    found[kept["sha256"]] = Attachment(kept["sha256"], media_type, clean, removed)
    return kept


def redact_bytes(data: bytes) -> tuple[bytes, tuple[str, ...]]:
    """Return bytes without the secrets of their text, and the types of these; bytes that are no
    text (UTF-8, or UTF-16 with its mark) stay as they are."""
    code = "utf-16" if data[:2] in (b"\xff\xfe", b"\xfe\xff") else "utf-8"
    try:
        text = data.decode(code)
    except UnicodeDecodeError:
        return data, ()
    if "\0" in text:
        return data, ()
    clean = redaction.redact_and_report(text)
    return (data, ()) if clean.text == text else (clean.text.encode(code), clean.found)


def references(message: Message) -> set[str]:
    """Return the hashes of the attachments that a message names."""
    return {*_walk(message.content), *_walk(message.extra)}


def _walk(value: Any) -> Iterator[str]:
    if isinstance(value, Mapping):
        if value.get("type") in (MARK, "image") and "sha256" in value:
            yield value["sha256"]
        value = tuple(value.values())
    if isinstance(value, (list, tuple)):
        for inner in value:
            yield from _walk(inner)


def attach(message: Message, held: Mapping[str, bytes]) -> Message:
    """Return a message with the bytes of its attachments in their places; those that are not held
    keep their reference."""
    if isinstance(message.content, str) and not message.extra:
        return message
    content = message.content
    if not isinstance(content, str):
        content = tuple([_attach_value(block, held) for block in content])
    extra = _attach_value(message.extra, held) if message.extra else message.extra
    return message._replace(content=content, extra=extra)


def _attach_value(value: Any, held: Mapping[str, bytes]) -> Any:
    if isinstance(value, Mapping):
        if value.get("sha256") in held and value.get("type") in (MARK, "image"):
            from base64 import b64encode

            data = b64encode(held[value["sha256"]]).decode()
            if value["type"] == "image":
                return {**value, "data": data}
            return f"{value.get('head', '')}{data}"
        return {name: _attach_value(inner, held) for name, inner in value.items()}
    if isinstance(value, (list, tuple)):
        return [_attach_value(inner, held) for inner in value]
    return value
