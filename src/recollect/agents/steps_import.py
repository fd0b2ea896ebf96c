"""Steps of an import: statements that wait for a person, columns and links of sessions."""

from __future__ import annotations

from ..archive import sql as archive_sql
from ..links import sql as links_sql
from ..memory import steps as memory_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..types.records import Link, SafeText
from .transcripts.reader_io import SessionDetails


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


def session_columns(found: SessionDetails) -> dict[str, SafeText]:
    columns = ("name", "cwd", "branch", "agent")
    values = {column: getattr(found, column) for column in columns}
    return {column: redaction.redact(value) for column, value in values.items() if value}


def link_parent(tx: Tx, session: str, parent: str, now: int) -> None:
    """Link a subagent's or a fork's session to the one it was started from."""
    link = Link(
        source=f"session/{session}",
        relation="derived_from",
        target=f"session/{parent}",
        reason="",
        origin="system",
        at=now,
    )
    links_sql.put(tx, link, redaction.redact("came from this conversation"), now)


def mark_ended(tx: Tx, session: str) -> None:
    """Mark a session as ended; a new message makes it active again."""
    archive_sql.update_details(tx, session, {"status": redaction.redact("ended")})
