"""LOOKS AT CODE. The user's working tree and its git history, read and never written.

`stamps` tells what changed since the last look, `tree` what became of it, `git` asks git in
batches. Only `stamps` is on the way of every prompt; starting processes and hashing are not.
"""
