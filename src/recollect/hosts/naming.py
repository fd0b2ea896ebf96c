"""Our names for agents' sessions: the same from a hook, a transcript or a database."""

from __future__ import annotations

from functools import lru_cache

_LONGEST = 100
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@lru_cache(maxsize=256)
def session_id(host: str, *parts: str) -> str:
    """A name that is never a path and always the same: the agent, then its own id."""
    name = ".".join((host, *parts))
    if len(name) <= _LONGEST and _SAFE.issuperset(name):
        return name
    from hashlib import sha256

    clean = "".join(c if c in _SAFE else "-" for c in name[:_LONGEST])
    return f"{clean}-{sha256(name.encode('utf-8', 'replace')).hexdigest()[:12]}"
