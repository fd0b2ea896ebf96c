"""Screens of episodes, lessons, procedures, links, notes, tasks and handoffs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

import recollect

from ...text.display import escape_invisible, format_line
from . import memories, style
from .style import lines, render_list

_MOST_LESSONS = 10


def _render_recorded(kept: recollect.RecordedEpisode) -> str:
    return lines(f"{kept.action} {kept.id}", style.render_redacted(kept.redacted))


def _render_built(built: recollect.BuiltEpisodes) -> str:
    return (
        f"read {built.sessions} sessions: {built.episodes} episodes, "
        f"{built.created} new, {built.updated} changed"
    )


def _render_episodes(found: Sequence[recollect.ShownEpisode]) -> str:
    rows = ((one.id, style.minute(one.at), one.outcome, one.status, one.goal) for one in found)
    none = "no episodes yet. Build them from conversations: recollect episode build"
    return render_list(("ID", "WHEN", "OUTCOME", "STATUS", "GOAL"), rows, none, "episode")


def render_episode(shown: recollect.ShownEpisode) -> str:
    """Return an episode as JSON with a head line."""
    head = f"episode  {shown.address}  ({shown.outcome}, {shown.status}, trusted as {shown.label})"
    return lines(head, _render_json(shown.episode))


def _render_replay(replay: recollect.EpisodeReplay) -> str:
    found = [f"{replay.id}: {format_line(replay.goal)} ({replay.outcome})"]
    for step in replay.steps:
        text = " ".join(filter(None, (step.action, step.target, step.result)))
        found.append(f"  {step.t:>7.0f} s  {format_line(text, 140)}")
        found += [f"             {format_line(step.error, 140)}"] if step.error else []
    for error in replay.errors:
        end = f"resolved: {error.resolution}" if error.resolution else "never resolved"
        found.append(f"  error    {format_line(f'{error.type}: {error.message}', 140)}")
        found.append(f"           {format_line(end, 140)}")
    return lines(found, (f"  {file.state:<14} {format_line(file.path)}" for file in replay.files))


def _render_learnings(days: Sequence[recollect.LearningDay]) -> str:
    found: list[str] = []
    for day in days:
        found.append(day.day)
        for one in day.learnings:
            found.append(f"  {one.episode}  {format_line(f'{one.type}: {one.message}', 120)}")
            found.append(f"      {format_line(one.resolution or 'never resolved', 140)}")
    none = "no errors yet. Build episodes from conversations: recollect episode build"
    return lines(found or none)


def _render_consolidated(done: recollect.Consolidated) -> str:
    if done.note and not (done.lines or done.applied):
        return str(done.note)
    found: list[str] = []
    for line in done.lines:
        found.append(f"{line.sign} {line.what}  {format_line(line.text, 160)}")
        found.append(f"    because: {format_line(line.reason, 140)}")
    for one in done.left_out:
        named = ", ".join(one.sources[:3]) + (", …" if len(one.sources) > 3 else "")
        reason = format_line(one.reason, 140)
        found.append(f"  left out  {named}: {reason}" if named else f"  note      {reason}")
    if not done.lines:
        first = ". Build episodes from conversations: recollect episode build"
        end = f"nothing to consolidate{'' if done.episodes else first}"
    elif done.applied:
        end = f"{len(done.lines)} changes. Undo: recollect consolidate undo"
    else:
        end = f"{len(done.lines)} changes planned; nothing was changed"
    return lines(found, end, done.note)


def _render_undone(done: recollect.Undone) -> str:
    return f"undid {done.undo}: {done.restored} restored, {done.removed} removed"


def render_procedure(shown: recollect.ShownProcedure) -> str:
    """Return a procedure as a skill with a head line."""
    from ...procedures.skills import to_skill_md

    about = f"{shown.status}, version {shown.revision}, {_count_uses(shown)}"
    text = escape_invisible(to_skill_md(shown.procedure))
    return f"procedure  {shown.address}  ({about})\n{text}".rstrip()


def _count_uses(shown: recollect.ShownProcedure) -> str:
    return f"worked {shown.successes} times, failed {shown.failures} times"


def _render_procedures(found: Sequence[recollect.ShownProcedure]) -> str:
    heads = ("NAME", "STATUS", "WORKED/FAILED", "DESCRIPTION")
    rows = (
        (one.name, one.status, f"{one.successes}/{one.failures}", one.description) for one in found
    )
    none = "no procedures yet. Save one: recollect procedure learn"
    return render_list(heads, rows, none, "procedure")


def _render_use(shown: recollect.ShownProcedure) -> str:
    return f"{shown.name} ({shown.status}, version {shown.revision}): {_count_uses(shown)}"


def _render_exported(done: recollect.ExportedSkill) -> str:
    if not done.path:
        return escape_invisible(done.text).rstrip()
    return lines(f"wrote {done.path}", (f"  {note}" for note in done.notes))


def _render_link(link: recollect.Link) -> str:
    return f"{link.source} {link.relation} {link.target}"


def _render_links(linked: recollect.Linked) -> str:
    if linked.graph:
        return str(escape_invisible(linked.graph)).rstrip()
    reached = [
        f"{'  ' * one.depth}{one.relation} {one.id}  {format_line(linked.labels[one.id], 100)}"
        for one in linked.reached
    ]
    return lines(reached or "no links")


def _render_notes(shown: recollect.ShownNotes) -> str:
    return lines(
        escape_invisible(shown.text).rstrip()
        or "no notes yet. Start: recollect notes set OBJECTIVE",
        "(the file was edited; the edits were read)" if shown.edited else "",
        f"(agents are not shown this: {shown.unseen})" if shown.unseen else "",
        _render_findings(shown),
    )


def _render_continuity(done: recollect.Continuity) -> str:
    edited = "(the file was edited; the edits are kept)" if done.edited else ""
    return lines([escape_invisible(done.text).rstrip()], edited)


def _render_findings(shown: recollect.ShownNotes) -> list[str]:
    return [f"line {one.first}: {one.rule}. {one.advice}" for one in shown.findings]


def _render_task(shown: recollect.ShownTask) -> str:
    """Return a task: its head, then lines with the name of their kind before them."""
    task, rows = shown.task, list[tuple[str, str]]()
    for phase in task.get("phases", ()):
        report = f": {phase['report']}" if phase.get("report") else ""
        state = phase.get("state", "planned")
        rows.append(
            ("open" if shown.completed and state != "done" else state, phase["name"] + report)
        )
    rows += [("decided", one["text"]) for one in task.get("decisions", ())]
    for revision in task.get("revisions", ())[-1:]:
        rows += [("verified", item) for item in revision.get("verified", ())]
    for lost in shown.regressions:
        rows.append(("LOST", f"{lost.item} (verified in revision {lost.verified_in})"))
    more = len(shown.lessons) - _MOST_LESSONS
    also = f"and {more} more. " if more > 0 else ""
    undo = f"  ({also}Undo the lessons: recollect consolidate undo)"
    return lines(
        f"{shown.slug}: {format_line(shown.title)} ({_render_stage(shown)})",
        (f"  {kind:<8} {format_line(text)}" for kind, text in rows),
        (f"  {page}" for page in shown.pages),
        (f"  known    {format_line(one)}" for one in shown.advice),
        (f"  lesson   {format_line(one, 140)}" for one in shown.lessons[:_MOST_LESSONS]),
        undo if shown.lessons else "",
    )


def _render_stage(shown: recollect.ShownTask) -> str:
    if shown.completed:
        return f"completed {shown.completed[:10]}"
    begun = any(phase.get("state") == "done" for phase in shown.task.get("phases", ()))
    return str(shown.phase) or ("between phases" if begun else "not started")


def _render_tasks(found: Sequence[recollect.ShownTask]) -> str:
    rows = ((one.slug, _render_stage(one), one.title) for one in found)
    none = "no tasks yet. Start one: recollect task start"
    return render_list(("TASK", "PHASE", "TITLE"), rows, none, "task")


def _render_json(value: Mapping[str, recollect.Json]) -> str:
    return escape_invisible(json.dumps(value, ensure_ascii=False, indent=2))


def _render_handoff(given: recollect.ShownHandoff) -> str:
    handoff = given.handoff
    rows = [("from", handoff.get("from_agent")), ("to", handoff.get("to_agent"))]
    rows += [(name.replace("_", " "), one) for name, one in handoff.get("context", {}).items()]
    texts = ((name, ", ".join(one) if isinstance(one, list) else one) for name, one in rows if one)
    accept = f"accept it: recollect handoff accept {given.id} --agent {handoff.get('to_agent')}"
    return lines(
        f"{given.address} ({_handoff_state(given)})",
        (f"  {name:<17} {format_line(str(text), 160)}" for name, text in texts),
        f"the working tree changed: {format_line(given.moved)}" if given.moved else "",
        "" if given.accepted else accept,
    )


def _handoff_state(given: recollect.ShownHandoff) -> str:
    return "accepted" if given.accepted else "waiting"


def _render_handoffs(found: Sequence[recollect.ShownHandoff]) -> str:
    rows = []
    for one in found:
        done = one.handoff.get("context", {}).get("what_was_done", "")
        to = one.handoff.get("to_agent", "")
        rows.append((one.id, _handoff_state(one), str(to), str(done)))
    return render_list(("ID", "STATE", "TO", "DONE"), rows, "no handoffs yet", "handoff")


def _render_promoted(done: recollect.Promoted) -> str:
    if not done.notes:
        return "no notes for that task or session"
    rows = ((one.decision, one.id, one.step, f"{one.reason} | {one.text}") for one in done.notes)
    return style.render_table(("DECISION", "NOTE", "STEP", "WHY"), rows)


def _render_audit(found: recollect.Audit) -> str:
    from ...work.audit import render_audit

    return escape_invisible(render_audit(found)).rstrip()


def _render_event(done: recollect.EventResult) -> str:
    return lines(
        f"event: {done.event}",
        (f"  to read   {one.layer}: {one.what}" for one in done.rule.read),
        (f"  to write  {one.layer}: {one.what}" for one in done.rule.write),
        (f"  written   {address}" for address in done.written),
        (f"--- {address}\n{escape_invisible(body).rstrip()}" for address, body in done.read),
    )


SCREENS: dict[str, Callable[..., str]] = {
    "episode record": _render_recorded,
    "episode load": lambda found: lines(map(_render_recorded, found)) or "nothing to load",
    "episode build": _render_built,
    "episode list": _render_episodes,
    "episode show": render_episode,
    "episode replay": _render_replay,
    "learnings": _render_learnings,
    "consolidate": _render_consolidated,
    "consolidate undo": _render_undone,
    **dict.fromkeys(("procedure learn", "procedure use", "procedure load"), _render_use),
    **dict.fromkeys(("procedure revise", "procedure accept"), _render_use),
    "procedure list": _render_procedures,
    "procedure show": render_procedure,
    "procedure export": _render_exported,
    "pattern load": lambda found: lines(map(memories.render_learned, found)) or "nothing to load",
    "pattern show": _render_json,
    "link": _render_link,
    "links": _render_links,
    "notes show": _render_notes,
    "notes set": _render_notes,
    "notes lint": lambda shown: lines(_render_findings(shown)) or "no problems found",
    "continuity": _render_continuity,
    **dict.fromkeys(("task start", "task show", "task phase", "task decide"), _render_task),
    **dict.fromkeys(("task verify", "task complete", "task deliver"), _render_task),
    "task list": _render_tasks,
    "task log": lambda text: escape_invisible(text).rstrip(),
    "ledger": _render_json,
    "handoff give": _render_handoff,
    "handoff accept": _render_handoff,
    "handoff list": _render_handoffs,
    "promote": _render_promoted,
    "audit": _render_audit,
    "event": _render_event,
}
