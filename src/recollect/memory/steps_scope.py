"""What applies to a file: memories whose scope takes in its path."""

from __future__ import annotations

import json
from collections.abc import Sequence

from ..storage.database import Tx
from ..text import globs
from ..types.records import Memory
from . import sql


def applies(tx: Tx, paths: Sequence[str], owners: Sequence[str]) -> bool:
    """Whether the scope of any memory that these owners see takes in one of the paths."""
    found = {scope for _, scope in sql.scoped(tx, owners)}
    return any(
        globs.matches(item, path) for scope in found for item in json.loads(scope) for path in paths
    )


def for_file(tx: Tx, path: str, limit: int, owners: Sequence[str]) -> list[Memory]:
    """The memories that these owners see and whose scope takes in a path, the most specific
    first."""
    found = []
    closeness: dict[str, int] = {}  # many memories share a scope
    for id, scope in sql.scoped(tx, owners):
        if scope not in closeness:
            fitting = [item for item in json.loads(scope) if globs.matches(item, path)]
            closeness[scope] = max(map(globs.specificity, fitting)) if fitting else -1
        if closeness[scope] >= 0:
            found.append((closeness[scope], id))
    chosen = [id for _, id in sorted(found, key=lambda item: (-item[0], item[1]))[:limit]]
    held = sql.get_many(tx, chosen)
    return [held[id] for id in chosen]
