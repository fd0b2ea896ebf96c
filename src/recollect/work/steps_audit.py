"""Promote and audit: what a task or session leaves behind goes through the checklist, and what is
remembered is looked over. The audit changes nothing."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ..errors import InvalidInput, Refused
from ..links import sql as links_sql
from ..memory import hygiene
from ..memory import sql as memory_sql
from ..memory import sql_upkeep as memory_sql_upkeep
from ..memory import steps as memory_steps
from ..memory import steps_neighbours as memory_steps_neighbours
from ..procedures import skills
from ..procedures import sql as procedures_sql
from ..procedures import steps as procedures_steps
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import Memory
from .audit import Audit
from .audit import audit as looked_over

OFTEN = 10
"""Injected so often without a word that it helped, a memory is reported."""
MOST_USELESS = 100
_LAYERS_BELOW = ("session", "task")


class Decision(NamedTuple):
    """What the checklist said of a note: promote, defer or drop, at which step, and why."""

    id: str
    text: str
    decision: str
    step: str
    reason: str
    like: tuple[str, ...] = ()
    promoted: str = ""


class Promoted(NamedTuple):
    """The notes of a task or session with their decisions; `applied` says if these were done."""

    notes: tuple[Decision, ...]
    applied: bool


def every_open(tx: Tx) -> list[Memory]:
    """All open memories."""
    return memory_sql.list_open(tx, {}, memory_sql.ALL)


def promote(
    tx: Tx, owner: str, apply: bool, origin: str, now: int, new_id: Callable[[str], str]
) -> Promoted:
    """Walk the notes of a task or session through the checklist; keep those that pass it."""
    known = every_open(tx)
    notes = [one for one in known if one.layer in _LAYERS_BELOW and one.owner == owner]
    durable = [
        hygiene.KnownNote(one.id, (one.subject, one.text), one.scope)
        for one in known
        if one.layer not in _LAYERS_BELOW and one.status in ("active", "proposed")
    ]
    decided = []
    for note in sorted(notes, key=lambda one: (one.first_seen, one.id)):
        if note.status not in ("active", "proposed"):
            continue
        verdict = hygiene.review_note(
            hygiene.Note(
                note.text,
                note.kind,
                note.subject,
                note.citations,
                note.reason,
                note.category,
                note.scope,
            ),
            durable,
        )
        decision = Decision(note.id, note.text, *verdict)
        if apply and verdict.decision == "promote":
            decision = _kept(tx, note, decision, origin, now, new_id)
            durable.append(hygiene.KnownNote(note.id, (note.subject, note.text), note.scope))
        decided.append(decision)
    return Promoted(tuple(decided), apply)


def _kept(
    tx: Tx, note: Memory, decision: Decision, origin: str, now: int, new_id: Callable[[str], str]
) -> Decision:
    """The note as a memory of the project, no more trusted than it was."""
    label = trust.least((note.label, origin))
    draft = memory_steps.Draft(
        note.text,
        note.kind,
        subject=note.subject,
        detail=note.detail,
        category=note.category,
        scope=note.scope,
        tags=note.tags,
        examples=note.examples,
        citations=note.citations,
        evidence=note.evidence,
        reason=note.reason,
        confidence=note.confidence,
        sources=(*note.sources, note.address),
    )
    try:
        ready = memory_steps.prepare(draft, origin, now, new_id("m"), label)
    except (Refused, InvalidInput) as refused:
        return decision._replace(decision="drop", step="trust", reason=refused.message)
    done = memory_steps.learn(tx, ready, now)
    memory_steps_neighbours.link(tx, done.id, "derived_from", [note.id], "promoted", now)
    if note.kind == "workflow":
        _propose(tx, note, label, now, new_id("p"))
    return decision._replace(promoted=done.id)


def _propose(tx: Tx, note: Memory, label: str, now: int, id: str) -> None:
    """A workflow with steps is proposed as a procedure, for a person to accept."""
    steps = note.detail.get("steps", ())
    name = addresses.slugify(note.subject)
    if not steps or not isinstance(steps, Sequence) or procedures_sql.named(tx, name):
        return
    procedure = skills.Procedure(name, note.text[:1024], steps=tuple(map(str, steps)))
    row = procedures_steps.prepared(procedure, "system", label, now, id)
    waits = "proposed" if row.status == "active" else row.status
    procedures_steps.learn(tx, row._replace(status=waits))


def audit(tx: Tx, now: int, stale: Mapping[str, Sequence[str]], notes: str) -> Audit:
    """Near-duplicates, contradictions, stale citations and pollution; `stale` says what does not
    hold any more."""
    shown = {
        row[0]: int(row[1]) for row in memory_sql_upkeep.find_never_useful(tx, OFTEN, MOST_USELESS)
    }
    opposite = [(link.source, link.target) for link in links_sql.list_open(tx, "contradicts")]
    return looked_over(every_open(tx), now, stale, notes, shown, opposite)
