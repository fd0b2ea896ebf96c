-- Which memories apply to a file is asked whenever an agent changes one: few have a scope, and
-- looking through all of them was most of what that costs.
CREATE INDEX memories_scoped ON memories (space, status, id)
  WHERE valid_to = 9223372036854775807 AND scope <> '[]';
