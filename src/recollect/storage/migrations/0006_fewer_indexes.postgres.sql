-- One index does for keys what two did: it finds a key in all sessions, and lets each of them have
-- it once.
DROP INDEX IF EXISTS messages_by_key;
DROP INDEX IF EXISTS messages_by_key_anywhere;
CREATE UNIQUE INDEX messages_by_key ON messages (space, key, session);
