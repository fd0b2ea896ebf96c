"""The state of a window, the prompt that follows from it, and the token limits of a trim.

In the prompt, old units are elided (`units`) and long messages cut. Cutting keeps head and tail of
a long tool result, with its address between them. All results of a unit are cut to the same length,
so that short ones stay whole. If that is not enough, the reasoning of the unit is dropped, and then
long texts in the arguments of its calls are cut in the same way.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, Overflow
from ..text.messages import (
    Block,
    NumberedMessage,
    PlacedMessage,
    block_text,
    blocks_of,
    range_address,
)
from ..text.tokens import TokenMeasure, count_chars
from ..types.records import Json, Message
from .thread_facts import Facts, facts_from_json, facts_to_json
from .units import (
    Unit,
    drop_item_ids,
    elide_units,
    group_units,
    repeat_calls,
    strip_reasoning,
    unit_tokens,
)


class WindowState(NamedTuple):
    """The stored state of a window.

    `system_to` is the last leading system message, `elided_to` the horizon up to which messages are
    elided, `pinned` the anchors before the pointer, `skipped` the messages after it that are left
    out, `cuts` the numbers of cut messages with their lengths in characters, `waiting` the calls
    (message number, id) that left without a result or are repeated beside a late one.
    """

    session: str
    window_from: int = 1
    system_to: int = 0
    elided_to: int = 0
    pinned: tuple[int, ...] = ()
    summary: str = ""
    note: str = ""
    facts: Facts = Facts()
    cuts: tuple[tuple[int, int], ...] = ()
    skipped: tuple[int, ...] = ()
    waiting: tuple[tuple[int, str], ...] = ()

    @property
    def kept_before(self) -> list[int]:
        """Return the numbers of the messages before the pointer that a prompt may need."""
        seqs = {*self.pinned, *(seq for seq, _ in self.waiting)}
        return sorted(seq for seq in seqs if self.system_to < seq < self.window_from)


def state_to_json(state: WindowState) -> dict[str, Json]:
    """Convert a window state to JSON."""
    return {
        **state._asdict(),
        "pinned": list(state.pinned),
        "skipped": list(state.skipped),
        "cuts": [[seq, length] for seq, length in state.cuts],
        "waiting": [[seq, call] for seq, call in state.waiting],
        "facts": facts_to_json(state.facts),
    }


def state_from_json(body: Mapping[str, Json]) -> WindowState:
    """Parse a window state from JSON."""
    return WindowState(
        **{
            **body,
            "pinned": tuple(body["pinned"]),
            # States of earlier versions lack these fields.
            "skipped": tuple(body.get("skipped", ())),
            "waiting": tuple((seq, call) for seq, call in body.get("waiting", ())),
            "cuts": tuple((seq, length) for seq, length in body.get("cuts", ())),
            "facts": facts_from_json(body["facts"]),
        }
    )


# ---------------------------------------------------------------- the prompt


def view_messages(state: WindowState, messages: Sequence[PlacedMessage]) -> list[Message]:
    """Return the prompt; needs the system prompt, pinned messages and all from the pointer on."""
    system, rest = split_visible(state, messages)
    return [
        *(placed.message for placed in system),
        *preface(state.summary, state.note),
        *(
            member.message
            for unit in show_units(state, group_visible(state, messages, rest))
            for member in unit.members
        ),
    ]


def show_units(state: WindowState, units: Sequence[Unit]) -> list[Unit]:
    """Return units as a state shows them: old ones elided, long ones cut."""
    return cut_units(
        elide_units(units, state.elided_to, state.session), dict(state.cuts), state.session
    )


def group_visible(
    state: WindowState, messages: Sequence[PlacedMessage], rest: Sequence[PlacedMessage]
) -> list[Unit]:
    """Return the units of the visible messages, with the calls that are repeated."""
    return group_units(rest, repeat_calls(messages, state.waiting))


def split_visible(
    state: WindowState, messages: Sequence[PlacedMessage]
) -> tuple[list[PlacedMessage], list[PlacedMessage]]:
    """Return the system prompt, and the other messages that a state shows."""
    system = [placed for placed in messages if placed.seq <= state.system_to]
    rest = [
        placed
        for placed in messages
        if placed.seq > state.system_to
        and placed.seq not in state.skipped
        and (placed.seq >= state.window_from or placed.seq in state.pinned)
    ]
    return system, rest


def preface(summary: str, note: str) -> list[Message]:
    """Return the messages between the system prompt and the units."""
    return [Message("system", text) for text in (summary, note) if text]


# ---------------------------------------------------------------- token limits

TRIGGER_SHARE, TARGET_SHARE, SUMMARY_SHARE = 0.75, 0.5, 0.125
ATTEMPTS = (0.5, 0.25, 0.0)
"""The share of the rejected prompt that each reactive attempt keeps; the last keeps the minimum."""


class Limits(NamedTuple):
    """Token limits of a model. `prompt` is the largest prompt, if that is below the context
    window; tools, the reserve for the answer and a margin are subtracted from it."""

    context: int
    prompt: int = 0
    tools: int = 0
    output: int = 0
    margin: int = 0

    @property
    def largest(self) -> int:
        return self.prompt or self.context

    @property
    def effective(self) -> int:
        return self.largest - self.tools - self.output - self.margin


class Budget(NamedTuple):
    """When to trim (`trigger`), and to how many tokens (`target`).

    A forced trim shortens any prompt. A prompt that consists of the newest unit alone stays whole
    up to `limit`, if that is above the target. A summary above `summary` tokens is shortened; 0 is
    no limit.
    """

    trigger: int
    target: int
    forced: bool = False
    limit: int = 0
    summary: int = 0


def proactive_budget(limits: Limits) -> Budget:
    """Return the budget before each request: at 3/4 of the context window, to half a prompt."""
    trigger = int(limits.context * TRIGGER_SHARE) - limits.tools
    room = _room(limits)
    return Budget(
        trigger, min(_half(limits), max(trigger, 0)), limit=room, summary=int(room * SUMMARY_SHARE)
    )


def validation_budget(limits: Limits) -> Budget:
    """Return the budget just before sending: if the prompt does not fit, to half a prompt."""
    room = _room(limits)
    return Budget(room, min(_half(limits), room), limit=room, summary=int(room * SUMMARY_SHARE))


def reactive_budget(limits: Limits, attempt: int, rejected: int) -> Budget:
    """Return the budget after the provider rejected a prompt as too long.

    attempt: counted from 1; each keeps less than the one before
    rejected: the tokens of the first rejected prompt
    """
    if not 1 <= attempt <= len(ATTEMPTS):
        raise Overflow(
            f"the prompt was refused as too long {len(ATTEMPTS)} times, the last time with only "
            "the system prompt, the summary and the current request in it",
            hint="Shorten the system prompt or the request, or use a model with a larger window.",
        )
    share = ATTEMPTS[attempt - 1]
    room = _room(limits)
    target = min(room, int(share * min(limits.largest, rejected)))
    return Budget(0, target, forced=True, summary=int(room * SUMMARY_SHARE))


def _half(limits: Limits) -> int:
    """Return half of the largest prompt minus the tools, or half the room if that is more."""
    return max(int(limits.largest * TARGET_SHARE) - limits.tools, _room(limits) // 2)


def _room(limits: Limits) -> int:
    if limits.effective <= 0:
        raise InvalidInput(
            f"tools ({limits.tools}), output reserve ({limits.output}) and margin "
            f"({limits.margin}) leave nothing of a prompt of {limits.largest} tokens",
            hint="Offer fewer tools, or lower the output reserve.",
        )
    return limits.effective


# ---------------------------------------------------------------- cut long messages


LEAST_SHOWN = 200
"""Characters that a cut message keeps at least."""
NO_REASONING = 0
"""The length of a message that is whole, but without reasoning."""


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
    head = _take(blocks, length - length // 2)
    taken = sum(map(_count_block, head))
    tail = _take(blocks, min(length // 2, total - taken), from_end=True)
    left_out = total - taken - sum(map(_count_block, tail))
    note = f"\n[{left_out} characters left out: {address}]\n"
    parts = (*head, {"type": "text", "text": note}, *tail)
    is_text = isinstance(message.content, str)
    return message._replace(content="".join(map(block_text, parts)) if is_text else parts)


def _shorten_arguments(arguments: str, length: int, address: str) -> str:
    """Cut the long texts in the arguments of a call; arguments that are not JSON stay whole."""

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


def _take(blocks: Sequence[Block], room: int, from_end: bool = False) -> list[Block]:
    """Return the first or last blocks within `room` characters; a text at the limit is cut."""
    kept: list[Block] = []
    for block in reversed(blocks) if from_end else blocks:
        if _count_block(block) > room:
            text = block_text(block) if block.get("type") == "text" else ""
            part = text[len(text) - room :] if from_end else text[:room]
            kept += [{**block, "text": part}] if part else []
            break
        kept.append(block)
        room -= _count_block(block)
    return kept[::-1] if from_end else kept


def _make_cuttable(block: Block, longest: int) -> Block:
    """Return a long opaque block as its text, which can be cut."""
    if block.get("type") != "opaque" or _count_block(block) <= longest:
        return block
    return {"type": "text", "text": block_text(block)}


def _count_block(block: Block) -> int:
    return count_chars(Message("tool", (block,)))
