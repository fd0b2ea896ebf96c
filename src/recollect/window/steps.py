"""The window of a session: load its state and its messages, and make the prompt of them.

What is loaded is the system prompt, the pinned messages and all from the pointer on: the cost
is that of the window, not of the archive. Moving the pointer is `window.steps_compact`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from ..archive import sql as archive_sql
from ..archive.steps import Prepared, stored
from ..errors import InvalidInput
from ..providers import formats, usage
from ..recall import steps_show as recall_steps_show
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import messages as text_messages
from ..text import tokens as text_tokens
from ..types.records import Json, Message, Session, Stored
from . import limits as window_limits
from . import sql, trim

_RATIO = "ratio/"
_SMALLEST_PORTION = 10_000
_MARGIN = 0.01
_EVERY = 2**62


class Request(NamedTuple):
    """What is sent beside the conversation, and what the model takes. `tools` is the text of
    their definitions, or their tokens; `counter` counts exactly in place of the estimate."""

    context: int
    largest: int = 0
    output: int = 0
    tools: str | int = 0
    system: str = ""
    model: str = ""
    counter: text_tokens.Counter | None = None


class Loaded(NamedTuple):
    """A window as it is: `kept` is the state as it lies in the store, to see whether it moved."""

    session: Session
    state: trim.WindowState
    kept: str
    messages: Sequence[text_messages.Placed]
    measure: text_tokens.Measure
    limits: window_limits.Limits


class Prompt(NamedTuple):
    """Exactly what to send. `tokens` is the estimate for the messages, `limit` what they may
    cost beside the tools and the answer."""

    session: str
    messages: tuple[Message, ...]
    tokens: int
    limit: int
    trimmed: bool

    @property
    def fits(self) -> bool:
        """False when even what is always kept is too long for this model."""
        return self.tokens <= self.limit

    def request(self, provider: str) -> dict[str, Json]:
        """The arguments of a request: `client.messages.create(**prompt.request("anthropic"))`."""
        return formats.to_request(self.messages, provider)


class Sent(NamedTuple):
    """What is remembered of the last prompt until its answer comes: how long it was, and by our
    count what the provider refused first."""

    request: Request
    chars: int
    refused: int = 0


def request_of(
    context: int, tools: object, counter: text_tokens.Counter | None, **more: Any
) -> Request:
    """A request from what a caller gave; tools are a count, JSON, or the definitions."""
    numbers = {
        "context_window": context,
        "max_output": more["output"],
        "max_prompt": more["largest"],
    }
    for name, number in numbers.items():
        if not isinstance(number, int) or number < (name == "context_window"):
            raise InvalidInput(f"{name} must be a number of tokens, not {number!r}", where=name)
    if isinstance(tools, str):
        cost: str | int = int(tools) if tools.isdecimal() else tools
    else:
        cost = tools if isinstance(tools, int) else json.dumps(tools, ensure_ascii=False)
    return Request(context, tools=cost, counter=counter, **more)


def load(tx: Tx, name: str, request: Request) -> Loaded:
    """The window of a session, as this request sees it."""
    session = recall_steps_show.existing(tx, name)
    kept = sql.get(tx, session.id)
    now = trim.state_from_body(json.loads(kept)) if kept else trim.WindowState(session.id)
    measure = request.counter or ratio(tx, request.model or _model(tx, session))
    now = _caught_up(tx, now, session.messages, request, measure)
    placed: list[text_messages.Placed] = []
    if request.system:
        # Number 0 is before everything: it counts as system prompt, and is not archived.
        placed.append(text_messages.Numbered(0, Message("system", request.system)))
    placed += _messages(tx, now, session.messages)
    return Loaded(session, now, kept, placed, measure, _limits(request, measure))


def _messages(tx: Tx, now: trim.WindowState, last: int) -> list[Stored]:
    ranges = [(1, min(now.system_to, now.window_from - 1))]
    ranges += [(seq, seq) for seq in now.pinned if now.system_to < seq < now.window_from]
    ranges.append((now.window_from, last))
    return [
        stored(row)
        for first, end in ranges
        if first <= end
        for row in archive_sql.messages(tx, now.session, first, end, _EVERY)
    ]


def _caught_up(
    tx: Tx, now: trim.WindowState, last: int, request: Request, measure: text_tokens.Measure
) -> trim.WindowState:
    """A window that holds far more messages than any prompt (an imported session, at first) is
    brought near by portions: never more than two of them are in memory."""
    # A message costs at least three tokens: a portion alone is above any budget.
    portion = max(_SMALLEST_PORTION, request.context // 3)
    while last - now.window_from > 2 * portion:
        end = now.window_from + portion
        left = trim.plan(
            now, _messages(tx, now, end), window_limits.Budget(0, 0, forced=True), measure
        )
        if left.state.window_from == now.window_from:
            break
        now = left.state
    return now


def _model(tx: Tx, session: Session) -> str:
    """The model that answered last."""
    for row in reversed(archive_sql.messages(tx, session.id, session.messages - 20, _EVERY, 21)):
        if row.role == "assistant" and (model := json.loads(row.body).get("model")):
            return str(model)
    return ""


def _limits(request: Request, measure: text_tokens.Measure) -> window_limits.Limits:
    tools = request.tools
    return window_limits.Limits(
        request.context,
        request.largest,
        text_tokens.count_text(tools, measure) if isinstance(tools, str) else tools,
        request.output,
        int(request.context * _MARGIN),
    )


def prompt(loaded: Loaded, trimmed: bool) -> Prompt:
    """What to send now."""
    sent = tuple(trim.view(loaded.state, loaded.messages))
    cost = text_tokens.count_prompt(sent, loaded.measure)
    return Prompt(loaded.session.id, sent, cost, loaded.limits.effective, trimmed)


def sent(loaded: Loaded, request: Request, prompt: Prompt, refused: int = 0) -> Sent:
    """What to remember of a prompt until its answer comes."""
    tools = request.tools
    if isinstance(tools, int):
        tools_chars = tools * (text_tokens.START if callable(loaded.measure) else loaded.measure)
    else:
        tools_chars = len(tools)
    chars = sum(map(text_tokens.chars_of, prompt.messages)) + int(tools_chars)
    return Sent(request, chars, refused)


def recent(tx: Tx, name: str, count: int) -> list[Stored]:
    """The newest messages of a session, oldest first, whatever the window is."""
    session = recall_steps_show.existing(tx, name)
    first = max(session.messages - count, 0) + 1
    return [stored(row) for row in archive_sql.messages(tx, session.id, first, _EVERY, count)]


# ---------------------------------------------------------------- characters per token


def ratio(tx: Tx, model: str) -> float:
    """Characters per token of a model, as far as they are known."""
    return float(storage_sql.get(tx, _RATIO + model) or text_tokens.START)


def learn_ratio(tx: Tx, sent: Sent, answers: Sequence[Prepared], now: int) -> None:
    """Learn from what an answer says that its prompt really cost."""
    for answer in answers:
        cost = usage.usage_of(answer.usage)
        if cost.input_tokens:
            model = sent.request.model or answer.model
            learned = text_tokens.learn_ratio(ratio(tx, model), sent.chars, cost.input_tokens)
            storage_sql.put(tx, redaction.safe(_RATIO + model), redaction.safe(repr(learned)), now)
            return


def has_usage(answers: Sequence[Prepared]) -> bool:
    """Whether one of these messages says what its prompt cost."""
    return any(usage.usage_of(answer.usage).input_tokens for answer in answers)
