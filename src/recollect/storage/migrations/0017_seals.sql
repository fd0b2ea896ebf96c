-- A digest over all texts of a record, checked when it is read: a change that Recollect did not make
-- is noticed. Empty: not sealed yet.
ALTER TABLE memories ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE memory_revisions ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE documents ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE episodes ADD COLUMN seal TEXT NOT NULL DEFAULT '';
ALTER TABLE procedures ADD COLUMN seal TEXT NOT NULL DEFAULT '';
