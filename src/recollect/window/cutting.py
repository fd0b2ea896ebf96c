"""Cut the long messages of a unit.

Cutting keeps head and tail of a long tool result, with its address between them. All results of a
unit are cut to one length, so that the short ones stay whole; only if that is not enough, the
reasoning of the unit goes, then the texts in the arguments of its calls are cut as the results are.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..text.messages import Block, NumberedMessage, block_text, blocks_of, range_address
from ..text.tokens import TokenMeasure, count_chars
from ..types.records import Json, Message
from .units import Unit, drop_item_ids, strip_reasoning, unit_tokens

LEAST_SHOWN = 200
"""Characters that a cut message keeps at least."""
NO_REASONING = 0
"""A length that means: whole, but without reasoning."""


def cut_units(units: Sequence[Unit], lengths: Mapping[int, int], session: str) -> list[Unit]:
    """Return the units with every message in `lengths` cut to that many characters."""
    if not lengths:
        return list(units)
    return [
        Unit(
            unit.head,
            drop_item_ids(
                unit.members, tuple(_cut_message(m, lengths, session) for m in unit.members)
            ),
        )
        for unit in units
    ]


def fit_lengths(
    unit: Unit, room: int, measure: TokenMeasure, session: str, now: Mapping[int, int]
) -> dict[int, int] | None:
    """Return the lengths to cut a unit to, so that it costs at most `room` tokens.

    Messages that are cut already, as in `now`, do not become longer. Return None if even the
    shortest form is too long: many short arguments cannot be cut.
    """
    whole = {m.seq: count_chars(m.message) for m in unit.members}
    results = {m.seq: whole[m.seq] for m in unit.members if m.message.role == "tool"} or whole
    turn = {m.seq: NO_REASONING for m in unit.members if m.message.role == "assistant"}

    def lengths(
        longest: int, sizes: Mapping[int, int], more: Mapping[int, int]
    ) -> dict[int, int] | None:
        """Return the lengths with all of `sizes` cut to `longest`; None if that is too long."""
        shown = {seq: min(longest, now.get(seq) or size) for seq, size in sizes.items()}
        cuts = {**more, **{seq: length for seq, length in shown.items() if length < whole[seq]}}
        [short] = cut_units([unit], cuts, session)
        return cuts if unit_tokens(short, measure) <= room else None

    for sizes, more in ((results, {}), (results, turn), (whole, turn)):
        if (best := lengths(LEAST_SHOWN, sizes, more)) is not None:
            # `low` fits and `high` may not.
            low, high = LEAST_SHOWN, max(LEAST_SHOWN, *sizes.values()) + 1
            while high - low > 1:
                middle = (low + high) // 2
                cuts = lengths(middle, sizes, more)
                low, high = (low, middle) if cuts is None else (middle, high)
                best = best if cuts is None else cuts
            return best
    return None


def _cut_message(
    member: NumberedMessage, lengths: Mapping[int, int], session: str
) -> NumberedMessage:
    seq, message = member
    if seq not in lengths:
        return member
    address = range_address(session, seq, seq)
    short = message
    if message.calls or lengths[seq] == NO_REASONING:
        short = strip_reasoning(message, address)
    if lengths[seq] != NO_REASONING:
        if count_chars(short._replace(calls=())) > lengths[seq]:
            short = _shorten(short, lengths[seq], address)
        calls = (
            call._replace(arguments=_shorten_arguments(call.arguments, lengths[seq], address))
            for call in message.calls
        )
        short = short._replace(calls=tuple(calls))
    return NumberedMessage(seq, short) if count_chars(short) < count_chars(message) else member


def _shorten(message: Message, length: int, address: str) -> Message:
    blocks = [_make_cuttable(block, length // 2) for block in blocks_of(message.content)]
    total = sum(map(_count_block, blocks))
    head = _take_front(blocks, length - length // 2)
    taken = sum(map(_count_block, head))
    tail = _take_back(blocks, min(length // 2, total - taken))
    left_out = total - taken - sum(map(_count_block, tail))
    note = f"\n[{left_out} characters left out: {address}]\n"
    parts = (*head, {"type": "text", "text": note}, *tail)
    is_text = isinstance(message.content, str)
    return message._replace(content="".join(map(block_text, parts)) if is_text else parts)


def _shorten_arguments(arguments: str, length: int, address: str) -> str:
    """Cut the long texts in the arguments of a call; what is no JSON stays whole."""

    def shorten(value: Json) -> Json:
        if isinstance(value, dict):
            return {key: shorten(one) for key, one in value.items()}
        if isinstance(value, list):
            return [shorten(one) for one in value]
        if not isinstance(value, str) or len(value) <= length:
            return value
        head, tail = length - length // 2, len(value) - length // 2
        note = f"\n[{tail - head} characters left out: {address}]\n"
        return value[:head] + note + value[tail:]

    if len(arguments) <= length:
        return arguments
    try:
        return json.dumps(shorten(json.loads(arguments)), ensure_ascii=False)
    except ValueError:
        return arguments


def _take_front(blocks: Sequence[Block], room: int) -> list[Block]:
    """Return the first blocks within `room` characters; the last one may be cut."""
    kept: list[Block] = []
    for block in blocks:
        if _count_block(block) > room:
            part = block_text(block)[:room] if block.get("type") == "text" else ""
            return [*kept, {**block, "text": part}] if part else kept
        kept.append(block)
        room -= _count_block(block)
    return kept


def _take_back(blocks: Sequence[Block], room: int) -> list[Block]:
    """Return the last blocks within `room` characters; the first one may be cut."""
    kept: list[Block] = []
    for block in reversed(blocks):
        if _count_block(block) > room:
            text = block_text(block) if block.get("type") == "text" else ""
            part = text[len(text) - room :]
            return [{**block, "text": part}, *kept] if part else kept
        kept.insert(0, block)
        room -= _count_block(block)
    return kept


def _make_cuttable(block: Block, longest: int) -> Block:
    """Return a long opaque block as its text, which can be cut."""
    if block.get("type") != "opaque" or _count_block(block) <= longest:
        return block
    return {"type": "text", "text": block_text(block)}


def _count_block(block: Block) -> int:
    return count_chars(Message("tool", (block,)))
