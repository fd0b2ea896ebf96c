-- Vectors are partitioned by space, as postings are: their index was one for all teams, and a search
-- by meaning in a large space read vectors of others, and found only some of the nearest. The rows
-- are moved first, and each partition's index is built in bulk: one statement for all rows.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE vectors NO FORCE ROW LEVEL SECURITY;
DO $$
DECLARE indexes TEXT[]; definition TEXT;
BEGIN
  SELECT array_agg(pg_get_indexdef(i.indexrelid)) INTO indexes
  FROM pg_index i JOIN pg_class c ON c.oid = i.indexrelid
  WHERE i.indrelid = 'recollect.vectors'::regclass AND c.relname LIKE 'vectors_near_%';
  ALTER TABLE vectors RENAME TO vectors_together;
  ALTER INDEX vectors_pkey RENAME TO vectors_together_pkey;
  CREATE TABLE vectors (LIKE vectors_together) PARTITION BY HASH (space);
  FOR part IN 0..15 LOOP
    EXECUTE format('CREATE TABLE vectors_%s PARTITION OF vectors '
      'FOR VALUES WITH (MODULUS 16, REMAINDER %s)', part, part);
  END LOOP;
  INSERT INTO vectors SELECT * FROM vectors_together;
  DROP TABLE vectors_together;
  FOREACH definition IN ARRAY coalesce(indexes, '{}') LOOP
    EXECUTE definition;
  END LOOP;
END $$;
ALTER TABLE vectors ADD PRIMARY KEY (space, entry);
ALTER TABLE vectors ADD CONSTRAINT vectors_of_entries
  FOREIGN KEY (space, entry) REFERENCES entries (space, id) ON DELETE CASCADE;
CREATE TRIGGER counted_dead AFTER DELETE ON vectors REFERENCING OLD TABLE AS gone
  FOR EACH STATEMENT EXECUTE FUNCTION count_dead();
