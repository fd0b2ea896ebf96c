"""Results about sessions and windows as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import render
from ..types import Message, Stored


def message_line(seq: int, message: Message) -> str:
    """One message on one line; number 0 stands for what is not in the archive."""
    from ..core.messages import text_of

    calls = "".join(f" [{call.name}]" for call in message.calls)
    number = f"{seq:>5}" if seq else "     "
    return f"{number}  {message.role}{calls}: {render.one_line(text_of(message), 300)}"


def _recent(messages: Sequence[Stored]) -> str:
    return "\n".join(message_line(item.seq, item.message) for item in messages)


def _prompt(prompt: Any) -> str:
    head = f"{len(prompt.messages)} messages, about {prompt.tokens} of {prompt.limit} tokens"
    notes = [", trimmed" if prompt.trimmed else "", "" if prompt.fits else ", TOO LONG"]
    return "\n".join([head + "".join(notes), *(message_line(0, item) for item in prompt.messages)])


def _trimmed(trimmed: Any) -> str:
    if not trimmed.changed:
        return f"nothing to trim: about {trimmed.before} tokens, {trimmed.kept} messages"
    gone = ", ".join(f"{first}-{last}" for first, last in trimmed.dropped) or "none"
    return (
        f"trimmed {trimmed.session}: about {trimmed.before} to {trimmed.after} tokens\n"
        f"  {trimmed.kept} messages stay, {trimmed.elided} of them shortened; left: {gone}\n"
        "  recollect retrieve session_progress shows where the work stands"
    )


SHOWN: dict[str, Callable[[Any], str]] = {
    "session recent": _recent,
    "session prepare": _prompt,
    "session overflow": _prompt,
    "session trim": _trimmed,
}
