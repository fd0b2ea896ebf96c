"""Find what belongs to an action of the agent: before a command, before an edit, after a failure.

Each is asked for at every call of a tool: with nothing to say it costs one or two indexed look-ups.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..lessons import steps_observed
from ..memory import sql as memory_sql
from ..memory import steps_layers as memory_steps_layers
from ..memory import steps_scope as memory_steps_scope
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import Json, Memory
from ..window import steps_contexts as window_steps_contexts
from . import command_rules, redundancy, selection, sql, wording
from .rendering import Item

COMMAND_RULES = "command rules"
"""The value in state that maps programs to the ids of rules that name them."""

MOST_RULES = 200
MOST_SCOPED = 20
EDIT_KINDS = ("policy", "preference", "architecture", "pitfall", "decision", "pattern", "solution")
_EDIT_RANK = {kind: place for place, kind in enumerate(EDIT_KINDS)}


def note_command_rules(tx: Tx, now: int) -> None:
    """Keep which programs the user's rules name, so that a command is looked up at once."""
    from ..secrets import redaction

    found = command_rules.programs_in(
        (memory.id, memory.text)
        for kind in selection.BASELINE
        for memory in memory_sql.strongest(tx, kind, MOST_RULES, ())
        if memory.label == "user"
    )
    text = json.dumps(found, sort_keys=True, ensure_ascii=False)
    if text != (storage_sql.get(tx, COMMAND_RULES) or "{}"):
        storage_sql.put(tx, COMMAND_RULES, redaction.safe(text), now)


def before_command(txs: Sequence[Tx], session: str, line: str, now: int) -> list[Item]:
    """Return the advice on a shell line that was not given in this context before."""
    if not txs:
        return []
    found = [wording.advice_line(one) for one in steps_observed.advice_for_command(
        txs[0], line, now=now)]  # fmt: skip
    found += [item for tx in txs for item in _rules_on(tx, line)]
    if not found:
        return []
    given = sql.shown_at(txs[0], session, "command", _since(txs, session))
    return [item for item in found if _key(item) not in given]


def _key(item: Item) -> str:
    return wording.command_ref(item.forms[0]) if item.forms else item.id


def _rules_on(tx: Tx, line: str) -> list[Item]:
    kept = storage_sql.get(tx, COMMAND_RULES)
    if not kept or kept == "{}":
        return []
    known: dict[str, list[str]] = json.loads(kept)
    words = [word for word in line.casefold().replace("/", " ").split() if word in known]
    if not words:
        return []
    from ..actions import shell

    ids = list(dict.fromkeys(id for word in words for id in known[word]))
    held = memory_sql.get_many(tx, ids)
    commands = [found for found, _ in shell.commands_of(shell.without_heredocs(line[:2_000]))]
    return [
        selection.item_of(memory, "")._replace(why="a rule of the user names this command")
        for memory in held.values()
        if not selection.why_never(memory)
        and any(command_rules.forbids(memory.text, command) for command in commands)
    ]


def _since(txs: Sequence[Tx], session: str) -> int:
    return window_steps_contexts.began(txs, session)


def applies_to_files(txs: Sequence[Tx], session: str, files: Sequence[str]) -> bool:
    """Check whether the scope of any memory that the session sees takes in one of the files."""
    own = memory_steps_layers.owners_of_memories(txs, session)
    return any(memory_steps_scope.applies(tx, files, own) for tx in txs)


def for_files(
    txs: Sequence[Tx], session: str, files: Sequence[str], said: redundancy.Instructions
) -> list[Memory]:
    """Return the rules, pitfalls and decisions that apply to files, not shown in this context."""
    own = memory_steps_layers.owners_of_memories(txs, session)
    found: dict[str, Memory] = {}
    for tx in txs:
        for path in files:
            for memory in memory_steps_scope.for_file(tx, path, MOST_SCOPED, own):
                found.setdefault(memory.id, memory)
    if not found:
        return []
    shown = window_steps_contexts.shown(txs, session) if session else set()
    kept = [
        memory
        for memory in found.values()
        if memory.id not in shown and not selection.why_never(memory, said)
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
            path, steps_observed.places_for_file(txs[0], path, now=now)
        )
    ]
    if not found:
        return []
    shown = window_steps_contexts.shown(txs, session)
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
    known = steps_observed.resolutions_for_failure(txs[0], tool, arguments, output, now=now)
    if not known:
        return []
    shown = window_steps_contexts.shown(txs, session)
    items = [wording.resolution_line(one) for one in known]
    return [item for item in items if item.address not in shown][:2]
