"""The index that one search runs over: an entry for each thing that can be found.

Words are indexed in the transaction that writes the thing, which also notes that the entry's
vector is still to be made. A very long text has several parts; its vector is that of the first.
It does not know how stems are made or hits are ranked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..db.database import Matched, Tx, placeholders
from ..nouns import Any, NamedTuple
from ..types import FOREVER
from . import vectors
from .rows import seen_by


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


_COLUMNS = f"{', '.join(Entry._fields)}, part, id"


def put(tx: Tx, entry: Entry, parts: Sequence[str]) -> None:
    """Index a thing that was not indexed before: the stems of each part."""
    put_all(tx, [(entry, parts)])


def put_all(tx: Tx, things: Iterable[tuple[Entry, Sequence[str]]]) -> None:
    """The same for many things at once."""
    _add(tx, [(entry, part, stems) for entry, parts in things for part, stems in enumerate(parts)])


def _add(tx: Tx, parts: Sequence[tuple[Entry, int, str]]) -> None:
    if not parts:
        return
    numbers = tx.new_entries(len(parts))
    rows = ((*entry, part, number) for number, (entry, part, _) in zip(numbers, parts, strict=True))
    tx.insert("entries", _COLUMNS, rows)
    tx.add_words([(id, stems) for id, (_, _, stems) in zip(numbers, parts, strict=True)])
    vectors.await_vectors(
        tx, [id for id, (_, part, _) in zip(numbers, parts, strict=True) if not part]
    )


def replace(tx: Tx, entry: Entry, parts: Sequence[str]) -> None:
    """The same for a thing that may be indexed: its entry keeps its number."""
    held = dict(enumerate(_ids(tx, entry.source, entry.ref, entry.seq)))
    for part, stems in enumerate(parts):
        id = held.pop(part, None)
        if id is None:
            _add(tx, [(entry, part, stems)])
            continue
        tx.run(
            "UPDATE entries SET kind = :kind, layer = :layer, owner = :owner, status = :status, "
            "label = :label, at = :at WHERE id = :id AND space = :space",
            {**entry._asdict(), "id": id},
        )
        tx.remove_words(id)
        tx.add_words([(id, stems)])
        vectors.remove(tx, id)
        if not part:
            vectors.await_again(tx, id)
    _remove(tx, held.values())


def remove(tx: Tx, source: str, ref: str, seq: int = 0) -> None:
    """Take a thing out of the index."""
    _remove(tx, _ids(tx, source, ref, seq))


def _ids(tx: Tx, source: str, ref: str, seq: int) -> list[int]:
    """The entries of a thing, a part each, in their order."""
    rows = tx.run(
        "SELECT id FROM entries WHERE space = :space AND source = :source AND ref = :ref "
        "AND seq = :seq ORDER BY part",
        {"source": source, "ref": ref, "seq": seq},
    )
    return [row[0] for row in rows]


def _remove(tx: Tx, ids: Iterable[int]) -> None:
    for id in ids:
        tx.remove_words(id)
        vectors.remove(tx, id)
        tx.run("DELETE FROM entries WHERE id = :entry AND space = :space", {"entry": id})


WORDS_MISSING = "words"
"""The value in state that says: the words of this space are to be indexed again."""

_WORDS_MISSING = f"SELECT 1 FROM state WHERE space = :space AND key = '{WORDS_MISSING}'"
_TABLES = {
    "memory": ("memories", "id", "0", ""),
    "message": ("messages", "session", "seq", ""),
    "document": ("documents", "address", "0", f"AND valid_to = {FOREVER}"),
    "episode": ("episodes", "id", "0", ""),
    "procedure": ("procedures", "id", "0", ""),
}


def things(tx: Tx, source: str, after: tuple[str, int], most: int) -> list[tuple[str, int]]:
    """What of a source is to be found, by reference and number, following on one of them."""
    table, ref, seq, also = _TABLES[source]
    rows = tx.run(
        f"SELECT {ref}, {seq} FROM {table} WHERE space = :space {also} AND ({ref} > :ref "
        f"OR ({ref} = :ref AND {seq} > :seq)) ORDER BY 1, 2 LIMIT :most",
        {"ref": after[0], "seq": after[1], "most": most},
    )
    return [(row[0], row[1]) for row in rows]


def count(tx: Tx, source: str) -> int:
    """How many things of a source there are."""
    table, _, _, also = _TABLES[source]
    row = tx.one(f"SELECT count(*) FROM {table} WHERE space = :space {also}")
    return int(row[0]) if row else 0


def remove_orphans(tx: Tx, source: str) -> None:
    """Take out what is not there any more."""
    table, ref, seq, also = _TABLES[source]
    rows = tx.run(
        "SELECT e.ref, e.seq FROM entries e WHERE e.space = :space AND e.source = :source "
        f"AND NOT EXISTS (SELECT 1 FROM {table} WHERE space = :space {also} "
        f"AND {ref} = e.ref AND {seq} = e.seq)",
        {"source": source},
    )
    for one in rows:
        remove(tx, source, *one)


def words_missing(tx: Tx) -> bool:
    """Whether the words are to be indexed again: an early version kept them in another way."""
    return tx.one(_WORDS_MISSING) is not None


def set_status(tx: Tx, source: str, ref: str, status: str) -> None:
    """Follow a change of the thing's status."""
    tx.run(
        "UPDATE entries SET status = :status "
        "WHERE space = :space AND source = :source AND ref = :ref",
        {"source": source, "ref": ref, "status": status},
    )


def candidates(
    tx: Tx,
    stems: Sequence[str],
    limit: int,
    filters: Mapping[str, Sequence[Any]],
    vectors: bool = False,
) -> list[Matched]:
    """The best entries for the stems, with their `vectors` if wanted. `filters` maps a column to
    its allowed values, `since`/`until` to one time, or `seen` to the owners who may see it."""
    if not stems:
        return []
    where, params = _where(filters)
    # Most filters let the best matches through: look there first, search exactly only if not.
    near = tx.match(stems, limit + limit // 8, where, params, exact=False, vectors=vectors)
    if where and len(near) < limit:
        near = tx.match(stems, limit, where, params, vectors=vectors)
    return _whole(near)[:limit]


def these(
    tx: Tx, entries: Sequence[int], filters: Mapping[str, Sequence[Any]]
) -> dict[int, Matched]:
    """Those of the entries that fulfil the filters, by their numbers."""
    if not entries:
        return {}
    where, params = _where(filters)
    return {found.entry: found for found in tx.these(entries, where, params)}


def _whole(matches: Sequence[Matched]) -> list[Matched]:
    """One match for a thing of several parts: that of its best part."""
    best: dict[tuple[str, str, int], Matched] = {}
    for match in sorted(matches, key=lambda match: (-match.score, match.ref, match.seq)):
        best.setdefault(match[1:4], match)
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
        elif column == "seen":
            own, bound = seen_by(allowed, "e.")
            # What was said in a session is the archive's, not a note of that session.
            parts.append(f"(e.source NOT IN ('memory', 'document') OR {own})")
            params.update(bound)
        else:
            names, bound = placeholders(f"{column}_", allowed)
            parts.append(f"e.{column} IN ({names})")
            params.update(bound)
    return " AND ".join(parts), params
