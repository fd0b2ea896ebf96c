-- `stats` adds up the sizes of all blocks: without their signs, which fill the rows of the table.
CREATE INDEX blocks_by_size ON blocks (space, size, dead);
