"""Phase 2 by rules: what the extractions of all sessions and the memories in force say together.

Every statement is worded by our own code from calls and exit statuses, or is the quoted words of
the user or an agent. Nothing here is prose of a tool.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Container, Iterable, Mapping, Sequence

from ..actions import command_words
from ..briefing import rendering, wording
from ..fast_typing import NamedTuple
from ..lessons import findings
from ..text import display
from ..types.records import Json
from .quotations import (
    CitedMemory,
    SessionEvidence,
    commit_statement,
    conclusion_statement,
    memory_statement,
    quotes_statement,
    sources_of,
    task_statement,
)
from .statements import (
    CLAIMS,
    COMMANDS,
    ERRORS,
    HISTORY,
    PLACES,
    Extraction,
    PageStatement,
    conversation_of,
)

CONFIRMED = findings.CONFIRMED
MOST_OF = {CLAIMS: 40, HISTORY: 60}
"""So many statements of a section are kept, the newest."""

PROVEN = 3
"""Where a command worked in so many sessions, others for the same purpose that worked once are left
out."""

FEWEST_WORDS = 3
"""A command of fewer words that ran or installed something once is bare: its arguments are
missing."""

RECURRING = 3
"""An error without a confirmed remedy is worth a line when so many sessions met it."""


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
    groups = _grouped(extractions)
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
            sources = sources_of(seen)
            found.append(Workflow(steps, tuple(body["purposes"]), len(seen), last, sources))
    return sorted(found, key=lambda one: (-one.sessions, -one.last))


def merge(
    extractions: Sequence[Extraction],
    memories: Sequence[CitedMemory],
    now: int,
    scripts: Sequence[str] | None = None,
) -> list[PageStatement]:
    """Return the statements of MEMORY.md, those of a section best first. `scripts` are those of the
    project's manifests; None when they are not known."""
    found = [one for cited in memories for one in memory_statement(cited)]
    groups = _grouped(extractions)
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
        if kind == "command" and finding.sessions >= PROVEN
    }
    for kind, subject, finding, seen in merged:
        match kind:
            case "command" if _is_weak(subject, finding, proven):
                continue
            case "command":
                instead = replaced.get(subject, [])
                found += _command(subject, finding, seen, now, scripts, instead)
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
            case "quote":
                found += quotes_statement(subject, seen)
    return _distinct(_limited(found))


def _is_weak(form: str, finding: findings.MergedFinding, proven: Container[str]) -> bool:
    """Check whether a command says too little: nothing tells what it is for, or it worked once,
    and is bare or has a better one for the same purpose."""
    purpose = str(finding.body["purpose"])
    if not purpose:
        return finding.sessions < PROVEN
    is_bare = purpose in ("run", "install") and len(form.split()) < FEWEST_WORDS
    return finding.sessions < 2 and (purpose in proven or is_bare)


def _replacement(body: Mapping[str, Json]) -> str:
    """Return the command that worked in place of one that fails in several sessions."""
    fails = body["failed"] >= CONFIRMED and body["in_a_row"]
    return str(body.get("replaced_by", "")) if fails else ""


def _grouped(extractions: Iterable[Extraction]) -> dict[tuple[str, str], list[SessionEvidence]]:
    """Return the evidence by kind and subject, newest first, one for each conversation."""
    groups: dict[tuple[str, str], list[SessionEvidence]] = {}
    for extraction in extractions:
        for one in extraction.evidence:
            groups.setdefault((one.kind, one.subject), []).append(
                SessionEvidence(extraction.session, one)
            )
    for key, seen in groups.items():
        unique: dict[str, SessionEvidence] = {}
        for each in sorted(seen, key=lambda one: (-one.evidence.at, one.session)):
            unique.setdefault(conversation_of(each.session), each)
        groups[key] = list(unique.values())
    return groups


# ---------------------------------------------------------------- findings


def _command(
    form: str,
    finding: findings.MergedFinding,
    seen: Sequence[SessionEvidence],
    now: int,
    scripts: Sequence[str] | None,
    replaces: Sequence[str],
) -> list[PageStatement]:
    known = findings.known_command(form, finding.body, now, scripts)
    if known.retired or command_words.suggests_danger(known.form):
        return []
    good = [one for one in seen if one.evidence.body["ok"]]
    [item] = wording.command_lines([known._replace(replaces=tuple(sorted(replaces)))])
    return [
        PageStatement(
            key=f"command:{form}",
            section=COMMANDS,
            line=f"- {item.line}",
            label="system",
            sources=sources_of(good),
            at=finding.at,
            weight=findings.score(finding.body, now),
            refs=tuple(wording.command_ref(one) for one in item.forms),
        )
    ]


def _errors(
    line: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> list[PageStatement]:
    """Return an error that came up in several sessions: with its remedy where two confirm it."""
    body = finding.body
    first = min(int(one.evidence.body.get("rank", 0)) for one in seen)
    if finding.sessions < CONFIRMED or not body["commands"] or first:
        return []
    [known, *_] = findings.resolutions(body, body["commands"])
    if command_words.suggests_danger(" ".join(known.remedy.gained)):
        return []
    date = display.format_time(finding.at)[:10]
    told, sources = f"in {finding.sessions} sessions, last on {date}", sources_of(seen)
    if known.confirmed:
        resolved = wording.resolution_line(known).line
        told += f"; {resolved[0].lower()}{resolved[1:]}"
        sources = sources_of(_with_remedy(seen, known.remedy._asdict()))
    elif finding.sessions < RECURRING or _is_timeout(line):
        return []
    elif all(one.evidence.body["remedy"]["files"] for one in seen):
        told += "; each time it passed after edits of the files concerned"
    return [
        PageStatement(
            key=f"error:{line}",
            section=ERRORS,
            line=f"- {rendering.code(known.command)} failed with "
            f"{rendering.code(known.signature)} {told}",
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
    seen: Sequence[SessionEvidence], remedy: Mapping[str, Json]
) -> list[SessionEvidence]:
    """Return the sessions that resolved it so, or edited one of the same files."""
    files = set(remedy["files"])

    def same(one: SessionEvidence) -> bool:
        given = one.evidence.body["remedy"]
        told = {name: tuple(v) if isinstance(v, list) else v for name, v in given.items()}
        return told == dict(remedy) or not files.isdisjoint(given["files"])

    return [one for one in seen if same(one)]


def _places(
    path: str, finding: findings.MergedFinding, seen: Sequence[SessionEvidence]
) -> list[PageStatement]:
    known = findings.known_places(finding.body)
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
