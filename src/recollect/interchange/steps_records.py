"""Gather what a space holds for another layout, and save the records of one."""

from __future__ import annotations

import json
from collections.abc import Callable

from ..archive import sql as archive_sql
from ..archive import steps as archive_steps
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..errors import Conflict
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_visible
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..providers import openai_chat
from ..storage.database import Tx
from ..text import addresses, display
from ..types.records import STATUSES_IN_USE, Json, Session
from ..work import ledgers
from ..work import steps as work_steps
from ..work import steps_tasks as work_steps_tasks
from .layouts import ForeignRecord, Holdings

_MOST = 100_000


def gather(tx: Tx, with_sessions: bool) -> Holdings:
    """Return the records of a space; conversations only if the layout has a place for them."""
    notes = documents_sql.get_document(tx, work_steps.NOTES)
    tasks = documents_sql.list_documents(tx, steps_visible.TASK, _MOST)
    sessions = archive_sql.latest_sessions(tx, _MOST) if with_sessions else []
    return Holdings(
        memories=memory_sql_lists.list_open(tx, {"status": "active"}, _MOST),
        notes=notes.text if notes else "",
        scratch={one.title: one.text for one in documents_steps.list_scratch(tx, _MOST)},
        pages={
            f"{task.owner}/{page.title}": page.text
            for task in tasks
            for page in work_steps_tasks.list_pages(tx, task.owner)
        },
        ledgers={
            one.owner: one.fields for one in documents_sql.list_documents(tx, "ledger", _MOST)
        },
        handoffs={
            one.address.rpartition("/")[2]: one.fields
            for one in documents_sql.list_documents(tx, "handoff", _MOST)
        },
        episodes={
            f"{display.format_time(row.at)[:10]}/{row.id}": {
                "id": row.id,
                "timestamp": display.format_time(row.at),
                **json.loads(row.body),
            }
            for row in episodes_sql.list_episodes(tx, {"status": "active"}, _MOST)
        },
        skills={
            row.name: skills.to_skill_md(procedures_steps.parse_row(row))
            for row in procedures_sql.list_open(tx, _MOST)
            if row.status in STATUSES_IN_USE
        },
        sessions={one.id: _export_session(tx, one) for one in sessions},
    )


def _export_session(tx: Tx, session: Session) -> Json:
    """Return a session as CLIO writes it."""
    rows = archive_sql.messages(tx, session.id, 1, session.messages, _MOST)
    stored = [archive_steps.stored_message(row) for row in rows]
    return {
        "session_id": session.id,
        "session_name": session.name,
        "working_directory": session.cwd,
        "created_at": display.format_time(session.created),
        "history": openai_chat.encode([one.message for one in stored]),
    }


NewId = Callable[[str], str]


def save(
    tx: Tx, record: ForeignRecord, origin: str, now: int, new_id: Callable[[str], str]
) -> bool:
    """Save a record; return whether it is new. What is here already is never overwritten."""
    return _SAVERS[record.what](tx, record, origin, now, new_id)


def _is_there(tx: Tx, address: str, text: str) -> bool:
    """Check whether a document is here already; raise Conflict if it says something else."""
    held = documents_sql.get_document(tx, address)
    if held and held.text.strip() != text.strip():
        raise Conflict("another one is here already, and stays", where=address)
    return held is not None


def _save_scratch(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    key = addresses.slugify(given.name) if "." in given.name else given.name
    if _is_there(tx, documents_steps.scratch_address(key), given.value):
        return False
    documents_steps.store_scratch(tx, key, given.value, origin, now)
    return True


def _save_notes(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    if _is_there(tx, work_steps.NOTES, given.value):
        return False
    work_steps.write_notes(tx, given.value, origin, now)
    return True


def _save_page(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    slug, _, name = given.name.partition("/")
    page = f"{name}.md"
    address = work_steps_tasks.task_address(slug, page)
    if documents_sql.get_document(tx, work_steps_tasks.task_address(slug)) is None:
        work_steps_tasks.start_task(tx, slug.replace("-", " "), (), origin, now)
        # The pages of a new task are empty forms.
    elif _is_there(tx, address, given.value):
        return False
    new = documents_steps.NewDocument(
        address=address,
        type=work_steps_tasks.PAGE_TYPE,
        title=page,
        text=given.value,
        layer="task",
        owner=slug,
    )
    work_steps.write_document(tx, new, origin, now)
    return True


def _save_ledger(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    agent = str(given.value.get("agent_id") or given.name)
    address = f"memory://ledger/{addresses.check_key(agent)}"
    held = documents_sql.get_document(tx, address)
    if held is None:
        work_steps.write_ledger(tx, agent, given.value, origin, now)
    return held is None


def _save_handoff(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    handoff = work_steps.check_handoff({"id": given.name, **given.value})
    held = documents_sql.get_document(tx, f"memory://handoff/{addresses.check_key(handoff.id)}")
    if held is None:
        work_steps.give_handoff(tx, handoff, ledgers.TreeState(), handoff.id, origin, now)
    return held is None


def _save_episode(tx: Tx, given: ForeignRecord, origin: str, now: int, _: object) -> bool:
    row, redacted = episodes_steps.prepare_row(given.value, origin, origin, now)
    return episodes_steps.keep(tx, row, redacted).action == "created"


def _save_skill(tx: Tx, given: ForeignRecord, origin: str, now: int, new_id: NewId) -> bool:
    procedure = skills.from_skill_md(given.value)
    row = procedures_steps.prepare_row(procedure, origin, origin, now, new_id("p"))
    held = procedures_sql.get_by_name(tx, row.name)
    procedures_steps.learn_procedure(tx, row)
    return held is None


def _skip(*_: object) -> bool:
    return False


_SAVERS: dict[str, Callable[..., bool]] = {
    "scratch": _save_scratch,
    "notes": _save_notes,
    "page": _save_page,
    "ledger": _save_ledger,
    "handoff": _save_handoff,
    "episode": _save_episode,
    "skill": _save_skill,
    "index": _skip,
}
