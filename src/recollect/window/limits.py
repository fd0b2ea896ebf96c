"""What a model takes, and the three budgets that follow: when to trim, and to what.

It does not know what is in a prompt, nor how it is made shorter.
"""

from __future__ import annotations

from typing import NamedTuple

from ..errors import InvalidInput, Overflow

TRIGGER_SHARE, TARGET_SHARE = 0.75, 0.5
ATTEMPTS = (0.5, 0.25, 0.0)
"""What the reactive attempts leave of the rejected prompt; the last one leaves the minimum."""


class Limits(NamedTuple):
    """What a model accepts, in tokens. `prompt` is the largest prompt, if that is below the
    context window; tools, the reserve for the answer and a margin come out of it."""

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
    """When to trim, and to what. A forced trim makes any prompt smaller than it is. Up to `limit`,
    if that is above the target, a prompt of nothing but the newest unit is left whole."""

    trigger: int
    target: int
    forced: bool = False
    limit: int = 0


def proactive_budget(limits: Limits) -> Budget:
    """Before each request: at three quarters of the context window, down to half a prompt."""
    trigger = int(limits.context * TRIGGER_SHARE) - limits.tools
    return Budget(trigger, min(_half(limits), max(trigger, 0)), limit=_room(limits))


def validation_budget(limits: Limits) -> Budget:
    """Just before sending: above what really fits, down to half a prompt."""
    room = _room(limits)
    return Budget(room, min(_half(limits), room), limit=room)


def reactive_budget(limits: Limits, attempt: int, rejected: int) -> Budget:
    """After the provider refused a prompt of `rejected` tokens, by our count, for the first time.

    Attempts are counted from 1; each leaves less than the one before.
    """
    if not 1 <= attempt <= len(ATTEMPTS):
        raise Overflow(
            f"the prompt was refused as too long {len(ATTEMPTS)} times, the last time with only "
            "the system prompt, the summary and the current request in it",
            hint="Shorten the system prompt or the request, or use a model with a larger window.",
        )
    share = ATTEMPTS[attempt - 1]
    return Budget(0, min(_room(limits), int(share * min(limits.largest, rejected))), forced=True)


def _half(limits: Limits) -> int:
    """Half of the largest prompt, of which the tools are a part; half the room, if that is more."""
    return max(int(limits.largest * TARGET_SHARE) - limits.tools, _room(limits) // 2)


def _room(limits: Limits) -> int:
    if limits.effective <= 0:
        raise InvalidInput(
            f"tools ({limits.tools}), output reserve ({limits.output}) and margin "
            f"({limits.margin}) leave nothing of a prompt of {limits.largest} tokens",
            hint="Offer fewer tools, or lower the output reserve.",
        )
    return limits.effective
