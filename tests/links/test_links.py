"""Links: made by hand, followed from both ends, written down as graphs."""

from __future__ import annotations

import json
from itertools import pairwise

import pytest

import recollect
from recollect.types.records import RELATIONS

Mem = recollect.Recollect


@pytest.mark.parametrize("relation", RELATIONS)
def test_every_relation_is_followed_from_both_ends(mem: Mem, relation: str) -> None:
    one = mem.learn("the exporter writes csv files")
    other = mem.learn("spreadsheets are opened by the accountants")
    mem.links.add(one.id, relation, other.address, reason="seen together")
    (there,) = mem.links.list(one.id[:8]).reached
    (back,) = mem.links.list(other.id).reached
    assert (there.id, there.relation, there.reason) == (other.id, relation, "seen together")
    assert back.id == one.id
    mem.links.add(one.id, relation, other.id, remove=True)
    assert mem.links.list(one.id).reached == ()
    with pytest.raises(recollect.NotFound, match="no such link"):
        mem.links.add(one.id, relation, other.id, remove=True)


def test_a_walk_goes_as_far_as_it_is_told(mem: Mem) -> None:
    texts = ("alpha is first", "beta is second", "gamma is third", "delta is fourth")
    ids = [mem.learn(text).id for text in texts]
    for one, other in pairwise(ids):
        mem.links.add(one, "related_to", other)
    mem.links.add(ids[-1], "related_to", ids[0])
    assert {item.id for item in mem.links.list(ids[0], depth=1).reached} == {ids[1], ids[3]}
    assert {item.id for item in mem.links.list(ids[0], depth=9).reached} == set(ids[1:])
    assert mem.links.list(ids[0], depth=9, relation=["elaborates"]).reached == ()


def test_a_record_with_very_many_links_is_walked_past(mem: Mem) -> None:
    """More of them than one statement asks for; a link may begin among some and end among others."""
    hub, *leaves = [mem.learn(f"entry {number} of the catalogue").id for number in range(131)]
    for leaf in leaves:
        mem.links.add(hub, "related_to", leaf)
    behind = mem.learn("what only one of them leads to").id
    mem.links.add(sorted(leaves)[-1], "related_to", behind)
    mem.links.add(sorted(leaves)[0], "elaborates", sorted(leaves)[-1])
    told = json.loads(mem.links.list(hub, depth=2, format="json").graph)
    assert {item.id for item in mem.links.list(hub, depth=2).reached} == {*leaves, behind}
    assert len(told["edges"]) == len(leaves) + 2


def test_records_of_all_kinds_are_linked_and_named(mem: Mem) -> None:
    memory = mem.learn("the exporter writes csv files")
    episode = mem.episodes.record("Write the exporter", "success")
    mem.procedures.learn("export-data", "Export the data", steps=["run it"])
    mem.scratch.store("export_note", "look at the encoding")
    mem.record("s-1", "hello")
    mem.links.add(memory.id, "derived_from", episode.id)
    mem.links.add(mem.procedures.show("export-data").id, "elaborates", memory.id)
    mem.links.add(memory.id, "related_to", "scratch/export_note")
    mem.links.add(memory.id, "derived_from", "memory://session/s-1/messages/1-1")
    linked = mem.links.list(memory.id)
    assert {(item.relation, linked.labels[item.id]) for item in linked.reached} == {
        ("derived_from", "Write the exporter (success)"),
        ("elaborated_by", "export-data: Export the data"),
        ("related_to", "scratch/export_note"),
        ("derived_from", "session/s-1/messages/1-1"),
    }


def test_the_graph_comes_as_json_dot_and_mermaid(mem: Mem) -> None:
    one = mem.learn('the exporter writes "csv" files')
    other = mem.learn("spreadsheets are opened by the accountants")
    mem.links.add(one.id, "elaborates", other.id)
    body = json.loads(mem.links.list(one.id, format="json").graph)
    assert [(edge["source"], edge["target"]) for edge in body["edges"]] == [(one.id, other.id)]
    assert {node["label"] for node in body["nodes"]} == {one.memory.text, other.memory.text}
    assert mem.links.list(one.id, format="dot").graph.startswith("digraph")
    assert "-- elaborates -->" in mem.links.list(one.id, format="mermaid").graph
    with pytest.raises(recollect.InvalidInput, match="not a format"):
        mem.links.list(one.id, format="png")


def test_what_cannot_be_linked_is_said(mem: Mem) -> None:
    one = mem.learn("the exporter writes csv files")
    for target, error, words in (
        ("m-000000000000", recollect.NotFound, "no such record"),
        (one.id, recollect.InvalidInput, "itself"),
    ):
        with pytest.raises(error, match=words):
            mem.links.add(one.id, "related_to", target)
    other = mem.learn("spreadsheets are opened by the accountants")
    with pytest.raises(recollect.InvalidInput, match="not a relation"):
        mem.links.add(one.id, "causes", other.id)
    with pytest.raises(recollect.NotFound, match="no such record"):
        mem.links.list("m-000000000000")


def test_memories_of_the_user_are_linked_among_themselves(mem: Mem) -> None:
    one = mem.learn("I like short names", kind="preference", layer="user")
    other = mem.learn("I like long walks", kind="preference", layer="user")
    mem.links.add(one.id, "related_to", other.id)
    assert [item.id for item in mem.links.list(other.id).reached] == [one.id]
