"""Helpers that the wire formats share: deviations from the usual shape, and inline bytes.

Every format has a usual way to write a message. If a record is written in another way with the same
meaning, the difference is stored under the format's name, so that the record can be restored
exactly and other formats ignore it.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from ..errors import InvalidInput
from ..text.messages import (
    Block,
    Content,
    block_text,
    blocks_of,
    find_inline,
    reference_bytes,
    simplify_content,
)
from ..types.records import Json, Message

Record = Mapping[str, Json]
JSON_OBJECT = (dict, Mapping)
"""The types of a JSON object, `dict` first: checking the abstract class alone takes five times as
long. Check for `str` before, where a text is possible."""


def make_extra(form: str, **deviations: Json) -> dict[str, Json] | None:
    """Return the `extra` of a message: deviations only, None without any."""
    stated = {key: value for key, value in deviations.items() if value}
    return {form: stated} if stated else None


def read_extra(message: Message, form: str) -> Record:
    """Return the deviations of a message for this format."""
    return message.extra.get(form, {}) if message.extra else {}


def omit_keys(record: Record, *keys: str) -> dict[str, Json]:
    """Return a record without these keys."""
    return {key: value for key, value in record.items() if key not in keys}


def attach_rest(block: dict[str, Json], form: str, rest: Record) -> dict[str, Json]:
    """Attach fields that only this format uses to a block."""
    return {**block, "rest": {form: dict(rest)}} if rest else block


def read_rest(block: Block, form: str) -> dict[str, Json]:
    """Return the fields of a block that only this format uses."""
    return dict(block.get("rest", {}).get(form, {}))


# ---------------------------------------------------------------- content


def content_shape(record: Record, key: str = "content") -> str:
    """Return the shape of a record's content: absent, null, str or list."""
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
    """Write content in its original shape, if it still fits.

    Content may have changed since: a stub does not fit into a null.
    """
    if not content and shape in ("absent", "null"):
        if shape == "null":
            out[key] = None
    elif isinstance(content, str) and shape != "list":
        out[key] = content
    else:
        out[key] = [raw for block in blocks_of(content) if (raw := raw_block(block))]


def required_text(record: Record, key: str, owner: str) -> str:
    """Return a required text of a record; raise InvalidInput without one."""
    value = record.get(key)
    if not isinstance(value, str) or not value:
        raise InvalidInput(f"{owner} has no {key}")
    return value


def optional_text(record: Record, key: str) -> str:
    """Return an optional text of a record."""
    value = record.get(key)
    if value is not None and not isinstance(value, str):
        raise InvalidInput(f"its {key} is not text")
    return value or ""


def optional_list(record: Record, key: str) -> Sequence[Json]:
    """Return an optional list of a record."""
    value = record.get(key)
    if value is not None and not isinstance(value, (list, tuple)):
        raise InvalidInput(f"its {key} is not a list")
    return value or ()


# ---------------------------------------------------------------- bytes


def image_block(form: str, url: str, rest: Record) -> dict[str, Json]:
    """Return an image block; a `data:` address becomes its type, size, hash and bytes."""
    inline = find_inline(url)
    if inline is None:
        return attach_rest({"type": "image", "url": url}, form, rest)
    head, data = inline
    media_type = head[5:].partition(";")[0] or "application/octet-stream"
    return attach_rest(inline_image(media_type, data), form, rest)


def inline_image(media_type: str, data: str) -> dict[str, Json]:
    """Return the block of an image that came as base64."""
    return {"type": "image", **reference_bytes(media_type, data), "data": data}


def opaque_block(form: str, block: Record, **more: Json) -> dict[str, Json]:
    """Return a block of which only its own format knows the type."""
    return {"type": "opaque", "as": form, "block": dict(block), **more}


def whole_block(block: Block, form: str) -> Json | None:
    """Return the original of an opaque block of this format; None if its bytes were not kept."""
    if block["as"] != form:
        return None
    inner = block["block"]
    return None if _lacks_bytes(inner) else inner


def _lacks_bytes(value: Json) -> bool:
    if isinstance(value, JSON_OBJECT):
        lost = value.get("type") in ("attachment", "reference", "image") and "sha256" in value
        return lost or any(map(_lacks_bytes, value.values()))
    return isinstance(value, (list, tuple)) and any(map(_lacks_bytes, value))


def stub_text(block: Block) -> str:
    """Return a text for a block that a format does not accept."""
    return block_text(block).strip()


def simplify_blocks(blocks: list[Block]) -> Content:
    """Simplify the blocks of one message; raise InvalidInput for a text block without text."""
    for block in blocks:
        if block.get("type") == "text" and not isinstance(block.get("text"), str):
            raise InvalidInput("a text block has no text")
    return simplify_content(blocks)
