"""Find and remove secrets: the only maker of `SafeText`.

Every text is redacted before it is stored, and what a model is shown is made of stored texts. A
secret becomes `[REDACTED:<type>]`, a `<private>` span becomes `[PRIVATE]`. `secrets.search` finds
the secrets; this module rewrites the text or JSON, and checks names and addresses.
"""

from __future__ import annotations

import json
import re
from _bisect import bisect_right
from collections.abc import Callable, Iterator, Sequence
from functools import lru_cache
from itertools import accumulate, count

from ..errors import InvalidInput
from ..fast_typing import NamedTuple
from ..types.records import Json, SafeText
from . import assignments, formats, rules, search

PRIVATE = "[PRIVATE]"
MAX_DEPTH = 200
MAX_ROUNDS = 8
SHORT = 80
_SHORTEST = 16
"""A shorter alphanumeric text is not a token, and names no secret."""


_LONG = 10_000
"""Characters of texts that are searched together, at least: in a longer text a pattern is tried
more often for the hints of others."""

_APART = "\n\0\n"
"""Stands between texts that are searched together: no rule reads across these lines, and no
storable text contains NUL."""


class Redacted(NamedTuple):
    """Text without secrets, and the types of the removed ones, in order."""

    text: SafeText
    found: tuple[str, ...]


_RedactText = Callable[[str], tuple[str, tuple[str, ...]]]
"""Return a text without secrets, and the types of the removed ones."""

_ENCODER = json.JSONEncoder(
    ensure_ascii=False, allow_nan=False, check_circular=False, separators=(",", ":")
)
"""Without a check for cycles: the depth of the value was limited before."""


_NO_ITEMS, _NO_PAIRS = Redacted(SafeText("[]"), ()), Redacted(SafeText("{}"), ())


def redact_and_report(text: str) -> Redacted:
    """Remove secrets and private spans; the result fits a text column of either engine."""
    clean, found = _redact(_storable(text))
    return Redacted(SafeText(clean), found)


def redact(text: str) -> SafeText:
    """Return the redacted text only."""
    return redact_and_report(text).text


def redact_many(texts: Sequence[str]) -> list[Redacted]:
    """Redact many texts, with the same results as one by one in a third of the time: most hold no
    secret, and those are searched together."""
    storable = list(map(_storable, texts))
    return [found for group in _group(storable) for found in _redact_together(storable[group])]


def _redact_together(texts: list[str]) -> list[Redacted]:
    held = _search_joined(texts)
    if not held:
        return [Redacted(SafeText(text), ()) for text in texts]
    rest = [text for at, text in enumerate(texts) if at not in held]
    # Those with a secret one by one, and the others together again.
    others = iter(_redact_together(rest)) if rest else iter(())
    return [
        redact_and_report(text) if at in held else next(others) for at, text in enumerate(texts)
    ]


def _group(texts: Sequence[str]) -> Iterator[slice]:
    """Yield the places of texts to search together."""
    first = size = 0
    for last, text in enumerate(texts, 1):
        size += len(text)
        if size >= _LONG or last == len(texts):
            yield slice(first, last)
            first, size = last, 0


def _search_together(texts: Sequence[str]) -> set[int]:
    """Return which of the texts hold a secret or a private span: if any does, at least one."""
    return {group.start + at for group in _group(texts) for at in _search_joined(texts[group])}


def _search_joined(texts: Sequence[str]) -> set[int]:
    joined = _APART.join(texts)
    private, spans = _private(joined), search.find_secrets(joined)
    if not private and not spans:
        return set()
    ends = list(accumulate([len(text) + len(_APART) for text in texts]))
    held = {bisect_right(ends, span[0]) for span in spans}
    if private:
        held |= {at for at, text in enumerate(texts) if _private(text)}
    return held or {*range(len(texts))}  # a tag that only the joined texts make


def trust_stored(text: str) -> SafeText:
    """Return a text that is made of stored texts and our own words, unchanged: what is stored was
    redacted when it was written, and a hook has no time to search it again."""
    return SafeText(text)


def is_safe(text: str) -> bool:
    """Check whether redaction would change nothing."""
    return _redact(text) == (text, ())


def redact_json_many(values: Sequence[Json]) -> list[Redacted]:
    """Redact several values, with the same results as one by one in less time: most hold no secret,
    and their texts are searched together."""
    texts: list[str] = []

    def put_off(text: str) -> tuple[str, tuple[str, ...]]:
        texts.append(text)
        return text, ()

    redacted: list[Redacted] = []
    ends: list[int] = []
    for value in values:
        redacted.append(_redact_json(value, put_off))
        ends.append(len(texts))
    held = {bisect_right(ends, at) for at in _search_together(texts)}
    if not held:
        return redacted
    # Those with a secret one by one, and the others together again.
    others = iter(redact_json_many([value for at, value in enumerate(values) if at not in held]))
    return [redact_json(value) if at in held else next(others) for at, value in enumerate(values)]


def redact_json(value: Json) -> Redacted:
    """Return the value as compact JSON with every string redacted, keys and values alike.

    A string under a name such as "password" is also judged by that name. Characters that no engine
    stores (NUL, lone surrogates) are escaped, so that they can be restored.
    """
    return _redact_json(value, _redact_alone)


def _redact_json(value: Json, redact_text: _RedactText) -> Redacted:
    if value in ((), [], {}):
        return _NO_PAIRS if isinstance(value, dict) else _NO_ITEMS
    found: list[str] = []
    clean = _scrub_value(value, "", found, 0, redact_text)
    try:
        text = _ENCODER.encode(clean)
    except ValueError as error:
        raise InvalidInput(
            f"a number cannot be written as JSON: {error}",
            hint="Pass finite numbers of at most 4300 digits, or text.",
        ) from error
    if not _is_unicode(text):
        text = _paired(text, "surrogatepass")
        text = re.sub("[\ud800-\udfff]", lambda half: f"\\u{ord(half[0]):04x}", text)
    return Redacted(SafeText(text), tuple(found))


def _scrub_value(
    value: Json, name: str, found: list[str], depth: int, redact_text: _RedactText
) -> Json:
    if isinstance(value, str):
        told = _told_by(name)
        clean, types = _redact_told(told, value) if told else _redact(value, redact_text)
        if types:
            found += types
        return clean
    if value is None or isinstance(value, (int, float)):
        return value
    if depth == MAX_DEPTH:
        raise InvalidInput(f"JSON is nested deeper than {MAX_DEPTH} levels")
    if isinstance(value, dict):
        return _scrub_pairs(value, found, depth + 1, redact_text)
    if isinstance(value, (list, tuple)):
        items = _joined_up(value, found)
        return [_scrub_value(item, name, found, depth + 1, redact_text) for item in items]
    raise InvalidInput(
        f"a {type(value).__name__} cannot be written as JSON",
        hint="Pass dicts with text keys, lists, text, numbers, booleans and None.",
    )


def _scrub_pairs(
    pairs: dict[str, Json], found: list[str], depth: int, redact_text: _RedactText
) -> dict[str, Json]:
    kept: dict[str, Json] = {}
    for key, value in pairs.items():
        if not isinstance(key, str):
            raise InvalidInput(f"the key {key!r} of a JSON object is not text")
        clean, types = _redact_short(key) if len(key) <= SHORT else _redact(key, redact_text)
        if types:
            found += types
        name = clean
        if key == "value":
            told = pairs.get("name", pairs.get("key"))
            name = told if isinstance(told, str) else ""
        if clean in kept:
            clean = _unused(clean, kept)
        kept[clean] = _scrub_value(value, name, found, depth, redact_text)
    return kept


def _unused(name: str, pairs: dict[str, Json]) -> str:
    """Make a key unique: redacted keys may have become equal."""
    return next(other for n in count(2) if (other := f"{name} {n}") not in pairs)


def _redact_told(told: tuple[str, str], value: str) -> tuple[str, tuple[str, ...]]:
    label, kind = told
    clean, found = _redact(label + value)
    if kind and not found and rules.is_secret(kind, value, quoted=True, loose=False):
        type_ = assignments.SECRET_TYPES[kind]
        return f"[REDACTED:{type_}]", (type_,)
    return clean.removeprefix(label), found


@lru_cache(maxsize=1024)
def _told_by(name: str) -> tuple[str, str] | None:
    """Return the context that a name gives its value, and the kind of the name."""
    label = "authorization: " if name.lower().endswith("authorization") else ""
    kind = rules.classify_name(name)
    return (label, kind) if label or kind else None


def _storable(text: str) -> str:
    """Remove NUL, which PostgreSQL refuses, and lone surrogates, which neither engine stores."""
    return (text if _is_unicode(text) else _paired(text, "replace")).replace("\0", "␀")


def _is_unicode(text: str) -> bool:
    if text.isascii():
        return True
    try:
        text.encode()
    except UnicodeEncodeError:
        return False
    return True


def _paired(text: str, halves: str) -> str:
    """Combine surrogate pairs into the characters that they encode."""
    return text.encode("utf-16-le", "surrogatepass").decode("utf-16-le", halves)


@lru_cache(maxsize=8192)
def _is_plain(text: str) -> bool:
    """Check for an id, or a word that is too short for a token."""
    own = text[2:] if text[1:2] == "-" else text  # ids of records: `m-4k9w2…`
    if len(text) < _SHORTEST:
        return own.isalnum()
    return len(text) >= 28 and formats.id_pattern().fullmatch(text) is not None


@lru_cache(maxsize=8192)
def _redact_short(text: str) -> tuple[str, tuple[str, ...]]:
    return (text, ()) if _is_plain(text) else _redact_any(text)


def _redact_alone(text: str) -> tuple[str, tuple[str, ...]]:
    """Redact a text by itself. Short texts repeat (field names, a session's directory): they are
    cached."""
    return _redact_short(text) if len(text) <= SHORT else _redact_any(text)


def _redact_any(text: str) -> tuple[str, tuple[str, ...]]:
    """Redact until nothing is found: one redaction can expose the next secret."""
    text = _without_private(text)
    found: list[str] = []
    for _ in range(MAX_ROUNDS):
        secrets = search.find_secrets(text)
        if not secrets:
            break
        pieces: list[str] = []
        end = 0
        for start, stop, type_ in secrets:
            pieces += (text[end:start], f"[REDACTED:{type_}]")
            end = stop
            found.append(type_)
        text = "".join(pieces) + text[end:]
    return text, tuple(found)


def _redact(text: str, redact_text: _RedactText = _redact_alone) -> tuple[str, tuple[str, ...]]:
    if len(text) <= formats.LONGEST_ID and _is_plain(text):
        return text, ()
    return redact_text(text)


def _without_private(text: str) -> str:
    for start, stop in reversed(_private(text)):
        text = text[:start] + PRIVATE + text[stop:]
    return text


def _private(text: str) -> list[tuple[int, int]]:
    """Return private spans: nested ones as one, an unclosed one to the end of the text."""
    if "<" not in text:
        return []
    found: list[tuple[int, int]] = []
    depth = 0
    for tag in rules.compile_pattern(r"(?i)<(/?)private(?:\s[^<>]{0,99})?>").finditer(text):
        if not tag[1]:
            if depth == 0:
                found.append((tag.start(), len(text)))
            depth += 1
        elif depth:
            depth -= 1
            found[-1] = (found[-1][0], tag.end())
    return found


def _joined_up(items: Sequence[Json], found: list[str]) -> list[Json]:
    """Redact secrets and private spans that continue from one text block to the next.

    A reader sees the texts of the blocks as one.
    """
    places = [at for at, item in enumerate(items) if _is_text(item)]
    if len(places) < 2:
        return list(items)
    texts = [items[at]["text"] for at in places]
    whole = "".join(texts)
    cuts = [*((start, stop, "") for start, stop in _private(whole)), *search.find_secrets(whole)]
    changed = list(items)
    begun = 0
    for at, text in zip(places, texts, strict=True):
        ended = begun + len(text)
        for start, stop, type_ in sorted(cuts, reverse=True):
            if not (start < ended < stop or start < begun < stop):
                continue
            mark = ""
            if start >= begun:
                mark = f"[REDACTED:{type_}]" if type_ else PRIVATE
                found += [type_] if type_ else []
            text = text[: max(start - begun, 0)] + mark + text[min(stop, ended) - begun :]
        changed[at] = {**items[at], "text": text}
        begun = ended
    return changed


def _is_text(item: Json) -> bool:
    return isinstance(item, dict) and isinstance(item.get("text"), str)


_AMBIGUOUS = frozenset(
    (
        *("sk-", "sk_", "re_", "key-", "pubkey-", "live_", "test_", "api-", "sdk-", "mob-", "ico-"),
        *("cio", "oy2", "A3T", "SCW", "4b1d"),
    )
)
"""Prefixes that words (`task-`, `latest_`, `cachekey-`) and random ids may end in: after a letter
or digit they are ignored."""

_DIGITS = r"\d{1,4}-"
"""This pattern also matches a version before a digest: `v1-…`."""

_PLAIN = r"[A-Za-z0-9._-]{1,60}"


def check_name(name: str, field: str) -> SafeText:
    """Return a name or id as SafeText; raise Refused if it holds a secret."""
    if holds_secret(name):
        from ..errors import Refused

        shown = redact(name)
        raise Refused(
            f"this {field} holds a secret" + (f": {shown}" if shown != name else ""),
            where=field,
            hint="Choose another name.",
        )
    return SafeText(name)


def check_path(path: str) -> SafeText:
    """Return an address or folder as SafeText; raise Refused if a part holds a secret."""
    for part in path.split("/"):
        check_name(part, "name")
    return SafeText(path)


def redact_name(name: str) -> SafeText:
    """Return the name, or its digest if it holds a secret."""
    if not holds_secret(name):
        return SafeText(name)
    from ..text.messages import body_digest

    return SafeText(body_digest(name)[:32])


def holds_secret(name: str) -> bool:
    """Check whether a name holds a secret. Names are joined from parts without separators, so a
    token may also follow a letter, which text does not allow."""
    prefixes = [prefix for prefix, _, _ in formats.token_prefixes() if prefix in name]
    shaped = [
        pattern
        for _, part, shape, pattern in formats.SHAPED
        if part in name and re.search(shape, name, re.ASCII)
    ]
    if not (prefixes or shaped) and rules.compile_pattern(_PLAIN).fullmatch(name):
        return False  # no other secret consists of these characters
    if redact_and_report(name).found:
        return True
    behind = {
        at
        for prefix in prefixes
        if prefix not in _AMBIGUOUS
        for at in range(1, len(name))
        if name.startswith(prefix, at)
    }
    if any(redact_and_report(name[at:]).found for at in behind):
        return True
    return any(
        (match := rules.bounded_pattern("", pattern).match(name[at:])) and rules.is_token(match[0])
        for pattern in shaped
        if not pattern.startswith(_DIGITS)
        for at in range(1, len(name))
    )
