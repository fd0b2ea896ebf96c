"""Cut tool results in their middle: keep head and tail, with the address of the whole between.

Decides how the results of one unit share the tokens that are left for it: one length for all of
them, so that the short ones stay whole. Only if that is not enough, the reasoning of the unit goes.
It does not know which unit is cut, nor why.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..text.messages import Block, Numbered, address_of, block_text, blocks_of
from ..text.tokens import Measure, chars_of, count_message
from ..types.records import Message
from .eliding import untied, without_reasoning
from .units import Unit

LEAST = 200
"""Characters of a cut message that are shown at least; below that it says nothing."""

NO_REASONING = 0
"""In place of a length: the message is whole but for its reasoning."""


def cut(units: Sequence[Unit], lengths: Mapping[int, int], session: str) -> list[Unit]:
    """Return the units with every message in `lengths` cut to so many characters."""
    if not lengths:
        return list(units)
    return [
        Unit(
            unit.head, untied(unit.members, tuple(_cut(m, lengths, session) for m in unit.members))
        )
        for unit in units
    ]


def lengths_within(
    unit: Unit, room: int, measure: Measure, session: str, now: Mapping[int, int]
) -> dict[int, int] | None:
    """Return the lengths to which a unit is cut so that it costs at most `room` tokens.

    What was cut before, as `now` says, does not become longer. None when even the shortest form
    is too long: the arguments of a call cannot be cut.
    """
    members = [m for m in unit.members if m.message.role == "tool"] or list(unit.members)
    sizes = {m.seq: chars_of(m.message) for m in members}
    turn = {m.seq: NO_REASONING for m in unit.members if m.message.role == "assistant"}

    def lengths(longest: int, more: Mapping[int, int]) -> dict[int, int]:
        shown = {seq: min(longest, now.get(seq, size)) for seq, size in sizes.items()}
        return {**more, **{seq: length for seq, length in shown.items() if length < sizes[seq]}}

    def fits(longest: int, more: Mapping[int, int]) -> bool:
        [shown] = cut([unit], lengths(longest, more), session)
        return size_of(shown, measure) <= room

    for more in ({}, turn):
        if fits(LEAST, more):
            # `low` fits and `high` may not.
            low, high = LEAST, max(LEAST, *sizes.values()) + 1
            while high - low > 1:
                middle = (low + high) // 2
                low, high = (middle, high) if fits(middle, more) else (low, middle)
            return lengths(low, more)
    return None


def size_of(unit: Unit, measure: Measure) -> int:
    """Return the tokens of a unit."""
    return sum(count_message(member.message, measure) for member in unit.members)


def _cut(member: Numbered, lengths: Mapping[int, int], session: str) -> Numbered:
    seq, message = member
    if seq not in lengths:
        return member
    address = address_of(session, seq, seq)
    if lengths[seq] == NO_REASONING:
        short = without_reasoning(message, address)
    else:
        short = _shortened(message, lengths[seq], address)
    return Numbered(seq, short) if chars_of(short) < chars_of(message) else member


def _shortened(message: Message, length: int, address: str) -> Message:
    blocks = [_readable(block, length // 2) for block in blocks_of(message.content)]
    total = sum(map(_chars, blocks))
    head = _from_front(blocks, length - length // 2)
    taken = sum(map(_chars, head))
    tail = _from_back(blocks, min(length // 2, total - taken))
    left_out = total - taken - sum(map(_chars, tail))
    note = f"\n[{left_out} characters left out: {address}]\n"
    parts = (*head, {"type": "text", "text": note}, *tail)
    is_text = isinstance(message.content, str)
    return message._replace(content="".join(map(block_text, parts)) if is_text else parts)


def _from_front(blocks: Sequence[Block], room: int) -> list[Block]:
    """Return the first blocks within so many characters; the last of them may be cut."""
    kept: list[Block] = []
    for block in blocks:
        if _chars(block) > room:
            part = block_text(block)[:room] if block.get("type") == "text" else ""
            return [*kept, {**block, "text": part}] if part else kept
        kept.append(block)
        room -= _chars(block)
    return kept


def _from_back(blocks: Sequence[Block], room: int) -> list[Block]:
    """Return the last blocks within so many characters; the first of them may be cut."""
    kept: list[Block] = []
    for block in reversed(blocks):
        if _chars(block) > room:
            text = block_text(block) if block.get("type") == "text" else ""
            part = text[len(text) - room :]
            return [{**block, "text": part}, *kept] if part else kept
        kept.insert(0, block)
        room -= _chars(block)
    return kept


def _readable(block: Block, longest: int) -> Block:
    """Return a long block that only one format understands as the text in it: that can be cut."""
    if block.get("type") != "opaque" or _chars(block) <= longest:
        return block
    return {"type": "text", "text": block_text(block)}


def _chars(block: Block) -> int:
    return chars_of(Message("tool", (block,)))
