"""Results of tending memories and of briefings, as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..core import render
from ..types import Memory
from . import text


def _memory(memory: Memory) -> str:
    return "\n".join(text.memory_lines(memory))


def _history(versions: Sequence[Memory]) -> str:
    rows = (
        (
            str(item.revision),
            item.id,
            render.moment(item.valid_from)[:16],
            render.moment(item.valid_to)[:16] or "now",
            item.text,
        )
        for item in versions
    )
    return text.table(("VERSION", "ID", "FROM", "TO", "TEXT"), rows)


def _pruned(pruned: Any) -> str:
    if not pruned.memories:
        return "nothing to prune"
    done = "archived" if pruned.applied else "would be archived (say --apply to do it)"
    rows = ((item.id, item.reason) for item in pruned.memories)
    return f"{len(pruned.memories)} {done}:\n" + text.table(("ID", "WHY"), rows)


def _judged(judged: Any) -> str:
    memory = judged.memory
    return (
        f"noted: {memory.id} was {judged.verdict} "
        f"({memory.successes} times it helped, {memory.failures} times it did not)"
    )


SHOWN: dict[str, Callable[[Any], str]] = {
    "confirm": _memory,
    "correct": _memory,
    "remember": _memory,
    "archive": lambda memory: f"archived {memory.id}; `recollect restore {memory.id}` undoes it",
    "restore": _memory,
    "feedback": _judged,
    "prune": _pruned,
    "history": _history,
    "for-file": lambda found: text.show("list", found),
    "add-discovery": lambda learned: text.show("learn", learned),
    "add-solution": lambda learned: text.show("learn", learned),
    "add-pattern": lambda learned: text.show("learn", learned),
}
