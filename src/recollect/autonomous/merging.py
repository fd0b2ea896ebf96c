"""Phase 2 by rules: merge the extractions of all sessions and the memories in use.

Every statement is computed from calls and exit statuses (here), or quotes the user or an agent
(`quotations`); none is prose of a tool. A command is shown with all its arguments, and every
counted and cited session ran it in exactly this form.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Container, Iterator, Mapping, Sequence

from ..actions import command_words
from ..briefing import rendering, wording
from ..episodes import session_errors
from ..fast_typing import NamedTuple
from ..lessons import findings
from ..text import display
from ..types.records import Json
from . import quotations
from .statements import (
    CLAIMS,
    COMMANDS,
    ERRORS,
    HISTORY,
    PLACES,
    Extraction,
    PageStatement,
    SessionEvidence,
    group_evidence,
    sources_of,
)

CONFIRMED = findings.CONFIRMED
PROVEN = 3
"""Sessions. If a command worked in this many, others of its purpose that worked once are left out.
"""

FEWEST_WORDS, MOST_WORDS = 3, 6
"""A run or install command with fewer words that worked once lacks its arguments. A command with
more words that worked once was for one occasion."""

MOST_WORDINGS = 2
"""The maximum number of wordings shown of one command: another option may do something else."""

MOST_OF = {CLAIMS: 40, HISTORY: 60}
"""The maximum number of statements of a section; the newest are kept."""

TOGETHER = 4
"""The minimum number of sessions that changed two files together, unless the names are the same."""

RECURRING = 3
"""The minimum number of sessions with an error for a line without a confirmed remedy."""

_ALONE = frozenset(("test", "lint", "format", "typecheck", "build"))
"""Purposes of commands that are shown after one session if they ran without arguments."""

_SELECTS = frozenset(
    ("--filter", "-F", "--workspace", "-w", "--prefix", "-C", "--cwd", "--manifest-path")
)
_CUSTOMARY = (
    r"(?:go (?:build|vet|mod tidy|fmt)|cargo (?:build|check|fmt)"
    r"|(?:npm|pnpm|yarn|bun) (?:install|i|ci))(?: (?:\.|\./\S*|-v))*"
)
"""Match commands that are obvious in a project of their kind."""


def merge(
    extractions: Sequence[Extraction],
    memories: Sequence[quotations.CitedMemory],
    now: int,
    scripts: Sequence[str] | None = None,
    hidden: frozenset[str] = frozenset(),
) -> list[PageStatement]:
    """Return the statements of MEMORY.md, those of a section best first. `scripts` are those of the
    project's manifests; None when they are not known. `hidden` commands and fixes are left out."""
    found = [quotations.memory_statement(cited) for cited in memories]
    groups = group_evidence(extractions)
    commands: dict[str, findings.MergedFinding] = {}
    for (kind, subject), seen in groups.items():
        bodies = [one.evidence.body for one in seen]
        finding = findings.merge_observations(kind, bodies, [one.evidence.at for one in seen])
        if finding is not None and kind == "command":
            commands[subject] = finding
        elif finding is not None and kind in _WORDED:
            found.append(_WORDED[kind](subject, finding, seen))
        elif finding is not None and kind in quotations.WORDED:
            found.append(quotations.WORDED[kind](subject, seen))
    found += _command_statements(commands, groups, now, scripts)
    cited = [one for one in found if one and one.sources and not _is_hidden(one.refs, hidden)]
    return _dedupe(_sort_and_limit(quotations.newest_attempts(cited, groups)))


def _is_hidden(refs: Sequence[str], hidden: frozenset[str]) -> bool:
    return any(not hidden.isdisjoint(findings.lesson_refs(ref)) for ref in refs)


def _sort_and_limit(found: Sequence[PageStatement]) -> list[PageStatement]:
    """Sort by weight and time; keep only the newest of the sections in `MOST_OF`."""
    dropped: set[str] = set()
    for section, most in MOST_OF.items():
        inside = [one for one in found if one.section == section]
        dropped |= {one.key for one in sorted(inside, key=lambda one: -one.at)[most:]}
    kept = [one for one in found if one.key not in dropped]
    return sorted(kept, key=lambda one: (-one.weight, -one.at, one.key))


def _dedupe(found: Sequence[PageStatement]) -> list[PageStatement]:
    """Keep one statement for each key and line."""
    seen: set[str] = set()
    kept = []
    for one in found:
        if one.key not in seen and one.line not in seen:
            kept.append(one)
        seen |= {one.key, one.line}
    return kept


# ---------------------------------------------------------------- commands


class Workflow(NamedTuple):
    """Commands that several sessions ran before a commit, with their sources."""

    steps: tuple[str, ...]
    purposes: tuple[str, ...]
    sessions: int
    last: int
    sources: tuple[str, ...]


def workflows(
    extractions: Sequence[Extraction], hidden: frozenset[str] = frozenset()
) -> list[Workflow]:
    """Return the sequences of commands that enough sessions ran before a commit, the most frequent
    first, without those with a hidden command."""
    found = []
    groups = group_evidence(extractions)
    wordings = {}
    for (kind, form), seen in groups.items():
        if kind == "command":
            counts = Counter(one.evidence.body.get("wording", form) for one in seen)
            wordings[form] = str(counts.most_common(1)[0][0])
    for (kind, _), seen in groups.items():
        if kind == "workflow" and len(seen) >= findings.PROPOSED:
            body = seen[0].evidence.body
            steps = tuple(wordings.get(step, step) for step in body["steps"])
            if _is_hidden([*map(wording.command_ref, (*body["steps"], *steps))], hidden):
                continue
            last = seen[0].evidence.at
            # Cite each step of the newest session, and the commit of the others.
            steps_of = sources_of(seen[:1], each=len(body["steps"]) + 1)
            sources = tuple(dict.fromkeys((*steps_of, *sources_of(seen[1:], each=1))))
            found.append(Workflow(steps, tuple(body["purposes"]), len(seen), last, sources))
    return sorted(found, key=lambda one: (-one.sessions, -one.last))


def _command_statements(
    merged: Mapping[str, findings.MergedFinding],
    groups: Mapping[tuple[str, str], Sequence[SessionEvidence]],
    now: int,
    scripts: Sequence[str] | None,
) -> Iterator[PageStatement]:
    """Yield the commands that are worth a line."""
    replaced: dict[str, list[str]] = {}
    for form, finding in merged.items():
        body = finding.body
        fails = body["failed"] >= CONFIRMED and body["in_a_row"]
        if fails and (better := str(body.get("replaced_by", ""))):
            replaced.setdefault(better, []).append(form)
    proven = {str(one.body["purpose"]) for one in merged.values() if one.sessions >= PROVEN}
    # Days without any work do not count towards the age of a command.
    now = min(now, max((one.at for one in merged.values()), default=now))
    for form, finding in merged.items():
        if not _is_weak(form, finding, proven):
            known = findings.read_command(form, finding.body, now, scripts)
            known = known._replace(replaces=tuple(sorted(replaced.get(form, ()))))
            score = findings.score(finding.body, now)
            yield from _wordings_of(form, finding, known, groups["command", form], score)


def _is_weak(form: str, finding: findings.MergedFinding, proven: Container[str]) -> bool:
    """Check whether a command is left out: its purpose is unknown, it worked once and lacks its
    arguments, or a better one has the same purpose."""
    purpose = str(finding.body["purpose"])
    if not purpose:
        return finding.sessions < PROVEN
    is_bare = purpose in ("run", "install") and len(form.split()) < FEWEST_WORDS
    return finding.sessions < 2 and (purpose in proven or is_bare)


def _wordings_of(
    form: str,
    finding: findings.MergedFinding,
    known: findings.KnownCommand,
    seen: Sequence[SessionEvidence],
    score: float,
) -> Iterator[PageStatement]:
    """Yield a command in the wordings that worked in most sessions, with all arguments. Wordings
    that differed each time, and commands that every project of its kind has, are left out. One
    session is enough for a script of the project, a check without arguments, and a part of it."""
    for text, folder, runs in _wordings(seen)[:MOST_WORDINGS]:
        is_whole = known.purpose in _ALONE and text == runs[0].evidence.body.get("wording")
        is_one_enough = bool(known.script) or is_whole or _names_part(text, folder)
        if known.retired or len(runs) < (1 if is_one_enough else CONFIRMED):
            continue
        if command_words.suggests_danger(text) or (not folder and re.fullmatch(_CUSTOMARY, text)):
            continue
        command = known._replace(
            form=text,
            folder=folder,
            below="",
            with_argument=False,
            sessions_succeeded=len(runs),
            last_success=max(one.evidence.at for one in runs),
        )
        [item] = wording.command_lines([command])
        yield PageStatement(
            key=f"command:{text}",
            section=COMMANDS,
            line=f"- {item.line}",
            label="system",
            sources=sources_of(runs),
            at=finding.at,
            weight=score * len(runs) / finding.sessions,
            short=_short(command),
            refs=tuple(dict.fromkeys(map(wording.command_ref, (known.form, form, text)))),
        )


def _short(known: findings.KnownCommand) -> str:
    """Return the short form of a command, to be appended to the line of another one."""
    folder = f" in {rendering.code(known.folder)}" if known.folder else ""
    often = "once" if known.sessions_succeeded < 2 else f"in {known.sessions_succeeded}"
    return f"{rendering.code(known.form)}{folder} {often}"


def _wordings(seen: Sequence[SessionEvidence]) -> list[tuple[str, str, list[SessionEvidence]]]:
    """Return the wordings of a command, those of most sessions first: the words, the folder that
    it was always run in, and the sessions, each with the messages of its run. A wording that was
    run in different folders must have worked in several sessions at the root, or name its part."""
    folders: dict[str, list[str]] = {}
    groups: dict[str, dict[str, SessionEvidence]] = {}
    for one in seen:
        for folder, text, first, last in one.evidence.body.get("exact", ()):
            run = one.evidence._replace(spans=((int(first), int(last)),))
            groups.setdefault(text, {}).setdefault(one.session, SessionEvidence(one.session, run))
            folders.setdefault(text, []).append(folder)
    found = []
    for text, sessions in groups.items():
        places = folders[text]
        is_anywhere = places.count("") >= CONFIRMED or not _SELECTS.isdisjoint(text.split())
        if len(set(places)) == 1 or is_anywhere:
            found.append((text, "" if is_anywhere else places[0], list(sessions.values())))
    return sorted(found, key=lambda one: (-len(one[2]), len(one[0])))


def _names_part(command: str, folder: str) -> bool:
    """Check whether a command names a part of the project and a task in it: one session is enough
    for these."""
    words = command.split()
    whole = len(words) <= MOST_WORDS and "--" not in words
    options = any(word.startswith("-") for word in words)
    return whole and (not _SELECTS.isdisjoint(words) or (bool(folder) and options))


# ---------------------------------------------------------------- errors and places


def _error(
    line: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> PageStatement | None:
    """Return a line about an error of several sessions, with its remedy if two confirm it."""
    body = finding.body
    first = min(int(one.evidence.body.get("rank", 0)) for one in seen)
    if finding.sessions < CONFIRMED or not body["commands"] or first or line[:1] in "{[":
        return None
    [known, *_] = findings.read_resolutions(body, body["commands"])
    if command_words.suggests_danger(" ".join(known.remedy.gained)):
        return None
    date = display.format_time(finding.at)[:10]
    when, sources = f" in {finding.sessions} sessions, last on {date}", sources_of(seen)
    if known.confirmed:
        resolved = wording.resolution_line(known).line
        often = when if finding.sessions > known.sessions else ""
        when = f"{often}; {resolved[0].lower()}{resolved[1:]}"
        sources = sources_of(_with_remedy(seen, known.remedy), each=3)
    elif finding.sessions < RECURRING or re.search("timeout|timed out|deadline", line):
        return None
    elif all(one.evidence.body["remedy"]["files"] for one in seen):
        when += "; each time it passed after edits of the files concerned"
    command, signature = rendering.code(known.command), rendering.code(known.signature)
    return PageStatement(
        key=f"error:{line}",
        section=ERRORS,
        line=f"- {command} failed with {signature}{when}",
        label="system",
        sources=sources,
        at=finding.at,
        weight=finding.sessions,
        refs=(f"resolution:{known.command}:{known.signature}",),
    )


def _with_remedy(
    seen: Sequence[SessionEvidence], remedy: session_errors.Remedy
) -> list[SessionEvidence]:
    """Return the sessions that resolved an error with this remedy, at least in part."""
    words = {*remedy.gained, *remedy.lost, *remedy.files, *remedy.added}
    commands = {remedy.step_before, remedy.other_form} - {""}

    def same(given: Mapping[str, Json]) -> bool:
        given_words = {word for key in _REMEDY_WORDS for word in given.get(key, ())}
        return bool(words & given_words) or bool(
            commands & {given["step_before"], given["other_form"]}
        )

    return [one for one in seen if same(one.evidence.body["remedy"])]


_REMEDY_WORDS = ("gained", "lost", "files", "added", "also")


def _place(
    path: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> PageStatement | None:
    """Return the files that were changed together with a file."""
    known = [one for one in findings.read_places(finding.body) if _belong(path, one, finding)]
    item = next(iter(wording.place_lines(path, known)), None)
    if item is None:
        return None
    files = (path, *item.files)
    both = [one for one in (_only_edits(one, files) for one in seen) if len(one.evidence.spans) > 1]
    sessions = max(place.sessions for place in known)
    return PageStatement(
        key=f"place:{' '.join(sorted(files))}",
        section=PLACES,
        line=f"- {item.line} in {sessions} sessions",
        label="system",
        sources=sources_of(both),
        at=finding.at,
        weight=sessions,
        refs=(item.id,),
    )


def _belong(path: str, place: findings.KnownPlace, finding: findings.MergedFinding) -> bool:
    """Check whether two files are usually changed together; a file and its test do not count."""
    own, other = path.rpartition("/")[2], place.files[0].rpartition("/")[2]
    if own == other:
        return True
    often = place.sessions >= TOGETHER and 2 * place.sessions > finding.sessions
    return often and _stem(own) != _stem(other)


def _stem(name: str) -> str:
    """Return the name of a file without its extension and its test mark (`test_`, `.spec`)."""
    return re.sub(r"^test_|(?:[._-](?:tests?|spec|stories|d))?\.\w+$", "", name.lower())


def _only_edits(one: SessionEvidence, files: Sequence[str]) -> SessionEvidence:
    """Return the evidence of a place with the edits of some files only."""
    edits = one.evidence.body["edits"]
    spans = tuple((edits[path][0], edits[path][1]) for path in files if path in edits)
    return one._replace(evidence=one.evidence._replace(spans=spans))


_WORDED = {"error": _error, "place": _place, "conclusion": quotations.conclusion_statement}
