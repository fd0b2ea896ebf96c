-- Words and meaning of the entries, both derived: `recollect rebuild` makes them again.
-- Spaces of an early version had another column of words.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE state NO FORCE ROW LEVEL SECURITY;
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'missing', 0 FROM entries;
DROP TABLE IF EXISTS vectors;
ALTER TABLE entries DROP COLUMN IF EXISTS words, DROP COLUMN IF EXISTS length;

-- The stems of core.terms: PostgreSQL's own parser never sees the text. Ranking counts them
-- again in the text itself, so it is kept.
ALTER TABLE entries ADD COLUMN words TSVECTOR, ADD COLUMN stems TEXT NOT NULL DEFAULT '',
  ADD COLUMN length BIGINT NOT NULL DEFAULT 0;
CREATE INDEX entries_by_words ON entries USING gin (words);
CREATE INDEX entries_lengths ON entries (space, length);

-- Entries whose vector is not made yet. All vectors of a space are of one embedder: the value
-- `embedder` in state.
CREATE TABLE unembedded (entry BIGINT PRIMARY KEY, space TEXT NOT NULL);
INSERT INTO unembedded (entry, space) SELECT id, space FROM entries WHERE part = 0;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
ALTER TABLE state FORCE ROW LEVEL SECURITY;
CREATE INDEX unembedded_by_space ON unembedded (space, entry);
CREATE TABLE vectors (
  entry BIGINT PRIMARY KEY,
  space TEXT NOT NULL,
  block BIGINT NOT NULL,
  vector BYTEA NOT NULL
);
CREATE INDEX vectors_by_space ON vectors (space, entry);
-- Without pgvector: the signs of many vectors together, as core.nearest packs them.
CREATE TABLE blocks (
  space TEXT NOT NULL,
  block BIGINT NOT NULL,
  size BIGINT NOT NULL,
  dead BIGINT NOT NULL,
  entries BYTEA NOT NULL,
  planes BYTEA NOT NULL,
  PRIMARY KEY (space, block)
);

DO $$
DECLARE name TEXT;
BEGIN
  FOREACH name IN ARRAY ARRAY['unembedded', 'vectors', 'blocks'] LOOP
    EXECUTE format('ALTER TABLE %I ENABLE ROW LEVEL SECURITY', name);
    EXECUTE format('ALTER TABLE %I FORCE ROW LEVEL SECURITY', name);
    EXECUTE format('CREATE POLICY own_space ON %I '
      'USING (space = current_setting(''recollect.space'', true)) '
      'WITH CHECK (space = current_setting(''recollect.space'', true))', name);
  END LOOP;
END $$;
