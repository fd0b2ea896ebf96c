"""Collect the words of a command: those that count it, and those that it is shown with.

Counted are the program, its subcommands and what they are for; shown is the command as it was run.
Left out of what is shown are the target of a single run (a path, the name of a test) and options
that change only what an output looks like. A word behind an option may be its value or an operand:
it is never counted, and never lost.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from .command_setup import LEFT_OUT, is_showable, quoted, shown_assignment
from .command_words import (
    INTERPRETERS,
    NARROWING,
    RUNNERS,
    is_lasting,
    is_name,
    purpose_of,
    purpose_of_part,
    word_set,
)
from .shell import Word

NESTS = "run exec x dlx task tool workspace run-script"
_SELECTS = (
    "--filter -F --workspace -w --prefix -C --cwd --dir --project -p --package -pl -f --file"
    " -tags --tags --manifest-path --config -c --features --env --profile"
)
_INSTALLS = "install i add get remove uninstall rm update upgrade ci"
_INLINE = "-c -e - -p --eval --print -r -s eval"
"""Options of interpreters that are followed by code."""

_OUTPUTS = "-o --output --out -out -coverprofile --junitxml --log-file"
_BOOLEAN = "--run --rm --runInBand --passWithNoTests"
"""Options without a value whose names look as if they chose a target."""

_LOOKS = "-v -vv --verbose -json -count --tb --color"
"""Options of checks that change only what the output looks like; `-count=1` forbids the cache."""

_CHECKS = ("test", "lint", "typecheck", "check")

_NUMBER = r"\d[\w.]*"
_MOST_WORDS = 8


def _first_operand(words: Sequence[Word]) -> str:
    """Return the first word that is neither an option nor directly behind one."""
    after_option = False
    for word in words:
        is_option = word.text.startswith("-")
        if not is_option and not after_option:
            return word.text
        after_option = is_option
    return ""


class FormBuilder:
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
            at += 1
        self._add_details(rest[at + 1 :], is_script=True)
        return True

    def _add_nested(self, rest: Sequence[Word]) -> bool:
        """Add the command that a runner starts: `npx tsc`, `pnpm exec jest`."""
        at = 0
        while at < len(rest) and rest[at].text.startswith("-"):
            takes = 2 if rest[at].text in ("-p", "--package") else 1
            self.wording += [word.text for word in rest[at : at + takes]]
            at += takes
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
                self._set_target(_first_operand(rest[at:]))
                at -= 1
                break
            if text.startswith("-"):
                at += self._add_option(word, following, closed)
            elif not word.literal or not is_lasting(text):
                if self.key[-1] in word_set(NESTS):
                    return False
                self._set_target(text)
                break
            elif not is_name(text):
                self._add_operand(text)
                if text not in (".", "./...") and self.key[-1] == "run" and plain:
                    self._add(text)
                    break
                closed = True
            elif closed:
                if purpose_of_part(text) and plain:
                    self._add(text)
                else:
                    self._add_operand(text)
            elif self.key[-1] in word_set(NESTS) and self.key[-1] != "workspace":
                return self.add_command([word, *rest[at:]])
            else:
                self._add(text)
                plain += 1
                if text in word_set(_INSTALLS):
                    self._add_details(rest[at:])
                    return not any(w.text[:1] != "-" for w in rest[at:])
                closed = plain > 1 or (bool(purpose_of([text])) and text not in word_set(NESTS))
        self._add_details(rest[at:])
        return True

    def _add_details(self, rest: Sequence[Word], is_script: bool = False) -> None:
        """Add arguments that the key does not hold to the wording; those of a script with their
        paths."""
        at, before = 0, 0
        while at < len(rest):
            word, following = rest[at], rest[at + 1] if at + 1 < len(rest) else None
            at += 1
            if word.text == "--":
                self.wording.append("--")
                before = len(self.wording)
            elif word.text.startswith("-"):
                at += self._add_option(word, following, True, is_key=False)
            elif is_script and is_showable(word.text) and is_lasting(word.text):
                self.wording.append(quoted(word.text))
            elif word.text:
                self._add_operand(word.text)
        if before == len(self.wording):
            self.wording.pop()  # the mark before arguments, without one behind it

    def _add_operand(self, text: str) -> None:
        """Add an operand to the wording: a name, the whole project, a variable; else it is the
        target."""
        if text in (".", "./...") or (is_name(text) and text.islower() and "_" not in text):
            self.wording.append(text)
        elif re.match(r"[A-Z]\w*=", text) and not re.search(NARROWING, text.partition("=")[0]):
            self.wording += filter(None, [shown_assignment(text)])
        else:
            self._set_target(text)

    def _add_option(
        self, word: Word, following: Word | None, closed: bool, is_key: bool = True
    ) -> int:
        """Add an option; return the number of further words that belong to it."""
        name, given, value = word.text.partition("=")
        matters = name not in word_set(_LOOKS) or purpose_of(self.key) not in _CHECKS
        if given:
            return self._add_given(name, value, is_key) if matters else 0
        if name in word_set(_OUTPUTS) and following and "=" not in following.text:
            return 1
        if following is None or following.text.startswith("-"):
            self.wording += [name] if matters else []
            return 0
        if name in word_set(_SELECTS):
            if is_lasting(following.text):
                self.wording += [name, following.text]
                self.key += [name, following.text] if is_key else []
                self.values.add(following.text)
            return int(is_lasting(following.text))
        text = following.text
        takes_value = closed and (
            not following.literal or is_name(text) or bool(re.fullmatch(_NUMBER, text))
        )
        if closed and self._narrows(name):
            return int(takes_value)
        self.wording += [name] if matters else []
        if takes_value and (matters or (following.literal and is_name(text))):
            self._add_value(following)
        return int(takes_value)

    def _add_given(self, name: str, value: str, is_key: bool) -> int:
        """Add an option with its value: `--settings=x.test`."""
        if is_key and name in word_set(_SELECTS) and value and is_lasting(value):
            self._add(name, value)
            self.values.add(value)
        elif not self._narrows(name):
            shown = quoted(value) if is_showable(value) and is_lasting(value) else LEFT_OUT
            if shown != LEFT_OUT or name not in word_set(_OUTPUTS):
                self.wording.append(f"{name}={shown}")
        return 0

    def _narrows(self, name: str) -> bool:
        """Check whether an option selects the target of one run."""
        if name in word_set(_BOOLEAN) or not re.search(NARROWING, name):
            return False
        return len(name) > 2 or purpose_of(self.key) == "test"

    def _add_value(self, word: Word) -> None:
        """Add the word behind an option: its value, or an operand. It must not be lost."""
        if not is_lasting(word.text) or not is_showable(word.text):
            self.wording.append(LEFT_OUT)
            return
        self.wording.append(word.text if word.literal else quoted(word.text))
        if word.literal and is_name(word.text) and not word.text.islower():
            self._set_target(word.text)
