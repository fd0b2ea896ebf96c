"""More values than a statement takes: SQLite binds 32,766 of them, PostgreSQL 65,535."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from recollect.episodes import sql as episodes_sql
from recollect.freshness import sql as freshness_sql
from recollect.injections import sql as injections_sql
from recollect.links import sql as links_sql
from recollect.memory import sql as memory_sql
from recollect.memory import sql_sketches as memory_sql_sketches
from recollect.storage.database import Database, Tx

IDS = [f"m-{number}" for number in range(70_000)]


@pytest.mark.parametrize(
    "look",
    [
        memory_sql.get_many,
        memory_sql_sketches.load_sketches,
        memory_sql.load_statements,
        injections_sql.count_verdicts,
        links_sql.find_touching,
        freshness_sql.load_claims,
        freshness_sql.load_checks,
        episodes_sql.get_many,
    ],
)
def test_any_number_of_records_can_be_asked_for(
    new_database: Callable[..., Database], look: Callable[[Tx, list[str]], object]
) -> None:
    assert not new_database().read(lambda tx: look(tx, IDS))
