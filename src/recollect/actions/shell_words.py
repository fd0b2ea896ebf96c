"""Cut a shell line into its simple commands, word by word.

It follows the shell's quoting, redirections, comments and command substitutions as far as agents
use them, and never runs or expands anything. What a command is for is decided elsewhere.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from ..fast_typing import NamedTuple
from .shell import LONGEST_SCRIPT, strip_heredocs

_SHELLS = frozenset(("bash", "sh", "zsh", "dash", "fish"))
_RESERVED = frozenset(("if", "then", "else", "elif", "do", "while", "until", "!", "{", "}", "time"))
_ENDS = frozenset(("fi", "done", "esac"))
_LONGEST_WORD = 400


class Word(NamedTuple):
    """A word without its quotes; `literal` is false when it was quoted or is expanded."""

    text: str
    literal: bool


class SimpleCommand(NamedTuple):
    """The words of a simple command, and the operator that follows it."""

    words: tuple[Word, ...]
    after: str


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


def simple_commands(line: str) -> list[SimpleCommand]:
    """Return the simple commands of a shell line in their order, `bash -c` unwrapped."""
    found: list[SimpleCommand] = []
    for command in _split(strip_heredocs(line[:LONGEST_SCRIPT])):
        inner = _inner_script(command.words)
        found += simple_commands(inner) if inner else [command]
    return found


def _inner_script(words: tuple[Word, ...]) -> str:
    """Return the script that a shell is given as an argument: `bash -lc "make test"`."""
    if len(words) < 3 or words[0].text.rpartition("/")[2] not in _SHELLS:
        return ""
    option = words[1].text
    runs = option.startswith("-") and not option.startswith("--") and option.endswith("c")
    return words[2].text if runs else ""


def _split(line: str) -> Iterator[SimpleCommand]:
    words: list[Word] = []
    text, literal, began, skip = "", True, False, False
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
            skip = (skip and not began) or kind == "redirect"
            text, literal, began = "", True, False
            if kind == "operator":
                if command := _command(words, token):
                    yield command
                words, skip = [], False
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
