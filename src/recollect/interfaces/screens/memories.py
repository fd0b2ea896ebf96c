"""Screens of memories: learn, show, list, prune, review, briefings, scratch notes and checks."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import recollect

from ...fast_typing import TYPE_CHECKING
from ...text.display import escape_invisible, format_count, format_line
from ...types.records import Json
from . import recall, review, style
from .style import day, lines, minute, render_list, render_table

if TYPE_CHECKING:
    from ...memory.steps_verify import Checked


def render_learned(learned: recollect.Learned) -> str:
    """Return the saved memory with its status and notes."""
    memory = learned.memory
    if not learned.id:
        return lines("not saved", (f"  {note}" for note in learned.notes))
    about = f"({memory.kind}, {memory.layer}, {style.status(memory.status)})"
    times = format_count(memory.reinforcement, "time")
    return lines(
        f"{learned.action} {style.paint('id', learned.id)} {about}",
        (f"  {note}" for note in learned.notes),
        style.render_redacted(learned.redacted),
        f"  saved {times}" if memory.reinforcement > 1 else "",
    )


def _render_memory(memory: recollect.Memory) -> str:
    revision = f", revision {memory.revision}" if memory.revision > 1 else ""
    state = f"({memory.layer}, {style.status(memory.status)}{revision})"
    saved, recalled = (format_count(one, "time") for one in (memory.reinforcement, memory.recalls))
    trust = (
        f"priority {memory.priority}, confidence {memory.confidence:.2f}, from {memory.origin}, "
        f"trusted as {memory.label}{f' {memory.author}' if memory.label == 'teammate' else ''}"
    )
    use = (
        f"first seen {day(memory.first_seen)}, last confirmed {day(memory.last_confirmed)}, "
        f"saved {saved}, recalled {recalled}"
    )
    fields = {name: getattr(memory, name) for name in ("subject", "owner", "reason")}
    for name in ("scope", "tags", "examples", "evidence"):
        fields[name] = ", ".join(getattr(memory, name))
    fields["citations"] = ", ".join(str(one.get("path", one)) for one in memory.citations)
    shown = [(name, text) for name, text in fields.items() if text]
    return lines(
        f"{style.paint('title', memory.kind)}  {style.paint('id', memory.address)}  {state}",
        *(style.fill(part, "  ") for part in memory.text.splitlines() if part.strip()),
        style.fill(trust, "  "),
        style.fill(use, "  "),
        (
            f"  {format_line(name)}: {format_line(_plain_value(value))}"
            for name, value in (*shown, *memory.detail.items())
        ),
    )


def _plain_value(value: Json) -> str:
    """Return a value of a memory's detail as text: lists with commas, fields by name."""
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_plain_value(one)}" for name, one in value.items())
    if isinstance(value, list | tuple):
        return "; ".join(map(_plain_value, value))
    return str(value)


def _render_claim(item: Checked) -> str:
    """Return a claim about the code with its state."""
    place = f"{item.path} {item.symbol}".strip()
    return f"{place}: {item.state}" + (f" to {item.moved_to}" if item.moved_to else "")


def render_record(shown: recollect.ShownRecord) -> str:
    """Return the record at an address, whatever its kind."""
    from . import sessions, work

    if shown.memory:
        history = [
            f"    {item.id}@{item.revision}  {format_line(item.text)}" for item in shown.versions
        ]
        return lines(
            _render_memory(shown.memory),
            (f"  code: {_render_claim(item)}" for item in shown.claims),
            ["  history:", *history] if len(history) > 1 else "",
        )
    if shown.session:
        return sessions.render_conversation(shown)
    if shown.document:
        return _render_document(shown.document)
    if shown.episode:
        return work.render_episode(shown.episode)
    if shown.lesson:
        return _render_lesson(shown.lesson)
    assert shown.procedure is not None
    return work.render_procedure(shown.procedure)


def _render_lesson(lesson: recollect.ShownLesson) -> str:
    return lines(
        f"{lesson.id}  {lesson.text}",
        f"  {lesson.kind}, {lesson.status}; learned from:",
        (f"    {style.day(one.at)}  {one.session}  {one.what}" for one in lesson.sources),
    )


def _render_list(memories: Sequence[recollect.Memory]) -> str:
    if not memories:
        return style.render_none('no memories yet. Save one: recollect learn "…"', "memory")
    styles = {"id": "id", "kind": "", "layer": "faint", "status": "status", "text": ""}
    if style.page().is_terminal:
        # A column with the usual value in all rows is left out, to have more room for the text.
        for name, value in {"layer": "project", "status": "active"}.items():
            if all(getattr(item, name) == value for item in memories):
                del styles[name]
    rows = ([str(getattr(item, name)) for name in styles] for item in memories)
    return render_table([name.upper() for name in styles], rows, styles=list(styles.values()))


_LISTED = 50
"""Memories that `list` shows without another limit."""


def _render_page(memories: Sequence[recollect.Memory]) -> str:
    given = style.page().given
    table = _render_list(memories)
    if not memories or len(memories) != given.get("limit", _LISTED) or given.get("as_of"):
        return table
    return lines(table, f"the first {len(memories)}. Next: --after {memories[-1].id}")


def _render_for_file(memories: Sequence[recollect.Memory]) -> str:
    if memories:
        return _render_list(memories)
    own = "no memory is limited to this file. Those for all files: recollect list"
    return style.render_none(own, "memory", place="path")


def _render_history(versions: Sequence[recollect.Memory]) -> str:
    rows = (
        (one.id, str(one.revision), one.change, *_render_validity(one), one.text)
        for one in versions
    )
    return render_table(("ID", "REVISION", "BY", "FROM", "TO", "TEXT"), rows, whole=True)


def _render_validity(memory: recollect.Memory) -> tuple[str, str]:
    return minute(memory.valid_from), minute(memory.valid_to) or "now"


def _render_captures(memories: Sequence[recollect.Memory]) -> str:
    rows = (
        (one.id, one.status, one.kind, str(one.detail["captured"]), one.text) for one in memories
    )
    none = "nothing was captured from your messages yet"
    return render_list(("ID", "STATUS", "KIND", "RULE", "TEXT"), rows, none, "captured memory")


def _render_document(document: recollect.Document) -> str:
    return escape_invisible(document.text)


def _render_documents(documents: Sequence[recollect.Document]) -> str:
    rows = ((one.title, minute(one.valid_from), one.text) for one in documents)
    none = "no scratch notes yet. Store one: recollect store"
    return render_list(("NAME", "STORED", "TEXT"), rows, none, "note")


def _render_found_notes(documents: Sequence[recollect.Document]) -> str:
    if not documents:
        return "no note found. Search everything: recollect recall"
    return _render_documents(documents)


# ---------------------------------------------------------------- out of use


def _render_pruned(pruned: recollect.Pruned) -> str:
    kept = f"{pruned.kept} more were stated by the user: prune them at a terminal"
    done = "hidden" if pruned.applied else "would be hidden. Hide them: recollect prune --apply"
    rows = ((item.id, item.reason, item.text) for item in pruned.memories)
    found = [f"{len(pruned.memories)} {done}:", render_table(("ID", "WHY", "TEXT"), rows)]
    return lines(found if pruned.memories else "nothing to prune", kept if pruned.kept else "")


def _render_cleared(cleared: recollect.Cleared) -> str:
    numbers = (
        (cleared.memories, "memory", "memories"),
        (cleared.episodes, "episode", "episodes"),
        (cleared.procedures, "procedure", "procedures"),
        (cleared.lessons, "lesson from work", "lessons from work"),
    )
    counts = ", ".join(format_count(*one) for one in numbers)
    if not any(number for number, *_ in numbers):
        return "nothing to hide"
    if cleared.applied:
        return f"hidden: {counts}. Undo: recollect clear undo"
    return (
        f"would hide {counts}. Conversations, notes, tasks and user memories stay.\n"
        "Hide them, at a terminal: recollect clear --apply   Undo: recollect clear undo"
    )


def _render_returned(returned: recollect.Returned) -> str:
    left = f"; {returned.changed_since} were changed since and stay as they are"
    return f"restored: {returned.returned}" + (left if returned.changed_since else "")


def _render_judged(judged: recollect.Judged) -> str:
    memory = judged.memory
    helped, failed = (format_count(n, "time") for n in (memory.successes, memory.failures))
    return f"noted {memory.id}: {judged.verdict} (so far it helped {helped}, failed {failed})"


# ---------------------------------------------------------------- briefings and checks


def render_briefing(briefing: recollect.Briefing) -> str:
    """Return the text of a briefing or why it is empty; the reasons if they were asked for."""
    text = escape_invisible(briefing.text) or _why_silent(briefing)
    if not briefing.explained:
        return text
    return lines(
        text,
        ["", f"{briefing.tokens} tokens"],
        (f"  in   {one.address}  {one.tokens} tokens: {one.why}" for one in briefing.items),
        (f"  out  {one.address}: {one.reason}" for one in briefing.left_out),
    )


_MOST_REASONS = 3


def _why_silent(briefing: recollect.Briefing) -> str:
    """Return why a briefing is empty: a mode, the budget, or no memories."""
    if briefing.notes:
        return f"(empty: {'; '.join(briefing.notes)})"
    reasons = Counter(one.reason for one in briefing.left_out)
    full = [reason for reason in reasons if "full" in reason or "room" in reason]
    no_room = sum(reasons.pop(reason) for reason in full)
    parts = [f"{format_count(no_room, 'item')} did not fit into the budget"] if no_room else []
    parts += [
        f"{format_count(number, 'item')} left out: {reason}"
        for reason, number in reasons.most_common(_MOST_REASONS)
    ]
    if not parts:
        return "(empty: nothing is known yet that a session should begin with)"
    more = "" if briefing.explained else ". Each one: recollect briefing --explain"
    return f"(empty: {'; '.join(parts)}{more})"


def _render_verified(report: recollect.ClaimReport | recollect.VerifiedArchive) -> str:
    if isinstance(report, recollect.VerifiedArchive):
        messages = format_count(report.messages, "message")
        return f"intact: {messages} in {format_count(report.sessions, 'session')}"
    if not report.claims:
        return "no memory makes a claim about files or functions"
    unknown = report.claims - report.fresh - len(report.stale)
    moved = format_count(report.repaired, "claim")
    rows = [(item.memory, _render_claim(item)) for item in report.stale]
    hint = "update moved files: recollect verify --fix   others: recollect correct"
    return lines(
        f"{report.fresh} of {report.claims} claims about the code are fresh",
        f"{unknown} cannot be checked: the cited code was not there" if unknown else "",
        f"{moved} moved to the new place" if report.repaired else "",
        render_table(("MEMORY", "CLAIM"), rows, whole=True) if rows else "",
        hint if any(item.moved_to for item in report.stale) else "",
    )


def _render_rebuilt(done: recollect.RebuildResult) -> str:
    embedder = f" by {done.embedder}" if done.embedder else ""
    vectors = format_count(done.embedded, "vector")
    return f"indexed {format_count(done.indexed, 'record')}, made {vectors}{embedder}"


def _render_learned_many(found: Sequence[recollect.Learned]) -> str:
    if not found:
        return "nothing to learn: the input has no statements"
    counts = Counter(one.action for one in found)
    waiting = sum(one.memory.status != "active" for one in found)
    hint = f"{waiting} wait for a person to confirm them: recollect review"
    summary = ", ".join(f"{number} {action}" for action, number in sorted(counts.items()))
    redacted = sorted({kind for one in found for kind in one.redacted})
    return lines(summary, hint if waiting else "", *style.render_redacted(redacted))


# ---------------------------------------------------------------- the review queue


def _render_queue(items: Sequence[recollect.ReviewItem]) -> str:
    if not items:
        return style.render_none("nothing waits for review", "item")
    rows = ((item.id, ", ".join(item.reasons), item.kind, item.text) for item in items)
    number = format_count(len(items), "item")
    return lines(
        render_table(("ID", "WAITS AS", "KIND", "TEXT"), rows),
        f"{number}. Answer them one by one at a terminal: recollect review",
        "or one by its id: recollect review ID keep|hide",
    )


def _render_answers(answers: Sequence[recollect.ReviewAnswer]) -> str:
    return lines(map(_render_answer, answers)) or "nothing waits for review"


def _render_answer(one: recollect.ReviewAnswer) -> str:
    text = format_line(one.text, 100)
    if one.error:
        return f"not answered {one.id}: {format_line(one.error)}"
    also = f"; hidden: {', '.join(one.hidden)}" if one.hidden else ""
    return f"{review.ANSWERS[one.answer].done} {one.id} ({one.status}): {text}{also}"


SCREENS: dict[str, Callable[..., str]] = {
    **dict.fromkeys(("learn", "add-discovery", "add-solution", "add-pattern"), render_learned),
    "learn-many": _render_learned_many,
    "recall": recall.render_recalled,
    "show": render_record,
    "list": _render_page,
    "for-file": _render_for_file,
    "history": _render_history,
    **dict.fromkeys(("confirm", "correct", "scope", "history undo"), _render_memory),
    "reinforce": _render_memory,
    "restore": lambda one: _render_memory(one) if hasattr(one, "text") else f"restored {one.id}",
    "hide": lambda memory: f"hidden {memory.id}. Undo: recollect undo",
    "feedback": _render_judged,
    "prune": _render_pruned,
    "clear": _render_cleared,
    "clear undo": _render_returned,
    "briefing": render_briefing,
    "before-task": recall.render_task,
    "verify": _render_verified,
    "eval": recall.render_evaluation,
    "rebuild": _render_rebuilt,
    "capture list": _render_captures,
    "capture undo": lambda memory: f"hidden {memory.id}: {format_line(memory.text)}",
    "review": _render_queue,
    "review answer": _render_answers,
    "scratch store": lambda document: f"stored {document.address}",
    "scratch retrieve": _render_document,
    "todo": lambda document: (
        _render_document(document) or 'nothing to do. Add something: recollect todo --add "…"'
    ),
    "scratch search": _render_found_notes,
    "scratch list": _render_documents,
    "scratch delete": lambda document: f"deleted {document.address}",
}
