-- A role for each person. A member of a space reads it, and writes it if `writes` is true; a role
-- also has the spaces that it made. Members are granted nothing on these two tables: the view shows
-- each role its own rows only. The policies are made by storage.postgres_schema for every table.
ALTER TABLE spaces ADD COLUMN owner TEXT NOT NULL DEFAULT current_user;
CREATE TABLE members (
  space TEXT NOT NULL,
  role TEXT NOT NULL,
  writes BOOLEAN NOT NULL DEFAULT true,
  PRIMARY KEY (role, space)
);
CREATE VIEW memberships AS
  SELECT space, writes FROM members WHERE role = current_user::text
  UNION ALL SELECT id, true FROM spaces WHERE owner = current_user::text;

-- Which role wrote or last reworded a statement: another person's word is not one's own.
ALTER TABLE memories ADD COLUMN author TEXT NOT NULL DEFAULT current_user;
ALTER TABLE memory_revisions ADD COLUMN author TEXT NOT NULL DEFAULT current_user;
ALTER TABLE messages ADD COLUMN author TEXT NOT NULL DEFAULT current_user;
CREATE FUNCTION sign() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  NEW.author := current_user;
  RETURN NEW;
END $$;
CREATE TRIGGER signed BEFORE INSERT OR UPDATE OF text, kind, scope, label, author ON memories
  FOR EACH ROW EXECUTE FUNCTION sign();
CREATE TRIGGER signed BEFORE INSERT OR UPDATE OF body, label, author ON messages
  FOR EACH ROW EXECUTE FUNCTION sign();

-- Words are looked up by equality, which row-level security lets an index do: `@@` is not leakproof,
-- and made every search read the rows of all teams.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
DROP INDEX IF EXISTS entries_by_words;
DROP INDEX IF EXISTS entries_lengths;
ALTER TABLE entries DROP COLUMN words;
CREATE TABLE postings (
  space TEXT NOT NULL,
  stem TEXT NOT NULL,
  entry BIGINT NOT NULL,
  times INTEGER NOT NULL,
  length INTEGER NOT NULL,
  PRIMARY KEY (space, stem, entry) INCLUDE (times, length)
) PARTITION BY HASH (space);
DO $$
BEGIN
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE postings_%s PARTITION OF postings '
      'FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
  END LOOP;
END $$;
INSERT INTO postings (space, stem, entry, times, length)
  SELECT e.space, w.stem, e.id, count(*), e.length
  FROM entries e CROSS JOIN LATERAL unnest(string_to_array(e.stems, ' ')) AS w (stem)
  WHERE w.stem <> '' GROUP BY e.space, w.stem, e.id, e.length;

-- Number and length of the entries, kept up to date in several rows: writers of one space would
-- wait for each other at a single one.
CREATE TABLE word_totals (
  space TEXT NOT NULL,
  shard INTEGER NOT NULL,
  entries BIGINT NOT NULL,
  length BIGINT NOT NULL,
  PRIMARY KEY (space, shard)
);
INSERT INTO word_totals (space, shard, entries, length)
  SELECT space, 0, count(*), sum(length) FROM entries GROUP BY space;

-- A row belongs to its space in every key: no space can take a number that another one needs.
ALTER TABLE entries DROP CONSTRAINT entries_pkey, ADD PRIMARY KEY (space, id);
ALTER TABLE unembedded DROP CONSTRAINT unembedded_pkey, ADD PRIMARY KEY (space, entry);
DROP INDEX IF EXISTS unembedded_by_space;
ALTER TABLE vectors DROP CONSTRAINT vectors_pkey, ADD PRIMARY KEY (space, entry);
DROP INDEX IF EXISTS vectors_by_space;
ALTER TABLE facets DROP CONSTRAINT facets_pkey, ADD PRIMARY KEY (space, entry, name, value);

-- Vectors that lie near each other are in one block, a cell; a search looks at the cells whose
-- centroids are near. One row for each batch of cells.
CREATE TABLE clusters (
  space TEXT NOT NULL,
  cluster BIGINT NOT NULL,
  blocks BYTEA NOT NULL,
  centroids BYTEA NOT NULL,
  PRIMARY KEY (space, cluster)
);

-- What is filtered and listed is found by an index, with the id for records of the same time.
CREATE INDEX IF NOT EXISTS entries_by_kind ON entries (space, kind, at);
CREATE INDEX IF NOT EXISTS entries_by_time ON entries (space, at);
CREATE INDEX IF NOT EXISTS entries_out_of_use ON entries (space, status, at) WHERE status <> 'active';
DROP INDEX IF EXISTS memories_open_kind;
CREATE INDEX IF NOT EXISTS memories_open_kind ON memories (space, kind, status, last_reinforced DESC, id)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS memories_listed ON memories (space, first_seen DESC, id)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS memories_listed_by_kind ON memories (space, kind, first_seen DESC, id)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS memories_listed_by_status ON memories (space, status, first_seen DESC, id)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS memories_listed_by_layer ON memories (space, layer, first_seen DESC, id)
  WHERE valid_to = 9223372036854775807;
