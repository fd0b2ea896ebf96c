-- The whole schema, one for both engines. Times are microseconds; JSON is TEXT and never
-- queried into; 9223372036854775807 is the open end of a validity interval. origin says on which
-- path a record came in, label how far it is trusted, sources what it was made from.

CREATE TABLE spaces (
  id TEXT PRIMARY KEY,
  kind TEXT NOT NULL,
  name TEXT NOT NULL,
  place TEXT NOT NULL,
  created BIGINT NOT NULL
);

-- Small values of the system itself: learned token ratios, versions of derived data, last runs.
CREATE TABLE state (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  value TEXT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (space, key)
);

-- An idempotency key for any write that is not a message: which record the first call made.
CREATE TABLE writes (
  space TEXT NOT NULL,
  key TEXT NOT NULL,
  operation TEXT NOT NULL,
  ref TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, key)
);

-- next_seq is the counter row: several processes append to one session without collisions.
CREATE TABLE sessions (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  name TEXT NOT NULL,
  agent TEXT NOT NULL,
  cwd TEXT NOT NULL,
  branch TEXT NOT NULL,
  status TEXT NOT NULL,
  created BIGINT NOT NULL,
  last_active BIGINT NOT NULL,
  next_seq BIGINT NOT NULL,
  head TEXT NOT NULL,
  usage TEXT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX sessions_by_activity ON sessions (space, last_active);

-- Apart from sessions, so that appending a message rewrites a short row.
CREATE TABLE windows (
  space TEXT NOT NULL,
  session TEXT NOT NULL,
  window_from BIGINT NOT NULL,
  state TEXT NOT NULL,
  summary TEXT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (space, session)
);

-- hash chains each message to its predecessor through digest, the hash of the body: a body
-- that was erased on request leaves its digest, and the chain still proves the rest.
CREATE TABLE messages (
  space TEXT NOT NULL,
  session TEXT NOT NULL,
  seq BIGINT NOT NULL,
  role TEXT NOT NULL,
  body TEXT NOT NULL,
  at BIGINT NOT NULL,
  key TEXT,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  digest TEXT NOT NULL,
  hash TEXT NOT NULL,
  PRIMARY KEY (space, session, seq)
);
CREATE UNIQUE INDEX messages_by_key ON messages (space, session, key);

CREATE TABLE memories (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  root TEXT NOT NULL,
  revision BIGINT NOT NULL,
  kind TEXT NOT NULL,
  text TEXT NOT NULL,
  subject TEXT NOT NULL,
  detail TEXT NOT NULL,
  category TEXT NOT NULL,
  scope TEXT NOT NULL,
  tags TEXT NOT NULL,
  examples TEXT NOT NULL,
  citations TEXT NOT NULL,
  evidence TEXT NOT NULL,
  reason TEXT NOT NULL,
  confidence DOUBLE PRECISION NOT NULL,
  priority TEXT NOT NULL,
  layer TEXT NOT NULL,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  reinforcement BIGINT NOT NULL,
  successes BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  recalls BIGINT NOT NULL,
  first_seen BIGINT NOT NULL,
  last_confirmed BIGINT NOT NULL,
  last_reinforced BIGINT NOT NULL,
  last_recalled BIGINT NOT NULL,
  valid_from BIGINT NOT NULL,
  valid_to BIGINT NOT NULL,
  digest TEXT NOT NULL,
  PRIMARY KEY (space, id)
);
-- The same text in the same kind, layer and owner is one memory: it reinforces.
CREATE UNIQUE INDEX memories_open_text ON memories (space, layer, owner, kind, digest)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX memories_by_root ON memories (space, root, revision);
CREATE INDEX memories_open_kind ON memories (space, kind, status, last_reinforced)
  WHERE valid_to = 9223372036854775807;

-- What a memory says about the code, to be checked before it is used.
CREATE TABLE claims (
  space TEXT NOT NULL,
  memory TEXT NOT NULL,
  position BIGINT NOT NULL,
  path TEXT NOT NULL,
  symbol TEXT NOT NULL,
  line BIGINT NOT NULL,
  kind TEXT NOT NULL,
  blob TEXT NOT NULL,
  sign TEXT NOT NULL,
  committed TEXT NOT NULL,
  state TEXT NOT NULL,
  moved_to TEXT NOT NULL,
  stamp TEXT NOT NULL,
  checked BIGINT NOT NULL,
  PRIMARY KEY (space, memory, position)
);
CREATE INDEX claims_by_path ON claims (space, path);

CREATE TABLE documents (
  space TEXT NOT NULL,
  address TEXT NOT NULL,
  revision BIGINT NOT NULL,
  type TEXT NOT NULL,
  title TEXT NOT NULL,
  text TEXT NOT NULL,
  fields TEXT NOT NULL,
  layer TEXT NOT NULL,
  owner TEXT NOT NULL,
  status TEXT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  valid_from BIGINT NOT NULL,
  valid_to BIGINT NOT NULL,
  PRIMARY KEY (space, address, revision)
);
CREATE UNIQUE INDEX documents_open ON documents (space, address)
  WHERE valid_to = 9223372036854775807;
CREATE INDEX documents_open_type ON documents (space, type, owner)
  WHERE valid_to = 9223372036854775807;

-- body is the whole episode as it was given; the columns are what is searched and sorted by.
CREATE TABLE episodes (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  task TEXT NOT NULL,
  session TEXT NOT NULL,
  agent TEXT NOT NULL,
  phase TEXT NOT NULL,
  goal TEXT NOT NULL,
  outcome TEXT NOT NULL,
  importance DOUBLE PRECISION NOT NULL,
  body TEXT NOT NULL,
  synopsis TEXT NOT NULL,
  status TEXT NOT NULL,
  at BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX episodes_by_time ON episodes (space, at);
CREATE INDEX episodes_by_session ON episodes (space, session);

CREATE TABLE procedures (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  root TEXT NOT NULL,
  revision BIGINT NOT NULL,
  name TEXT NOT NULL,
  description TEXT NOT NULL,
  body TEXT NOT NULL,
  successes BIGINT NOT NULL,
  failures BIGINT NOT NULL,
  last_used BIGINT NOT NULL,
  status TEXT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  valid_from BIGINT NOT NULL,
  valid_to BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX procedures_open_name ON procedures (space, name)
  WHERE valid_to = 9223372036854775807;

-- Both ends are addresses of records without the memory:// in front.
CREATE TABLE links (
  space TEXT NOT NULL,
  source TEXT NOT NULL,
  relation TEXT NOT NULL,
  target TEXT NOT NULL,
  reason TEXT NOT NULL,
  origin TEXT NOT NULL,
  label TEXT NOT NULL,
  sources TEXT NOT NULL,
  valid_from BIGINT NOT NULL,
  valid_to BIGINT NOT NULL,
  PRIMARY KEY (space, source, relation, target)
);
CREATE INDEX links_by_target ON links (space, target, relation);

-- owner and attempt fence every effect of a leased job.
CREATE TABLE jobs (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  payload TEXT NOT NULL,
  status TEXT NOT NULL,
  owner TEXT NOT NULL,
  attempt BIGINT NOT NULL,
  lease_until BIGINT NOT NULL,
  run_after BIGINT NOT NULL,
  input_watermark BIGINT NOT NULL,
  success_watermark BIGINT NOT NULL,
  error TEXT NOT NULL,
  created BIGINT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE UNIQUE INDEX jobs_by_subject ON jobs (space, kind, subject);
CREATE INDEX jobs_by_turn ON jobs (space, status, run_after);

-- Which record was put in front of which model, and what came of it.
CREATE TABLE injections (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  session TEXT NOT NULL,
  turn BIGINT NOT NULL,
  block TEXT NOT NULL,
  ref TEXT NOT NULL,
  tokens BIGINT NOT NULL,
  verdict TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX injections_by_ref ON injections (space, ref, at);
CREATE INDEX injections_by_session ON injections (space, session, turn);

-- Append-only log of the gates of a task, captures, consolidations, deletions: never read for control.
CREATE TABLE events (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  subject TEXT NOT NULL,
  trace TEXT NOT NULL,
  agent TEXT NOT NULL,
  phase TEXT NOT NULL,
  type TEXT NOT NULL,
  payload TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX events_by_subject ON events (space, subject, at);

-- Every call of a model, for the daily cap.
CREATE TABLE spend (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  role TEXT NOT NULL,
  model TEXT NOT NULL,
  purpose TEXT NOT NULL,
  input_tokens BIGINT NOT NULL,
  output_tokens BIGINT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
CREATE INDEX spend_by_time ON spend (space, at);

-- How far each transcript was read.
CREATE TABLE cursors (
  space TEXT NOT NULL,
  source TEXT NOT NULL,
  position TEXT NOT NULL,
  updated BIGINT NOT NULL,
  PRIMARY KEY (space, source)
);

-- What was erased on request: digests only, so that it is not learned again.
CREATE TABLE tombstones (
  space TEXT NOT NULL,
  digest TEXT NOT NULL,
  ref TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, digest)
);

-- How to take back what consolidation did.
CREATE TABLE undos (
  space TEXT NOT NULL,
  id TEXT NOT NULL,
  operation TEXT NOT NULL,
  body TEXT NOT NULL,
  status TEXT NOT NULL,
  at BIGINT NOT NULL,
  PRIMARY KEY (space, id)
);
