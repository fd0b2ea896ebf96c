-- What sessions found out by working: one row for each session and subject, and what they say
-- together. Both are derived from the archive and can be made again.
CREATE TABLE observations (
  space TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  session TEXT NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (space, kind, subject, session)
) WITHOUT ROWID;
CREATE INDEX observations_by_time ON observations (space, kind, subject, at, session);
CREATE INDEX observations_by_session ON observations (space, session);
CREATE TABLE findings (
  space TEXT NOT NULL,
  kind TEXT NOT NULL,
  subject TEXT NOT NULL,
  sessions BIGINT NOT NULL,
  at BIGINT NOT NULL,
  body TEXT NOT NULL,
  PRIMARY KEY (space, kind, subject)
) WITHOUT ROWID;
CREATE INDEX findings_by_time ON findings (space, kind, at);
