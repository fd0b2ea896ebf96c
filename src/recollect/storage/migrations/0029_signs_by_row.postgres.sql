-- A block holds the signs of one vector after the other, no longer by columns.
ALTER TABLE blocks RENAME COLUMN planes TO signs;

-- Until the policies are made again after the migrations, the owner changes the rows of all spaces.
ALTER TABLE blocks NO FORCE ROW LEVEL SECURITY;

UPDATE blocks SET signs = coalesce((
  SELECT string_agg(substring(blocks.signs FROM ("column" * size + place + 1)::INTEGER FOR 1),
    ''::BYTEA ORDER BY place, "column")
  FROM generate_series(0, size - 1) place,
    generate_series(0, length(blocks.signs) / size - 1) "column"
), ''::BYTEA) WHERE size > 0;
