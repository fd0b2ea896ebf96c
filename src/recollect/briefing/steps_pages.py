"""The documents below `memory://root`: made from the store whenever they are read.

    memory://root                          what a session would start with
    memory://root/MEMORY.md                every memory in force, by kind
    memory://root/skills/<name>/SKILL.md   a procedure in use, as a skill

They are quoted like a briefing: what is not the user's own stays data.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..memory import sql as memory_sql
from ..memory import steps_visible as memory_steps_visible
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..storage.database import Tx
from ..text import addresses, display
from ..types.records import FOREVER, KINDS, Document, Memory
from . import rendering

MOST_MEMORIES = 1000


def memory_md(txs: Sequence[Tx]) -> str:
    """Every memory in force, by kind, newest first; without those of sessions, and of tasks that
    do not run."""
    own = memory_steps_visible.find_memory_owners(txs)
    held = [one for tx in txs for one in memory_sql.list_in_force(tx, MOST_MEMORIES + 1, own)]
    lines = ["# Memory", "", rendering.RULES]
    for kind in KINDS:
        inside = [_line(memory) for memory in held[:MOST_MEMORIES] if memory.kind == kind]
        lines += ["", f"## {kind.capitalize()}", "", *inside] if inside else []
    if len(held) > MOST_MEMORIES:
        lines += ["", "There are more; `recollect recall` finds them."]
    return "\n".join(lines) if held else ""


def _line(memory: Memory) -> str:
    return rendering.line(
        rendering.Item(
            id=memory.id,
            address=memory.address,
            layer=memory.layer,
            section="",
            kind=memory.kind,
            text=memory.text,
            label=memory.label,
            date=display.format_time(memory.valid_from)[:10],
            note=f"for {', '.join(memory.scope)}" if memory.scope else "",
        )
    )


def skill_md(txs: Sequence[Tx], name: str) -> str:
    """A procedure in use as a skill; one that waits for a person's word is none yet."""
    rows = [procedures_sql.get_by_name(tx, name) for tx in txs]
    used = [row for row in rows if row is not None and row.status == "active"]
    return skills.to_skill_md(procedures_steps.parse_row(used[0])) if used else ""


def document(address: addresses.Address, text: str) -> Document | None:
    """The text as a document at its address; none when there is nothing in it."""
    if not text:
        return None
    title = address.path.rpartition("/")[2] or "root"
    return Document(
        addresses.format_address(address),
        1,
        "root",
        title,
        text,
        {},
        "project",
        "",
        "active",
        "system",
        "system",
        (),
        0,
        FOREVER,
    )
