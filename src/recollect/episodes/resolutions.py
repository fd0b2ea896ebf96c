"""Decide whether and by which changes an error was resolved: the failed call, the same call working
later in the session, and the successful calls between them.

A retry is a call of the same command, tool or target; a run of other tests is no retry. A plain
re-run that works resolves nothing: a file, the environment or the command must have changed.
`fixes` describes the changes for a person; `episodes.session_errors` reads the part that other
sessions can use.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from ..actions.call_results import CallAttempt, Words, are_mostly_alike, given_words, share_a_file
from ..actions.command_effects import CONFIGURING, may_start_service
from ..actions.command_output import TRANSIENT, WRONG_CALL, ErrorSignature
from ..actions.command_setup import assignments_of
from ..actions.command_words import is_check, makes_changes, word_set
from ..actions.tool_calls import read_edit
from ..text.messages import parse_arguments

FARTHEST = 60
"""The most calls between an error and the call that works again."""

NEAR = 8
"""The most calls between an error and a changed command that works."""

MOST_CHANGES = 3
MOST_UNNAMED_FILES = 4
"""Edits of files that the error does not name count only if there are at most so many."""

LONGEST_LINE = 80
LONGEST_REASON = 240

_ABOUT_THE_CALL = WRONG_CALL | {"tool parameters", "timeout"}
"""Types of errors that a changed call can resolve."""


class Recovery(NamedTuple):
    """The way from a failed call to the same call working.

    `changed` is the first retry without the error: it works, or fails with another error. `between`
    are the successful calls from the error to it: the changes that resolved the error are there.
    `words` are the agent's words after the error.
    """

    worked: CallAttempt
    changed: CallAttempt
    between: tuple[CallAttempt, ...]
    words: str


class Fix(NamedTuple):
    """A failed attempt, the one that worked, and a description of the changes in between.

    `reason` is the agent's first sentence after the error.
    """

    failed: CallAttempt
    worked: CallAttempt
    trouble: ErrorSignature
    resolution: str
    reason: str


def find_recovery(attempts: Sequence[CallAttempt], place: int) -> Recovery | None:
    """Return how the failed call at `place` came to work later in the session.

    None if it never did, if its error goes away by itself or was expected, and if it worked only
    with the changes stashed: that locates an error and resolves nothing.
    """
    broken = attempts[place]
    trouble = broken.trouble
    if trouble is None or trouble.type in TRANSIENT:
        return None
    later = attempts[place + 1 : place + 1 + FARTHEST]
    words = next((one.words for one in later if one.asked > broken.answered), "")
    if re.search(_EXPECTED, words):
        return None
    between: list[CallAttempt] = []
    first: tuple[CallAttempt, int] | None = None
    for distance, attempt in enumerate(later, 1):
        if attempt.asked <= broken.answered or attempt.state not in ("ok", "failed"):
            continue
        is_retry = _is_retry(broken, attempt, trouble, distance)
        if is_retry and attempt.state == "ok" and not _hides_error(trouble, attempt):
            if _stashes(attempt) and not _stashes(broken):
                return None
            changed, count = first or (attempt, len(between))
            return Recovery(attempt, changed, tuple(between[:count]), words)
        if is_retry and first is None and _fails_otherwise(attempt, broken, trouble):
            first = attempt, len(between)
        if attempt.state == "ok":
            between.append(attempt)
    return None


def fixes(attempts: Sequence[CallAttempt]) -> list[Fix]:
    """Return the resolved errors, in their order."""
    found: list[Fix] = []
    for place, attempt in enumerate(attempts):
        trouble, recovery = attempt.trouble, find_recovery(attempts, place)
        if trouble and recovery:
            resolution = _describe_resolution(attempt, trouble, recovery)
            if resolution:
                found.append(
                    Fix(
                        failed=attempt,
                        worked=recovery.worked,
                        trouble=trouble,
                        resolution=resolution,
                        reason=_sentence(recovery.words),
                    )
                )
    return found


def _stashes(attempt: CallAttempt) -> bool:
    return ("git", "stash") in (one[:2] for one in attempt.commands)


def _hides_error(trouble: ErrorSignature, later: CallAttempt) -> bool:
    """Check whether a script succeeds although the program is still missing: `which x || echo`."""
    return trouble.type == "command not found" and "not found" in later.output[:600]


def _fails_otherwise(later: CallAttempt, broken: CallAttempt, trouble: ErrorSignature) -> bool:
    """Check whether a retry fails with another error that does not come from the remedy."""
    if later.trouble is None or later.trouble == trouble:
        return False
    program = later.trouble.message.partition(":")[0]
    return all(one[0] != program for one in set(later.commands) - set(broken.commands))


_EXPECTED = (
    r"(?i)\bfail(?:s|ed|ing)?,? (?:as (?:expected|intended)|without)\b|expected (?:to fail|failure)"
    r"|\bload-bearing\b|\bproven\b"
)
"""Match words about an expected failure: a test before its code, a test put to the test."""


# ---------------------------------------------------------------- retries


def _is_retry(
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
    """Return the absolute folder that a script changes to first; empty without one."""
    found = re.match(r"\s*cd (/\S+)", script)
    return found[1].rstrip("/;") if found else ""


def _corrects(removed: set[str], added: set[str]) -> bool:
    """Check whether a path was corrected: a file of the same name in another folder."""
    names = {_name(word) for word in added}
    return not removed or not added or any(_name(word) in names for word in removed)


def _name(path: str) -> str:
    """Return the last part of a path, also with backslashes or quotes."""
    return path.replace("\\", "/").strip("'\"").rstrip("/").rpartition("/")[2]


def _plain(command: Words) -> Words:
    """Return a command without its options: `go test -v ./...` is `go test ./...`."""
    return tuple(word.removesuffix(":fix") for word in command if not word.startswith("-"))


def _covers(command: Words, check: Words, broken: CallAttempt) -> bool:
    """Check whether a command repeats a check, whole or in the part that failed."""
    asked, given = _plain(check), _plain(command)
    if not given or asked[:1] != given[:1] or not is_check(given):
        return False
    if set(given) <= set(asked):
        return True
    values = {value for option, value in pairwise(command) if option in word_set(CONFIGURING)}
    more = set(given) - set(asked) - values
    if asked[:2] == given[:2] and any(word.endswith("...") or word == "." for word in more):
        return True
    named = (word.partition("::")[0].rpartition("/")[2] for word in more)
    return set(asked) <= set(given) and all(name and name in broken.output for name in named)


def _overlap(one: set[str], other: set[str]) -> float:
    return len(one & other) / max(len(one | other), 1)


# ---------------------------------------------------------------- changes


def _describe_resolution(broken: CallAttempt, trouble: ErrorSignature, recovery: Recovery) -> str:
    """Return a description of the changes that resolved an error; empty after a plain re-run."""
    words = _names_in(f"{trouble.message}\n{broken.output[:6_000]}")
    changes = [
        (attempt, _relevance(attempt, broken, words, trouble))
        for attempt in recovery.between
        if trouble.type != "edit mismatch"
        and (attempt.writes or _changes(attempt) or _starts_service(attempt, broken))
    ]
    best = sorted(changes, key=lambda change: -change[1])[:MOST_CHANGES]
    chosen = [one for one, relevance in changes if relevance and (one, relevance) in best]
    own = _describe_difference(broken, recovery.changed, trouble, recovery.between)
    if not chosen and not own:
        files = {path for one, _ in changes for path in one.writes}
        if len(files) <= MOST_UNNAMED_FILES:
            chosen = [one for one, _ in changes][-MOST_CHANGES:]
    parts = [*(_describe_change(one, words) for one in chosen), *([own] if own else [])]
    return "; ".join(dict.fromkeys(parts))


def _relevance(
    attempt: CallAttempt, broken: CallAttempt, words: frozenset[str], trouble: ErrorSignature
) -> int:
    """Rate the relevance of a change for an error by their common files and names."""
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


def _starts_service(attempt: CallAttempt, broken: CallAttempt) -> bool:
    """Check whether another command may have started the service that the broken one needed."""
    known = set(map(_plain, broken.commands))
    return any(
        _plain(one) not in known and may_start_service(one, broken.output)
        for one in attempt.commands
    )


def _describe_change(attempt: CallAttempt, words: frozenset[str]) -> str:
    if not attempt.writes:
        return f"ran `{short(attempt.script)}`"
    files = ", ".join(attempt.writes[:MOST_CHANGES])
    if attempt.script:
        return f"changed {files} with `{short(attempt.script)}`"
    before, after = read_edit(attempt.call)
    olds, news = ([line.strip() for line in side.splitlines()] for side in (before, after))
    removed = _most_relevant((line for line in olds if line not in news), words)
    added = _most_relevant((line for line in news if line not in olds), words)
    if removed and added:
        return f"edited {files} (`{short(removed)}` → `{short(added)}`)"
    if removed:
        return f"edited {files} (removed `{short(removed)}`)"
    return f"edited {files} (added `{short(added)}`)" if added else f"edited {files}"


def _most_relevant(lines: Iterable[str], words: frozenset[str]) -> str:
    """Return the line that shares most names with an error, or else the first line with text."""
    filled = [line for line in lines if line]
    return max(filled, key=lambda line: len(_names_in(line) & words), default="")


def _describe_difference(
    broken: CallAttempt,
    worked: CallAttempt,
    trouble: ErrorSignature,
    between: Sequence[CallAttempt],
) -> str:
    """Return how the call that worked differs from the one that failed."""
    if worked.script:
        known = set(map(_plain, broken.commands))
        more = [one for one in worked.commands if _plain(one) not in known and not is_check(one)]
        kept = len(worked.commands) > len(more)
        called = trouble.type in _ABOUT_THE_CALL or not any(map(is_check, broken.commands))
        repairs = _changes(worked) and not _changes(broken)
        same = _without_filters(broken.script) == _without_filters(worked.script)
        edited = any(one.writes and not one.script for one in between)
        given = not edited and assignments_of(worked.script) - assignments_of(broken.script)
        if not same and (called or repairs or given or (more and kept)):
            return _describe_call(broken.script, worked.script)
        return ""
    if worked.writes and trouble.type != "edit mismatch":
        return ""
    if worked.writes and not read_edit(worked.call)[0]:
        return "wrote the whole file anew"
    if worked.writes:
        again = any(not set(attempt.reads).isdisjoint(worked.writes) for attempt in between)
        return "edited it with its exact text" + (" after reading it again" if again else "")
    before, after = (parse_arguments(one.call.arguments) or {} for one in (broken, worked))
    changed = [
        f"{key}={short(str(value))}" for key, value in after.items() if before.get(key) != value
    ]
    return f"called {worked.call.name} with {', '.join(changed[:4])}" if changed else ""


def _without_filters(script: str) -> list[str]:
    """Return the words of a script without `head`, `tail` and `2>&1`."""
    return re.sub(r" *2>&1|\| *(?:head|tail)\b[ \w-]*", "", script).split()


def _describe_call(before: str, after: str) -> str:
    """Return the command that was run in place of another: whole, or only the different part."""
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
