"""Compact a window: decide what leaves, write the checkpoint, move the pointer. One transaction.

The plan is made before the transaction, on what was read; when somebody else moved the window
in between, nothing is kept and the caller looks again.
"""

from __future__ import annotations

import json
from typing import NamedTuple

from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..documents import steps_scratch as documents_steps_scratch
from ..errors import Overflow
from ..secrets import redaction
from ..storage.database import Tx
from ..text import messages, tokens
from . import limits, sql, steps_contexts, summary, trim
from .steps import Loaded

PROGRESS = "session_progress"
"""The name under which the checkpoint of the last trim is stored; `session_progress:<session>`
is that of one session."""

_EVERYTHING = 2**62


class Trees(NamedTuple):
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


def before_sending(loaded: Loaded) -> trim.Plan:
    """The proactive and the validation stage."""
    plan = trim.plan(loaded.state, loaded.messages, limits.proactive(loaded.limits), loaded.measure)
    then = trim.plan(plan.state, loaded.messages, limits.validation(loaded.limits), loaded.measure)
    if not then.changed:
        return plan
    if not plan.changed:
        return then
    elided = tuple(sorted({*plan.elided, *then.elided}))
    return then._replace(before=plan.before, dropped=(*plan.dropped, *then.dropped), elided=elided)


def after_refusal(loaded: Loaded, attempt: int, refused: int, trees: Trees) -> trim.Plan:
    """The reactive stage: `refused` are the tokens, by our count, of what was refused first."""
    now = tokens.count_prompt(trim.view(loaded.state, loaded.messages), loaded.measure)
    # Where nobody remembers, each attempt so far has about halved what was refused.
    budget = limits.reactive(loaded.limits, attempt, refused or now << min(max(attempt, 1), 9) - 1)
    bare = trim.plan(loaded.state, loaded.messages, budget, loaded.measure)
    note = _recovery(loaded, bare, trees)
    told = trim.plan(loaded.state, loaded.messages, budget, loaded.measure, note)
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


def by_hand(loaded: Loaded, target: int) -> trim.Plan:
    """A trim on request: to so many tokens, or to half of what there is."""
    now = tokens.count_prompt(trim.view(loaded.state, loaded.messages), loaded.measure)
    budget = limits.Budget(0, target or now // 2, forced=True)
    plan = trim.plan(loaded.state, loaded.messages, budget, loaded.measure)
    # In a tiny window the words about what went can be longer than what went.
    return plan if plan.after < plan.before else _as_it_is(loaded)


def _as_it_is(loaded: Loaded) -> trim.Plan:
    """The plan that leaves the window alone."""
    everything = limits.Budget(0, _EVERYTHING, forced=False)
    return trim.plan(loaded.state, loaded.messages, everything, loaded.measure)


def _recovery(loaded: Loaded, plan: trim.Plan, trees: Trees) -> str:
    return redaction.safe(summary.recovery(_standing(loaded, plan), trees.commits, trees.status))


def _standing(loaded: Loaded, plan: trim.Plan) -> summary.Facts:
    """How things stand, by what left the window and by what is in it."""
    facts = summary.merge(loaded.state.facts, summary.extract(loaded.messages))
    return facts._replace(task=plan.state.facts.task)


def keep(tx: Tx, loaded: Loaded, plan: trim.Plan, trees: Trees, now: int) -> Loaded | None:
    """Checkpoint and pointer together; None when the window was moved by somebody else. When
    messages leave the window, the context that they were in is gone."""
    session = loaded.session.id
    archive_sql.hold(tx, session)
    if sql.get(tx, session) != loaded.kept:
        return None
    _checkpoint(tx, loaded, plan, trees, now)
    kept = redaction.scrub_json(trim.state_body(plan.state)).text
    # What is shown is what is kept: the same now and after the store was opened again.
    state = trim.state_from_body(json.loads(kept))
    sql.put(tx, session, state.window_from, kept, redaction.safe(state.summary), now)
    if plan.dropped:
        steps_contexts.forget(tx, session, now)
    return loaded._replace(state=state, kept=kept)


def checkpoint(tx: Tx, loaded: Loaded, trees: Trees, now: int) -> None:
    """Write down how things stand, without moving the window: an agent compacts its own."""
    _checkpoint(tx, loaded, _as_it_is(loaded), trees, now)


def _checkpoint(tx: Tx, loaded: Loaded, plan: trim.Plan, trees: Trees, now: int) -> None:
    session = loaded.session.id
    names = [PROGRESS]
    if len(session) + len(PROGRESS) < 200:
        names.append(f"{PROGRESS}:{session}")
    iteration = documents_sql.last_revision(tx, documents_steps_scratch.address_of(names[-1])) + 1
    facts = _standing(loaded, plan)
    calls = summary.recent_calls(loaded.messages)
    text = summary.checkpoint(facts, calls, iteration, trees.commits, trees.status)
    last = max((placed.seq for placed in loaded.messages), default=1)
    text += f"\nEverything that was said: {messages.address_of(session, 1, max(last, 1))}\n"
    for name in names:
        # It is made of what tools said, among others, and trusted no more than that.
        documents_steps_scratch.store(tx, name, text, "tool", now)


def trimmed(session: str, plan: trim.Plan) -> Trimmed:
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
