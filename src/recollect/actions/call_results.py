"""Decide how every tool call of a session ended, and which were errors.

A call that did not succeed is not always an error: the user may have refused it, it may never have
run because another call failed, and a search without a hit is a result. A call with status 0 may
have failed: a pipe can hide the exit status of a check. `actions.command_output` reads the error,
`episodes.resolutions` decides what resolved it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import NamedTuple
from ..text.messages import PlacedMessage, parse_arguments, plain_text
from ..types.records import Json, Message, ToolCall
from .command_output import (
    ErrorSignature,
    find_error,
    is_error_line,
    never_began,
    output_lines,
    ran_nothing,
    reports_failure,
)
from .command_words import (
    RUNNERS,
    is_check,
    is_noise,
    is_quiet,
    makes_changes,
    only_looks,
    word_set,
)
from .shell import command_words
from .tool_calls import (
    describe_target,
    find_script,
    is_failed,
    read_arguments,
    read_effects,
    read_exit_status,
    split_tool_name,
    unwrap_output,
)

Words = tuple[str, ...]

_LOOKING_TOOLS = "read view grep glob search list ls find fetch websearch webfetch codesearch"
_ABOUT = ("url", "query", "pattern", "description", "prompt", "subject", "skill", "name")


class CallAttempt(NamedTuple):
    """One tool call and its outcome.

    `state` is ok, failed, missed (it searched and did not find), refused (by the user), skipped (it
    never ran), running (outcome unknown), or unanswered. `asked` and `answered` are message
    numbers. `commands` are the main commands of a shell script. `words` are the assistant's words
    directly before, `git` the git commands. Only a failed call has a `trouble`.
    """

    asked: int
    answered: int
    at: int
    call: ToolCall
    script: str
    commands: tuple[Words, ...]
    target: str
    reads: tuple[str, ...]
    writes: tuple[str, ...]
    state: str
    output: str
    words: str = ""
    trouble: ErrorSignature | None = None
    git: tuple[Words, ...] = ()

    @property
    def checks(self) -> bool:
        """Check whether a command is a test, lint or build."""
        return any(map(is_check, self.commands))

    @property
    def looks(self) -> bool:
        """Check whether the call only reads."""
        if self.script:
            return not self.writes and all(map(_looks, self.commands))
        words = set(split_tool_name(self.call.name))
        return not self.writes and bool(self.reads or words & word_set(_LOOKING_TOOLS))


def list_attempts(messages: Iterable[PlacedMessage]) -> list[CallAttempt]:
    """Return every call of these messages in order, with its outcome."""
    asked: list[tuple[PlacedMessage, ToolCall, list[PlacedMessage], str]] = []
    latest: dict[str, list[PlacedMessage]] = {}
    words = ""
    for one in messages:
        if one.message.role == "assistant":
            words = plain_text(one.message) or words
        for call in one.message.calls:
            # Without ids, a result belongs to the call directly before it.
            latest[call.id] = []
            asked.append((one, call, latest[call.id], words))
        if one.message.role == "tool":
            words = ""
            latest.get(one.message.call_id, []).append(one)
    found: list[CallAttempt] = []
    running: dict[str, CallAttempt] = {}
    for one, call, answers, before in asked:
        attempt = _attempt(one, call, answers, running, before)
        if attempt.state == "running" and (handle := re.search(_HANDLE, attempt.output)):
            running[handle[1]] = attempt
        found.append(attempt)
    return found


def _attempt(
    asked: PlacedMessage,
    call: ToolCall,
    answers: list[PlacedMessage],
    running: Mapping[str, CallAttempt],
    words: str,
) -> CallAttempt:
    arguments = read_arguments(call.arguments) or {}
    script = find_script(arguments)
    effects = read_effects(call)
    bare = CallAttempt(
        asked=asked.seq,
        answered=answers[-1].seq if answers else 0,
        at=asked.message.at,
        call=call,
        script=script,
        commands=main_commands(script),
        target=" ".join(script.split())[:200]
        if script
        else describe_target(call) or _about(arguments),
        reads=effects.reads,
        writes=effects.writes,
        state="unanswered",
        output="\n".join(unwrap_output(one.message) for one in answers),
        words=words,
        git=effects.git,
    )
    given = [one.message for one in answers]
    polled = None if script else _polled(arguments, running)
    if polled is None:
        return _judged(bare, given)
    # A poll of a background command: its final status is this call's.
    whole = bare._replace(script=polled.script, commands=polled.commands, target=polled.target)
    ended = read_exit_status("\n".join(map(plain_text, given))) is not None
    return _judged(whole, given) if ended else bare._replace(state="running")


def _polled(
    arguments: Mapping[str, Json], running: Mapping[str, CallAttempt]
) -> CallAttempt | None:
    return next(
        (running[value] for value in map(str, arguments.values()) if value in running), None
    )


def _about(arguments: Mapping[str, Json]) -> str:
    values = (arguments.get(name) for name in _ABOUT)
    return next((" ".join(value.split())[:200] for value in values if isinstance(value, str)), "")


# ---------------------------------------------------------------- how it ended


def _judged(attempt: CallAttempt, answers: list[Message]) -> CallAttempt:
    if not answers:
        return attempt
    text = "\n".join(map(plain_text, answers))
    status = read_exit_status(text)
    broken = any(map(is_failed, answers)) or bool(status)
    if not broken:
        if re.search(_RUNNING, text[:600]):
            return attempt._replace(state="running")
        if attempt.checks and ran_nothing(attempt.output):
            return attempt._replace(state="missed")
        if not _fails_quietly(attempt):
            return attempt._replace(state="running" if _is_cut_off(attempt) else "ok")
    elif re.search(_REFUSED, text[:600]):
        return attempt._replace(state="refused")
    elif "ibling tool call errored" in text[:200]:
        return attempt._replace(state="skipped")
    elif attempt.looks or _found_nothing(attempt, status):
        return attempt._replace(state="missed")
    words = [word for command in attempt.commands for word in command[:4]] or [attempt.call.name]
    return attempt._replace(state="failed", trouble=find_error(attempt.output, words))


_REFUSED = (
    r"(?i)user doesn't want to (?:proceed|take this action)|(?:rejected|denied|declined|aborted"
    r"|cancelled|canceled) by (?:the )?user|user (?:rejected|denied|declined|cancelled)"
    r"|\[Request interrupted by user|Tool execution aborted|requires? (?:user )?approval"
    r"|permission to use .{1,80} has been denied"
)
_RUNNING = (
    r"Process running with session ID|Command running in background with ID"
    r"|started in (?:the )?background|still running with shellId|<command with shellId"
)
_HANDLE = r"(?:session ID|with ID|shellId)[: ]+(\w+)"


def _found_nothing(attempt: CallAttempt, status: int | None) -> bool:
    """Check whether a script ended with a search without a hit: `git branch | grep gone`."""
    if status != 1 or any(map(is_error_line, output_lines(attempt.output))):
        return False
    given = command_words(attempt.script)
    return bool(given) and only_looks(given[-1][0])


def _fails_quietly(attempt: CallAttempt) -> bool:
    """Check whether a command failed although its script succeeded: a pipe swallowed the status."""
    swallowed = "|" in attempt.script or ";" in attempt.script.rstrip(";\n ")
    if not swallowed or attempt.looks:
        return False
    makes = any(makes_changes(one) and not is_quiet(one[0]) for one in attempt.commands)
    ends = attempt.checks or makes
    return never_began(attempt.output) or (ends and reports_failure(attempt.output))


def _is_cut_off(attempt: CallAttempt) -> bool:
    """Check whether the end of a check's output is missing, or all of it behind a pipe."""
    if attempt.checks and "|" in attempt.script and not attempt.output.strip():
        return True
    found = re.search(_HEAD, attempt.script) if attempt.checks else None
    # Tools trim output: a few blank lines at the end may be missing.
    return bool(found and attempt.output.rstrip().count("\n") + 4 > int(found[1] or 10))


_HEAD = r"\| *head(?: +-n? *(\d+))?\b"


# ---------------------------------------------------------------- commands


def main_commands(script: str) -> tuple[Words, ...]:
    """Return the main commands of a script, without filters, wrappers and noise."""
    if not script:
        return ()
    found = [_tool(words) for words in command_words(script)]
    loud = [words for words in found if not is_noise(words[0])]
    real = [words for words in loud if not only_looks(words[0])]
    return tuple(dict.fromkeys(real or loud or found))


def _tool(words: list[str]) -> Words:
    """Return a command without the runner in front and the folder of its program."""
    while len(words) > 1 and words[0] in word_set(RUNNERS):
        words = words[1:]
        while len(words) > 1 and words[0].startswith("-"):
            words = words[1:]
    return (words[0].rpartition("/")[2] or words[0], *words[1:])


def _looks(words: Words) -> bool:
    """Check whether a command only reads; polling remote checks counts as reading."""
    asks = words[:3] == ("gh", "pr", "checks") or words[:3] == ("gh", "run", "watch")
    return asks or only_looks(words[0])


# ---------------------------------------------------------------- two calls


def share_a_file(some: Sequence[str], others: Sequence[str]) -> bool:
    """Check whether a file is in both; one may be named from the root and the other from the
    project."""
    return any(
        one == other or one.endswith(f"/{other}") or other.endswith(f"/{one}")
        for one in some
        for other in others
    )


def are_mostly_alike(one: CallAttempt, other: CallAttempt) -> bool:
    """Check whether half of the shorter call's words are in the longer one: they edit the same
    place."""
    first, second = given_words(one), given_words(other)
    return 2 * len(first & second) >= min(len(first), len(second))


def given_words(attempt: CallAttempt) -> set[str]:
    """Return the words in the arguments of a call, without paths."""
    arguments = parse_arguments(attempt.call.arguments)
    if arguments is None:
        return set(attempt.call.arguments.split())
    texts = (str(value) for key, value in arguments.items() if "path" not in key.lower())
    return {word for text in texts for word in text.split()}
