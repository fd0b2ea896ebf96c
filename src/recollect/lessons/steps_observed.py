"""Store the observations of each session, and read the findings merged from all sessions.

Storing merges only the subjects of that session again. Each reading function runs a few indexed
statements, whatever the size of the store.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping, Sequence

from ..actions import command_forms, command_output, tool_calls
from ..episodes import session_errors
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..secrets import redaction
from ..storage.database import Tx
from ..types.records import Json
from . import findings, sql, wording
from .findings import CommandAdvice, Conclusion, KnownCommand, KnownPlace, KnownResolution

MOST_SESSIONS = 50
"""The newest sessions that are merged into a finding."""

MOST_COMMANDS = 200
MOST_ERRORS = 1_000
MOST_CONCLUSIONS = 20
MOST_WORKFLOWS = 50
KNOWN_FOR = 120 * findings.DAY
"""The age at which an agent's conclusion is no longer shown."""

UNMERGED, SCRIPTS = "manifest", "scripts"
"""The kind of findings that are not merged from sessions: the scripts of the manifests (subject
`SCRIPTS`), and each command or fix that a person hid."""
MOST_UNMERGED = 10_000


# ---------------------------------------------------------------- writing


def prepare(
    session: str, found: Sequence[session_errors.SessionObservation], at: int
) -> list[sql.ObservationRow]:
    """Return the rows of a session, redacted; `at` is the time of observations without one."""
    rows: dict[tuple[str, str], sql.ObservationRow] = {}
    name = redaction.redact_name(session)
    for one in found:
        subject = redaction.redact(one.subject)
        body = redaction.redact_json(dict(one.body)).text
        rows[one.kind, subject] = sql.ObservationRow(one.kind, subject, name, one.at or at, body)
    return list(rows.values())


def store(tx: Tx, session: str, rows: Sequence[sql.ObservationRow]) -> None:
    """Replace the observations of a session, and merge its subjects again."""
    touched = sql.list_subjects(tx, session) | {(row.kind, row.subject) for row in rows}
    sql.replace_observations(tx, session, rows)
    for kind, subject in sorted(touched):
        seen = _by_conversation(sql.list_observations(tx, kind, subject, MOST_SESSIONS))
        bodies = [json.loads(row.body) for row in seen]
        merged = findings.merge_observations(kind, bodies, [row.at for row in seen])
        if merged is None:
            sql.remove_finding(tx, kind, subject)
            continue
        body = redaction.redact_json(merged.body).text
        name = redaction.redact(subject)
        sql.put_finding(tx, sql.FindingRow(kind, name, merged.sessions, merged.at, body))


def _by_conversation(rows: Sequence[sql.ObservationRow]) -> list[sql.ObservationRow]:
    """Return one row for each conversation: sessions of subagents belong to their agent's."""
    found: dict[str, sql.ObservationRow] = {}
    for row in rows:
        found.setdefault(".".join(row.session.split(".")[:2]), row)
    return list(found.values())


def store_scripts(tx: Tx, scripts: Sequence[str], now: int) -> None:
    """Store the scripts of the project's manifests."""
    body = redaction.redact_json({"scripts": sorted(scripts)}).text
    sql.put_finding(tx, sql.FindingRow(UNMERGED, redaction.redact(SCRIPTS), 0, now, body))


def propose_workflows(tx: Tx, now: int, new_id: Callable[[str], str]) -> list[str]:
    """Propose a procedure for each sequence of commands that enough sessions ran before a commit;
    return the new names. A procedure that exists, even hidden, is not proposed again."""
    proposed = []
    for row in sql.list_findings(tx, "workflow", now - findings.UNUSED, MOST_WORKFLOWS):
        if row.sessions < findings.PROPOSED:
            continue
        body = json.loads(row.body)
        made = wording.workflow_procedure(body["steps"], body["purposes"], row.sessions)
        if procedures_sql.get_by_name(tx, made.name) is None:
            ready = procedures_steps.prepare_row(made, "system", "system", now, new_id("p"))
            procedures_steps.learn_procedure(tx, ready._replace(status="proposed"))
            proposed.append(made.name)
    return proposed


# ---------------------------------------------------------------- reading


def _body(kind: str, row: sql.SeenFinding) -> Mapping[str, Json] | None:
    """Return the part of a finding that was observed after the last clearing; None without one."""
    return findings.observed_after(kind, json.loads(row.body), row.cleared_at)


def known_commands(tx: Tx, *, now: int) -> list[KnownCommand]:
    """Return the commands that worked here, best first; retired ones carry the reason and come
    last."""
    return sorted(named_commands(tx, now=now)[1], key=lambda one: one.retired is not None)


def named_commands(tx: Tx, *, now: int) -> tuple[list[str], list[KnownCommand]]:
    """Return the canonical forms of the commands that worked here, and the commands."""
    rows = sql.list_findings(tx, "command", 0, MOST_COMMANDS)
    hidden = _load_unmerged(tx)
    manifest = hidden.pop(SCRIPTS, None)
    scripts = json.loads(manifest.body)["scripts"] if manifest else None
    found = [(row.subject, body) for row in rows if (body := _body("command", row))]
    replaced: dict[str, list[str]] = {}
    for form, body in found:
        if "replaced_by" in body and body["in_a_row"]:
            replaced.setdefault(str(body["replaced_by"]), []).append(form)
    found.sort(key=lambda one: (-findings.score(one[1], now), one[0]))
    others = found[0][1]["ok"] if found else ()
    days: dict[str, set[int]] = {}
    for _, body in found:
        days.setdefault(str(body["purpose"]), set()).update(at // findings.DAY for at in body["ok"])
    known = [
        findings.read_command(form, body, now, scripts, others, days)._replace(
            replaces=tuple(replaced.get(form, ()))
        )
        for form, body in found
    ]
    if hidden_forms := _hidden_forms(hidden):
        known = [
            one._replace(retired="hidden") if form in hidden_forms else one
            for (form, _), one in zip(found, known, strict=True)
        ]
    return [form for form, _ in found], known


def advice_for_command(tx: Tx, line: str) -> list[CommandAdvice]:
    """Return advice on each command of a shell line that failed in two sessions or more: the form
    that succeeded since."""
    forms = [form.key for form in command_forms.forms_of(line)]
    if not forms:
        return []
    known = sql.load_findings(tx, "command", forms)
    bodies = {form: body for form, row in known.items() if (body := _body("command", row))}
    better = {
        form: str(body["replaced_by"]) for form, body in bodies.items() if "replaced_by" in body
    }
    others = sql.load_findings(tx, "command", list(better.values())) if better else {}
    found = [
        findings.find_advice(form, bodies[form], other, body)
        for form, other in better.items()
        if other in others and other not in forms and (body := _body("command", others[other]))
    ]
    advice = [one for one in found if one is not None]
    hidden = _hidden_forms(hidden_refs(tx)) if advice else frozenset[str]()
    return [one for one in advice if hidden.isdisjoint((one.form, form_in(one.better)))]


def form_in(line: str) -> str:
    """Return the canonical form of a command as it is shown."""
    forms = command_forms.forms_of(line)
    return forms[-1].key if forms else line


def _hidden_forms(refs: Iterable[str]) -> frozenset[str]:
    """Return the canonical forms of the commands among hidden lessons: what is shown of a command
    changes with the runs of it that worked."""
    named = {ref.removeprefix("command:") for ref in refs if ref.startswith("command:")}
    return frozenset((*named, *map(form_in, named)))


def _load_unmerged(tx: Tx) -> dict[str, sql.SeenFinding]:
    return {row.subject: row for row in sql.list_findings(tx, UNMERGED, 0, MOST_UNMERGED)}


def hidden_refs(tx: Tx) -> frozenset[str]:
    """Return the commands and fixes that a person hid."""
    return frozenset(_load_unmerged(tx)) - {SCRIPTS}


def set_hidden(tx: Tx, ref: str, hide: bool, now: int) -> None:
    """Hide a command or fix, or restore it."""
    if hide:
        name, body = redaction.redact(ref), redaction.redact_json({}).text
        sql.put_finding(tx, sql.FindingRow(UNMERGED, name, 0, now, body))
    else:
        sql.remove_finding(tx, UNMERGED, ref)


def find_lesson(tx: Tx, id: str, now: int) -> str:
    """Return the id of a command or fix; empty if it is not known.

    id: as `lessons` or `seen` shows it
    """
    refs = findings.lesson_refs(id)
    hidden = hidden_refs(tx)
    forms = {form_in(ref.removeprefix("command:")) for ref in refs if ref.startswith("command:")}
    for ref in hidden:
        if ref.startswith("command:") and form_in(ref.removeprefix("command:")) in forms:
            return ref  # it was hidden under another wording
    known = {findings.fix_ref(one.signature) for one in known_resolutions(tx)} | hidden
    known |= {f"command:{one.form}" for one in known_commands(tx, now=now)}
    # A warning names a command by its canonical form, not as it was written.
    names = [ref.removeprefix("command:") for ref in refs]
    known |= {f"command:{form}" for form in sql.load_findings(tx, "command", names)}
    return next((ref for ref in refs if ref in known), "")


def resolutions_for_failure(
    tx: Tx, arguments: Mapping[str, Json], output: str
) -> list[KnownResolution]:
    """Return earlier resolutions of the same error, confirmed ones first."""
    script = tool_calls.find_script(arguments)
    lines = command_output.signatures(output) if script else ()
    if not lines:
        return []
    known = sql.load_findings(tx, "error", [line.lower() for line in lines])
    programs = session_errors.programs_of(script)
    found: dict[Json, KnownResolution] = {}
    for line in lines:
        row = known.get(line.lower())
        if row and (body := _body("error", row)):
            for one in findings.read_resolutions(body, programs):
                found.setdefault(one.remedy, one)
    hidden = hidden_refs(tx) if found else ()
    kept = [one for one in found.values() if findings.fix_ref(one.signature) not in hidden]
    return sorted(kept, key=lambda one: (-one.sessions, -one.last))


def known_resolutions(tx: Tx) -> list[KnownResolution]:
    """Return the errors that were resolved before, newest first, each with its best resolution."""
    rows = sql.list_findings(tx, "error", 0, MOST_ERRORS)
    found = list(map(resolutions_of, rows))
    hidden = hidden_refs(tx) if rows else ()
    best = [known[0] for known in found if known]
    return [one for one in best if findings.fix_ref(one.signature) not in hidden]


def resolutions_of(row: sql.SeenFinding) -> list[KnownResolution]:
    """Return the resolutions of an error, best first."""
    body = _body("error", row)
    return findings.read_resolutions(body, body["commands"]) if body else []


def places_for_file(tx: Tx, path: str) -> list[KnownPlace]:
    """Return the files that were changed together with this one, most sessions first.

    path: from the project's root
    """
    row = sql.load_findings(tx, "place", [path]).get(path)
    body = _body("place", row) if row else None
    return findings.read_places(body) if body else []


def conclusions(tx: Tx, *, now: int) -> list[Conclusion]:
    """Return the latest conclusions of agents that later evidence supports, newest first."""
    rows = sql.list_findings(tx, "conclusion", now - KNOWN_FOR, MOST_CONCLUSIONS)
    return [findings.read_conclusion(json.loads(row.body), row.at) for row in rows]
