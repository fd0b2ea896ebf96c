"""What a prompt costs: an estimate that learns, or a counter that knows.

Decides: characters per token, how that ratio learns from real usage, the overhead of a message.
Does not know which model is asked, where the ratio is kept, or what to do about a big prompt.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from math import ceil

from ..errors import InvalidInput
from ..types.records import Message

TokenCounter = Callable[[str], int]
"""An exact tokenizer: the tokens of a text."""

TokenMeasure = float | TokenCounter
"""Either characters per token, or an exact counter."""

DEFAULT_RATIO = 2.5
"""Characters per token before anything is learned: low, so that the estimate is high."""

LOWEST_RATIO, HIGHEST_RATIO = 1.5, 5.0
RATIO_INERTIA = 0.8
"""How much of the old ratio survives one observation."""

PER_MESSAGE, PER_NAME, PER_CALL, PRIMING = 3, 1, 10, 3


def estimate_tokens(chars: int, ratio: float = DEFAULT_RATIO) -> int:
    """The tokens of so many characters, rounded up."""
    if not ratio > 0:
        raise InvalidInput(f"{ratio} characters per token make no estimate: it must be above 0")
    return ceil(chars / ratio)


def learn_ratio(old: float, chars: int, tokens: int) -> float:
    """The ratio after a response that really cost `tokens` for `chars` characters."""
    if chars <= 0 or tokens <= 0:
        return old
    return min(
        HIGHEST_RATIO,
        max(LOWEST_RATIO, RATIO_INERTIA * old + (1 - RATIO_INERTIA) * (chars / tokens)),
    )


def count_text(text: str, measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """The tokens of a text."""
    return measure(text) if callable(measure) else estimate_tokens(len(text), measure)


def count_message(message: Message, measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """The tokens of one message in a prompt, with its overhead."""
    overhead = (
        PER_MESSAGE
        + PER_NAME * (bool(message.name) + bool(message.call_id))
        + PER_CALL * len(message.calls)
    )
    if callable(measure):
        return overhead + sum(map(measure, _sent(message)))
    return overhead + estimate_tokens(count_chars(message), measure)


def count_prompt(messages: Iterable[Message], measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """The tokens of a whole prompt."""
    return PRIMING + sum(count_message(message, measure) for message in messages)


def count_chars(message: Message) -> int:
    """The characters of a message that a model is sent: what the ratio is learned from."""
    if isinstance(message.content, str) and not message.calls:
        return len(message.content)
    return sum(map(len, _sent(message)))


def _sent(message: Message) -> list[str]:
    """Every text of a message that reaches the model, sealed reasoning included."""
    # Counting a plain text needs nothing of messages: a search does not pay for them.
    from .messages import block_text, blocks_of

    sent = []
    for block in blocks_of(message.content):
        if block.get("type") in ("text", "image"):
            sent.append(block_text(block))
        elif block.get("type") != "call":
            from json import dumps

            sent.append(dumps(block, ensure_ascii=False))
    for call in message.calls:
        sent += (call.name, call.arguments)
    return sent
