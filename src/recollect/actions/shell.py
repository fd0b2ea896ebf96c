"""Read a shell script: the files it reads and writes, and its git commands.

Covers the common ways in which agents use a shell; unknown constructs are ignored. Nothing is run
or expanded.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from typing import NamedTuple

LONGEST_SCRIPT = 20_000
"""A longer script is data after a command; only the beginning is read."""

_READERS = frozenset({"cat", "head", "tail", "less", "more", "bat", "nl"})
_SHELLS = frozenset({"bash", "sh", "zsh", "/bin/bash", "/bin/sh", "/bin/zsh"})
_BREAKS = frozenset({"|", "||", "&&", "&", ";", "\n", "(", ")"})
_BEFORE = frozenset({"sudo", "time", "env", "command", "exec"})
_GIT_TAKES_VALUE = frozenset({"-C", "-c", "--git-dir", "--work-tree", "--namespace"})


class ScriptEffects(NamedTuple):
    """The files and git commands of a script. A git command is its words after `git` and its global
    options."""

    reads: tuple[str, ...] = ()
    writes: tuple[str, ...] = ()
    git: tuple[tuple[str, ...], ...] = ()


@cache
def _tokens() -> re.Pattern[str]:
    return re.compile(
        r"""'[^']*'|"(?:\\.|[^"\\])*"|\\\n|\|\||&&|>>|[|&;()\n>]|(?:\\.|[^\s'"\\|&;()>])+"""
    )


@cache
def _noise() -> re.Pattern[str]:
    """Match redirections of errors and between streams."""
    return re.compile(r"\d?>&\d?-?|&>>?\s*\S+|2>>?\s*\S+")


@cache
def _heredoc() -> re.Pattern[str]:
    return re.compile(r"<<-?\s*(['\"]?)(\w+)\1")


def parse_script(script: str) -> ScriptEffects:
    """Return the files and git commands of a shell script."""
    reads: list[str] = []
    writes: list[str] = []
    git: list[tuple[str, ...]] = []
    for words, targets in split_commands(strip_heredocs(script[:LONGEST_SCRIPT])):
        writes += targets
        command, arguments = words[0].rpartition("/")[2], words[1:]
        plain = [word for word in arguments if not word.startswith("-")]
        if words[0] in _SHELLS and len(arguments) > 1 and _runs_text(arguments[0]):
            inner = parse_script(arguments[1])
            reads += inner.reads
            writes += inner.writes
            git += inner.git
        elif command == "git":
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
    return ScriptEffects(_paths(reads), _paths(writes), tuple(words for words in git if words))


def is_path(text: str) -> bool:
    """Check whether a word can be the name of one file."""
    return (
        0 < len(text) <= 400
        and not text.startswith(("/dev/", "-", "&", "<", "~+"))
        and not any(char in text for char in "*?$`{}\n\0|")
        and text not in (".", "..", "/")
        and any(char.isalnum() for char in text)
    )


def _paths(words: list[str]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(word.removeprefix("./") for word in words if is_path(word)))


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
        if found := _heredoc().search(line):
            ending = found[2]
            line = line[: found.start()] + line[found.end() :]
        kept.append(line)
    return "\n".join(kept)


def split_commands(script: str) -> Iterator[tuple[list[str], list[str]]]:
    """Yield each simple command as its words, and the files that its output goes to."""
    words: list[str] = []
    targets: list[str] = []
    redirected = remark = False
    for token in (*_tokens().findall(_noise().sub(" ", script)), "\n"):
        remark = token != "\n" and (remark or token.startswith("#"))
        if remark:
            continue
        if token in _BREAKS:
            if words:
                yield _bare(words), targets
            words, targets, redirected = [], [], False
        elif token in (">", ">>"):
            redirected = True
        elif token != "\\\n":
            word = token[1:-1] if token[0] in "'\"" else token
            (targets if redirected else words).append(word)
            redirected = False


def _bare(words: list[str]) -> list[str]:
    """Strip assignments, `sudo` and similar prefixes."""
    start = 0
    while start + 1 < len(words) and (words[start] in _BEFORE or "=" in words[start]):
        start += 1
    return words[start:]


def _runs_text(option: str) -> bool:
    return option.startswith("-") and not option.startswith("--") and option.endswith("c")


def _git_words(arguments: list[str]) -> tuple[str, ...]:
    at = 0
    while at < len(arguments) and arguments[at].startswith("-"):
        at += 2 if arguments[at] in _GIT_TAKES_VALUE else 1
    return tuple(arguments[at:])
