"""The cheap things: what can go from inside the window before the window itself gets smaller.

Decides which old messages are shown as a one-line stub with their address: reasoning of old
turns, reads of a file that was written later, failed calls that were retried, oversized tool
output, empty and acknowledging turns. Whether a message is shown as a stub depends only on what
stands after it and up to the horizon, so the answer does not change until the horizon moves.
It does not know tokens or budgets: a stub is used where it is shorter.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import cache

from ..actions.tool_calls import failed, signs_of, target_of
from ..text.messages import Numbered, address_of, blocks_of, said
from ..text.tokens import chars_of
from ..types.records import Message
from .units import Unit

OVERSIZED = 4_000
"""Characters above which an old tool result is too big to be sent again and again."""

LONGEST_ACKNOWLEDGEMENT = 200


def elide(units: Sequence[Unit], horizon: int, session: str) -> list[Unit]:
    """The units as they are shown when everything up to the horizon counts as old."""
    later = _Later()
    shown: list[Unit] = []
    for unit in reversed(units):
        old = [member for member in unit.members if member.seq <= horizon]
        if not old:
            shown.append(unit)
            continue
        reasons = _result_reasons(old, later)
        members = tuple(
            Numbered(m.seq, _shown(m, reasons.get(m.seq, ""), later, session))
            if m.seq <= horizon
            else m
            for m in unit.members
        )
        if members != unit.members:
            unit = Unit(unit.head, untied(unit.members, members))
        shown.append(unit)
        later.learn(old)
    return shown[::-1]


class _Later:
    """What is known, reading backwards, of the old messages after the current one."""

    def __init__(self) -> None:
        self.user_spoke = False
        self.written: set[str] = set()
        self.worked: set[tuple[str, str]] = set()

    def learn(self, old: Sequence[Numbered]) -> None:
        worked = {
            m.message.call_id for m in old if m.message.role == "tool" and not failed(m.message)
        }
        for member in old:
            if member.message.role == "user":
                self.user_spoke = True
            for call in member.message.calls:
                if call.id in worked:
                    self.written.update(signs_of(call).writes)
                    self.worked.add((call.name, target_of(call)))


def _result_reasons(old: Sequence[Numbered], later: _Later) -> dict[int, str]:
    """Why a result need not be shown in full, by its number."""
    calls = {call.id: call for member in old for call in member.message.calls}
    reasons = {}
    for seq, message in old:
        call = calls.get(message.call_id)
        if call is None:
            continue
        reads = signs_of(call).reads
        if failed(message) and (call.name, target_of(call)) in later.worked:
            reasons[seq] = "failed, and worked later"
        elif reads and later.written.issuperset(reads):
            reasons[seq] = f"{reads[0]} was written later"
        elif chars_of(message) > OVERSIZED:
            reasons[seq] = f"{chars_of(message)} characters of output"
    return reasons


def _shown(member: Numbered, reason: str, later: _Later, session: str) -> Message:
    message = member.message
    address = address_of(session, member.seq, member.seq)
    short = message
    if reason:
        short = message._replace(content=f"[{reason}: {address}]")
    elif message.role == "assistant" and _acknowledges(message):
        short = message._replace(content=f"[acknowledged: {address}]")
    elif message.role == "assistant" and later.user_spoke and not isinstance(message.content, str):
        short = without_reasoning(message, address)
    return short if chars_of(short) < chars_of(message) else message


def without_reasoning(message: Message, address: str) -> Message:
    """Return a message with a stub in place of its reasoning, if it has any."""
    blocks = [block for block in blocks_of(message.content) if block.get("type") != "reasoning"]
    if len(blocks) == len(blocks_of(message.content)):
        return message
    stub = {"type": "text", "text": f"[reasoning: {address}]"}
    return message._replace(content=(stub, *blocks))


def untied(before: Sequence[Numbered], after: tuple[Numbered, ...]) -> tuple[Numbered, ...]:
    """A unit in which nothing refers to reasoning that is gone.

    One provider ties what came of reasoning to it by item ids, and refuses the one without the
    other: with the reasoning of a turn, the ids of its items go.
    """
    if not any(
        _item_reasoning(old.message) and not _item_reasoning(new.message)
        for old, new in zip(before, after, strict=True)
    ):
        return after
    return tuple(Numbered(member.seq, _without_item_id(member.message)) for member in after)


def _item_reasoning(message: Message) -> bool:
    return any(
        block.get("type") == "reasoning" and "responses" in block.get("rest", {})
        for block in blocks_of(message.content)
    )


def _without_item_id(message: Message) -> Message:
    notes = (message.extra or {}).get("responses", {})
    if "id" not in notes.get("rest", {}):
        return message
    rest = {key: value for key, value in notes["rest"].items() if key != "id"}
    return message._replace(extra={**(message.extra or {}), "responses": {**notes, "rest": rest}})


@cache
def _acknowledgement() -> re.Pattern[str]:
    return re.compile(
        r"\W*(?:ok(?:ay)?|sure|got it|understood|great|perfect|thanks?|thank you|you're welcome"
        r"|certainly|of course|absolutely|will do|noted|sounds good|no problem|glad)\b",
        re.IGNORECASE,
    )


def _acknowledges(message: Message) -> bool:
    """A turn of the assistant that says nothing which anybody could come back to."""
    if message.calls:
        return False
    text = said(message)
    if not text.strip():
        return isinstance(message.content, str)
    return (
        len(text) <= LONGEST_ACKNOWLEDGEMENT
        and bool(_acknowledgement().match(text))
        and not any(char in text for char in "?`/:0123456789\n")
    )
