"""The operation that shows a record, stored or made from the store (`memory://root`).

It is kept apart from `briefing.operations`, which every hook loads.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..context import Context
from ..memory import operations as memory_operations
from ..memory import sql as memory_sql
from ..memory import steps_visible as memory_steps_visible
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..recall import operations as recall_operations
from ..recall import steps_show as recall_steps_show
from ..storage.database import Tx
from ..text import addresses, display
from ..types.records import FOREVER, KINDS, Document, Memory
from . import operations, rendering

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


def make_document(address: addresses.Address, text: str) -> Document | None:
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


def show(context: Context, address: str) -> recall_steps_show.ShownRecord:
    """Show one memory, session, message or document in full.

    address: an id or a prefix of one, or a memory:// address

    Example: recollect show m-4k9w2c
    Example: recollect show memory://session/s-1/messages/10-20
    """
    if address.removeprefix("memory://").partition("/")[0] != "root":
        return recall_operations.show_record(context, address)
    memory_operations.write_recalls(context)
    place = recall_steps_show.parse_address(address)
    if not place.path:
        text = operations.make_briefing(context).text or "The start block is empty.\n"
    elif place.path == "MEMORY.md":
        text = context.read_both(memory_md)
    else:
        text = context.read_both(lambda txs: skill_md(txs, place.path.split("/")[1]))
    page = make_document(place, text)
    if page is None:
        raise recall_operations.record_not_found(address)
    return recall_steps_show.ShownRecord(document=page)
