"""Screens of memories: learn, recall, show, review, briefings, scratch notes and checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import recall, style
from .results import render_redacted
from .style import render_table

if TYPE_CHECKING:
    from ...archive.steps_sessions import VerifiedArchive
    from ...briefing.steps import Briefing
    from ...maintenance.steps import RebuildResult
    from ...memory.steps_lifecycle import Cleared, Judged, Pruned, Returned
    from ...memory.steps_verify import Checked, ClaimReport
    from ...recall.steps_records import ShownRecord
    from ...types.records import Document, Learned, Memory


def render_learned(learned: Learned) -> str:
    """Return the saved memory with its status and notes."""
    memory = learned.memory
    about = f"({memory.kind}, {memory.layer}, {style.status(memory.status)})"
    lines = [f"{learned.action} {style.paint('id', learned.id)} {about}"]
    lines += [f"  {note}" for note in learned.notes]
    lines += render_redacted(learned.redacted)
    if memory.reinforcement > 1:
        lines.append(f"  saved {display.format_count(memory.reinforcement, 'time')}")
    return "\n".join(lines)


def _render_memory(memory: Memory) -> str:
    first_seen = display.format_time(memory.first_seen)[:10]
    confirmed = display.format_time(memory.last_confirmed)[:10]
    revision = f", revision {memory.revision}" if memory.revision > 1 else ""
    state = f"({memory.layer}, {style.status(memory.status)}{revision})"
    lines = [f"{style.paint('title', memory.kind)}  {style.paint('id', memory.address)}  {state}"]
    for part in memory.text.splitlines():
        lines += style.fill(part, "  ") if part.strip() else []
    lines += style.fill(
        f"priority {memory.priority}, confidence {memory.confidence:.2f}, from {memory.origin}, "
        f"trusted as {memory.label}",
        "  ",
    )
    lines += style.fill(
        f"first seen {first_seen}, last confirmed {confirmed}, "
        f"saved {display.format_count(memory.reinforcement, 'time')}, "
        f"recalled {display.format_count(memory.recalls, 'time')}",
        "  ",
    )
    for name in ("subject", "owner", "reason"):
        if getattr(memory, name):
            lines.append(f"  {name}: {display.format_line(getattr(memory, name))}")
    for name in ("scope", "tags", "examples", "evidence"):
        if getattr(memory, name):
            lines.append(f"  {name}: {display.format_line(', '.join(getattr(memory, name)))}")
    if memory.citations:
        places = ", ".join(str(item.get("path", item)) for item in memory.citations)
        lines.append(f"  citations: {display.format_line(places)}")
    lines += [
        f"  {display.format_line(name)}: {display.format_line(str(value))}"
        for name, value in memory.detail.items()
    ]
    return "\n".join(lines)


def _render_claim(item: Checked) -> str:
    """Return a claim about the code with its state."""
    place = f"{item.path} {item.symbol}".strip()
    return f"{place}: {item.state}" + (f" to {item.moved_to}" if item.moved_to else "")


def render_record(shown: ShownRecord) -> str:
    """Return the record at an address, whatever its kind."""
    from . import sessions, work

    if shown.memory:
        lines = [_render_memory(shown.memory)]
        lines += [f"  code: {_render_claim(item)}" for item in shown.claims]
        if len(shown.versions) > 1:
            lines.append("  history:")
            lines += [
                f"    {item.id}@{item.revision}  {display.format_line(item.text)}"
                for item in shown.versions
            ]
        return "\n".join(lines)
    if shown.session:
        return sessions.render_conversation(shown)
    if shown.document:
        return _render_document(shown.document)
    if shown.episode:
        return work.render_episode(shown.episode)
    assert shown.procedure is not None
    return work.render_procedure(shown.procedure)


def _render_list(memories: Sequence[Memory]) -> str:
    if not memories:
        return style.render_none('no memories yet. Save one: recollect learn "…"', "memory")
    styles = {"id": "id", "kind": "", "layer": "faint", "status": "status", "text": ""}
    if style.page().is_terminal:
        # What is the same in all rows leaves its room to the text.
        usual = {"layer": "project", "status": "active"}
        for name, value in usual.items():
            if all(getattr(item, name) == value for item in memories):
                del styles[name]
    rows = ([str(getattr(item, name)) for name in styles] for item in memories)
    return render_table([name.upper() for name in styles], rows, styles=list(styles.values()))


def _render_for_file(memories: Sequence[Memory]) -> str:
    if memories:
        return _render_list(memories)
    own = "no memory is limited to this file. Those for all files: recollect list"
    return style.render_none(own, "memory", place="path")


def _render_history(versions: Sequence[Memory]) -> str:
    rows = (
        (
            item.id,
            str(item.revision),
            item.change,
            display.format_time(item.valid_from)[:16],
            display.format_time(item.valid_to)[:16] or "now",
            item.text,
        )
        for item in versions
    )
    return render_table(("ID", "REVISION", "BY", "FROM", "TO", "TEXT"), rows, whole=True)


def _render_captures(memories: Sequence[Memory]) -> str:
    if not memories:
        return style.render_none("nothing was captured from your messages yet", "captured memory")
    rows = (
        (item.id, item.status, item.kind, str(item.detail["captured"]), item.text)
        for item in memories
    )
    return render_table(("ID", "STATUS", "KIND", "RULE", "TEXT"), rows)


def _render_document(document: Document) -> str:
    return display.escape_invisible(document.text)


def _render_documents(documents: Sequence[Document]) -> str:
    if not documents:
        return style.render_none("no scratch notes yet. Store one: recollect store", "note")
    rows = (
        (item.title, display.format_time(item.valid_from)[:16], item.text) for item in documents
    )
    return render_table(("NAME", "STORED", "TEXT"), rows)


def _render_found_notes(documents: Sequence[Document]) -> str:
    if not documents:
        return "no note found. Search everything: recollect recall"
    return _render_documents(documents)


# ---------------------------------------------------------------- review


def _render_pruned(pruned: Pruned) -> str:
    kept = f"\n{pruned.kept} more were stated by the user: prune them at a terminal"
    rest = kept if pruned.kept else ""
    if not pruned.memories:
        return "nothing to prune" + rest
    done = "hidden" if pruned.applied else "would be hidden. Hide them: recollect prune --apply"
    rows = ((item.id, item.reason, item.text) for item in pruned.memories)
    return f"{len(pruned.memories)} {done}:\n" + render_table(("ID", "WHY", "TEXT"), rows) + rest


def _render_cleared(cleared: Cleared) -> str:
    counts = ", ".join(
        (
            display.format_count(cleared.memories, "memory", "memories"),
            display.format_count(cleared.episodes, "episode"),
            display.format_count(cleared.procedures, "procedure"),
            display.format_count(cleared.lessons, "lesson from work", "lessons from work"),
        )
    )
    if not (cleared.memories or cleared.episodes or cleared.procedures or cleared.lessons):
        return "nothing to hide"
    if cleared.applied:
        return f"hidden: {counts}. Undo: recollect clear undo"
    return (
        f"would hide {counts}. Conversations, notes, tasks and user memories stay.\n"
        "Hide them, at a terminal: recollect clear --apply   Undo: recollect clear undo"
    )


def _render_returned(returned: Returned) -> str:
    left = f"; {returned.changed_since} were changed since and stay as they are"
    return f"restored: {returned.returned}" + (left if returned.changed_since else "")


def _render_judged(judged: Judged) -> str:
    memory = judged.memory
    counts = f"{memory.successes} times helped, {memory.failures} times not"
    return f"noted {memory.id}: {judged.verdict} (so far {counts})"


# ---------------------------------------------------------------- briefings and checks


def _render_briefing(briefing: Briefing) -> str:
    text = display.escape_invisible(briefing.text) or _why_silent(briefing)
    return "\n".join([text, *_render_reasons(briefing)])


def _why_silent(briefing: Briefing) -> str:
    """Return why a briefing is empty: a mode, the budget, files, or because nothing is known."""
    if briefing.notes:
        return f"(empty: {'; '.join(briefing.notes)})"
    no_room = [one for one in briefing.left_out if "full" in one.reason or "room" in one.reason]
    others = len(briefing.left_out) - len(no_room)
    parts = []
    if no_room:
        parts.append(f"{display.format_count(len(no_room), 'item')} did not fit into the budget")
    if others:
        parts.append(f"{display.format_count(others, 'item')} left out for another reason")
    if not parts:
        return "(empty: nothing is known yet that a session should begin with)"
    return f"(empty: {', '.join(parts)}. Why: recollect briefing --explain)"


def _render_reasons(briefing: Briefing) -> list[str]:
    """Return why each item was chosen or left out, if that was asked for."""
    if not briefing.explained:
        return []
    lines = ["", f"{briefing.tokens} tokens"]
    lines += [f"  in   {item.address}  {item.tokens} tokens: {item.why}" for item in briefing.items]
    lines += [f"  out  {item.address}: {item.reason}" for item in briefing.left_out]
    return lines


def _render_verified(report: ClaimReport | VerifiedArchive) -> str:
    from ...archive.steps_sessions import VerifiedArchive

    if isinstance(report, VerifiedArchive):
        messages = display.format_count(report.messages, "message")
        return f"intact: {messages} in {display.format_count(report.sessions, 'session')}"
    if not report.claims:
        return "no memory makes a claim about files or functions"
    lines = [f"{report.fresh} of {report.claims} claims about the code are fresh"]
    if unknown := report.claims - report.fresh - len(report.stale):
        lines.append(f"{unknown} cannot be checked: the cited code was not there")
    if report.repaired:
        lines.append(f"{display.format_count(report.repaired, 'claim')} moved to the new place")
    rows = ((item.memory, _render_claim(item)) for item in report.stale)
    if report.stale:
        lines.append(render_table(("MEMORY", "CLAIM"), rows, whole=True))
    if any(item.moved_to for item in report.stale):
        lines.append("update moved files: recollect verify --fix   others: recollect correct")
    return "\n".join(lines)


def _render_rebuilt(done: RebuildResult) -> str:
    embedder = f" by {done.embedder}" if done.embedder else ""
    vectors = display.format_count(done.embedded, "vector")
    return f"indexed {display.format_count(done.indexed, 'record')}, made {vectors}{embedder}"


def _render_learned_many(found: Sequence[Learned]) -> str:
    counts: dict[str, int] = {}
    for one in found:
        counts[one.action] = counts.get(one.action, 0) + 1
    if not found:
        return "nothing to learn: the input has no statements"
    lines = [", ".join(f"{number} {action}" for action, number in sorted(counts.items()))]
    waiting = sum(one.memory.status != "active" for one in found)
    if waiting:
        lines.append(f"{waiting} wait for a person to confirm them: recollect review")
    return "\n".join(lines)


SCREENS: dict[str, Callable[..., str]] = {
    "learn": render_learned,
    "learn-many": _render_learned_many,
    "add-discovery": render_learned,
    "add-solution": render_learned,
    "add-pattern": render_learned,
    "recall": recall.render_recalled,
    "show": render_record,
    "list": _render_list,
    "for-file": _render_for_file,
    "history": _render_history,
    "confirm": _render_memory,
    "correct": _render_memory,
    "scope": _render_memory,
    "history undo": _render_memory,
    "reinforce": _render_memory,
    "restore": _render_memory,
    "hide": lambda memory: f"hidden {memory.id}. Undo: recollect undo",
    "feedback": _render_judged,
    "prune": _render_pruned,
    "clear": _render_cleared,
    "clear undo": _render_returned,
    "briefing": _render_briefing,
    "before-task": recall.render_task,
    "verify": _render_verified,
    "eval": recall.render_evaluation,
    "rebuild": _render_rebuilt,
    "capture list": _render_captures,
    "capture undo": lambda memory: f"hidden {memory.id}: {display.format_line(memory.text)}",
    "scratch store": lambda document: f"stored {document.address}",
    "scratch retrieve": _render_document,
    "todo": _render_document,
    "scratch search": _render_found_notes,
    "scratch list": _render_documents,
    "scratch delete": lambda document: f"deleted {document.address}",
}
