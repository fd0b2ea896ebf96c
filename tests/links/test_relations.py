"""Links: both ways, no walk without end, and exports that no text can break."""

from __future__ import annotations

import json
import re
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from recollect.errors import InvalidInput
from recollect.links.relations import (
    INVERSES,
    Edge,
    Reached,
    inverse,
    newest,
    to_dot,
    to_json,
    to_mermaid,
    walk,
)
from recollect.types.records import RELATIONS

law = settings(deadline=None, max_examples=150)
ids = st.sampled_from([f"m-{number}" for number in range(7)])
edges = st.lists(st.builds(Edge, ids, st.sampled_from(RELATIONS), ids, st.just("")), max_size=15)
any_text = st.text(st.characters(codec="utf-8"), max_size=20)

CHAIN = [
    Edge("m-1", "derived_from", "e-1"),
    Edge("m-2", "supersedes", "m-1"),
    Edge("m-3", "contradicts", "m-2", "they say the opposite"),
]


@pytest.mark.parametrize("relation", [*RELATIONS, *INVERSES.values()])
def test_the_inverse_of_an_inverse_is_the_relation(relation: str) -> None:
    assert inverse(inverse(relation)) == relation


def test_every_relation_has_an_inverse_and_nothing_else_has() -> None:
    assert set(INVERSES) == set(RELATIONS)
    with pytest.raises(InvalidInput, match="'likes' is not a relation"):
        inverse("likes")
    with pytest.raises(InvalidInput):
        walk([Edge("a", "likes", "b")], "a")


def test_a_walk_goes_both_ways_and_names_relations_as_they_are_seen() -> None:
    assert walk(CHAIN, "m-1", 2) == [
        Reached("e-1", "m-1", "derived_from", 1),
        Reached("m-2", "m-1", "superseded_by", 1),
        Reached("m-3", "m-2", "contradicts", 2, "they say the opposite"),
    ]
    assert walk(CHAIN, "e-1", 1) == [Reached("m-1", "e-1", "source_of", 1)]
    assert walk(CHAIN, "m-1", 9, ["superseded_by"]) == [Reached("m-2", "m-1", "superseded_by", 1)]
    assert walk(CHAIN, "nowhere") == []


@law
@given(edges, ids, st.integers(0, 5))
def test_a_walk_ends_lists_each_link_once_and_never_goes_too_far(
    links: list[Edge], start: str, depth: int
) -> None:
    reached = walk(links, start, depth)
    assert start not in [one.id for one in reached]
    seen = [
        min((one.via, one.relation, one.id), (one.id, inverse(one.relation), one.via))
        for one in reached
    ]
    assert len(seen) == len(set(seen))
    assert all(1 <= one.depth <= depth for one in reached)
    assert [one.depth for one in reached] == sorted(one.depth for one in reached)


@law
@given(edges, ids, ids)
def test_what_one_record_reaches_reaches_it_too(links: list[Edge], one: str, other: str) -> None:
    assert (other in {r.id for r in walk(links, one, 9)}) == (
        one in {r.id for r in walk(links, other, 9)}
    )


@law
@given(edges, ids, st.randoms(use_true_random=False))
def test_the_order_of_the_links_does_not_matter(
    links: list[Edge], start: str, chance: Random
) -> None:
    shuffled = list(links)
    chance.shuffle(shuffled)
    assert walk(shuffled, start) == walk(links, start)
    assert to_json(shuffled) == to_json(links)


def test_the_newest_is_found_through_both_spellings_and_in_circles() -> None:
    chain = [Edge("m-2", "supersedes", "m-1"), Edge("m-2", "superseded_by", "m-3")]
    assert [newest(chain, name) for name in ("m-1", "m-2", "m-3")] == ["m-3"] * 3
    assert newest([*chain, Edge("m-1", "supersedes", "m-3")], "m-1") == "m-3"


@law
@given(
    st.lists(st.builds(Edge, any_text, st.sampled_from(RELATIONS), any_text, any_text), max_size=5)
)
def test_no_text_breaks_an_export(links: list[Edge]) -> None:
    body = json.loads(to_json(links))
    assert {edge["source"] for edge in body["edges"]} == {edge.source for edge in links}
    dot = to_dot(links)
    for line in dot.splitlines()[3:-1]:
        assert re.fullmatch(
            r'  ("(?:\\.|[^"\\])*")(?: -> ("(?:\\.|[^"\\])*"))? \[label="(?:\\.|[^"\\])*"\];', line
        )
    for line in to_mermaid(links).splitlines()[1:]:
        assert re.fullmatch(r'  n\d+(?:\["[^"<>\[\]{}|`\n]*"\]| -- \w+ --> n\d+)', line)


def test_labels_are_shown_and_markup_in_them_is_not() -> None:
    links = [Edge("m-1", "related_to", "m-2")]
    labels = {"m-1": 'say "hi" <b>\nnow', "m-2": "x" * 100}
    assert '"m-1" [label="say \\"hi\\" <b> now"];' in to_dot(links, labels)
    assert 'n1["say #34;hi#34; #60;b#62; now"]' in to_mermaid(links, labels)
    assert f'"{"x" * 79}…"' in to_dot(links, labels)
