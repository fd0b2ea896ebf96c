-- The list of cells holds whole centroids instead of their signs. All cells become open blocks: they
-- are found as before, and sorted again in the background.
UPDATE vectors SET block = 1000000000 - block WHERE block < 0;

UPDATE blocks SET block = 1000000000 - block WHERE block < 0;

DELETE FROM clusters;
