"""The canonical form of a shell command: the part that is worth repeating.

`cd a && FOO=1 mise run test:ci 2>&1 | tail` is `mise run test:ci`; `go test ./x -run T` is
`go test`. Commands are counted by this form. They are shown as they were run, `FOO=1 mise run
test:ci`, without the target of a single run. The words of a command give its purpose. Only programs
that look, move files or talk to a remote are listed by name, because they are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..fast_typing import NamedTuple
from .command_setup import (
    ShellSetup,
    shown_before,
)
from .command_words import (
    RUNNERS,
    TEMPORARY,
    is_dangerous_word,
    is_lasting,
    is_looking,
    is_noise,
    is_quiet,
    purpose_of,
    word_set,
)
from .form_builder import NESTS, FormBuilder
from .shell import SimpleCommand, Word, simple_commands, unwrap

_ASKS = "--help -h --version -V -v?"
_LONGEST_EXACT = 80
ELSEWHERE = "?"
"""A folder outside of the project, or an unknown one."""


class CommandForm(NamedTuple):
    """A command in canonical form. `key` is equal for all wordings of one command; `wording` is the
    command as it was run, with assignments, options and operands, without its target."""

    key: str
    wording: str
    purpose: str
    is_dangerous: bool
    folder: str = ""
    """The folder below the project's root that it was run in, or ELSEWHERE."""
    target: str = ""
    """Its argument that the wording leaves out: a path, the name of a test."""
    bare: str = ""
    """The wording without what was set up before the program."""
    exact: str = ""
    """The short command with its target and all options; empty for a long one."""


class CommandRun(NamedTuple):
    """One simple command of a shell line: its form, and how it ended (ok, failed or unknown)."""

    form: CommandForm
    state: str


def forms_of(line: str) -> list[CommandForm]:
    """Return the canonical forms in a shell line, each once; commands that only look or move files
    have none."""
    found: dict[tuple[str, str, str], CommandForm] = {}
    for run in runs_of(line, "ok"):
        found.setdefault((run.form.key, run.form.wording, run.form.folder), run.form)
    return list(found.values())


def runs_of(line: str, state: str, cwd: str = "", start: str = "") -> list[CommandRun]:
    """Return the commands of a line that ended in `state`, each with its own state.

    start: the folder below `cwd` that the shell is in

    If a chain of several commands failed, it is unknown which one did.
    """
    placed, _ = _walk(line, cwd, start)
    found: list[tuple[int, CommandForm]] = []
    others, piped = 0, False
    setup = ShellSetup()
    for place, (command, folder) in enumerate(placed):
        name = command.words[0].text
        setup.add(command)
        if not piped and name != "cd":
            form = form_of(command.words, setup.before(command.words))
            if form:
                found.append((place, form._replace(folder=folder)))
            else:
                others += not (is_noise(name) or name == "mkdir")
        piped = command.after in ("|", "|&")
    alone = len(found) == 1 and not others
    runs = []
    for place, form in found:
        command, filters = placed[place][0], placed[place + 1 : place + 2]
        hidden = command.after in ("|", "|&") and not any(_shows_end(one) for one, _ in filters)
        blamed = alone or (command.after == ";" and place == len(placed) - 1)
        ended = "unknown" if hidden else _state(command, form, state, blamed)
        runs.append(CommandRun(form, ended))
    return runs


def _shows_end(filter: SimpleCommand) -> bool:
    """Check whether a filter keeps the end of an output, where a command reports its result: the
    exit status is that of the filter."""
    return filter.words[0].text in ("tail", "head", "tee", "cat", "less", "more")


def folder_after(line: str, cwd: str, start: str = "") -> str:
    """Return the folder below `cwd` that a shell is in after a line, or ELSEWHERE."""
    return _walk(line, cwd, start)[1]


def _walk(line: str, cwd: str, start: str) -> tuple[list[tuple[SimpleCommand, str]], str]:
    """Return the commands of a line with the folder that each is run in, and the folder at the end.
    Commands in the background or in parentheses do not change the shell's folder."""
    placed: list[tuple[SimpleCommand, str]] = []
    folder = outer = start
    for command in simple_commands(below(line, cwd)):
        words = [word.text for word in command.words]
        if words[0] == "cd":
            folder = _folder(words, folder, line, cwd)
        placed.append((command, folder))
        if command.after in ("&", ")"):
            folder = outer
        elif command.after in (";", "\n"):
            outer = folder
    return placed, folder


def below(text: str, cwd: str) -> str:
    """Return a path or line with paths made relative to a folder."""
    root = cwd.rstrip("/")
    return text.replace(f"{root}/", "") if root else text


def _state(command: SimpleCommand, form: CommandForm, state: str, blamed: bool) -> str:
    """Return how a command ended; `blamed` if it made its line fail."""
    if form.folder == ELSEWHERE or command.after == "&":
        return "unknown"  # only the start of a background command was seen
    if state == "ok":
        return "unknown" if command.after == "||" else "ok"
    return "failed" if state == "failed" and blamed else "unknown"


def _folder(words: Sequence[str], before: str, line: str, cwd: str) -> str:
    """Return the folder below the root that a `cd` leads to; ELSEWHERE outside of it."""
    target = words[1].removeprefix("./").rstrip("/") if len(words) > 1 else "~"
    if target == cwd.rstrip("/") or target in ("", "."):
        return before if target == "." else ""
    if target[0] in "/~$-" or "$" in target:
        return ELSEWHERE
    from_root = bool(cwd) and f"{cwd.rstrip('/')}/{target}" in line
    if before == ELSEWHERE and not from_root:
        return ELSEWHERE
    parts = [] if from_root or not before else before.split("/")
    for part in target.split("/"):
        if part != "..":
            parts.append(part)
        elif parts:
            parts.pop()
        else:
            return ELSEWHERE
    return "/".join(parts)


# ---------------------------------------------------------------- one command


def form_of(words: Sequence[Word], setup: str | None = None) -> CommandForm | None:
    """Return the canonical form of a simple command; None if it is not worth repeating.

    setup: the text before its program; None for its own assignments and wrappers
    """
    left = list(unwrap(words))
    forced = any(word.text in ("sudo", "doas") for word in words[: len(words) - len(left)])
    if not left or not left[0].literal or any(word.text in word_set(_ASKS) for word in left[1:4]):
        return None
    program = left[0].text
    name = program.rpartition("/")[2]
    if program.startswith(("/", "~")):
        if program.startswith(TEMPORARY):
            return None
        left = [Word(name, True), *left[1:]]
    if is_quiet(name) or not re.match(r"[\w.@]", name):
        return None
    kept = FormBuilder()
    if not kept.add_command(left):
        return None
    if name not in word_set(RUNNERS) and any(
        is_looking(word) for word in kept.key[1:3] if word not in kept.values
    ):
        return None
    plain = [word for word in kept.key if word not in kept.values]
    purposeful = [w for w in plain[:-1] if w not in word_set(NESTS)] + plain[-1:]
    # A hyphenated word behind program and subcommand is an argument: `mux capture eval-verify`.
    purposeful = purposeful[:2] + [word for word in purposeful[2:] if word.isalpha() or ":" in word]
    dangerous = forced or any(map(is_dangerous_word, (*plain, *kept.wording)))
    if setup is None:
        setup = "".join(f"{word} " for word in shown_before(words[: len(words) - len(left)]))
    return CommandForm(
        key=" ".join(kept.key),
        wording=f"{setup}{' '.join(kept.wording)}",
        bare=" ".join(kept.wording),
        purpose=purpose_of(purposeful),
        is_dangerous=dangerous,
        target=kept.target,
        exact=_exact(setup, left),
    )


def _exact(before: str, left: Sequence[Word]) -> str:
    """Return a short command as it was written; empty when a part of it would not mean the same
    next time."""
    lasting = all(word.literal and is_lasting(word.text) for word in left)
    text = f"{before}{' '.join(word.text for word in left)}"
    return text if lasting and len(text) <= _LONGEST_EXACT else ""
