"""Decide which commands, and which words of a command, can resolve an error.

A command that only looks cannot affect the next one. A run of other tests does not resolve the
error of a test: the one that failed was left out, or was run alone.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence

from .command_forms import form_of
from .command_output import is_unreachable
from .command_words import (
    NARROWING,
    is_check,
    is_looking,
    is_quiet,
    purpose_of,
    purpose_of_part,
    word_set,
)
from .shell import SimpleCommand, outline, simple_commands

_GIT_CHANGES = "add rm mv fetch pull rebase merge init submodule lfs worktree"


def can_affect_next(command: SimpleCommand, idle: Collection[str]) -> bool:
    """Check whether a command can affect the next one.

    idle: the purposes of commands that cannot
    """
    form = form_of(command.words)
    if form:
        return form.purpose not in idle
    words = outline(command.words).split()
    if not words or words[0] not in ("git", "mkdir", "rm", "mv", "cp", "ln", "touch"):
        return False
    return words[0] != "git" or (len(words) > 1 and words[1] in word_set(_GIT_CHANGES))


_TARGET_RUNNERS = "make gmake just task rake mise npm pnpm yarn bun composer invoke"


def may_start_service(words: Sequence[str], output: str) -> bool:
    """Check whether a command may start the service that a program could not reach: one that runs
    or serves something, or a target that is named after a word of the program's output, such as
    `make redis-test` for `redis.exceptions.ConnectionError`."""
    if not words or not is_unreachable(output) or is_quiet(words[0]) or is_check(words):
        return False
    if purpose_of(words) == "run":
        return not any(map(is_looking, words[1:3]))
    if words[0] not in word_set(_TARGET_RUNNERS):
        return False
    parts = {part for word in words[1:3] for part in re.split(r"[\W_]+", word.lower())}
    lowered = output.lower()
    return any(len(part) > 2 and not purpose_of_part(part) and part in lowered for part in parts)


_CHOOSING = r"(?i)skip|ignore|exclude|deselect|last-failed|^--?(?:lf|ff|sw|m|g|bench|count)$"
"""Match further options of test runners that choose among the tests, or repeat them."""

CONFIGURING = (
    "-c --config -C --cwd --rootdir -tags --tags --features --env --profile -o --out --output"
)
"""Options whose value is a path or a name that chooses no test."""


def choosing_words(script: str) -> set[str]:
    """Return the words of a line that choose among tests: `-run TestA`, `tests/test_a.py::test_b`.
    Quoted words are split, without their quotes."""
    return {
        part.replace('"', "").replace("'", "")
        for command in simple_commands(script)
        for word in _choosing_arguments([word.text for word in command.words])
        for part in word.split()
    }


def _choosing_arguments(words: Sequence[str]) -> set[str]:
    """Return the arguments that choose tests: those after the word that means testing."""
    names = [word for word in words if not _is_path(word) and purpose_of([word]) == "test"]
    if not names:
        return set()
    found: set[str] = set()
    option = ""
    for word in words[words.index(names[0]) + 1 :]:
        if word.startswith("-"):
            option = word.partition("=")[0]
            if re.search(NARROWING, option) or re.search(_CHOOSING, option):
                found.add(word)
            option = "" if "=" in word else option
        else:
            is_value = bool(option) and option not in found and not _is_path(word)
            if not is_value and option not in word_set(CONFIGURING):
                found.add(word)
            option = ""
    return found


def _is_path(word: str) -> bool:
    return "/" in word or "::" in word or bool(re.search(r"\w\.[a-z]{1,4}$", word))
