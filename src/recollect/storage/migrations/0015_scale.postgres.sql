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
CREATE INDEX IF NOT EXISTS memories_reinforced ON memories (space, last_reinforced, id)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS links_contradicted ON links (space, target, source)
  WHERE relation = 'contradicts' AND valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS blocks_with_dead ON blocks (space, block) WHERE dead > 0;
CREATE INDEX IF NOT EXISTS episodes_listed ON episodes (space, at DESC, id);
CREATE INDEX IF NOT EXISTS undos_by_operation ON undos (space, operation, status, at DESC, id);
CREATE INDEX IF NOT EXISTS documents_listed ON documents (space, type, address)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS documents_listed_by_owner ON documents (space, type, owner, address)
  WHERE valid_to = 9223372036854775807;
-- A scope may be longer than what another kind of index takes.
CREATE INDEX IF NOT EXISTS memories_by_scope ON memories USING hash (scope)
  WHERE valid_to = 9223372036854775807 AND scope <> '[]';

-- Open memories by the day they were first seen: `stats` reads these rows and not all memories. In
-- several rows, so that writers do not wait for each other.
CREATE TABLE memory_counts (
  space TEXT NOT NULL,
  day BIGINT NOT NULL,
  kind TEXT NOT NULL,
  layer TEXT NOT NULL,
  status TEXT NOT NULL,
  number BIGINT NOT NULL,
  length BIGINT NOT NULL,
  unused BIGINT NOT NULL,
  shard INTEGER NOT NULL DEFAULT pg_backend_pid() % 16,
  PRIMARY KEY (space, day, kind, layer, status, shard)
);
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
INSERT INTO memory_counts (space, day, kind, layer, status, number, length, unused, shard)
  SELECT space, first_seen / 86400000000, kind, layer, status, count(*), sum(length(text)),
    sum(CASE WHEN recalls = 0 THEN 1 ELSE 0 END), 0
  FROM memories WHERE valid_to = 9223372036854775807 GROUP BY 1, 2, 3, 4, 5;
CREATE FUNCTION count_memory() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP <> 'INSERT' AND OLD.valid_to = 9223372036854775807 THEN
    INSERT INTO recollect.memory_counts AS held
      (space, day, kind, layer, status, number, length, unused)
    VALUES (OLD.space, OLD.first_seen / 86400000000, OLD.kind, OLD.layer, OLD.status, -1,
      -length(OLD.text), CASE WHEN OLD.recalls = 0 THEN -1 ELSE 0 END)
    ON CONFLICT (space, day, kind, layer, status, shard) DO UPDATE SET
      number = held.number + excluded.number, length = held.length + excluded.length,
      unused = held.unused + excluded.unused;
  END IF;
  IF TG_OP <> 'DELETE' AND NEW.valid_to = 9223372036854775807 THEN
    INSERT INTO recollect.memory_counts AS held
      (space, day, kind, layer, status, number, length, unused)
    VALUES (NEW.space, NEW.first_seen / 86400000000, NEW.kind, NEW.layer, NEW.status, 1,
      length(NEW.text), CASE WHEN NEW.recalls = 0 THEN 1 ELSE 0 END)
    ON CONFLICT (space, day, kind, layer, status, shard) DO UPDATE SET
      number = held.number + excluded.number, length = held.length + excluded.length,
      unused = held.unused + excluded.unused;
  END IF;
  RETURN NULL;
END $$;
CREATE TRIGGER counted_new AFTER INSERT OR DELETE ON memories
  FOR EACH ROW EXECUTE FUNCTION count_memory();
CREATE TRIGGER counted_change
  AFTER UPDATE OF kind, layer, status, text, valid_to, recalls, first_seen ON memories
  FOR EACH ROW WHEN ((OLD.kind, OLD.layer, OLD.status, OLD.text, OLD.valid_to, OLD.recalls = 0,
      OLD.first_seen) IS DISTINCT FROM (NEW.kind, NEW.layer, NEW.status, NEW.text, NEW.valid_to,
      NEW.recalls = 0, NEW.first_seen))
  EXECUTE FUNCTION count_memory();
