"""Which messages belong together: a turn of the assistant and all the results of its calls.

Decides what may reach a model at all: a result without its call and a call without its result
never do. A result that comes late joins its call where the call stands. It does not know budgets.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from ..text.messages import Numbered, Placed, duplicate_call
from ..types.records import Message


class Unit(NamedTuple):
    """Messages that are kept or dropped together, in the order in which they are sent.

    `head` is the number of the first one in the archive: the window can begin there.
    """

    head: int
    members: tuple[Numbered, ...]


def units_of(messages: Iterable[Placed]) -> list[Unit]:
    """The units of these messages, which come in the order of the archive.

    Neighbouring messages of the assistant are one turn: providers that write every block or
    every call as a record of its own mean one turn by them, and want its results after it.
    """
    turns: list[list[Numbered]] = []
    results: dict[int, list[Numbered]] = {}
    callers: dict[str, int] = {}
    speaking = False
    for placed in messages:
        message = placed.message
        numbered = Numbered(placed.seq, message)
        if message.role == "tool":
            turn = callers.get(message.call_id)
            if turn is not None:
                results.setdefault(turn, []).append(numbered)
        elif message.role == "assistant" and speaking:
            turns[-1].append(numbered)
        else:
            turns.append([numbered])
        for call in message.calls:
            if call.id in callers:
                raise duplicate_call(call)
            callers[call.id] = len(turns) - 1
        speaking = message.role == "assistant"
    units = []
    for at, turn_messages in enumerate(turns):
        answers = results.get(at, [])
        spoken = _answered(turn_messages, {answer.message.call_id for answer in answers})
        if spoken:
            units.append(Unit(turn_messages[0].seq, (*spoken, *answers)))
    return units


def _answered(turn: list[Numbered], answered: set[str]) -> list[Numbered]:
    """A turn without the calls that nobody answered, and without what only led up to them."""
    kept: list[Numbered] = []
    for numbered in reversed(turn):
        message = numbered.message
        calls = tuple(call for call in message.calls if call.id in answered)
        if len(calls) < len(message.calls):
            message = message._replace(calls=calls)
        # Reasoning is only ever sent before what came of it.
        if message.calls or says_something(message) or (kept and message.content):
            kept.append(Numbered(numbered.seq, message))
        elif not message.content and not numbered.message.calls:
            kept.append(numbered)
    return kept[::-1]


def says_something(message: Message) -> bool:
    """Whether there are words, images or the like in a message, beside reasoning."""
    if isinstance(message.content, str):
        return bool(message.content)
    return any(block.get("type") not in ("reasoning", "call") for block in message.content)
