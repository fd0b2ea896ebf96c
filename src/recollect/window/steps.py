"""Load the window of a session, build its prompt, and compact it.

Only the system prompt, the pinned messages and everything after the pointer are loaded: the cost
depends on the window, not on the archive. A trim is planned before the transaction, on what was
read; if another process moved the window meanwhile, nothing is saved and the caller starts over.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any, NamedTuple

from .. import context as context_module
from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..archive.steps_sessions import stored_message
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..errors import InvalidInput, Overflow
from ..freshness import git_io
from ..providers import formats
from ..secrets import redaction
from ..storage.database import Tx
from ..text import messages as text_messages
from ..text import tokens as text_tokens
from ..types.records import Json, Message, Session, Stored
from . import sql, summary, thread_facts, trim
from . import state as window_state

_SMALLEST_PORTION = 10_000
_MARGIN = 0.01
"""The share of the context window that is left free, because tokens are estimated."""

_NO_LIMIT = 2**62


class LoadedWindow(NamedTuple):
    """A loaded window; `kept` is its stored state, to detect that another process moved it."""

    session: Session
    state: window_state.WindowState
    kept: str
    messages: Sequence[text_messages.PlacedMessage]
    measure: text_tokens.TokenMeasure
    limits: window_state.Limits


class Prompt(NamedTuple):
    """The messages to send, their estimated tokens, and the limit that remains for them beside the
    tools and the answer."""

    session: str
    messages: tuple[Message, ...]
    tokens: int
    limit: int
    trimmed: bool

    @property
    def fits(self) -> bool:
        """Return False if even the messages that are always kept are too long for the model."""
        return self.tokens <= self.limit

    def request(self, provider: str) -> dict[str, Json]:
        """Return the arguments of a request for `client.messages.create(**arguments)`."""
        return formats.to_request(self.messages, provider)


def build_request(
    context: int, tools: object, counter: text_tokens.TokenCounter | None, **more: Any
) -> context_module.PromptRequest:
    """Check and build a request; `tools` is a number of tokens, JSON, or the definitions."""
    numbers = {"max_output": more["output"], "max_prompt": more["largest"]}
    for name, number in {"context_window": context, **numbers}.items():
        if not isinstance(number, int) or number < (name == "context_window"):
            raise InvalidInput(f"{name} must be a number of tokens, not {number!r}", where=name)
    if isinstance(tools, str):
        cost: str | int = int(tools) if tools.isdecimal() else tools
    else:
        cost = tools if isinstance(tools, int) else json.dumps(tools, ensure_ascii=False)
    return context_module.PromptRequest(context, tools=cost, counter=counter, **more)


def load_window(tx: Tx, name: str, request: context_module.PromptRequest) -> LoadedWindow:
    """Load the window of a session for a request."""
    session = archive_steps_sessions.get_session(tx, name)
    kept = sql.get(tx, session.id)
    now = window_state.WindowState(session.id)
    now = window_state.state_from_json(json.loads(kept)) if kept else now
    measure = request.counter or archive_steps_sessions.chars_per_token(
        tx, request.model or _find_model(tx, session)
    )
    now = _catch_up(tx, now, session.messages, request, measure)
    placed: list[text_messages.PlacedMessage] = []
    if request.system:
        # Number 0 comes before everything: a system prompt that is not in the archive.
        placed.append(text_messages.NumberedMessage(0, Message("system", request.system)))
    placed += _load_messages(tx, now, session.messages)
    return LoadedWindow(
        session=session,
        state=now,
        kept=kept,
        messages=placed,
        measure=measure,
        limits=_build_limits(request, measure),
    )


def _load_messages(tx: Tx, now: window_state.WindowState, last: int) -> list[Stored]:
    before = [(1, min(now.system_to, now.window_from - 1))]
    before += [(seq, seq) for seq in now.kept_before]
    ranges = [(now.session, first, end) for first, end in before if first <= end]
    rows = archive_sql.message_ranges(tx, ranges)
    rows += archive_sql.messages(tx, now.session, now.window_from, last, _NO_LIMIT)
    return [stored_message(row) for row in rows]


def _catch_up(
    tx: Tx,
    now: window_state.WindowState,
    last: int,
    request: context_module.PromptRequest,
    measure: text_tokens.TokenMeasure,
) -> window_state.WindowState:
    """Trim a window with far more messages than fit into a prompt (a new import) in portions, so
    that at most two portions are in memory."""
    # A message costs at least three tokens: one portion is above any budget.
    portion = max(_SMALLEST_PORTION, request.context // 3)
    while last - now.window_from > 2 * portion:
        end = now.window_from + portion
        left = trim.plan_trim(
            now, _load_messages(tx, now, end), window_state.Budget(0, 0, forced=True), measure
        )
        if left.state.window_from == now.window_from:
            break
        now = left.state
    return now


def _find_model(tx: Tx, session: Session) -> str:
    """Return the model that answered last."""
    for row in reversed(archive_sql.messages(tx, session.id, session.messages - 20, _NO_LIMIT, 21)):
        if row.role == "assistant" and (model := json.loads(row.body).get("model")):
            return str(model)
    return ""


def _build_limits(
    request: context_module.PromptRequest, measure: text_tokens.TokenMeasure
) -> window_state.Limits:
    tools = request.tools
    return window_state.Limits(
        context=request.context,
        prompt=request.largest,
        tools=text_tokens.count_text(tools, measure) if isinstance(tools, str) else tools,
        output=request.output,
        margin=int(request.context * _MARGIN),
    )


def build_prompt(loaded: LoadedWindow, trimmed: bool) -> Prompt:
    """Build the prompt of a loaded window."""
    sent = tuple(window_state.view_messages(loaded.state, loaded.messages))
    cost = text_tokens.count_prompt(sent, loaded.measure)
    return Prompt(
        session=loaded.session.id,
        messages=sent,
        tokens=cost,
        limit=loaded.limits.effective,
        trimmed=trimmed,
    )


def describe_sent(
    loaded: LoadedWindow, request: context_module.PromptRequest, prompt: Prompt, refused: int = 0
) -> context_module.SentPrompt:
    """Return the size of a sent prompt, to compare it with the usage that its answer reports."""
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
    """Return the newest messages of a session, oldest first, also those outside the window."""
    session = archive_steps_sessions.get_session(tx, name)
    first = max(session.messages - count, 0) + 1
    return [
        stored_message(row) for row in archive_sql.messages(tx, session.id, first, _NO_LIMIT, count)
    ]


# ---------------------------------------------------------------- compact

PROGRESS = "session_progress"
"""The scratch name of the last checkpoint; that of one session is `session_progress:<session>`."""


class Trimmed(NamedTuple):
    """Result of a trim; `dropped` are the numbers of the messages that left the window."""

    session: str
    changed: bool
    before: int
    after: int
    kept: int
    dropped: tuple[tuple[int, int], ...]
    elided: int


def _plan(loaded: LoadedWindow, budget: window_state.Budget, note: str = "") -> trim.TrimPlan:
    return trim.plan_trim(loaded.state, loaded.messages, budget, loaded.measure, note)


def plan_before_sending(loaded: LoadedWindow) -> trim.TrimPlan:
    """Plan the proactive and the validation stage."""
    plan = _plan(loaded, window_state.proactive_budget(loaded.limits))
    then = _plan(loaded._replace(state=plan.state), window_state.validation_budget(loaded.limits))
    if not then.changed:
        return plan
    if not plan.changed:
        return then
    elided = tuple(sorted({*plan.elided, *then.elided}))
    return then._replace(before=plan.before, dropped=(*plan.dropped, *then.dropped), elided=elided)


def plan_after_refusal(
    loaded: LoadedWindow, attempt: int, refused: int, trees: git_io.GitState
) -> trim.TrimPlan:
    """Plan a trim after the provider refused a prompt as too long (the reactive stage).

    attempt: 1, 2 or 3; each keeps less than the one before
    refused: the counted tokens of the first refused prompt, 0 if unknown
    trees: the git state for the checkpoint
    """
    now = _count_prompt(loaded)
    # If it is unknown: each attempt so far has about halved the refused prompt.
    budget = window_state.reactive_budget(
        loaded.limits, attempt, refused or now << min(max(attempt, 1), 9) - 1
    )
    bare = _plan(loaded, budget)
    facts = _current_facts(loaded, bare)
    note = redaction.redact(summary.render_recovery(facts, trees.commits, trees.status))
    noted = _plan(loaded, budget, note)
    # In a tiny window the recovery note could be longer than the dropped messages.
    for plan in (noted, bare):
        if plan.changed and plan.after < plan.before:
            return plan
    if now > loaded.limits.effective:
        raise Overflow(
            f"the prompt is too long and nothing more can be trimmed: {now} tokens of messages, "
            f"{loaded.limits.effective} fit beside the tools and the answer",
            where=loaded.session.id,
            hint="Only the system prompt, the summary and the current request are left: shorten "
            "the request, or use a model with a larger context window.",
        )
    raise Overflow(
        "trimming removed nothing: the context was not the problem",
        where=loaded.session.id,
        hint="Only the system prompt, the summary and the current request are left. Look at "
        "the provider's message, the size of the tools and the reserve for the answer.",
    )


def _count_prompt(loaded: LoadedWindow) -> int:
    """Count the tokens of the prompt as it is now."""
    sent = window_state.view_messages(loaded.state, loaded.messages)
    return text_tokens.count_prompt(sent, loaded.measure)


def plan_by_hand(loaded: LoadedWindow, target: int) -> trim.TrimPlan:
    """Plan a trim on request: to `target` tokens, or to half of the current prompt."""
    now = _count_prompt(loaded)
    plan = _plan(loaded, window_state.Budget(0, target or now // 2, forced=True))
    # In a tiny window the summary can be longer than the dropped messages.
    return plan if plan.after < plan.before else _plan_nothing(loaded)


def _plan_nothing(loaded: LoadedWindow) -> trim.TrimPlan:
    """Return the plan that changes nothing."""
    return _plan(loaded, window_state.Budget(0, _NO_LIMIT))


def _current_facts(loaded: LoadedWindow, plan: trim.TrimPlan) -> thread_facts.Facts:
    """Return the facts of dropped messages and of the window together."""
    fresh = thread_facts.extract_facts(loaded.messages)
    facts = thread_facts.merge_facts(loaded.state.facts, fresh)
    return facts._replace(task=plan.state.facts.task)


def save_plan(
    tx: Tx, loaded: LoadedWindow, plan: trim.TrimPlan, trees: git_io.GitState, now: int
) -> LoadedWindow | None:
    """Save checkpoint and pointer together; return None if another process moved the window.

    Dropped messages may contain our memory blocks, so the model's context counts as discarded.
    """
    session = loaded.session.id
    archive_sql.lock_session(tx, session)
    if sql.get(tx, session) != loaded.kept:
        return None
    _store_checkpoint(tx, loaded, plan, trees, now)
    kept = redaction.redact_json(window_state.state_to_json(plan.state)).text
    # Use the stored form, so that the prompt is the same after the store is reopened.
    state = window_state.state_from_json(json.loads(kept))
    sql.put(tx, session, state.window_from, kept, redaction.redact(state.summary), now)
    if plan.dropped:
        sql.forget_context(tx, session, now)
    return loaded._replace(state=state, kept=kept)


def write_checkpoint(tx: Tx, loaded: LoadedWindow, trees: git_io.GitState, now: int) -> None:
    """Write a checkpoint without moving the window, for an agent that compacts its own context."""
    _store_checkpoint(tx, loaded, _plan_nothing(loaded), trees, now)


def _store_checkpoint(
    tx: Tx, loaded: LoadedWindow, plan: trim.TrimPlan, trees: git_io.GitState, now: int
) -> None:
    session = loaded.session.id
    names = [PROGRESS]
    if len(session) + len(PROGRESS) < 200:
        names.append(f"{PROGRESS}:{session}")
    iteration = documents_sql.last_revision(tx, documents_steps.scratch_address(names[-1])) + 1
    facts = _current_facts(loaded, plan)
    calls = summary.recent_calls(loaded.messages)
    text = summary.render_checkpoint(facts, calls, iteration, trees.commits, trees.status)
    last = max((placed.seq for placed in loaded.messages), default=1)
    text += f"\nAll messages: {text_messages.range_address(session, 1, max(last, 1))}\n"
    for name in names:
        # It contains tool output, so it is labelled as such.
        documents_steps.store_scratch(tx, name, text, "tool", now)


def describe_trim(session: str, plan: trim.TrimPlan) -> Trimmed:
    """Return the result of a plan."""
    known = {**plan._asdict(), "session": session, "elided": len(plan.elided)}
    return Trimmed(**{name: known[name] for name in Trimmed._fields})
