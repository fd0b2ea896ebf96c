"""Read and write the layouts of other memory systems.

`formats` reads statements. This module reads the other records (notes, scratch, tasks, ledgers,
handoffs, episodes, skills), and writes all of them.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping, Sequence

from ..archive import sql as archive_sql
from ..archive import steps_sessions as archive_steps_sessions
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..episodes import sql as episodes_sql
from ..episodes import steps as episodes_steps
from ..errors import Conflict
from ..fast_typing import NamedTuple
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_visible
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..providers import openai_chat
from ..storage.database import Tx
from ..text import addresses, display
from ..types.records import STATUSES_IN_USE, Json, Memory, Session
from ..work import records as work_records
from ..work import steps as work_steps
from ..work import steps_tasks as work_steps_tasks
from .formats import CLIO

_MOST = 100_000
ARTIFACTS = "plans/artifacts"


class SpaceRecords(NamedTuple):
    """The records of a space that other layouts can contain, by name."""

    memories: Sequence[Memory]
    notes: str = ""
    scratch: Mapping[str, str] = {}
    pages: Mapping[str, str] = {}
    """The pages of tasks, by `slug/page`."""
    ledgers: Mapping[str, Json] = {}
    handoffs: Mapping[str, Json] = {}
    episodes: Mapping[str, Json] = {}
    """By `day/id`."""
    skills: Mapping[str, str] = {}
    """The SKILL.md of procedures."""
    sessions: Mapping[str, Json] = {}


class ForeignRecord(NamedTuple):
    """A record of a file other than a statement. A page is named `slug/page`; the value of a
    session is the path of its file."""

    what: str
    name: str
    value: Json


_PLACES = (
    ("session", re.compile(r"(?:^|/)\.clio/sessions/([^/]+)\.json$")),
    ("scratch", re.compile(r"(?:^|/)\.clio/memory/([^/]+)\.(?:json|md)$")),
    ("index", re.compile(r"(?:^|/)(?:episodic|skills|ledgers|handoffs)/index\.json$")),
    ("episode", re.compile(r"(?:^|/)episodic/(?:[^/]+/)?([^/]+)\.json$")),
    ("ledger", re.compile(r"(?:^|/)ledgers/([^/]+)\.json$")),
    ("handoff", re.compile(r"(?:^|/)handoffs/([^/]+)\.json$")),
    ("skill", re.compile(r"(?:^|/)skills/([^/]+)(?:/SKILL)?\.md$")),
    ("page", re.compile(rf"(?:^|/){ARTIFACTS}/([^/]+/[^/]+(?:/[^/]+)?)\.md$")),
    ("notes", re.compile(r"(?:^|/)(NOTES)\.md$")),
)


def read_record(path: str, text: str) -> ForeignRecord | None:
    """Return the record of a file by its path; None for a file of statements. Raise ValueError for
    invalid JSON."""
    place = path.replace("\\", "/")
    for what, pattern in _PLACES:
        if found := pattern.search(place):
            name = found[1] if found.groups() else ""
            return ForeignRecord(what, name, _value(what, place, text))
    return None


def _value(what: str, place: str, text: str) -> Json:
    if what == "session":
        return place
    if not place.endswith(".json"):
        return text
    value = json.loads(text)
    if what == "scratch":
        content = value.get("content", value) if isinstance(value, dict) else value
        return content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    return value


# ---------------------------------------------------------------- writing


def _dump(value: Json) -> str:
    return json.dumps(value, ensure_ascii=False, indent=2) + "\n"


def _entry(one: Memory, text: str) -> dict[str, Json]:
    """Return a memory as an entry; `text` is the layout's name for its text."""
    return {
        "id": one.id,
        text: one.text,
        "kind": one.kind,
        "subject": one.subject,
        "confidence": one.confidence,
        "examples": list(one.examples),
        "citations": [str(cited.get("path", "")) for cited in one.citations],
        "reason": one.reason,
        "tags": list(one.tags),
        "scope": list(one.scope),
    }


def write_clio(records: SpaceRecords, now: str) -> dict[str, str]:
    """Return the files of `.clio/`: ltm.json, the session store, and the sessions."""
    lists: dict[str, list[Json]] = {name: [] for name in CLIO}
    names = {kind: name for name, kind in CLIO.items()}
    for one in records.memories:
        lists[names.get(one.kind, "discoveries")].append(_entry(one, "fact"))
    value = {"patterns": lists, "metadata": {"last_updated": now, "version": "1.0"}}
    return {
        ".clio/ltm.json": _dump(value),
        **{
            f".clio/memory/{key}.json": _dump({"key": key, "content": text})
            for key, text in records.scratch.items()
        },
        **{f".clio/sessions/{name}.json": _dump(one) for name, one in records.sessions.items()},
    }


_LOKI = {
    "pattern": ("patterns", "pattern"),
    "pitfall": ("anti-patterns", "what_fails"),
    "fact": ("facts", "fact"),
}
"""The file of a kind, and the name of its text; other kinds are facts."""


def write_loki(records: SpaceRecords, now: str) -> dict[str, str]:
    """Return the files of `.loki/memory/`."""
    place = ".loki/memory"
    lists: dict[str, list[Json]] = {stem: [] for stem, _ in _LOKI.values()}
    for one in records.memories:
        stem, name = _LOKI.get(one.kind, _LOKI["fact"])
        lists[stem].append(_entry(one, name))
    folders = {
        "semantic": lists,
        "episodic": records.episodes,
        "ledgers": records.ledgers,
        "handoffs": records.handoffs,
    }
    files = {
        f"{place}/{folder}/{name}.json": _dump(value)
        for folder, values in folders.items()
        for name, value in values.items()
    }
    return files | {f"{place}/skills/{name}.md": text for name, text in records.skills.items()}


def write_repo(records: SpaceRecords, now: str) -> dict[str, str]:
    """Return a file of /memories/repo for each memory, NOTES.md, and the pages of tasks."""
    files = {
        f"memories/repo/{one.id}.json": _dump(
            {**_entry(one, "fact"), "category": one.category or one.kind}
        )
        for one in records.memories
    }
    if records.notes:
        files["NOTES.md"] = records.notes
    return files | {f"{ARTIFACTS}/{name}": text for name, text in records.pages.items()}


def write_markdown(records: SpaceRecords, now: str) -> dict[str, str]:
    """Return MEMORY.md, the memories as list items by kind, and the skills."""
    by_kind: dict[str, list[str]] = {}
    for one in records.memories:
        where = f" (for {', '.join(one.scope)})" if one.scope else ""
        by_kind.setdefault(one.kind, []).append(f"- {' '.join(one.text.split())}{where}")
    parts = [f"## {kind}\n\n" + "\n".join(lines) for kind, lines in sorted(by_kind.items())]
    return {
        "MEMORY.md": "# Memory\n\n" + "\n\n".join(parts) + "\n",
        **{f"skills/{name}/SKILL.md": text for name, text in records.skills.items()},
    }


WRITERS = {
    "clio": write_clio,
    "loki": write_loki,
    "repo": write_repo,
    "markdown": write_markdown,
}


# ---------------------------------------------------------------- load_records and save


def load_records(tx: Tx, with_sessions: bool) -> SpaceRecords:
    """Return the records of a space; sessions only if the layout has them."""
    notes = documents_sql.get_document(tx, work_steps.NOTES)
    tasks = documents_sql.list_documents(tx, steps_visible.TASK, _MOST)
    sessions = archive_sql.latest_sessions(tx, _MOST) if with_sessions else []
    return SpaceRecords(
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
    stored = [archive_steps_sessions.stored_message(row) for row in rows]
    return {
        "session_id": session.id,
        "session_name": session.name,
        "working_directory": session.cwd,
        "created_at": display.format_time(session.created),
        "history": openai_chat.encode([one.message for one in stored]),
    }


def save(
    tx: Tx, record: ForeignRecord, origin: str, now: int, new_id: Callable[[str], str]
) -> bool:
    """Save a record; return whether it is new. An existing one is never overwritten."""
    if record.what == "skill":
        return _save_skill(tx, record, origin, now, new_id("p"))
    return record.what in _SAVERS and _SAVERS[record.what](tx, record, origin, now)


def _exists(tx: Tx, address: str, text: str) -> bool:
    """Check whether a document exists; raise Conflict if it has another text."""
    current = documents_sql.get_document(tx, address)
    if current and current.text.strip() != text.strip():
        raise Conflict("a different one exists already and was kept", where=address)
    return current is not None


def _save_scratch(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    key = addresses.slugify(given.name) if "." in given.name else given.name
    if _exists(tx, documents_steps.scratch_address(key), given.value):
        return False
    documents_steps.store_scratch(tx, key, given.value, origin, now)
    return True


def _save_notes(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    if _exists(tx, work_steps.NOTES, given.value):
        return False
    work_steps.write_notes(tx, given.value, origin, now)
    return True


def _save_page(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    slug, _, name = given.name.partition("/")
    page = f"{name}.md"
    address = work_steps_tasks.task_address(slug, page)
    if documents_sql.get_document(tx, work_steps_tasks.task_address(slug)) is None:
        work_steps_tasks.start_task(tx, slug.replace("-", " "), (), origin, now)
        # The pages of a new task are empty forms.
    elif _exists(tx, address, given.value):
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


def _save_ledger(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    agent = str(given.value.get("agent_id") or given.name)
    current = documents_sql.get_document(tx, f"memory://ledger/{addresses.check_key(agent)}")
    if current is None:
        work_steps.write_ledger(tx, agent, given.value, origin, now)
    return current is None


def _save_handoff(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    handoff = work_steps.check_handoff({"id": given.name, **given.value})
    current = documents_sql.get_document(tx, f"memory://handoff/{addresses.check_key(handoff.id)}")
    if current is None:
        work_steps.give_handoff(tx, handoff, work_records.TreeState(), handoff.id, origin, now)
    return current is None


def _save_episode(tx: Tx, given: ForeignRecord, origin: str, now: int) -> bool:
    row, redacted = episodes_steps.prepare_row(given.value, origin, origin, now)
    return episodes_steps.store_episode(tx, row, redacted).action == "created"


def _save_skill(tx: Tx, given: ForeignRecord, origin: str, now: int, id: str) -> bool:
    procedure = skills.from_skill_md(given.value)
    row = procedures_steps.prepare_row(procedure, origin, origin, now, id)
    current = procedures_sql.get_by_name(tx, row.name)
    procedures_steps.learn_procedure(tx, row)
    return current is None


_SAVERS: dict[str, Callable[..., bool]] = {
    "scratch": _save_scratch,
    "notes": _save_notes,
    "page": _save_page,
    "ledger": _save_ledger,
    "handoff": _save_handoff,
    "episode": _save_episode,
}
"""The function that saves each type of record; the index of a folder is not saved."""
