"""What applies to a file: memories whose scope takes in its path."""

import json

from ..core import scopes
from ..db.database import Tx
from ..store import memories
from ..types import Memory


def for_file(tx: Tx, path: str, limit: int) -> list[Memory]:
    """The memories whose scope takes in a path, the most specific first."""
    found = []
    for id, scope in memories.scoped(tx):
        fitting = [item for item in json.loads(scope) if scopes.matches(item, path)]
        if fitting:
            found.append((max(map(scopes.specificity, fitting)), id))
    chosen = [id for _, id in sorted(found, key=lambda item: (-item[0], item[1]))[:limit]]
    held = memories.get_many(tx, chosen)
    return [held[id] for id in chosen]
