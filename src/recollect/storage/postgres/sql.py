"""The statements of word and vector search on PostgreSQL.

Words are scored with the BM25 of FTS5, so that both engines give the same order. Stems are looked
up by equality, which row-level security lets an index do.
"""

from __future__ import annotations

from collections.abc import Sequence

from ...fast_typing import Any, Protocol
from ..database import MATCH_COLUMNS, IndexMatch, Params, StemFrequencies, Tx

# A sum depends on the order of its parts: whole parts make equal scores equal.
SCORED = """
SELECT p.entry, (1e9 *
  sum(w.rarity * p.times * 2.2 / (p.times + 1.2 * (0.25 + 0.75 * p.length / :average)))
  )::bigint AS score
FROM postings p JOIN unnest(:stems::text[], :rarities::float8[]) AS w (stem, rarity)
  ON w.stem = p.stem
WHERE p.space = :space AND p.stem = ANY (:stems::text[]) GROUP BY p.entry
"""
_FOUND = f"{MATCH_COLUMNS}, e.stems, found.score / 1e9::float8 AS score, {{vector}} AS vector"
_BEST_FIRST = "ORDER BY score DESC, ref, seq, id LIMIT :limit"
MATCH = f"""
SELECT {_FOUND} FROM ({SCORED}{{limited}}) found
JOIN entries e ON e.space = :space AND e.id = found.entry {{where}}
{_BEST_FIRST}
"""
# If too few of the pool fulfil the condition, the same statement filters all.
MATCH_AMONG = f"""
WITH scored AS MATERIALIZED ({SCORED}),
best AS MATERIALIZED (SELECT entry, score FROM scored ORDER BY score DESC LIMIT :pool),
near AS MATERIALIZED (
  SELECT {_FOUND} FROM best found
  JOIN entries e ON e.space = :space AND e.id = found.entry WHERE {{where}}),
enough AS MATERIALIZED (
  SELECT (SELECT count(*) FROM best) < :pool
    OR (SELECT count(*) FROM near WHERE near.score > (SELECT min(best.score) FROM best) / 1e9)
      >= :limit AS held)
(SELECT near.* FROM near WHERE (SELECT held FROM enough) {_BEST_FIRST})
UNION ALL
(SELECT {_FOUND} FROM scored found
  JOIN entries e ON e.space = :space AND e.id = found.entry
  WHERE NOT (SELECT held FROM enough) AND {{where}} {_BEST_FIRST})
"""
VECTOR = "(SELECT v.vector FROM vectors v WHERE v.space = :space AND v.entry = e.id)"
LATELY, TELLING, SAMPLED_FROM = 2_000, 5, 20_000
POOL = 1_000
"""So many of the best matches are filtered before all matches are."""

NEAR_AHEAD, DEPTH = 120, 800
"""So many of the nearest are filtered in a large space before others are; pgvector's index keeps so
many candidates, and goes on while other spaces' vectors are among them."""

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
  EXISTS (SELECT 1 FROM messages m WHERE m.space = :space),
  set_config('hnsw.ef_search', '{DEPTH}', true),
  set_config('hnsw.iterative_scan', 'relaxed_order', true),
  set_config('enable_seqscan', 'off', true)
FROM totals LEFT JOIN lately ON true
"""
# An order by a sum is by no index. The inner product of our vectors is a whole number, and the
# cosine that we compare times a constant.
NEAREST_EXACT = f"""
WITH near AS MATERIALIZED (
  SELECT v.entry, v.vector, v.direction::vector({{dims}}) <#> :vector::vector({{dims}}) AS far
  FROM vectors v WHERE v.space = :space AND vector_dims(v.direction) = {{dims}}
  AND (v.direction::vector({{dims}}) <#> :vector::vector({{dims}})) <= :farthest
  ORDER BY (v.direction::vector({{dims}}) <#> :vector::vector({{dims}})) + 0 LIMIT {COMPARED})
SELECT {MATCH_COLUMNS}, e.stems, 0.0::float8, near.vector FROM near
JOIN entries e ON e.space = :space AND e.id = near.entry {{where}}
ORDER BY near.far, e.ref, e.seq LIMIT :count
"""
NEAR = """
SELECT v.entry, v.vector FROM vectors v
WHERE v.space = :space AND vector_dims(v.direction) = {dims}
ORDER BY v.direction::vector({dims}) <=> :vector::vector({dims}) LIMIT {near}
"""
_NEAREST = f"""
SELECT {MATCH_COLUMNS}, e.stems, 0.0::float8, near.vector FROM ({NEAR}) near
JOIN entries e ON e.space = :space AND e.id = near.entry {{where}}
"""
# The vectors of what a filter leaves are looked up: a join would scan those of all spaces. If it
# leaves many, only the first are, and more of the index is filtered.
NEAREST = f"""
WITH first AS MATERIALIZED ({_NEAREST.replace("{near}", str(NEAR_AHEAD))}),
found AS MATERIALIZED (
  SELECT {MATCH_COLUMNS}, e.stems FROM entries e WHERE e.space = :space
  AND (SELECT 3 * count(*) FROM first) < :count {{also}} LIMIT {FEW})
SELECT first.* FROM first
UNION ALL
(SELECT found.*, 0.0::float8, held.vector FROM found CROSS JOIN LATERAL (
  SELECT v.vector, v.direction FROM vectors v
  WHERE v.space = :space AND v.entry = found.id AND vector_dims(v.direction) = {{dims}}
  LIMIT 1) held
ORDER BY held.direction::vector({{dims}}) <=> :vector::vector({{dims}}) LIMIT :count)
UNION ALL
(SELECT more.* FROM ({_NEAREST.replace("{near}", str(MANY))}) more
  WHERE (SELECT count(*) FROM found) = {FEW})
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


class SearchTx(Tx, Protocol):
    """A transaction, and what it found in the index so far."""

    snapshot: Any
    known: dict[str, int]
    """The number of entries with each stem that was asked for."""
    totals: tuple[Any, ...]
    """The size and state of the index, once it was asked for."""


def match(
    tx: SearchTx,
    stems: Sequence[str],
    limit: int,
    where: str,
    params: Params,
    pool: int = 0,
    vector: bytes = b"",
) -> list[IndexMatch]:
    """Return the best entries with any of the stems that fulfil `where`; with a `pool`, the best
    matches are filtered first."""
    known = count_stems(tx, stems)
    held = [stem for stem in dict.fromkeys(stems) if known.holding[stem]]
    if not held:
        return []
    # Without a condition the best are sorted out before their entries are read.
    form = MATCH_AMONG if where and pool else MATCH
    sql = form.format(
        where=where if where and pool else f"WHERE {where}" if where else "",
        limited="" if where else " ORDER BY score DESC LIMIT :pool",
        vector=VECTOR if vector else "NULL::bytea",
    )
    bound = {
        **params,
        "stems": held,
        "rarities": [known.rarity(stem) for stem in held],
        "average": max(known.average, 1.0),
        "limit": limit,
        "pool": max(8 * limit, POOL),
    }
    return list(map(IndexMatch._make, tx.run(sql, bound)))


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
        for entries, length, stem, held, embedder, *state in rows:
            tx.totals = (entries, length, embedder or "", *state[:4])
            if stem is not None:
                tx.known[stem] = held
    if not tx.totals:  # not answered in this round
        return StemFrequencies(0, 0.0, dict.fromkeys(stems, 0))
    entries, length, embedder, outdated, waits, blocks, messages = tx.totals
    return StemFrequencies(
        entries=entries,
        average=length / max(entries, 1),
        holding={stem: tx.known[stem] for stem in stems},
        embedder=embedder,
        outdated=outdated,
        unembedded=waits,
        blocks=blocks,
        messages=messages,
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
    tx: SearchTx, vector: bytes, count: int, where: str, params: Params, least: float
) -> list[IndexMatch]:
    """Return the nearest entries that fulfil `where`, none with a cosine below `least`: exactly in
    a space of up to `COMPARED` entries, or else by pgvector's index."""
    count_stems(tx, ())  # sets how far the vector index is searched
    if not tx.totals:
        return []  # not answered in this round
    compared = tx.totals[0] <= COMPARED
    clause, also = (f"WHERE {where}", f"AND {where}") if where else ("", "")
    form = NEAREST_EXACT if compared else NEAREST
    bound = {**params, "vector": _direction(vector), "count": count}
    if compared:
        bound["farthest"] = -least * sum([(one - 128) ** 2 for one in vector])
    sql = form.format(dims=len(vector), where=clause, also=also)
    return list(map(IndexMatch._make, tx.run(sql, bound)))


def _direction(vector: bytes) -> str:
    """Convert our bytes (128 is zero) to pgvector's numbers."""
    return "[" + ",".join([str(component - 128) for component in vector]) + "]"
