-- Which person wrote or last reworded a statement; empty in a store of one person.
ALTER TABLE memories ADD COLUMN author TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_revisions ADD COLUMN author TEXT NOT NULL DEFAULT '';

-- Vectors that lie near each other are in one block, a cell; a search looks at the cells whose
-- centroids are near. One row for each batch of cells.
CREATE TABLE clusters (
  space TEXT NOT NULL,
  cluster BIGINT NOT NULL,
  blocks BLOB NOT NULL,
  centroids BLOB NOT NULL,
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
CREATE INDEX IF NOT EXISTS entries_by_owner ON entries (space, owner, seq);
