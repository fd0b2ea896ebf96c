"""Vectors are sorted into cells of near ones: none is lost, and the nearest are found."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import apsw
import pytest

import recollect
from recollect.index import sql_vectors, steps_cells, vectors
from recollect.index import steps as index_steps
from recollect.storage import migrations
from recollect.storage.database import Tx

THINGS = ("dog", "cat", "horse", "bank", "loan", "tax", "river", "lake", "ocean", "train", "bus")
PLACES = ("garden", "office", "school", "market", "kitchen", "station", "harbour", "museum")


@pytest.fixture
def memory(
    project: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> Iterator[recollect.Recollect]:
    """A store in a file, with 88 memories in small blocks that are not sorted yet."""
    monkeypatch.setattr(index_steps, "BLOCK_SIZE", 8)
    monkeypatch.setattr(steps_cells, "BATCH", 1_000)
    monkeypatch.setattr(steps_cells, "LARGEST", 8)
    environment = {"RECOLLECT_HOME": str(tmp_path / "files")}
    with recollect.open(project, environment=environment, origin="user") as opened:
        opened.learn_many(
            [{"text": f"The {thing} is in the {place}"} for thing in THINGS for place in PLACES]
        )
        opened.store.rebuild(missing=True)
        monkeypatch.setattr(steps_cells, "BATCH", 3)
        yield opened


def sort_all(memory: recollect.Recollect) -> int:
    count = 0
    while steps_cells.sort_batch(memory.context.project_space):
        count += 1
    return count


def held_by_blocks(tx: Tx) -> dict[int, int]:
    """Return the block of each entry; every entry is in one block, where its row says."""
    blocks = sql_vectors.list_blocks(tx)
    held = {entry: block.block for block in blocks for entry in block.entries}
    assert len(held) == sum(len(block.entries) for block in blocks)
    rows = tx.run("SELECT entry, block FROM vectors WHERE space = :space")
    assert dict(rows) == held
    for block in blocks:
        found = sql_vectors.load_vectors(tx, block.entries)
        assert vectors.pack_signs([found[entry] for entry in block.entries]) == block.signs
    return held


def listed_cells(tx: Tx) -> list[int]:
    return list(sql_vectors.load_cells(tx).blocks)


def near(memory: recollect.Recollect) -> set[str]:
    return {hit.text for hit in memory.recall("a puppy among flowers", limit=5)}


def test_sorting_keeps_every_vector_in_one_small_cell_and_finds_the_same(
    memory: recollect.Recollect,
) -> None:
    space = memory.context.project_space
    before = near(memory)
    assert len(space.read(held_by_blocks)) == 88
    assert sort_all(memory) == 3
    held = space.read(held_by_blocks)
    assert len(held) == 88
    assert {block for block in held.values() if block < 0} <= {*space.read(listed_cells)}
    assert len({block for block in held.values() if block > 0}) <= 3
    cells = [block for block in held.values() if block < 0]
    assert max(cells.count(block) for block in {*cells}) <= steps_cells.LARGEST
    assert near(memory) == before


def test_cells_grow_are_split_and_lose_what_is_forgotten(memory: recollect.Recollect) -> None:
    space = memory.context.project_space
    sort_all(memory)
    first = {*space.read(listed_cells)}
    memory.learn_many(
        [{"text": f"A {thing} by the {place} again"} for thing in THINGS for place in PLACES]
    )
    memory.store.rebuild(missing=True)
    held = space.read(held_by_blocks)
    assert len(held) == 176
    assert {*space.read(listed_cells)} - first
    gone = memory.recall("dog garden", limit=1)[0]
    memory.memories.forget(gone.id, yes=True)
    memory.store.rebuild(missing=True)
    assert len(space.read(held_by_blocks)) == 175
    assert gone.text not in near(memory)


def test_vectors_that_are_all_alike_are_split_too(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = memory.context.project_space
    space.write(
        lambda tx: tx.run(
            "UPDATE vectors SET vector = (SELECT min(v.vector) FROM vectors v) WHERE space = :space"
        )
    )

    def pack_again(tx: Tx) -> None:
        for block in sql_vectors.list_blocks(tx):
            held = sql_vectors.load_vectors(tx, block.entries)
            signs = vectors.pack_signs([held[entry] for entry in block.entries])
            sql_vectors.save_block(tx, block._replace(signs=signs))

    space.write(pack_again)
    sort_all(memory)
    cells = [block for block in space.read(held_by_blocks).values() if block < 0]
    assert max(cells.count(block) for block in {*cells}) <= steps_cells.LARGEST


def test_cells_of_an_earlier_version_are_searched_and_then_sorted_again(
    memory: recollect.Recollect, project: Path, tmp_path: Path
) -> None:
    space = memory.context.project_space
    before = near(memory)
    sort_all(memory)
    entries = {*space.read(held_by_blocks)}
    path = memory.project.database
    memory.close()
    connection = apsw.Connection(path)
    connection.execute("UPDATE clusters SET centroids = substr(centroids, 1, length(blocks) * 4)")
    signs: list[Any] = connection.execute("SELECT rowid, size, signs FROM blocks").fetchall()
    by_columns = [
        (b"".join(rows[place :: len(rows) // size] for place in range(len(rows) // size)), block)
        for block, size, rows in signs
    ]
    connection.executemany("UPDATE blocks SET signs = ? WHERE rowid = ?", by_columns)
    connection.execute("ALTER TABLE blocks RENAME COLUMN signs TO planes")
    connection.pragma("user_version", migrations.MIGRATIONS.index("0028_whole_centroids"))
    connection.close()
    environment = {"RECOLLECT_HOME": str(tmp_path / "files")}
    with recollect.open(project, environment=environment, origin="user") as opened:
        assert near(opened) == before
        space = opened.context.project_space
        assert space.read(listed_cells) == []
        assert {*space.read(held_by_blocks)} == entries
        assert sort_all(opened) > 3
        assert {*space.read(held_by_blocks)} == entries
        assert near(opened) == before


def test_a_block_that_changed_meanwhile_is_left_for_the_next_time(
    memory: recollect.Recollect, monkeypatch: pytest.MonkeyPatch
) -> None:
    space = memory.context.project_space
    split = steps_cells._split

    def forget_one(held: dict[int, bytes], count: int) -> list[steps_cells._NewCell]:
        monkeypatch.setattr(steps_cells, "_split", split)
        memory.memories.forget(memory.recall("bus museum", limit=1)[0].id, yes=True)
        memory.memories.forget(memory.recall("bus harbour", limit=1)[0].id, yes=True)
        return split(held, count)

    monkeypatch.setattr(steps_cells, "_split", forget_one)
    first = steps_cells.sort_batch(space)
    assert not first or space.read(listed_cells)
    memory.store.rebuild(missing=True)
    assert len(space.read(held_by_blocks)) == 86
