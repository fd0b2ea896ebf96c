"""Vectors are found by their signs and ranked by their product."""

from __future__ import annotations

from array import array
from math import floor, sqrt
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from recollect.index import sql_vectors, steps_nearest
from recollect.index import vectors as index_vectors
from recollect.index.vectors import quantise as vector
from recollect.storage.database import IndexMatch

DIMS = 64


def drawn(rng: Random, near: list[float] | None = None, spread: float = 1.0) -> list[float]:
    centre = near or [0.0] * DIMS
    return [x + spread * rng.gauss(0, 1) for x in centre]


def cosine(one: list[float], other: list[float]) -> float:
    product = sum(x * y for x, y in zip(one, other, strict=True))
    return product / sqrt(sum(x * x for x in one)) / sqrt(sum(x * x for x in other))


def test_similarities_are_the_cosines_of_the_vectors() -> None:
    rng = Random(1)
    question = drawn(rng)
    others = [drawn(rng, question, spread) for spread in (0.0, 0.3, 1.0, 3.0)]
    found = index_vectors.cosine_similarities(vector(question), [vector(other) for other in others])
    assert found == pytest.approx([cosine(question, other) for other in others], abs=0.02)


@pytest.mark.parametrize("dims", [8, 256, 264])
def test_the_largest_products_do_not_reach_the_next_vector(dims: int) -> None:
    high, low = bytes([255]) * dims, bytes([1]) * dims
    assert index_vectors.cosine_similarities(high, [high, low, high]) == [1.0, -1.0, 1.0]


def test_the_nearest_vectors_are_among_the_best_by_sign() -> None:
    rng = Random(2)
    question = drawn(rng)
    far = [vector(drawn(rng)) for _ in range(2000)]
    near = [vector(drawn(rng, question, 0.5)) for _ in range(20)]
    mixed = far[:700] + near + far[700:]
    scores = index_vectors.score_blocks(
        vector(question),
        [index_vectors.pack_signs(mixed[:999]), index_vectors.pack_signs(mixed[999:])],
    )
    assert set(range(700, 720)) <= set(index_vectors.pick_best(scores, 60))


def test_no_vectors_give_no_scores_and_no_places() -> None:
    assert index_vectors.pack_signs([]) == b""
    assert index_vectors.score_blocks(vector([1.0] * DIMS), []) == b""
    assert index_vectors.score_blocks(vector([1.0] * DIMS), [b""]) == b""
    assert index_vectors.pick_best(b"", 5) == []
    assert index_vectors.pick_best(b"\x01\x02", 0) == []
    assert index_vectors.cosine_similarities(vector([1.0] * DIMS), []) == []


def test_what_is_too_far_by_its_signs_is_not_picked() -> None:
    scores = bytes([90, 200, 40, 120, 199])
    assert index_vectors.pick_best(scores, 4) == [1, 4, 3, 0]
    assert index_vectors.pick_best(scores, 4, least=120) == [1, 4, 3]
    assert index_vectors.pick_best(scores, 2, least=120) == [1, 4]
    assert index_vectors.pick_best(scores, 4, least=255) == []


@pytest.mark.parametrize("wanted", [0.2, 0.35, 0.6])
def test_the_score_by_signs_tells_the_cosine_within_a_tenth(wanted: float) -> None:
    rng = Random(3)
    off = []
    for _ in range(200):
        question, other = ([rng.gauss(0, 1) for _ in range(256)] for _ in range(2))
        other = [wanted * x + sqrt(1 - wanted**2) * y for x, y in zip(question, other, strict=True)]
        signs = index_vectors.pack_signs([vector(other)])
        [score] = index_vectors.score_blocks(vector(question), [signs])
        exact = cosine(question, other)
        off.append(score < index_vectors.score_of(exact - steps_nearest.BELOW, vector(question)))
    assert sum(off) <= 0.05 * len(off)


components = st.lists(st.integers(1, 255), min_size=DIMS, max_size=DIMS).map(bytes)


@given(components, st.lists(components, min_size=1, max_size=20))
def test_a_score_follows_the_signs_and_the_steps_of_the_question(
    question: bytes, vectors: list[bytes]
) -> None:
    """Each vector has its own byte: what its neighbours are does not change its score."""
    scores = index_vectors.score_blocks(question, [index_vectors.pack_signs(vectors)])
    alone = b"".join(
        index_vectors.score_blocks(question, [index_vectors.pack_signs([one])]) for one in vectors
    )
    assert scores == alone
    steps = [
        max(-7, min(7, 2 * floor((component - index_vectors.ZERO) / 18.6) + 1))
        for component in question
    ]
    total = sum(map(abs, steps))
    for score, one in zip(scores, vectors, strict=True):
        agreement = sum(
            step if c > index_vectors.ZERO else -step for step, c in zip(steps, one, strict=True)
        )
        most = max(total.bit_length() - 8, 0)
        assert score == (agreement + total) // 2 >> most


@pytest.mark.parametrize("dims", [8, 8_192, 9_400])
def test_a_vector_of_any_length_scores_as_it_agrees(dims: int) -> None:
    question = bytes([255]) * dims
    half = bytes([255, 1]) * (dims // 2)
    scores = index_vectors.score_blocks(
        question, [index_vectors.pack_signs([question, half, bytes([1]) * dims])]
    )
    assert scores[0] > scores[1] > scores[2] == 0
    assert scores[0] == index_vectors.score_of(1.0, question)


@given(components)
def test_the_question_itself_scores_highest_and_its_opposite_lowest(question: bytes) -> None:
    opposite = bytes(256 - component for component in question)
    score, against = index_vectors.score_blocks(
        question, [index_vectors.pack_signs([question, opposite])]
    )
    assert score >= against


@given(st.binary(max_size=300), st.integers(0, 320))
def test_best_gives_the_highest_scores_in_order_and_the_first_of_equals(
    scores: bytes, count: int
) -> None:
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count]
    assert index_vectors.pick_best(scores, count) == expected


@pytest.mark.parametrize("count", [1, 25, 400, 9_000])
@pytest.mark.parametrize("rare", [0, 7, 500])
def test_the_best_of_many_are_found_also_if_a_sample_misses_them(count: int, rare: int) -> None:
    rng = Random(count)
    scores = bytearray(min(int(rng.gauss(120, 9)), 255) for _ in range(9_001))
    scores[1 : 2 * rare : 2] = bytes([250]) * rare  # none of them stands where a sample is drawn
    expected = sorted(range(len(scores)), key=lambda place: (-scores[place], place))[:count]
    assert index_vectors.pick_best(bytes(scores), count) == expected


@given(components, st.lists(components, max_size=8))
def test_similarities_do_not_depend_on_the_company(question: bytes, vectors: list[bytes]) -> None:
    together = index_vectors.cosine_similarities(question, vectors)
    assert together == [index_vectors.cosine_similarities(question, [one])[0] for one in vectors]


def test_the_nearest_cells_are_searched() -> None:
    random = Random(3)
    question = vector([random.gauss(0, 1) for _ in range(64)])

    def cells(near: int, count: int) -> sql_vectors.VectorCells:
        centroids = [vector([random.gauss(0, 1) for _ in range(64)]) for _ in range(count)]
        centroids[1 : near + 1] = [question] * near
        packed = index_vectors.pack_vectors(centroids)
        return sql_vectors.VectorCells(array("q", range(count)), packed)

    assert steps_nearest._nearest_cells(question, cells(0, 0)) == []
    assert steps_nearest._nearest_cells(question, cells(3, 60)) == [*range(60)]
    chosen = steps_nearest._nearest_cells(question, cells(12, 300))
    assert len(chosen) == steps_nearest.PROBED
    assert {*range(1, 13)} < {*chosen}
    many = steps_nearest._nearest_cells(question, cells(9, 1_000))
    assert len(many) == steps_nearest.PROBED
    assert {*range(1, 10)} < {*many}
    alike = steps_nearest._nearest_cells(question, cells(300, 301))
    assert len(alike) == steps_nearest.PROBED


@given(st.lists(components, max_size=5))
def test_vectors_are_packed_and_unpacked(held: list[bytes]) -> None:
    assert index_vectors.unpack_vectors(index_vectors.pack_vectors(held)) == held


@given(components, st.lists(components, min_size=1, max_size=8))
def test_products_are_exact(question: bytes, held: list[bytes]) -> None:
    """They are whole numbers, whatever instructions the processor has."""
    zero = index_vectors.ZERO
    expected = [
        sum((x - zero) * (y - zero) for x, y in zip(question, one, strict=True)) for one in held
    ]
    pack = index_vectors.pack_vectors
    assert index_vectors.multiply(pack([question]), pack(held)) == [expected]


@pytest.mark.parametrize("dims", [8, 256, 1_536, 4_096])
def test_the_largest_products_are_exact(dims: int) -> None:
    held = index_vectors.pack_vectors([bytes([255]) * dims, bytes([1]) * dims])
    most = 127 * 127 * dims
    assert index_vectors.multiply(held, held) == [[most, -most], [-most, most]]


def test_of_many_matches_those_that_promise_most_are_ranked() -> None:
    matches = [
        IndexMatch(n, "memory", f"m-{n}", 0, "fact", "", "user", 0, "some words", 200.0 - n)
        for n in range(200)
    ]
    matches[199] = matches[199]._replace(stems="the_name words")
    cosines = dict.fromkeys(range(0, 200, 2), 0.1) | {190: 0.9, 191: 0.8}
    kept = steps_nearest.keep_promising(matches, cosines, ["the_name"], 10)
    entries = [item.entry for item in kept]
    assert entries == sorted(entries)  # still the best by words first
    assert len(entries) == steps_nearest.SURE + steps_nearest.PROMISING + 1
    assert {*range(steps_nearest.SURE), 190, 191, 199} < {*entries}
    assert len(steps_nearest.keep_promising(matches, cosines, [], 150)) == 200
    few = matches[:30]
    assert steps_nearest.keep_promising(few, cosines, [], 10) == few
