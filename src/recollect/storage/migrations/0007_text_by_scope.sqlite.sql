-- The same text in the same kind, layer, owner and scope is one memory: it reinforces. For other
-- files it is another one.
DROP INDEX memories_open_text;
CREATE UNIQUE INDEX memories_open_text ON memories (space, layer, owner, kind, digest, scope)
  WHERE valid_to = 9223372036854775807;
