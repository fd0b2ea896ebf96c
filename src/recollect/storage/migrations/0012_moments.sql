-- At which moment something was shown (start, turn, command, edit, failure), and what came of it:
-- followed, ignored, or empty while that is not known.
ALTER TABLE injections ADD COLUMN moment TEXT NOT NULL DEFAULT '';
ALTER TABLE injections ADD COLUMN outcome TEXT NOT NULL DEFAULT '';
