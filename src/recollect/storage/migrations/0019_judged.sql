-- What became of a line is asked for at every session start, by what it names. Most rows have no
-- outcome, and a rule that is always shown has one row for each session.
CREATE INDEX injections_judged ON injections (space, ref, moment, at) WHERE outcome <> '';
