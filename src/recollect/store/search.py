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
) -> list[Matched]:
    """The best entries for the terms. `filters` maps a column to its allowed values, or
    `since`/`until` to one time."""
    where, params = _where(filters)
    # Most filters let the best matches through: look there first, search exactly only if not.
    near = tx.match(terms, limit + limit // 3, where, params, exact=False)
    if where and len(near) < limit:
        near = tx.match(terms, limit, where, params)
    return _whole(near)[:limit]


def _whole(matches: Sequence[Matched]) -> list[Matched]:
    """One match for a thing of several parts: that of its best part."""
    best: dict[tuple[str, str, int], Matched] = {}
    for match in sorted(matches, key=lambda match: (-match.score, match.ref, match.seq)):
        best.setdefault(match[:3], match)
    return list(best.values())


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
