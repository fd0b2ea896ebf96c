"""Find the memories that apply here: by session or task, and by file.

Memories of a session or task are shown only there, until it ends or is complete; recall finds them
always. An owner is written as `session/<id>` or `task/<slug>`.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..documents import sql as documents_sql
from ..storage import sql as storage_sql
from ..storage.database import Tx
from ..text import globs
from ..types.records import Memory
from . import sql, sql_lists

TASK = "task"
"""The type of the document that holds a task."""

COMPLETED = "completed"
"""The field of a task that says when it was completed."""

_MOST_TASKS = 1_000
_MOST_SCOPES = 50


def find_owners(txs: Sequence[Tx], session: str = "", *, owned: bool = False) -> tuple[str, ...]:
    """Return the session, if it is not ended, and the task that is worked on in it. The first
    space is the project's, which has both. With `owned`, only where a memory is a session's or a
    task's, which is quick."""
    if not txs:
        return ()
    found = sql.load_owners(txs[0], session, _key(session), _MOST_TASKS, owned=owned)
    if not found:
        return ()
    has_ended = any(what == "session" and status == "ended" for what, _, status in found)
    task = _pick_task(found, session)
    own = (
        f"session/{session}" if session and not has_ended else "",
        f"task/{task}" if task else "",
    )
    return tuple(filter(None, own))


def find_memory_owners(txs: Sequence[Tx], session: str = "") -> tuple[str, ...]:
    """Return the session and task whose memories apply; empty after one look-up where no memory
    belongs to any."""
    return find_owners(txs, session, owned=True)


def work_on(tx: Tx, session: str, task: str, now: int) -> None:
    """Note which task a session works on."""
    from ..secrets import redaction

    name = redaction.check_name(session, "session")
    storage_sql.set_value(tx, _key(name), redaction.redact(task), now)


def is_complete(tx: Tx, slug: str) -> bool:
    """Check whether there is a task of this name that is complete."""
    document = documents_sql.get_document(tx, f"memory://task/{slug}")
    return document is not None and bool(document.fields.get(COMPLETED))


def running_task(tx: Tx, session: str) -> str:
    """Return the task that a session works on: the chosen one, or else the only one that runs."""
    found = sql.load_owners(tx, session, _key(session), _MOST_TASKS, owned=False)
    return _pick_task(found, session)


def _pick_task(found: Sequence[tuple[str, str, str]], session: str) -> str:
    running = [
        name
        for what, name, fields in found
        if what == TASK and not json.loads(fields).get(COMPLETED)
    ]
    chosen = [name for what, name, _ in found if what == "chosen" and session]
    if chosen and chosen[0] in running:
        return chosen[0]
    return running[0] if len(running) == 1 else ""


def _key(session: str) -> str:
    return f"task:{session}"


def find_for_files(tx: Tx, paths: Sequence[str], limit: int, owners: Sequence[str]) -> list[Memory]:
    """Return the memories that these owners see and whose scope covers one of the paths, the most
    specific first, then the newest."""
    closeness: dict[str, int] = {}
    for scope in sql_lists.list_scopes(tx):
        patterns = json.loads(scope)
        fitting = [one for one in patterns if any(globs.matches(one, path) for path in paths)]
        if fitting:
            closeness[scope] = max(map(globs.specificity, fitting))
    nearest = sorted(closeness, key=lambda scope: (-closeness[scope], scope))[:_MOST_SCOPES]
    return sql_lists.list_in_scopes(tx, nearest, limit, owners)[:limit]
