"""Procedures: one row a version; exactly one version of a name is open. It does not know skills."""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

from ..storage.database import (
    RecordSketch,
    Tx,
    ids_with_prefix,
    list_columns,
    list_parameters,
    set_columns,
)
from ..types.records import FOREVER, Json, SafeText


class ProcedureRow(NamedTuple):
    """A procedure as it is kept: `body` is JSON."""

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
_SELECT = f"SELECT {list_columns(_COLUMNS)} FROM procedures WHERE space = :space"


def insert(tx: Tx, row: ProcedureRow) -> bool:
    """Write a version; false when the name has an open one."""
    done = tx.one(
        f"INSERT INTO procedures (space, {list_columns(_COLUMNS)}) "
        f"VALUES (:space, {list_parameters(_COLUMNS)}) "
        "ON CONFLICT DO NOTHING RETURNING id",
        row._asdict(),
    )
    return done is not None


def update(tx: Tx, procedure: str, changes: Mapping[str, Json]) -> None:
    """Set columns of one version."""
    set_columns(tx, "procedures", procedure, changes)


def get_by_name(tx: Tx, name: str, hold: bool = False) -> ProcedureRow | None:
    """The open version of a name; with `hold`, nobody else changes it before the commit."""
    row = tx.one(
        f"{_SELECT} AND name = :name AND valid_to = {FOREVER} " + (tx.for_update if hold else ""),
        {"name": name},
    )
    return ProcedureRow(*row) if row else None


def get(tx: Tx, procedure: str) -> ProcedureRow | None:
    """One version by its id."""
    row = tx.one(f"{_SELECT} AND id = :id", {"id": procedure})
    return ProcedureRow(*row) if row else None


def starting_with(tx: Tx, prefix: str, limit: int = 10) -> list[str]:
    """Ids that begin with the prefix."""
    return ids_with_prefix(tx, "procedures", prefix, limit)


def versions(tx: Tx, root: str) -> list[ProcedureRow]:
    """All versions, oldest first."""
    rows = tx.run(f"{_SELECT} AND root = :root ORDER BY revision", {"root": root})
    return [ProcedureRow(*row) for row in rows]


def listing(tx: Tx, limit: int) -> list[ProcedureRow]:
    """Open procedures by name."""
    rows = tx.run(
        f"{_SELECT} AND valid_to = {FOREVER} ORDER BY name LIMIT :limit", {"limit": limit}
    )
    return [ProcedureRow(*row) for row in rows]


def proven(tx: Tx, limit: int) -> list[ProcedureRow]:
    """Procedures in use that worked before, the most often successful first."""
    rows = tx.run(
        f"{_SELECT} AND valid_to = {FOREVER} AND status = 'active' AND successes > 0 "
        "ORDER BY successes DESC, failures, name LIMIT :limit",
        {"limit": limit},
    )
    return [ProcedureRow(*row) for row in rows]


def sketch(tx: Tx, procedure: str) -> RecordSketch | None:
    """A procedure in a line: its name and description."""
    row = tx.one(
        "SELECT name, description, status, label, valid_from FROM procedures "
        "WHERE space = :space AND id = :id",
        {"id": procedure},
    )
    return RecordSketch(f"{row[0]}: {row[1]}", *row[2:]) if row else None
