"""Setup in front of a program: `PYTHONPATH=src`, `source .venv/bin/activate &&`.

It is shown with a command, because without it the command may fail, and never counted: a command is
the same with and without it. A value that means nothing next time, or that was redacted, is `…`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .command_words import TEMPORARY, word_set
from .shell import SimpleCommand, Word, simple_commands, unwrap

LONGEST_VALUE = 40
LEFT_OUT = "…"

_SHOWN_WRAPPERS = "xvfb-run corepack env sudo doas"
"""Wrappers without which a command may do something else; others only limit, time or detach it."""

_ABOUT_OUTPUT = (
    "NO_COLOR FORCE_COLOR CLICOLOR CLICOLOR_FORCE TERM COLUMNS LINES PAGER GIT_PAGER MANPAGER"
    " PYTHONUNBUFFERED PYTHONDONTWRITEBYTECODE"
)
"""Variables that change only how an output looks."""

_SWITCHES = frozenset(
    (("nvm", "use"), ("conda", "activate"), ("mamba", "activate"), ("pyenv", "shell"))
)
"""Commands that change the environment of the shell that they are run in."""

_ASSIGNMENT = r"([A-Za-z_]\w*)(\+?=)(.*)"
_ONE_RUN = r"[\n$*`\"\\\\]|REDACTED|(?<![0-9a-z])(?=[a-f]*\d)[0-9a-f]{8,}(?![0-9a-z])"
"""Match a value that is another one the next time: expanded, a secret, a long number or hash."""


class ShellSetup:
    """The environment that the commands of a shell line set up for those after them."""

    def __init__(self) -> None:
        self._assigned: dict[str, str] = {}
        self._steps: list[str] = []

    def add(self, command: SimpleCommand) -> None:
        """Add what a command changes: `export A=b`, `source x`, `set -a`, `nvm use 20`."""
        words = [word.text for word in command.words]
        if words[0] == "export":
            for word in words[1:]:
                if shown := shown_assignment(word):
                    self._assigned[word.partition("=")[0]] = shown
        elif len(words) > 1 and (
            (words[0] in ("source", ".") and is_showable(words[1]))
            or (words[0] == "set" and words[1] in ("-a", "+a"))
            or tuple(words[:2]) in _SWITCHES
        ):
            self._steps.append(" ".join(words))

    def before(self, words: Sequence[Word]) -> str:
        """Return the text before the program of a command, with the space after it; empty if
        nothing was set up."""
        own = words[: len(words) - len(unwrap(words))]
        named = {word.text.partition("=")[0] for word in own}
        assigned = [text for name, text in self._assigned.items() if name not in named]
        steps = "".join(f"{step} && " for step in dict.fromkeys(self._steps))
        return steps + "".join(f"{word} " for word in (*assigned, *shown_before(own)))


def assignments_of(script: str) -> frozenset[str]:
    """Return the variables that a script sets for its commands, as they are shown."""
    found = set()
    for command in simple_commands(script):
        words = command.words
        own = words if words[0].text == "export" else words[: len(words) - len(unwrap(words))]
        found |= {shown for word in own if (shown := shown_assignment(word.text))}
    return frozenset(found)


def shown_before(words: Sequence[Word]) -> list[str]:
    """Return the words before a program that it needs: assignments, and wrappers that matter."""
    found: list[str] = []
    wraps = False
    for place, word in enumerate(words):
        if re.fullmatch(_ASSIGNMENT, word.text, re.DOTALL):
            found += filter(None, [shown_assignment(word.text)])
        elif word.text[:1] != "-" and not word.text[:1].isdigit():
            wraps = word.text in word_set(_SHOWN_WRAPPERS)
            following = words[place + 1].text if place + 1 < len(words) else ""
            if wraps and (word.text != "env" or following.startswith("-")):
                found.append(word.text)
        elif wraps:
            found.append(word.text)
    return found


def shown_assignment(text: str) -> str:
    """Return an assignment with its value, or with `…` for a value of this run only; empty for
    another word, and for a variable that changes only how an output looks."""
    found = re.fullmatch(_ASSIGNMENT, text, re.DOTALL)
    if found is None or found[1] in word_set(_ABOUT_OUTPUT):
        return ""
    value = found[3] if is_showable(found[3]) else LEFT_OUT
    return f"{found[1]}{found[2]}{value if value == LEFT_OUT else quoted(value)}"


def quoted(text: str) -> str:
    """Return a word in quotes, if a shell needs them."""
    if re.fullmatch(r"[\w@%+=:,./#~^\[\]-]*", text):
        return text
    mark = '"' if "'" in text else "'"
    return f"{mark}{text}{mark}"


def is_showable(value: str) -> bool:
    """Check whether a value means the same in the next session."""
    return (
        len(value) <= LONGEST_VALUE
        and not re.search(_ONE_RUN, value)
        and not any(mark in value for mark in TEMPORARY)
        and not value.startswith(("/home", "/Users", "/root", "~"))
    )
