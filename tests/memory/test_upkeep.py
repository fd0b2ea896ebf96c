"""What upkeep and statistics read of memories."""

from __future__ import annotations

from collections.abc import Callable

import recollect
from recollect.memory import sql_lists as memory_sql_lists
from recollect.memory.sql_lists import DAY
from recollect.storage.database import Database
from tests.conftest import Clock
from tests.storage.test_contract import a_memory

Open = Callable[..., Database]


def test_a_memory_first_seen_on_the_day_of_the_limit_still_counts_as_young(
    new_database: Open,
) -> None:
    from recollect.memory import sql as memory_sql

    database = new_database()
    young, older = 100 * DAY + DAY // 2, 10 * DAY
    for id, first_seen in (
        ("m-1", 100 * DAY - 1),
        ("m-2", 100 * DAY),
        ("m-3", young + 1),
        ("m-4", older - 1),
        ("m-5", older),
    ):
        row = a_memory(id, first_seen=first_seen)
        database.write(lambda tx, row=row: memory_sql.insert(tx, row))  # type: ignore[misc]
    counted = database.read(lambda tx: memory_sql_lists.count_by_age(tx, [young, older]))
    assert counted == [2, 2, 1]


def test_the_numbers_of_a_store_count_each_memory_once(
    mem: recollect.Recollect, clock: Clock
) -> None:
    id = mem.learn("Redis listens on port 6380").id
    mem.memories.correct(id, "Redis listens on port 6390")
    clock.advance(days=400)
    mem.learn("The kitchen closes at nine")
    stats = mem.store.stats()
    assert (stats.memories, stats.by_status) == (2, {"active": 2})
