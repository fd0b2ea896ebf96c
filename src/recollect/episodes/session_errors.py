"""What one session says about errors: the line that an error is recognised by, and the difference
that made the same call pass.

Only shell results have signatures. Of each, the last occurrence in the session counts: whatever was
done before did not keep the error away. A re-run, reading, polling and failed commands are no
remedies, nor is anything in a temporary folder.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from ..actions.call_results import CallAttempt
from ..actions.command_forms import below, form_of, outline
from ..actions.command_output import TOOL_MISUSE, TRANSIENT, signatures
from ..actions.command_words import is_dangerous, is_lasting, is_noise, is_quiet
from ..actions.shell import SimpleCommand, simple_commands
from ..fast_typing import NamedTuple
from ..types.records import Json

AHEAD = 60
MOST_WORDS, MOST_LOST = 8, 3
MOST_FILES = 3
_ABOUT_THE_CALL = frozenset(
    ("usage", "command not found", "permission denied", "unsupported version")
)
_WRONG_PLACE = _ABOUT_THE_CALL | {"not found", "missing module"}
_NO_LESSON = frozenset((*TRANSIENT, *TOOL_MISUSE, "merge conflict"))
"""Types of errors that pass by themselves, or whose resolution fits no other time."""

_CHECKS = frozenset(("test", "lint", "typecheck", "check", "build"))
_GIT_CHANGES = frozenset(
    ("add", "rm", "mv", "fetch", "pull", "rebase", "merge", "init", "submodule", "lfs", "worktree")
)
_REMOTE = frozenset(("ssh", "scp", "curl", "wget"))
_STASHES = ("git stash", "git checkout", "git restore", "git reset")


class SessionObservation(NamedTuple):
    """What one session says about a subject, such as a command or an error. `at` is when it was
    last true; `body` is JSON that `lessons.findings` understands."""

    kind: str
    subject: str
    at: int
    body: Mapping[str, Json]


class Remedy(NamedTuple):
    """The difference that made a failed call pass; at least one field is filled."""

    gained: tuple[str, ...] = ()
    """Words that the command gained."""
    lost: tuple[str, ...] = ()
    """Words that the command lost."""
    step_before: str = ""
    """A command that was run before."""
    other_form: str = ""
    """The command that was run in place of the failed one."""
    files: tuple[str, ...] = ()
    """Files that were edited in between, as paths from the project."""
    symbol: str = ""


def errors_of_session(tried: Sequence[CallAttempt], cwd: str) -> list[SessionObservation]:
    """Return an observation for each signature whose last occurrence was resolved."""
    last: dict[str, int] = {}
    for place, attempt in enumerate(tried):
        for line in _signatures(attempt):
            last[line] = place
    found = []
    remedies: dict[int, tuple[int, Remedy] | None] = {}
    for line, place in last.items():
        if place not in remedies:
            remedies[place] = _resolved(tried, place, cwd)
        if resolved := remedies[place]:
            at, remedy = resolved
            body = {
                "line": line,
                "commands": programs_of(tried[place].script),
                "remedy": remedy._asdict(),
                "rank": _signatures(tried[place]).index(line),
            }
            found.append(SessionObservation("error", line.lower(), at, body))
    return found


def _signatures(attempt: CallAttempt) -> tuple[str, ...]:
    if attempt.state != "failed" or not attempt.script or attempt.trouble is None:
        return ()
    if attempt.trouble.type in _NO_LESSON or _REMOTE.intersection(attempt.script.split()):
        return ()
    return signatures(attempt.output)


def programs_of(script: str) -> list[str]:
    """Return program and subcommand of each command in a shell line, without filters."""
    found: dict[str, None] = {}
    piped = False
    for command in simple_commands(script):
        name = _program(command)
        if name and not is_noise(name.split()[0]) and not piped:
            found[name] = None
        piped = command.after in ("|", "|&")
    return list(found)


def _resolved(tried: Sequence[CallAttempt], place: int, cwd: str) -> tuple[int, Remedy] | None:
    """Return when the same call passed and what was done for it."""
    broken = tried[place]
    goal = _goal(broken.script)
    between: list[CallAttempt] = []
    for later in tried[place + 1 : place + 1 + AHEAD]:
        if later.state != "ok" or later.asked <= broken.answered:
            continue
        if goal and any(_is_same(goal, _name(one)) for one in simple_commands(later.script)):
            if any(one.script and one.script.startswith(_STASHES) for one in between):
                return None  # it passed without the changes
            remedy = _remedy(broken, later, between, cwd)
            return (later.at, remedy) if remedy else None
        between.append(later)
    return None


def _is_same(one: str, other: str) -> bool:
    """Check whether two commands are the same, one of them perhaps with a word more."""
    return one == other or f"{one} ".startswith(f"{other} ") or f"{other} ".startswith(f"{one} ")


def _goal(script: str) -> str:
    """Return the command that a line leads up to: the last one that does more than look."""
    named = [_name(one) for one in simple_commands(script)]
    telling = [name for name in named if name and not is_noise(name.split()[0])]
    forms = [_name(one) for one in simple_commands(script) if form_of(one.words)]
    return forms[-1] if forms else telling[0] if telling else ""


def _name(command: SimpleCommand) -> str:
    """Return by what a command is recognised as the same one."""
    form = form_of(command.words)
    return form.key if form else _program(command)


def _program(command: SimpleCommand) -> str:
    """Return program and subcommand of any command."""
    words = (word for word in outline(command.words).split() if word[0] != "-")
    return " ".join(list(words)[:2])


def _remedy(
    broken: CallAttempt, worked: CallAttempt, between: Sequence[CallAttempt], cwd: str
) -> Remedy | None:
    kind = broken.trouble.type if broken.trouble else ""
    files = _edited(between, broken.output, cwd)
    if kind in _WRONG_PLACE and (place := _other_place(broken.script, worked.script, cwd)):
        return Remedy(step_before=place)
    if files and (broken.checks or kind not in _ABOUT_THE_CALL):
        return Remedy(files=files)
    if step := _step(broken, worked, between):
        return None if is_dangerous(step.split()) else Remedy(step_before=step)
    gained, lost = _words(broken.script, worked.script, cwd)
    if is_dangerous(gained):
        return None
    if gained or 0 < len(lost) <= MOST_LOST:
        return Remedy(gained=gained, lost=lost if len(lost) <= MOST_LOST else ())
    return Remedy(files=files) if files else None


def _other_place(before: str, after: str, cwd: str) -> str:
    """Return the `cd` that came before the command when it passed, if it did not before."""
    there, here = _place(after, cwd), _place(before, cwd)
    if not there or there == here:
        return ""
    return f"cd {there}" if there != "." else "cd <project root>"


def _place(script: str, cwd: str) -> str:
    first = simple_commands(script)[0].words
    if first[0].text != "cd" or len(first) < 2:
        return ""
    target = first[1].text.rstrip("/") or "/"
    if target == cwd.rstrip("/"):
        return "."
    target = below(target, cwd)
    return target if is_lasting(target) and not target.startswith("..") else ""


def _edited(between: Sequence[CallAttempt], output: str, cwd: str) -> tuple[str, ...]:
    """Return the files that were edited, those that the output names first."""
    paths = (below(path, cwd) for one in between for path in one.writes if not one.script)
    files = list(dict.fromkeys(path for path in paths if is_lasting(path)))
    named = [path for path in files if path.rpartition("/")[2] in output]
    return tuple((named or files)[-MOST_FILES:])


def _words(before: str, after: str, cwd: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that the command gained and lost; none when nearly all are different."""
    old, new = (list(dict.fromkeys(_told(script, cwd))) for script in (before, after))
    gained = tuple(word for word in new if word not in set(old) and not is_quiet(word))
    lost = tuple(word for word in old if word not in set(new))
    return (gained if len(gained) <= MOST_WORDS else ()), lost


def _told(script: str, cwd: str) -> Iterator[str]:
    """Return the words of a line that may make a difference: no paths that do not last, no
    filters of its output."""
    piped = False
    for command in simple_commands(below(script, cwd)):
        if not piped and not is_noise(command.words[0].text):
            for word in command.words:
                for part in word.text.split():
                    part = part.replace('"', "").replace("'", "")
                    if is_lasting(part) and sum(map(str.isalpha, part)) > 1 and len(part) <= 60:
                        yield part
        piped = command.after in ("|", "|&")


def _step(broken: CallAttempt, worked: CallAttempt, between: Sequence[CallAttempt]) -> str:
    """Return a command that was run as well this time: in the same line, or in a call before."""
    known = set(map(_name, simple_commands(broken.script)))
    steps = [
        outline(command.words)
        for attempt in (*between, worked)
        for command in (simple_commands(attempt.script) if attempt.script else ())
        if _name(command) not in known and _changes_something(command)
    ]
    return steps[-1] if steps else ""


def _changes_something(command: SimpleCommand) -> bool:
    """Check whether a command can make a difference to the next one: it does not look or check."""
    form = form_of(command.words)
    if form:
        return form.purpose not in _CHECKS and form.purpose != ""
    words = outline(command.words).split()
    if not words or words[0] not in ("git", "mkdir", "rm", "mv", "cp", "ln", "touch"):
        return False
    return words[0] != "git" or (len(words) > 1 and words[1] in _GIT_CHANGES)
