-- A block holds the signs of one vector after the other, no longer by columns.
ALTER TABLE blocks RENAME COLUMN planes TO signs;

UPDATE blocks SET signs = rows_of_columns(signs, size);
