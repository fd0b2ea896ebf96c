"""Word the findings of earlier sessions: past tense, with counts and dates, commands in code marks.

    test: `pnpm test` worked in 6 sessions, last on 2026-03-02; `pnpm e2e` once, on 2026-02-11
    `npm test` failed in 3 sessions; `pnpm test` worked since, in 6 sessions, last on 2026-03-02
    Resolved before, in 2 sessions, last on 2026-03-02: …

Our own code computed these facts from tool calls and exit statuses. They are statements, never
instructions, and hold no prose of a tool.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from ..actions.command_setup import shown_assignment
from ..fast_typing import TYPE_CHECKING
from ..text import display
from ..text.tokens import count_tokens
from ..types.records import Document, Json
from .rendering import COMMANDS, HISTORY, STATE, UNCONFIRMED, Item, code, plain

if TYPE_CHECKING:
    from ..episodes.session_errors import Remedy
    from ..lessons.findings import (
        CommandAdvice,
        Conclusion,
        KnownCommand,
        KnownPlace,
        KnownResolution,
    )

LONGEST_LINE = 158
LONGEST_STATE = 240
MOST_FILES, MOST_ADDED = 3, 2
LEAST_TOGETHER, MOST_TOGETHER = 3, 2
"""The sessions in which files must have changed together to be named, and how many are named: with
two sessions and three files, half of those named were not touched."""


def command_lines(commands: Sequence[KnownCommand], budget: int = 0) -> list[Item]:
    """Return the commands that worked as lines with several commands each, grouped by purpose; with
    a budget of tokens, as many of the first as fit."""
    while budget and commands:
        lines = _command_items(commands)
        if sum(count_tokens(f"- {item.line}\n") for item in lines) <= budget:
            return lines
        commands = commands[:-1]
    return _command_items(commands)


def _command_items(commands: Sequence[KnownCommand]) -> list[Item]:
    purposes = list(dict.fromkeys(one.purpose for one in commands))
    ordered = sorted(commands, key=lambda one: purposes.index(one.purpose))
    lines: list[list[KnownCommand]] = []
    before = None
    for command in ordered:
        if lines and len(_command_line([*lines[-1], command], before)) <= LONGEST_LINE:
            lines[-1].append(command)
        else:
            before = lines[-1][-1] if lines else None
            lines.append([command])
    ends = [None, *(group[-1] for group in lines)]
    return [_command_item(group, end) for group, end in zip(lines, ends, strict=False)]


def _command_item(group: Sequence[KnownCommand], before: KnownCommand | None) -> Item:
    forms = tuple(one.form for one in group)
    worked = max(one.sessions_succeeded for one in group)
    return _fact(
        "command",
        command_ref(forms[0]),
        COMMANDS,
        text=" ".join(forms),
        date=_date(max(one.last_success for one in group)),
        why=f"worked in up to {display.format_count(worked, 'session')}",
        line=_command_line(group, before),
        forms=forms,
    )


def _fact(kind: str, ref: str, section: str = "", **more: Json) -> Item:
    """Return an item with a line made by our own code."""
    return Item(ref, ref, section, kind, label="system", **more)


def command_ref(form: str) -> str:
    """Return the name under which a command is logged as shown."""
    return f"command:{form}"


def avoid_ref(form: str) -> str:
    """Return the name under which the warning about a failing command is logged."""
    return f"avoid:{form}"


def _command_line(group: Sequence[KnownCommand], before: KnownCommand | None) -> str:
    """Format the commands of a line; a date that is the same as before is not repeated.

    before: the last command of the line above
    """
    parts = []
    for place, one in enumerate(group):
        goes_on = place > 0 and one.purpose == group[place - 1].purpose
        named = "" if goes_on else f"{one.purpose or 'other'}: "
        last = _date(one.last_success)
        date = _date(before.last_success) if before else ""
        sessions = one.sessions_succeeded
        is_once = sessions <= 1
        when = "" if last == date else f", on {last}" if is_once else f", last on {last}"
        verb = "" if before else "worked "
        unit = "" if before or is_once else " sessions"
        often = "once" if is_once else f"in {sessions}{unit}"
        instead = f", in place of {_listed(one.replaces[:2])}" if one.replaces else ""
        parts.append(f"{named}{code(_with_path(one))}{_where(one)} {verb}{often}{when}{instead}")
        before = one
    return "; ".join(parts)


def _with_path(command: KnownCommand) -> str:
    """Return a command with the common folder of the paths that it was given."""
    return f"{command.form} ./{command.below}/…" if command.below else command.form


def _where(command: KnownCommand) -> str:
    """Return the folder that a command was run in, and whether it had another argument."""
    folder = f" in {code(command.folder)}" if command.folder else ""
    return f"{folder} with an argument" if command.with_argument and not command.below else folder


def advice_line(advice: CommandAdvice) -> Item:
    """Return the warning before a command that failed, with the form that worked since."""
    failed = f"failed in {advice.sessions_failed} sessions"
    worked = (
        f"worked since in {advice.sessions_succeeded} sessions, last on {_date(advice.last)}"
        if advice.sessions_succeeded > 1
        else f"worked since once, on {_date(advice.last)}"
    )
    return _fact(
        "advice",
        avoid_ref(advice.form),
        text=advice.form,
        date=_date(advice.last),
        why=f"{failed}, another form succeeded since",
        line=f"{code(advice.broken or advice.form)} {failed}; {code(advice.better)} {worked}",
        forms=(advice.form, advice.better),
    )


def resolution_lines(known: Sequence[KnownResolution]) -> list[Item]:
    """Return the earlier resolutions of an error, a line each; of unconfirmed ones that edited
    files only the newest."""
    single = [one for one in known if not one.confirmed and one.remedy.files]
    newest = max(single, key=lambda one: one.last, default=None)
    return [resolution_line(one) for one in known if one not in single or one is newest]


def resolution_line(known: KnownResolution) -> Item:
    """Return a line about an earlier resolution of the same error."""
    sessions = f"{known.sessions} sessions" if known.sessions > 1 else "one session"
    when = (
        f"Resolved in {sessions}, last on {_date(known.last)}"
        if known.confirmed
        else f"Unconfirmed: this error went away once, on {_date(known.last)}"
    )
    remedy = known.remedy
    return _fact(
        "resolution",
        f"resolution:{known.command}:{known.signature}",
        text=known.signature,
        date=_date(known.last),
        why="the same error was resolved before",
        line=f"{when}, {describe_remedy(remedy, known.command)}",
        forms=tuple(filter(None, (remedy.other_form, remedy.step_before))),
        files=remedy.files,
    )


def describe_remedy(remedy: Remedy, command: str) -> str:
    """Return the changes after which an error went away: "after running `make gen`"."""
    parts = []
    if remedy.step_before:
        # Only the user may suggest a command with sudo.
        step = remedy.step_before.removeprefix("sudo ")
        parts.append(f"running {code(step)}{' as root' * (step != remedy.step_before)}")
    if remedy.other_form:
        parts.append(f"running {code(remedy.other_form)} instead")
    elif remedy.gained or remedy.lost:
        shown = (shown_assignment(word) or word for word in remedy.gained)
        gained = f" with {_listed(shown)}" if remedy.gained else ""
        lost = f" without {_listed(remedy.lost)}" if remedy.lost else ""
        parts.append(f"running {code(command)}{gained}{lost}")
    if remedy.added:
        added, last = _listed(remedy.added[:MOST_ADDED]), _listed(remedy.files[-1:])
        parts.append(f"edits that added {added}, last in {last}")
    elif remedy.files:
        parts.append(f"editing {_listed(remedy.files[:MOST_FILES])}")
    return f"after {' and '.join(parts)}"


def place_lines(path: str, places: Sequence[KnownPlace]) -> list[Item]:
    """Return the files that were changed together with a file."""
    often = [
        place
        for place in places
        if place.sessions >= LEAST_TOGETHER
        # Files of one folder are changed together by chance, unless it is every time.
        and (place.sessions >= place.of or not _are_neighbours(path, place.files))
    ]
    named = list(dict.fromkeys(file for place in often for file in place.files if file != path))
    if not named:
        return []
    sessions = max(place.sessions for place in often)
    return [
        _fact(
            "place",
            f"place:{path}",
            text=path,
            why=f"changed together in {sessions} sessions",
            line=f"{code(path)} was changed together with {_listed(named[:MOST_TOGETHER])}",
            files=tuple(named[:MOST_TOGETHER]),
        )
    ]


def _are_neighbours(path: str, files: Sequence[str]) -> bool:
    folder = path.rpartition("/")[0]
    return any(file.rpartition("/")[0] == folder for file in files)


def conclusion_line(known: Conclusion) -> Item:
    """Return a line with a conclusion of an agent, quoted, with its session and date."""
    session = short_session(known.session)
    ref = f"conclusion:{known.session}:{known.at}"
    return Item(
        id=f"session {session}",
        address=ref,
        section=UNCONFIRMED,
        kind="conclusion",
        text=known.text,
        label="agent",
        date=_date(known.at),
        why=f"evidence followed it: {known.evidence}",
    )


def episode_line(id: str, goal: str, outcome: str, at: int) -> Item:
    """Return a line with a task of an earlier session in the user's words, and its outcome."""
    return Item(
        id=id,
        address=f"memory://{id}",
        section=HISTORY,
        kind="message",
        text=display.shorten(goal, LONGEST_LINE),
        label="user",
        date=_date(at),
        mark="" if outcome == "unknown" else f"ended in {outcome}",
        why="the latest tasks, where little else is known",
    )


def task_lines(document: Document) -> Iterator[Item]:
    """Yield a line for the running task, and one for each blocked phase."""
    from ..work import records

    task = records.TASK.load(document.fields)
    waiting = [one.name for one in task.phases if one.state not in ("done", "active", "blocked")]
    step = f", phase {task.phase}" if task.phase else ""
    after = f", next: {waiting[0]}" if waiting else ""
    yield state_line(document, "Running task", f"{task.title}{step}{after}", "it is not complete")
    for phase in task.phases:
        if phase.state == "blocked":
            content = f"{phase.name}: {phase.report}"
            yield state_line(document, "Blocked", content, "a phase is blocked")


def handoff_line(document: Document) -> Item:
    """Return a line for a waiting handoff, with the command that accepts it."""
    name = document.address.removeprefix("memory://handoff/")
    item = state_line(document, "A handoff waits", document.title, "it was not accepted yet")
    return item._replace(line=f"{item.line}; {code(f'recollect handoff accept {name}')}")


def state_line(document: Document, name: str, content: str, why: str) -> Item:
    """Return a line of the section "Where things stand"."""
    text = plain(content)[:LONGEST_STATE]
    own = document.label == "user"
    when = "" if own else f", {document.label} {_date(document.valid_from)}"
    return Item(
        id=f"{document.address}#{name}",
        address=f"{document.address}#{name}",
        section=STATE,
        kind="state",
        text=f"{name} {text}",
        label=document.label,
        why=why,
        line=f"{name}{when}: {text if own else display.quote_data(text)}",
    )


def short_session(session: str) -> str:
    """Return a prefix of a session's id that finds it."""
    host, dot, own = session.partition(".")
    return f"{host}.{own[:8]}" if dot else session[:16]


def _listed(words: Iterable[str]) -> str:
    return ", ".join(map(code, words))


def _date(at: int) -> str:
    return display.format_time(at)[:10]
