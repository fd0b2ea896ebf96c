-- Images, PDFs and other files of messages, once for each content; the message names the hash.
CREATE TABLE attachments (
  space TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  media_type TEXT NOT NULL,
  data BLOB NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (space, sha256)
) WITHOUT ROWID;

-- Names of files, tickets, hashes and flags are terms of their own since: what is in the store already
-- gets them before it is next searched.
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'outdated', 0 FROM entries WHERE TRUE ON CONFLICT DO NOTHING;
