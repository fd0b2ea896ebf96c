"""Results of episodes, consolidation, procedures, links and work memory, as text for people."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from typing import Any

from ...text import display
from . import results

_MOST_LESSONS = 10


def _kept(kept: Any) -> str:
    line = f"{kept.action} {kept.id}"
    if kept.redacted:
        line += f"\n  redacted before it was kept: {', '.join(kept.redacted)}"
    return line


def _built(built: Any) -> str:
    return (
        f"read {built.sessions} sessions: {built.episodes} episodes, "
        f"{built.created} new, {built.updated} changed"
    )


def _episodes(found: Sequence[Any]) -> str:
    if not found:
        return "no episodes yet; `recollect episode build` reads them out of conversations"
    rows = (
        (item.id, display.format_time(item.at)[:16], item.outcome, item.status, item.goal)
        for item in found
    )
    return results.render_table(("ID", "WHEN", "OUTCOME", "STATUS", "GOAL"), rows)


def _episode(shown: Any) -> str:
    head = f"episode  {shown.address}  ({shown.outcome}, {shown.status}, trusted as {shown.label})"
    body = json.dumps(shown.episode, ensure_ascii=False, indent=2)
    return f"{head}\n{display.escape_invisible(body)}"


def _replay(replay: Any) -> str:
    lines = [f"{replay.id}: {display.format_line(replay.goal)} ({replay.outcome})"]
    for step in replay.steps:
        told = " ".join(filter(None, (step.action, step.target, step.result)))
        lines.append(f"  {step.t:>7.0f} s  {display.format_line(told, 140)}")
        if step.error:
            lines.append(f"             {display.format_line(step.error, 140)}")
    for error in replay.errors:
        end = f"resolved: {error.resolution}" if error.resolution else "never resolved"
        lines.append(f"  error    {display.format_line(f'{error.type}: {error.message}', 140)}")
        lines.append(f"           {display.format_line(end, 140)}")
    lines += [f"  {file.state:<14} {display.format_line(file.path)}" for file in replay.files]
    return "\n".join(lines)


def _learnings(days: Sequence[Any]) -> str:
    if not days:
        return "no errors yet; `recollect episode build` reads them out of conversations"
    lines = []
    for day in days:
        lines.append(day.day)
        for one in day.learnings:
            end = one.resolution or "never resolved"
            lines.append(
                f"  {one.episode}  {display.format_line(f'{one.type}: {one.message}', 120)}"
            )
            lines.append(f"      {display.format_line(end, 140)}")
    return "\n".join(lines)


def _consolidated(done: Any) -> str:
    if done.note and not (done.lines or done.applied):
        return str(done.note)
    lines = []
    for line in done.lines:
        lines.append(f"{line.sign} {line.what}  {display.format_line(line.text, 160)}")
        lines.append(f"    because: {display.format_line(line.reason, 140)}")
    for one in done.left_out:
        named = ", ".join(one.sources[:3]) + (", …" if len(one.sources) > 3 else "")
        told = display.format_line(one.reason, 140)
        lines.append(f"  left out  {named}: {told}" if named else f"  note      {told}")
    if not done.lines:
        first = (
            ""
            if done.episodes
            else "; `recollect episode build` reads episodes out of conversations"
        )
        lines.append(f"nothing to consolidate{first}")
    elif done.applied:
        lines.append(f"{len(done.lines)} changes; `recollect consolidate undo` takes them back")
    else:
        lines.append(f"{len(done.lines)} changes would be made; nothing was changed")
    if done.note:
        lines.append(done.note)
    return "\n".join(lines)


def _undone(done: Any) -> str:
    return f"took back {done.undo}: {done.restored} restored, {done.removed} removed"


def _procedure(shown: Any) -> str:
    from ...procedures.skills import to_skill_md

    head = (
        f"procedure  {shown.address}  ({shown.status}, version {shown.revision}, "
        f"{shown.successes} times it worked, {shown.failures} times it did not)"
    )
    return f"{head}\n{display.escape_invisible(to_skill_md(shown.procedure))}".rstrip()


def _procedures(found: Sequence[Any]) -> str:
    if not found:
        return "no procedures yet; begin with: recollect procedure learn"
    rows = (
        (item.name, item.status, f"{item.successes}/{item.failures}", item.description)
        for item in found
    )
    return results.render_table(("NAME", "STATUS", "WORKED/FAILED", "DESCRIPTION"), rows)


def _counted(shown: Any) -> str:
    return (
        f"{shown.name} ({shown.status}, version {shown.revision}): "
        f"worked {shown.successes} times, failed {shown.failures} times"
    )


def _exported(done: Any) -> str:
    if not done.path:
        return display.escape_invisible(done.text).rstrip()
    return "\n".join([f"wrote {done.path}", *(f"  {note}" for note in done.notes)])


def _link(link: Any) -> str:
    return f"{link.source} {link.relation} {link.target}"


def _links(linked: Any) -> str:
    if linked.graph:
        return str(display.escape_invisible(linked.graph)).rstrip()
    if not linked.reached:
        return "nothing is linked to it"
    return "\n".join(
        f"{'  ' * one.depth}{one.relation} {one.id}  "
        f"{display.format_line(linked.labels[one.id], 100)}"
        for one in linked.reached
    )


def _notes(shown: Any) -> str:
    lines = [
        display.escape_invisible(shown.text).rstrip()
        or "no notes yet; begin with: recollect notes set"
    ]
    if shown.edited:
        lines.append("(the file was edited since it was written, and is read back)")
    return "\n".join([*lines, *_findings(shown)])


def _continuity(done: Any) -> str:
    lines = [display.escape_invisible(done.text).rstrip()]
    if done.edited:
        lines.append("(the file was edited since it was written; what was written by hand is kept)")
    return "\n".join(lines)


def _findings(shown: Any) -> list[str]:
    return [f"line {one.first}: {one.rule}. {one.advice}" for one in shown.findings]


def _lint(shown: Any) -> str:
    return "\n".join(_findings(shown)) or "the notes keep all rules"


def _task(shown: Any) -> str:
    lines = [f"{shown.slug}: {display.format_line(shown.title)} ({_stage(shown)})"]
    for phase in shown.task.get("phases", ()):
        told = f": {phase['report']}" if phase.get("report") else ""
        lines.append(
            f"  {phase.get('state', 'planned'):<8} {display.format_line(phase['name'] + told)}"
        )
    for one in shown.task.get("decisions", ()):
        lines.append(f"  decided  {display.format_line(one['text'])}")
    for revision in shown.task.get("revisions", ())[-1:]:
        lines += [
            f"  verified {display.format_line(item)}" for item in revision.get("verified", ())
        ]
    for lost in shown.regressions:
        lines.append(
            f"  LOST     {display.format_line(lost.item)} (verified in revision {lost.verified_in})"
        )
    lines += [f"  {page}" for page in shown.pages]
    lines += [
        f"  lesson   {display.format_line(one, 140)}" for one in shown.lessons[:_MOST_LESSONS]
    ]
    if shown.lessons:
        more = len(shown.lessons) - _MOST_LESSONS
        also = f"and {more} more; " if more > 0 else ""
        lines.append(f"  ({also}`recollect consolidate undo` takes the lessons back)")
    return "\n".join(lines)


def _stage(shown: Any) -> str:
    if shown.completed:
        return f"complete since {shown.completed[:10]}"
    begun = any(phase.get("state") == "done" for phase in shown.task.get("phases", ()))
    return str(shown.phase) or ("between phases" if begun else "not begun")


def _tasks(found: Sequence[Any]) -> str:
    if not found:
        return "no tasks yet; begin with: recollect task start"
    rows = ((item.slug, _stage(item), item.title) for item in found)
    return results.render_table(("TASK", "PHASE", "TITLE"), rows)


def _json(value: Any) -> str:
    return display.escape_invisible(json.dumps(value, ensure_ascii=False, indent=2))


def _handoff(given: Any) -> str:
    lines = [f"{given.address} ({'accepted' if given.accepted else 'waiting'})"]
    lines.append(_json(given.handoff))
    if given.moved:
        lines.append(f"the tree is not as it was: {display.format_line(given.moved)}")
    return "\n".join(lines)


def _handoffs(found: Sequence[Any]) -> str:
    if not found:
        return "nothing was handed over"
    rows = (
        (
            item.id,
            "accepted" if item.accepted else "waiting",
            str(item.handoff.get("to_agent", "")),
            str(item.handoff.get("context", {}).get("what_was_done", "")),
        )
        for item in found
    )
    return results.render_table(("ID", "STATE", "TO", "DONE"), rows)


def _promoted(done: Any) -> str:
    if not done.notes:
        return "no notes of that task or session"
    rows = ((one.decision, one.id, one.step, f"{one.reason} | {one.text}") for one in done.notes)
    return results.render_table(("DECISION", "NOTE", "STEP", "WHY"), rows)


def _audit(found: Any) -> str:
    from ...work.audit import render_audit

    return display.escape_invisible(render_audit(found)).rstrip()


def _event(done: Any) -> str:
    lines = [f"event: {done.event}"]
    lines += [f"  to read   {one.layer}: {one.what}" for one in done.rule.read]
    lines += [f"  to write  {one.layer}: {one.what}" for one in done.rule.write]
    lines += [f"  written   {address}" for address in done.written]
    for address, body in done.read:
        lines += [f"--- {address}", display.escape_invisible(body).rstrip()]
    return "\n".join(lines)


SCREENS: dict[str, Callable[[Any], str]] = {
    "episode record": _kept,
    "episode load": lambda found: "\n".join(map(_kept, found)) or "there was nothing to load",
    "episode build": _built,
    "episode list": _episodes,
    "episode show": _episode,
    "episode replay": _replay,
    "learnings": _learnings,
    "consolidate": _consolidated,
    "consolidate undo": _undone,
    "procedure learn": _counted,
    "procedure list": _procedures,
    "procedure show": _procedure,
    "procedure use": _counted,
    "procedure revise": _counted,
    "procedure accept": _counted,
    "procedure export": _exported,
    "procedure load": _counted,
    "pattern load": lambda found: (
        "\n".join(map(results.render_learned, found)) or "there was nothing to load"
    ),
    "pattern show": _json,
    "link": _link,
    "links": _links,
    "notes show": _notes,
    "notes set": _notes,
    "notes lint": _lint,
    "continuity": _continuity,
    "task start": _task,
    "task show": _task,
    "task phase": _task,
    "task decide": _task,
    "task verify": _task,
    "task complete": _task,
    "task list": _tasks,
    "task log": lambda lines: display.escape_invisible(lines).rstrip(),
    "ledger": _json,
    "handoff give": _handoff,
    "handoff accept": _handoff,
    "handoff list": _handoffs,
    "promote": _promoted,
    "audit": _audit,
    "event": _event,
}
