"""Leave out what the model's context has already: lines shown, and what the user typed in it.

Passages that were shown in several sessions without effect are left out, too.
"""

from __future__ import annotations

from collections.abc import Sequence, Set

from ..injections import sql as injections_sql
from ..memory import lifecycle as memory_lifecycle
from ..memory import sql as memory_sql
from ..memory import steps_revisions as memory_steps_revisions
from ..storage.database import Tx
from ..types.records import Memory
from ..window import sql as window_sql
from . import matching, rendering, selection
from .rendering import Item, LeftOut

COOLDOWN_SESSIONS, COOLDOWN = 3, 7 * 86_400_000_000
"""A passage shown in so many sessions of the last week without effect is not shown."""

TYPED = "you typed it in this context"


def leave_out(
    memories: Sequence[Memory], in_summary: Set[str], session: str, since: int
) -> list[LeftOut]:
    """Return the memories that a start block does not need, with the reasons.

    in_summary: refs that memory_summary.md holds
    session: the session whose context goes on; empty for a new context
    since: when its context began
    """
    ids = {one.id for one in memories}
    found = []
    for one in memories:
        if one.id in in_summary:
            reason = rendering.IN_SUMMARY
        elif is_outdated(one, ids):
            reason = "you said otherwise later"
        elif session and memory_lifecycle.was_typed_in(one, session, since):
            reason = TYPED
        else:
            continue
        found.append(LeftOut(one.id, one.address, reason))
    return found


def is_outdated(memory: Memory, ids: Set[str]) -> bool:
    """Check whether one of these memories is a newer statement of the user that cannot hold
    together with this one."""
    return memory.detail.get(memory_steps_revisions.NEWER) in ids


def find_known(
    txs: Sequence[Tx],
    session: str,
    memories: Sequence[tuple[Memory, matching.Passage]],
    shown: Set[str],
    instructions: matching.Instructions,
) -> list[LeftOut]:
    """Return the memories that a prompt needs no line for, with the reasons."""
    since = window_sql.began(txs, session) if session and memories else 0
    found = []
    for memory, _ in memories:
        if memory.id in shown:
            reason = "shown in this context already"
        elif session and memory_lifecycle.was_typed_in(memory, session, since):
            reason = TYPED
        else:
            reason = selection.why_excluded(memory, instructions)
        if reason:
            found.append(LeftOut(memory.id, memory.address, reason))
    return found


def drop_repeated(
    txs: Sequence[Tx], lines: Sequence[tuple[float, Item]], shown: Set[str], now: int
) -> tuple[list[Item], list[LeftOut]]:
    """Return the passages, best first, without those that this context has, that a memory in it
    says, or that were shown in several sessions without effect."""
    if not lines:
        return [], []
    ordered = [item for _, item in sorted(lines, key=lambda one: (-one[0], one[1].text))]
    refs = [item.address for item in ordered]
    ineffective = injections_sql.find_ineffective(txs[0], refs, now - COOLDOWN, COOLDOWN_SESSIONS)
    ids = [id for id in shown if id.startswith("m-")]
    texts = [memory.text for tx in txs for memory in memory_sql.get_many(tx, ids).values()]
    kept, dropped = [], []
    for item in ordered:
        if item.address in shown:
            reason = "shown in this context already"
        elif item.address in ineffective:
            reason = "shown in three sessions without effect"
        elif matching.is_alike(item.text, texts):
            reason = "a memory that is shown says it"
        else:
            kept.append(item)
            continue
        dropped.append(LeftOut(item.id, item.address, reason))
    return kept, dropped
