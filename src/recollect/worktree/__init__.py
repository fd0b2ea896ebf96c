"""LOOKS AT CODE. The user's working tree and its git history, read and never written.

`WorkTree` is all of it; `git` asks git in batches. Nothing here is imported before a claim is
looked at: starting a process and hashing are not on the way of every prompt.
"""

from .tree import WorkTree

__all__ = ["WorkTree"]
