-- Most memories are the first of their chain, and most apply everywhere: these indexes hold the
-- others only, so that a new memory changes two pages fewer.
DROP INDEX IF EXISTS memories_by_root;
CREATE INDEX memories_by_root ON memories (space, root, revision) WHERE root <> id;
DROP INDEX IF EXISTS facets_by_value;
CREATE INDEX facets_by_value ON facets (space, name, value, entry)
  WHERE name = 'tag' OR value > '';
