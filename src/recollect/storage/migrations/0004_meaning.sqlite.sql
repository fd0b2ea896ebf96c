-- Words and meaning of the entries, both derived: `recollect rebuild` makes them again.
-- Stores of an early version had another table of words, which cannot be read back.
DROP TABLE IF EXISTS word_counts;
DROP TABLE IF EXISTS words;
DROP TABLE IF EXISTS vectors;
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'missing', 0 FROM entries;

-- The stems of core.terms; the tokenizer only splits at spaces. Ranking counts them again in
-- the text itself, so it is kept.
CREATE VIRTUAL TABLE words USING fts5(stems, tokenize = "ascii tokenchars '.'");
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);

-- Entries whose vector is not made yet. All vectors of a space are of one embedder: the value
-- `embedder` in state.
CREATE TABLE unembedded (entry INTEGER PRIMARY KEY, space TEXT NOT NULL);
INSERT INTO unembedded (entry, space) SELECT id, space FROM entries WHERE part = 0;
CREATE TABLE vectors (
  entry INTEGER PRIMARY KEY,
  space TEXT NOT NULL,
  block BIGINT NOT NULL,
  vector BLOB NOT NULL
);
-- The signs of many vectors together, as core.nearest packs them, and their entries.
CREATE TABLE blocks (
  space TEXT NOT NULL,
  block BIGINT NOT NULL,
  size BIGINT NOT NULL,
  dead BIGINT NOT NULL,
  entries BLOB NOT NULL,
  planes BLOB NOT NULL,
  PRIMARY KEY (space, block)
);
