-- One index does for keys what two did: it finds a key in all sessions, and lets each of them have
-- it once. Entries are never looked for by their owner: words are, and those found are few.
DROP INDEX IF EXISTS messages_by_key;
DROP INDEX IF EXISTS messages_by_key_anywhere;
CREATE UNIQUE INDEX messages_by_key ON messages (space, key, session);
DROP INDEX IF EXISTS entries_by_owner;
