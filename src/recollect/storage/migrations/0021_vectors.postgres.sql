-- A vector belongs to an entry. One that was made while its entry was removed by another transaction
-- stayed: the removal could not see it yet. It goes with its entry now.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE vectors NO FORCE ROW LEVEL SECURITY;
DELETE FROM vectors v
  WHERE NOT EXISTS (SELECT 1 FROM entries e WHERE e.space = v.space AND e.id = v.entry);
ALTER TABLE vectors ADD CONSTRAINT vectors_of_entries
  FOREIGN KEY (space, entry) REFERENCES entries (space, id) ON DELETE CASCADE;
-- Without pgvector: a removed vector leaves a dead place in its block. The cascade runs it as the owner
-- of the tables: it must not use operators of a schema that a member chose.
CREATE FUNCTION count_dead() RETURNS trigger LANGUAGE plpgsql
SET search_path TO pg_catalog, pg_temp AS $$
BEGIN
  UPDATE recollect.blocks SET dead = dead + d.number
  FROM (SELECT space, block, count(*) AS number FROM gone WHERE block <> 0 GROUP BY space, block) d
  WHERE blocks.space = d.space AND blocks.block = d.block;
  RETURN NULL;
END $$;
CREATE TRIGGER counted_dead AFTER DELETE ON vectors REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION count_dead();
-- Every statement looks up the spaces of its role, by this and the key of members.
CREATE INDEX spaces_by_owner ON spaces (owner);
