"""Take back the rule of the user that a sentence of theirs names."""

from __future__ import annotations

from ..memory import sql as memory_sql
from ..memory import steps as memory_steps
from ..memory import steps_lifecycle as memory_steps_lifecycle
from ..memory import steps_neighbours as memory_steps_neighbours
from ..secrets import redaction
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..types.records import Learned
from . import withdrawals
from .statements import Withdrawal

_RULE_KINDS = ("policy", "preference", "decision", "pattern", "workflow", "architecture")


def find_rule(tx: Tx, row: memory_sql.MemoryRow, named: Withdrawal) -> str:
    """Return the id of the one rule of the user that a statement takes back; empty without one."""
    words = row._replace(text=redaction.redact(named.words), subject=redaction.redact(""))
    rules = [
        one
        for one in memory_steps_neighbours.find_statements(tx, words)
        if (one.label, one.status, one.owner) == ("user", "active", row.owner)
        and one.kind in _RULE_KINDS
    ]
    number = withdrawals.pick_named(named, [one.text for one in rules])
    return rules[number].id if number >= 0 else ""


def withdraw(tx: Tx, item: memory_steps.PreparedMemory, withdrawn: str, now: int) -> list[Learned]:
    """Hide a rule that was stated before it was taken back; `withdrawn` is its id, or empty."""
    memory = memory_sql.get(tx, withdrawn, lock=True) if withdrawn else None
    if memory is None or memory.status != "active" or memory.last_confirmed > item.row.first_seen:
        return []
    memory_steps_lifecycle.hide_all(tx, [memory], now)
    storage_sql.record_write(tx, f"learn {item.key}", "learn", memory.id, now, item.row.text)
    return [Learned(memory.id, memory.address, "withdrawn", memory._replace(status="hidden"))]
