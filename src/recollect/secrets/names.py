"""Secrets in names: in what others call a session, a note, a task or a transcript.

A text is kept without its secrets (`secrets.redaction`); a name without a part of it would be
another name. So a name that a person gives is refused, and one that an agent or a framework gives
becomes its digest: the same name again is the same digest. It does not know what is called by the
name.
"""

from __future__ import annotations

import re

from ..types.records import SafeText
from . import formats

_AMBIGUOUS = frozenset(
    (
        *("sk-", "sk_", "re_", "key-", "pubkey-", "live_", "test_", "api-", "sdk-", "mob-", "ico-"),
        *("cio", "oy2", "A3T", "SCW", "4b1d"),
    )
)
"""Prefixes that words (`task-`, `latest_`, `cachekey-`) and random ids may end in: behind a letter
or a digit they announce nothing."""

_DIGITS = r"\d{1,4}-"
"""A shape that begins so is also a version with a digest behind it: `v1-…`."""

_PLAIN = re.compile(r"[A-Za-z0-9._-]{1,60}")


def checked_name(name: str, field: str) -> SafeText:
    """A name or id that others will call the record by; what holds a secret is refused."""
    if holds_secret(name):
        from ..errors import Refused
        from .redaction import safe

        shown = safe(name)
        raise Refused(
            f"this {field} holds a secret" + (f": {shown}" if shown != name else ""),
            where=field,
            hint="Take another name.",
        )
    return SafeText(name)


def checked_path(path: str, field: str) -> SafeText:
    """An address or a folder, of which each part is a name; together they would say more."""
    for part in path.split("/"):
        checked_name(part, field)
    return SafeText(path)


def known_as(name: str) -> SafeText:
    """The name, or its digest if it holds a secret."""
    if not holds_secret(name):
        return SafeText(name)
    from ..text.digests import digest

    return SafeText(digest(name)[:32])


def holds_secret(name: str) -> bool:
    """Whether there is a secret in a name. Names are put together of parts with nothing between
    them, so a token may also stand behind a letter, where it would be none in a text."""
    prefixes = [prefix for prefix, _, _ in formats.prefixes() if prefix in name]
    shaped = [
        pattern
        for _, part, shape, pattern in formats.SHAPED
        if part in name and re.search(shape, name, re.ASCII)
    ]
    if not (prefixes or shaped) and _PLAIN.fullmatch(name):
        return False  # no other secret can be written with these characters
    from . import rules
    from .redaction import scrub

    if scrub(name).found:
        return True
    behind = {
        at
        for prefix in prefixes
        if prefix not in _AMBIGUOUS
        for at in range(1, len(name))
        if name.startswith(prefix, at)
    }
    if any(scrub(name[at:]).found for at in behind):
        return True
    return any(
        (match := rules.bounded("", pattern).match(name[at:])) and rules.is_token(match[0])
        for pattern in shaped
        if not pattern.startswith(_DIGITS)
        for at in range(1, len(name))
    )
