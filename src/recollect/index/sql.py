"""The index that one search runs over: an entry for each thing that can be found.

Words are indexed in the transaction that writes the thing, which also notes that the entry's
vector is still to be made. A very long text has several parts; its vector is that of the first.
What things are filtered by is indexed too: in columns, and where there may be several (tags,
scopes) as facets. It does not know how stems are made or hits are ranked, or what a scope covers.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import Any, NamedTuple
from ..storage.database import IndexMatch, Tx, placeholders, visible_to
from ..types.records import FOREVER
from . import sql_vectors


class IndexEntry(NamedTuple):
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
    facets: tuple[tuple[str, str], ...] = ()
    """By name: its tags, and its scopes (an empty one applies everywhere)."""


_COLUMNS = f"{', '.join(IndexEntry._fields[:-1])}, part, id"
_LONGEST_FACET = 500
"""An index of PostgreSQL takes no more than 2,700 bytes."""


def insert_entry(tx: Tx, entry: IndexEntry, parts: Sequence[str]) -> None:
    """Index a thing that was not indexed before: the stems of each part."""
    insert_entries(tx, [(entry, parts)])


def insert_entries(tx: Tx, things: Iterable[tuple[IndexEntry, Sequence[str]]]) -> None:
    """The same for many things at once."""
    _add(tx, [(entry, part, stems) for entry, parts in things for part, stems in enumerate(parts)])


def _add(tx: Tx, parts: Sequence[tuple[IndexEntry, int, str]]) -> None:
    if not parts:
        return
    numbers = tx.new_entries(len(parts))
    rows = (
        (*entry[:-1], part, number) for number, (entry, part, _) in zip(numbers, parts, strict=True)
    )
    tx.insert("entries", _COLUMNS, rows)
    _add_facets(tx, [(id, entry) for id, (entry, _, _) in zip(numbers, parts, strict=True)])
    tx.add_words([(id, stems) for id, (_, _, stems) in zip(numbers, parts, strict=True)])
    sql_vectors.queue_vectors(
        tx, [id for id, (_, part, _) in zip(numbers, parts, strict=True) if not part]
    )


def _add_facets(tx: Tx, entries: Iterable[tuple[int, IndexEntry]]) -> None:
    rows = {(id, name, facet_value(value)) for id, entry in entries for name, value in entry.facets}
    if rows:
        tx.insert("facets", "entry, name, value", sorted(rows))


def facet_value(value: str) -> str:
    """A text as both engines keep it in an index."""
    if not value.isascii():
        value = value.encode("utf-8", "replace").decode()
    return value[:_LONGEST_FACET].replace("\0", "␀")


def set_facets(tx: Tx, entry: IndexEntry) -> None:
    """Filter a thing that is indexed by other tags and scopes than before."""
    ids = _ids(tx, entry.source, entry.ref, entry.seq)
    for id in ids:
        _remove_facets(tx, id)
    _add_facets(tx, [(id, entry) for id in ids])


def _remove_facets(tx: Tx, entry: int) -> None:
    tx.run("DELETE FROM facets WHERE entry = :entry AND space = :space", {"entry": entry})


def list_scopes(tx: Tx) -> list[str]:
    """Every scope that something has."""
    rows = tx.run(
        "SELECT DISTINCT value FROM facets WHERE space = :space AND name = 'scope' AND value <> ''"
    )
    return [row[0] for row in rows]


def replace_entry(tx: Tx, entry: IndexEntry, parts: Sequence[str]) -> None:
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
        _remove_facets(tx, id)
        _add_facets(tx, [(id, entry)])
        tx.remove_words(id)
        tx.add_words([(id, stems)])
        sql_vectors.remove_vector(tx, id)
        if not part:
            sql_vectors.requeue_vector(tx, id)
    _remove(tx, held.values())


def remove_entry(tx: Tx, source: str, ref: str, seq: int = 0) -> None:
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
        sql_vectors.remove_vector(tx, id)
        _remove_facets(tx, id)
        tx.run("DELETE FROM entries WHERE id = :entry AND space = :space", {"entry": id})


REINDEX_KEY = "words"
"""The value in state that says: this space is to be indexed again. All of it, if its words are
`missing`; if it is `outdated`, what is indexed in another way by now."""

_WORDS = f"SELECT value FROM state WHERE space = :space AND key = '{REINDEX_KEY}'"
_TABLES = {
    "memory": ("memories", "id", "0", ""),
    "message": ("messages", "session", "seq", ""),
    "document": ("documents", "address", "0", f"AND valid_to = {FOREVER}"),
    "episode": ("episodes", "id", "0", ""),
    "procedure": ("procedures", "id", "0", ""),
}


def list_records(tx: Tx, source: str, after: tuple[str, int], most: int) -> list[tuple[str, int]]:
    """What of a source is to be found, by reference and number, following on one of them."""
    table, ref, seq, also = _TABLES[source]
    rows = tx.run(
        f"SELECT {ref}, {seq} FROM {table} WHERE space = :space {also} AND ({ref} > :ref "
        f"OR ({ref} = :ref AND {seq} > :seq)) ORDER BY 1, 2 LIMIT :most",
        {"ref": after[0], "seq": after[1], "most": most},
    )
    return [(row[0], row[1]) for row in rows]


def count_records(tx: Tx, source: str) -> int:
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
        remove_entry(tx, source, *one)


def needs_reindex(tx: Tx) -> bool:
    """Whether things are to be indexed again: an earlier version did it in another way."""
    return tx.one(_WORDS) is not None


def lacks_words(tx: Tx) -> bool:
    """Whether nothing can be found by its words before that."""
    return tx.one(_WORDS) == ("missing",)


def set_status(tx: Tx, source: str, ref: str, status: str) -> None:
    """Follow a change of the thing's status."""
    tx.run(
        "UPDATE entries SET status = :status "
        "WHERE space = :space AND source = :source AND ref = :ref",
        {"source": source, "ref": ref, "status": status},
    )


def find_candidates(
    tx: Tx,
    stems: Sequence[str],
    limit: int,
    filters: Mapping[str, Sequence[Any]],
    vectors: bool = False,
) -> list[IndexMatch]:
    """The best entries for the stems, with their `vectors` if wanted. `filters` maps a column to
    its allowed values, `tag` to all the tags it must have, `scope` to those of which it must have
    one, `since`, `until` and `as_of` to one time, and `seen` to the owners who may see it."""
    if not stems:
        return []
    where, params = _where(tx, filters)
    # Most filters let the best matches through: look there first, search exactly only if not.
    near = tx.match(stems, limit + limit // 8, where, params, exact=False, vectors=vectors)
    if where and len(near) < limit:
        near = tx.match(stems, limit, where, params, vectors=vectors)
    return _whole(near)[:limit]


def filter_entries(
    tx: Tx, entries: Sequence[int], filters: Mapping[str, Sequence[Any]]
) -> dict[int, IndexMatch]:
    """Those of the entries that fulfil the filters, by their numbers."""
    if not entries:
        return {}
    where, params = _where(tx, filters)
    return {found.entry: found for found in tx.these(entries, where, params)}


def list_entries(tx: Tx, filters: Mapping[str, Sequence[Any]]) -> set[int]:
    """All entries that fulfil the filters, by their numbers."""
    where, params = _where(tx, filters)
    rows = tx.run(f"SELECT e.id FROM entries e WHERE e.space = :space AND {where}", params)
    return {row[0] for row in rows}


def find_nearest(
    tx: Tx, vector: bytes, count: int, filters: Mapping[str, Sequence[Any]]
) -> Sequence[int]:
    """The entries nearest to a vector among those that fulfil the filters, as far as the engine
    finds them itself."""
    return tx.nearest(vector, count, *_where(tx, filters)) if tx.finds_nearest else []


def _whole(matches: Sequence[IndexMatch]) -> list[IndexMatch]:
    """One match for a thing of several parts: that of its best part."""
    best: dict[tuple[str, str, int], IndexMatch] = {}
    for match in sorted(matches, key=lambda match: (-match.score, match.ref, match.seq)):
        best.setdefault(match[1:4], match)
    return list(best.values())


_FACET = "e.id IN (SELECT f.entry FROM facets f WHERE f.space = :space AND f.name = '{}' AND {})"
_TIMES = {
    "since": "e.at >= :since",
    "until": "e.at < :until",
    "as_of": "(e.source <> 'memory' OR EXISTS (SELECT 1 FROM memories m WHERE m.space = :space "
    "AND m.id = e.ref AND m.valid_to > :as_of))",
}


def _where(tx: Tx, filters: Mapping[str, Sequence[Any]]) -> tuple[str, dict[str, Any]]:
    parts: list[str] = []
    params: dict[str, Any] = {}
    for name, allowed in filters.items():
        if name in _TIMES:
            parts.append(_TIMES[name])
            params[name] = allowed[0]
        elif name == "tag":
            for place, tag in enumerate(allowed):
                parts.append(_FACET.format(name, f"f.value = :tag_{place}"))
                params[f"tag_{place}"] = facet_value(tag)
        elif name == "scope":
            from json import dumps

            parts.append(_FACET.format(name, f"f.value IN ({tx.listed.format('scopes')})"))
            params["scopes"] = dumps(list(allowed), ensure_ascii=False)
        elif name == "seen":
            own, bound = visible_to(allowed, "e.")
            # What was said in a session is the archive's, not a note of that session.
            parts.append(f"(e.source NOT IN ('memory', 'document') OR {own})")
            params.update(bound)
        else:
            names, bound = placeholders(f"{name}_", allowed)
            parts.append(f"e.{name} IN ({names})")
            params.update(bound)
    return " AND ".join(parts), params
