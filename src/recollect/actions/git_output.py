"""Which commits the output of a git command names, and whether it made them or listed them.

Only the output of a command that really was git is read, and only in git's own forms: a line
that merely starts with hex digits is not a commit. It does not know where the output came from.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple

_MAKES = frozenset({"commit", "merge", "cherry-pick", "revert", "rebase", "am", "pull"})
_LISTS = frozenset({"log", "show", "whatchanged"})


class Commit(NamedTuple):
    """One commit: its hash as git wrote it, its subject, and whether it was made just now."""

    hash: str
    subject: str
    made: bool


@cache
def _made() -> re.Pattern[str]:
    return re.compile(r"^\s*\[[^\[\]\n]+ ([0-9a-f]{7,40})\] (\S.*)$", re.MULTILINE)


@cache
def _one_line() -> re.Pattern[str]:
    return re.compile(r"^[*|/\\_ ]*([0-9a-f]{7,40}) (?:\([^()\n]*\) )?(\S.*)$", re.MULTILINE)


@cache
def _headed() -> re.Pattern[str]:
    return re.compile(r"^[*|/\\_ ]*commit ([0-9a-f]{40})(?: \(.*\))?$")


def commits_in(commands: Iterable[Sequence[str]], output: str) -> list[Commit]:
    """The commits that these git commands made or listed, newest first."""
    made: dict[str, Commit] = {}
    listed: dict[str, Commit] = {}
    for command in commands:
        name, options = command[0], command[1:]
        if name in _MAKES:
            for found in _made().finditer(output):
                made[found[1][:7]] = Commit(found[1], found[2].strip(), True)
        elif name in _LISTS:
            for commit in _listed(output, any(map(_is_one_line, options))):
                listed.setdefault(commit.hash[:7], commit)
    newest_first = [made[key] for key in reversed(made)]
    return newest_first + [commit for key, commit in listed.items() if key not in made]


def _is_one_line(option: str) -> bool:
    form = option.partition("=")[2].strip("'\"").removeprefix("format:")
    if option.startswith(("--pretty=", "--format=")):
        return form == "oneline" or form.startswith(("%h ", "%H "))
    return option == "--oneline"


def _listed(output: str, one_line: bool) -> Iterator[Commit]:
    digest = ""
    for line in output.split("\n"):
        if found := _headed().match(line):
            digest = found[1]
        elif digest and line.lstrip("*|/\\_ ") and "    " in line[:12]:
            yield Commit(digest, line.lstrip("*|/\\_ ").strip(), False)
            digest = ""
    if one_line:
        for found in _one_line().finditer(output):
            yield Commit(found[1], found[2].strip(), False)
