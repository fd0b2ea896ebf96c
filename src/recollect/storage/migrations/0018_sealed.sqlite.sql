-- Rows are sealed by `storage.sqlite_health`; an upgrade seals those that are not.
UPDATE state SET value = value WHERE false;
