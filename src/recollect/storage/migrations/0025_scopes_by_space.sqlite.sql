-- A file has one space, and its blocks have the number of vectors.
UPDATE state SET value = value WHERE false;
