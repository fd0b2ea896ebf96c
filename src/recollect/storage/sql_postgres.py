"""The statements of word and vector search on PostgreSQL.

Words are scored with the BM25 of FTS5, so that both engines give the same order. Stems are looked
up by equality, which row-level security lets an index do.
"""

from __future__ import annotations

from .database import MATCH_COLUMNS

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

NEAR_AHEAD, DEPTH = 120, 200
"""So many of the nearest are read with the matches; pgvector's index keeps so many candidates, and
goes on while other spaces' vectors are among them."""

# Counting a common stem takes as long as searching for it: a large space extrapolates from its
# newest entries, as on SQLite.
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
  set_config('hnsw.iterative_scan', 'relaxed_order', true)
FROM totals LEFT JOIN lately ON true
"""
NEAR = """
SELECT v.entry, v.vector, v.direction::vector({dims}) <=> :vector::vector({dims}) AS far
FROM vectors v WHERE v.space = :space AND vector_dims(v.direction) = {dims}
ORDER BY v.direction::vector({dims}) <=> :vector::vector({dims}) LIMIT :near
"""
NEAREST = f"""
SELECT {MATCH_COLUMNS}, e.stems, 0.0::float8, near.vector, NULL::bigint FROM ({NEAR}) near
JOIN entries e ON e.space = :space AND e.id = near.entry {{where}}
"""
NEAREST_OF = f"""
WITH found AS MATERIALIZED (
  SELECT {MATCH_COLUMNS}, e.stems, 0.0::float8, v.vector, v.direction
  FROM entries e JOIN vectors v ON v.space = e.space AND v.entry = e.id
  WHERE e.space = :space AND vector_dims(v.direction) = {{dims}} AND {{where}})
SELECT id, source, ref, seq, kind, owner, label, at, stems, 0.0::float8, vector, NULL::bigint
FROM found
ORDER BY direction::vector({{dims}}) <=> :vector::vector({{dims}}) LIMIT :count
"""
NEAREST_INDEX = """
CREATE INDEX IF NOT EXISTS vectors_near_{dims} ON recollect.vectors
USING hnsw ((direction::vector({dims})) vector_cosine_ops) WHERE vector_dims(direction) = {dims}
"""
COLUMNS = ("source", "ref", "kind", "layer", "owner", "status", "label", "seq", "at", "part")
NUMBERS = {"seq", "at", "part"}
TYPES = ", ".join(
    f":{name}::{'bigint' if name in NUMBERS else 'text'}[]" for name in (*COLUMNS, "stems")
)
ADD_ENTRIES = f"""
WITH given AS MATERIALIZED (
  SELECT nextval('recollect.entries_id_seq') AS id, g.*
  FROM unnest({TYPES}) WITH ORDINALITY AS g ({", ".join(COLUMNS)}, stems, place)),
counted AS MATERIALIZED (
  SELECT given.id, coalesce(array_length(string_to_array(nullif(stems, ''), ' '), 1), 0) AS length
  FROM given),
added AS (
  INSERT INTO entries (space, id, {", ".join(COLUMNS)}, stems, length)
  SELECT :space, given.id, {", ".join(COLUMNS)}, stems, counted.length
  FROM given JOIN counted ON counted.id = given.id),
posted AS (
  INSERT INTO postings (space, stem, entry, times, length)
  SELECT :space, w.stem, given.id, count(*), min(counted.length)
  FROM given JOIN counted ON counted.id = given.id
  CROSS JOIN LATERAL unnest(string_to_array(given.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY w.stem, given.id),
summed AS (
  INSERT INTO word_totals (space, shard, entries, length)
  SELECT :space, pg_backend_pid() % 16, count(*), sum(counted.length) FROM counted
  ON CONFLICT (space, shard) DO UPDATE SET entries = word_totals.entries + excluded.entries,
    length = word_totals.length + excluded.length),
faceted AS (
  INSERT INTO facets (space, entry, name, value)
  SELECT DISTINCT :space, given.id, f.name, f.value
  FROM unnest(:facet_places::bigint[], :facet_names::text[], :facet_values::text[])
    AS f (place, name, value) JOIN given ON given.place = f.place),
queued AS (
  INSERT INTO unembedded (space, entry) SELECT :space, given.id FROM given WHERE given.part = 0)
SELECT pg_current_xact_id()::text
"""
REMOVE_WORDS = """
WITH gone AS (
  DELETE FROM postings p USING entries e, unnest(string_to_array(e.stems, ' ')) AS w (stem)
  WHERE e.space = :space AND e.id = :entry AND p.space = :space AND p.stem = w.stem
  AND p.entry = :entry),
emptied AS (
  UPDATE entries SET stems = '', length = 0 WHERE space = :space AND id = :entry)
INSERT INTO word_totals (space, shard, entries, length)
SELECT :space, pg_backend_pid() % 16, -1, -e.length FROM entries e
WHERE e.space = :space AND e.id = :entry
ON CONFLICT (space, shard) DO UPDATE SET entries = word_totals.entries + excluded.entries,
  length = word_totals.length + excluded.length
"""
ADD_WORDS = """
WITH given AS MATERIALIZED (
  SELECT g.entry, g.stems, coalesce(array_length(string_to_array(nullif(g.stems, ''), ' '), 1), 0)
    AS length
  FROM unnest(:entries::bigint[], :stems::text[]) AS g (entry, stems)),
posted AS (
  INSERT INTO postings (space, stem, entry, times, length)
  SELECT :space, w.stem, given.entry, count(*), min(given.length)
  FROM given CROSS JOIN LATERAL unnest(string_to_array(given.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY w.stem, given.entry),
summed AS (
  INSERT INTO word_totals (space, shard, entries, length)
  SELECT :space, pg_backend_pid() % 16, count(*), sum(given.length) FROM given
  ON CONFLICT (space, shard) DO UPDATE SET entries = word_totals.entries + excluded.entries,
    length = word_totals.length + excluded.length)
UPDATE entries SET stems = given.stems, length = given.length
FROM given WHERE entries.space = :space AND entries.id = given.entry
"""
