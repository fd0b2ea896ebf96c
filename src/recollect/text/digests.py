"""The archive's proof: a digest for each body, a chain that binds every message to the one before.

Erasing a body on request leaves its digest, so the chain still proves all the rest. It does not
know where messages are kept.
"""

from __future__ import annotations

from hashlib import sha256


def digest(body: str) -> str:
    """The hash of a message's body."""
    return sha256(body.encode("utf-8", "surrogatepass")).hexdigest()


def chain(previous: str, seq: int, role: str, origin: str, at: int, body_digest: str) -> str:
    """The hash of a message in its place: who said it, and on which path it came in."""
    line = f"{previous}\n{seq}\n{role}\n{origin}\n{at}\n{body_digest}"
    return sha256(line.encode()).hexdigest()


def text_digest(text: str) -> str:
    """One digest for texts that differ only in case and white space."""
    return sha256(" ".join(text.casefold().split()).encode("utf-8", "replace")).hexdigest()
