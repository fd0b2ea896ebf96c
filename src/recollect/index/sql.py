"""The search index: an entry for each record that can be found.

Words are indexed in the transaction that writes the record, which also queues the entry for a
vector. A very long text has several parts; its vector is that of the first. Filters are indexed
too: in columns, and multiple values (tags, scopes) as facets.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

from ..fast_typing import Any, NamedTuple
from ..storage.database import (
    MATCH_COLUMNS,
    IndexedRecord,
    IndexMatch,
    StemFrequencies,
    Tx,
    batches,
    order_matches,
    placeholders,
    visible_to,
    wanted_rows,
)


class IndexEntry(NamedTuple):
    """The columns of an indexed record, without its words."""

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
    """Name and value: its tags and scopes (an empty scope applies everywhere)."""


_FACETS = IndexEntry._fields.index("facets")

FEW = 600
"""If a filter leaves at most so many entries, each of them is compared."""

_ALL = 4
"""If at most so many times the wanted number match, all matches are filtered at once."""

_SELECTIVE = frozenset({"tag", "ref", "owner", "kind"})

_LONGEST_FACET = 500
"""An index of PostgreSQL takes at most 2,700 bytes."""


def insert_entry(tx: Tx, entry: IndexEntry, parts: Sequence[str]) -> None:
    """Index a new record: the stems of each part."""
    insert_entries(tx, [(entry, parts)])


def insert_entries(tx: Tx, records: Iterable[tuple[IndexEntry, Sequence[str]]]) -> None:
    """Index many new records."""
    facets: dict[tuple[tuple[str, str], ...], list[tuple[str, str]]] = {}
    made = []
    for entry, parts in records:
        # Most records of a call have the same ones.
        stored = facets.get(entry.facets)
        if stored is None:
            stored = facets[entry.facets] = _stored_facets(entry)
        for part, stems in enumerate(parts):
            made.append(IndexedRecord._make((*entry[:_FACETS], part, stems, stored)))
    if made:
        tx.add_entries(made)


def _stored_facets(entry: IndexEntry) -> list[tuple[str, str]]:
    """Return the distinct facets of an entry in order, as both engines store them."""
    facets = [(name, facet_value(value)) for name, value in entry.facets]
    return sorted(set(facets)) if len(facets) > 1 else facets


def facet_value(value: str) -> str:
    """Return a facet's value as both engines store it."""
    if not value.isascii():
        value = value.encode("utf-8", "replace").decode()
    return value[:_LONGEST_FACET].replace("\0", "␀")


def set_facets(tx: Tx, entry: IndexEntry) -> None:
    """Replace the tags and scopes of an indexed record."""
    ids = _ids(tx, entry.source, entry.ref, entry.seq)
    rows = _stored_facets(entry)
    for id in ids:
        tx.run("DELETE FROM facets WHERE entry = :entry AND space = :space", {"entry": id})
        if rows:
            tx.insert("facets", "entry, name, value", [(id, *row) for row in rows])


def list_scopes(tx: Tx) -> list[str]:
    """List all scopes in use."""
    # From each value to the next: DISTINCT would read the scopes of all records.
    rows = tx.run(
        "WITH RECURSIVE scopes (value) AS (SELECT min(f.value) FROM facets f "
        "WHERE f.space = :space AND f.name = 'scope' AND f.value > '' UNION ALL "
        "SELECT (SELECT min(f.value) FROM facets f WHERE f.space = :space AND f.name = 'scope' "
        "AND f.value > scopes.value) FROM scopes WHERE scopes.value IS NOT NULL) "
        "SELECT value FROM scopes WHERE value IS NOT NULL"
    )
    return [row[0] for row in rows]


def replace_entry(tx: Tx, entry: IndexEntry, parts: Sequence[str]) -> None:
    """Index a record, new or not."""
    remove_entry(tx, entry.source, entry.ref, entry.seq)
    insert_entry(tx, entry, parts)


def remove_entry(tx: Tx, source: str, ref: str, seq: int = 0) -> None:
    """Remove a record from the index."""
    tx.remove_entries(source, ref, seq)


def _ids(tx: Tx, source: str, ref: str, seq: int) -> list[int]:
    """Return the entries of a record, one for each part, in order."""
    rows = tx.run(
        "SELECT id FROM entries WHERE space = :space AND source = :source AND ref = :ref "
        "AND seq = :seq ORDER BY part",
        {"source": source, "ref": ref, "seq": seq},
    )
    return [row[0] for row in rows]


def stored_stems(tx: Tx, entry: IndexEntry) -> dict[int, str]:
    """Return the stems of each part of an indexed record, by entry, in order."""
    ids = _ids(tx, entry.source, entry.ref, entry.seq)
    held = {found.entry: found.stems for found in tx.filter_entries(ids, "", {})} if ids else {}
    return {id: held.get(id, "") for id in ids}


REINDEX_KEY = "words"
"""The state key that requests a new index: of everything if its value is `missing`, or of records
that are now indexed in another way if it is `outdated`."""

_WORDS = f"SELECT value FROM state WHERE space = :space AND key = '{REINDEX_KEY}'"


def needs_reindex(tx: Tx) -> bool:
    """Check whether records must be indexed again, because an earlier version did it in another
    way."""
    return tx.one(_WORDS) is not None


def lacks_words(tx: Tx) -> bool:
    """Check whether the word index is missing."""
    return tx.one(_WORDS) == ("missing",)


def set_status(tx: Tx, source: str, ref: str, status: str) -> None:
    """Update the status of a record's current entry; earlier revisions keep theirs."""
    tx.run(
        "UPDATE entries SET status = :status "
        "WHERE space = :space AND source = :source AND ref = :ref AND seq = 0",
        {"source": source, "ref": ref, "status": status},
    )


def relabel_messages(tx: Tx, session: str, seqs: Sequence[int], label: str) -> None:
    """Set the label of messages of a session."""
    for names, params in batches("seq", seqs):
        tx.run(
            "UPDATE entries SET label = :label WHERE space = :space "
            f"AND source = 'message' AND ref = :session AND seq IN ({names})",
            {"label": label, "session": session, **params},
        )


def keep_revision(tx: Tx, source: str, ref: str, revision: int) -> None:
    """Number the entry of a superseded revision, so that the next one can take its place. Its
    words, facets and vector stay."""
    tx.run(
        "UPDATE entries SET seq = :revision, status = 'superseded' "
        "WHERE space = :space AND source = :source AND ref = :ref AND seq = 0",
        {"source": source, "ref": ref, "revision": revision},
    )


def find_candidates(
    tx: Tx,
    stems: Sequence[str],
    limit: int,
    filters: Mapping[str, Sequence[Any]],
    vector: bytes = b"",
    *,
    few: bool = False,
) -> list[IndexMatch]:
    """Return the best entries that fulfil the filters, with their vectors if a `vector` is
    compared: the best first, of equals by address. Which way it takes changes no answer.

    `few`: few entries are expected to fulfil all, so all matches are filtered at once.

    `filters` maps a column to its allowed values, `tag` to the required tags, `scope` to scopes of
    which one is required, `since`, `until` and `as_of` to one time, and `seen` to the owners who
    may see it.
    """
    left = list_few(tx, filters) if stems and is_selective(filters) else None
    held = None if left is None else load_entries(tx, left, vector)
    return search_words(tx, stems, limit, filters, vector, held=held, few=few)


def search_words(
    tx: Tx,
    stems: Sequence[str],
    limit: int,
    filters: Mapping[str, Sequence[Any]],
    vector: bytes = b"",
    *,
    held: Sequence[IndexMatch] | None = None,
    few: bool = False,
    holding: int | None = None,
    known: StemFrequencies | None = None,
) -> list[IndexMatch]:
    """Return the result of `find_candidates`, given the few entries that the filters leave
    (`held`), or None if they are many; how many entries have one of the stems at most
    (`holding`), and how many have each (`known`), if that is known."""
    if not stems:
        return []
    if held is not None:
        return _match_few(held, stems, limit, known or tx.frequencies(stems))
    selective = is_selective(filters)
    where, params = _where(tx, filters)
    if few or (selective and tx.is_remote):
        return _best_parts(tx.match(stems, limit, where, params, vector=vector))
    # Most filters keep most of the best matches: filter those first, and all only if too few
    # remain. A kind keeps some of them, and a source where messages are mixed with memories.
    pool = limit * (16 if "kind" in filters else 3 if "source" in filters else 2)
    if holding is not None and holding <= max(pool, _ALL * limit):
        pool = -1
    near = tx.match_among(stems, limit, where, params, pool=pool, vector=vector)
    if near is None and not selective and (left := list_few(tx, filters)) is not None:
        held = load_entries(tx, left, vector)
        return _match_few(held, stems, limit, known or tx.frequencies(stems))
    if near is None:
        near = tx.match(stems, limit, where, params, vector=vector)
    return _best_parts(near)


def find_some(
    tx: Tx, groups: Sequence[Sequence[str]], limit: int, filters: Mapping[str, Sequence[Any]]
) -> list[IndexMatch]:
    """Return some entries that hold all stems of one of the groups, in no order: all of them if
    there are fewer than `limit`."""
    where, params = _where(tx, filters)
    return tx.match_some(groups, limit, where, params) if groups else []


def find_sharing(
    tx: Tx, weights: Mapping[str, float], limit: int, filters: Mapping[str, Sequence[Any]]
) -> list[str]:
    """Return the records that fulfil the filters and share stems with these weights, the heaviest
    first."""
    return tx.match_shared(weights, limit, *_where(tx, filters)) if weights else []


def is_selective(filters: Mapping[str, Sequence[Any]]) -> bool:
    """Check whether these filters usually leave few entries."""
    return not _SELECTIVE.isdisjoint(filters) or filters.get("source") == ("procedure",)


def list_few(tx: Tx, filters: Mapping[str, Sequence[Any]]) -> list[int] | None:
    """Return the entries that a filter leaves; None if they are many, or if the query would cost a
    round trip."""
    left = [] if tx.is_remote else list_entries(tx, filters, FEW)
    return None if tx.is_remote or len(left) == FEW else left


def load_entries(tx: Tx, entries: Sequence[int], vector: bytes = b"") -> list[IndexMatch]:
    """Return these entries, with their vectors if a `vector` is compared."""
    return tx.filter_entries(entries, "", {}, vector) if entries else []


def _match_few(
    entries: Iterable[IndexMatch], stems: Sequence[str], limit: int, known: StemFrequencies
) -> list[IndexMatch]:
    """Return the best of few entries that have one of the stems, scored as the index does. For a
    selective filter this replaces the search in the index."""
    rarities = {stem: known.rarity(stem) for stem in stems}
    average = max(known.average, 1.0)
    found = []
    for item in entries:
        # Most hold none: to split them takes longest.
        held = item.stems.split() if any(map(item.stems.__contains__, rarities)) else []
        size = 0.3 + 0.9 * len(held) / average
        shared = [(rarities[stem], held.count(stem)) for stem in rarities.keys() & held]
        if shared:
            score = sum([rarity * times * 2.2 / (times + size) for rarity, times in shared])
            found.append(item._replace(score=score))
    return _best_parts(order_matches(found)[:limit])


def filter_entries(
    tx: Tx, entries: Sequence[int], filters: Mapping[str, Sequence[Any]]
) -> dict[int, IndexMatch]:
    """Return those of the entries that fulfil the filters, by id."""
    if not entries:
        return {}
    where, params = _where(tx, filters)
    return {found.entry: found for found in tx.filter_entries(entries, where, params)}


def find_messages(
    tx: Tx, ranges: Sequence[tuple[str, int, int]], filters: Mapping[str, Sequence[Any]]
) -> dict[tuple[str, int], IndexMatch]:
    """Return the entries of messages that fulfil the filters, by session and number; without their
    words. Given are session, first and last number of each range."""
    where, params = _where(tx, filters)
    wanted, values = wanted_rows("place, first, last", ranges)
    rows = tx.run(
        f"{wanted} SELECT {MATCH_COLUMNS}, '', 0.0, NULL FROM seen CROSS JOIN entries e "
        "WHERE e.space = :space AND e.source = 'message' AND e.part = 0 AND e.ref = place "
        "AND e.seq >= first AND e.seq <= last" + (f" AND {where}" if where else ""),
        {**params, **values},
    )
    return {(item.ref, item.seq): item for item in map(IndexMatch._make, rows)}


def find_message(tx: Tx, session: str, seq: int) -> IndexMatch | None:
    """Return the entry of a message, without its words."""
    return find_messages(tx, [(session, seq, seq)], {}).get((session, seq))


def list_entries(tx: Tx, filters: Mapping[str, Sequence[Any]], most: int) -> list[int]:
    """Return the ids of at most `most` entries that fulfil the filters."""
    where, params = _where(tx, filters, collects=True)
    table = "entries e WHERE"
    if "tag" in filters:
        # CROSS JOIN keeps the order: the tag leaves fewer than any column of an entry.
        table = (
            "facets t CROSS JOIN entries e WHERE t.space = :space AND t.name = 'tag' "
            "AND t.value = :tag_0 AND e.id = t.entry AND"
        )
    rows = tx.run(
        f"SELECT e.id FROM {table} e.space = :space AND {where} LIMIT :most",
        {**params, "most": most},
    )
    return [row[0] for row in rows]


def find_nearest(
    tx: Tx, vector: bytes, count: int, filters: Mapping[str, Sequence[Any]], least: float
) -> list[IndexMatch]:
    """Return the entries nearest to a vector that fulfil the filters with their vectors, none with
    a cosine below `least`, from the engine's own index."""
    return tx.nearest(vector, count, *_where(tx, filters), least)


def _best_parts(matches: Sequence[IndexMatch]) -> list[IndexMatch]:
    """Keep the first match of each record with several parts."""
    best: dict[tuple[str, str, int], IndexMatch] = {}
    for match in matches:
        best.setdefault((match.source, match.ref, match.seq), match)
    return list(best.values())


_FACET = (
    "e.id IN (SELECT DISTINCT f.entry FROM facets f "
    "WHERE f.space = :space AND f.name = '{}' AND {})"
)
"""DISTINCT lets PostgreSQL collect the entries once, also before it has statistics."""

_HAS_FACET = "EXISTS (SELECT 1 FROM facets f WHERE f.entry = e.id AND f.name = '{}' AND {})"
_HAS_SCOPE = (
    "EXISTS (SELECT 1 FROM facets f WHERE f.space = :space AND f.entry = e.id "
    "AND f.name = '{}' AND {} OFFSET 0)"
)
"""OFFSET lets PostgreSQL check one candidate after the other: most scopes leave most entries."""

_TIMES = {
    "since": "e.at >= :since",
    "until": "e.at < :until",
    "as_of": "(e.source <> 'memory' OR e.seq = 0 AND EXISTS (SELECT 1 FROM memories m "
    "WHERE m.space = :space AND m.id = e.ref AND m.valid_to > :as_of) OR EXISTS "
    "(SELECT 1 FROM memory_revisions r WHERE r.space = :space AND r.id = e.ref "
    "AND r.revision = e.seq AND r.valid_to > :as_of))",
}


def _where(
    tx: Tx, filters: Mapping[str, Sequence[Any]], *, collects: bool = False
) -> tuple[str, dict[str, Any]]:
    """Return the SQL condition for filters on entries `e`, and its parameters.

    Tags and scopes are rows of `facets`. SQLite checks them for each candidate; PostgreSQL collects
    all entries with the facet first. A filter by scope keeps most entries, so PostgreSQL checks
    that for each candidate too, unless the statement `collects` every entry that fulfils the
    filters: then there are no candidates.
    """
    facet = _FACET if tx.is_remote else _HAS_FACET
    scope = _HAS_SCOPE if tx.is_remote and not collects else facet
    parts: list[str] = []
    params: dict[str, Any] = {}
    for name, allowed in filters.items():
        if name in _TIMES:
            parts.append(_TIMES[name])
            params[name] = allowed[0]
        elif name == "tag":
            for place, tag in enumerate(allowed):
                parts.append(facet.format(name, f"f.value = :tag_{place}"))
                params[f"tag_{place}"] = facet_value(tag)
        elif name == "scope":
            from json import dumps

            parts.append(scope.format(name, f"f.value {tx.in_json.format('scopes')}"))
            params["scopes"] = dumps(list(allowed), ensure_ascii=False)
        elif name == "seen":
            own, bound = visible_to(allowed, "e.")
            # Messages of a session belong to the archive, not to the session's notes.
            parts.append(f"(e.source NOT IN ('memory', 'document') OR {own})")
            params.update(bound)
        else:
            names, bound = placeholders(f"{name}_", allowed)
            # Entries without an owner are in no index: see the migration `0026_rare_values`.
            owned = " AND e.owner <> ''" if name == "owner" else ""
            parts.append(f"e.{name} IN ({names}){owned}")
            params.update(bound)
    return " AND ".join(parts), params
