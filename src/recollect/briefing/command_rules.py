"""Decide which rules of the user name a shell command that is about to run.

A rule that forbids a command is shown before the command runs. A rule that only mentions a program
is not: it would be shown before every call of it. The check runs before every command and mostly
finds nothing, so the watched programs are one string, and substring searches come before parsing.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

LONGEST_RULE = 400


def named_programs(text: str) -> list[str]:
    """Return the words of a rule by which a command may be recognised: words in code marks, and
    the words after a negation."""
    found: dict[str, None] = {}
    for span in re.findall(_CODE, text):
        found.update(dict.fromkeys(span.split()[:1]))
    for ban in re.finditer(_FORBIDDEN, text[:LONGEST_RULE]):
        found.update(dict.fromkeys(ban["what"].replace("`", "").split()[:1]))
    return [word.casefold() for word in found if re.fullmatch(_PROGRAM, word)]


def forbids(text: str, words: Sequence[str]) -> bool:
    """Check whether a rule names this command in a way that concerns running it: it forbids the
    command, or names it with its subcommand."""
    line = " ".join(words).casefold()
    for ban in re.finditer(_FORBIDDEN, text[:LONGEST_RULE]):
        if _begins(line, ban["what"].replace("`", "").casefold()):
            return True
    return any(
        len(span.split()) > 1 and _begins(line, span.casefold()) for span in re.findall(_CODE, text)
    )


def _begins(line: str, named: str) -> bool:
    """Check whether a command begins with the words that are named. Of free text the words up to
    the first that the command does not have are compared; a program alone is enough."""
    have, want = line.split(), named.split()
    if not want or have[:1] != want[:1]:
        return False
    return len(want) == 1 or len(have) < 2 or have[1] == want[1].strip(".,;:") or _ends(want[1])


def _ends(word: str) -> bool:
    """Check whether a word cannot be a subcommand: “npm in this repository”."""
    return word in _PROSE


_PROSE = frozenset(
    ("in", "here", "for", "anymore", "any", "to", "on", "with", "without", "at", "use", "but", "or",
     "and", "because", "directly", "again", "ever", "unless", "when", "-", "–", "—", "as", "it")
)  # fmt: skip


# ---------------------------------------------------------------- before every command

LONGEST_LINE = 20_000
_BREAKS = str.maketrans("/;&|()'\"`\n\t=", " " * 12)


def write_watched(watched: Mapping[str, Sequence[str]]) -> str:
    """Return programs with the ids of the rules that name them as one text, a line each."""
    return "".join(f"\n{name} {' '.join(ids)}" for name, ids in sorted(watched.items()))


def find_watched(watched: str, line: str) -> list[str]:
    """Return the watched programs that a shell line names."""
    words = dict.fromkeys(line[:LONGEST_LINE].casefold().translate(_BREAKS).split())
    return [word for word in words if f"\n{word} " in watched]


def rules_on(watched: str, line: str) -> list[str]:
    """Return the ids of the rules that name a program of a shell line."""
    found: dict[str, None] = {}
    for word in find_watched(watched, line):
        row = watched.partition(f"\n{word} ")[2].partition("\n")[0]
        found.update(dict.fromkeys(row.split()))
    return list(found)


_CODE = r"`([^`\n]{2,120})`"
_FORBIDDEN = r"""(?ix)
        \b(?:never|don['’]?t(?:\s+ever)?|do\s+not|must\s+not|mustn['’]?t|not|no|avoid|without
        |instead\s+of|rather\s+than|stop)\s+(?:ever\s+)?(?:us(?:e|ing)|run(?:ning)?|call(?:ing)?
        |execut(?:e|ing)|do(?:ing)?|with)?\s*(?P<what>`[^`\n]+`|[\w./:-]+(?:\s+[\w./:-]+)?)"""
_PROGRAM = r"(?a)[\w./:+-]{2,40}"
