-- What entries are filtered by besides their columns, and may have several of: tags and scopes. A
-- filter is looked up here, so that it is part of the search and not of what is left of it.
CREATE TABLE facets (
  space TEXT NOT NULL,
  entry BIGINT NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (entry, name, value)
);
CREATE INDEX facets_by_value ON facets (space, name, value, entry);
ALTER TABLE facets ENABLE ROW LEVEL SECURITY;
ALTER TABLE facets FORCE ROW LEVEL SECURITY;
CREATE POLICY own_space ON facets USING (space = current_setting('recollect.space', true))
  WITH CHECK (space = current_setting('recollect.space', true));

-- What is in the store already gets its facets, and loses the entries of our own calls and answers,
-- before it is next searched. Where all words are missing, that does it too.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE state NO FORCE ROW LEVEL SECURITY;
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'outdated', 0 FROM entries ON CONFLICT DO NOTHING;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
ALTER TABLE state FORCE ROW LEVEL SECURITY;
