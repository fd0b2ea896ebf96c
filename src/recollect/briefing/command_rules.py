"""Decide what may be said about a shell command: rules of the user that name it, and commands that
only the user may suggest.

A rule that forbids a command is shown when the command is about to run. A rule that only mentions a
program is not: it would be said before every call of it. A hook asks before every command, and the
answer is nearly always no: the programs that there is something to say about are one text, and
nothing is parsed for it.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import cache

LONGEST_RULE = 400


def named_programs(text: str) -> list[str]:
    """Return the words of a rule by which a command may be recognised: words in code marks, and
    the words after a negation."""
    found: dict[str, None] = {}
    for span in _code().findall(text):
        found.update(dict.fromkeys(span.split()[:1]))
    for ban in _forbidden().finditer(text[:LONGEST_RULE]):
        found.update(dict.fromkeys(ban["what"].replace("`", "").split()[:1]))
    return [word.casefold() for word in found if _program().fullmatch(word)]


def forbids(text: str, words: Sequence[str]) -> bool:
    """Check whether a rule names this command in a way that concerns running it: it forbids the
    command, or names it with its subcommand."""
    line = " ".join(words).casefold()
    for ban in _forbidden().finditer(text[:LONGEST_RULE]):
        if _begins(line, ban["what"].replace("`", "").casefold()):
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


# ---------------------------------------------------------------- only from the user


def is_dangerous(text: str) -> bool:
    """Check whether a text names a command that fetches code, touches credentials or permissions,
    pushes or deploys."""
    return _dangerous().search(text) is not None


@cache
def _dangerous() -> re.Pattern[str]:
    return re.compile(
        r"""\b(?:curl|wget|iwr|invoke-webrequest)\b[^\n]*\|\s*(?:sudo\s+)?(?:ba|z|da)?sh\b
        |\b(?:ba|z)?sh\s+-c\s+["']?\$\((?:curl|wget)|\beval\b[^\n]*\b(?:curl|wget)\b
        |\bsudo\b|\bch(?:mod|own)\s+(?:-\w+\s+)*(?:[0-7]{3,4}|\+?[a-z]*s|\w+:)
        |\bgit\s+push\b|--force\b|--no-verify\b|--dangerously
        |\b(?:npm|pnpm|yarn|cargo|twine|poetry|gem)\s+(?:publish|upload)\b
        |\b(?:kubectl|helm)\s+(?:apply|delete|upgrade|install)\b|\bterraform\s+(?:apply|destroy)\b
        |\b(?:vercel|netlify|fly|flyctl|heroku|wrangler|gcloud|aws|az|ansible-playbook)\s+\w
        |\bdeploy\b|\b(?:gh|glab)\s+(?:pr\s+merge|release|secret)\b
        |\bssh(?:-\w+)?\s|\bscp\s|\brsync\s|\bid_(?:rsa|ed25519)\b|(?<!\w)\.env\b
        |`[^`\n]*\b(?:password|passwd|secret|credential|api[_ -]?key|access[_ -]?token)s?\b[^`\n]*`
        |\b(?:docker|npm|gh|glab|doctl|auth)\s+(?:auth\s+)?log(?:in|out)\b|\brm\s+-\w*[rf]""",
        re.IGNORECASE | re.VERBOSE,
    )


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
