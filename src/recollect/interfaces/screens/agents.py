"""What commands about agents show to people."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any

from ...text import display
from ...types.records import Memory
from .results import table

_MOST_LISTED = 20


def _imported(done: Any) -> str:
    read = [item for item in done.transcripts if not item.error]
    told = _number(len(read), "transcript")
    if done.messages or done.known:
        before = f" ({done.known} were there before)" if done.known else ""
        said = f"{_number(done.messages, 'new message')}{before} in "
        lines = [f"{said}{_number(done.sessions, 'session')} from {told}"]
    elif read:
        lines = [f"nothing new in {told}"]
    else:
        lines = [
            "no transcript was read; `recollect import --all` looks for those of every project,",
            "`recollect import PATH` reads a file or a folder",
        ]
    lines += _counted("bookkeeping", [item.skipped for item in read])
    lines += _counted("DAMAGED", [item.damaged for item in read])
    problems = {item.path: item.error for item in done.transcripts if item.error}
    problems.update(done.passed_over)
    for path, reason in list(problems.items())[:_MOST_LISTED]:
        lines.append(f"  not read: {display.one_line(path)}: {display.one_line(reason)}")
    if len(problems) > _MOST_LISTED:
        lines.append(f"  and {len(problems) - _MOST_LISTED} more; --json shows all")
    if done.captured:
        lines.append(f"captured from your messages ({len(done.captured)}):")
        for learned in done.captured[:_MOST_LISTED]:
            memory = learned.memory
            status = "proposed " if memory.status == "proposed" else ""
            text = display.one_line(memory.text, 120)
            lines.append(f"  {learned.id}  {status}{memory.kind}: {text}")
        lines.append(
            "  `recollect capture list` shows them, `recollect capture undo ID` undoes one"
        )
        if any(learned.memory.status == "proposed" for learned in done.captured):
            lines.append(
                "  what may be pasted text is proposed: `recollect confirm ID` makes it a rule"
            )
    return "\n".join(lines)


def _counted(title: str, counts: Sequence[Any]) -> list[str]:
    total: Counter[str] = Counter()
    for count in counts:
        total.update(count)
    if not total:
        return []
    reasons = ", ".join(
        f"{display.one_line(name)} {number}" for name, number in total.most_common(6)
    )
    return [f"  skipped as {title}: {_number(total.total(), 'record')} ({reasons})"]


def _captures(memories: Sequence[Memory]) -> str:
    if not memories:
        return "nothing was captured from your messages"
    rows = (
        (item.id, item.status, item.kind, str(item.detail["captured"]), item.text)
        for item in memories
    )
    return table(("ID", "STATUS", "KIND", "RULE", "TEXT"), rows)


def _initialised(done: Any) -> str:
    from ..setup import difference, warning

    lines = warning(done)
    if not (done.checked or done.removing):
        made = "made" if done.created else "already there:" if done.exists else "would make"
        lines.append(f"{made} {done.database}")
    lines += [f"not used, as it belongs to this project: {path}" for path in done.below]
    lines += [_state(change, done) for change in done.changes]
    if not done.changes:
        lines.append("no agent was found in your home; --agent NAME connects one that is elsewhere")
    waiting = [change for change in done.changes if change.pending and not done.applied]
    if waiting and done.declined:
        lines.append("nothing was written to agents' settings")
    elif waiting and not done.checked:
        lines += ["", *(difference(change) for change in waiting), ""]
        lines.append("nothing was written; the same command with --yes does it")
    elif waiting and not done.removing:
        lines.append("`recollect init` connects what is missing or stale")
    if done.applied and any(change.pending and change.before for change in done.changes):
        lines.append(f"backups: {done.backups}")
    if done.removing:
        lines.append(f"the memory stays: {done.database}")
        return "\n".join(lines)
    if done.applied:
        from ...agents.connections import next_step

        agents = dict.fromkeys(change.agent for change in done.changes if change.pending)
        lines += [f"{agent}: {next_step(agent)}" for agent in agents]
    if done.imported:
        lines.append(_imported(done.imported))
    elif done.past:
        told = _number(done.past, "past conversation")
        lines.append(f"{told} of this project: `recollect import` reads them")
    if not done.checked:
        lines.append('try: recollect learn "…"   then: recollect recall "…"')
    return "\n".join(lines)


def _packaged(done: Any) -> str:
    from ..setup import warning

    return "\n".join([f"wrote {done.path}", *(f"  {name}" for name in done.files), *warning(done)])


def _state(change: Any, done: Any) -> str:
    if change.error:
        return f"BAD  {change.agent}: {change.path}: {display.visible(change.error)}"
    state = change.state
    if done.applied and change.pending:
        state = "removed" if done.removing else "written"
    return f"{change.agent}: {change.what} in {change.path}: {state}"


def _number(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


SHOWN: dict[str, Callable[[Any], str]] = {
    "init": _initialised,
    "plugin": _packaged,
    "import": _imported,
    "capture list": _captures,
    "capture undo": lambda memory: f"hidden {memory.id}: {display.one_line(memory.text)}",
}
