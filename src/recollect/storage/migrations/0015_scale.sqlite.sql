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
CREATE INDEX IF NOT EXISTS memories_by_scope ON memories (space, scope, first_seen DESC, id)
  WHERE valid_to = 9223372036854775807 AND scope <> '[]';

-- Open memories by the day they were first seen: `stats` reads these rows and not all memories.
CREATE TABLE memory_counts (
  space TEXT NOT NULL,
  day BIGINT NOT NULL,
  kind TEXT NOT NULL,
  layer TEXT NOT NULL,
  status TEXT NOT NULL,
  number BIGINT NOT NULL,
  length BIGINT NOT NULL,
  unused BIGINT NOT NULL,
  PRIMARY KEY (space, day, kind, layer, status)
) WITHOUT ROWID;
INSERT INTO memory_counts
  SELECT space, first_seen / 86400000000, kind, layer, status, count(*), sum(length(text)),
    sum(recalls = 0)
  FROM memories WHERE valid_to = 9223372036854775807 GROUP BY 1, 2, 3, 4, 5;
CREATE TRIGGER memories_added AFTER INSERT ON memories WHEN NEW.valid_to = 9223372036854775807
BEGIN
  INSERT INTO memory_counts VALUES (NEW.space, NEW.first_seen / 86400000000, NEW.kind, NEW.layer,
    NEW.status, 1, length(NEW.text), NEW.recalls = 0)
  ON CONFLICT DO UPDATE SET number = number + 1, length = length + excluded.length,
    unused = unused + excluded.unused;
END;
CREATE TRIGGER memories_removed AFTER DELETE ON memories WHEN OLD.valid_to = 9223372036854775807
BEGIN
  UPDATE memory_counts SET number = number - 1, length = length - length(OLD.text),
    unused = unused - (OLD.recalls = 0)
  WHERE space = OLD.space AND day = OLD.first_seen / 86400000000 AND kind = OLD.kind
    AND layer = OLD.layer AND status = OLD.status;
END;
CREATE TRIGGER memories_changed
AFTER UPDATE OF kind, layer, status, text, valid_to, recalls, first_seen ON memories
WHEN (OLD.kind, OLD.layer, OLD.status, OLD.text, OLD.valid_to, OLD.recalls = 0, OLD.first_seen)
  <> (NEW.kind, NEW.layer, NEW.status, NEW.text, NEW.valid_to, NEW.recalls = 0, NEW.first_seen)
BEGIN
  UPDATE memory_counts SET number = number - 1, length = length - length(OLD.text),
    unused = unused - (OLD.recalls = 0)
  WHERE OLD.valid_to = 9223372036854775807 AND space = OLD.space
    AND day = OLD.first_seen / 86400000000 AND kind = OLD.kind AND layer = OLD.layer
    AND status = OLD.status;
  INSERT INTO memory_counts
  SELECT NEW.space, NEW.first_seen / 86400000000, NEW.kind, NEW.layer, NEW.status, 1,
    length(NEW.text), NEW.recalls = 0
  WHERE NEW.valid_to = 9223372036854775807
  ON CONFLICT DO UPDATE SET number = number + 1, length = length + excluded.length,
    unused = unused + excluded.unused;
END;
