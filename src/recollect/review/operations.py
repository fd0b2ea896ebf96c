"""Operations of the review queue: list the items that wait for a person, and answer them."""

from __future__ import annotations

from collections.abc import Sequence

from ..context import Context
from ..errors import InvalidInput, NotFound, RecollectError
from ..freshness import sql as freshness_sql
from ..freshness import steps as freshness_steps
from ..freshness.claims import Claim
from ..memory import operations as memory_operations
from ..memory import steps_verify as memory_steps_verify
from ..procedures import operations as procedures_operations
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import KINDS, STALE_STATES, Memory
from ..types.reports import ReviewAnswer, ReviewItem
from . import queue, sql, steps

ALL = "all"
"""The id that means all items that match the filters."""


def review(
    context: Context,
    id: str = "",
    kind: str = "",
    from_: str = "",
    reason: str = "",
    limit: int = 50,
) -> tuple[ReviewItem, ...]:
    """Review proposed, imported and stale memories, one key each.

    id: only this memory, by its id or the beginning of it
    kind: only this kind, or procedure
    from_: only items from this session, by its id or the beginning of it
    reason: only items that wait for this reason: proposed, quarantined, contradicting or stale
    limit: how many to list at most

    Example: recollect review
    Example: recollect review --kind policy
    Example: recollect review --reason stale --json
    """
    wanted = _filter(kind, from_, reason)

    def load(txs: tuple[Tx, ...]) -> list[ReviewItem]:
        found = [(entry, tx) for tx in txs for entry in steps.find_entries(tx, wanted)]
        if id:
            start = id.removeprefix(addresses.SCHEME)
            found = [one for one in found if one[0].id.startswith(start)]
        found.sort(key=lambda one: one[0])
        items = (steps.load_item(tx, entry, txs) for entry, tx in found[:limit])
        return [item for item in items if item]

    items = tuple(context.read_both(load))
    if id and not items:
        raise NotFound(
            "nothing with this id waits for review",
            where=id,
            hint="`recollect review --json` lists what waits, `recollect show ID` shows a memory",
        )
    return items


def answer_review(
    context: Context,
    id: str,
    answer: str,
    text: str = "",
    scope: Sequence[str] = (),
    kind: str = "",
    from_: str = "",
    reason: str = "",
) -> tuple[ReviewAnswer, ...]:
    """Answer one item of the review queue, or all that match the options.

    id: the item's id or the beginning of it, or all for every item that fits the options
    answer: keep (use it as your own word), edit, scope, both (a contradiction that is none), hide
        or later (leave it in the queue)
    text: the new text, for edit
    scope: path globs where it applies, for scope (repeat for several)
    kind: with all, only this kind
    from_: with all, only items from this session
    reason: with all, only items that wait for this reason

    Example: recollect review answer m-4k9w2c keep
    Example: recollect review answer m-4k9w2c scope --scope 'src/api/**'
    Example: recollect review answer all hide --from codex.019efedf
    """
    _check_answer(context, answer, text, scope, many=id == ALL)
    if id != ALL:
        if kind or from_ or reason:
            raise InvalidInput(
                "kind, from and reason need `all` as the id",
                where="id",
                hint=f"use {ALL} as the id, or leave these options out",
            )
        items = review(context, id)
        if len(items) > 1:
            raise InvalidInput(
                "several items begin with this id",
                where=items[0].id,
                hint=f"one of: {', '.join(item.id for item in items[:5])}",
            )
        return (_answer(context, items[0], answer, text, scope),)
    done = []
    for item in review(context, kind=kind, from_=from_, reason=reason, limit=steps.NO_LIMIT):
        try:
            done.append(_answer(context, item, answer, text, scope))
        except RecollectError as error:
            # An item that cannot be answered must not stop the rest of a batch.
            done.append(ReviewAnswer(item.id, answer, item.text, item.status, error=error.message))
    return tuple(done)


def count_review(context: Context) -> int:
    """Return the number of waiting items in both spaces."""
    return context.read_both(lambda txs: sum(map(sql.count_items, txs)))


def _filter(kind: str, session: str, reason: str) -> steps.QueueFilter:
    (kind,) = memory_operations.among("kind", (kind,), ("", *KINDS, "procedure"))
    memory_operations.among("reason", (reason,) if reason else (), queue.REASONS)
    session = session.removeprefix(f"{addresses.SCHEME}session/")
    return steps.QueueFilter(kind, session, reason)


def _check_answer(
    context: Context, answer: str, text: str, scope: Sequence[str], many: bool
) -> None:
    if answer not in queue.ANSWERS:
        raise InvalidInput.choice("answer", answer, queue.ANSWERS)
    if answer not in ("hide", "later"):
        trust.require_person(
            context.origin,
            f"answer {answer}",
            where="answer",
            hint="the user can run `recollect review` at a terminal",
        )
    if many and answer not in ("keep", "hide"):
        raise InvalidInput(f"{answer} answers one item at a time", where="answer")
    for name, field, value in (("edit", "text", text), ("scope", "scope", scope)):
        if (answer == name) != bool(value):
            needs = f"{name} needs {field}" if answer == name else f"{field} goes with {name}"
            raise InvalidInput(needs, where=field)


def _answer(
    context: Context, item: ReviewItem, answer: str, text: str, scope: Sequence[str]
) -> ReviewAnswer:
    if answer not in item.answers:
        raise InvalidInput(
            f"a {item.kind} that is {' and '.join(item.reasons)} does not take {answer}",
            where=item.address,
            hint=f"one of: {', '.join(item.answers)}",
        )
    if answer == "later":
        return ReviewAnswer(item.id, answer, item.text, item.status)
    if item.kind == "procedure":
        return _answer_procedure(context, item, answer)
    hidden: tuple[str, ...] = ()
    now = context.clock()
    context.space_of(item.layer).write(lambda tx: steps.settle_conflicts(tx, item.id, now))
    if answer == "hide":
        memory = memory_operations.hide(context, item.id)
    elif answer == "edit":
        memory = memory_operations.correct(context, item.id, text)
        _end_links(context, item, memory, every=False)
    elif answer == "scope":
        wanted = context.scopes_in_project(scope)
        memory = context.writable(context.space_of(item.layer)).write(
            lambda tx: steps.set_scope(tx, item.id, wanted, now)
        )
        _end_links(context, item, memory, every=False)
    else:
        memory = _keep(context, item)
        if answer == "both":
            _end_links(context, item, memory, every=True)
        else:
            hidden = tuple(one.id for one in item.against)
            for other in hidden:
                memory_operations.hide(context, other)
    return ReviewAnswer(memory.id, answer, memory.text, memory.status, hidden)


def _answer_procedure(context: Context, item: ReviewItem, answer: str) -> ReviewAnswer:
    if answer == "keep":
        kept = procedures_operations.accept_procedure(context, item.id)
        return ReviewAnswer(kept.id, answer, item.text, kept.status)
    context.project_space.write(lambda tx: steps.hide_procedure(tx, item.id, context.origin))
    return ReviewAnswer(item.id, answer, item.text, "hidden")


def _keep(context: Context, item: ReviewItem) -> Memory:
    """Confirm a memory: update its claims about moved code, and end those about missing code."""
    memory = memory_operations.confirm(context, item.id)
    if "stale" not in item.reasons or memory.layer == "user":
        return memory
    space = context.project_space
    rows = space.read(lambda tx: memory_steps_verify.load_claims(tx, memory.id))
    tree = freshness_steps.open_working_tree(context)
    kept = []
    for row in rows:
        if row.state not in STALE_STATES:
            kept.append(row)
        elif row.moved_to:
            place = Claim(row.moved_to, row.symbol, row.line, row.kind, given=True)
            kept += [freshness_sql.ClaimRow(memory.id, 0, *one) for one in tree.pin([place])]
    now = context.clock()
    space.write(lambda tx: steps.replace_claims(tx, memory.id, kept, now))
    return memory


def _end_links(context: Context, item: ReviewItem, memory: Memory, every: bool) -> None:
    """End the contradictions of an item: every one, or those that its new text or scope settled."""
    others = [one.id for one in item.against]
    now = context.clock()
    if others:
        context.space_of(item.layer).write(
            lambda tx: steps.end_contradictions(tx, memory, others, now, every)
        )
