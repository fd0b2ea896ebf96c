"""Leave out of the answer to a prompt what the user says, replaces or takes back in that prompt."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence

from ..briefing import steps as briefing_steps
from ..briefing import steps_turn as briefing_steps_turn
from ..capture import steps as capture_steps
from ..memory import similarity
from ..memory.steps import PreparedMemory


def drop_replaced(
    start: briefing_steps.LoadedStart,
    statements: Sequence[PreparedMemory],
    known: Mapping[str, capture_steps.FoundBefore | None],
) -> briefing_steps.LoadedStart:
    """Leave out the rules that the user's statements take back, and the memories for the same
    files that they replace or contradict."""
    gone: set[tuple[str, tuple[str, ...]]] = set()
    withdrawn: set[str] = set()
    for item in statements:
        if item.row.status == "active" and (found := known.get(item.row.id)):
            scope = tuple(json.loads(item.row.scope))
            gone |= {(id, scope) for id in (found.around.revised, *found.around.opposite)}
            withdrawn.add(found.withdrawn)
    kept = tuple(
        one
        for one in start.material.memories
        if one.memory.id not in withdrawn and (one.memory.id, one.memory.scope) not in gone
    )
    return start._replace(material=start.material._replace(memories=kept))


def drop_stated(
    turn: briefing_steps_turn.LoadedTurn,
    statements: Sequence[PreparedMemory],
    known: Mapping[str, capture_steps.FoundBefore | None],
) -> briefing_steps_turn.LoadedTurn:
    """Leave out what the user's statements say, replace or take back."""
    stated = [("", str(item.row.text)) for item in statements if item.row.status == "active"]
    withdrawn = {found.withdrawn for found in known.values() if found}

    def is_news(text: str) -> bool:
        return not any(similarity.find_relation(("", text), one) for one in stated)

    if not stated:
        return turn
    return turn._replace(
        memories=tuple(
            one for one in turn.memories if one[0].id not in withdrawn and is_news(one[0].text)
        ),
        lines=tuple(one for one in turn.lines if is_news(one.text)),
    )
