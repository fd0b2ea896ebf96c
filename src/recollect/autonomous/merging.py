"""Merge what the extractions of all sessions and the memories in force say: phase 2 by rules.

Every statement is worded by our own code from calls and exit statuses, or is the quoted words of
the user or an agent. Nothing here is prose of a tool.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

from ..actions import command_words
from ..briefing import rendering, wording
from ..episodes import session_errors
from ..fast_typing import NamedTuple
from ..lessons import findings
from ..text import display, terms
from ..types.records import Json
from . import commands
from .quotations import (
    CitedMemory,
    SessionEvidence,
    answer_statement,
    commit_statement,
    conclusion_statement,
    group_evidence,
    memory_statement,
    pull_statement,
    quotes_statement,
    sources_of,
    task_statement,
)
from .statements import CLAIMS, ERRORS, HISTORY, PLACES, Extraction, PageStatement

CONFIRMED = findings.CONFIRMED
MOST_OF = {CLAIMS: 40, HISTORY: 60}
"""So many statements of a section are kept, the newest."""

TOGETHER = 4
"""So many sessions must have changed two files together that have different names."""

SAME, SAME_PULL = 0.5, 0.4
"""Share of the words of two commits from which on the later one is a new attempt of the earlier, if
they changed a file in common; and of a commit and the pull request that is about it."""

RECURRING = 3
"""Sessions that must meet an error before it gets a line without a confirmed remedy."""


def merge(
    extractions: Sequence[Extraction],
    memories: Sequence[CitedMemory],
    now: int,
    scripts: Sequence[str] | None = None,
) -> list[PageStatement]:
    """Return the statements of MEMORY.md, those of a section best first. `scripts` are those of the
    project's manifests; None when they are not known."""
    found = [one for cited in memories for one in memory_statement(cited)]
    groups = group_evidence(extractions)
    replaced: dict[str, list[str]] = {}
    merged: list[tuple[str, str, findings.MergedFinding, list[SessionEvidence]]] = []
    for (kind, subject), seen in groups.items():
        bodies = [one.evidence.body for one in seen]
        finding = findings.finding(kind, bodies, [one.evidence.at for one in seen])
        if finding is not None:
            merged.append((kind, subject, finding, seen))
            better = _replacement(finding.body) if kind == "command" else ""
            if better:
                replaced.setdefault(better, []).append(subject)
    proven = {
        str(finding.body["purpose"])
        for kind, _, finding, _ in merged
        if kind == "command" and finding.sessions >= commands.PROVEN
    }
    # Time in which nobody worked here does not make a command old.
    now = min(now, max((one.at for kind, _, one, _ in merged if kind == "command"), default=now))
    for kind, subject, finding, seen in merged:
        match kind:
            case "command" if not commands.is_weak(subject, finding, proven):
                instead = replaced.get(subject, [])
                found += commands.statements_of(subject, finding, seen, now, scripts, instead)
            case "error":
                found += _errors(subject, finding, seen)
            case "place":
                found += _places(subject, finding, seen)
            case "conclusion":
                found += conclusion_statement(subject, finding, seen)
            case "task":
                found += task_statement(subject, seen)
            case "commit":
                found += commit_statement(subject, seen)
            case "pull":
                found += pull_statement(subject, seen)
            case "answer":
                found += answer_statement(subject, seen)
            case "quote":
                found += quotes_statement(subject, seen)
    cited = [one for one in found if one.sources]
    return _distinct(_limited(_newest_attempts(cited, groups)))


def _newest_attempts(
    found: Sequence[PageStatement], groups: Mapping[tuple[str, str], Sequence[SessionEvidence]]
) -> list[PageStatement]:
    """Leave out commits that a later one made anew, plans whose files a later one changed, and pull
    requests of told commits."""
    told = {one.key for one in found}
    made = [
        _Attempt(kind, one.at, set(terms.query_stems(key)), set(one.body.get("files", ())), key)
        for (kind, key), ((_, one), *_) in groups.items()
        if kind in ("commit", "pull", "task") and f"{kind}:{key}" in told
    ]
    dropped = {
        f"{one.kind}:{one.key}" for one in made if any(_replaces(other, one) for other in made)
    }
    return [one for one in found if one.key not in dropped]


class _Attempt(NamedTuple):
    """What was made: a commit, a pull request or a task, with its words and files."""

    kind: str
    at: int
    words: set[str]
    files: set[str]
    key: str


def _replaces(new: _Attempt, old: _Attempt) -> bool:
    shared = old.files & new.files
    if old.kind == "task":
        return new.kind == "task" and new.at > old.at and 2 * len(shared) >= len(old.files)
    if new.kind != "commit" or not (old.kind == "pull" or (new.at > old.at and shared)):
        return False
    enough = SAME_PULL if old.kind == "pull" else SAME
    return len(old.words & new.words) >= enough * len(old.words | new.words)


def _replacement(body: Mapping[str, Json]) -> str:
    """Return the command that worked in place of one that fails in several sessions."""
    fails = body["failed"] >= CONFIRMED and body["in_a_row"]
    return str(body.get("replaced_by", "")) if fails else ""


# ---------------------------------------------------------------- findings


def _errors(
    line: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> list[PageStatement]:
    """Return an error that came up in several sessions: with its remedy where two confirm it."""
    body = finding.body
    first = min(int(one.evidence.body.get("rank", 0)) for one in seen)
    if finding.sessions < CONFIRMED or not body["commands"] or first or line[:1] in "{[":
        return []
    [known, *_] = findings.resolutions(body, body["commands"])
    if command_words.suggests_danger(" ".join(known.remedy.gained)):
        return []
    date = display.format_time(finding.at)[:10]
    told, sources = f" in {finding.sessions} sessions, last on {date}", sources_of(seen)
    if known.confirmed:
        resolved = wording.resolution_line(known).line
        often = told if finding.sessions > known.sessions else ""
        told = f"{often}; {resolved[0].lower()}{resolved[1:]}"
        sources = sources_of(_with_remedy(seen, known.remedy), each=3)
    elif finding.sessions < RECURRING or _is_timeout(line):
        return []
    elif all(one.evidence.body["remedy"]["files"] for one in seen):
        told += "; each time it passed after edits of the files concerned"
    return [
        PageStatement(
            key=f"error:{line}",
            section=ERRORS,
            line=f"- {rendering.code(known.command)} failed with "
            f"{rendering.code(known.signature)}{told}",
            label="system",
            sources=sources,
            at=finding.at,
            weight=finding.sessions,
            refs=(f"resolution:{known.command}:{known.signature}",),
        )
    ]


def _is_timeout(line: str) -> bool:
    return any(word in line for word in ("timeout", "timed out", "deadline"))


def _with_remedy(
    seen: Sequence[SessionEvidence], remedy: session_errors.Remedy
) -> list[SessionEvidence]:
    """Return the sessions that resolved it so, at least in part."""
    words = {*remedy.gained, *remedy.lost, *remedy.files, *remedy.added}
    commands = {remedy.step_before, remedy.other_form} - {""}

    def same(one: SessionEvidence) -> bool:
        given = one.evidence.body["remedy"]
        told = {word for key in _REMEDY_WORDS for word in given.get(key, ())}
        return bool(words & told) or bool(commands & {given["step_before"], given["other_form"]})

    return [one for one in seen if same(one)]


_REMEDY_WORDS = ("gained", "lost", "files", "added", "also")


def _places(
    path: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> list[PageStatement]:
    known = [one for one in findings.known_places(finding.body) if _belong(path, one, finding)]
    found = []
    for item in wording.place_lines(path, known):
        both = [_only_edits(one, (path, *item.files)) for one in seen]
        both = [one for one in both if len(one.evidence.spans) > 1]
        sessions = max(place.sessions for place in known)
        found.append(
            PageStatement(
                key=f"place:{' '.join(sorted((path, *item.files)))}",
                section=PLACES,
                line=f"- {item.line} in {sessions} sessions",
                label="system",
                sources=sources_of(both),
                at=finding.at,
                weight=sessions,
                refs=(item.id,),
            )
        )
    return found


def _belong(path: str, place: findings.KnownPlace, finding: findings.MergedFinding) -> bool:
    """Check whether files were changed together more often than not; a file and its tests always
    are, which goes without saying."""
    own, other = path.rpartition("/")[2], place.files[0].rpartition("/")[2]
    if own == other:
        return True
    often = place.sessions >= TOGETHER and 2 * place.sessions > finding.sessions
    return often and _stem(own) != _stem(other)


def _stem(name: str) -> str:
    """Return the name of a file without its extension and its test mark (`test_`, `.spec`)."""
    return re.sub(r"^test_|(?:[._-](?:tests?|spec|stories|d))?\.\w+$", "", name.lower())


# ---------------------------------------------------------------- choosing


def _only_edits(one: SessionEvidence, files: Sequence[str]) -> SessionEvidence:
    """Return the evidence of a place with the edits of some files only."""
    edits = one.evidence.body["edits"]
    spans = tuple((edits[path][0], edits[path][1]) for path in files if path in edits)
    return one._replace(evidence=one.evidence._replace(spans=spans))


def _limited(found: Sequence[PageStatement]) -> list[PageStatement]:
    """Order by weight and time; keep the newest of sections that grow without end."""
    dropped: set[str] = set()
    for section, most in MOST_OF.items():
        inside = [one for one in found if one.section == section]
        dropped |= {one.key for one in sorted(inside, key=lambda one: -one.at)[most:]}
    kept = [one for one in found if one.key not in dropped]
    return sorted(kept, key=lambda one: (-one.weight, -one.at, one.key))


def _distinct(found: Sequence[PageStatement]) -> list[PageStatement]:
    """Keep one statement for each key and line."""
    seen: set[str] = set()
    kept = []
    for one in found:
        if one.key not in seen and one.line not in seen:
            kept.append(one)
        seen |= {one.key, one.line}
    return kept
