"""Find the rules of the user that name a shell command.

A rule that forbids a command is shown when the command is about to run. A rule that only mentions a
program is not: it would be said before every call of it.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from functools import cache

LONGEST_RULE = 400


def named_programs(text: str) -> list[str]:
    """Return the words of a rule by which a command may be recognised: words in code marks, and
    the words after a negation."""
    found: dict[str, None] = {}
    for span in _code().findall(text):
        found.update(dict.fromkeys(span.split()[:1]))
    for said in _forbidden().finditer(text[:LONGEST_RULE]):
        found.update(dict.fromkeys(said["what"].replace("`", "").split()[:1]))
    return [word.casefold() for word in found if _program().fullmatch(word)]


def forbids(text: str, words: Sequence[str]) -> bool:
    """Check whether a rule names this command in a way that concerns running it: it forbids the
    command, or names it with its subcommand."""
    line = " ".join(words).casefold()
    for said in _forbidden().finditer(text[:LONGEST_RULE]):
        if _begins(line, said["what"].replace("`", "").casefold()):
            return True
    return any(
        len(span.split()) > 1 and _begins(line, span.casefold()) for span in _code().findall(text)
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


def programs_in(rules: Iterable[tuple[str, str]]) -> dict[str, list[str]]:
    """Return the ids of rules by the programs that they name; rules are (id, text)."""
    found: dict[str, list[str]] = {}
    for id, text in rules:
        for program in named_programs(text):
            found.setdefault(program, []).append(id)
    return found


@cache
def _code() -> re.Pattern[str]:
    return re.compile(r"`([^`\n]{2,120})`")


@cache
def _forbidden() -> re.Pattern[str]:
    return re.compile(
        r"""\b(?:never|don['’]?t(?:\s+ever)?|do\s+not|must\s+not|mustn['’]?t|not|no|avoid|without
        |instead\s+of|rather\s+than|stop)\s+(?:ever\s+)?(?:us(?:e|ing)|run(?:ning)?|call(?:ing)?
        |execut(?:e|ing)|do(?:ing)?|with)?\s*(?P<what>`[^`\n]+`|[\w./:-]+(?:\s+[\w./:-]+)?)""",
        re.IGNORECASE | re.VERBOSE,
    )


@cache
def _program() -> re.Pattern[str]:
    return re.compile(r"[\w./:+-]{2,40}", re.ASCII)
