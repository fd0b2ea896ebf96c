"""Find the resolution of an error: the failed call, the same call working later, and the changes
between them.

An error counts as resolved only if the same command, tool or target works later in the session
and something was changed before it did: a file, the environment, or the command itself. Running
it again until it works explains nothing, and an error that never went away is no lesson. It
decides from the calls alone and knows no episodes.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from ..actions.call_results import CallAttempt, Words, are_mostly_alike, given_words, share_a_file
from ..actions.command_output import TRANSIENT, ErrorSignature
from ..actions.command_words import is_check, makes_changes
from ..actions.tool_calls import read_edit
from ..text.messages import parse_arguments

FARTHEST = 60
"""How many calls later something may work and still be taken for the end of the error."""

NEAR = 8
"""How soon a command that was changed has to work to be taken for the same one."""

MOST_CHANGES = 3
MOST_UNNAMED_FILES = 4
"""Edits that the error does not name explain it only if they are few."""

LONGEST_LINE = 80
LONGEST_REASON = 240

_ABOUT_THE_CALL = frozenset(
    ("usage", "command not found", "not found", "permission denied", "unsupported version",
     "tool parameters", "timeout")
)  # fmt: skip
"""Types of errors that another way of calling can resolve."""


class Fix(NamedTuple):
    """A failed attempt, the attempt that worked, and what was done about it.

    `reason` is what the agent said when it saw the error.
    """

    failed: CallAttempt
    worked: CallAttempt
    trouble: ErrorSignature
    resolution: str
    reason: str
    files: tuple[str, ...]


def fixes(attempts: Sequence[CallAttempt]) -> list[Fix]:
    """Return every error that was resolved, in the order of the errors."""
    found: list[Fix] = []
    for place, attempt in enumerate(attempts):
        if attempt.trouble and attempt.trouble.type not in TRANSIENT:
            later = attempts[place + 1 : place + 1 + FARTHEST]
            if fix := _fix(attempt, attempt.trouble, later):
                found.append(fix)
    return found


def _fix(broken: CallAttempt, trouble: ErrorSignature, later: Sequence[CallAttempt]) -> Fix | None:
    between: list[CallAttempt] = []
    other: tuple[CallAttempt, list[CallAttempt]] | None = None
    for distance, attempt in enumerate(later, 1):
        if attempt.asked <= broken.answered or attempt.state not in ("ok", "failed"):
            continue
        kin = _tries_the_same(broken, attempt, trouble, distance)
        if kin and attempt.state == "ok" and ("git", "stash") in (c[:2] for c in attempt.commands):
            # It worked without the changes: that tells where the error is, not what resolved it.
            return None
        if kin and attempt.state == "ok" and not _says_it_again(trouble, attempt):
            until, changes = other or (attempt, between)
            resolution, files = _describe_resolution(broken, until, trouble, changes)
            if not resolution:
                return None
            answer = next(one for one in later if one.asked > broken.answered)
            if re.search(_EXPECTED, answer.words):
                return None
            return Fix(broken, attempt, trouble, resolution, _sentence(answer.words), files)
        if kin and other is None and _fails_otherwise(attempt, broken, trouble):
            # The next failure is another one: what lies before it is what resolved this one.
            other = attempt, list(between)
        if attempt.state == "ok":
            between.append(attempt)
    return None


def _says_it_again(trouble: ErrorSignature, later: CallAttempt) -> bool:
    """Check whether a script ended well only because it asks for what is not there: `which x ||
    echo`."""
    return trouble.type == "command not found" and "not found" in later.output[:600]


def _fails_otherwise(later: CallAttempt, broken: CallAttempt, trouble: ErrorSignature) -> bool:
    """Check whether the next failure is another one, and not that of the remedy itself."""
    if later.trouble is None or later.trouble == trouble:
        return False
    program = later.trouble.message.partition(":")[0]
    return all(one[0] != program for one in set(later.commands) - set(broken.commands))


_EXPECTED = (
    r"(?i)\bfail(?:s|ed|ing)?,? (?:as (?:expected|intended)|without)\b|expected (?:to fail|failure)"
    r"|\bload-bearing\b|\bproven\b"
)
"""Return what is said of a failure that was wanted: a test before its code, a test put to the
test."""


# ---------------------------------------------------------------- the same again


def _tries_the_same(
    broken: CallAttempt, later: CallAttempt, trouble: ErrorSignature, distance: int
) -> bool:
    if broken.script or later.script:
        both = bool(broken.script and later.script)
        return both and _same_command(broken, later, trouble, distance)
    if broken.writes or later.writes:
        return share_a_file(broken.writes, later.writes) and are_mostly_alike(broken, later)
    if broken.call.name != later.call.name:
        return False
    alike = _overlap(given_words(broken), given_words(later)) >= 0.5
    return (broken.target == later.target or alike) and distance <= NEAR


def _same_command(
    broken: CallAttempt, later: CallAttempt, trouble: ErrorSignature, distance: int
) -> bool:
    if trouble.type not in _ABOUT_THE_CALL and broken.checks:
        places = {_folder(broken.script), _folder(later.script)} - {""}
        if len(places) > 1:
            return False
    if set(map(_plain, broken.commands)) <= set(map(_plain, later.commands)):
        return True
    wanted = [command for command in broken.commands if is_check(command)]
    if wanted and trouble.type not in _ABOUT_THE_CALL:
        return all(any(_covers(one, check, broken) for one in later.commands) for check in wanted)
    if distance > NEAR or (later.looks and not broken.looks):
        return False
    one, other = (_plain(attempt.commands[0]) for attempt in (broken, later))
    if trouble.type == "usage" and len(one) > 2 and one[:2] == other[:2]:
        return len(set(one) & set(other)) >= 0.6 * len(set(one))
    before, after = set(broken.script.split()), set(later.script.split())
    if trouble.type == "not found" and not _corrects(before - after, after - before):
        return False
    return _overlap(before, after) >= 0.5


def _folder(script: str) -> str:
    """Return the folder that a script goes to first, named from the root."""
    found = re.match(r"\s*cd (/\S+)", script)
    return found[1].rstrip("/;") if found else ""


def _corrects(gone: set[str], come: set[str]) -> bool:
    """Check whether a path was corrected: the missing file is looked for by its name elsewhere."""
    named = {_name(word) for word in come}
    return not gone or not come or any(_name(word) in named for word in gone)


def _name(path: str) -> str:
    """Return the last part of a path, however it is written."""
    return path.replace("\\", "/").strip("'\"").rstrip("/").rpartition("/")[2]


def _plain(command: Words) -> Words:
    """Return a command without its options: `go test -v ./...` is `go test ./...`."""
    return tuple(word.removesuffix(":fix") for word in command if not word.startswith("-"))


def _covers(command: Words, check: Words, broken: CallAttempt) -> bool:
    """Check whether a command repeats a check, whole or in the part that failed."""
    asked, given = _plain(check), _plain(command)
    if asked[0] != given[0] or not is_check(given):
        return False
    if set(given) <= set(asked):
        return True
    more = set(given) - set(asked)
    if asked[:2] == given[:2] and any(word.endswith("...") or word == "." for word in more):
        return True
    named = (word.partition("::")[0].rpartition("/")[2] for word in more)
    return set(asked) <= set(given) and all(name and name in broken.output for name in named)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


# ---------------------------------------------------------------- what was done


def _describe_resolution(
    broken: CallAttempt,
    worked: CallAttempt,
    trouble: ErrorSignature,
    between: Sequence[CallAttempt],
) -> tuple[str, tuple[str, ...]]:
    """Return the changes that resolved an error in words, and the changed files."""
    words = _names_in(f"{trouble.message}\n{broken.output[:6_000]}")
    changes = [(attempt, _bearing(attempt, broken, words, trouble)) for attempt in between]
    changes = [(one, bearing) for one, bearing in changes if one.writes or _changes(one)]
    if trouble.type == "edit mismatch":
        changes = []
    best = sorted(changes, key=lambda change: -change[1])[:MOST_CHANGES]
    chosen = [one for one, bearing in changes if bearing and (one, bearing) in best]
    own = _differently(broken, worked, trouble, between)
    if not chosen and not own:
        files = {path for one, _ in changes for path in one.writes}
        if len(files) <= MOST_UNNAMED_FILES:
            chosen = [one for one, _ in changes][-MOST_CHANGES:]
    told = dict.fromkeys([*(_described(one, words) for one in chosen), *([own] if own else [])])
    touched = dict.fromkeys(path for one in chosen for path in one.writes)
    return "; ".join(told), tuple(touched)


def _bearing(
    attempt: CallAttempt, broken: CallAttempt, words: frozenset[str], trouble: ErrorSignature
) -> int:
    """Return how much a change has to do with an error: the files and names that both speak of."""
    if trouble.type in _ABOUT_THE_CALL and attempt.writes and not attempt.script:
        return 0
    if broken.writes and share_a_file(attempt.writes, broken.writes):
        return 5
    files = sum(_name(path) in words for path in attempt.writes)
    before, after = read_edit(attempt.call)
    changed = _names_in(before) ^ _names_in(after) if attempt.writes else _names_in(attempt.script)
    return 3 * files + min(len(changed & words), 5)


_NAMES = r"[A-Za-z_@][\w./\\@-]{3,}\w"


def _names_in(text: str) -> frozenset[str]:
    """Return the names in a text, and the last part of each path."""
    found = re.findall(_NAMES, text)
    return frozenset((*found, *map(_name, found)))


def _changes(attempt: CallAttempt) -> bool:
    return any(map(makes_changes, attempt.commands))


def _described(attempt: CallAttempt, words: frozenset[str]) -> str:
    if not attempt.writes:
        return f"ran `{short(attempt.script)}`"
    files = ", ".join(attempt.writes[:MOST_CHANGES])
    if attempt.script:
        return f"changed {files} with `{short(attempt.script)}`"
    before, after = read_edit(attempt.call)
    olds, news = ([line.strip() for line in side.splitlines()] for side in (before, after))
    gone = _most_telling((line for line in olds if line not in news), words)
    come = _most_telling((line for line in news if line not in olds), words)
    if not (gone and come):
        change = f"removed `{short(gone)}`" if gone else f"added `{short(come)}`"
        return f"edited {files} ({change})" if gone or come else f"edited {files}"
    return f"edited {files} (`{short(gone)}` → `{short(come)}`)"


def _most_telling(lines: Iterable[str], words: frozenset[str]) -> str:
    """Return the line that has most to do with an error; the first that says something, if none
    has."""
    told = [line for line in lines if line]
    return max(told, key=lambda line: len(_names_in(line) & words), default="")


def _differently(
    broken: CallAttempt,
    worked: CallAttempt,
    trouble: ErrorSignature,
    between: Sequence[CallAttempt],
) -> str:
    """Return how the attempt that worked differs from the one that did not."""
    if worked.script:
        known = set(map(_plain, broken.commands))
        more = [one for one in worked.commands if _plain(one) not in known and not is_check(one)]
        kept = len(worked.commands) > len(more)
        called = trouble.type in _ABOUT_THE_CALL or not any(map(is_check, broken.commands))
        repairs = _changes(worked) and not _changes(broken)
        same = _without_filters(broken.script) == _without_filters(worked.script)
        if not same and (called or repairs or (more and kept)):
            return _called(broken.script, worked.script)
        return ""
    if worked.writes and trouble.type != "edit mismatch":
        return ""
    if worked.writes and not read_edit(worked.call)[0]:
        return "wrote the whole file anew"
    if worked.writes:
        again = any(not set(attempt.reads).isdisjoint(worked.writes) for attempt in between)
        return "edited it with its exact text" + (" after reading it again" if again else "")
    before, after = (parse_arguments(one.call.arguments) or {} for one in (broken, worked))
    told = [
        f"{key}={short(str(value))}" for key, value in after.items() if before.get(key) != value
    ]
    return f"called {worked.call.name} with {', '.join(told[:4])}" if told else ""


def _without_filters(script: str) -> list[str]:
    """Return a script without how much of its output is shown."""
    return re.sub(r" *2>&1|\| *(?:head|tail)\b[ \w-]*", "", script).split()


def _called(before: str, after: str) -> str:
    """Return how a command was called in place of another: whole, or the part that is different."""
    olds, news = before.split(), after.split()
    if len(after) > LONGEST_LINE:
        start = next((at for at, (a, b) in enumerate(zip(olds, news, strict=False)) if a != b), 0)
        olds, news = olds[start:], news[start:]
        while olds and news and olds[-1] == news[-1]:
            olds, news = olds[:-1], news[:-1]
        if start and olds and news:
            new, old = (short(" ".join(words).strip(",;")) for words in (news, olds))
            return f"ran it with `{new}` in place of `{old}`"
    return f"ran `{short(after)}`"


def _sentence(words: str) -> str:
    """Return the beginning of a statement, up to the end of a sentence."""
    line = " ".join(words.split())[:LONGEST_REASON]
    end = max(line.rfind(mark) for mark in (". ", "! ", ": "))
    return line[: end + 1] if end > 0 and len(line) == LONGEST_REASON else line


def short(text: str) -> str:
    """Return text on one line that fits into a sentence as code."""
    line = " ".join(text.split()).replace("`", "'")
    return line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
