"""More values than a statement takes: SQLite binds 32,766 of them, PostgreSQL 65,535."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.db.database import Database, Tx
from recollect.store import claims, episodes, injections, links, memories

IDS = [f"m-{number}" for number in range(70_000)]


@pytest.mark.parametrize(
    "look",
    [
        memories.get_many,
        memories.sketches,
        memories.stated,
        injections.verdicts,
        links.touching,
        claims.of_memories,
        claims.last_looks,
        episodes.get_many,
    ],
)
def test_any_number_of_records_can_be_asked_for(
    new_database: Callable[..., Database], look: Callable[[Tx, list[str]], object]
) -> None:
    assert not new_database().read(lambda tx: look(tx, IDS))
