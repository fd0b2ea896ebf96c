"""Prepare statements of imported conversations: which of them wait for a person, and since when."""

from __future__ import annotations

from ..memory import steps as memory_steps


def ask_from(statement: memory_steps.PreparedMemory, now: int) -> memory_steps.PreparedMemory:
    """Return a statement that waits for a person from now on: however old the conversation is, its
    time to be reviewed begins when it is imported."""
    if statement.row.status != "proposed":
        return statement
    row = statement.row._replace(first_seen=now, last_reinforced=now, last_confirmed=now)
    return statement._replace(row=row)


def quarantine(statement: memory_steps.PreparedMemory) -> memory_steps.PreparedMemory:
    """Return a statement of a file that anybody could have written: for a person to accept, in this
    project only. Found in the agent's own folder later, it is another statement."""
    row = statement.row._replace(
        origin="import", label="import", status="quarantined", layer="project", owner=""
    )
    return statement._replace(row=row, key=f"{statement.key}:import")
