"""Procedures: one row a version; exactly one version of a name is open."""

from __future__ import annotations

from collections.abc import Mapping

from ..fast_typing import NamedTuple
from ..storage.database import (
    RecordSketch,
    Tx,
    ids_with_prefix,
    list_columns,
    list_parameters,
    list_shown,
    set_columns,
)
from ..types.records import FOREVER, Json, SafeText


class ProcedureRow(NamedTuple):
    """A stored procedure; `body` is JSON."""

    id: str
    root: str
    revision: int
    name: SafeText
    description: SafeText
    body: SafeText
    successes: int
    failures: int
    last_used: int
    status: str
    origin: str
    label: str
    sources: SafeText
    valid_from: int
    valid_to: int


_COLUMNS = ProcedureRow._fields


def _select(tx: Tx) -> str:
    return f"SELECT {list_shown(tx, 'procedures', _COLUMNS)} FROM procedures WHERE space = :space"


def insert(tx: Tx, row: ProcedureRow) -> bool:
    """Insert a version; return False if the name has an open one."""
    done = tx.one(
        f"INSERT INTO procedures (space, {list_columns(_COLUMNS)}) "
        f"VALUES (:space, {list_parameters(_COLUMNS)}) ON CONFLICT DO NOTHING RETURNING id",
        row._asdict(),
    )
    return done is not None


def update(tx: Tx, procedure: str, changes: Mapping[str, Json]) -> None:
    """Set columns of one version."""
    set_columns(tx, "procedures", procedure, changes)


def get_by_name(tx: Tx, name: str, hold: bool = False) -> ProcedureRow | None:
    """Return the open version of a name; with `hold`, lock it until the commit."""
    row = tx.one(
        f"{_select(tx)} AND name = :name AND valid_to = {FOREVER} "
        + (tx.for_update if hold else ""),
        {"name": name},
    )
    return ProcedureRow(*row) if row else None


def get(tx: Tx, procedure: str) -> ProcedureRow | None:
    """Return one version by its id."""
    row = tx.one(f"{_select(tx)} AND id = :id", {"id": procedure})
    return ProcedureRow(*row) if row else None


def starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Return ids that start with a prefix."""
    return ids_with_prefix(tx, "procedures", prefix, limit)


def list_open(tx: Tx, limit: int) -> list[ProcedureRow]:
    """Return open procedures by name."""
    rows = tx.run(
        f"{_select(tx)} AND valid_to = {FOREVER} ORDER BY name LIMIT :limit", {"limit": limit}
    )
    return [ProcedureRow(*row) for row in rows]


def list_proven(tx: Tx, limit: int) -> list[ProcedureRow]:
    """Return procedures in use that have succeeded, the most successful first."""
    rows = tx.run_batched(
        f"{_select(tx)} AND valid_to = {FOREVER} AND status = 'active' AND successes > 0 "
        "ORDER BY successes DESC, failures, name LIMIT :limit",
        {"limit": limit},
    )
    return [ProcedureRow(*row) for row in rows]


def sketch(tx: Tx, procedure: str) -> RecordSketch | None:
    """Return name and description of a procedure on one line."""
    columns = ("name", "description", "status", "label", "valid_from")
    row = tx.one(
        f"SELECT {list_shown(tx, 'procedures', columns)} FROM procedures "
        "WHERE space = :space AND id = :id",
        {"id": procedure},
    )
    if row is None:
        return None
    name, description, status, label, valid_from = row
    return RecordSketch(f"{name}: {description}", status, label, valid_from)
