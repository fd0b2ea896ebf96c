"""Add, end and follow typed links between records, from both ends."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

from ..episodes import sql as episodes_sql
from ..errors import InvalidInput
from ..links import relations as links_relations
from ..links import sql as links_sql
from ..memory import sql as memory_sql
from ..procedures import sql as procedures_sql
from ..secrets import redaction
from ..storage import database
from ..storage.database import Tx
from ..text import addresses
from ..types.records import Link
from . import steps_show

MOST_EDGES = 5_000
FORMATS = ("json", "dot", "mermaid")


class Linked(NamedTuple):
    """The records linked to one, the nearest first, and the graph as text on request."""

    id: str
    reached: tuple[links_relations.Reached, ...]
    labels: dict[str, str]
    graph: str = ""


def resolve_ref(tx: Tx, address: str) -> str:
    """Return the name of a record in links: its address without `memory://`; empty if missing."""
    place = addresses.parse_address(address if "://" in address else f"{addresses.SCHEME}{address}")
    shown = steps_show.show_in_space(tx, place)
    if shown is None:
        return ""
    for record in (shown.memory, shown.episode, shown.procedure):
        if record is not None:
            return record.id
    if shown.session is not None:
        span = addresses.format_address(place._replace(name=shown.session.id))
        return span.removeprefix(addresses.SCHEME)
    return addresses.format_address(place).removeprefix(addresses.SCHEME)


def add_link(
    tx: Tx, ends: tuple[str, str], relation: str, reason: str, origin: str, now: int
) -> Link:
    """Link two records."""
    source, target = ends
    if source == target:
        raise InvalidInput("a record is not linked to itself", where=source)
    made = Link(
        source=source,
        relation=links_relations.check_relation(relation),
        target=target,
        reason=redaction.redact(reason),
        origin=origin,
        at=now,
    )
    links_sql.put(tx, made, redaction.redact(reason), now)
    return made


def end_link(tx: Tx, ends: tuple[str, str], relation: str, now: int) -> bool:
    """End a link; return False if there is none."""
    return links_sql.end(tx, ends[0], links_relations.check_relation(relation), ends[1], now)


def follow_links(
    tx: Tx, start: str, depth: int, relations: Sequence[str] = (), format: str = ""
) -> Linked:
    """Follow the links of a record over `depth` steps, both ways."""
    if format and format not in FORMATS:
        raise InvalidInput(
            f"{format!r} is not a format", where="format", hint=f"one of: {', '.join(FORMATS)}"
        )
    edges = _find_edges(tx, start, depth)
    reached = links_relations.walk(edges, start, depth, relations)
    seen = {start, *(one.id for one in reached)}
    near = [edge for edge in edges if edge.source in seen and edge.target in seen]
    labels = {name: _describe_record(tx, name) for name in sorted(seen)}
    write = {
        "json": links_relations.to_json,
        "dot": links_relations.to_dot,
        "mermaid": links_relations.to_mermaid,
    }
    text = write[format](near, labels) if format else ""
    return Linked(start, tuple(reached), labels, text)


def _find_edges(tx: Tx, start: str, depth: int) -> list[links_relations.Edge]:
    """Return the links that a walk of `depth` steps can meet."""
    found: dict[links_relations.Edge, None] = {}
    seen, front = {start}, [start]
    for _ in range(depth):
        met: list[str] = []
        for one in links_sql.find_touching(tx, front):
            found[links_relations.Edge(one.source, one.relation, one.target, one.reason)] = None
            met += (one.source, one.target)
        front = [name for name in dict.fromkeys(met) if name not in seen]
        seen.update(front)
        if not front or len(found) > MOST_EDGES:
            break
    return list(found)


def _describe_record(tx: Tx, name: str) -> str:
    """Return the text of a record for one line."""
    kind = name[:2]
    if kind == "m-":
        memory = database.read_or_none(lambda: memory_sql.get(tx, name))
        return memory.text if memory else name
    if kind in ("e-", "p-"):
        kept = episodes_sql if kind == "e-" else procedures_sql
        held = database.read_or_none(lambda: kept.sketch(tx, name))
        return held.text if held else name
    return name
