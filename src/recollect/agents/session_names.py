"""Our names for agents' sessions: the same from a hook, a transcript or a database.

Each name that comes from outside becomes ours here, so here is seen that none holds a secret.
"""

from __future__ import annotations

from functools import lru_cache

_LONGEST = 100
_SHORTEST_SECRET = 16
_HEX = frozenset("0123456789abcdef")
_SAFE = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@lru_cache(maxsize=256)
def make_session_id(host: str, *parts: str) -> str:
    """A name that is never a path, holds no secret and is always the same: the agent, then its own
    id, or the digest of one that cannot be told."""
    name = made = ".".join((host, *parts))
    if len(name) > _LONGEST or not _SAFE.issuperset(name):
        clean = "".join(c if c in _SAFE else "-" for c in name[:_LONGEST])
        made = f"{clean}-{_digest(name)[:12]}"
    if all(map(_is_plain, parts)):
        return made
    from ..secrets.redaction import holds_secret

    known = holds_secret(name[: 3 * _LONGEST]) or holds_secret(made)
    return f"{host}.{_digest(name)[:24]}" if known else made


def _is_plain(part: str) -> bool:
    """Whether this cannot be a secret, as a hook sees at once: a UUID, or a short name."""
    if len(part) < _SHORTEST_SECRET:
        return _SAFE.issuperset(part)
    groups = part.split("-")
    return list(map(len, groups)) == [8, 4, 4, 4, 12] and _HEX.issuperset("".join(groups))


def _digest(name: str) -> str:
    from hashlib import sha256

    return sha256(name.encode("utf-8", "replace")).hexdigest()
