-- On PostgreSQL too, every row that Recollect writes carries a digest. The trigger seals what a
-- transaction of Recollect writes, which is known by being deferrable; a statement of
-- another program leaves the seal as it is, so that it does not fit any more. A row that was changed
-- from outside keeps its seal when Recollect writes it again.
CREATE FUNCTION seal_of(held memories) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(ARRAY[
    held.id, held.root, held.revision::text, held.kind, held.text, held.subject, held.detail,
    held.category, held.scope, held.tags, held.examples, held.citations, held.evidence,
    held.reason, held.priority, held.layer, held.owner, held.origin, held.label, held.sources,
    held.digest, held.change, held.author
  ]::text, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION seal_of(held memory_revisions) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(ARRAY[
    held.id, held.root, held.revision::text, held.kind, held.text, held.subject, held.detail,
    held.category, held.scope, held.tags, held.examples, held.citations, held.evidence,
    held.reason, held.priority, held.layer, held.owner, held.origin, held.label, held.sources,
    held.digest, held.change, held.author
  ]::text, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION seal_of(held documents) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(ARRAY[
    held.address, held.revision::text, held.type, held.title, held.text, held.fields, held.layer,
    held.owner, held.origin, held.label, held.sources
  ]::text, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION seal_of(held episodes) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(ARRAY[
    held.id, held.task, held.session, held.agent, held.phase, held.goal, held.outcome, held.body,
    held.synopsis, held.origin, held.label, held.sources
  ]::text, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION seal_of(held procedures) RETURNS TEXT LANGUAGE sql STABLE PARALLEL SAFE AS $$
  SELECT left(encode(sha256(convert_to(ARRAY[
    held.id, held.root, held.revision::text, held.name, held.description, held.body, held.origin,
    held.label
  ]::text, 'UTF8')), 'hex'), 32)
$$;
CREATE FUNCTION keep_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_deferrable') = 'on' THEN
    IF TG_OP = 'INSERT' OR OLD.seal = recollect.seal_of(OLD) THEN
      NEW.seal := recollect.seal_of(NEW);
    END IF;
  END IF;
  RETURN NEW;
END $$;
ALTER TABLE memories NO FORCE ROW LEVEL SECURITY;
UPDATE memories SET seal = seal_of(memories);
ALTER TABLE memories FORCE ROW LEVEL SECURITY;
CREATE TRIGGER unchanged BEFORE INSERT OR UPDATE OF
  id, root, revision, kind, text, subject, detail, category, scope, tags, examples, citations,
  evidence, reason, priority, layer, owner, origin, label, sources, digest, change, author
  ON memories FOR EACH ROW EXECUTE FUNCTION keep_seal();
ALTER TABLE memory_revisions NO FORCE ROW LEVEL SECURITY;
UPDATE memory_revisions SET seal = seal_of(memory_revisions);
ALTER TABLE memory_revisions FORCE ROW LEVEL SECURITY;
CREATE TRIGGER unchanged BEFORE INSERT OR UPDATE OF
  id, root, revision, kind, text, subject, detail, category, scope, tags, examples, citations,
  evidence, reason, priority, layer, owner, origin, label, sources, digest, change, author
  ON memory_revisions FOR EACH ROW EXECUTE FUNCTION keep_seal();
ALTER TABLE documents NO FORCE ROW LEVEL SECURITY;
UPDATE documents SET seal = seal_of(documents);
ALTER TABLE documents FORCE ROW LEVEL SECURITY;
CREATE TRIGGER unchanged BEFORE INSERT OR UPDATE OF
  address, revision, type, title, text, fields, layer, owner, origin, label, sources
  ON documents FOR EACH ROW EXECUTE FUNCTION keep_seal();
ALTER TABLE episodes NO FORCE ROW LEVEL SECURITY;
UPDATE episodes SET seal = seal_of(episodes);
ALTER TABLE episodes FORCE ROW LEVEL SECURITY;
CREATE TRIGGER unchanged BEFORE INSERT OR UPDATE OF
  id, task, session, agent, phase, goal, outcome, body, synopsis, origin, label, sources
  ON episodes FOR EACH ROW EXECUTE FUNCTION keep_seal();
ALTER TABLE procedures NO FORCE ROW LEVEL SECURITY;
UPDATE procedures SET seal = seal_of(procedures);
ALTER TABLE procedures FORCE ROW LEVEL SECURITY;
CREATE TRIGGER unchanged BEFORE INSERT OR UPDATE OF
  id, root, revision, name, description, body, origin, label
  ON procedures FOR EACH ROW EXECUTE FUNCTION keep_seal();
