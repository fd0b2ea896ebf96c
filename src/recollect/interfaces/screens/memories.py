"""Results of tending memories and of briefings, as text for people."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ...text import display
from ...types.records import Memory
from . import results


def _memory(memory: Memory) -> str:
    return "\n".join(results.render_memory(memory))


def _history(versions: Sequence[Memory]) -> str:
    rows = (
        (
            str(item.revision),
            item.id,
            display.format_time(item.valid_from)[:16],
            display.format_time(item.valid_to)[:16] or "now",
            item.text,
        )
        for item in versions
    )
    return results.render_table(("VERSION", "ID", "FROM", "TO", "TEXT"), rows, whole=True)


def _pruned(pruned: Any) -> str:
    kept = f"\n{pruned.kept} more were stated by the user, who can prune them at a terminal"
    rest = kept if pruned.kept else ""
    if not pruned.memories:
        return "nothing to prune" + rest
    done = "archived" if pruned.applied else "would be archived (say --apply to do it)"
    rows = ((item.id, item.reason, item.text) for item in pruned.memories)
    return (
        f"{len(pruned.memories)} {done}:\n"
        + results.render_table(("ID", "WHY", "TEXT"), rows)
        + rest
    )


def _cleared(cleared: Any) -> str:
    counts = (
        display.format_count(cleared.memories, "memory", "memories"),
        display.format_count(cleared.episodes, "episode"),
        display.format_count(cleared.procedures, "procedure"),
    )
    told = ", ".join(counts)
    if not (cleared.memories or cleared.episodes or cleared.procedures):
        return "nothing is in use that could be hidden"
    if cleared.applied:
        return f"hidden: {told}; `recollect clear undo` takes it back"
    return (
        f"would be hidden: {told}; conversations, notes and tasks stay, and so does what holds for "
        "all your projects.\n`recollect clear --apply` at a terminal does it, "
        "`recollect clear undo` takes it back"
    )


def _returned(returned: Any) -> str:
    left = f"; {returned.changed_since} were changed since, and stay as they are"
    return f"back in use: {returned.returned}" + (left if returned.changed_since else "")


def _judged(judged: Any) -> str:
    memory = judged.memory
    said = "it helped" if judged.verdict == "helped" else f"it was {judged.verdict}"
    counts = f"{memory.successes} helped, {memory.failures} did not"
    return f"noted of {memory.id}: {said} (so far {counts})"


def _briefing(briefing: Any) -> str:
    if not briefing.text:
        why = "; ".join(briefing.notes) or "nothing relevant is known"
        return "\n".join([f"(empty: {why})", *_reasons(briefing)])
    return "\n".join([display.escape_invisible(briefing.text), *_reasons(briefing)])


def _reasons(briefing: Any) -> list[str]:
    """Why each item is in, and each other is not, if that was asked for."""
    if not briefing.explained:
        return []
    lines = ["", f"{briefing.tokens} tokens"]
    lines += [f"  in   {item.address}  {item.tokens} tokens: {item.why}" for item in briefing.items]
    lines += [f"  out  {item.address}: {item.reason}" for item in briefing.left_out]
    return lines


def _task(task: Any) -> str:
    lines = [f"phase: {task.phase}"]
    for title, hits in (
        ("Relevant", task.patterns),
        ("Avoid these", task.avoid),
        ("Skills", task.skills),
    ):
        if hits:
            lines += [title, *(results.render_hit(hit) for hit in hits)]
    return "\n".join(lines) if len(lines) > 1 else f"phase: {task.phase}\nnothing is known about it"


def _verified(report: Any) -> str:
    if not hasattr(report, "stale"):
        said = display.format_count(report.messages, "message")
        return f"intact: {said} in {display.format_count(report.sessions, 'session')}"
    if not report.claims:
        return "no memory says anything about files or functions that could be checked"
    lines = [f"{report.fresh} of {report.claims} claims about the code are fresh"]
    if unknown := report.claims - report.fresh - len(report.stale):
        lines.append(f"{unknown} cannot be verified: what is cited was not there")
    if report.repaired:
        lines.append(f"{display.format_count(report.repaired, 'claim')} followed to the new place")
    rows = ((item.memory, results.render_claim(item)) for item in report.stale)
    if report.stale:
        lines.append(results.render_table(("MEMORY", "CLAIM"), rows, whole=True))
    if any(item.moved_to for item in report.stale):
        lines.append(
            "recollect verify --fix follows what moved as a whole; else: recollect correct"
        )
    return "\n".join(lines)


def _rebuilt(done: Any) -> str:
    by = f" by {done.embedder}" if done.embedder else ""
    made = display.format_count(done.embedded, "vector")
    return f"indexed {display.format_count(done.indexed, 'record')} by words, made {made}{by}"


def _evaluated(done: Any) -> str:
    asked = display.format_count(done.questions, "question")
    lines = [f"{asked} from {display.format_count(done.sessions, 'session')}", *done.notes]
    rows = (
        (
            line.source,
            line.by,
            str(line.questions),
            f"{line.recall_5:.3f}",
            f"{line.recall_10:.3f}",
            f"{line.mrr:.3f}",
        )
        for line in done.lines
    )
    if done.lines:
        heads = ("SOURCE", "SEARCHED BY", "QUESTIONS", "RECALL@5", "RECALL@10", "MRR@10")
        lines.append(results.render_table(heads, rows))
    if done.missed:
        lines.append("not found among the first ten:")
        lines += [
            f"  {one.source}: {display.format_line(one.question, 100)} ({', '.join(one.answers)})"
            for one in done.missed
        ]
    return "\n".join(lines)


SCREENS: dict[str, Callable[[Any], str]] = {
    "briefing": _briefing,
    "before-task": _task,
    "verify": _verified,
    "eval": _evaluated,
    "rebuild": _rebuilt,
    "confirm": _memory,
    "correct": _memory,
    "remember": _memory,
    "hide": lambda memory: f"hidden {memory.id}; `recollect restore {memory.id}` undoes it",
    "restore": _memory,
    "feedback": _judged,
    "prune": _pruned,
    "clear": _cleared,
    "clear undo": _returned,
    "history": _history,
    "for-file": lambda found: results.show("list", found) if found else "nothing applies to it",
    "add-discovery": lambda learned: results.show("learn", learned),
    "add-solution": lambda learned: results.show("learn", learned),
    "add-pattern": lambda learned: results.show("learn", learned),
}
