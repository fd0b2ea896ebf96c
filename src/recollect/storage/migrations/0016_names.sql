-- Names of files, tickets, hashes and flags are terms of their own since: what is in the store already
-- gets them before it is next searched.
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'outdated', 0 FROM entries WHERE TRUE ON CONFLICT DO NOTHING;
