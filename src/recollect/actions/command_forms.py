"""The canonical form of a shell command: the part that is worth repeating.

`cd a && FOO=1 mise run test:ci 2>&1 | tail` is `mise run test:ci`; `go test ./x -run T` is
`go test`. The words of a command give its purpose. Only programs that look, move files or talk to a
remote are listed by name, because they are ignored.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..fast_typing import NamedTuple
from .command_words import (
    INTERPRETERS,
    NARROWING,
    RUNNERS,
    TEMPORARY,
    is_dangerous_word,
    is_lasting,
    is_looking,
    is_name,
    is_noise,
    is_quiet,
    purpose_of,
    purpose_of_part,
    word_set,
)
from .shell import SimpleCommand, Word, simple_commands, unwrap

_NESTS = "run exec x dlx task tool workspace run-script"
_SELECTS = (
    "--filter -F --workspace -w --prefix -C --cwd --dir --project -p --package -pl -f --file"
    " -tags --tags --manifest-path --config -c --features --env --profile"
)
_INSTALLS = "install i add get remove uninstall rm update upgrade ci"
_INLINE = "-c -e - -p --eval --print -r -s eval"
"""Options of interpreters that are followed by code."""

_ASKS = "--help -h --version -V -v?"
_MOST_WORDS = 8
_LONGEST_EXACT = 80
ELSEWHERE = "?"
"""A folder outside of the project, or an unknown one."""


class CommandForm(NamedTuple):
    """A command in canonical form. `key` is equal for all wordings of one command; `wording` also
    has its options and folders, without arguments of a single occasion."""

    key: str
    wording: str
    purpose: str
    is_dangerous: bool
    folder: str = ""
    """The folder below the project's root that it was run in, or ELSEWHERE."""
    target: str = ""
    """Its argument that the wording leaves out: a path, the name of a test."""
    exact: str = ""
    """The short command with all options and plain assignments; empty for a long one."""


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
    for place, (command, folder) in enumerate(placed):
        name = command.words[0].text
        if not piped and name != "cd":
            form = form_of(command.words)
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


def form_of(words: Sequence[Word]) -> CommandForm | None:
    """Return the canonical form of a simple command; None if it is not worth repeating."""
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
    kept = _FormBuilder()
    if not kept.add_command(left):
        return None
    if name not in word_set(RUNNERS) and any(
        is_looking(word) for word in kept.key[1:3] if word not in kept.values
    ):
        return None
    plain = [word for word in kept.key if word not in kept.values]
    purposeful = [w for w in plain[:-1] if w not in word_set(_NESTS)] + plain[-1:]
    # A hyphenated word behind program and subcommand is an argument: `mux capture eval-verify`.
    purposeful = purposeful[:2] + [word for word in purposeful[2:] if word.isalpha() or ":" in word]
    dangerous = forced or any(map(is_dangerous_word, (*plain, *kept.wording)))
    return CommandForm(
        key=" ".join(kept.key),
        wording=" ".join(kept.wording),
        purpose=purpose_of(purposeful),
        is_dangerous=dangerous,
        target=kept.target,
        exact=_exact(words[: len(words) - len(left)], left),
    )


def _exact(before: Sequence[Word], left: Sequence[Word]) -> str:
    """Return a short command as it was written, with plain assignments such as `CI=true`; empty
    when a part of it would not mean the same next time."""
    given = [word.text for word in before if re.match(r"[A-Za-z_]\w*=", word.text)]
    words = [word.text for word in left]
    plain = all(re.fullmatch(r"\w+=[\w.-]{1,12}", one) for one in given)
    lasting = all(word.literal and is_lasting(word.text) for word in left)
    text = " ".join((*given, *words))
    return text if plain and lasting and len(text) <= _LONGEST_EXACT else ""


class _FormBuilder:
    """Collects the words of a canonical form: those that identify it (`key`), and those that it is
    shown with (`wording`). Its methods return False if the command is for one occasion only."""

    def __init__(self) -> None:
        self.key: list[str] = []
        self.wording: list[str] = []
        self.values: set[str] = set()
        self.target = ""

    def add_command(self, words: Sequence[Word]) -> bool:
        """Add a program and its arguments."""
        program = words[0].text
        self._add(program)
        name, rest = program.rpartition("/")[2], words[1:]
        if name in word_set(INTERPRETERS):
            return self._add_script(rest)
        if name in word_set(RUNNERS):
            return self._add_nested(rest)
        if name in ("bun", "deno") and rest and rest[0].text in word_set(_INLINE):
            return False
        return self._add_arguments(name, rest)

    def _add(self, *words: str) -> None:
        self.key += words
        self.wording += words

    def _set_target(self, target: str) -> None:
        if target not in (".", "./..."):
            self.target = self.target or target

    def _add_script(self, rest: Sequence[Word]) -> bool:
        """Add the module or file that an interpreter runs, never code on the command line."""
        at = 0
        while at < len(rest) and rest[at].text.startswith("-"):
            if rest[at].text == "-m" and at + 1 < len(rest):
                self._add("-m", rest[at + 1].text)
                return self._add_arguments(rest[at + 1].text, rest[at + 2 :])
            if rest[at].text in word_set(_INLINE):
                return False
            self.wording.append(rest[at].text)
            at += 1
        if at == len(rest) or not rest[at].literal or not is_lasting(rest[at].text):
            return False
        self._add(rest[at].text.removeprefix("./"))
        first = rest[at + 1].text if at + 1 < len(rest) else ""
        if first and rest[at + 1].literal and purpose_of([first]):
            self._add(first)
        return True

    def _add_nested(self, rest: Sequence[Word]) -> bool:
        """Add the command that a runner starts: `npx tsc`, `pnpm exec jest`."""
        at = 0
        while at < len(rest) and rest[at].text.startswith("-"):
            self.wording.append(rest[at].text)
            at += 2 if rest[at].text in ("-p", "--package") else 1
        if at == len(rest) or not rest[at].literal or not is_name(rest[at].text):
            return False
        return self.add_command(rest[at:])

    def _add_arguments(self, name: str, rest: Sequence[Word]) -> bool:
        closed = purpose_of([name]) not in ("", "build", "run", "install")
        plain, at = 0, 0
        while at < len(rest) and len(self.key) < _MOST_WORDS:
            word, text = rest[at], rest[at].text
            following = rest[at + 1] if at + 1 < len(rest) else None
            at += 1
            if text == "--" or not text:
                self._set_target(next((one.text for one in rest[at:] if one.text[:1] != "-"), ""))
                break
            if text.startswith("-"):
                at += self._add_option(text, following, closed)
            elif not word.literal or not is_lasting(text):
                if self.key[-1] in word_set(_NESTS):
                    return False
                self._set_target(text)
                break
            elif not is_name(text):
                self._set_target(text)
                if text in (".", "./...") or (self.key[-1] == "run" and plain):
                    self.wording.append(text)
                    if text not in (".", "./..."):
                        self.key.append(text)
                        break
                closed = True
            elif closed:
                if purpose_of_part(text) and plain:
                    self._add(text)
                elif text.islower() and "_" not in text:
                    self.wording.append(text)
                else:
                    self._set_target(text)
            elif self.key[-1] in word_set(_NESTS) and self.key[-1] != "workspace":
                return self.add_command([word, *rest[at:]])
            else:
                self._add(text)
                plain += 1
                if text in word_set(_INSTALLS):
                    return not any(w.text[:1] != "-" for w in rest[at:])
                closed = plain > 1 or (bool(purpose_of([text])) and text not in word_set(_NESTS))
        return True

    def _add_option(self, text: str, following: Word | None, closed: bool) -> int:
        """Add an option; return the number of further words that belong to it."""
        name, given, value = text.partition("=")
        if name in word_set(_SELECTS):
            chosen = value if given else following.text if following else ""
            if not chosen or not is_lasting(chosen) or chosen.startswith("-"):
                return 0
            self._add(name, chosen)
            self.values.add(chosen)
            return 0 if given else 1
        if given:
            if re.fullmatch(r"[\w.,:-]{1,30}", value) and not re.search(NARROWING, name):
                self.wording.append(text)
            return 0
        if name in ("-o", "--output", "--out"):
            return 1
        takes_value = closed and following is not None and not following.text.startswith("-")
        if takes_value and following is not None and following.literal:
            takes_value = is_name(following.text) or following.text.isdigit()
        if takes_value:
            return 1
        self.wording.append(text)
        return 0
