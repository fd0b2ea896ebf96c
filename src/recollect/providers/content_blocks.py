"""What the wire formats have in common: deviations from the usual shape, and inline bytes.

Every format has a usual way to write a message. Where a record is written in another way that
means the same, the difference is noted under the format's name, so that the record can be given
back exactly as it came, and so that no other format is bothered by it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ..errors import InvalidInput
from ..text.messages import Block, Content, blocks_of, reference_bytes, simplify_content
from ..types.records import Json, Message

Record = Mapping[str, Json]
JSON_OBJECT = (dict, Mapping)
"""A JSON object. Asking the abstract class alone takes five times as long, and so does asking
whether a text is one: where it may be, that is asked first."""

_INLINE_KEYS = frozenset({"data", "file_data", "result", "b64_json"})
_INLINE_LENGTH = 1_024


def make_extra(form: str, **deviations: Json) -> dict[str, Json] | None:
    """The `extra` of a message: only what deviates, or None when nothing does."""
    said = {key: value for key, value in deviations.items() if value}
    return {form: said} if said else None


def read_extra(message: Message, form: str) -> Record:
    """What was noted of a message for this format."""
    return message.extra.get(form, {}) if message.extra else {}


def omit_keys(record: Record, *keys: str) -> dict[str, Json]:
    """What else a record holds."""
    return {key: value for key, value in record.items() if key not in keys}


def attach_rest(block: dict[str, Json], form: str, rest: Record) -> dict[str, Json]:
    """A block of the normal form together with what only its own format understands."""
    return {**block, "rest": {form: dict(rest)}} if rest else block


def read_rest(block: Block, form: str) -> dict[str, Json]:
    """What a block carries for this format."""
    return dict(block.get("rest", {}).get(form, {}))


# ---------------------------------------------------------------- content


def content_shape(record: Record, key: str = "content") -> str:
    """How a record wrote its content: absent, null, str or list."""
    if key not in record:
        return "absent"
    value = record[key]
    if value is None:
        return "null"
    return "str" if isinstance(value, str) else "list"


def put_content(
    out: dict[str, Json],
    key: str,
    content: Content,
    shape: str,
    raw_block: Callable[[Block], Json | None],
) -> None:
    """Write content in its shape, as far as that can still hold it.

    Content may have been changed since the shape was noted: a stub does not fit into a null.
    """
    if not content and shape in ("absent", "null"):
        if shape == "null":
            out[key] = None
    elif isinstance(content, str) and shape != "list":
        out[key] = content
    else:
        out[key] = [raw for block in blocks_of(content) if (raw := raw_block(block))]


def required_text(record: Record, key: str, what: str) -> str:
    """A text that a record cannot do without."""
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{what} has no {key}")
    return value


def optional_text(record: Record, key: str) -> str:
    """A text that a record may do without."""
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"its {key} is not text")
    return value or ""


def optional_list(record: Record, key: str) -> Sequence[Json]:
    """A list that a record may do without."""
    value = record.get(key)
    if value is not None and not isinstance(value, (list, tuple)):
        raise InvalidInput(f"its {key} is not a list")
    return value or ()


# ---------------------------------------------------------------- bytes


def image_block(form: str, url: str, rest: Record) -> dict[str, Json]:
    """An image by its address; bytes inside a `data:` address become a reference."""
    if url.startswith("data:"):
        head, _, data = url.partition(",")
        media_type = head[5:].partition(";")[0] or "application/octet-stream"
        return attach_rest({"type": "image", **reference_bytes(media_type, data)}, form, rest)
    return attach_rest({"type": "image", "url": url}, form, rest)


def opaque_block(form: str, block: Record, **more: Json) -> dict[str, Json]:
    """A block that only its own format understands, kept whole but for inline bytes."""
    return {"type": "opaque", "as": form, "block": strip_inline_bytes(block), **more}


def strip_inline_bytes(value: Any, key: str = "") -> Any:
    """A JSON value in which inline bytes are replaced by what is known of them."""
    if isinstance(value, JSON_OBJECT):
        kind = str(value.get("media_type") or value.get("format") or "")
        return {k: strip_inline_bytes(v, f"{k}:{kind}") for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [strip_inline_bytes(inner) for inner in value]
    if not isinstance(value, str):
        return value
    if value.startswith("data:") and ";base64," in value[:200]:
        return image_block("", value, {})
    name, _, kind = key.partition(":")
    if name in _INLINE_KEYS and len(value) >= _INLINE_LENGTH:
        try:
            return {
                "type": "reference",
                **reference_bytes(kind or "application/octet-stream", value),
            }
        except InvalidInput:
            return value
    return value


def simplify_blocks(blocks: list[Block]) -> Content:
    """Blocks of one message; a text block is never without its text."""
    for block in blocks:
        if block.get("type") == "text" and not isinstance(block.get("text"), str):
            raise InvalidInput("a text block has no text")
    return simplify_content(blocks)
