-- An import looks up by their texts the statements that a person took back. Active memories are not
-- in these indexes, so that learning costs nothing more.
CREATE INDEX memories_withdrawn ON memories (space, digest) WHERE status IN ('hidden', 'superseded');
CREATE INDEX memory_revisions_by_text ON memory_revisions (space, digest);
