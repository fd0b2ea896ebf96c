-- What entries are filtered by besides their columns, and may have several of: tags and scopes. A
-- filter is looked up here, so that it is part of the search and not of what is left of it.
CREATE TABLE facets (
  space TEXT NOT NULL,
  entry INTEGER NOT NULL,
  name TEXT NOT NULL,
  value TEXT NOT NULL,
  PRIMARY KEY (entry, name, value)
) WITHOUT ROWID;
CREATE INDEX facets_by_value ON facets (space, name, value, entry);

-- What is in the store already gets its facets, and loses the entries of our own calls and answers,
-- before it is next searched. Where all words are missing, that does it too.
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'outdated', 0 FROM entries WHERE TRUE ON CONFLICT DO NOTHING;
