-- An agent copies messages into a second file when a conversation forks or is resumed: a key is
-- looked for in all sessions. It is not unique there, because callers choose keys for one session.
CREATE INDEX messages_by_key_anywhere ON messages (space, key);
