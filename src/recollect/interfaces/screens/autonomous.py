"""Screens of autonomous memory and of background jobs."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ...fast_typing import TYPE_CHECKING
from ...text import display
from . import memories, style

if TYPE_CHECKING:
    from ...autonomous.operations import ClearedMemory, MemoryStatus, Rebuilt
    from ...jobs.operations import JobState


def _render_rebuilt(done: Rebuilt) -> str:
    if done.planned:
        return _render_plan(done)
    lines = []
    if done.files:
        sessions = display.format_count(done.extracted, "session")
        lines.append(f"{sessions} extracted by {done.model}, {done.statements} statements kept")
        lines.append(f"wrote {', '.join(done.files)}")
    if done.proposed:
        lines.append(f"{done.proposed} proposed. Review them: recollect review")
    if done.pruned:
        lines.append(f"removed skills: {', '.join(done.pruned)}")
    if done.calls:
        calls = display.format_count(done.calls, "call")
        lines.append(f"{calls} of a model, {done.tokens:,} tokens")
    if done.failed:
        lines.append(f"{done.failed} failed and wait for another try: recollect memory diagnose")
    return "\n".join([*lines, *done.notes]) or "nothing to do"


def _render_plan(done: Rebuilt) -> str:
    rows = [
        (one.session, str(one.messages), str(one.calls), f"{one.tokens:,}") for one in done.planned
    ]
    table = style.render_table(("SESSION", "MESSAGES", "CALLS", "TOKENS"), rows)
    price = f"{done.calls} calls, at most {done.tokens:,} tokens" if done.calls else "no tokens"
    sessions = display.format_count(len(rows), "session")
    return f"{table}\n{sessions} would be read by {done.model}: {price}"


def _render_cleared(done: ClearedMemory) -> str:
    hidden = f"{done.memories} memories, {done.episodes} episodes, {done.procedures} procedures"
    counts = ", ".join(f"{number} {noun}" for noun, number in done.removed.items())
    files = ", ".join(done.files) or "no files"
    if not done.applied:
        return (
            f"would hide {hidden} and remove {counts}; {files} in {done.root}\n"
            "do it: add --apply, at a terminal"
        )
    return (
        f"hidden: {hidden}\nremoved: {counts}; {files} in {done.root}\nundo: recollect clear undo"
    )


def _render_status(state: MemoryStatus) -> str:
    on = "on" if state.enabled else "off. Switch it on: memories.enabled = true"
    lines = [f"autonomous memory is {on}"]
    lines.append(f"models: default {state.models['default']}, smol {state.models['smol']}")
    lines.append(f"{display.format_count(state.waiting, 'session')} to process")
    if state.jobs:
        lines.append("jobs: " + ", ".join(f"{name} {one}" for name, one in state.jobs.items()))
    if state.written:
        when = display.format_time(state.written)[:16]
        lines.append(f"MEMORY.md written {when}Z from {state.extractions} sessions")
    calls = display.format_count(state.calls_today, "call")
    lines.append(f"today: {calls}, {state.tokens_today:,} of {state.cap:,} tokens")
    if state.paused_until:
        lines.append(f"the model asked to wait until {display.format_time(state.paused_until)}")
    lines += [f"{one.id} ({one.status}, {one.tries} tries): {one.error}" for one in state.errors]
    lines += [f"problem: {one}" for one in state.problems]
    for call in state.calls:
        when = display.format_time(call.at)[:19]
        spent = f"{call.input_tokens} in, {call.output_tokens} out"
        lines.append(f"  {when}Z {call.role} {call.model} {call.purpose}: {spent}")
    return "\n".join(lines)


def _render_jobs(found: Sequence[JobState]) -> str:
    if not found:
        return "no jobs"
    rows = [(one.id, one.status, str(one.tries), _when(one), one.error or "-") for one in found]
    return style.render_table(("ID", "STATUS", "TRIES", "WHEN", "ERROR"), rows)


def _when(job: JobState) -> str:
    at = job.updated if job.status == "done" else max(job.run_after, job.created)
    return display.format_time(at)[:16] if at else "-"


def _render_job(job: JobState) -> str:
    lines = [f"{job.id}: {job.status}, {display.format_count(job.tries, 'try', 'tries')}"]
    lines.append(f"  done up to {job.success_watermark} of {job.input_watermark}")
    if job.status == "pending":
        lines.append(f"  runs after {display.format_time(job.run_after)[:16]}Z")
    lines += [f"  last error: {job.error}"] if job.error else []
    return "\n".join(lines)


SCREENS: dict[str, Callable[..., str]] = {
    "memory view": memories.SCREENS["briefing"],
    "memory rebuild": _render_rebuilt,
    "memory enqueue": _render_rebuilt,
    "memory diagnose": _render_status,
    "memory clear": _render_cleared,
    "memory reset": _render_cleared,
    "jobs list": _render_jobs,
    "jobs show": _render_job,
    "jobs retry": _render_job,
    "jobs cancel": _render_job,
}
