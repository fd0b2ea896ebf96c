"""The window of a session: load its state and its messages, and make the prompt of them.

What is loaded is the system prompt, the pinned messages and all from the pointer on: the cost
is that of the window, not of the archive. Moving the pointer is `window.steps`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from .. import context as context_module
from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..archive import steps_sessions as archive_steps_sessions
from ..archive.steps import stored_message
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..errors import InvalidInput, Overflow
from ..providers import formats
from ..secrets import redaction
from ..storage.database import Tx
from ..text import messages as text_messages
from ..text import tokens as text_tokens
from ..types.records import Json, Message, Session, Stored
from . import limits as window_limits
from . import sql, steps_contexts, summary, thread_facts, trim
from .thread_facts import facts_from_json, facts_to_json

_SMALLEST_PORTION = 10_000

_MARGIN = 0.01

_EVERY = 2**62


class LoadedWindow(NamedTuple):
    """A window as it is: `kept` is the state as it lies in the store, to see whether it moved."""

    session: Session
    state: trim.WindowState
    kept: str
    messages: Sequence[text_messages.PlacedMessage]
    measure: text_tokens.TokenMeasure
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


def build_request(
    context: int, tools: object, counter: text_tokens.TokenCounter | None, **more: Any
) -> context_module.PromptRequest:
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
    return context_module.PromptRequest(context, tools=cost, counter=counter, **more)


def load_window(tx: Tx, name: str, request: context_module.PromptRequest) -> LoadedWindow:
    """The window of a session, as this request sees it."""
    session = archive_steps_sessions.get_session(tx, name)
    kept = sql.get(tx, session.id)
    now = state_from_json(json.loads(kept)) if kept else trim.WindowState(session.id)
    measure = request.counter or archive_steps.chars_per_token(
        tx, request.model or _model(tx, session)
    )
    now = _caught_up(tx, now, session.messages, request, measure)
    placed: list[text_messages.PlacedMessage] = []
    if request.system:
        # Number 0 is before everything: it counts as system prompt, and is not archived.
        placed.append(text_messages.NumberedMessage(0, Message("system", request.system)))
    placed += _messages(tx, now, session.messages)
    return LoadedWindow(session, now, kept, placed, measure, _limits(request, measure))


def _messages(tx: Tx, now: trim.WindowState, last: int) -> list[Stored]:
    ranges = [(1, min(now.system_to, now.window_from - 1))]
    ranges += [(seq, seq) for seq in now.pinned if now.system_to < seq < now.window_from]
    ranges.append((now.window_from, last))
    return [
        stored_message(row)
        for first, end in ranges
        if first <= end
        for row in archive_sql.messages(tx, now.session, first, end, _EVERY)
    ]


def _caught_up(
    tx: Tx,
    now: trim.WindowState,
    last: int,
    request: context_module.PromptRequest,
    measure: text_tokens.TokenMeasure,
) -> trim.WindowState:
    """A window that holds far more messages than any prompt (an imported session, at first) is
    brought near by portions: never more than two of them are in memory."""
    # A message costs at least three tokens: a portion alone is above any budget.
    portion = max(_SMALLEST_PORTION, request.context // 3)
    while last - now.window_from > 2 * portion:
        end = now.window_from + portion
        left = trim.plan_trim(
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


def _limits(
    request: context_module.PromptRequest, measure: text_tokens.TokenMeasure
) -> window_limits.Limits:
    tools = request.tools
    return window_limits.Limits(
        request.context,
        request.largest,
        text_tokens.count_text(tools, measure) if isinstance(tools, str) else tools,
        request.output,
        int(request.context * _MARGIN),
    )


def build_prompt(loaded: LoadedWindow, trimmed: bool) -> Prompt:
    """What to send now."""
    sent = tuple(trim.view_messages(loaded.state, loaded.messages))
    cost = text_tokens.count_prompt(sent, loaded.measure)
    return Prompt(loaded.session.id, sent, cost, loaded.limits.effective, trimmed)


def describe_sent(
    loaded: LoadedWindow, request: context_module.PromptRequest, prompt: Prompt, refused: int = 0
) -> context_module.SentPrompt:
    """What to remember of a prompt until its answer comes."""
    tools = request.tools
    if isinstance(tools, int):
        tools_chars = tools * (
            text_tokens.DEFAULT_RATIO if callable(loaded.measure) else loaded.measure
        )
    else:
        tools_chars = len(tools)
    chars = sum(map(text_tokens.count_chars, prompt.messages)) + int(tools_chars)
    return context_module.SentPrompt(request, chars, refused)


def load_recent(tx: Tx, name: str, count: int) -> list[Stored]:
    """The newest messages of a session, oldest first, whatever the window is."""
    session = archive_steps_sessions.get_session(tx, name)
    first = max(session.messages - count, 0) + 1
    return [
        stored_message(row) for row in archive_sql.messages(tx, session.id, first, _EVERY, count)
    ]


# ---------------------------------------------------------------- characters per token


PROGRESS = "session_progress"

"""The name under which the checkpoint of the last trim is stored; `session_progress:<session>`
is that of one session."""

_EVERYTHING = 2**62


class TreeLines(NamedTuple):
    """What git says of the working tree: commits newest first, and short status."""

    commits: tuple[str, ...] = ()
    status: tuple[str, ...] = ()


class Trimmed(NamedTuple):
    """What a trim did. `dropped` are the numbers of the messages that left the window."""

    session: str
    changed: bool
    before: int
    after: int
    kept: int
    dropped: tuple[tuple[int, int], ...]
    elided: int


def plan_before_sending(loaded: LoadedWindow) -> trim.TrimPlan:
    """The proactive and the validation stage."""
    plan = trim.plan_trim(
        loaded.state, loaded.messages, window_limits.proactive_budget(loaded.limits), loaded.measure
    )
    then = trim.plan_trim(
        plan.state, loaded.messages, window_limits.validation_budget(loaded.limits), loaded.measure
    )
    if not then.changed:
        return plan
    if not plan.changed:
        return then
    elided = tuple(sorted({*plan.elided, *then.elided}))
    return then._replace(before=plan.before, dropped=(*plan.dropped, *then.dropped), elided=elided)


def plan_after_refusal(
    loaded: LoadedWindow, attempt: int, refused: int, trees: TreeLines
) -> trim.TrimPlan:
    """The reactive stage: `refused` are the tokens, by our count, of what was refused first."""
    now = text_tokens.count_prompt(
        trim.view_messages(loaded.state, loaded.messages), loaded.measure
    )
    # Where nobody remembers, each attempt so far has about halved what was refused.
    budget = window_limits.reactive_budget(
        loaded.limits, attempt, refused or now << min(max(attempt, 1), 9) - 1
    )
    bare = trim.plan_trim(loaded.state, loaded.messages, budget, loaded.measure)
    note = _recovery(loaded, bare, trees)
    told = trim.plan_trim(loaded.state, loaded.messages, budget, loaded.measure, note)
    # In a tiny window the words about what went could be longer than what went.
    for plan in (told, bare):
        if plan.changed and plan.after < plan.before:
            return plan
    raise Overflow(
        "trimming removed nothing: the context was not the problem",
        where=loaded.session.id,
        hint="Only the system prompt, the summary and the current request are left. Look at "
        "the provider's message, the size of the tools and the reserve for the answer.",
    )


def plan_by_hand(loaded: LoadedWindow, target: int) -> trim.TrimPlan:
    """A trim on request: to so many tokens, or to half of what there is."""
    now = text_tokens.count_prompt(
        trim.view_messages(loaded.state, loaded.messages), loaded.measure
    )
    budget = window_limits.Budget(0, target or now // 2, forced=True)
    plan = trim.plan_trim(loaded.state, loaded.messages, budget, loaded.measure)
    # In a tiny window the words about what went can be longer than what went.
    return plan if plan.after < plan.before else _as_it_is(loaded)


def _as_it_is(loaded: LoadedWindow) -> trim.TrimPlan:
    """The plan that leaves the window alone."""
    everything = window_limits.Budget(0, _EVERYTHING, forced=False)
    return trim.plan_trim(loaded.state, loaded.messages, everything, loaded.measure)


def _recovery(loaded: LoadedWindow, plan: trim.TrimPlan, trees: TreeLines) -> str:
    return redaction.redact(
        summary.render_recovery(_standing(loaded, plan), trees.commits, trees.status)
    )


def _standing(loaded: LoadedWindow, plan: trim.TrimPlan) -> thread_facts.Facts:
    """How things stand, by what left the window and by what is in it."""
    facts = thread_facts.merge_facts(
        loaded.state.facts, thread_facts.extract_facts(loaded.messages)
    )
    return facts._replace(task=plan.state.facts.task)


def save_plan(
    tx: Tx, loaded: LoadedWindow, plan: trim.TrimPlan, trees: TreeLines, now: int
) -> LoadedWindow | None:
    """Checkpoint and pointer together; None when the window was moved by somebody else. When
    messages leave the window, the context that they were in is gone."""
    session = loaded.session.id
    archive_sql.lock_session(tx, session)
    if sql.get(tx, session) != loaded.kept:
        return None
    _checkpoint(tx, loaded, plan, trees, now)
    kept = redaction.redact_json(state_to_json(plan.state)).text
    # What is shown is what is kept: the same now and after the store was opened again.
    state = state_from_json(json.loads(kept))
    sql.put(tx, session, state.window_from, kept, redaction.redact(state.summary), now)
    if plan.dropped:
        steps_contexts.forget_context(tx, session, now)
    return loaded._replace(state=state, kept=kept)


def write_checkpoint(tx: Tx, loaded: LoadedWindow, trees: TreeLines, now: int) -> None:
    """Write down how things stand, without moving the window: an agent compacts its own."""
    _checkpoint(tx, loaded, _as_it_is(loaded), trees, now)


def _checkpoint(
    tx: Tx, loaded: LoadedWindow, plan: trim.TrimPlan, trees: TreeLines, now: int
) -> None:
    session = loaded.session.id
    names = [PROGRESS]
    if len(session) + len(PROGRESS) < 200:
        names.append(f"{PROGRESS}:{session}")
    iteration = documents_sql.last_revision(tx, documents_steps.scratch_address(names[-1])) + 1
    facts = _standing(loaded, plan)
    calls = summary.recent_calls(loaded.messages)
    text = summary.render_checkpoint(facts, calls, iteration, trees.commits, trees.status)
    last = max((placed.seq for placed in loaded.messages), default=1)
    text += f"\nEverything that was said: {text_messages.range_address(session, 1, max(last, 1))}\n"
    for name in names:
        # It is made of what tools said, among others, and trusted no more than that.
        documents_steps.store_scratch(tx, name, text, "tool", now)


def describe_trim(session: str, plan: trim.TrimPlan) -> Trimmed:
    """What a plan does, for whoever asked for it."""
    return Trimmed(
        session,
        plan.changed,
        plan.before,
        plan.after,
        plan.kept,
        plan.dropped,
        len(plan.elided),
    )


def state_to_json(state: trim.WindowState) -> dict[str, Json]:
    """The state as JSON."""
    return {
        **state._asdict(),
        "pinned": list(state.pinned),
        "cuts": [[seq, length] for seq, length in state.cuts],
        "facts": facts_to_json(state.facts),
    }


def state_from_json(body: Mapping[str, Json]) -> trim.WindowState:
    """The state that `state_body` wrote down."""
    return trim.WindowState(
        **{
            **body,
            "pinned": tuple(body["pinned"]),
            # A state from before results were cut has none.
            "cuts": tuple((seq, length) for seq, length in body.get("cuts", ())),
            "facts": facts_from_json(body["facts"]),
        }
    )
