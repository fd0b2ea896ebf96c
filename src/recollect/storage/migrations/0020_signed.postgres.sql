-- A row whose seal does not fit would not be used. What writes without one is an older Recollect that
-- still runs, or another program: it is told, instead of losing what it wrote.
CREATE OR REPLACE FUNCTION keep_seal() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF current_setting('transaction_deferrable') = 'on' THEN
    IF TG_OP = 'INSERT' OR OLD.seal = recollect.seal_of(OLD) THEN
      NEW.seal := recollect.seal_of(NEW);
    END IF;
  ELSIF NEW.seal <> recollect.seal_of(NEW) THEN
    RAISE check_violation USING MESSAGE =
      'this store was upgraded by a newer Recollect, and an older one may not write to it: upgrade '
      'this one, and restart the sessions and servers that still run';
  END IF;
  RETURN NEW;
END $$;
-- What another role changes about a statement makes it theirs, as another text does already. Where it
-- applies and what it was derived from are changed by everybody's consolidation: it stays its author's.
CREATE FUNCTION sign_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF (NEW.subject, NEW.reason, NEW.priority, NEW.origin)
    IS DISTINCT FROM (OLD.subject, OLD.reason, OLD.priority, OLD.origin)
  THEN
    NEW.author := current_user;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER signed_change
  BEFORE UPDATE OF subject, reason, priority, origin ON memories
  FOR EACH ROW EXECUTE FUNCTION sign_change();
-- A revision keeps its author if it is the statement that is put away; any other is the writer's.
CREATE FUNCTION sign_revision() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF NEW.author <> current_user AND (TG_OP = 'UPDATE' OR NOT EXISTS (
    SELECT 1 FROM recollect.memories m WHERE m.space = NEW.space AND m.id = NEW.id
      AND m.author = NEW.author AND m.label = NEW.label AND m.text = NEW.text
      AND m.kind = NEW.kind AND m.scope = NEW.scope
  )) THEN
    NEW.author := current_user;
  END IF;
  RETURN NEW;
END $$;
CREATE TRIGGER signed BEFORE INSERT OR UPDATE OF
  text, kind, scope, label, author, subject, reason, priority, layer, owner, origin, sources
  ON memory_revisions FOR EACH ROW EXECUTE FUNCTION sign_revision();
