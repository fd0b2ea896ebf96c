"""Learn, use, revise and accept procedures; export and load them as `SKILL.md`.

A procedure of a person is in use at once; one of an agent is proposed, one that an agent loads from
a file is quarantined, and tool output never becomes one.
"""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..episodes import steps as episodes_steps
from ..errors import Conflict, InvalidInput, NotFound
from ..fast_typing import NamedTuple
from ..index import sql as index_sql
from ..index import steps as index_steps
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..memory import sql_lists as memory_sql_lists
from ..memory import steps as memory_steps
from ..memory import steps_learn as memory_steps_learn
from ..memory import steps_neighbours as memory_steps_neighbours
from ..memory import steps_revisions as memory_steps_revisions
from ..secrets import redaction
from ..storage.database import Tx
from ..text import addresses
from ..types import trust
from ..types.records import FOREVER, TRUSTED_ORIGINS, Json, Learned, Link, Memory
from . import skills, sql

RESULTS = ("success", "failure")


class ShownProcedure(NamedTuple):
    """A procedure with its status and counts."""

    id: str
    name: str
    description: str
    status: str
    revision: int
    successes: int
    failures: int
    last_used: int
    origin: str
    label: str
    valid_from: int
    procedure: skills.Procedure

    @property
    def address(self) -> str:
        return f"memory://{self.id}"


class ExportedSkill(NamedTuple):
    """An exported procedure: its text, the file if one was written, and notes about extensions."""

    name: str
    text: str
    path: str = ""
    notes: tuple[str, ...] = ()


def prepare_row(
    procedure: skills.Procedure, origin: str, label: str, now: int, id: str
) -> sql.ProcedureRow:
    """Prepare the row of a new procedure: check it as a skill, and redact it."""
    skills.to_skill_md(procedure)
    if not procedure.steps and not procedure.sections:
        raise InvalidInput("a procedure needs steps", where=f"procedure {procedure.name}")
    return sql.ProcedureRow(
        id=id,
        root=id,
        revision=1,
        name=redaction.check_name(procedure.name, "name"),
        description=redaction.redact(procedure.description),
        body=redaction.redact_json(_to_json(procedure)).text,
        successes=procedure.successes if label in TRUSTED_ORIGINS else 0,
        failures=procedure.failures if label in TRUSTED_ORIGINS else 0,
        last_used=0,
        status=trust.admit_memory("workflow", label),
        origin=origin,
        label=label,
        sources=redaction.redact_json([]).text,
        valid_from=now,
        valid_to=FOREVER,
    )


def learn_procedure(tx: Tx, row: sql.ProcedureRow) -> ShownProcedure:
    """Save a new procedure; the same again changes nothing, unless it was hidden meanwhile."""
    if sql.insert(tx, row):
        _index_row(tx, row)
        return show_row(row)
    current = sql.get_by_name(tx, row.name)
    if current and current.status == "hidden":
        return revise_procedure(tx, current.name, row, row.valid_from)
    if current and (current.body, current.description) == (row.body, row.description):
        return show_row(current)
    raise Conflict(
        f"a procedure {row.name!r} already exists",
        where=f"procedure {row.name}",
        hint=f"`recollect procedure revise {row.name}` makes a new version of it",
    )


def revise_procedure(tx: Tx, name: str, row: sql.ProcedureRow, now: int) -> ShownProcedure:
    """Replace the open version by a new one, which keeps its counts."""
    old = get_procedure(tx, name, hold=True)
    where = f"procedure {old.name}"
    hint = "learn it under another name; a person can decide between them"
    trust.require_rank(row.label, old.label, "change", "stated", where, hint)
    sql.update(tx, old.id, {"valid_to": now, "status": "superseded"})
    index_sql.set_status(tx, "procedure", old.id, "superseded")
    new = row._replace(
        root=old.root,
        revision=old.revision + 1,
        successes=old.successes,
        failures=old.failures,
        last_used=old.last_used,
        sources=redaction.redact_json([f"memory://{old.id}"]).text,
        valid_from=max(now, old.valid_from + 1),
    )
    if not sql.insert(tx, new):
        raise Conflict(f"a procedure {row.name!r} already exists", where=where)
    _index_row(tx, new)
    return show_row(new)


def accept_procedure(tx: Tx, name: str, origin: str, now: int, id: str) -> ShownProcedure:
    """Accept a procedure for a person: a new version, active and trusted as theirs."""
    trust.require_person(origin, "accept a procedure", where=f"procedure {name}")
    old = get_procedure(tx, name, hold=True)
    if old.label == "user" and old.status == "active":
        return show_row(old)
    row = old._replace(id=id, origin="user", label="user", status="active", valid_to=FOREVER)
    return revise_procedure(tx, name, row, now)


def count_use(tx: Tx, name: str, result: str, now: int) -> ShownProcedure:
    """Count the result of a use."""
    if result not in RESULTS:
        raise InvalidInput.choice("result", result, RESULTS)
    row = get_procedure(tx, name, hold=True)
    count = "successes" if result == "success" else "failures"
    sql.update(tx, row.id, {count: getattr(row, count) + 1, "last_used": now})
    return show_row(get_procedure(tx, row.name))


# ---------------------------------------------------------------- look up


def get_procedure(tx: Tx, name: str, hold: bool = False) -> sql.ProcedureRow:
    """Return the open version of a procedure, by its name or the id of any version."""
    name = name.removeprefix("memory://")
    row = sql.get_by_name(tx, name, hold)
    if row is None and name.startswith("p-"):
        found = sql.get(tx, addresses.pick_unique_id(name, sql.starting_with(tx, name)))
        row = sql.get_by_name(tx, found.name, hold) if found else None
    if row is None:
        raise NotFound(
            "there is no such procedure", where=name, hint="`recollect procedure list` lists them"
        )
    return row


def show_row(row: sql.ProcedureRow) -> ShownProcedure:
    """Return a stored procedure as a record."""
    known = {**row._asdict(), "procedure": parse_row(row)}
    return ShownProcedure(**{name: known[name] for name in ShownProcedure._fields})


def parse_row(row: sql.ProcedureRow) -> skills.Procedure:
    """Parse the skill of a row, with its counts."""
    body = json.loads(row.body)
    body |= {name: getattr(row, name) for name in _IN_COLUMNS}
    body["errors"] = [skills.KnownError(*one) for one in body["errors"]]
    body["sections"] = [skills.Section(*one) for one in body["sections"]]
    body["extra"] = {key: _to_tuple(value) for key, value in body["extra"].items()}
    return skills.Procedure(**{name: _to_tuple(body[name]) for name in skills.Procedure._fields})


def _to_tuple(value: Json) -> Json:
    return tuple(value) if isinstance(value, list) else value


_IN_COLUMNS = ("name", "description", "successes", "failures")
"""The parts of a procedure that are columns of its row, and not in the body."""


def _to_json(procedure: skills.Procedure) -> dict[str, Json]:
    kept = {key: value for key, value in procedure._asdict().items() if key not in _IN_COLUMNS}
    return {**kept, "extra": dict(procedure.extra)}


def _index_row(tx: Tx, row: sql.ProcedureRow) -> None:
    index_steps.reindex_text(tx, entry_of(row), searchable(row))


def follow_undo(tx: Tx, id: str) -> None:
    """Let the index follow an undo of a procedure's version."""
    row = sql.get(tx, id)
    if row and row.valid_to == FOREVER:
        _index_row(tx, row)
    else:
        index_sql.remove_entry(tx, "procedure", id)


def entry_of(row: sql.ProcedureRow) -> index_sql.IndexEntry:
    """Return the index entry of a procedure."""
    return index_sql.IndexEntry(
        source="procedure",
        ref=row.id,
        kind="procedure",
        layer="project",
        owner="",
        status=row.status,
        label=row.label,
        seq=0,
        at=row.valid_from,
    )


def searchable(row: sql.ProcedureRow) -> str:
    """Return the text that a procedure is found by."""
    procedure = parse_row(row)
    pieces = [row.name, row.description, procedure.title, procedure.intro]
    pieces += [*procedure.prerequisites, *procedure.steps, *procedure.exit_criteria]
    pieces += [f"{one.error} {one.fix}" for one in procedure.errors]
    return "\n".join(filter(None, pieces))


def prepare_pattern(
    pattern: skills.Pattern, origin: str, label: str, now: int, id: str
) -> memory_steps.PreparedMemory:
    """Prepare a pattern for storage: redact it and check its trust."""
    draft = memory_steps.Draft(
        text=pattern.pattern,
        kind="pattern",
        detail=skills.PATTERN.dump(pattern),
        tags=(pattern.category,) if pattern.category else (),
        evidence=tuple(
            f"memory://{episodes_steps.address_id(one)}" for one in pattern.source_episodes
        ),
        confidence=pattern.confidence,
    )
    return memory_steps.prepare(draft, origin, now, id, label)


def save_patterns(
    tx: Tx, ready: Sequence[memory_steps.PreparedMemory], now: int
) -> tuple[Learned, ...]:
    """Save patterns, and add the links between them and those already stored."""
    done = [
        memory_steps_learn.learn(tx, one, now, memory_steps_neighbours.find_neighbours(tx, one.row))
        for one in ready
    ]
    new = {one.id for one in done}
    known = {_source_id(memory): memory for memory in _list_patterns(tx)}
    reason = redaction.redact("given with the pattern")
    for name, memory in known.items():
        if memory.id in new:
            if name != memory.id:
                memory_sql.put_alias(tx, redaction.redact_name(name), memory)
            for source in memory.evidence:
                source = source.removeprefix(addresses.SCHEME)
                links_sql.put(tx, Link(memory.id, "derived_from", source), reason, now)
        for link in skills.pattern_from_memory(memory).links:
            target = known.get(link.to)
            if target and target.id != memory.id and new & {memory.id, target.id}:
                links_sql.put(tx, Link(memory.id, link.relation, target.id), reason, now)
    return tuple(done)


def show_pattern(tx: Tx, name: str) -> dict[str, Json]:
    """Return a pattern as JSON, by its id, a prefix of it, or the id in its source file."""
    memory = next((one for one in _list_patterns(tx) if _source_id(one) == name), None)
    memory = memory or memory_steps_revisions.open_memory(tx, name)
    if memory.kind != "pattern":
        raise InvalidInput(f"this is a {memory.kind}, not a pattern", where=memory.address)
    made = (
        skills.PatternLink(link.target, link.relation)
        for link in links_sql.find_touching(tx, [memory.id])
        if link.source == memory.id and link.relation != "derived_from"
    )
    return skills.PATTERN.dump(skills.pattern_from_memory(memory, made))


def _source_id(memory: Memory) -> str:
    """Return the id of a pattern in its source file."""
    return str(memory.detail.get("id", "")) or memory.id


def _list_patterns(tx: Tx) -> list[Memory]:
    return memory_sql_lists.list_open(tx, {"kind": "pattern"}, memory_sql.ALL)
