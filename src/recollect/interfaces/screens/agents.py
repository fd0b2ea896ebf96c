"""What commands about agents show to people."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ...text import display
from ...types.records import Memory
from .results import render_table

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
        lines.append(f"  not read: {display.format_line(path)}: {display.format_line(reason)}")
    if len(problems) > _MOST_LISTED:
        lines.append(f"  and {len(problems) - _MOST_LISTED} more; --json shows all")
    if done.captured:
        lines.append(f"captured from your messages ({len(done.captured)}):")
        for learned in done.captured[:_MOST_LISTED]:
            memory = learned.memory
            status = "proposed " if memory.status == "proposed" else ""
            text = display.format_line(memory.text, 120)
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
        f"{display.format_line(name)} {number}" for name, number in total.most_common(6)
    )
    return [f"  skipped as {title}: {_number(total.total(), 'record')} ({reasons})"]


def _captures(memories: Sequence[Memory]) -> str:
    if not memories:
        return "nothing was captured from your messages"
    rows = (
        (item.id, item.status, item.kind, str(item.detail["captured"]), item.text)
        for item in memories
    )
    return render_table(("ID", "STATUS", "KIND", "RULE", "TEXT"), rows)


def _initialised(done: Any) -> str:

    lines = render_warning(done)
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
        lines += ["", *(render_diff(change) for change in waiting), ""]
        lines.append("nothing was written; the same command with --yes does it")
    elif waiting and not done.removing:
        lines.append("`recollect init` connects what is missing or stale")
    if done.applied and any(change.pending and change.before for change in done.changes):
        lines.append(f"backups: {done.backups}")
    if done.removing:
        lines.append(f"the memory stays: {done.database}")
        return "\n".join(lines)
    if done.applied:
        from ...agents.connections import get_next_step

        agents = dict.fromkeys(change.agent for change in done.changes if change.pending)
        lines += [f"{agent}: {get_next_step(agent)}" for agent in agents]
    if done.imported:
        lines.append(_imported(done.imported))
    elif done.past:
        told = _number(done.past, "past conversation")
        lines.append(f"{told} of this project: `recollect import` reads them")
    if not done.checked:
        lines.append('try: recollect learn "…"   then: recollect recall "…"')
    return "\n".join(lines)


def _packaged(done: Any) -> str:

    return "\n".join(
        [f"wrote {done.path}", *(f"  {name}" for name in done.files), *render_warning(done)]
    )


def _state(change: Any, done: Any) -> str:
    if change.error:
        return f"BAD  {change.agent}: {change.path}: {display.escape_invisible(change.error)}"
    state = change.state
    if done.applied and change.pending:
        state = "removed" if done.removing else "written"
    return f"{change.agent}: {change.what} in {change.path}: {state}"


def _number(count: int, name: str) -> str:
    return f"{count} {name}" if count == 1 else f"{count} {name}s"


SCREENS: dict[str, Callable[[Any], str]] = {
    "init": _initialised,
    "plugin": _packaged,
    "import": _imported,
    "capture list": _captures,
    "capture undo": lambda memory: f"archived {memory.id}: {display.format_line(memory.text)}",
}


def run_init(given: Mapping[str, Any], run: Callable[[dict[str, Any]], Any]) -> Any:
    """Run `init`; warn before anything is written, and ask unless `--yes` was given.

    `run` does it with some arguments changed."""
    if given.get("yes"):
        _print_warning(run({"print": True}))
        return run({})._replace(warning="")
    done = run({})
    if given.get("check") or given.get("print") or not _is_attended():
        return done
    return _ask(done, run)._replace(warning="")


def _is_attended() -> bool:
    """Check whether a person can read a question and answer it."""
    return all(stream and stream.isatty() for stream in (sys.stdin, sys.stdout))


def _print_warning(done: Any) -> None:
    if done.warning:
        print("\n".join(render_warning(done)), flush=True)


def render_warning(done: Any) -> list[str]:
    """Return the lines that warn of a program that may not stay where it is."""
    first, *more = display.escape_invisible(done.warning).splitlines() or [""]
    return [f"warning: {first}", *(f"  {line}" for line in more)] if first else []


def _ask(done: Any, run: Callable[[dict[str, Any]], Any]) -> Any:
    """Return the result after the person agreed to what was planned."""
    waiting = [change for change in done.changes if change.pending]
    more: dict[str, Any] = {}
    _print_warning(done)
    if waiting:
        print("\n".join(render_diff(change) for change in waiting))
        number = display.format_count(len(waiting), "file")
        if _agrees(f"Change {number} as shown? A backup is kept. [y/N] "):
            more["yes"] = True
    number = display.format_count(done.past, "past conversation")
    if done.past and _agrees(f"Import {number} of this project? [y/N] "):
        more["import_"] = True
    declined = bool(waiting) and "yes" not in more
    # What was made a moment ago is still what this command did.
    last = run(more)._replace(created=done.created) if more else done
    return last._replace(declined=declined)


def _agrees(question: str) -> bool:
    try:
        return input(question).strip().lower() in ("y", "yes")
    except EOFError:
        print()
        return False


def render_diff(change: Any) -> str:
    """What would change in a file, as a unified diff that is safe to show."""
    from difflib import unified_diff

    lines = unified_diff(
        change.before.splitlines(),
        change.after.splitlines(),
        f"{change.path} (now)",
        f"{change.path} ({change.agent}, {change.what})",
        lineterm="",
        n=2,
    )
    return "\n".join(display.escape_invisible(line) for line in lines)
