"""Show one learned command, fix, place or conclusion by the id that screens and briefings print."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from ..actions import command_words
from ..episodes import session_errors
from ..fast_typing import TYPE_CHECKING
from ..lessons import findings, sql, steps_observed
from ..storage.database import Tx
from ..text import terms
from ..text.addresses import SCHEME
from ..types.records import Json
from ..types.reports import LessonSource, ShownLesson
from . import rendering, wording

if TYPE_CHECKING:
    from ..lessons.findings import KnownResolution

KINDS = ("command:", "avoid:", "fix:", "resolution:", "place:", "conclusion:")
"""Prefixes of the ids of lessons."""


MOST_FIXES = 2
LEAST_SHARED = 0.6
"""The share of a question's words that an error must hold."""


def names_lesson(id: str) -> bool:
    """Check whether an id is that of a lesson."""
    return id.removeprefix(SCHEME).startswith(KINDS)


def show_lesson(tx: Tx, id: str, now: int) -> ShownLesson | None:
    """Return a lesson with the sessions it was learned from, newest first; None without one."""
    id = id.removeprefix(SCHEME)
    kind, _, name = id.partition(":")
    if kind == "place":
        return _shown(tx, id, "place", name, name)
    if kind == "conclusion":
        return _show_conclusion(tx, id, name)
    ref = steps_observed.find_lesson(tx, id, now)
    hidden = ref in steps_observed.hidden_refs(tx)
    found = _show_command(tx, ref, now) if ref.startswith("command:") else _show_fix(tx, ref)
    return found._replace(status="hidden") if found and hidden else found


def find_fixes(tx: Tx, query: str, rows: Sequence[sql.SeenFinding]) -> list[str]:
    """Return a line for each of these errors that holds most words of a question, with its fix, its
    status and id, best first. What only the user may suggest is left out."""
    wanted = set(terms.query_stems(query))
    found: list[tuple[float, KnownResolution]] = []
    for row in rows:
        small = row.body.casefold()  # JSON, which escapes other than ASCII
        near = sum(not stem.isascii() or stem[:4] in small for stem in wanted)
        if not wanted or near < LEAST_SHARED * len(wanted):
            continue
        for known in steps_observed.resolutions_of(row)[:1]:
            # Not in the remedy: the path of an edited test would answer any question about tests.
            shared = wanted.intersection(terms.stem_text(known.signature).split())
            if len(shared) >= LEAST_SHARED * len(wanted):
                found.append((len(shared) / len(wanted), known))
    hidden = steps_observed.hidden_refs(tx) if found else ()
    found.sort(key=lambda one: (-one[0], -one[1].sessions, -one[1].last))
    lines = [(findings.fix_ref(one.signature), wording.resolution_line(one)) for _, one in found]
    return [
        f"{rendering.code(item.text.replace('`', chr(39)))}: {item.line} [{ref}]"
        for ref, item in lines
        if ref not in hidden and not command_words.suggests_danger(item.line)
    ][:MOST_FIXES]


def _show_command(tx: Tx, ref: str, now: int) -> ShownLesson | None:
    form = steps_observed.form_in(ref.removeprefix("command:"))
    for key, one in zip(*steps_observed.named_commands(tx, now=now), strict=True):
        if key == form:
            found = _shown(tx, ref, "command", form, one.form)
            return found and found._replace(status=one.retired or "in use")
    return None


def _show_fix(tx: Tx, ref: str) -> ShownLesson | None:
    for row in sql.list_findings(tx, "error", 0, steps_observed.MOST_ERRORS):
        line = str(json.loads(row.body)["line"])
        if findings.fix_ref(line) == ref:
            return _shown(tx, ref, "error", row.subject, line)
    return None


def _show_conclusion(tx: Tx, ref: str, name: str) -> ShownLesson | None:
    for row in sql.list_findings(tx, "conclusion", 0, steps_observed.MOST_ERRORS):
        body = json.loads(row.body)
        if name == f"{body['session']}:{row.at}":
            return _shown(tx, ref, "conclusion", row.subject, str(body["text"]))
    return None


def _shown(tx: Tx, ref: str, kind: str, subject: str, text: str) -> ShownLesson | None:
    rows = sql.list_observations(tx, kind, subject, steps_observed.MOST_SESSIONS)
    if not rows:
        return None
    sources = tuple(
        LessonSource(f"{SCHEME}session/{row.session}", row.at, what)
        for row in rows
        for what in _describe(kind, json.loads(row.body))
    )
    return ShownLesson(ref, "fix" if kind == "error" else kind, text, "in use", sources)


def _describe(kind: str, body: Mapping[str, Json]) -> Iterator[str]:
    """Yield what a session showed about a lesson."""
    if kind == "command":
        for name in body.get("ran", ()) or [body["wording"]] * ("wording" in body):
            yield f"worked: {name}"
        for name in body.get("broken", ()):
            yield f"failed: {name}"
        if body["failed"] and not body["ok"] and not body.get("broken"):
            yield "failed"
    elif kind == "error":
        remedy = session_errors.remedy_from_json(body["remedy"])
        command = findings.with_module(str(body["commands"][-1])) if body["commands"] else ""
        yield f"went away {wording.describe_remedy(remedy, command)}"
    elif kind == "place":
        yield f"changed together with {', '.join(body['files'])}" if body["files"] else "changed"
    else:
        yield str(body["evidence"])
