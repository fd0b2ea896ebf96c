-- A file has one author.
UPDATE state SET value = value WHERE false;
