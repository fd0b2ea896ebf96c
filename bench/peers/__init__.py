"""Other memory systems that are installed, beside Recollect, on the same texts."""
