"""What a request really cost, whichever provider counted it, and what a session cost so far.

Decides which of a provider's numbers are the prompt and which the answer. It does not know
prices, nor what an estimate would have said.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..types.records import Json

_CACHED = ("cache_read_input_tokens", "cache_creation_input_tokens")
"""Anthropic counts what came from its cache beside `input_tokens`; others count it inside."""


class Usage(NamedTuple):
    """The tokens of requests and of their answers."""

    requests: int = 0
    input_tokens: int = 0
    output_tokens: int = 0


def usage_of(counted: Mapping[str, Json] | None) -> Usage:
    """The cost of one request by the provider's own numbers; all zero when it gave none."""
    if not counted:
        return Usage()
    prompt = _number(counted, "input_tokens") or _number(counted, "prompt_tokens")
    prompt += sum(_number(counted, name) for name in _CACHED)
    answer = _number(counted, "output_tokens") or _number(counted, "completion_tokens")
    return Usage(1, prompt, answer) if prompt or answer else Usage()


def added(total: Mapping[str, Json], more: Usage) -> Usage:
    """What a session cost, with one more request."""
    return Usage(*(_number(total, name) + getattr(more, name) for name in Usage._fields))


def _number(counted: Mapping[str, Json], name: str) -> int:
    value = counted.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) and value > 0 else 0
