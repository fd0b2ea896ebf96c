"""The index that one search runs over: an entry for each thing that can be found.

Words are indexed in the transaction that writes the thing. A very long text has several
parts. It does not know how terms are made or hits are ranked.
"""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from ..db.database import Matched, Tx, placeholders


class Entry(NamedTuple):
    """What is known of a thing that can be found, besides its words."""

    source: str
    ref: str
    kind: str
    layer: str
    owner: str
    status: str
    label: str
    seq: int
    at: int


class Found(NamedTuple):
    """An entry that matched, with the score of its best part."""

    source: str
    ref: str
    seq: int
    kind: str
    owner: str
    at: int
    score: float


def put(tx: Tx, entry: Entry, parts: Sequence[tuple[str, str]]) -> None:
    """Index a thing that was not indexed before: the terms and stems of each part."""
    for part, (terms, stems) in enumerate(parts):
        row = tx.one(
            "INSERT INTO entries "
            "(space, source, ref, kind, layer, owner, status, label, seq, part, at) VALUES "
            "(:space, :source, :ref, :kind, :layer, :owner, :status, :label, :seq, :part, :at) "
            "RETURNING id",
            {**entry._asdict(), "part": part},
        )
        if row:
            tx.add_words(row[0], terms, stems)


def remove(tx: Tx, source: str, ref: str, seq: int = 0) -> None:
    """Take a thing out of the index."""
    place = {"source": source, "ref": ref, "seq": seq}
    for row in tx.run(
        "SELECT id FROM entries WHERE space = :space AND source = :source AND ref = :ref "
        "AND seq = :seq",
        place,
    ):
        tx.remove_words(row[0])
        tx.run("DELETE FROM entries WHERE id = :entry AND space = :space", {"entry": row[0]})


def set_status(tx: Tx, source: str, ref: str, status: str) -> None:
    """Follow a change of the thing's status."""
    tx.run(
        "UPDATE entries SET status = :status "
        "WHERE space = :space AND source = :source AND ref = :ref",
        {"source": source, "ref": ref, "status": status},
    )


def candidates(
    tx: Tx, terms: Sequence[str], limit: int, filters: Mapping[str, Sequence[Any]]
) -> list[Found]:
    """The best entries for the terms. `filters` maps a column to its allowed values, or
    `since`/`until` to one time."""
    where, params = _where(filters)
    if not where:
        return _found(tx, tx.match(terms, limit, "", {}))[:limit]
    # Most filters let the best matches through: look there first, search exactly only if not.
    near = _found(tx, tx.match(terms, limit * 4, "", {}), where, params)
    if len(near) >= limit:
        return near[:limit]
    return _found(tx, tx.match(terms, limit, where, params), where, params)[:limit]


def _found(
    tx: Tx, matches: Sequence[Matched], where: str = "", params: Mapping[str, Any] | None = None
) -> list[Found]:
    if not matches:
        return []
    scores = {match.entry: match.score for match in matches}
    names, ids = placeholders("entry", list(scores))
    rows = tx.run(
        "SELECT e.id, e.source, e.ref, e.seq, e.kind, e.owner, e.at FROM entries e "
        f"WHERE e.space = :space AND e.id IN ({names}) {'AND ' + where if where else ''}",
        {**ids, **(params or {})},
    )
    best: dict[tuple[str, str, int], Found] = {}
    for entry, source, ref, seq, kind, owner, at in rows:
        found = Found(source, ref, seq, kind, owner, at, scores[entry])
        held = best.get((source, ref, seq))
        if held is None or held.score < found.score:
            best[source, ref, seq] = found
    return sorted(best.values(), key=lambda found: (-found.score, found.ref, found.seq))


def _where(filters: Mapping[str, Sequence[Any]]) -> tuple[str, dict[str, Any]]:
    parts: list[str] = []
    params: dict[str, Any] = {}
    for column, allowed in filters.items():
        if column == "since":
            parts.append("e.at >= :since")
            params["since"] = allowed[0]
        elif column == "until":
            parts.append("e.at < :until")
            params["until"] = allowed[0]
        else:
            names, bound = placeholders(f"{column}_", allowed)
            parts.append(f"e.{column} IN ({names})")
            params.update(bound)
    return " AND ".join(parts), params
