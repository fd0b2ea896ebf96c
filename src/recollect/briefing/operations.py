"""Operations that show memories to the model, one for each moment; hooks use only these."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Mapping, Sequence
from functools import partial

from ..context import Context, new_id
from ..documents import user_files_io
from ..errors import StoreError
from ..fast_typing import NamedTuple
from ..freshness import sql as freshness_sql
from ..freshness import steps as freshness_steps
from ..injections import sql as injections_sql
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import tokens as text_tokens
from ..types.records import Json, SafeText
from ..window import sql as window_sql
from . import (
    instruction_files_io,
    matching,
    rendering,
    selection,
    sql,
    steps,
    steps_action,
    steps_follow_up,
    steps_turn,
)

TURN_BUDGET, COMMAND_BUDGET, EDIT_BUDGET, FAILURE_BUDGET = 400, 100, 150, 150
"""The most tokens of each moment."""


def make_briefing(
    context: Context,
    session: str = "",
    query: str = "",
    files: Sequence[str] = (),
    budget: int = 0,
    explain: bool = False,
) -> steps.Briefing:
    """Show the text that an agent gets when a session starts.

    session: the session it is for; its start block does not change until a compaction
    query: the user's prompt; without it, only the start block is shown
    files: files that are about to be changed (repeat for several)
    budget: the most tokens for the start block (default: setting briefing_budget)
    explain: show why each item is in, and why others are not

    Example: recollect briefing
    Example: recollect briefing --session s-1 --query "fix the login test" --explain
    """
    named = redaction.check_name(session, "session")
    ask = steps.Ask(named, query, tuple(files), cwd=context.project.start, first=not session)
    if why_not := steps.why_silent(context.settings.mode, query):
        return steps.EMPTY._replace(notes=(why_not,))
    briefing, trouble = brief_start(context, ask, budget)
    parts = [brief_turn(context, ask, briefing.items)] if query else []
    parts += [brief_edit(context, ask)] if files else []
    for part in parts:
        briefing = briefing._replace(
            turn="\n".join(filter(None, (briefing.turn, part.turn))),
            items=(*briefing.items, *part.items),
            left_out=(*briefing.left_out, *part.left_out),
            tokens=briefing.tokens + part.tokens,
        )
    if trouble:
        notes = (*briefing.notes, f"not logged as shown: {trouble.message}")
        briefing = briefing._replace(notes=notes)
    return briefing._replace(explained=explain)


# ---------------------------------------------------------------- log


class ShownMoment(NamedTuple):
    """The data to store for a moment: shown items, values of state, claims whose state changed."""

    moment: str
    items: tuple[rendering.Item, ...] = ()
    values: Mapping[str, SafeText] = {}
    checks: Sequence[freshness_sql.ClaimRow] = ()


def log_shown(
    context: Context,
    ask: steps.Ask,
    shown: Sequence[ShownMoment],
    learn: Callable[[Tx], object] | None = None,
) -> tuple[bool, StoreError | None]:
    """Log the shown items in one transaction; return whether the event was new (otherwise nothing
    is stored), and the error that prevented the write, if any.

    learn: stores the statements of a prompt in the same transaction

    Only a start block and learned statements wait for a busy store; other items are then not
    logged: an answer shown twice is better than none. A read-only member stores nothing.
    """
    spaces = context.present_spaces()
    if not spaces:
        return True, None
    now, space = context.clock(), spaces[0]
    mark = ask.mark if space is context.project_space else None
    values = {key: value for one in shown for key, value in one.values.items()}
    checks = [row for one in shown for row in one.checks]
    rows = [
        injections_sql.Injection(
            id=new_id("i"),
            session=ask.session,
            moment=one.moment,
            block=item.tier,
            ref=ref,
            tokens=item.tokens if place == 0 else 0,  # of a line, with the first of its refs
            at=now,
        )
        for one in shown
        for item in (one.items if ask.session else ())
        for place, ref in enumerate(steps_follow_up.refs_of(item))
    ]
    if not (mark or values or checks or rows or learn) or not space.is_writable():
        return True, None
    answers = []

    def work(tx: Tx) -> None:
        answers.append(storage_sql.put_values(tx, values, now, mark))
        if answers[-1] and rows:
            injections_sql.insert(tx, rows)
        if answers[-1] and checks:
            freshness_sql.save_checks(tx, checks, now)
        if answers[-1] and learn:
            learn(tx)

    try:
        is_kept = not learn and space.try_write(work)
        if not is_kept and (values or learn):
            space.write(work)
            is_kept = True
    except StoreError as trouble:
        return True, trouble
    # The first run may have committed although the answer was lost: the second then finds its mark.
    return not is_kept or any(answers), None


def _check_claims(
    context: Context, loaded: freshness_steps.LoadedChecks | None
) -> tuple[Mapping[str, freshness_steps.Freshness], Sequence[freshness_sql.ClaimRow]]:
    """Return the freshness of the loaded memories, and the claims whose state has changed."""
    if loaded is None:
        return {}, ()
    return freshness_steps.check_loaded(loaded, partial(freshness_steps.open_working_tree, context))


# ---------------------------------------------------------------- start


def brief_start(
    context: Context, ask: steps.Ask, budget: int = 0
) -> tuple[steps.Briefing, StoreError | None]:
    """Return the start block of a context, and the reason if it could not be logged."""
    if why_not := steps.why_silent(context.settings.mode, ask.query):
        return steps.EMPTY._replace(notes=(why_not,)), None
    load = start_loader(context, ask)
    briefing, shown = make_start(context, ask, context.read_both(load, ahead=True), budget)
    return briefing, log_shown(context, ask, [shown])[1]


def start_loader(context: Context, ask: steps.Ask) -> Callable[[Sequence[Tx]], steps.LoadedStart]:
    """Return a function of transactions that loads the material of the start block."""
    instructions, now, settings = read_instructions(context, ask), context.clock(), context.settings
    changed = freshness_steps.remember_changed(context)
    added = settings.memories_summary_injection_token_limit if settings.memories_enabled else 0
    if settings.mode != "incognito":
        ask = ask._replace(
            notes=user_files_io.read_own(os.path.join(context.project.folder, "NOTES.md"))
        )
    return lambda txs: steps.load_start(txs, ask, instructions, changed, now, added)


def make_start(
    context: Context, ask: steps.Ask, loaded: steps.LoadedStart, budget: int = 0
) -> tuple[steps.Briefing, ShownMoment]:
    """Return the start block, and the data to store with it. If the project has no store yet, the
    user's space stores them, so that the user's memories are not shown again with every prompt."""
    if loaded.frozen and ask.context != "kept":
        frozen = loaded.frozen
        briefing = steps.Briefing(frozen.text, "", tokens=frozen.tokens, begins=False)
        return briefing, ShownMoment("start")
    instructions = read_instructions(context, ask)
    fresh, checks = _check_claims(context, loaded.checks)
    material = steps.with_freshness(loaded.material, fresh)
    limit = budget or context.settings.briefing_budget
    withhold = context.settings.stale == "withhold"
    plan = selection.plan_start(material, limit, instructions, withhold)
    if loaded.frozen:
        briefing = _brief_resumed(context, plan, loaded.frozen, loaded.shown)
        return briefing, ShownMoment("start", briefing.items, checks=checks)
    text, tokens = rendering.start_block(plan), plan.tokens
    if loaded.summary:
        text = "\n".join(filter(None, (text, loaded.summary.text)))
        tokens += loaded.summary.tokens
    briefing = steps.Briefing(text, "", plan.items, plan.left_out, tokens)
    values = _state_values(context, ask, briefing, loaded) if ask.session else {}
    return briefing, ShownMoment("start", briefing.items, values, checks)


def _brief_resumed(
    context: Context,
    plan: rendering.BriefingPlan,
    frozen: window_sql.StableBlock,
    shown: frozenset[str],
) -> steps.Briefing:
    """Return the items of a new start block that a resumed context does not have.

    frozen: the start block that the context has
    shown: the ids of all items that it was shown
    """
    known = {*frozen.ids, *shown}
    new = [item for item in plan.items if not known.intersection(steps_follow_up.refs_of(item))]
    added = rendering.fit_lines(new, context.settings.briefing_budget)
    return steps.Briefing(
        stable=frozen.text,
        turn=rendering.short_block(added.items),
        items=added.items,
        left_out=plan.left_out,
        tokens=added.tokens,
        begins=False,
    )


def _state_values(
    context: Context, ask: steps.Ask, briefing: steps.Briefing, loaded: steps.LoadedStart
) -> dict[str, SafeText]:
    """Return the values of state to store: the block, and the data for later moments. All are made
    of stored texts: `steps.with_freshness` redacts paths from the working tree."""
    in_summary = sorted(loaded.summary.refs) if loaded.summary else ()
    refs = (*(ref for item in briefing.items for ref in steps_follow_up.refs_of(item)), *in_summary)
    block = window_sql.StableBlock(
        briefing.stable, refs, text_tokens.count_tokens(briefing.stable) if briefing.stable else 0
    )
    since = context.clock() if ask.context == "fresh" else loaded.since
    parts = steps_action.part_commands(loaded.commands)
    prepared = json.dumps(parts, ensure_ascii=False) if parts else ""
    return {
        **dict([window_sql.write_block(ask.session, block, since)]),
        sql.WATCHED: redaction.trust_stored(loaded.watched),
        sql.PART_COMMANDS: redaction.trust_stored(prepared),
    }


# ---------------------------------------------------------------- the other moments


def brief_turn(
    context: Context, ask: steps.Ask, start_items: Sequence[rendering.Item] = ()
) -> steps.Briefing:
    """Return the memories that match a prompt and were not shown yet; mostly none.

    start_items: the items of a start block in the same answer, which are not repeated
    """
    if steps.why_silent(context.settings.mode, ask.query):
        return steps.EMPTY
    load = turn_loader(context, ask)
    loaded = context.read_both(lambda txs: load(txs, ask.first), ahead=True)
    briefing, shown = make_turn(context, loaded, start_items)
    log_shown(context, ask, [shown])
    return briefing


def turn_loader(
    context: Context, ask: steps.Ask
) -> Callable[[Sequence[Tx], bool], steps_turn.LoadedTurn]:
    """Return a function of transactions that loads the candidates for a prompt, given whether it is
    the first one of its session."""
    instructions, now = read_instructions(context, ask), context.clock()
    changed = freshness_steps.remember_changed(context)
    words = matching.words_of(ask.query)

    def load(txs: Sequence[Tx], first: bool) -> steps_turn.LoadedTurn:
        asked = ask._replace(first=first)
        return steps_turn.load_turn(txs, asked, words, instructions, changed, now)

    return load


def make_turn(
    context: Context, loaded: steps_turn.LoadedTurn, start_items: Sequence[rendering.Item]
) -> tuple[steps.Briefing, ShownMoment]:
    """Return the answer to a prompt, and the data to store with it."""
    fresh, checks = _check_claims(context, loaded.checks)
    states = {id: one.state for id, one in fresh.items()}
    withhold = context.settings.stale == "withhold"
    items, left_out = steps_turn.choose_items(loaded, states, withhold, start_items)
    briefing = _make_turn_block(context, items, TURN_BUDGET, left_out)
    return briefing, ShownMoment("turn", briefing.items, checks=checks)


def brief_command(
    context: Context, ask: steps.Ask, items: Sequence[rendering.Item]
) -> steps.Briefing:
    """Return the advice on a shell line before it runs.

    items: the result of `steps_action.before_command`
    """
    briefing = _make_turn_block(context, items, COMMAND_BUDGET)
    return _log_once(context, ask, briefing, ShownMoment("command", briefing.items))


def brief_edit(context: Context, ask: steps.Ask) -> steps.Briefing:
    """Return the memories for files that are about to be changed, except those shown already."""
    if context.settings.mode == "no-ltm":
        return steps.EMPTY
    changed = freshness_steps.remember_changed(context)
    loaded = context.read_both(
        lambda txs: steps_action.load_edit(txs, ask.session, ask.files, changed), ahead=True
    )
    if not loaded.memories and not loaded.lines:
        return steps.EMPTY
    instructions = read_instructions(context, ask)
    fresh, checks = _check_claims(context, loaded.checks)
    withhold = context.settings.stale == "withhold"
    items = []
    left_out = []
    for memory in loaded.memories:
        if selection.why_excluded(memory, instructions):
            continue
        state = fresh[memory.id].state if memory.id in fresh else ""
        is_withheld = withhold or state == "missing"
        reason = selection.why_stale(state) if is_withheld else ""
        reason = reason or selection.why_unproven(memory, state)
        if reason:
            left_out.append(rendering.LeftOut(memory.id, memory.address, reason))
        else:
            why = f"applies to {', '.join(ask.files[:3])}"
            items.append(selection.memory_item(memory, "", state)._replace(why=why))
    briefing = _make_turn_block(context, [*items, *loaded.lines], EDIT_BUDGET, left_out)
    return _log_once(context, ask, briefing, ShownMoment("edit", briefing.items, checks=checks))


def brief_failure(
    context: Context, ask: steps.Ask, arguments: Mapping[str, Json], output: str
) -> steps.Briefing:
    """Return earlier resolutions of the same error; mostly none."""
    if context.settings.mode == "no-ltm":
        return steps.EMPTY
    items = context.read_both(
        lambda txs: steps_action.after_failure(txs, ask.session, arguments, output), ahead=True
    )
    briefing = _make_turn_block(context, items, FAILURE_BUDGET)
    return _log_once(context, ask, briefing, ShownMoment("failure", briefing.items))


def _make_turn_block(
    context: Context,
    items: Sequence[rendering.Item],
    budget: int,
    left_out: Sequence[rendering.LeftOut] = (),
) -> steps.Briefing:
    if not items:
        return steps.EMPTY._replace(left_out=tuple(left_out))
    plan = rendering.fit_lines(items, min(budget, context.settings.briefing_budget))
    return steps.Briefing(
        stable="",
        turn=rendering.short_block(plan.items),
        items=plan.items,
        left_out=(*plan.left_out, *left_out),
        tokens=plan.tokens,
    )


def _log_once(
    context: Context, ask: steps.Ask, briefing: steps.Briefing, shown: ShownMoment
) -> steps.Briefing:
    """Log the answer to an action and return it; empty if the event was answered before."""
    if not briefing.text and not shown.checks:
        return briefing
    return briefing if log_shown(context, ask, [shown])[0] else steps.EMPTY


def read_instructions(context: Context, ask: steps.Ask) -> matching.Instructions:
    """Return the instruction files that the agent loads by itself."""
    home = context.environment.get("HOME") or os.path.expanduser("~")
    cwd = os.path.realpath(ask.cwd) if ask.cwd else context.top
    read = instruction_files_io.read
    return matching.Instructions(lambda: read(ask.host, context.top, cwd, home))
