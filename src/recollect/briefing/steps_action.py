"""Find what belongs to an action of the agent: before a command, before an edit, after a failure.

Each is asked for at every call of a tool: with nothing to say it costs one or two indexed look-ups.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..actions import command_words
from ..lessons import steps_observed as lessons_steps_observed
from ..memory import sql as memory_sql
from ..memory import steps_visible as memory_steps_visible
from ..storage.database import Tx
from ..types.records import Json, Memory
from ..window import steps_contexts as window_steps_contexts
from . import command_rules, matching, selection, sql, wording
from .rendering import Item

MOST_RULES = 200
MOST_SCOPED = 20
EDIT_KINDS = ("policy", "preference", "architecture", "pitfall", "decision", "pattern", "solution")
_EDIT_RANK = {kind: place for place, kind in enumerate(EDIT_KINDS)}


def watched_programs(txs: Sequence[Tx], now: int) -> str:
    """Return the programs that there is something to say about: those of forms that fail and were
    replaced, and those that the user's rules name. A line each, with the ids of the rules."""
    watched: dict[str, list[str]] = {}
    for command in lessons_steps_observed.known_commands(txs[0], now=now) if txs else ():
        for form in command.replaces:
            watched.setdefault(form.split()[0].casefold(), [])
    for tx in txs:
        for kind in selection.BASELINE:
            for memory in memory_sql.list_strongest(tx, kind, MOST_RULES, ()):
                if memory.label == "user":
                    for program in command_rules.named_programs(memory.text):
                        watched.setdefault(program, []).append(memory.id)
    return command_rules.write_watched(watched)


def before_command(
    txs: Sequence[Tx], session: str, line: str, watched: str, now: int
) -> list[Item]:
    """Return the advice on a shell line that was not given in this context before."""
    if not txs:
        return []
    advice = lessons_steps_observed.advice_for_command(txs[0], line, now=now)
    found = [
        wording.advice_line(one) for one in advice if not command_words.suggests_danger(one.better)
    ]
    ids = command_rules.rules_on(watched, line)
    found += [item for tx in txs for item in _rules_on(tx, ids, line)] if ids else []
    if not found:
        return []
    since = window_steps_contexts.began(txs, session)
    given = sql.shown_at(txs[0], session, "command", since)
    return [item for item in found if item.id not in given]


def _rules_on(tx: Tx, ids: Sequence[str], line: str) -> list[Item]:
    from ..actions import shell

    held = memory_sql.get_many(tx, ids)
    commands = shell.command_words(line[:2_000])
    return [
        selection.item_of(memory, "")._replace(why="a rule of the user names this command")
        for memory in held.values()
        if not selection.why_never(memory)
        and any(command_rules.forbids(memory.text, command) for command in commands)
    ]


def applies_to_files(txs: Sequence[Tx], session: str, files: Sequence[str]) -> bool:
    """Check whether the scope of any memory that the session sees takes in one of the files."""
    own = memory_steps_visible.find_memory_owners(txs, session)
    return any(memory_steps_visible.any_applies(tx, files, own) for tx in txs)


def for_files(
    txs: Sequence[Tx], session: str, files: Sequence[str], instructions: matching.Instructions
) -> list[Memory]:
    """Return the rules, pitfalls and decisions that apply to files, not shown in this context."""
    own = memory_steps_visible.find_memory_owners(txs, session)
    found: dict[str, Memory] = {}
    for tx in txs:
        for path in files:
            for memory in memory_steps_visible.find_for_file(tx, path, MOST_SCOPED, own):
                found.setdefault(memory.id, memory)
    if not found:
        return []
    shown = window_steps_contexts.shown_ids(txs, session) if session else set()
    kept = [
        memory
        for memory in found.values()
        if memory.id not in shown and not selection.why_never(memory, instructions)
    ]
    return sorted(
        kept, key=lambda one: (one.label != "user", _EDIT_RANK.get(one.kind, 9), one.text)
    )


def places(txs: Sequence[Tx], session: str, files: Sequence[str], now: int) -> list[Item]:
    """Return the files that were changed together with these, where not shown before."""
    if not txs:
        return []
    found = [
        item
        for path in files
        for item in wording.place_lines(
            path, lessons_steps_observed.places_for_file(txs[0], path, now=now)
        )
    ]
    if not found:
        return []
    shown = window_steps_contexts.shown_ids(txs, session)
    return [item for item in found if item.address not in shown]


def after_failure(
    txs: Sequence[Tx],
    session: str,
    tool: str,
    arguments: Mapping[str, Json],
    output: str,
    now: int,
) -> list[Item]:
    """Return what resolved the same error before, the confirmed first, not shown yet."""
    if not txs:
        return []
    known = lessons_steps_observed.resolutions_for_failure(txs[0], tool, arguments, output, now=now)
    if not known:
        return []
    shown = window_steps_contexts.shown_ids(txs, session)
    items = [wording.resolution_line(one) for one in known]
    return [
        item
        for item in items
        if item.address not in shown and not command_words.suggests_danger(item.line)
    ][:2]
