"""The relations of links and their inverses, walks along links, and graphs as JSON, DOT and
Mermaid. Records are given by their ids."""

from __future__ import annotations

import json
from collections import deque
from collections.abc import Collection, Iterable, Mapping
from typing import NamedTuple

from ..errors import InvalidInput
from ..types.records import RELATIONS

INVERSES: Mapping[str, str] = {
    "derived_from": "source_of",
    "related_to": "related_to",
    "contradicts": "contradicts",
    "elaborates": "elaborated_by",
    "example_of": "has_example",
    "supersedes": "superseded_by",
    "superseded_by": "supersedes",
}
"""The name of each relation seen from its other end."""

LONGEST_LABEL = 80


class Edge(NamedTuple):
    """A stored link between two records."""

    source: str
    relation: str
    target: str
    reason: str = ""


class Reached(NamedTuple):
    """A record reached by a walk. `via` is the record before it, `relation` the relation from
    there, `depth` the number of steps, `reason` that of the link."""

    id: str
    via: str
    relation: str
    depth: int
    reason: str = ""


def inverse(relation: str) -> str:
    """Return the relation seen from the other end."""
    if relation in INVERSES:
        return INVERSES[relation]
    for name, other in INVERSES.items():
        if other == relation:
            return name
    raise _unknown(relation)


def check_relation(relation: str) -> str:
    """Return a relation that a link may have, or raise InvalidInput."""
    if relation not in RELATIONS:
        raise _unknown(relation)
    return relation


def _unknown(relation: str) -> InvalidInput:
    return InvalidInput(
        f"{relation!r} is not a relation", where="relation", hint=f"One of: {', '.join(RELATIONS)}."
    )


def group_links(edges: Iterable[Edge]) -> dict[str, list[Edge]]:
    """Return the links of every record, sorted; each starts at that record."""
    found: dict[str, set[Edge]] = {}
    for edge in edges:
        check_relation(edge.relation)
        back = Edge(edge.target, inverse(edge.relation), edge.source, edge.reason)
        found.setdefault(edge.source, set()).add(edge)
        found.setdefault(edge.target, set()).add(back)
    return {name: sorted(links) for name, links in found.items()}


def walk(
    edges: Iterable[Edge], start: str, depth: int = 2, relations: Collection[str] = ()
) -> list[Reached]:
    """Follow links in both directions; return each link within `depth` steps once, nearest first.

    relations: follow only these, as seen from the record before; empty means all
    """
    links = group_links(edges)
    reached: list[Reached] = []
    seen = {start}
    followed: set[tuple[str, str, str]] = set()
    queue = deque([(start, 0)])
    while queue:
        here, steps = queue.popleft()
        if steps == depth:
            continue
        for edge in links.get(here, ()):
            if edge.target == here or (relations and edge.relation not in relations):
                continue
            if (here, edge.relation, edge.target) not in followed:
                back = (edge.target, inverse(edge.relation), here)
                followed |= {(here, edge.relation, edge.target), back}
                reached.append(Reached(edge.target, here, edge.relation, steps + 1, edge.reason))
            if edge.target not in seen:
                seen.add(edge.target)
                queue.append((edge.target, steps + 1))
    return reached


def newest(edges: Iterable[Edge], start: str) -> str:
    """Return the last record in the chain of `superseded_by` links, or the record itself."""
    links = group_links(edge for edge in edges if "supersede" in edge.relation)
    here, seen = start, {start}
    while True:
        later = [one.target for one in links.get(here, ()) if one.relation == "superseded_by"]
        fresh = [name for name in later if name not in seen]
        if not fresh:
            return here
        here = fresh[0]
        seen.add(here)


# ---------------------------------------------------------------- graphs

Labels = Mapping[str, str]
"""A one-line title for each record, by id."""


def to_json(edges: Iterable[Edge], labels: Labels | None = None) -> str:
    """Render the graph as JSON: nodes and edges, sorted."""
    nodes, links = _sort_graph(edges)
    names = labels or {}
    body = {
        "nodes": [{"id": name, "label": names.get(name, name)} for name in nodes],
        "edges": [edge._asdict() for edge in links],
    }
    return json.dumps(body, ensure_ascii=False, indent=2)


def to_dot(edges: Iterable[Edge], labels: Labels | None = None) -> str:
    """Render the graph for Graphviz."""
    nodes, links = _sort_graph(edges)
    lines = ["digraph memory {", "  rankdir=LR;", "  node [shape=box];"]
    lines += [f"  {_dot(name)} [label={_dot(_label(name, labels))}];" for name in nodes]
    lines += [f"  {_dot(a)} -> {_dot(b)} [label={_dot(name)}];" for a, name, b, _ in links]
    return "\n".join((*lines, "}")) + "\n"


def to_mermaid(edges: Iterable[Edge], labels: Labels | None = None) -> str:
    """Render the graph for Mermaid. Records are numbered: Mermaid has reserved words."""
    nodes, links = _sort_graph(edges)
    numbers = {name: f"n{number}" for number, name in enumerate(nodes, 1)}
    lines = ["flowchart LR"]
    lines += [f'  {numbers[name]}["{_mermaid(_label(name, labels))}"]' for name in nodes]
    lines += [f"  {numbers[a]} -- {name} --> {numbers[b]}" for a, name, b, _ in links]
    return "\n".join(lines) + "\n"


def _sort_graph(edges: Iterable[Edge]) -> tuple[list[str], list[Edge]]:
    """Return the sorted record ids and the sorted links; raise InvalidInput for an unknown
    relation."""
    links = sorted(set(edges))
    for edge in links:
        check_relation(edge.relation)
    return sorted({name for edge in links for name in (edge.source, edge.target)}), links


def _label(name: str, labels: Labels | None) -> str:
    label = " ".join((labels or {}).get(name, name).split())
    return label if len(label) <= LONGEST_LABEL else label[: LONGEST_LABEL - 1] + "…"


def _dot(text: str) -> str:
    shown = "".join(char if char.isprintable() else " " for char in text)
    return '"' + shown.replace("\\", "\\\\").replace('"', '\\"') + '"'


def _mermaid(text: str) -> str:
    """Escape Mermaid markup: it reads `#nn;` as the character of that number."""
    printable = (char if char.isprintable() else " " for char in text)
    return "".join(
        char if char.isalnum() or char in " .,_/-" else f"#{ord(char)};" for char in printable
    )
