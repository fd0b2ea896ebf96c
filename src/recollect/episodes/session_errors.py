"""Observe the errors of one session: the line that identifies an error, and the remedy, the part of
its resolution that other sessions can use.

`episodes.resolutions` decides when an error was resolved. Only shell results have signatures. The
last occurrence of an error in the session counts: changes before it did not resolve it. An edit
counts only if it was surely made for this error: an edit of the file that the error's line names;
without one, of a file that the output names, or the only edit. Files in temporary folders do not
count.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence

from ..actions.call_results import CallAttempt, share_a_file
from ..actions.command_effects import can_affect_next, choosing_words, may_start_service
from ..actions.command_forms import below, form_of
from ..actions.command_output import TOOL_MISUSE, TRANSIENT, WRONG_CALL, ErrorLine, error_lines
from ..actions.command_words import (
    is_dangerous,
    is_lasting,
    is_noise,
    is_quiet,
    suggests_danger,
)
from ..actions.shell import SimpleCommand, outline, script_name, simple_commands, unwrap
from ..actions.tool_calls import read_edit
from ..fast_typing import NamedTuple
from ..types.records import Json
from .resolutions import Recovery, find_recovery

MOST_WORDS, MOST_LOST = 8, 3
LONGEST_WHOLE = 100
"""Characters of a command that is shown whole."""
MOST_FILES = 3
MOST_ADDED, LONGEST_ADDED = 8, 40
_WRONG_FOLDER = WRONG_CALL | {"missing module"}
"""Types of errors that the same command in another folder can resolve."""

_NO_LESSON = frozenset((*TRANSIENT, *TOOL_MISUSE, "merge conflict"))
"""Types of errors that go away by themselves, or whose resolution is of no use later."""

_CHANGE_NOTHING = frozenset(("", "test", "lint", "typecheck", "check", "build"))
"""Purposes of commands that do not affect the next command."""
_REMOTE = frozenset(("ssh", "scp", "curl", "wget"))
_FILE_PROGRAMS = frozenset(("mkdir", "rm", "mv", "cp", "ln", "touch"))
"""Programs whose outline is useless as a step: it leaves out the paths."""


class SessionObservation(NamedTuple):
    """An observation in one session about a subject, such as a command or an error, with the time
    of the newest; `body` is JSON that `lessons.findings` reads."""

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
    """Files that were edited for it, as paths from the project."""
    added: tuple[str, ...] = ()
    """Names that edits added to the file of the error's line, and that the line names, too."""
    also: tuple[str, ...] = ()
    """Other names that these edits added; they count if another session added them as well."""


def remedy_from_json(given: Mapping[str, Json]) -> Remedy:
    """Parse a remedy that was stored as JSON."""
    values: dict[str, Json] = {
        name: tuple(v) if isinstance(v, list) else v for name, v in given.items()
    }
    return Remedy(**values)


def is_clear(given: Mapping[str, Json]) -> bool:
    """Check whether the difference is easy to describe: another command, one word, or one option
    with its value."""
    gained, lost = given["gained"], given["lost"]
    return bool(given["other_form"]) or all(
        len(words) <= 1 or (len(words) == 2 and words[0].startswith("-"))
        for words in (gained, lost)
    )


def common_remedy(one: Remedy, other: Remedy) -> Remedy | None:
    """Return the common part of two sessions' remedies, `one` being the newer; None if they share
    no word, step or file. Edits that added the same names match in any file."""
    if one == other:
        return one
    names = {*other.added, *other.also}
    if added := tuple(name for name in (*one.added, *one.also) if name in names):
        return Remedy(files=one.files, added=added)
    shared: dict[str, Json] = {
        name: tuple(word for word in getattr(one, name) if word in getattr(other, name))
        for name in ("gained", "lost", "files")
    }
    shared |= {
        name: getattr(one, name)
        for name in ("step_before", "other_form")
        if getattr(one, name) == getattr(other, name)
    }
    common = Remedy(**shared)
    return common if common != Remedy() else None


def errors_of_session(tried: Sequence[CallAttempt], cwd: str) -> list[SessionObservation]:
    """Return an observation for each signature whose last occurrence was resolved."""
    last: dict[str, tuple[int, int, ErrorLine]] = {}
    for place, attempt in enumerate(tried):
        for rank, line in enumerate(_error_lines(attempt)):
            last[line.signature] = place, rank, line
    recoveries = {place: find_recovery(tried, place) for place, _, _ in last.values()}
    found = []
    for name, (place, rank, line) in last.items():
        recovery = recoveries[place]
        if recovery and (remedy := _remedy(line, tried[place], recovery, cwd)):
            body = {
                "line": name,
                "commands": programs_of(tried[place].script),
                "remedy": remedy._asdict(),
                "rank": rank,
            }
            found.append(SessionObservation("error", name.lower(), recovery.worked.at, body))
    return found


def _error_lines(attempt: CallAttempt) -> list[ErrorLine]:
    if attempt.state != "failed" or not attempt.script or attempt.trouble is None:
        return []
    if attempt.trouble.type in _NO_LESSON or _REMOTE.intersection(attempt.script.split()):
        return []
    return error_lines(attempt.output)


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


def _name(command: SimpleCommand) -> str:
    """Return the key that identifies a command."""
    form = form_of(command.words)
    return form.key if form else _program(command)


def _program(command: SimpleCommand) -> str:
    """Return program and subcommand of any command; of an interpreter, the script that it runs."""
    if name := script_name(command.words):
        return name
    words = [word for word in outline(command.words).split() if word[0] != "-"]
    return " ".join(words[: 3 if words[:1] == ["gh"] else 2])


def _remedy(line: ErrorLine, broken: CallAttempt, recovery: Recovery, cwd: str) -> Remedy | None:
    worked, between = recovery.worked, recovery.between
    kind = broken.trouble.type if broken.trouble else ""
    if kind in _WRONG_FOLDER and (place := _other_place(broken.script, worked.script, cwd)):
        return Remedy(step_before=place)
    edits = [one for one in between if _edited(one, cwd)]
    if edits and (broken.checks or kind not in WRONG_CALL - {"not found"}):
        return _edit_remedy(line, broken.output, edits, cwd)
    if step := _step(broken, worked, between):
        words = step.removeprefix("sudo ").split()
        is_file = words[:1] and words[0] in _FILE_PROGRAMS and len(words) < 3
        is_usable = bool(words) and not is_file and not is_dangerous(words)
        return Remedy(step_before=step) if is_usable else None
    gained, lost = _words(broken.script, worked.script, cwd, kind in WRONG_CALL)
    if is_dangerous(gained) or not (gained or 0 < len(lost) <= MOST_LOST):
        return None
    found = Remedy(gained=gained, lost=lost if len(lost) <= MOST_LOST else ())
    alone = len(programs_of(broken.script)) == len(programs_of(worked.script)) == 1
    if alone and is_clear(found._asdict()):
        return found
    # Show the whole command, if the next session can run it unchanged.
    whole = " ".join(below(worked.script, cwd).split())
    is_usable = len(whole) <= LONGEST_WHOLE and all(map(is_lasting, whole.split()))
    return found._replace(other_form=whole) if is_usable and not suggests_danger(whole) else None


# ---------------------------------------------------------------- edits


def _edit_remedy(
    line: ErrorLine, output: str, edits: Sequence[CallAttempt], cwd: str
) -> Remedy | None:
    """Return the edits that were made for an error; None if it is not certain which."""
    if line.files:
        names = [below(name, cwd) for name in line.files]
        own = [one for one in edits if share_a_file(_edited(one, cwd), names)]
        if not own:
            return None
        added, also = _added(own, line.text)
        return Remedy(files=_files(own, cwd), added=added, also=also)
    files = _files(edits, cwd)
    in_output = set(re.findall(_FILE_NAMES, output))
    named = [path for path in files if path.rpartition("/")[2] in in_output]
    if not named and len(files) > 1:
        return None
    return Remedy(files=tuple(named or files)[-MOST_FILES:])


def _edited(attempt: CallAttempt, cwd: str) -> list[str]:
    """Return the files of the project that a call of an editing tool changed."""
    paths = [] if attempt.script else [below(path, cwd) for path in attempt.writes]
    return [path for path in paths if is_lasting(path)]


def _files(edits: Sequence[CallAttempt], cwd: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(path for one in edits for path in _edited(one, cwd)))


def _added(edits: Sequence[CallAttempt], line: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the names that edits added to the code and did not remove elsewhere: first those that
    resemble a word of the error's line, then the others, if they are few."""
    old: set[str] = set()
    new: dict[str, None] = {}
    for one in edits:
        before, after = read_edit(one.call)
        if not before:
            return (), ()  # the names of a whole new file have nothing to do with the error
        old.update(re.findall(_CODE_NAMES, re.sub(_COMMENTS, "", before)))
        new.update(dict.fromkeys(re.findall(_CODE_NAMES, re.sub(_COMMENTS, "", after))))
    names = [
        name
        for name in new
        if name not in old and len(name) <= LONGEST_ADDED and not suggests_danger(f"`{name}`")
    ]
    parts = set(map(str.lower, re.findall(_PARTS, line)))
    own = [one for one in names if not parts.isdisjoint(map(str.lower, re.findall(_PARTS, one)))]
    also = [one for one in names if one not in own]
    return tuple(own[:MOST_ADDED]), tuple(also if len(also) <= MOST_ADDED else ())


_FILE_NAMES = r"[\w@.-]*\w\.\w{1,5}\b"
_CODE_NAMES = (
    r"(?://|#|@|```|--)[A-Za-z][\w.:-]*\w"
    r"|\b[A-Za-z_]+(?:[._:][A-Za-z_]\w*)+|\b[a-z]+(?:[A-Z]\w*)+|\b(?:[A-Z][a-z]\w*){2,}"
)
"""Match words that occur in code only: `a.b`, `a_b`, `aB`, `//nolint:x`, a fence with `text`."""

_COMMENTS = r"(?m)\w+://[^\s\"'`<>)]*|(?://|#|--) .*$|/\*.*?\*/|<!--.*?-->"
"""Match comments and URLs, which hold no code names."""

_PARTS = r"[A-Z]?[a-z]{3,}|[A-Z]{3,}"


# ---------------------------------------------------------------- commands


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


def _words(
    before: str, after: str, cwd: str, with_tests: bool
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the words that the command gained and lost, those that choose among tests only
    `with_tests`; no gained ones if there are too many."""
    chosen = set() if with_tests else choosing_words(below(f"{before}\n{after}", cwd))
    old, new = (list(dict.fromkeys(_lasting_words(script, cwd))) for script in (before, after))
    gained = tuple(word for word in new if word not in {*old, *chosen} and not is_quiet(word))
    lost = tuple(word for word in old if word not in {*new, *chosen})
    return (gained if len(gained) <= MOST_WORDS else ()), lost


def _lasting_words(script: str, cwd: str) -> Iterator[str]:
    """Yield the words of a line, without temporary paths and output filters."""
    piped = False
    for command in simple_commands(below(script, cwd)):
        if not piped and not is_noise(command.words[0].text):
            for word in command.words:
                for part in word.text.split():
                    part = part.replace('"', "").replace("'", "")
                    if is_lasting(part) and sum(map(str.isalpha, part)) > 1 and len(part) <= 60:
                        yield part
        piped = command.after in ("|", "|&")


def _outline(command: SimpleCommand) -> str:
    """Return program, subcommand and options; a short copy or new folder with its paths."""
    words = [word.text for word in unwrap(command.words)]
    whole = " ".join(words)
    is_whole = words[:1] in (["cp"], ["mkdir"]) and len(whole) <= LONGEST_WHOLE
    return whole if is_whole and all(map(is_lasting, words)) else outline(command.words)


def _as_root(command: SimpleCommand) -> str:
    """Return `sudo ` for a command that was run with it; empty where it named another user."""
    words = [word.text for word in command.words[:2]]
    return "sudo " if words[0] in ("sudo", "doas") and words[1:] != ["-u"] else ""


def _step(broken: CallAttempt, worked: CallAttempt, between: Sequence[CallAttempt]) -> str:
    """Return a command that was run in addition: in the same line, or in a call before.

    A formatter counts only for a check other than a test, and only if no file was edited.
    """
    known = set(map(_name, simple_commands(broken.script)))
    is_test = broken.trouble is not None and broken.trouble.type == "test failure"
    edited = any(one.writes and not one.script for one in between)
    idle = _CHANGE_NOTHING | {"format"} if is_test or edited else _CHANGE_NOTHING
    steps = [
        _as_root(command) + _outline(command)
        for attempt in (*between, worked)
        for command in (simple_commands(attempt.script) if attempt.script else ())
        if _name(command) not in known
        and (
            can_affect_next(command, idle)
            or may_start_service([word.text for word in unwrap(command.words)], broken.output)
        )
    ]
    return steps[-1] if steps else ""
