"""Operations that put memory in front of the model, one for each moment. Hooks need no other."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from ..context import Context, new_id
from ..errors import StoreError
from ..fast_typing import NamedTuple
from ..freshness import steps as freshness_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..text import tokens as text_tokens
from ..types.records import Json
from ..window import steps_contexts as window_steps_contexts
from . import budget as briefing_budget
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
"""Tokens of each moment. They are apart, so that none starves another."""


class Spoken(NamedTuple):
    """What one moment says."""

    text: str = ""
    items: tuple[rendering.Item, ...] = ()
    left_out: tuple[rendering.LeftOut, ...] = ()
    tokens: int = 0


SILENT = Spoken()


def make_briefing(
    context: Context,
    session: str = "",
    query: str = "",
    files: Sequence[str] = (),
    budget: int = 0,
    explain: bool = False,
) -> steps.Briefing:
    """Show what an agent is given when a session starts.

    session: the session it is for; its start block stays the same until the context is gone
    query: what the user asks; without it only the start block is made
    files: files that are about to be changed (repeat for several)
    budget: the most tokens for the start block (default: setting briefing_budget)
    explain: show why each item is in, and why others are not

    Example: recollect briefing
    Example: recollect briefing --session s-1 --query "fix the login test" --explain
    """
    named = redaction.check_name(session, "session")
    ask = steps.Ask(named, query, tuple(files), cwd=context.project.start, first=not session)
    why_not = steps.why_silent(context.settings.mode, query)
    if why_not:
        return steps.EMPTY._replace(notes=(why_not,))
    briefing, trouble = brief_start(context, ask, budget)
    parts = [brief_turn(context, ask)] if query else []
    parts += [brief_edit(context, ask)] if files else []
    for spoken in parts:
        briefing = briefing._replace(
            turn="\n".join(filter(None, (briefing.turn, spoken.text))),
            items=(*briefing.items, *spoken.items),
            left_out=(*briefing.left_out, *spoken.left_out),
            tokens=briefing.tokens + spoken.tokens,
        )
    if trouble:
        notes = (*briefing.notes, f"that it was shown is not noted: {trouble.message}")
        briefing = briefing._replace(notes=notes)
    return briefing._replace(explained=explain)


# ---------------------------------------------------------------- start


def brief_start(
    context: Context, ask: steps.Ask, budget: int = 0
) -> tuple[steps.Briefing, StoreError | None]:
    """Return the start block of a context, and why it could not be logged, if so."""
    if why_not := steps.why_silent(context.settings.mode, ask.query):
        return steps.EMPTY._replace(notes=(why_not,)), None
    now = context.clock()
    instructions = read_instructions(context, ask)
    settings = context.settings
    added = settings.memories_enabled * settings.memories_summary_injection_token_limit
    loaded = context.read_both(lambda txs: steps.load_start(txs, ask, instructions, now, added))
    if loaded.frozen and ask.context != "kept":
        frozen = loaded.frozen
        return steps.Briefing(frozen.text, "", tokens=frozen.tokens, begins=False), None
    ids = [one.memory.id for one in loaded.material.memories if one.memory.layer != "user"]
    fresh = freshness_steps.check_freshness(context, ids)
    material = steps.with_freshness(loaded.material, fresh)
    limit = budget or context.settings.briefing_budget
    withhold = context.settings.stale == "withhold"
    plan = selection.plan_start(material, limit, instructions, withhold)
    if loaded.frozen:
        return _since_resumed(context, ask, plan, loaded), None
    text = "\n".join(filter(None, (rendering.start_block(plan), loaded.summary.text)))
    tokens = plan.tokens + loaded.summary.tokens
    briefing = steps.Briefing(text, "", plan.items, plan.left_out, tokens)
    return briefing, _log_start(context, ask, briefing, loaded)


def _since_resumed(
    context: Context, ask: steps.Ask, plan: rendering.BriefingPlan, loaded: steps.LoadedStart
) -> steps.Briefing:
    """Return what a start block made afresh holds and the kept context does not."""
    assert loaded.frozen is not None
    had = {*loaded.frozen.ids, *loaded.shown}
    new = [item for item in plan.items if not had.intersection(steps_follow_up.refs_of(item))]
    added = briefing_budget.fit_lines(new, context.settings.briefing_budget)
    briefing = steps.Briefing(
        stable=loaded.frozen.text,
        turn=rendering.short_block(added.items),
        items=added.items,
        left_out=plan.left_out,
        tokens=added.tokens,
        begins=False,
    )
    _log(context, ask.session, "start", added.items)
    return briefing


def _log_start(
    context: Context, ask: steps.Ask, briefing: steps.Briefing, loaded: steps.LoadedStart
) -> StoreError | None:
    """Keep the block while the context lasts. Where the project has no store yet the person's own
    keeps it, so that nothing of theirs is shown again with every prompt."""
    spaces = context.present_spaces() if ask.session else []
    if not spaces:
        return None
    now, session, is_fresh = context.clock(), ask.session, ask.context == "fresh"
    said = sorted(loaded.summary.refs)
    refs = (*(ref for item in briefing.items for ref in steps_follow_up.refs_of(item)), *said)
    block = window_steps_contexts.StableBlock(
        briefing.stable, refs, text_tokens.count_tokens(briefing.stable) if briefing.stable else 0
    )
    watched = context.read_both(lambda txs: steps_action.watched_programs(txs, loaded.replaced))
    parts = steps_action.part_commands(loaded.commands)

    def keep(tx: Tx) -> None:
        window_steps_contexts.save_block(tx, session, block, now, is_fresh)
        sql.put_prepared(tx, sql.WATCHED, redaction.redact(watched), now)
        prepared = redaction.redact_json(parts).text if parts else redaction.redact("")
        sql.put_prepared(tx, sql.PART_COMMANDS, prepared, now)

    try:
        spaces[0].write(keep)
    except StoreError as trouble:
        return trouble
    _log(context, session, "start", briefing.items)
    return None


# ---------------------------------------------------------------- the other moments


def brief_turn(context: Context, ask: steps.Ask) -> Spoken:
    """Return what fits a prompt and was not shown yet; mostly nothing."""
    if steps.why_silent(context.settings.mode, ask.query):
        return SILENT
    now = context.clock()
    instructions = read_instructions(context, ask)
    loaded = context.read_both(lambda txs: steps_turn.load_turn(txs, ask, instructions, now))
    ids = [memory.id for memory, _ in loaded.memories if memory.layer != "user"]
    fresh = freshness_steps.check_freshness(context, ids) if ids else {}
    withhold = context.settings.stale == "withhold"
    states = {id: one.state for id, one in fresh.items()}
    items, left_out = steps_turn.items(loaded, states, withhold)
    return _spoken(context, ask.session, "turn", items, TURN_BUDGET, left_out)


def brief_command(context: Context, session: str, line: str, watched: str) -> Spoken:
    """Return the advice on a shell line before it runs.

    watched: the watched programs, of which the line names one
    """
    if context.settings.mode == "no-ltm":
        return SILENT
    items = context.read_both(lambda txs: steps_action.before_command(txs, session, line, watched))
    return _spoken(context, session, "command", items[:2], COMMAND_BUDGET)


def brief_edit(context: Context, ask: steps.Ask) -> Spoken:
    """Return what applies to files that are about to be changed and was not shown yet."""
    if context.settings.mode == "no-ltm":
        return SILENT
    loaded = context.read_both(lambda txs: steps_action.load_edit(txs, ask.session, ask.files))
    if not loaded.memories and not loaded.lines:
        return SILENT
    instructions = read_instructions(context, ask)
    found = [one for one in loaded.memories if not selection.why_never(one, instructions)]
    ids = [memory.id for memory in found if memory.layer != "user"]
    fresh = freshness_steps.check_freshness(context, ids) if ids else {}
    withhold = context.settings.stale == "withhold"
    items = []
    left_out = []
    for memory in found:
        state = fresh[memory.id].state if memory.id in fresh else ""
        if state in _CONTRADICTED and (withhold or state == "missing"):
            reason = f"what it says of the code is {state}"
            left_out.append(rendering.LeftOut(memory.id, memory.address, reason))
        elif memory.label == "agent" and not selection.has_evidence(memory, state):
            reason = "an agent's claim that nothing confirms: only on explicit recall"
            left_out.append(rendering.LeftOut(memory.id, memory.address, reason))
        else:
            why = f"applies to {', '.join(ask.files[:3])}"
            items.append(selection.item_of(memory, "", state)._replace(why=why))
    return _spoken(context, ask.session, "edit", [*items, *loaded.lines], EDIT_BUDGET, left_out)


_CONTRADICTED = ("missing", "moved", "changed")


def brief_failure(
    context: Context, session: str, arguments: Mapping[str, Json], output: str
) -> Spoken:
    """Return what resolved the same error before; mostly nothing."""
    if context.settings.mode == "no-ltm":
        return SILENT
    items = context.read_both(
        lambda txs: steps_action.after_failure(txs, session, arguments, output)
    )
    return _spoken(context, session, "failure", items, FAILURE_BUDGET)


def _spoken(
    context: Context,
    session: str,
    moment: str,
    items: Sequence[rendering.Item],
    budget: int,
    left_out: Sequence[rendering.LeftOut] = (),
) -> Spoken:
    if not items:
        return SILENT._replace(left_out=tuple(left_out))
    plan = briefing_budget.fit_lines(items, min(budget, context.settings.briefing_budget))
    _log(context, session, moment, plan.items)
    return Spoken(
        text=rendering.short_block(plan.items),
        items=plan.items,
        left_out=(*plan.left_out, *left_out),
        tokens=plan.tokens,
    )


def _log(context: Context, session: str, moment: str, items: Sequence[rendering.Item]) -> None:
    """Log what was shown; nothing is logged when the store is busy."""
    spaces = context.present_spaces() if session else []
    rows = [(new_id("i"), ref, item) for item in items for ref in steps_follow_up.refs_of(item)]
    if spaces and rows:
        now = context.clock()
        spaces[0].try_write(lambda tx: steps_follow_up.log(tx, session, moment, rows, now))


def read_instructions(context: Context, ask: steps.Ask) -> matching.Instructions:
    """Return the instruction files that the agent loads by itself."""
    home = context.environment.get("HOME") or os.path.expanduser("~")
    cwd = os.path.realpath(ask.cwd) if ask.cwd else context.top
    return matching.Instructions(
        lambda: instruction_files_io.read(ask.host, context.top, cwd, home)
    )
