"""Token usage: add up what a session cost, and learn the characters per token of each model."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ..context import SentPrompt
from ..providers import formats
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import tokens
from ..types.records import Json
from . import sql

Usage = Mapping[str, Json] | None
"""The usage that a provider reports with an answer."""

_RATIO = "ratio/"


def add_usage(tx: Tx, session: str, reported: Iterable[Usage]) -> None:
    """Add reported usage to the total of a session."""
    costs = [cost for usage in reported if usage and any(cost := formats.read_usage(usage))]
    if costs:
        spent = formats.TokenUsage(*map(sum, zip(*costs, strict=True)))
        total = formats.add_usage(sql.get_usage(tx, session), spent)
        sql.set_usage(tx, session, redaction.redact_json(total._asdict()).text)


def has_input_tokens(reported: Iterable[Usage]) -> bool:
    """Check whether one of these reports counts input tokens."""
    return any(formats.read_usage(usage).input_tokens for usage in reported)


def chars_per_token(tx: Tx, model: str) -> float:
    """Return the learned characters per token of a model, or the default."""
    return float(storage_sql.get_value(tx, _RATIO + model) or tokens.DEFAULT_RATIO)


def learn_chars_per_token(
    tx: Tx, sent: SentPrompt, answers: Iterable[tuple[str, Usage]], now: int
) -> None:
    """Update the ratio of a model from the first answer (model, usage) with input tokens."""
    for answering, usage in answers:
        cost = formats.read_usage(usage)
        if cost.input_tokens:
            model = sent.request.model or answering
            learned = tokens.learn_ratio(chars_per_token(tx, model), sent.chars, cost.input_tokens)
            storage_sql.set_value(
                tx, redaction.redact(_RATIO + model), redaction.redact(repr(learned)), now
            )
            return
