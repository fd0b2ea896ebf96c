"""The embedder that is there right after installation: words looked up in a static model.

`static.bin` was distilled from all-MiniLM-L6-v2; NOTICE says from what and under which licence.
"""
