"""The statements of word and vector search on PostgreSQL.

Words are scored with the BM25 of FTS5, so that both engines give the same order. Stems are looked
up by equality, which row-level security lets an index do.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import log

from ..fast_typing import Any, NamedTuple, Protocol
from .database import MATCH_COLUMNS, IndexMatch, Params, StemFrequencies, Tx

SCORED = """
SELECT p.entry,
  sum(w.rarity * p.times * 2.2 / (p.times + 1.2 * (0.25 + 0.75 * p.length / :average))) AS score
FROM postings p JOIN unnest(:stems::text[], :rarities::float8[]) AS w (stem, rarity)
  ON w.stem = p.stem
WHERE p.space = :space AND p.stem = ANY (:stems::text[]) GROUP BY p.entry
"""
BEST = f"{SCORED} ORDER BY score DESC, p.entry LIMIT :pool"
MATCH = f"""
WITH found AS MATERIALIZED ({{best}})
SELECT {MATCH_COLUMNS}, e.stems, found.score, {{vector}}, (SELECT count(*) FROM found)
FROM found
JOIN entries e ON e.space = :space AND e.id = found.entry {{where}}
ORDER BY found.score DESC, e.ref, e.seq LIMIT :limit
"""
VECTOR = "(SELECT v.vector FROM vectors v WHERE v.space = :space AND v.entry = e.id)"
LATELY, TELLING, SAMPLED_FROM = 2_000, 5, 20_000
POOL = 1_000
"""So many of the best matches are filtered before all matches are."""

NEAR_AHEAD, DEPTH = 120, 800
"""So many of the nearest are read with the matches; pgvector's index keeps so many candidates, and
goes on while other spaces' vectors are among them."""

COMPARED = 30_000
"""Up to this many entries, all vectors of the space are compared. Measured with 1.1 million vectors
of eleven teams, in ms of the server's CPU and the share of the true ten nearest: 20,000 compared 15
and 1.00, by the index 180 and 0.57; 100,000 compared 36 to 80 and 1.00, by the index 20 and 0.47
with 200 candidates, 26 and 0.61 with 800."""

FEW, MANY = 1_500, 1_000
"""If a filter leaves fewer than FEW entries, the vectors of all are compared; if more, it is
applied to the MANY nearest."""

# Counting a common stem takes as long as searching for it: a large space extrapolates from its
# newest entries, as on SQLite. The settings hold for the rest of the transaction: a scan of a table
# would read rows of other teams.
FREQUENCIES = f"""
WITH totals AS MATERIALIZED (
  SELECT coalesce(sum(t.entries), 0)::bigint AS entries,
    coalesce(sum(t.length), 0)::bigint AS length
  FROM word_totals t WHERE t.space = :space),
newest AS MATERIALIZED (
  SELECT e.id FROM entries e WHERE e.space = :space
  AND (SELECT entries FROM totals) > {SAMPLED_FROM} ORDER BY e.id DESC OFFSET {LATELY} LIMIT 1),
lately AS MATERIALIZED (
  SELECT s.stem, (SELECT count(*) FROM postings p WHERE p.space = :space AND p.stem = s.stem
    AND p.entry > (SELECT id FROM newest)) AS held
  FROM unnest(:stems::text[]) AS s (stem))
SELECT totals.entries, totals.length, lately.stem,
  CASE WHEN lately.held >= {TELLING} THEN lately.held * totals.entries / {LATELY}
  ELSE (SELECT count(*) FROM postings p WHERE p.space = :space AND p.stem = lately.stem) END,
  (SELECT s.value FROM state s WHERE s.space = :space AND s.key = 'embedder'),
  EXISTS (SELECT 1 FROM state s WHERE s.space = :space AND s.key = 'words'),
  EXISTS (SELECT 1 FROM unembedded u WHERE u.space = :space),
  EXISTS (SELECT 1 FROM blocks b WHERE b.space = :space),
  set_config('hnsw.ef_search', '{DEPTH}', true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('enable_seqscan', 'off', true)
FROM totals LEFT JOIN lately ON true
"""
NEAR = """
SELECT v.entry, v.vector, v.direction::vector({dims}) <=> :vector::vector({dims}) AS far
FROM vectors v WHERE v.space = :space AND vector_dims(v.direction) = {dims}
ORDER BY (v.direction::vector({dims}) <=> :vector::vector({dims})){plus} LIMIT :near
"""
NEAREST = f"""
SELECT {MATCH_COLUMNS}, e.stems, 0.0::float8, near.vector, NULL::bigint FROM ({NEAR}) near
JOIN entries e ON e.space = :space AND e.id = near.entry {{where}}
"""
# The vectors of what a filter leaves are looked up: a join would scan those of all spaces. If it
# leaves many, only the first are, and more of the index is filtered.
NEAREST_OF = f"""
WITH found AS MATERIALIZED (
  SELECT {MATCH_COLUMNS}, e.stems FROM entries e WHERE e.space = :space AND {{where}} LIMIT {FEW})
(SELECT found.*, 0.0::float8, held.vector, NULL::bigint
FROM found CROSS JOIN LATERAL (
  SELECT v.vector, v.direction FROM vectors v
  WHERE v.space = :space AND v.entry = found.id AND vector_dims(v.direction) = {{dims}}
  LIMIT 1) held
ORDER BY held.direction::vector({{dims}}) <=> :vector::vector({{dims}}) LIMIT :count)
UNION ALL ({NEAREST.replace("{where}", "WHERE {where}")} AND (SELECT count(*) FROM found) = {FEW})
"""
DIMS = 256
"""Dimensions of the built-in model: members, who own nothing, find its vector index made."""

# With pgvector on the server, and the right to create it, HNSW searches the vectors. Connections
# have no search path of ours, so its type must not lie in our schema, where earlier versions made
# it.
USE_PGVECTOR = """
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector'
    AND extnamespace = 'recollect'::regnamespace) THEN
    ALTER EXTENSION vector SET SCHEMA public;
  ELSIF EXISTS (SELECT 1 FROM pg_available_extensions WHERE name = 'vector') THEN
    CREATE EXTENSION IF NOT EXISTS vector SCHEMA public;
  END IF;
EXCEPTION WHEN insufficient_privilege THEN
  RAISE NOTICE 'pgvector is there, but this role may not create it';
END $$;
DO $$
BEGIN
  IF EXISTS (SELECT 1 FROM pg_extension WHERE extname = 'vector') THEN
    ALTER TABLE recollect.vectors ADD COLUMN IF NOT EXISTS direction vector;
  END IF;
END $$
"""
NEAREST_INDEX = """
CREATE INDEX IF NOT EXISTS vectors_near_{dims} ON recollect.vectors
USING hnsw ((direction::vector({dims})) vector_cosine_ops) WHERE vector_dims(direction) = {dims}
"""
INDEX_STATE = """SELECT to_regclass(:name), pg_has_role(relowner, 'USAGE') FROM pg_class
WHERE oid = 'recollect.vectors'::regclass"""
ADD_VECTORS = """
INSERT INTO vectors (space, entry, block, vector, direction)
SELECT :space, g.entry, 0, g.vector, g.direction::vector
FROM unnest(:entries::bigint[], :vectors::bytea[], :directions::text[])
  AS g (entry, vector, direction)
ON CONFLICT (space, entry) DO UPDATE SET block = 0, direction = excluded.direction"""


class PastSearch(NamedTuple):
    """A search by words that was answered."""

    limit: int
    saw_all: bool
    """Whether the filter was applied to all matches."""
    found: list[IndexMatch]


_NO_SEARCH = PastSearch(0, False, [])


class SearchTx(Tx, Protocol):
    """A transaction, and what it found in the index so far."""

    snapshot: Any
    known: dict[str, int]
    """The number of entries with each stem that was asked for."""
    totals: tuple[Any, ...]
    """The size and state of the index, once it was asked for."""
    searches: dict[tuple[Any, ...], PastSearch]
    near: dict[tuple[str, bytes, bool], list[IndexMatch]]
    """The nearest entries by filter, vector, and whether all that fulfil the filter were compared.
    """
    waiting: set[object]
    """Searches and vectors that have no answer in this round: whether an exact search is needed too
    is not known yet."""


def match(
    tx: SearchTx,
    stems: Sequence[str],
    limit: int,
    where: str,
    params: Params,
    exact: bool = True,
    vector: bytes = b"",
) -> list[IndexMatch]:
    """Return the best entries with any of the stems that fulfil `where`; keep those nearest to the
    vector, which the same statement returns, for `nearest`."""
    key = (tuple(stems), where, str(sorted(params.items())))
    before = tx.searches.get(key, _NO_SEARCH)
    enough = limit <= before.limit and (before.saw_all or not exact)
    if enough or (exact and key in tx.waiting) or (key, limit) in tx.waiting:
        return before.found[:limit]
    known = count_stems(tx, stems)
    others = tx.snapshot.siblings(tx) if not params.get("scopes") else []
    weights = _weigh(stems, [known, *(count_stems(other, stems) for other in others)])
    # Outside of rounds a space with the stems asks for the others too.
    if not (weights["stems"] if tx.snapshot.is_in_rounds else any(known.holding.values())):
        return []
    pool = max(8 * limit, POOL)
    bound = {**params, **weights, "pool": pool, "limit": limit}
    filtered = f"WHERE {where}" if where else ""
    sql = MATCH.format(
        best=SCORED if where and exact else BEST,
        where=filtered,
        vector=VECTOR if vector else "NULL::bytea",
    )
    form = _near_form([tx, *others], where, vector, exact)
    if form:
        # One round trip for words and meaning.
        clause = where if form is NEAREST_OF else filtered
        sql = f"({sql}) UNION ALL ({_fill([tx, *others], form, vector, clause)})"
        near = MANY if form is NEAREST_OF else NEAR_AHEAD
        bound |= {"vector": _direction(vector), "near": near, "count": NEAR_AHEAD}
    rows = (tx.run_batched if others else tx.run)(sql, bound)
    if tx.snapshot.is_open:
        tx.waiting |= {key, (key, limit), vector, (where, vector)}
        return []
    tx.waiting -= {key, (key, limit), vector, (where, vector)}
    # The statement answers for the other spaces too.
    for one in (tx, *([] if tx.snapshot.is_in_rounds else others)):
        rows = one.run_batched(sql, bound) if others else rows
        found = [IndexMatch._make(row[:-1]) for row in rows if row[-1] is not None]
        if form:
            near_found = [IndexMatch._make(row[:-1]) for row in rows if row[-1] is None]
            one.near[where, vector, form is NEAREST_OF] = near_found
        matches = (found and rows[0][-1]) or sum(count_stems(one, stems).holding.values())
        # Whether the filter saw all matches.
        one.searches[key] = PastSearch(limit, exact or matches < pool, found)
    return tx.searches[key].found


def _weigh(stems: Sequence[str], parts: Sequence[StemFrequencies]) -> dict[str, Any]:
    """Return the parameters of BM25, the same for all spaces of a recall."""
    entries = sum(part.entries for part in parts)
    sums = {stem: sum(part.holding[stem] for part in parts) for stem in stems}
    held = {stem: number for stem, number in sums.items() if number}
    length = sum(part.entries * part.average for part in parts)
    rarities = [
        max(log((entries - number + 0.5) / (number + 0.5)), 1e-6) if entries > number else 1e-6
        for number in held.values()
    ]
    average = max(length / max(entries, 1), 1.0)
    return {"stems": list(held), "rarities": rarities, "average": average}


def _near_form(spaces: Sequence[SearchTx], where: str, vector: bytes, exact: bool) -> str:
    """Return the search by meaning that goes with one by words: the nearest that fulfil `where`; an
    exact one if those were few in a space; none if both are known."""
    tx = spaces[0]
    if not vector or not tx.finds_nearest or (where, vector) in tx.waiting:
        return ""
    if (where, vector, False) not in tx.near:
        return NEAREST
    if not exact or not where or " facets " in where or (where, vector, True) in tx.near:
        return ""
    few = any(3 * len(one.near.get((where, vector, False), ())) < NEAR_AHEAD for one in spaces)
    return NEAREST_OF if few else ""


def filter_entries(
    tx: SearchTx, entries: Sequence[int], where: str, params: Params, vector: bytes
) -> list[IndexMatch]:
    """Return those of the entries that fulfil `where`; with their vectors if one is given."""
    held = VECTOR if vector else "NULL"
    rows = tx.run(
        f"SELECT {MATCH_COLUMNS}, e.stems, 0.0, {held} FROM entries e WHERE e.space = :space "
        "AND e.id = ANY(:entries)" + (f" AND {where}" if where else ""),
        {**params, "entries": list(entries)},
    )
    return list(map(IndexMatch._make, rows))


def count_stems(tx: SearchTx, stems: Sequence[str]) -> StemFrequencies:
    """Return the number of entries with each stem, and the state of the index."""
    missing = {stem for stem in stems if stem not in tx.known}
    if missing or not tx.totals:
        # In a round the question must be that of the round before, whatever is known by now.
        asked = sorted({*stems} if tx.snapshot.is_in_rounds else missing)
        rows = tx.run_batched(FREQUENCIES, {"stems": asked})
        for entries, length, stem, held, embedder, outdated, waits, blocks, *_ in rows:
            tx.totals = (entries, length, embedder or "", outdated, waits, blocks)
            if stem is not None:
                tx.known[stem] = held
    if not tx.totals:  # not answered in this round
        return StemFrequencies(0, 0.0, dict.fromkeys(stems, 0))
    entries, length, embedder, outdated, waits, blocks = tx.totals
    return StemFrequencies(
        entries=entries,
        average=length / max(entries, 1),
        holding={stem: tx.known[stem] for stem in stems},
        embedder=embedder,
        outdated=outdated,
        unembedded=waits,
        blocks=blocks,
    )


def add_vectors(tx: SearchTx, vectors: Sequence[tuple[int, bytes]]) -> None:
    """Store the vectors of these entries in pgvector's index, which their owner creates."""
    entries, stored = [entry for entry, _ in vectors], [vector for _, vector in vectors]
    dims = len(stored[0])
    state = tx.one(INDEX_STATE, {"name": f"recollect.vectors_near_{dims}"})
    if state and state[0] is None and state[1]:
        tx.run(NEAREST_INDEX.format(dims=dims))
    directions = [_direction(vector) for vector in stored]
    bound = {"entries": entries, "vectors": stored, "directions": directions}
    tx.run(ADD_VECTORS, bound)


def nearest(
    tx: SearchTx, vector: bytes, count: int, where: str, params: Params, exact: bool
) -> list[IndexMatch]:
    """Return entries by pgvector's index: of the nearest those that fulfil `where`, or with `exact`
    the nearest among all that fulfil it."""
    if (where, vector, exact) in tx.near:
        return tx.near[where, vector, exact]
    if (where, vector) in tx.waiting or (exact and vector in tx.waiting):
        return []
    form = NEAREST_OF if exact and where else NEAREST
    near = MANY if form is NEAREST_OF else count
    bound = {**params, "vector": _direction(vector), "count": count, "near": near}
    clause = where if form is NEAREST_OF else f"WHERE {where}" if where else ""
    count_stems(tx, ())  # sets how far the vector index is searched
    if not tx.totals:
        return []  # not answered in this round
    # The scopes of a file are those of one space.
    run = tx.run if params.get("scopes") else tx.run_batched
    rows = run(_fill([tx, *tx.snapshot.siblings(tx)], form, vector, clause), bound)
    return [IndexMatch._make(row[:-1]) for row in rows]


def _fill(spaces: Sequence[SearchTx], form: str, vector: bytes, where: str) -> str:
    """Return a search by meaning. An order by a sum is by no index."""
    compared = max((tx.totals[0] for tx in spaces if tx.totals), default=0) <= COMPARED
    return form.format(dims=len(vector), where=where, plus=" + 0" if compared else "")


def _direction(vector: bytes) -> str:
    """Convert our bytes (128 is zero) to pgvector's numbers."""
    return "[" + ",".join([str(component - 128) for component in vector]) + "]"
