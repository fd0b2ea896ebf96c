"""Count tokens: an estimate that adapts to real usage, or an exact counter.

Defines characters per token, how that ratio adapts, and the overhead of a message.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from functools import lru_cache
from math import ceil

from ..errors import InvalidInput
from ..types.records import Message

TokenCounter = Callable[[str], int]
"""An exact tokenizer: returns the tokens of a text."""

TokenMeasure = float | TokenCounter
"""Either characters per token, or an exact counter."""

DEFAULT_RATIO = 2.5
"""Characters per token at first: low, so that the estimate is high."""

LOWEST_RATIO, HIGHEST_RATIO = 1.5, 5.0
RATIO_INERTIA = 0.8
"""The share of the old ratio that remains after one observation."""

PER_MESSAGE, PER_NAME, PER_CALL, PRIMING = 3, 1, 10, 3


def estimate_tokens(chars: int, ratio: float = DEFAULT_RATIO) -> int:
    """Estimate the tokens of a number of characters, rounded up."""
    if not ratio > 0:
        raise InvalidInput(f"{ratio} characters per token is not valid: it must be above 0")
    return ceil(chars / ratio)


def learn_ratio(old: float, chars: int, tokens: int) -> float:
    """Return the new ratio after a response that cost `tokens` for `chars` characters."""
    if chars <= 0 or tokens <= 0:
        return old
    return min(
        HIGHEST_RATIO,
        max(LOWEST_RATIO, RATIO_INERTIA * old + (1 - RATIO_INERTIA) * (chars / tokens)),
    )


def count_text(text: str, measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """Count the tokens of a text."""
    return measure(text) if callable(measure) else estimate_tokens(len(text), measure)


def count_tokens(text: str) -> int:
    """Return an upper bound of a text's tokens with the usual tokenizers (o200k, cl100k, Claude).

    Counted by script, because characters per token differ by a factor of eight between English and
    Thai. `python -m bench.budgets` compares it with the real tokenizers.
    """
    if not text:
        return 0
    lines = text.split("\n")
    counts = [
        _short_line_tokens(line) if len(line) <= _LONGEST_CACHED else _line_tokens(line)
        for line in lines
    ]
    return ceil(sum(counts) + len(lines) - 1)


_LONGEST_CACHED = 1_000


@lru_cache(maxsize=256)
def _short_line_tokens(line: str) -> float:
    """Return the tokens of a line, cached: the lines of a block are counted alone and together."""
    return _line_tokens(line)


def _line_tokens(line: str) -> float:
    is_english = _is_english(line)
    total = 0.0
    for piece in re.findall(_PIECES, line):
        if not piece.isascii():
            total += sum(map(_weight, piece))
        elif piece.isalpha():
            for part in (piece,) if piece.islower() else re.findall(_HUMPS, piece):
                total += _word_tokens(part, is_english)
        elif piece.isdigit():
            total += ceil(len(piece) / 3)
        elif piece.isalnum():
            total += max(1.0, len(piece) / 1.55)  # an id, a hash
        else:
            total += 1
    return total


def _word_tokens(word: str, is_english: bool) -> float:
    length = len(word)
    if is_english:
        if length <= 9:
            return 1.0
        return length / (2 if word.isupper() else 5)
    return 1.0 if length <= 3 else length / 2.2


def _is_english(line: str) -> bool:
    """Check whether a line is English: other languages in Latin letters cost twice as much."""
    words = re.findall("[A-Za-z]+", line)
    common = sum(word.lower() in _ENGLISH for word in words)
    foreign = 0 if line.isascii() else sum(c.isalpha() and not c.isascii() for c in line)
    return bool(words) and common >= 0.12 * len(words) and foreign * 40 < len(line)


def _weight(char: str) -> float:
    """Return the tokens of a character beyond ASCII; a script that is not listed counts bytes."""
    code = ord(char)
    for below, weight in _SCRIPTS:
        if code < below:
            return weight
    return 4.0


_WORDS = """
a all and any are as at be before but by can do does each every for from has have if in into is it
its must never no not of on one only or out own so than that the their them then there they this to
use was we were what when where which who will with without you your
"""
_ENGLISH = frozenset(_WORDS.split())
_SCRIPTS = (
    (0x250, 1.5),  # Latin letters with marks
    (0x370, 2.0),
    (0x400, 1.4),  # Greek
    (0x530, 0.8),  # Cyrillic
    (0x590, 2.25),  # Armenian
    (0x600, 1.25),  # Hebrew
    (0x780, 1.3),  # Arabic
    (0x900, 2.0),
    (0x980, 1.4),  # Devanagari
    (0xE00, 3.0),  # Bengali, Tamil and their neighbours
    (0xE80, 2.1),  # Thai
    (0x10A0, 3.0),
    (0x1100, 2.2),  # Georgian
    (0x1E00, 3.0),
    (0x1F00, 2.2),  # Vietnamese
    (0x2000, 3.0),
    (0x2E80, 2.0),  # punctuation and symbols
    (0x3040, 2.0),
    (0x3100, 1.2),  # kana
    (0x4E00, 3.0),
    (0xA000, 1.4),  # Chinese characters
    (0xAC00, 3.0),
    (0xD7B0, 1.5),  # Hangul
    (0x10000, 3.0),
)
"""Tokens of one character below a code point: the most of three tokenizers, over the translations
of a large program into 23 languages, with a margin of about 5 %."""


# A single space belongs to the next word.
_PIECES = r"[A-Za-z]+(?![A-Za-z0-9])|[0-9]+(?![A-Za-z0-9])|[A-Za-z0-9]+|[ \t]{2,}|[^\x00-\x7f]+|\S"
_HUMPS = "[A-Z]?[a-z]+|[A-Z]+"


def count_message(message: Message, measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """Count the tokens of one message in a prompt, with its overhead."""
    overhead = (
        PER_MESSAGE
        + PER_NAME * (bool(message.name) + bool(message.call_id))
        + PER_CALL * len(message.calls)
    )
    if callable(measure):
        return overhead + sum(map(measure, _sent(message)))
    return overhead + estimate_tokens(count_chars(message), measure)


def count_prompt(messages: Iterable[Message], measure: TokenMeasure = DEFAULT_RATIO) -> int:
    """Count the tokens of a whole prompt."""
    return PRIMING + sum(count_message(message, measure) for message in messages)


def count_chars(message: Message) -> int:
    """Count the characters of a message that are sent to a model: the ratio adapts to these."""
    if isinstance(message.content, str) and not message.calls:
        return len(message.content)
    return sum(map(len, _sent(message)))


_PICTURE = "x " * 2_000
"""A placeholder for the bytes of an image: providers charge about 1,600 tokens for a large one."""


def _sent(message: Message) -> list[str]:
    """Return every text of a message that is sent to the model, including encrypted reasoning."""
    # Import late: counting a plain text needs no messages, and a search should not pay for them.
    from .messages import block_text, blocks_of

    sent = []
    for block in blocks_of(message.content):
        if block.get("type") in ("text", "image"):
            sent.append(block_text(block))
            if "sha256" in block:
                sent.append(_PICTURE)
        elif block.get("type") != "call":
            from json import dumps

            text = dumps(block, ensure_ascii=False)
            sent.append(text)
            if '"sha256": "' in text:
                sent.append(_PICTURE)
    for call in message.calls:
        sent += (call.name, call.arguments)
    return sent
