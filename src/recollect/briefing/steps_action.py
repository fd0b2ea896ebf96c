"""Find the memories for an action of the agent: before a command, before an edit, after a failure.
Decide which commands the start block may show.

This runs at every tool call: if nothing matches, it costs one or two indexed look-ups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..actions import command_words
from ..fast_typing import TYPE_CHECKING, NamedTuple
from ..freshness import steps as freshness_steps
from ..injections import sql as injections_sql
from ..lessons import findings
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import sql as memory_sql
from ..memory import steps_visible as memory_steps_visible
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import Json, Memory
from ..window import sql as window_sql
from . import (
    command_rules,
    matching,
    rendering,
    selection,
    sql,
    steps_follow_up,
    steps_known,
    wording,
)
from .rendering import Item, LeftOut

if TYPE_CHECKING:
    from ..lessons.findings import KnownCommand

MOST_SCOPED = 20
MOST_PARTS = 100
MOST_PART_COMMANDS = 2
_NOT_CHECKS = ("run", "install", "")
"""Purposes of commands that do not check a change."""

EDIT_KINDS = ("policy", "preference", "architecture", "pitfall", "decision", "pattern", "solution")
_EDIT_RANK = {kind: place for place, kind in enumerate(EDIT_KINDS)}


def watched_programs(memories: Sequence[Memory], replaced: Sequence[str]) -> str:
    """Return the programs to look for before a command runs, as `command_rules.write_watched` does:
    those of commands that were replaced, and those that the user's rules name."""
    watched: dict[str, list[str]] = {form.split()[0].casefold(): [] for form in replaced}
    for memory in memories:
        if selection.is_rule(memory) or is_ban(memory):
            for program in command_rules.named_programs(memory.text):
                watched.setdefault(program, []).append(memory.id)
    return command_rules.write_watched(watched)


def is_ban(memory: Memory) -> bool:
    """Check whether the user says that a program is not to be used, also in a statement of another
    kind: "we use poetry, never pip"."""
    return memory.label == "user" and command_rules.bans_program(memory.text)


def usable_commands(
    txs: Sequence[Tx],
    known: Sequence[KnownCommand],
    instructions: matching.Instructions,
    in_summary: frozenset[str],
    rules: Sequence[Memory],
) -> tuple[list[KnownCommand], list[LeftOut]]:
    """Return the commands that may be shown, and the others with the reasons.

    in_summary: refs that memory_summary.md holds
    rules: what the user states; a command that it forbids is not shown
    """
    from ..actions import shell

    ids = {one.id for one in rules} if known else set()
    in_force = [one for one in rules if known and not steps_known.is_outdated(one, ids)]
    bans = [one for one in in_force if not one.scope and is_ban(one)]
    refs = [wording.command_ref(one.form) for one in known]
    tried = injections_sql.list_outcomes(txs[0], refs) if refs else {}
    commands: list[KnownCommand] = []
    left_out: list[LeftOut] = []
    for one, ref in zip(known, refs, strict=True):
        reason = one.retired or (rendering.IN_SUMMARY if ref in in_summary else "")
        if not reason and command_words.suggests_danger(one.form):
            reason = "only the user may suggest it"
        if not reason and bans:
            run = shell.command_words(one.form)
            forbidding = (
                ban.id
                for ban in bans
                if any(command_rules.forbids(ban.text, words) for words in run)
            )
            reason = f"{id} forbids it" if (id := next(forbidding, "")) else ""
        if not reason and (file := instructions.find_command(one.form)):
            reason = f"{file} says it already"
        tries = steps_follow_up.TRIES if one.sessions_succeeded > 1 else steps_follow_up.FEW_TRIES
        if not reason and steps_follow_up.is_idle(tried.get(ref, ()), tries):
            reason = f"shown {tries} times where it fitted, without effect"
        if reason:
            left_out.append(LeftOut(one.form, ref, reason))
        else:
            commands.append(one)
    return commands, left_out


def part_commands(commands: Sequence[KnownCommand]) -> list[Json]:
    """Return the commands for a part of the project as JSON: they are shown when a file of that
    part is changed."""
    return [
        [
            list(one.parts),
            one.form,
            one.purpose,
            one.sessions_succeeded,
            one.last_success,
            one.folder,
            one.below,
            one.with_argument,
        ]
        for one in commands
        if one.parts
    ][:MOST_PARTS]


def before_command(txs: Sequence[Tx], session: str, line: str, watched: str) -> list[Item]:
    """Return the advice on a shell line, without advice that this context was given before."""
    if not txs:
        return []
    advice = lessons_steps_observed.advice_for_command(txs[0], line)
    found = [
        wording.advice_line(one) for one in advice if not command_words.suggests_danger(one.better)
    ]
    ids = command_rules.find_rule_ids(watched, line)
    found += [item for tx in txs for item in _load_rules(tx, ids, line)] if ids else []
    if not found:
        return []
    since = window_sql.began(txs, session)
    given = injections_sql.list_refs(txs[0], session, since, "command")
    return [item for item in found if item.id not in given]


def _load_rules(tx: Tx, ids: Sequence[str], line: str) -> list[Item]:
    from ..actions import shell

    # The oldest first; rules that do not fit are shown before the next such command.
    rules = sorted(memory_sql.get_many(tx, ids).values(), key=lambda one: one.first_seen)
    commands = shell.command_words(line[:2_000])
    return [
        selection.memory_item(rule, "")._replace(why="a rule of the user names this command")
        for rule in rules
        if not selection.why_excluded(rule)
        and any(command_rules.applies(rule.text, command) for command in commands)
    ]


class LoadedEdit(NamedTuple):
    """The new material for files about to be changed: memories, whose claims are still to be
    checked against the code, and finished lines."""

    memories: tuple[Memory, ...] = ()
    lines: tuple[Item, ...] = ()
    checks: freshness_steps.LoadedChecks | None = None


def load_edit(
    txs: Sequence[Tx], session: str, files: Sequence[str], changed: freshness_steps.FindChanged
) -> LoadedEdit:
    """Return the rules, pitfalls and decisions that apply to files, the files that were changed
    together with them, and the commands of their part of the project."""
    if not txs:
        return LoadedEdit()
    own = memory_steps_visible.find_memory_owners(txs, session)
    found: dict[str, Memory] = {}
    for tx in txs:
        for memory in memory_steps_visible.find_for_files(tx, files, MOST_SCOPED, own):
            found.setdefault(memory.id, memory)
    places = [
        item
        for path in files
        for item in wording.place_lines(path, lessons_steps_observed.places_for_file(txs[0], path))
    ]
    commands = _commands_of_parts(txs[0], files)
    if not found and not places and not commands:
        return LoadedEdit()
    shown = window_sql.shown_ids(txs, session) if session else set()
    new = [one for one in commands if wording.command_ref(one.form) not in shown]
    if new and session:
        # The commands of a part are shown once.
        earlier = injections_sql.list_refs(txs[0], session, window_sql.began(txs, session), "edit")
        if any(wording.command_ref(one.form) in earlier for one in commands):
            new = []
    kept = [memory for memory in found.values() if memory.id not in shown]
    kept.sort(key=lambda one: (one.label != "user", _EDIT_RANK.get(one.kind, 9), one.text))
    lines = [item for item in places if item.address not in shown]
    ids = [memory.id for memory in kept if memory.layer != "user"]
    checks = freshness_steps.load_checks(txs[0], ids, changed) if ids else None
    lines += wording.command_lines(new[:MOST_PART_COMMANDS])[:1]
    return LoadedEdit(tuple(kept), tuple(lines), checks)


def _commands_of_parts(tx: Tx, files: Sequence[str]) -> list[KnownCommand]:
    """Return the commands for the folders of these files: checks first, then by the number of
    sessions that they worked in."""
    prepared = sql.get_prepared(tx, sql.PART_COMMANDS)
    if not prepared:
        return []
    folders = {part for path in files for part in path.split("/")[:-1]}
    found = [
        findings.KnownCommand(
            form=form,
            purpose=purpose,
            sessions_succeeded=sessions,
            sessions_failed=0,
            last_success=last,
            folder="".join(where[:1]),
            below="".join(where[1:2]),
            with_argument=any(where[2:]),
        )
        for parts, form, purpose, sessions, last, *where in json.loads(prepared)
        if any(
            part in folders or any(f"{path}/".startswith(f"{part}/") for path in files)
            for part in parts
        )
    ]
    if not found:
        return []
    cleared = storage_sql.cleared_at(storage_sql.get_value(tx, storage_sql.CLEARED))
    known = [one for one in found if one.last_success > cleared]
    return sorted(
        known,
        key=lambda one: (
            one.purpose in _NOT_CHECKS,
            -one.sessions_succeeded,
            -one.last_success,
            one.form,
        ),
    )


def after_failure(
    txs: Sequence[Tx], session: str, arguments: Mapping[str, Json], output: str
) -> list[Item]:
    """Return up to two earlier resolutions of the same error that were not shown yet."""
    if not txs:
        return []
    known = lessons_steps_observed.resolutions_for_failure(txs[0], arguments, output)
    if not known:
        return []
    shown = window_sql.shown_ids(txs, session)
    items = wording.resolution_lines(known)
    return [
        item
        for item in items
        if item.address not in shown and not command_words.suggests_danger(item.line)
    ][:2]
