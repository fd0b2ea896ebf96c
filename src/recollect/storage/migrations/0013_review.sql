-- How many items wait for review is told at session start: both parts that are not found by a status
-- are counted without looking through all links and claims.
CREATE INDEX IF NOT EXISTS links_contradicting ON links (space, source, target)
  WHERE relation = 'contradicts' AND valid_to = 9223372036854775807;
CREATE INDEX IF NOT EXISTS claims_stale ON claims (space, memory) WHERE state IN ('changed', 'moved', 'missing');
