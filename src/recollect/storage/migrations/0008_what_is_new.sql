-- Consolidation looks at what is new and at what has aged, and not at all that is stored.
CREATE INDEX IF NOT EXISTS episodes_by_update ON episodes (space, updated, id) WHERE status <> 'archived';
CREATE INDEX IF NOT EXISTS episodes_in_use ON episodes (space, at, id) WHERE status <> 'archived';
CREATE INDEX IF NOT EXISTS episodes_whole ON episodes (space, at, id) WHERE status <> 'archived' AND synopsis = '';
CREATE INDEX IF NOT EXISTS memories_of_tools ON memories (space, first_seen)
  WHERE valid_to = 9223372036854775807 AND label = 'tool';
