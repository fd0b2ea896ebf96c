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
