"""Screens of episodes, lessons, procedures, links, notes, tasks and handoffs."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import memories, results, style

if TYPE_CHECKING:
    from ...episodes.aging import LearningDay
    from ...episodes.steps import BuiltEpisodes, EpisodeReplay, RecordedEpisode, ShownEpisode
    from ...lessons.steps import Consolidated, Undone
    from ...procedures.steps import ExportedSkill, ShownProcedure
    from ...recall.steps_records import Linked
    from ...types.records import Json, Link
    from ...work.audit import Audit
    from ...work.operations import Continuity, EventResult
    from ...work.steps import ShownHandoff, ShownNotes
    from ...work.steps_tasks import Promoted, ShownTask

_MOST_LESSONS = 10


def _render_recorded(kept: RecordedEpisode) -> str:
    return "\n".join([f"{kept.action} {kept.id}", *results.render_redacted(kept.redacted)])


def _render_built(built: BuiltEpisodes) -> str:
    return (
        f"read {built.sessions} sessions: {built.episodes} episodes, "
        f"{built.created} new, {built.updated} changed"
    )


def _render_episodes(found: Sequence[ShownEpisode]) -> str:
    if not found:
        return style.render_none(
            "no episodes yet. Build them from conversations: recollect episode build", "episode"
        )
    rows = (
        (item.id, display.format_time(item.at)[:16], item.outcome, item.status, item.goal)
        for item in found
    )
    return style.render_table(("ID", "WHEN", "OUTCOME", "STATUS", "GOAL"), rows)


def render_episode(shown: ShownEpisode) -> str:
    """Return an episode as JSON with a head line."""
    head = f"episode  {shown.address}  ({shown.outcome}, {shown.status}, trusted as {shown.label})"
    body = json.dumps(shown.episode, ensure_ascii=False, indent=2)
    return f"{head}\n{display.escape_invisible(body)}"


def _render_replay(replay: EpisodeReplay) -> str:
    lines = [f"{replay.id}: {display.format_line(replay.goal)} ({replay.outcome})"]
    for step in replay.steps:
        text = " ".join(filter(None, (step.action, step.target, step.result)))
        lines.append(f"  {step.t:>7.0f} s  {display.format_line(text, 140)}")
        if step.error:
            lines.append(f"             {display.format_line(step.error, 140)}")
    for error in replay.errors:
        end = f"resolved: {error.resolution}" if error.resolution else "never resolved"
        lines.append(f"  error    {display.format_line(f'{error.type}: {error.message}', 140)}")
        lines.append(f"           {display.format_line(end, 140)}")
    lines += [f"  {file.state:<14} {display.format_line(file.path)}" for file in replay.files]
    return "\n".join(lines)


def _render_learnings(days: Sequence[LearningDay]) -> str:
    if not days:
        return "no errors yet. Build episodes from conversations: recollect episode build"
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


def _render_consolidated(done: Consolidated) -> str:
    if done.note and not (done.lines or done.applied):
        return str(done.note)
    lines = []
    for line in done.lines:
        lines.append(f"{line.sign} {line.what}  {display.format_line(line.text, 160)}")
        lines.append(f"    because: {display.format_line(line.reason, 140)}")
    for one in done.left_out:
        named = ", ".join(one.sources[:3]) + (", …" if len(one.sources) > 3 else "")
        reason = display.format_line(one.reason, 140)
        lines.append(f"  left out  {named}: {reason}" if named else f"  note      {reason}")
    if not done.lines:
        first = (
            "" if done.episodes else ". Build episodes from conversations: recollect episode build"
        )
        lines.append(f"nothing to consolidate{first}")
    elif done.applied:
        lines.append(f"{len(done.lines)} changes. Undo: recollect consolidate undo")
    else:
        lines.append(f"{len(done.lines)} changes planned; nothing was changed")
    if done.note:
        lines.append(done.note)
    return "\n".join(lines)


def _render_undone(done: Undone) -> str:
    return f"undid {done.undo}: {done.restored} restored, {done.removed} removed"


def render_procedure(shown: ShownProcedure) -> str:
    """Return a procedure as a skill with a head line."""
    from ...procedures.skills import to_skill_md

    head = (
        f"procedure  {shown.address}  ({shown.status}, version {shown.revision}, "
        f"worked {shown.successes} times, failed {shown.failures} times)"
    )
    return f"{head}\n{display.escape_invisible(to_skill_md(shown.procedure))}".rstrip()


def _render_procedures(found: Sequence[ShownProcedure]) -> str:
    if not found:
        return style.render_none(
            "no procedures yet. Save one: recollect procedure learn", "procedure"
        )
    rows = (
        (item.name, item.status, f"{item.successes}/{item.failures}", item.description)
        for item in found
    )
    return style.render_table(("NAME", "STATUS", "WORKED/FAILED", "DESCRIPTION"), rows)


def _render_use(shown: ShownProcedure) -> str:
    return (
        f"{shown.name} ({shown.status}, version {shown.revision}): "
        f"worked {shown.successes} times, failed {shown.failures} times"
    )


def _render_exported(done: ExportedSkill) -> str:
    if not done.path:
        return display.escape_invisible(done.text).rstrip()
    return "\n".join([f"wrote {done.path}", *(f"  {note}" for note in done.notes)])


def _render_link(link: Link) -> str:
    return f"{link.source} {link.relation} {link.target}"


def _render_links(linked: Linked) -> str:
    if linked.graph:
        return str(display.escape_invisible(linked.graph)).rstrip()
    if not linked.reached:
        return "no links"
    return "\n".join(
        f"{'  ' * one.depth}{one.relation} {one.id}  "
        f"{display.format_line(linked.labels[one.id], 100)}"
        for one in linked.reached
    )


def _render_notes(shown: ShownNotes) -> str:
    lines = [
        display.escape_invisible(shown.text).rstrip() or "no notes yet. Start: recollect notes set"
    ]
    if shown.edited:
        lines.append("(the file was edited; the edits were read)")
    return "\n".join([*lines, *_render_findings(shown)])


def _render_continuity(done: Continuity) -> str:
    lines = [display.escape_invisible(done.text).rstrip()]
    if done.edited:
        lines.append("(the file was edited; the edits are kept)")
    return "\n".join(lines)


def _render_findings(shown: ShownNotes) -> list[str]:
    return [f"line {one.first}: {one.rule}. {one.advice}" for one in shown.findings]


def _render_lint(shown: ShownNotes) -> str:
    return "\n".join(_render_findings(shown)) or "no problems found"


def _render_task(shown: ShownTask) -> str:
    lines = [f"{shown.slug}: {display.format_line(shown.title)} ({_render_stage(shown)})"]
    for phase in shown.task.get("phases", ()):
        report = f": {phase['report']}" if phase.get("report") else ""
        lines.append(
            f"  {phase.get('state', 'planned'):<8} {display.format_line(phase['name'] + report)}"
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
    lines += [f"  known    {display.format_line(one)}" for one in shown.advice]
    lines += [
        f"  lesson   {display.format_line(one, 140)}" for one in shown.lessons[:_MOST_LESSONS]
    ]
    if shown.lessons:
        more = len(shown.lessons) - _MOST_LESSONS
        also = f"and {more} more. " if more > 0 else ""
        lines.append(f"  ({also}Undo the lessons: recollect consolidate undo)")
    return "\n".join(lines)


def _render_stage(shown: ShownTask) -> str:
    if shown.completed:
        return f"completed {shown.completed[:10]}"
    begun = any(phase.get("state") == "done" for phase in shown.task.get("phases", ()))
    return str(shown.phase) or ("between phases" if begun else "not started")


def _render_tasks(found: Sequence[ShownTask]) -> str:
    if not found:
        return style.render_none("no tasks yet. Start one: recollect task start", "task")
    rows = ((item.slug, _render_stage(item), item.title) for item in found)
    return style.render_table(("TASK", "PHASE", "TITLE"), rows)


def _render_json(value: Mapping[str, Json]) -> str:
    return display.escape_invisible(json.dumps(value, ensure_ascii=False, indent=2))


def _render_handoff(given: ShownHandoff) -> str:
    lines = [f"{given.address} ({'accepted' if given.accepted else 'waiting'})"]
    lines.append(_render_json(given.handoff))
    if given.moved:
        lines.append(f"the working tree changed: {display.format_line(given.moved)}")
    return "\n".join(lines)


def _render_handoffs(found: Sequence[ShownHandoff]) -> str:
    if not found:
        return style.render_none("no handoffs yet", "handoff")
    rows = (
        (
            item.id,
            "accepted" if item.accepted else "waiting",
            str(item.handoff.get("to_agent", "")),
            str(item.handoff.get("context", {}).get("what_was_done", "")),
        )
        for item in found
    )
    return style.render_table(("ID", "STATE", "TO", "DONE"), rows)


def _render_promoted(done: Promoted) -> str:
    if not done.notes:
        return "no notes for that task or session"
    rows = ((one.decision, one.id, one.step, f"{one.reason} | {one.text}") for one in done.notes)
    return style.render_table(("DECISION", "NOTE", "STEP", "WHY"), rows)


def _render_audit(found: Audit) -> str:
    from ...work.audit import render_audit

    return display.escape_invisible(render_audit(found)).rstrip()


def _render_event(done: EventResult) -> str:
    lines = [f"event: {done.event}"]
    lines += [f"  to read   {one.layer}: {one.what}" for one in done.rule.read]
    lines += [f"  to write  {one.layer}: {one.what}" for one in done.rule.write]
    lines += [f"  written   {address}" for address in done.written]
    for address, body in done.read:
        lines += [f"--- {address}", display.escape_invisible(body).rstrip()]
    return "\n".join(lines)


SCREENS: dict[str, Callable[..., str]] = {
    "episode record": _render_recorded,
    "episode load": lambda found: "\n".join(map(_render_recorded, found)) or "nothing to load",
    "episode build": _render_built,
    "episode list": _render_episodes,
    "episode show": render_episode,
    "episode replay": _render_replay,
    "learnings": _render_learnings,
    "consolidate": _render_consolidated,
    "consolidate undo": _render_undone,
    "procedure learn": _render_use,
    "procedure list": _render_procedures,
    "procedure show": render_procedure,
    "procedure use": _render_use,
    "procedure revise": _render_use,
    "procedure accept": _render_use,
    "procedure export": _render_exported,
    "procedure load": _render_use,
    "pattern load": lambda found: (
        "\n".join(map(memories.render_learned, found)) or "nothing to load"
    ),
    "pattern show": _render_json,
    "link": _render_link,
    "links": _render_links,
    "notes show": _render_notes,
    "notes set": _render_notes,
    "notes lint": _render_lint,
    "continuity": _render_continuity,
    "task start": _render_task,
    "task show": _render_task,
    "task phase": _render_task,
    "task decide": _render_task,
    "task verify": _render_task,
    "task complete": _render_task,
    "task deliver": _render_task,
    "task list": _render_tasks,
    "task log": lambda lines: display.escape_invisible(lines).rstrip(),
    "ledger": _render_json,
    "handoff give": _render_handoff,
    "handoff accept": _render_handoff,
    "handoff list": _render_handoffs,
    "promote": _render_promoted,
    "audit": _render_audit,
    "event": _render_event,
}
