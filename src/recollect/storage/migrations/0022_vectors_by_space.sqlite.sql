-- A file has one space.
UPDATE state SET value = value WHERE false;
