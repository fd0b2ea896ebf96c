"""Screens of sessions, their messages and windows, and of background jobs."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence

import recollect

from ...text.display import escape_invisible, format_count, format_line, format_time
from . import memories, style
from .style import lines, minute, render_list


def render_conversation(shown: recollect.ShownRecord) -> str:
    """Return a session with its messages, one line each, or in full for `whole`."""
    session, messages = shown.session, shown.messages
    assert session is not None
    place = f"{session.address}/messages"
    short = list(map(_render_stored, messages))
    before = messages[0].seq - 1 if messages and not shown.whole else 0
    after = messages[-1].seq + 1 if messages else 1
    cut = next((one.seq for one, line in zip(messages, short, strict=True) if line[-1] == "…"), 0)
    return lines(
        _render_session(session),
        _render_usage(session),
        map(_render_whole, messages) if shown.whole else short,
        f"(earlier: {place}/1-{before})" if before else "",
        f"({shown.left_out} more: {place}/{after}-{after + shown.left_out - 1})"
        if shown.left_out
        else "",
        f"(in full: recollect show {place}/{cut})" if cut and not shown.whole else "",
    )


def _render_session(session: recollect.Session) -> str:
    name = f" {format_line(session.name)}" if session.name else ""
    messages = format_count(session.messages, "message")
    active = f"last active {minute(session.last_active)}"
    return f"session {session.id}{name}: {messages}, {session.status}, {active}"


def _render_usage(session: recollect.Session) -> str:
    """Return a line with the token usage that the provider reported; empty without any."""
    counted = {name: count for name, count in session.usage.items() if isinstance(count, int)}
    parts = [f"{name.replace('_', ' ')} {count:,}" for name, count in counted.items() if count]
    return f"usage: {', '.join(parts)}" if parts else ""


def _render_speaker(message: recollect.Message) -> str:
    return message.role + "".join(f" [{call.name}]" for call in message.calls)


def _render_message(seq: int, message: recollect.Message) -> str:
    """Return a message on one line; without a number for 0."""
    from ...text.messages import searchable_text

    text = format_line(searchable_text(message), 300)
    return f"{seq or '':>5}  {_render_speaker(message)}: {text}"


def _render_stored(stored: recollect.Stored) -> str:
    return _render_message(stored.seq, stored.message)


def _render_whole(stored: recollect.Stored) -> str:
    from ...text.messages import searchable_text

    text = escape_invisible(searchable_text(stored.message)).replace("\n", "\n       ")
    speaker, time = _render_speaker(stored.message), minute(stored.message.at)
    return f"{stored.seq:>5}  {speaker}, {time}:\n       {text}"


def _render_recorded(recorded: recollect.Recorded) -> str:
    done = "recorded" if recorded.new else "already recorded:"
    return lines(f"{done} {recorded.address}", style.render_redacted(recorded.redacted))


def _render_sessions(sessions: Sequence[recollect.Session]) -> str:
    short = _shorten_ids([one.id for one in sessions]) if sys.stdout.isatty() else {}
    rows = (
        (
            short.get(one.id, one.id),
            one.status,
            str(one.messages),
            minute(one.last_active),
            one.name,
        )
        for one in sessions
        if not short or one.id in short
    )
    heads = ("ID", "STATUS", "MESSAGES", "LAST ACTIVE", "NAME")
    none = "no sessions yet. Import those of your agents: recollect import"
    others = len(sessions) - len(short) if short else 0
    hidden = f"({format_count(others, 'session')} of subagents; --json lists them)"
    return lines(render_list(heads, rows, none, "session"), hidden if others else "")


def _shorten_ids(ids: Sequence[str]) -> dict[str, str]:
    """Return unique prefixes of agents' long ids, like those of commits.

    Sessions of subagents are left out: their ids begin with their conversation's id.
    """
    own = [id for id in ids if not any(id.startswith(f"{one}.") for one in ids)]
    short = [_shorten_id(id) for id in own]
    return {
        id: start if short.count(start) == 1 else id for id, start in zip(own, short, strict=True)
    }


def _shorten_id(id: str) -> str:
    """Return `codex.019efedf` for `codex.019efedf-a8dc-…`; other ids unchanged."""
    agent, dot, rest = id.partition(".")
    digits = rest.partition("-")[0]
    is_hex = len(digits) == 8 and all(digit in "0123456789abcdef" for digit in digits)
    return f"{agent}.{digits}" if dot and is_hex else id


def _render_prompt(prompt: recollect.Prompt) -> str:
    head = f"{len(prompt.messages)} messages, about {prompt.tokens} of {prompt.limit} tokens"
    notes = (", trimmed" if prompt.trimmed else "") + ("" if prompt.fits else ", TOO LONG")
    return lines(head + notes, (_render_message(0, one) for one in prompt.messages))


def _render_trimmed(trimmed: recollect.Trimmed) -> str:
    if not trimmed.changed:
        return f"nothing to trim: about {trimmed.before} tokens, {trimmed.kept} messages"
    removed = ", ".join(f"{first}-{last}" for first, last in trimmed.dropped) or "none"
    return (
        f"trimmed {trimmed.session}: about {trimmed.before} to {trimmed.after} tokens\n"
        f"  kept {trimmed.kept} messages, {trimmed.elided} of them shortened; removed: {removed}\n"
        "  state of the work: recollect retrieve session_progress"
    )


def _render_match(found: recollect.SessionMatch) -> str:
    name = f" {format_line(found.name, 60)}" if found.name else ""
    about = f"({found.role}, {style.day(found.at)})"
    preview = escape_invisible(found.preview).splitlines()
    head = f"{found.score:.3f}  {found.address}  {about}{name}"
    return lines(head, ("       " + line for line in preview))


def _make_screen(done: str) -> Callable[[recollect.Session], str]:
    """Return a screen that prints a change of a session, such as "renamed"."""
    return lambda session: (
        f"{done} {session.id}" + (f": {format_line(session.name)}" if session.name else "")
    )


def _render_exported(done: recollect.ExportedSession) -> str:
    return f"wrote {done.path} ({done.messages} messages, {done.bytes:,} bytes)"


def _render_imported(done: recollect.ImportedFile) -> str:
    sessions = ", ".join(done.sessions[:5]) + (", …" if len(done.sessions) > 5 else "")
    return f"{done.messages} new messages, {done.known} already known, in {sessions}"


# ---------------------------------------------------------------- autonomous memory


def _render_rebuilt(done: recollect.Rebuilt) -> str:
    if done.planned:
        return _render_plan(done)
    sessions = format_count(done.extracted, "session")
    extracted = f"{sessions} extracted by {done.model}, {done.statements} statements kept"
    shown = (
        (done.files, f"{extracted}\nwrote {', '.join(done.files)}"),
        (done.proposed, f"{done.proposed} proposed. Review them: recollect review"),
        (done.pruned, f"removed skills: {', '.join(done.pruned)}"),
        (done.calls, f"{format_count(done.calls, 'call')} of a model, {done.tokens:,} tokens"),
        (done.failed, f"{done.failed} failed and wait for another try: recollect memory diagnose"),
    )
    return lines((text for given, text in shown if given), done.notes) or "nothing to do"


def _render_plan(done: recollect.Rebuilt) -> str:
    rows = [
        (one.session, str(one.messages), str(one.calls), f"{one.tokens:,}") for one in done.planned
    ]
    table = style.render_table(("SESSION", "MESSAGES", "CALLS", "TOKENS"), rows)
    price = f"{done.calls} calls, at most {done.tokens:,} tokens" if done.calls else "no tokens"
    return f"{table}\n{format_count(len(rows), 'session')} would be read by {done.model}: {price}"


def _render_cleared(done: recollect.ClearedMemory) -> str:
    hidden = ", ".join(
        (
            format_count(done.memories, "memory", "memories"),
            format_count(done.episodes, "episode"),
            format_count(done.procedures, "procedure"),
        )
    )
    removed = ", ".join(f"{number} {noun}" for noun, number in done.removed.items())
    removed += f"; {', '.join(done.files) or 'no files'} in {done.root}"
    if not done.applied:
        return f"would hide {hidden} and remove {removed}\ndo it: add --apply, at a terminal"
    return f"hidden: {hidden}\nremoved: {removed}\nundo: recollect clear undo"


def _render_status(state: recollect.MemoryStatus) -> str:
    on = "on" if state.enabled else "off. Switch it on: memories.enabled = true"
    jobs = ", ".join(f"{name} {number}" for name, number in state.jobs.items())
    sessions = format_count(state.extractions, "session")
    today = f"{format_count(state.calls_today, 'call')}, {state.tokens_today:,} of {state.cap:,}"
    pause = f"the model asked to wait until {format_time(state.paused_until)}"
    errors = [
        f"{one.id} ({one.status}, {format_count(one.tries, 'try', 'tries')}): {one.error}"
        for one in state.errors
    ]
    calls = [
        f"  {format_time(call.at)[:19]}Z {call.role} {call.model} {call.purpose}: "
        f"{call.input_tokens} in, {call.output_tokens} out"
        for call in state.calls
    ]
    return lines(
        f"autonomous memory is {on}",
        f"models: default {state.models['default']}, smol {state.models['smol']}",
        f"{format_count(state.waiting, 'session')} to process",
        f"jobs: {jobs}" if jobs else "",
        f"MEMORY.md written {minute(state.written)}Z from {sessions}" if state.written else "",
        f"today: {today} tokens",
        pause if state.paused_until else "",
        errors,
        (f"problem: {one}" for one in state.problems),
        calls,
    )


def _render_jobs(found: Sequence[recollect.JobState]) -> str:
    if not found:
        return "no jobs"
    rows = [(one.id, one.status, str(one.tries), _when(one), one.error or "-") for one in found]
    return style.render_table(("ID", "STATUS", "TRIES", "WHEN", "ERROR"), rows)


def _when(job: recollect.JobState) -> str:
    at = job.updated if job.status == "done" else max(job.run_after, job.created)
    return minute(at) if at else "-"


def _render_job(job: recollect.JobState) -> str:
    return lines(
        f"{job.id}: {job.status}, {format_count(job.tries, 'try', 'tries')}",
        f"  done up to {job.success_watermark} of {job.input_watermark}",
        f"  runs after {minute(job.run_after)}Z" if job.status == "pending" else "",
        f"  last error: {job.error}" if job.error else "",
    )


SCREENS: dict[str, Callable[..., str]] = {
    "record": _render_recorded,
    "session list": _render_sessions,
    "session show": lambda shown: memories.render_record(shown),
    "session recent": lambda messages: lines(map(_render_stored, messages)),
    "session prepare": _render_prompt,
    "session overflow": _render_prompt,
    "session trim": _render_trimmed,
    "session search": lambda found: lines(map(_render_match, found)) or "nothing found",
    "session switch": _make_screen("current session:"),
    "session rename": _make_screen("renamed"),
    "session end": _make_screen("ended"),
    "session export": _render_exported,
    "session import": _render_imported,
    "memory view": lambda briefing: memories.render_briefing(briefing),
    "memory rebuild": _render_rebuilt,
    "memory enqueue": _render_rebuilt,
    "memory diagnose": _render_status,
    "memory clear": _render_cleared,
    "memory reset": _render_cleared,
    "jobs list": _render_jobs,
    **dict.fromkeys(("jobs show", "jobs retry", "jobs cancel"), _render_job),
}
