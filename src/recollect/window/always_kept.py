"""What a window keeps whatever is dropped: the system prompt, the user's task, the newest turn.

A result without its call never reaches a model. A window therefore also keeps the place of each
call that left it unanswered: when its result comes late, the call is repeated in the model's last
turn, and the result joins it there (`units.group_units`).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import takewhile

from ..text.messages import NumberedMessage, PlacedMessage, plain_text
from .units import Unit, drop_item_id

SHORT_REQUEST = 50
"""A user message with fewer characters is not a task by itself ("yes", "go on")."""

MOST_WAITING = 8
"""Calls that left the window and whose results may still come."""


def find_system_end(messages: Iterable[PlacedMessage]) -> int:
    """Return the number of the last leading system message; 0 without one."""
    leading = takewhile(lambda one: one.message.role in ("system", "developer"), messages)
    return max((placed.seq for placed in leading), default=0)


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

    It is the last turn of the model if its results are unanswered or nothing follows it; a message
    that the user adds meanwhile does not make it old.
    """
    for at in reversed(range(len(units))):
        members = units[at].members
        if members[0].message.role == "assistant":
            waits = members[-1].message.role == "tool" or at == len(units) - 1
            return at if waits else len(units)
    return len(units)


def repeat_calls(
    messages: Iterable[PlacedMessage], wanted: Iterable[tuple[int, str]]
) -> dict[str, NumberedMessage]:
    """Return calls, given by message number and id, each as a message that says nothing else."""
    ids = {*wanted}
    return {
        call.id: NumberedMessage(
            placed.seq, drop_item_id(placed.message._replace(content="", calls=(call,), model=""))
        )
        for placed in messages
        for call in placed.message.calls
        if (placed.seq, call.id) in ids
    }


def find_late_calls(messages: Sequence[PlacedMessage]) -> list[tuple[int, str]]:
    """Return the calls of earlier turns whose results came after the model's last turn, by message
    number and id: the model waits for these, too."""
    callers: dict[str, tuple[int, int]] = {}
    turn, speaking = 0, False
    came: list[tuple[int, str]] = []
    for placed in messages:
        message = placed.message
        if message.role == "assistant" and not speaking:
            turn, came = turn + 1, []
        speaking = message.role == "assistant"
        callers |= {call.id: (turn, placed.seq) for call in message.calls}
        if message.role == "tool" and message.call_id in callers:
            called, seq = callers[message.call_id]
            came += [(seq, message.call_id)] if called != turn else []
    return came


def find_waiting(
    known: Sequence[tuple[int, str]],
    messages: Sequence[PlacedMessage],
    pointer: int,
    shown: Sequence[Unit],
) -> tuple[tuple[int, str], ...]:
    """Return the calls that are repeated in the shown units, and the newest of those before the
    pointer that have no result yet."""
    answers = {member.message.call_id for unit in shown for member in unit.members}
    asked = {(placed.seq, call.id) for placed in messages for call in placed.message.calls}
    answered = {placed.message.call_id for placed in messages if placed.message.role == "tool"}
    unanswered = sorted(one for one in {*known} | asked if one[1] not in answered)
    left = [one for one in unanswered if one[0] < pointer][-MOST_WAITING:]
    return tuple(sorted({*left, *(one for one in known if one[1] in answers)}))
