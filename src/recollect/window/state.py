"""The state of a window, the prompt that follows from it, and the token limits of a trim."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, Overflow
from ..text.messages import PlacedMessage
from ..types.records import Json, Message
from .cutting import cut_units
from .thread_facts import Facts, facts_from_json, facts_to_json
from .units import Unit, elide_units, group_units, repeat_calls


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
            # States of versions that did not skip, cut or wait have none.
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
        trigger,
        min(_half(limits), max(trigger, 0)),
        limit=room,
        summary=int(room * SUMMARY_SHARE),
    )


def validation_budget(limits: Limits) -> Budget:
    """Return the budget just before sending: above what fits, to half a prompt."""
    room = _room(limits)
    return Budget(room, min(_half(limits), room), limit=room, summary=int(room * SUMMARY_SHARE))


def reactive_budget(limits: Limits, attempt: int, rejected: int) -> Budget:
    """Return the budget after a refusal; `rejected` are the tokens of the first refused prompt.

    Attempts count from 1; each keeps less than the one before.
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
