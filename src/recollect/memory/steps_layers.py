"""Whose memories may be shown now: those of a session or task are shown there alone.

They end with it: a session that is ended and a task that is complete show theirs no more. Both
stay findable for whoever asks. An owner is written as `session/<id>` or `task/<slug>`.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..archive import sql as archive_sql
from ..documents import sql as documents_sql
from ..storage import sql as storage_sql
from ..storage.database import Tx
from . import sql

TASK = "task"
"""The type of the document that holds a task."""
COMPLETED = "completed"
"""The field of a task that says when it was completed."""
_MOST_TASKS = 1_000


def owners(txs: Sequence[Tx], session: str = "") -> tuple[str, ...]:
    """Return the session, if it is not ended, and the task that is worked on in it. The first
    space is the project's, which has both."""
    if not txs:
        return ()
    held = archive_sql.get(txs[0], session) if session else None
    talks = bool(session) and (held is None or held.status != "ended")
    task = running_task(txs[0], session)
    own = (f"session/{session}" if talks else "", f"task/{task}" if task else "")
    return tuple(filter(None, own))


def owners_of_memories(txs: Sequence[Tx], session: str = "") -> tuple[str, ...]:
    """Return the same, quickly where no memory is a session's or a task's."""
    return owners(txs, session) if txs and sql.any_owned(txs[0]) else ()


def work_on(tx: Tx, session: str, task: str, now: int) -> None:
    """Note which task a session works on."""
    from ..secrets import names, redaction

    name = names.checked_name(session, "session")
    storage_sql.put(tx, _key(name), redaction.safe(task), now)


def is_complete(tx: Tx, slug: str) -> bool:
    """Check whether there is a task of this name that is complete."""
    document = documents_sql.get(tx, f"memory://task/{slug}")
    return document is not None and bool(document.fields.get(COMPLETED))


def running_task(tx: Tx, session: str) -> str:
    """Return the task that a session works on: the one it said, or else the only one that runs."""
    held = documents_sql.listing(tx, TASK, _MOST_TASKS)
    running = [one.owner for one in held if not one.fields.get(COMPLETED)]
    said = storage_sql.get(tx, _key(session)) if session and running else None
    if said in running:
        return str(said)
    return running[0] if len(running) == 1 else ""


def _key(session: str) -> str:
    return f"task:{session}"
