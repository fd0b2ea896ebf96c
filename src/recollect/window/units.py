"""Group messages into units that stay together, and elide old ones.

A unit is a turn of the assistant with the results of all its calls. A call without its result, or a
result without its call, never reaches a model. A late result joins its call; if that is old or has
left the window, the call is repeated in the model's last turn before the result came.

Eliding replaces an old message by a one-line stub with its address: reasoning of old turns, reads
of a file that was written later, failed calls that were retried, oversized tool output, empty and
acknowledging turns. Whether a message is elided depends only on the messages after it up to the
horizon, so the result does not change until the horizon moves. A stub is used only where it is
shorter.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from itertools import takewhile
from typing import NamedTuple

from ..actions.tool_calls import describe_target, is_failed, read_effects
from ..text.messages import (
    NumberedMessage,
    PlacedMessage,
    blocks_of,
    duplicate_call_error,
    plain_text,
    range_address,
)
from ..text.tokens import TokenMeasure, count_chars, count_message
from ..types.records import Message

SHORT_REQUEST = 50
"""Characters. A shorter user message is not a task by itself ("yes", "go on")."""
MOST_WAITING = 8
"""The maximum number of remembered calls that left the window before their results came."""


class Unit(NamedTuple):
    """Messages that are kept or dropped together, in the order in which they are sent.

    `head` is the archive number of the first one: the window can begin there.
    """

    head: int
    members: tuple[NumberedMessage, ...]


def unit_tokens(unit: Unit, measure: TokenMeasure) -> int:
    """Count the tokens of a unit."""
    return sum(count_message(member.message, measure) for member in unit.members)


def find_system_end(messages: Iterable[PlacedMessage]) -> int:
    """Return the number of the last leading system message; 0 without one."""
    leading = takewhile(lambda one: one.message.role in ("system", "developer"), messages)
    return max((placed.seq for placed in leading), default=0)


def group_units(
    messages: Iterable[PlacedMessage], repeated: Mapping[str, NumberedMessage] | None = None
) -> list[Unit]:
    """Group messages, given in archive order, into units.

    Adjacent messages of the assistant are one turn: some providers write each block or call as a
    separate record, and expect the results after all of them. `repeated` are the calls, by id,
    whose late results are added to the model's last turn (`repeat_calls`).
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
        spoken += _join_calls(again.get(at, ()))
        if spoken:
            head = (turn_messages or answers)[0].seq
            units.append(Unit(head, (*spoken, *answers)))
    return units


def repeat_calls(
    messages: Iterable[PlacedMessage], wanted: Iterable[tuple[int, str]]
) -> dict[str, NumberedMessage]:
    """Return calls, given by message number and id, each as a message with only this call."""
    ids = {*wanted}
    return {
        call.id: NumberedMessage(
            placed.seq, _drop_item_id(placed.message._replace(content="", calls=(call,), model=""))
        )
        for placed in messages
        for call in placed.message.calls
        if (placed.seq, call.id) in ids
    }


def _join_calls(repeated: Iterable[NumberedMessage]) -> list[NumberedMessage]:
    """Join repeated calls of one message."""
    joined: dict[int, Message] = {}
    for seq, message in repeated:
        calls = (*joined[seq].calls, *message.calls) if seq in joined else message.calls
        joined[seq] = message._replace(calls=calls)
    return [NumberedMessage(seq, message) for seq, message in joined.items()]


def find_late_calls(messages: Sequence[PlacedMessage]) -> list[tuple[int, str]]:
    """Return message number and id of the calls of earlier turns whose results came after the
    model's last turn: the model has not seen these results yet."""
    callers: dict[str, tuple[int, int]] = {}
    turn, speaking = 0, False
    late: list[tuple[int, str]] = []
    for placed in messages:
        message = placed.message
        if message.role == "assistant" and not speaking:
            turn, late = turn + 1, []
        speaking = message.role == "assistant"
        callers |= {call.id: (turn, placed.seq) for call in message.calls}
        if message.role == "tool" and message.call_id in callers:
            called, seq = callers[message.call_id]
            late += [(seq, message.call_id)] if called != turn else []
    return late


def find_waiting(
    known: Iterable[tuple[int, str]],
    messages: Sequence[PlacedMessage],
    shown: Iterable[Unit],
    pointer: int,
) -> tuple[tuple[int, str], ...]:
    """Return the known calls that are repeated in the shown units, and the newest calls before the
    pointer that have no result yet."""
    known = {*known}
    used = {member.message.call_id for unit in shown for member in unit.members}
    asked = {(placed.seq, call.id) for placed in messages for call in placed.message.calls}
    answered = {placed.message.call_id for placed in messages if placed.message.role == "tool"}
    unanswered = sorted(one for one in known | asked if one[1] not in answered)
    left = [one for one in unanswered if one[0] < pointer][-MOST_WAITING:]
    return tuple(sorted({*left, *(one for one in known if one[1] in used)}))


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
    """Check whether a message has content other than reasoning, such as text or images."""
    if isinstance(message.content, str):
        return bool(message.content)
    return any(block.get("type") not in ("reasoning", "call") for block in message.content)


def find_anchors(units: Sequence[Unit]) -> dict[int, str]:
    """Return the user messages that are always kept, by number, the current task last."""
    newest: dict[int, str] = {}
    for unit in reversed(units):
        message = unit.members[0].message
        if message.role != "user":
            continue
        text = plain_text(message).strip()
        if not newest or len(text) >= SHORT_REQUEST:
            newest[unit.head] = text
        if len(text) >= SHORT_REQUEST:
            break
    return newest


def find_newest(units: Sequence[Unit]) -> int:
    """Return the position of the newest unit, or the number of units if there is none.

    It is the model's last turn, if the model has not answered its results yet or nothing follows
    it; a message that the user adds meanwhile does not make it old.
    """
    for at in reversed(range(len(units))):
        members = units[at].members
        if members[0].message.role == "assistant":
            waits = members[-1].message.role == "tool" or at == len(units) - 1
            return at if waits else len(units)
    return len(units)


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
            unit = Unit(unit.head, drop_item_ids(unit.members, members))
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


def drop_item_ids(
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
    return tuple(NumberedMessage(member.seq, _drop_item_id(member.message)) for member in after)


def _has_item_reasoning(message: Message) -> bool:
    return any(
        block.get("type") == "reasoning" and "responses" in block.get("rest", {})
        for block in blocks_of(message.content)
    )


def _drop_item_id(message: Message) -> Message:
    notes = (message.extra or {}).get("responses", {})
    if "id" not in notes.get("rest", {}):
        return message
    rest = {key: value for key, value in notes["rest"].items() if key != "id"}
    return message._replace(extra={**(message.extra or {}), "responses": {**notes, "rest": rest}})


_ACKNOWLEDGEMENT = (
    r"(?i)\W*(?:ok(?:ay)?|sure|got it|understood|great|perfect|thanks?|thank you|you're welcome"
    r"|certainly|of course|absolutely|will do|noted|sounds good|no problem|glad)\b"
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
        and bool(re.match(_ACKNOWLEDGEMENT, text))
        and not any(char in text for char in "?`/:0123456789\n")
    )
