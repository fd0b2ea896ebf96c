-- A memory keeps its id: a row of memories is its current revision, and the earlier ones are beside
-- it. Until now every confirmation, correction and repair made a row with a new id.
ALTER TABLE memories ADD COLUMN change TEXT NOT NULL DEFAULT 'learn';
CREATE TABLE memory_revisions (
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
  change TEXT NOT NULL,
  PRIMARY KEY (space, id, revision)
);
CREATE INDEX memory_revisions_by_root ON memory_revisions (space, root);

-- Ids that were printed before memories kept theirs, the memory each of them means, and which
-- revision of it.
CREATE TABLE memory_aliases (
  space TEXT NOT NULL,
  alias TEXT NOT NULL,
  id TEXT NOT NULL,
  revision BIGINT NOT NULL,
  PRIMARY KEY (space, alias)
);
CREATE INDEX memory_aliases_by_id ON memory_aliases (space, id, revision);

-- The owner of the tables changes the rows of all spaces.
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
ALTER TABLE links NO FORCE ROW LEVEL SECURITY;
ALTER TABLE claims NO FORCE ROW LEVEL SECURITY;
ALTER TABLE injections NO FORCE ROW LEVEL SECURITY;
ALTER TABLE writes NO FORCE ROW LEVEL SECURITY;
ALTER TABLE entries NO FORCE ROW LEVEL SECURITY;
ALTER TABLE episodes NO FORCE ROW LEVEL SECURITY;
ALTER TABLE procedures NO FORCE ROW LEVEL SECURITY;
ALTER TABLE undos NO FORCE ROW LEVEL SECURITY;

-- The versions of a chain become revisions of the first of them. One that was learned anew with
-- another value begins a memory of its own, and a chain that two writers forked (more than one
-- version is open) is left as it is. Numbers run through the whole chain. During the migration
-- every version of a chain has an alias.
INSERT INTO memory_aliases (space, alias, id, revision)
WITH chained AS (
  SELECT m.space, m.root, m.id, m.revision, m.valid_from,
    COUNT(*) OVER (PARTITION BY m.space, m.root) AS versions,
    CASE WHEN SUM(CASE WHEN m.valid_to = 9223372036854775807 THEN 1 ELSE 0 END)
        OVER (PARTITION BY m.space, m.root) > 1
      OR EXISTS (SELECT 1 FROM links l
        JOIN memories o ON o.space = l.space AND o.id = l.target AND o.root = m.root
        WHERE l.space = m.space AND l.source = m.id AND l.relation = 'supersedes'
          AND l.reason = 'another value')
    THEN 1 ELSE 0 END AS begins
  FROM memories m
), parted AS (
  SELECT space, root, id, revision, valid_from,
    SUM(begins) OVER (PARTITION BY space, root ORDER BY revision, valid_from, id) AS part
  FROM chained WHERE versions > 1
)
SELECT space, id,
  FIRST_VALUE(id) OVER (PARTITION BY space, root, part ORDER BY revision, valid_from, id),
  ROW_NUMBER() OVER (PARTITION BY space, root ORDER BY revision, valid_from, id)
FROM parted;

UPDATE memories SET change = coalesce((SELECT CASE
    WHEN o.digest <> memories.digest THEN 'correct'
    WHEN o.citations = memories.citations AND o.examples = memories.examples
      AND o.scope = memories.scope THEN 'confirm'
    ELSE 'verify' END
  FROM memory_aliases a
  JOIN memory_aliases p ON p.space = a.space AND p.id = a.id AND p.revision = a.revision - 1
  JOIN memories o ON o.space = p.space AND o.id = p.alias
  WHERE a.space = memories.space AND a.alias = memories.id), 'learn')
  WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = memories.space AND a.alias = memories.id);

-- Only what the current revision says is contradicted and claimed of the code.
DELETE FROM links WHERE relation = 'contradicts' AND (EXISTS (SELECT 1 FROM memory_aliases a
  JOIN memory_aliases n ON n.space = a.space AND n.id = a.id AND n.revision > a.revision
  WHERE a.space = links.space AND a.alias = links.source)
  OR EXISTS (SELECT 1 FROM memory_aliases a
  JOIN memory_aliases n ON n.space = a.space AND n.id = a.id AND n.revision > a.revision
  WHERE a.space = links.space AND a.alias = links.target));
DELETE FROM links WHERE coalesce((SELECT a.id FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.source), source)
  = coalesce((SELECT a.id FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.target), target);
INSERT INTO links (space, source, relation, target, reason, origin, label, sources, valid_from,
  valid_to)
SELECT space, coalesce((SELECT a.id FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.source), source), relation,
  coalesce((SELECT a.id FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.target), target), reason, origin, label, sources, valid_from, valid_to
FROM links WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.source AND a.id <> a.alias)
  OR EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.target AND a.id <> a.alias)
ORDER BY valid_to DESC ON CONFLICT DO NOTHING;
DELETE FROM links WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.source AND a.id <> a.alias)
  OR EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = links.space AND a.alias = links.target AND a.id <> a.alias);
DELETE FROM claims WHERE EXISTS (SELECT 1 FROM memory_aliases a
  JOIN memory_aliases n ON n.space = a.space AND n.id = a.id AND n.revision > a.revision
  WHERE a.space = claims.space AND a.alias = claims.memory);
UPDATE claims SET memory = (SELECT a.id FROM memory_aliases a WHERE a.space = claims.space AND a.alias = claims.memory)
  WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = claims.space AND a.alias = claims.memory AND a.id <> a.alias);
UPDATE injections SET ref = (SELECT a.id FROM memory_aliases a WHERE a.space = injections.space AND a.alias = injections.ref)
  WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = injections.space AND a.alias = injections.ref AND a.id <> a.alias);
UPDATE writes SET ref = (SELECT a.id FROM memory_aliases a WHERE a.space = writes.space AND a.alias = writes.ref)
  WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = writes.space AND a.alias = writes.ref AND a.id <> a.alias);

-- In the index a current revision has the number 0, and an earlier one its own.
UPDATE entries SET seq = (SELECT a.revision FROM memory_aliases a WHERE a.space = entries.space AND a.alias = entries.ref),
  ref = (SELECT a.id FROM memory_aliases a WHERE a.space = entries.space AND a.alias = entries.ref)
  WHERE source = 'memory' AND EXISTS (SELECT 1 FROM memory_aliases a
  JOIN memory_aliases n ON n.space = a.space AND n.id = a.id AND n.revision > a.revision
  WHERE a.space = entries.space AND a.alias = entries.ref);
UPDATE entries SET ref = (SELECT a.id FROM memory_aliases a WHERE a.space = entries.space AND a.alias = entries.ref)
  WHERE source = 'memory' AND seq = 0 AND EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = entries.space AND a.alias = entries.ref AND a.id <> a.alias);

INSERT INTO memory_revisions (
  space, id, root, revision, kind, text, subject, detail, category, scope, tags, examples,
  citations, evidence, reason, confidence, priority, layer, owner, status, origin, label, sources,
  reinforcement, successes, failures, recalls, first_seen, last_confirmed, last_reinforced,
  last_recalled, valid_from, valid_to, digest, change)
SELECT
  m.space, a.id, m.root, a.revision, m.kind, m.text, m.subject, m.detail, m.category, m.scope,
  m.tags, m.examples, m.citations, m.evidence, m.reason, m.confidence, m.priority, m.layer,
  m.owner, m.status, m.origin, m.label, m.sources, m.reinforcement, m.successes, m.failures,
  m.recalls, m.first_seen, m.last_confirmed, m.last_reinforced, m.last_recalled, m.valid_from,
  m.valid_to, m.digest, m.change
FROM memories m JOIN memory_aliases a ON a.space = m.space AND a.alias = m.id
WHERE EXISTS (SELECT 1 FROM memory_aliases n
  WHERE n.space = a.space AND n.id = a.id AND n.revision > a.revision);
DELETE FROM memories WHERE EXISTS (SELECT 1 FROM memory_aliases a
  JOIN memory_aliases n ON n.space = a.space AND n.id = a.id AND n.revision > a.revision
  WHERE a.space = memories.space AND a.alias = memories.id);
UPDATE memories SET revision = (SELECT a.revision FROM memory_aliases a WHERE a.space = memories.space AND a.alias = memories.id),
  id = (SELECT a.id FROM memory_aliases a WHERE a.space = memories.space AND a.alias = memories.id)
  WHERE EXISTS (SELECT 1 FROM memory_aliases a WHERE a.space = memories.space AND a.alias = memories.id);
DELETE FROM memory_aliases WHERE alias = id;

-- What is out of use is hidden; the archive is the kept conversations.
UPDATE memories SET status = 'hidden' WHERE status = 'archived';
UPDATE memory_revisions SET status = 'hidden' WHERE status = 'archived';
UPDATE episodes SET status = 'hidden' WHERE status = 'archived';
UPDATE procedures SET status = 'hidden' WHERE status = 'archived';
UPDATE entries SET status = 'hidden' WHERE status = 'archived';
UPDATE undos SET body = replace(body, '"status":"archived"', '"status":"hidden"');
DROP INDEX episodes_by_update;
DROP INDEX episodes_in_use;
DROP INDEX episodes_whole;
CREATE INDEX episodes_by_update ON episodes (space, updated, id) WHERE status <> 'hidden';
CREATE INDEX episodes_in_use ON episodes (space, at, id) WHERE status <> 'hidden';
CREATE INDEX episodes_whole ON episodes (space, at, id) WHERE status <> 'hidden' AND synopsis = '';

ALTER TABLE memories FORCE ROW LEVEL SECURITY;
ALTER TABLE links FORCE ROW LEVEL SECURITY;
ALTER TABLE claims FORCE ROW LEVEL SECURITY;
ALTER TABLE injections FORCE ROW LEVEL SECURITY;
ALTER TABLE writes FORCE ROW LEVEL SECURITY;
ALTER TABLE entries FORCE ROW LEVEL SECURITY;
ALTER TABLE episodes FORCE ROW LEVEL SECURITY;
ALTER TABLE procedures FORCE ROW LEVEL SECURITY;
ALTER TABLE undos FORCE ROW LEVEL SECURITY;
ALTER TABLE memory_revisions ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_revisions FORCE ROW LEVEL SECURITY;
CREATE POLICY own_space ON memory_revisions USING (space = current_setting('recollect.space', true))
  WITH CHECK (space = current_setting('recollect.space', true));
ALTER TABLE memory_aliases ENABLE ROW LEVEL SECURITY;
ALTER TABLE memory_aliases FORCE ROW LEVEL SECURITY;
CREATE POLICY own_space ON memory_aliases USING (space = current_setting('recollect.space', true))
  WITH CHECK (space = current_setting('recollect.space', true));
