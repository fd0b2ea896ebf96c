"""What applies to a file: memories whose scope takes in its path."""

import json
from collections.abc import Sequence

from ..core import scopes
from ..db.database import Tx
from ..store import memories
from ..types import Memory


def applies(tx: Tx, paths: Sequence[str], owners: Sequence[str]) -> bool:
    """Whether the scope of any memory that these owners see takes in one of the paths."""
    found = {scope for _, scope in memories.scoped(tx, owners)}
    return any(
        scopes.matches(item, path)
        for scope in found
        for item in json.loads(scope)
        for path in paths
    )


def for_file(tx: Tx, path: str, limit: int, owners: Sequence[str]) -> list[Memory]:
    """The memories that these owners see and whose scope takes in a path, the most specific
    first."""
    found = []
    closeness: dict[str, int] = {}  # many memories share a scope
    for id, scope in memories.scoped(tx, owners):
        if scope not in closeness:
            fitting = [item for item in json.loads(scope) if scopes.matches(item, path)]
            closeness[scope] = max(map(scopes.specificity, fitting)) if fitting else -1
        if closeness[scope] >= 0:
            found.append((closeness[scope], id))
    chosen = [id for _, id in sorted(found, key=lambda item: (-item[0], item[1]))[:limit]]
    held = memories.get_many(tx, chosen)
    return [held[id] for id in chosen]
