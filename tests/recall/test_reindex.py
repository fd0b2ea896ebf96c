"""Reindexing changes no answer, and leaves nothing of the old index behind."""

from __future__ import annotations

import recollect
from recollect.index import sql_vectors as index_sql_vectors
from recollect.index import steps as index_steps
from recollect.interfaces.screens import results
from recollect.operation_table import OPERATIONS

QUESTIONS = ("why is the upload refused", "document1z", "who tags a release", "the leak")


def fill(mem: recollect.Recollect) -> None:
    for number in range(12):
        mem.record(f"s-{number // 4}", f"Upload {number} was refused by the proxy, file{number}x")
    mem.learn("Uploads above twenty megabytes are refused by the proxy", kind="reference")
    mem.scratch.store("plan", "the plan for the release is kept as document1z")
    mem.episodes.record("find the leak in the proxy", outcome="success")
    mem.procedures.learn("release", "how somebody tags a release", steps=["tag it"])


def answers(mem: recollect.Recollect) -> list[list[tuple[str, float]]]:
    return [
        [(hit.address, round(hit.score, 9)) for hit in mem.recall(question)]
        for question in QUESTIONS
    ]


def test_a_rebuild_gives_the_same_answers(mem: recollect.Recollect) -> None:
    fill(mem)
    mem.store.rebuild(missing=True)
    before = answers(mem)
    assert all(before)
    for _ in range(3):
        done = mem.store.rebuild()
        assert (done.indexed, done.embedded) == (16, 16)
        assert answers(mem) == before
    assert mem.store.rebuild(missing=True).embedded == 0


def test_nothing_to_index_is_no_error(mem: recollect.Recollect) -> None:
    assert mem.store.rebuild().indexed == 0
    mem.learn("one")
    assert mem.store.rebuild().indexed == 1


def test_a_vector_that_was_made_again_stands_in_its_block_once(mem: recollect.Recollect) -> None:
    fill(mem)
    for _ in range(3):
        mem.store.rebuild()
    with mem:
        held = mem.context.project_space.read(
            lambda tx: (
                index_sql_vectors.list_blocks(tx),
                index_steps.measure_coverage(tx).embedded,
            )
        )
    blocks, made = held
    places = [entry for block in blocks for entry in block.entries]
    assert len(places) == len(set(places))
    assert not blocks or len(places) == made


def test_every_command_can_be_shown_to_a_person() -> None:
    for command in OPERATIONS:
        assert callable(results.load_screen(command))


def test_a_rebuild_reports_its_counts(mem: recollect.Recollect) -> None:
    mem.learn("Uploads above twenty megabytes are refused by the proxy")
    shown = results.show("rebuild", mem.store.rebuild())
    assert shown.startswith("indexed 1 record, made 1 vector by static-")
