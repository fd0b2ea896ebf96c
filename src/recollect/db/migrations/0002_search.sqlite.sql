-- One entry for each thing that can be found, several parts for a very long one; words are
-- indexed under its number.

CREATE TABLE entries (
  id INTEGER PRIMARY KEY,
  space TEXT NOT NULL,
  source TEXT NOT NULL,
  ref TEXT NOT NULL,
  kind TEXT NOT NULL,
  layer TEXT NOT NULL,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  label TEXT NOT NULL,
  seq BIGINT NOT NULL,
  part BIGINT NOT NULL,
  at BIGINT NOT NULL
);
CREATE UNIQUE INDEX entries_by_ref ON entries (space, source, ref, seq, part);
CREATE INDEX entries_by_owner ON entries (space, owner, seq);

-- Terms are made by core.terms; the tokenizer only splits at spaces.
CREATE VIRTUAL TABLE words USING fts5(
  terms, stems, content = '', contentless_delete = 1, tokenize = "ascii tokenchars '.'"
);
INSERT INTO words (words, rank) VALUES ('secure-delete', 1);
CREATE VIRTUAL TABLE word_counts USING fts5vocab(words, 'row');

-- Vectors carry the id of the embedder that made them; generations are never mixed.
CREATE TABLE vectors (
  space TEXT NOT NULL,
  embedder TEXT NOT NULL,
  entry BIGINT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (space, embedder, entry)
);
