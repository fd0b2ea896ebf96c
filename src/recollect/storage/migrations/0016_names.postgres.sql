-- Images, PDFs and other files of messages, once for each content; the message names the hash.
CREATE TABLE attachments (
  space TEXT NOT NULL,
  sha256 TEXT NOT NULL,
  media_type TEXT NOT NULL,
  data BYTEA NOT NULL,
  created BIGINT NOT NULL,
  PRIMARY KEY (space, sha256)
);
ALTER TABLE attachments ENABLE ROW LEVEL SECURITY;
ALTER TABLE attachments FORCE ROW LEVEL SECURITY;
CREATE POLICY own_space ON attachments USING (space = current_setting('recollect.space', true))
  WITH CHECK (space = current_setting('recollect.space', true));

-- Names of files, tickets, hashes and flags are terms of their own since: what is in the store already
-- gets them before it is next searched.
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE state NO FORCE ROW LEVEL SECURITY;
INSERT INTO state (space, key, value, updated)
  SELECT DISTINCT space, 'words', 'outdated', 0 FROM entries ON CONFLICT DO NOTHING;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
ALTER TABLE state FORCE ROW LEVEL SECURITY;
