"""Operations on work memory: notes, continuity, promotion, audit, events and scratch."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

from ..context import Context, new_id
from ..documents import sql as documents_sql
from ..documents import steps as documents_steps
from ..documents import user_files_io
from ..errors import InvalidInput
from ..freshness import steps as freshness_steps
from ..memory import operations as memory_operations
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps_visible as memory_steps_visible
from ..project import make_folder, write_private
from ..recall import operations as recall_operations
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import Document, Hit, Json
from ..undo import steps as undo_steps
from . import notes as work_notes
from . import operations_tasks, steps, steps_tasks

if TYPE_CHECKING:
    from .audit import Audit
    from .notes import EventRule


_MOST_NAMED = 5
_ALL = 10_000


class Continuity(NamedTuple):
    """CONTINUITY.md as written; `edited` is true if the file had been edited. Edits are kept."""

    text: str
    path: str
    ids: tuple[str, ...]
    edited: bool = False


class EventResult(NamedTuple):
    """The rule of an event, the pages that were read (address and text), and the addresses that
    were written."""

    event: str
    rule: EventRule
    read: tuple[tuple[str, str], ...]
    written: tuple[str, ...]


def show_notes(context: Context) -> steps.ShownNotes:
    """Show the active objective: NOTES.md, read again if it was edited.

    Example: recollect notes show
    """
    path = _file_path(context, "NOTES.md")
    on_file = user_files_io.read_own(path)
    text, edited = context.project_space.read(lambda tx: steps.read_notes(tx, on_file))
    if edited:
        now = context.clock()
        # Anyone may have edited the file: it is trusted as tool output.
        context.project_space.write(lambda tx: steps.write_notes(tx, text, "tool", now))
    elif on_file not in (None, text):
        render_notes(context)
    shown = steps.show_notes(text, path, edited)
    unseen = context.project_space.read(
        lambda tx: steps.why_unseen(tx, documents_sql.get_document(tx, steps.NOTES))
    )
    return shown._replace(unseen=unseen)


def _active_notes(context: Context) -> steps.ShownNotes:
    """Return the notes; empty if their objective is a completed task."""
    shown = show_notes(context)
    done = context.project_space.read(lambda tx: steps.is_objective_complete(tx, shown.notes))
    return steps.show_notes("", shown.path, False) if done else shown


def set_notes(
    context: Context,
    objective: str = "",
    phase: str = "",
    blockers: Sequence[str] = (),
    pending: Sequence[str] = (),
) -> steps.ShownNotes:
    """Write NOTES.md; parts that are not given stay as they are.

    objective: the current work; another one removes the phase, blockers and pending steps of the
        old one, `none` all of them
    phase: its phase
    blockers: a blocker (repeat for several); `none` removes all
    pending: a next step (repeat for several); `none` removes all

    Example: recollect notes set "Add login" --phase design --pending "choose a library"
    """
    old = show_notes(context).notes
    new = steps.change_notes(old, objective, phase, blockers, pending)
    return _write_notes(context, work_notes.render_notes(new))


def prune_notes(context: Context, task: Mapping[str, Json], finished: str) -> None:
    """Remove the settled items of a finished phase from NOTES.md, if the notes are about its
    task."""
    old = show_notes(context).notes
    if not old.objective or addresses.slugify(old.objective) not in (
        task["slug"],
        addresses.slugify(str(task["title"])),
    ):
        return
    phases = task.get("phases", ())
    following = next((one["name"] for one in phases if one.get("state") != "done"), "")
    revisions = task.get("revisions", ())
    settled = revisions[-1].get("verified", ()) if revisions else ()
    new = work_notes.prune_notes(old, finished, str(following), [str(one) for one in settled])
    if new != old:
        _write_notes(context, work_notes.render_notes(new))


_TODO = "todo"


def list_todos(
    context: Context, add: Sequence[str] = (), done: Sequence[str] = (), session: str = ""
) -> Document:
    """Show the todo list of the session, add to it, or tick items off.

    It is the scratch note `todo` (`todo:SESSION` for a named session), and ends with the session.

    add: a new item (repeat for several)
    done: a finished item: its number or its words (repeat for several)
    session: the session, if several work at once

    Example: recollect todo --add "write the test" --add "run the linters"
    Example: recollect todo --done 1
    """
    if " " in session:
        raise InvalidInput(
            f"{session!r} is not a session",
            where="session",
            hint=f'add it to the list: recollect todo --add "{session}"',
        )
    name = f"{_TODO}:{session}" if session else _TODO
    document = context.project_space.read(lambda tx: documents_steps.find_scratch(tx, name))
    items = work_notes.parse_todos(document.text if document else "")
    new = work_notes.change_todos(items, add, done)
    if new != items:
        return store_scratch(context, name, work_notes.render_todos(new))
    return document or documents_steps.blank_scratch(name)


def _write_notes(context: Context, text: str) -> steps.ShownNotes:
    document = undo_steps.write_undoable(
        context,
        "changed the notes",
        undo_steps.Watched("documents", "address", steps.NOTES),
        lambda tx, now: steps.write_notes(tx, text, context.origin, now),
    )
    path = _file_path(context, "NOTES.md")
    _write_file(context, path, document.text)
    return steps.show_notes(document.text, path, False)


def render_notes(context: Context) -> None:
    """Write NOTES.md again after an undo; without notes, remove the file."""
    path = _file_path(context, "NOTES.md")
    text, _ = context.project_space.read(lambda tx: steps.read_notes(tx, None))
    if text:
        _write_file(context, path, text)
    elif path and os.path.lexists(path):
        os.unlink(path)


def lint_notes(context: Context, path: str = "") -> steps.ShownNotes:
    """Check NOTES.md against its rules, with line numbers and advice.

    path: another file to check

    Example: recollect notes lint
    """
    if not path:
        return show_notes(context)
    text = user_files_io.read_own(os.path.abspath(os.path.expanduser(path)))
    if text is None:
        raise InvalidInput("the file cannot be read", where=path)
    return steps.show_notes(text, path, False)


def show_continuity(context: Context, doing: str = "") -> Continuity:
    """Write CONTINUITY.md: the current work and relevant memories.

    doing: the current work; by default that of the edited file, or the objective of the notes

    Example: recollect continuity "fixing the login test"
    """
    path = _file_path(context, "CONTINUITY.md")
    on_file = user_files_io.read_own(path)
    edited = context.project_space.read(lambda tx: steps.is_continuity_edited(tx, on_file))
    by_hand = documents_steps.parse_continuity(on_file or "")
    words = doing or (by_hand.doing if edited else "")
    if not words:
        notes = _active_notes(context).notes
        phase = f" ({notes.phase})" if notes.phase else ""
        words = f"{notes.objective}{phase}" if notes.objective else ""
    hits = recall_operations.recall_unprompted(context, words, 20) if words else ()
    known = [hit for hit in hits if hit.id.startswith(("m-", "e-", "p-"))]
    avoid = [hit for hit in known if hit.kind == "pitfall"][:_MOST_NAMED]
    relevant = [hit for hit in known if hit.kind != "pitfall"][:_MOST_NAMED]
    text = documents_steps.render_continuity(
        words, _make_references(relevant), _make_references(avoid), by_hand
    )
    now = context.clock()
    new = documents_steps.NewDocument(steps.CONTINUITY, "continuity", "Continuity", text)
    # Anyone may have edited the file: its lines are trusted as tool output.
    label = "tool" if edited or any(by_hand[1:]) else context.origin
    label = trust.least_trusted((label, *(hit.trust for hit in (*relevant, *avoid))))
    document = context.project_space.write(
        lambda tx: steps.write_document(tx, new, context.origin, now, label)
    )
    _write_file(context, path, document.text)
    return Continuity(document.text, path, documents_steps.find_references(document.text), edited)


def _file_path(context: Context, name: str) -> str:
    """Return the path of a rendered file; empty if nothing may be written to disk."""
    private = context.settings.mode == "incognito"
    return "" if private else os.path.join(context.project.folder, name)


def _write_file(context: Context, path: str, text: str) -> None:
    if path:
        make_folder(context.project.folder)
        write_private(path, text)


def promote(context: Context, owner: str, dry_run: bool = False) -> steps_tasks.Promoted:
    """Promote durable notes of a task or session to project memories.

    owner: the task or session of the notes
    dry_run: change nothing, show the decisions and their reasons

    Example: recollect promote feature-x --dry-run
    """
    now = context.clock()

    def work(tx: Tx) -> steps_tasks.Promoted:
        return steps_tasks.promote_notes(tx, owner, not dry_run, context.origin, now, new_id)

    return context.project_space.read(work) if dry_run else context.project_space.write(work)


def audit_memory(context: Context) -> Audit:
    """Report duplicates, contradictions, stale citations and unused memories.

    Example: recollect audit
    """
    memory_operations.write_recalls(context)
    known = context.project_space.read(memory_sql_lists.list_open_ids)
    fresh = freshness_steps.check_freshness(context, known)
    stale = {
        id: [f"{one.state} {one.moved_to}".strip()]
        for id, one in fresh.items()
        if one.state not in ("fresh", "unverifiable")
    }
    notes, now = show_notes(context).text, context.clock()
    return context.project_space.read(lambda tx: steps.audit_memories(tx, now, stale, notes))


def handle_event(
    context: Context, name: str, task: str = "", session: str = "", agent: str = ""
) -> EventResult:
    """Apply the work memory rules of an event; report what was read and written.

    name: context start, phase start, phase end, task complete or conversation end
    task: the task
    session: the session, for its notes
    agent: the agent that reports the event

    Example: recollect event "phase end" --task feature-x
    """
    rule = work_notes.rule_for_event(name)
    needs = ("phase start", "phase end", "task complete")
    if rule.event in needs and not task:
        raise InvalidInput(f"{rule.event} needs a task", where="task")
    read, written = _EVENTS[rule.event](context, task, session)
    now, id = context.clock(), new_id("ev")
    payload = {"read": [place for place, _ in read], "written": list(written)}

    def work(tx: Tx) -> None:
        steps_tasks.log_event(tx, id, task, rule.event, payload, agent, now)
        if task and session:
            memory_steps_visible.work_on(tx, session, task, now)

    context.project_space.write(work)
    return EventResult(rule.event, rule, tuple(read), tuple(written))


def _on_context_start(context: Context, task: str, session: str) -> _EventResult:
    read = [("memory://notes", _active_notes(context).text)]
    key = _session_key(session)
    found = [one for one in list_scratch(context, _ALL) if one.title == key]
    read += [(one.address, one.text) for one in found]
    return read + (_read_pages(context, task) if task else []), []


def _on_phase_start(context: Context, task: str, session: str) -> _EventResult:
    key = _session_key(session)
    text, now = work_notes.render_session_notes(task), context.clock()

    def begin(tx: Tx) -> list[str]:
        if documents_steps.find_scratch(tx, key):
            return []
        return [documents_steps.store_scratch(tx, key, text, context.origin, now).address]

    written = context.project_space.write(begin)
    return _read_pages(context, task), [*written, *_promote_notes(context, task)]


def _on_phase_end(context: Context, task: str, session: str) -> _EventResult:
    now = context.clock()
    shown = operations_tasks.show_task(context, task)
    done = [one for one in shown.task.get("phases", ()) if one.get("state") == "done"]
    phase = shown.phase or (done[-1]["name"] if done else "")
    # Write the notes first: if they are refused, nothing else is written.
    set_notes(context, shown.title, phase=shown.phase or "between phases")
    context.project_space.write(
        lambda tx: steps_tasks.write_report(tx, task, phase, context.origin, now)
    )
    page = steps_tasks.report_page(phase)
    return [], [steps_tasks.task_address(task, page), "memory://notes"]


def _on_task_complete(context: Context, task: str, session: str) -> _EventResult:
    return [], _promote_notes(context, task)


def _on_conversation_end(context: Context, task: str, session: str) -> _EventResult:
    now = context.clock()
    lead = f"{session}:" if session else ""
    mine = [one for one in list_scratch(context, _ALL) if one.title.startswith(lead)]
    for one in mine:
        context.project_space.write(partial(documents_steps.delete_scratch, key=one.title, now=now))
    return [], [one.address for one in mine]


def _read_pages(context: Context, task: str) -> list[tuple[str, str]]:
    found = context.project_space.read(lambda tx: steps_tasks.list_pages(tx, task))
    return [(one.address, one.text) for one in found]


def _promote_notes(context: Context, task: str) -> list[str]:
    return [f"memory://{one.promoted}" for one in promote(context, task).notes if one.promoted]


_EventResult = tuple[list[tuple[str, str]], list[str]]
"""The pages that were read (address and text), and the addresses that were written."""


def _session_key(session: str) -> str:
    return f"{session}:notes" if session else "session-notes"


def _make_references(hits: Sequence[Hit]) -> list[documents_steps.Reference]:
    by = {"user": "", "system": ""}
    return [
        documents_steps.Reference(hit.id, hit.text, by.get(hit.trust, hit.trust)) for hit in hits
    ]


_EVENTS = {
    "context start": _on_context_start,
    "phase start": _on_phase_start,
    "phase end": _on_phase_end,
    "task complete": _on_task_complete,
    "conversation end": _on_conversation_end,
}


def store_scratch(context: Context, name: str, content: str, key: str = "") -> Document:
    """Store a text under a name; a new text replaces the old one.

    name: a name, not a path: letters, digits, _ - . :
    content: the text; - reads stdin
    key: makes the call idempotent: the same key again changes nothing

    Example: recollect store auth_bug "token refresh returns inside the eval"
    """
    return undo_steps.write_undoable(
        context,
        f"stored the note {name}",
        undo_steps.Watched("documents", "address", documents_steps.scratch_address(name)),
        lambda tx, now: documents_steps.store_scratch(tx, name, content, context.origin, now, key),
    )


def retrieve_scratch(context: Context, name: str) -> Document:
    """Show the text stored under a name.

    name: the name it was stored under

    Example: recollect retrieve auth_bug
    """
    return context.project_space.read(lambda tx: documents_steps.get_scratch(tx, name))


def search_scratch(context: Context, query: str, limit: int = 10) -> tuple[Document, ...]:
    """Search stored texts, best first.

    query: a few words
    limit: maximum number of texts

    Example: recollect scratch search "token refresh"
    """
    return tuple(
        context.project_space.read(lambda tx: documents_steps.search_scratch(tx, query, limit))
    )


def list_scratch(context: Context, limit: int = 100) -> tuple[Document, ...]:
    """List all stored texts.

    limit: maximum number of texts

    Example: recollect scratch list
    """
    return tuple(context.project_space.read(lambda tx: documents_steps.list_scratch(tx, limit)))


def delete_scratch(context: Context, name: str) -> Document:
    """Delete a stored text: it is no longer found or listed.

    name: the name it was stored under

    Example: recollect delete auth_bug
    """
    return undo_steps.write_undoable(
        context,
        f"deleted the note {name}",
        undo_steps.Watched("documents", "address", documents_steps.scratch_address(name)),
        lambda tx, now: documents_steps.delete_scratch(tx, name, now),
    )
