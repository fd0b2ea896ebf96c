-- Only SQLite writes fewer indexes: a server's plans stay as they are.
SELECT 1;
