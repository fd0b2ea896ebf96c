-- A file has one writer: a vector is never made while its entry is removed.
UPDATE state SET value = value WHERE false;
