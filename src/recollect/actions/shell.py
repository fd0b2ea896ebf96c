"""Read a shell script: its simple commands word by word, the files it reads and writes, its git
commands.

It follows the shell's quoting, redirections, comments, here-documents and command substitutions as
far as agents use them; unknown constructs are ignored. Nothing is run or expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from functools import cache, lru_cache
from itertools import pairwise

from ..fast_typing import NamedTuple
from .command_words import INTERPRETERS, WRAPPERS, is_lasting, is_name, word_set

LONGEST_SCRIPT = 20_000
"""A longer script is data after a command; only the beginning is read."""

_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish"))
_RESERVED = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time"))
_ENDS = frozenset(("fi", "done", "esac"))
_LONGEST_WORD = 400
_WRITES = frozenset((">", ">>", "1>", "1>>", ">|"))
"""Redirections of standard output, not of standard error."""

_READERS = frozenset(("cat", "head", "tail", "less", "more", "bat", "nl"))
_GIT_TAKES_VALUE = frozenset(("-C", "-c", "--git-dir", "--work-tree", "--namespace"))


class Word(NamedTuple):
    """A word without its quotes; `literal` is false when it was quoted or is expanded."""

    text: str
    literal: bool


class SimpleCommand(NamedTuple):
    """The words of a simple command, the operator that follows it, and the files that its output
    goes to."""

    words: tuple[Word, ...]
    after: str
    targets: tuple[str, ...] = ()


class ActionEffects(NamedTuple):
    """The files and git commands of a script or a tool call. A git command is its words after `git`
    and its global options."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    git: tuple[tuple[str, ...], ...] = ()


# ---------------------------------------------------------------- simple commands


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(
        r"(?P<blank>[ \t\r]+|\\\n)"
        r"|(?P<redirect>\d*(?:<<<|<<-?|<>|>>|>\||[<>]&?)|&>>?)"
        r"|(?P<operator>\|\||&&|\|&|;;|[|;()&\n])"
        r"|(?P<single>'[^']*')"
        r'|(?P<double>"(?:\\.|[^"\\])*")'
        r"|(?P<substitution>\$\(|`[^`]*`)"
        r"|(?P<escaped>\\.)"
        r"|(?P<plain>[^\s'\"\\|&;()<>`$]+|\$)"
        r"|(?P<other>.)",
        re.DOTALL,
    )


@lru_cache(maxsize=64)
def simple_commands(line: str) -> tuple[SimpleCommand, ...]:
    """Return the simple commands of a shell line in their order, `bash -c` unwrapped."""
    found: list[SimpleCommand] = []
    for command in _split(strip_heredocs(line[:LONGEST_SCRIPT])):
        inner = _inner_script(command.words)
        found += simple_commands(inner) if inner else [command]
    return tuple(found)


def command_words(line: str) -> list[list[str]]:
    """Return the words of each simple command, without assignments and wrappers in front."""
    return [
        [word.text for word in unwrap(one.words) or one.words[-1:]] for one in simple_commands(line)
    ]


def unwrap(words: Sequence[Word]) -> Sequence[Word]:
    """Return a command without assignments and wrappers before its program: `FOO=1 sudo -E
    timeout 5 make`."""
    at = 0
    while at < len(words):
        text = words[at].text
        option = at > 0 and (text.startswith("-") or bool(re.fullmatch(r"\d+[smhd]?", text)))
        asks = text == "command" and at + 1 < len(words) and words[at + 1].text in ("-v", "-V")
        wraps = text in word_set(WRAPPERS) and not asks
        if not (wraps or option or re.match(r"[A-Za-z_]\w*\+?=", text)):
            break
        at += 1
    return words[at:]


def _inner_script(words: tuple[Word, ...]) -> str:
    """Return the script that a shell is given as an argument: `bash -lc "make test"`."""
    if len(words) < 3 or words[0].text.rpartition("/")[2] not in _SHELLS:
        return ""
    option = words[1].text
    runs = option.startswith("-") and not option.startswith("--") and option.endswith("c")
    return words[2].text if runs else ""


def _split(line: str) -> Iterator[SimpleCommand]:
    words: list[Word] = []
    targets: list[str] = []
    text, literal, began, skip, written = "", True, False, False, False
    at = 0
    while at <= len(line):
        match = _tokens().match(line, at) if at < len(line) else None
        kind = match.lastgroup if match else "operator"
        token = match[0] if match else "\n"
        start, at = at, at + max(len(token), 1)
        if kind == "plain" and not began and token.startswith("#"):
            end = line.find("\n", start)
            at = end if end >= 0 else len(line)
            continue
        if kind == "redirect" and began and token[0].isdigit():
            # `foo2>x`: the digits belong to the word.
            digits = token.rstrip("<>&-|")
            text, at = text + digits, start + len(digits)
            continue
        if kind in ("blank", "redirect", "operator"):
            if began and not skip:
                words.append(Word(text[:_LONGEST_WORD], literal))
            elif began and written:
                targets.append(text[:_LONGEST_WORD])
            skip = (skip and not began) or kind == "redirect"
            written = token in _WRITES if kind == "redirect" else written and skip
            text, literal, began = "", True, False
            if kind == "operator":
                if command := _command(words, token):
                    yield command._replace(targets=tuple(targets))
                words, targets, skip = [], [], False
            continue
        began = True
        if kind == "substitution":
            at = _end_of_substitution(line, start) if token == "$(" else at
            text, literal = text + "$", False
        elif kind in ("single", "double"):
            text, literal = text + token[1:-1], False
        else:
            text += token[1:] if kind == "escaped" else token
            literal = literal and token != "$"


def _end_of_substitution(line: str, start: int) -> int:
    depth = 0
    for at in range(start, len(line)):
        depth += (line[at] == "(") - (line[at] == ")")
        if not depth and line[at] == ")":
            return at + 1
    return len(line)


def _command(words: list[Word], after: str) -> SimpleCommand | None:
    """Return the command without reserved words in front; None for loops' heads and ends."""
    start = 0
    while start < len(words) and words[start].text in _RESERVED:
        start += 1
    left = tuple(words[start:])
    if not left or left[0].text in _ENDS or left[0].text in ("for", "case", "select", "function"):
        return None
    return SimpleCommand(left, after.strip(" \t") or after)


_HEREDOC = r"<<-?\s*(['\"]?)(\w+)\1"


def strip_heredocs(script: str) -> str:
    """Remove the bodies of here-documents, which are data."""
    if "<<" not in script:
        return script
    kept: list[str] = []
    ending = ""
    for line in script.split("\n"):
        if ending:
            if line.strip() == ending:
                ending = ""
            continue
        if found := re.search(_HEREDOC, line):
            ending = found[2]
            line = line[: found.start()] + line[found.end() :]
        kept.append(line)
    return "\n".join(kept)


# ---------------------------------------------------------------- files and git


def parse_script(script: str) -> ActionEffects:
    """Return the files and git commands of a shell script."""
    reads: list[str] = []
    writes: list[str] = []
    git: list[tuple[str, ...]] = []
    for one, words in zip(simple_commands(script), command_words(script), strict=True):
        writes += one.targets
        command, arguments = words[0].rpartition("/")[2], words[1:]
        plain = [word for word in arguments if not word.startswith("-")]
        if command == "git":
            git.append(_git_words(arguments))
        elif command in _READERS:
            reads += [word for word in plain if not word.isdigit()]
        elif command == "sed":
            in_place = any(word.startswith(("-i", "--in-place")) for word in arguments)
            (writes if in_place else reads).extend(plain[1:])
        elif command in ("tee", "touch"):
            writes += plain
        elif command in ("cp", "mv") and len(plain) > 1:
            writes.append(plain[-1])
    return ActionEffects(_paths(reads), _paths(writes), tuple(words for words in git if words))


def is_path(text: str) -> bool:
    """Check whether a word can be the name of one file."""
    return (
        0 < len(text) <= 400
        and not text.startswith(("-", "&", "<", "~+"))
        and (not text.startswith("/dev/") or text.startswith("/dev/shm/"))
        and not any(char in text for char in "*?$`{}\n\0|")
        and text not in (".", "..", "/")
        and any(char.isalnum() for char in text)
    )


def _paths(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.removeprefix("./") for word in words if is_path(word)))


def _git_words(arguments: list[str]) -> tuple[str, ...]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _GIT_TAKES_VALUE else 1
    return tuple(arguments[at:])


def outline(words: Sequence[Word]) -> str:
    """Return program, subcommand and options of any command, also of an ignored one:
    `git rm --cached x` is `git rm --cached`."""
    left = unwrap(words)
    kept: list[str] = []
    for place, word in enumerate(left):
        text = word.text if place else word.text.rpartition("/")[2]
        is_shown = word.literal and (not place or is_name(text) or text[:1] == "-")
        if not is_shown or not text or place > 3 or text in ("-m", "-F", "-e"):
            break
        kept.append(text)
    return " ".join(kept)


def script_name(words: Sequence[Word]) -> str:
    """Return an interpreter with the script or module that it runs, `sh codegen.sh` or `python -m
    pytest`; empty for any other command."""
    given = unwrap(words)
    left = [word for word in given if word.text[:1] != "-"][:2]
    name = left[0].text.rpartition("/")[2] if left else ""
    if name not in word_set(INTERPRETERS) or len(left) < 2 or not left[1].literal:
        return ""
    if any(a.text == "-m" and b is left[1] for a, b in pairwise(given)):
        return f"{name} -m {left[1].text}"
    return f"{name} {left[1].text.removeprefix('./')}" if is_lasting(left[1].text) else ""
