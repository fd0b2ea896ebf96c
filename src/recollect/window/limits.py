"""The token limits of a model, and the three budgets that follow: when to trim, and to what."""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput, Overflow

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
