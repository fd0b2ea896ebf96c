-- The same text in the same kind, layer, owner and scope is one memory: it reinforces. For other
-- files it is another one; a scope may be longer than what an index of PostgreSQL takes.
DROP INDEX memories_open_text;
CREATE UNIQUE INDEX memories_open_text ON memories (space, layer, owner, kind, digest, md5(scope))
  WHERE valid_to = 9223372036854775807;
