"""Group messages into units that stay together, and shorten old or long ones.

A unit is a turn of the assistant with the results of all its calls. A call without its result, or a
result without its call, never reaches a model. A late result joins its call; if that is old or has
left the window, the call is repeated in the model's last turn before the result came.

Eliding replaces an old message by a one-line stub with its address: reasoning of old turns, reads
of a file that was written later, failed calls that were retried, oversized tool output, empty and
acknowledging turns. Whether a message is elided depends only on the messages after it up to the
horizon, so the result does not change until the horizon moves. A stub is used only where it is
shorter.

Cutting keeps head and tail of a long tool result, with its address between them. All results of a
unit are cut to one length, so that the short ones stay whole; only if that is not enough, the
reasoning of the unit goes, then the texts in the arguments of its calls are cut as the results are.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from typing import NamedTuple

from ..actions.tool_calls import describe_target, is_failed, read_effects
from ..text.messages import (
    Block,
    NumberedMessage,
    PlacedMessage,
    block_text,
    blocks_of,
    duplicate_call_error,
    plain_text,
    range_address,
)
from ..text.tokens import TokenMeasure, count_chars, count_message
from ..types.records import Json, Message


class Unit(NamedTuple):
    """Messages that are kept or dropped together, in the order in which they are sent.

    `head` is the archive number of the first one: the window can begin there.
    """

    head: int
    members: tuple[NumberedMessage, ...]


def group_units(
    messages: Iterable[PlacedMessage], repeated: Mapping[str, NumberedMessage] | None = None
) -> list[Unit]:
    """Group messages, given in archive order, into units.

    Adjacent messages of the assistant are one turn: some providers write each block or call as a
    record of its own, and expect the results after all of them. `repeated` are the calls, by id,
    whose late results join the model's last turn (`repeat_calls`).
    """
    turns: list[list[NumberedMessage]] = []
    results: dict[int, list[NumberedMessage]] = {}
    again: dict[int, list[NumberedMessage]] = {}
    callers: dict[str, int] = {}
    speaking, last = False, -1
    for placed in messages:
        message = placed.message
        numbered = NumberedMessage(placed.seq, message)
        if message.role == "tool":
            turn = callers.get(message.call_id)
            if repeated and turn != last and message.call_id in repeated:
                if last < 0:
                    turns.append([])
                    last = len(turns) - 1
                turn = last
                again.setdefault(turn, []).append(repeated[message.call_id])
            if turn is not None:
                results.setdefault(turn, []).append(numbered)
        elif message.role == "assistant" and speaking:
            turns[-1].append(numbered)
        else:
            turns.append([numbered])
        for call in message.calls:
            if call.id in callers:
                raise duplicate_call_error(call)
            callers[call.id] = len(turns) - 1
        speaking = message.role == "assistant"
        last = len(turns) - 1 if speaking else last
    units = []
    for at, turn_messages in enumerate(turns):
        answers = results.get(at, [])
        spoken = _drop_unanswered(turn_messages, {answer.message.call_id for answer in answers})
        spoken += again.get(at, ())
        if spoken:
            head = (turn_messages or answers)[0].seq
            units.append(Unit(head, (*spoken, *answers)))
    return units


def _drop_unanswered(turn: list[NumberedMessage], answered: set[str]) -> list[NumberedMessage]:
    """Return a turn without unanswered calls, and without reasoning that only led up to them."""
    kept: list[NumberedMessage] = []
    for numbered in reversed(turn):
        message = numbered.message
        calls = tuple(call for call in message.calls if call.id in answered)
        if len(calls) < len(message.calls):
            message = message._replace(calls=calls)
        # Reasoning is only sent before its outcome.
        if message.calls or has_content(message) or (kept and message.content):
            kept.append(NumberedMessage(numbered.seq, message))
        elif not message.content and not numbered.message.calls:
            kept.append(numbered)
    return kept[::-1]


def has_content(message: Message) -> bool:
    """Check whether a message has text, images or the like, beside reasoning."""
    if isinstance(message.content, str):
        return bool(message.content)
    return any(block.get("type") not in ("reasoning", "call") for block in message.content)


# ---------------------------------------------------------------- elide

OVERSIZED = 4_000
"""Characters above which an old tool result is elided."""
LONGEST_ACKNOWLEDGEMENT = 200


def elide_units(units: Sequence[Unit], horizon: int, session: str) -> list[Unit]:
    """Return the units with old messages, those up to the horizon, elided where possible."""
    later = _LaterMessages()
    shown: list[Unit] = []
    for unit in reversed(units):
        old = [member for member in unit.members if member.seq <= horizon]
        if not old:
            shown.append(unit)
            continue
        reasons = _find_elision_reasons(old, later)
        members = tuple(
            NumberedMessage(m.seq, _elide_message(m, reasons.get(m.seq, ""), later, session))
            if m.seq <= horizon
            else m
            for m in unit.members
        )
        if members != unit.members:
            unit = Unit(unit.head, _drop_item_ids(unit.members, members))
        shown.append(unit)
        later.learn(old)
    return shown[::-1]


class _LaterMessages:
    """Facts about the old messages after the current one, collected while reading backwards."""

    def __init__(self) -> None:
        self.user_spoke = False
        self.written: set[str] = set()
        self.worked: set[tuple[str, str]] = set()

    def learn(self, old: Sequence[NumberedMessage]) -> None:
        worked = {
            m.message.call_id for m in old if m.message.role == "tool" and not is_failed(m.message)
        }
        for member in old:
            if member.message.role == "user":
                self.user_spoke = True
            for call in member.message.calls:
                if call.id in worked:
                    self.written.update(read_effects(call).writes)
                    self.worked.add((call.name, describe_target(call)))


def _find_elision_reasons(old: Sequence[NumberedMessage], later: _LaterMessages) -> dict[int, str]:
    """Return the reasons to elide tool results, by message number."""
    calls = {call.id: call for member in old for call in member.message.calls}
    reasons = {}
    for seq, message in old:
        call = calls.get(message.call_id)
        if call is None:
            continue
        reads = read_effects(call).reads
        if is_failed(message) and (call.name, describe_target(call)) in later.worked:
            reasons[seq] = "failed, and worked later"
        elif reads and later.written.issuperset(reads):
            reasons[seq] = f"{reads[0]} was written later"
        elif count_chars(message) > OVERSIZED:
            reasons[seq] = f"{count_chars(message)} characters of output"
    return reasons


def _elide_message(
    member: NumberedMessage, reason: str, later: _LaterMessages, session: str
) -> Message:
    message = member.message
    address = range_address(session, member.seq, member.seq)
    short = message
    if reason:
        short = message._replace(content=f"[{reason}: {address}]")
    elif message.role == "assistant" and _is_acknowledgement(message):
        short = message._replace(content=f"[acknowledged: {address}]")
    elif message.role == "assistant" and later.user_spoke and not isinstance(message.content, str):
        short = strip_reasoning(message, address)
    return short if count_chars(short) < count_chars(message) else message


def strip_reasoning(message: Message, address: str) -> Message:
    """Replace the reasoning of a message, if any, by a stub."""
    blocks = [block for block in blocks_of(message.content) if block.get("type") != "reasoning"]
    if len(blocks) == len(blocks_of(message.content)):
        return message
    stub = {"type": "text", "text": f"[reasoning: {address}]"}
    return message._replace(content=(stub, *blocks))


def _drop_item_ids(
    before: Sequence[NumberedMessage], after: tuple[NumberedMessage, ...]
) -> tuple[NumberedMessage, ...]:
    """Remove item ids from a unit that lost its reasoning.

    OpenAI's responses format ties items to the reasoning before them by id, and rejects one without
    the other.
    """
    if not any(
        _has_item_reasoning(old.message) and not _has_item_reasoning(new.message)
        for old, new in zip(before, after, strict=True)
    ):
        return after
    return tuple(NumberedMessage(member.seq, drop_item_id(member.message)) for member in after)


def _has_item_reasoning(message: Message) -> bool:
    return any(
        block.get("type") == "reasoning" and "responses" in block.get("rest", {})
        for block in blocks_of(message.content)
    )


def drop_item_id(message: Message) -> Message:
    notes = (message.extra or {}).get("responses", {})
    if "id" not in notes.get("rest", {}):
        return message
    rest = {key: value for key, value in notes["rest"].items() if key != "id"}
    return message._replace(extra={**(message.extra or {}), "responses": {**notes, "rest": rest}})


@cache
def _acknowledgement_pattern() -> re.Pattern[str]:
    return re.compile(
        r"\W*(?:ok(?:ay)?|sure|got it|understood|great|perfect|thanks?|thank you|you're welcome"
        r"|certainly|of course|absolutely|will do|noted|sounds good|no problem|glad)\b",
        re.IGNORECASE,
    )


def _is_acknowledgement(message: Message) -> bool:
    """Check whether a turn of the assistant is empty or only acknowledges."""
    if message.calls:
        return False
    text = plain_text(message)
    if not text.strip():
        return isinstance(message.content, str)
    return (
        len(text) <= LONGEST_ACKNOWLEDGEMENT
        and bool(_acknowledgement_pattern().match(text))
        and not any(char in text for char in "?`/:0123456789\n")
    )


# ---------------------------------------------------------------- cut

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
            _drop_item_ids(
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


def unit_tokens(unit: Unit, measure: TokenMeasure) -> int:
    """Count the tokens of a unit."""
    return sum(count_message(member.message, measure) for member in unit.members)


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
