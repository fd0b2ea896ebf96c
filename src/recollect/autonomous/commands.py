"""Phase 2 by rules for commands: in which words they worked, and which ran before a commit.

A command is told with all its arguments, and each session that is counted and cited ran it so.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Sequence

from ..actions import command_words
from ..briefing import rendering, wording
from ..fast_typing import NamedTuple
from ..lessons import findings
from .quotations import SessionEvidence, group_evidence, sources_of
from .statements import COMMANDS, Extraction, PageStatement

CONFIRMED = findings.CONFIRMED
PROVEN = 3
"""Where a command worked in so many sessions, others for the same purpose that worked once are left
out."""

FEWEST_WORDS = 3
"""A command of fewer words that ran or installed something once is bare: its arguments are
missing."""

_ALONE = frozenset(("test", "lint", "format", "typecheck", "build"))
"""What a command is for that is told from the first session on, when it ran without arguments."""

MOST_WORDS = 6
"""A command of more words that worked once is about one time."""

MOST_WORDINGS = 2
"""So many wordings of one command are told: with another option it may do something else."""


class Workflow(NamedTuple):
    """Commands that several sessions ran before a commit, with their sources."""

    steps: tuple[str, ...]
    purposes: tuple[str, ...]
    sessions: int
    last: int
    sources: tuple[str, ...]


def workflows(extractions: Sequence[Extraction]) -> list[Workflow]:
    """Return the sequences of commands that enough sessions ran before a commit, most first. Each
    command is worded as it is where it worked."""
    found = []
    groups = group_evidence(extractions)
    wordings = {}
    for (kind, form), seen in groups.items():
        if kind == "command":
            said = Counter(one.evidence.body.get("wording", form) for one in seen)
            wordings[form] = str(said.most_common(1)[0][0])
    for (kind, _), seen in groups.items():
        if kind == "workflow" and len(seen) >= findings.PROPOSED:
            body = seen[0].evidence.body
            steps = tuple(wordings.get(step, step) for step in body["steps"])
            last = seen[0].evidence.at
            # Of the newest session each step, of the others the commit.
            steps_of = sources_of(seen[:1], each=len(body["steps"]) + 1)
            sources = tuple(dict.fromkeys((*steps_of, *sources_of(seen[1:], each=1))))
            found.append(Workflow(steps, tuple(body["purposes"]), len(seen), last, sources))
    return sorted(found, key=lambda one: (-one.sessions, -one.last))


def is_weak(form: str, finding: findings.MergedFinding, proven: Container[str]) -> bool:
    """Check whether a command is worth no line: its purpose is unknown, or it worked once and is
    bare, or a better one has the same purpose."""
    purpose = str(finding.body["purpose"])
    if not purpose:
        return finding.sessions < PROVEN
    is_bare = purpose in ("run", "install") and len(form.split()) < FEWEST_WORDS
    return finding.sessions < 2 and (purpose in proven or is_bare)


def statements_of(
    form: str,
    finding: findings.MergedFinding,
    seen: Sequence[SessionEvidence],
    now: int,
    scripts: Sequence[str] | None,
    replaces: Sequence[str],
) -> list[PageStatement]:
    """Return a command in the wordings that worked in most sessions, with all arguments. Left out:
    wordings that differed each time, and commands that every project of its kind has. One session
    is enough for a script of the project, a check without arguments, and a part of the project."""
    known = findings.known_command(form, finding.body, now, scripts)
    found = []
    for said, folder, runs in _wordings(seen)[:MOST_WORDINGS]:
        is_whole = known.purpose in _ALONE and said == runs[0].evidence.body.get("wording")
        one_will_do = bool(known.script) or is_whole or _names_part(said, folder)
        if known.retired or len(runs) < (1 if one_will_do else CONFIRMED):
            continue
        if command_words.suggests_danger(said) or (not folder and re.fullmatch(_CUSTOMARY, said)):
            continue
        told = known._replace(
            form=said,
            folder=folder,
            below="",
            sessions_succeeded=len(runs),
            sessions_as_told=len(runs),
            last_success=max(one.evidence.at for one in runs),
            replaces=tuple(sorted(replaces)),
        )
        [item] = wording.command_lines([told])
        found.append(
            PageStatement(
                key=f"command:{said}",
                section=COMMANDS,
                line=f"- {item.line}",
                label="system",
                sources=sources_of(runs),
                at=finding.at,
                weight=findings.score(finding.body, now) * len(runs) / finding.sessions,
                short=_short(told),
                refs=tuple(dict.fromkeys(map(wording.command_ref, (known.form, form, said)))),
            )
        )
    return found


def _short(known: findings.KnownCommand) -> str:
    """Return the short form of a command, to be appended to the line of another one."""
    folder = f" in {rendering.code(known.folder)}" if known.folder else ""
    often = "once" if known.sessions_succeeded < 2 else f"in {known.sessions_succeeded}"
    return f"{rendering.code(known.form)}{folder} {often}"


def _wordings(seen: Sequence[SessionEvidence]) -> list[tuple[str, str, list[SessionEvidence]]]:
    """Return the wordings of a command, those of most sessions first: the words, the folder that
    it was always run in, and the sessions, each with the messages of its run. Where folders differ
    it must have worked in several sessions in the project's own, or name its part itself."""
    folders: dict[str, list[str]] = {}
    groups: dict[str, dict[str, SessionEvidence]] = {}
    for one in seen:
        for folder, said, first, last in one.evidence.body.get("exact", ()):
            run = one.evidence._replace(spans=((int(first), int(last)),))
            groups.setdefault(str(said), {}).setdefault(
                one.session, SessionEvidence(one.session, run)
            )
            folders.setdefault(str(said), []).append(str(folder))
    found = []
    for said, sessions in groups.items():
        places = folders[said]
        is_anywhere = places.count("") >= CONFIRMED or not _SELECTS.isdisjoint(said.split())
        if len(set(places)) == 1 or is_anywhere:
            folder = places[0] if len(set(places)) == 1 and not is_anywhere else ""
            found.append((said, folder, list(sessions.values())))
    return sorted(found, key=lambda one: (-len(one[2]), len(one[0])))


def _names_part(command: str, folder: str) -> bool:
    """Check whether a command names a part of the project and a task there: then one session is
    enough."""
    words = command.split()
    whole = len(words) <= MOST_WORDS and "--" not in words
    options = any(word.startswith("-") for word in words)
    return whole and (not _SELECTS.isdisjoint(words) or (bool(folder) and options))


_SELECTS = frozenset(
    ("--filter", "-F", "--workspace", "-w", "--prefix", "-C", "--cwd", "--manifest-path")
)


_CUSTOMARY = (
    r"(?:go (?:build|vet|mod tidy|fmt)|cargo (?:build|check|fmt)"
    r"|(?:npm|pnpm|yarn|bun) (?:install|i|ci))(?: (?:\.|\./\S*|-v))*"
)
"""Matches the command that anybody would try first in a project of its kind."""
